"""MQ: the baseline aggregate, one locked queue an input and one thread for all the rest.

"Efficient data streaming multiway aggregation", section 5.3 and Algorithm 2, Figs. 2a and 3. The
path of one tuple::

    input thread i
        add                                 Add (L2 to L4)
            insert_tuple                    lock queue i, append, unlock      multi_queue
    output thread
        process
            get_next_ready_tuple            S-Merge (L5 to L7)                multi_queue
                ..._peek, for each queue    lock, read the head's time, unlock
                ..._take, of the earliest   lock, remove the head, unlock
            update_output                   Update, Output (L11 to L23)       update_output
                move_to                     when time has moved on            through_time
                    output                  a winset that is past: its rows
                update                      a window of each winset it is in
                    process_tuple

So the output thread takes a lock an input for every tuple, the contention that the paper sets out
to remove. The modules on the right document their departures from the paper; `one_output_thread`
joins the two. Guarantees: the rows of `operators.aggregation.reference`, in the same order,
whatever the timing. Progress is the gate's, blocking.
"""

from __future__ import annotations

from operators.aggregation.one_output_thread import one_output_thread
from operators.contract import Look, Variant
from operators.gate import multi_queue

VARIANT = Variant(
    id="mq",
    family="aggregation",
    title="MQ",
    paper="multiway_aggregation",
    section="5.3, Algorithm 2",
    operations=one_output_thread(multi_queue.VARIANT.operations),
    order="window start, then key",
    progress="blocking",
    threads={"input": "one per stream", "output": "one"},
    capacity="ahead tuples an input; a full input is told FULL",
    parameters=multi_queue.VARIANT.parameters,
    look=Look("vermillion", "s", "dashed"),
)
