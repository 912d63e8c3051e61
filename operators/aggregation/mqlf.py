"""MQLF: the baseline aggregate MQ on lock-free queues, in place of queues with locks.

"Efficient data streaming multiway aggregation", section 7: MQ on the queue of Michael and Scott,
"with the sole purpose of showing that MQ's poor performance does not depend only on the use of
locks". The path of one tuple::

    input thread i
        add                                 Add
            insert_tuple                    the source's queue                multi_queue_lock_free
                enqueue                     two compare-and-swaps             michael_scott_queue
    output thread
        process
            get_next_ready_tuple            S-Merge                           multi_queue_lock_free
                peek, for each queue        read the head's time              michael_scott_queue
                dequeue, of the earliest    one compare-and-swap
            update_output                   Update, Output, as in `mq`        update_output

There are no locks, and still every tuple costs a poll of every queue. The modules on the right
document their departures from the paper; `one_output_thread` joins the two. Guarantees: the rows of
`operators.aggregation.reference`, in the same order, whatever the timing. Progress is the gate's,
lock-free.
"""

from __future__ import annotations

from operators.aggregation.one_output_thread import one_output_thread
from operators.contract import Look, Variant
from operators.gate import multi_queue_lock_free

VARIANT = Variant(
    id="mqlf",
    family="aggregation",
    title="MQLF",
    paper="multiway_aggregation",
    section="7",
    operations=one_output_thread(multi_queue_lock_free.VARIANT.operations),
    order="window start, then key",
    progress="lock-free",
    threads={"input": "one per stream", "output": "one"},
    capacity="ahead tuples an input; a full input is told FULL",
    parameters=multi_queue_lock_free.VARIANT.parameters,
    look=Look("orange", "^", "dash-dot"),
)
