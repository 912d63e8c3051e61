"""MQ whose output thread remembers the heads of its queues.

In no paper: MQ, for which "Efficient data streaming multiway aggregation" is the source, with one
lock a tuple instead of one a queue::

    input thread i:   Add                        -> queue i, under its lock
    output thread:    S-Merge, Update, Output    remembered heads -> ready tuple -> winsets -> rows

`operators.gate.multi_queue_cached` says what differs, `operators.aggregation.mq` what does not.
Progress is the gate's, blocking.
"""

from __future__ import annotations

from operators.aggregation.functions import CODES
from operators.aggregation.one_output_thread import one_output_thread
from operators.contract import Look, Variant
from operators.gate import multi_queue_cached

VARIANT = Variant(
    id="mq-cached",
    family="aggregation",
    title="MQ, cached",
    paper="multiway_aggregation",
    section="extends 5.3",
    operations=one_output_thread(multi_queue_cached.VARIANT.operations),
    order="window start, then key",
    progress="blocking",
    threads={"input": "one per stream", "output": "one"},
    capacity="ahead tuples an input; a full input is told FULL",
    parameters=multi_queue_cached.VARIANT.parameters,
    functions=tuple(CODES),
    extended=True,
    look=Look("#8f3e00", "p"),
    extends={"multiway_aggregation": ("13", "14", "15", "16")},
)
