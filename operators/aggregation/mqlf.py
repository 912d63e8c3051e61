"""MQLF: the baseline aggregate on lock-free queues.

"Efficient data streaming multiway aggregation", section 7: MQ on the queue of Michael and Scott, to
show that MQ's poor performance does not depend only on its locks::

    input thread i:   Add                        -> queue i, by compare-and-swap
    output thread:    S-Merge, Update, Output    queues -> ready tuple -> winsets -> rows

`operators.gate.multi_queue_lock_free` has the queues and the merge, `operators.aggregation.
update_output` what becomes of a ready tuple, and `one_output_thread` joins the two. Each says where
it departs from the paper. Progress is the gate's, lock-free.
"""

from __future__ import annotations

from operators.aggregation.functions import CODES
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
    functions=tuple(CODES),
    look=Look("orange", "^", "dash-dot"),
)
