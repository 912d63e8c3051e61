"""MQ: the baseline aggregate, one locked queue an input and one thread that does all the rest.

"Efficient data streaming multiway aggregation", section 5.3 and Algorithm 2, Figs. 2a and 3::

    input thread i:   Add                        -> queue i, under its lock
    output thread:    S-Merge, Update, Output    queues -> ready tuple -> winsets -> rows

`operators.gate.multi_queue` has the queues and the merge (L2 to L7), `operators.aggregation.
update_output` what becomes of a ready tuple (L11 to L23), and `one_output_thread` joins the two.
Each says where it departs from the paper. Progress is the gate's, blocking.
"""

from __future__ import annotations

from operators.aggregation.functions import CODES
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
    functions=tuple(CODES),
    look=Look("vermillion", "s", "dashed"),
)
