"""MQLF on rings under a loser tree.

In no paper: MQLF, for which "Efficient data streaming multiway aggregation" is the source, with the
strongest plain merge known to us in place of its queues and its scan::

    input thread i:   Add                        -> ring i
    output thread:    S-Merge, Update, Output    log S matches -> ready tuple -> winsets -> rows

`operators.gate.multi_queue_loser_tree` says what differs, `operators.aggregation.mqlf` what does
not. Progress is the gate's.
"""

from __future__ import annotations

from operators.aggregation.functions import CODES
from operators.aggregation.one_output_thread import one_output_thread
from operators.contract import Look, Variant
from operators.gate import multi_queue_loser_tree

VARIANT = Variant(
    id="mqlf-loser-tree",
    family="aggregation",
    title="MQLF, loser tree",
    paper="multiway_aggregation",
    section="extends 7",
    operations=one_output_thread(multi_queue_loser_tree.VARIANT.operations),
    order="window start, then key",
    progress="lock-free",
    threads={"input": "one per stream", "output": "one"},
    capacity="ahead tuples an input; a full input is told FULL",
    parameters=multi_queue_loser_tree.VARIANT.parameters,
    functions=tuple(CODES),
    extended=True,
    look=Look("#5f4200", ">"),
    extends={"multiway_aggregation": ("13", "14", "15", "16")},
)
