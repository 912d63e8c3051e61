"""Last in pipeline: the latest operator with tuples to process.

Source: "Scaling Ordered Stream Processing on Shared-Memory Multicores", section 6.2. It pulls
tuples out of the pipeline, and ignores costs.
"""

from __future__ import annotations

from operators.contract import Look, Shown, Variant
from operators.core.jit import inlined
from operators.pipeline.board import NOBODY, SCHEDULABLE, look
from operators.pipeline.family import PipelineOperations


@inlined
def choose(board):
    """Return the latest schedulable operator, or NOBODY."""
    for back in range(board.operators):
        place = board.operators - 1 - back
        if look(board, place, SCHEDULABLE) != 0:
            return place
    return NOBODY


VARIANT = Variant(
    id="lp",
    family="pipeline",
    title="LP",
    paper="ordered_processing",
    section="6.2",
    operations=PipelineOperations(choose),
    order="that of a serial run",
    progress="blocking",
    threads={"worker": "any number"},
    capacity="slots tuples an operator",
    look=Look("green", "^"),
    shown=(
        Shown("slots=16384", "LP, 16,384 slots", Look("#00543e", ">"),
              {"ordered_processing": ("8",)}),
        Shown("reorder=non-blocking", "Non-blocking", Look("blue", "o", "solid"), {}),
        Shown("reorder=lock-based", "Lock-based", Look("black", "X", "dashed"), {}),
    ),
)  # fmt: skip
