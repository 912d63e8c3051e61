"""Estimated time: the operator whose worklist would take longest.

Source: "Scaling Ordered Stream Processing on Shared-Memory Multicores", section 6.3, equation 2:
the number of waiting tuples, times their cost, over the number of workers including the new one.
"""

from __future__ import annotations

from operators.contract import Look, Shown, Variant
from operators.core.jit import inlined
from operators.pipeline.board import COST, NOBODY, SCHEDULABLE, WAITING, WORKERS, look
from operators.pipeline.family import PipelineOperations


@inlined
def choose(board):
    """Return the schedulable operator of the highest priority; tie-breaking: the earliest."""
    chosen = NOBODY
    highest = -1.0
    for place in range(board.operators):
        if look(board, place, SCHEDULABLE) != 0:
            workers = look(board, place, WORKERS) + 1
            priority = look(board, place, WAITING) * float(look(board, place, COST)) / workers
            if priority > highest:
                chosen = place
                highest = priority
    return chosen


VARIANT = Variant(
    id="et",
    family="pipeline",
    title="ET",
    paper="ordered_processing",
    section="6.3, eq. 2",
    operations=PipelineOperations(choose),
    order="that of a serial run",
    progress="blocking",
    threads={"worker": "any number"},
    capacity="slots tuples an operator",
    look=Look("orange", "D"),
    shown=(
        Shown("source=256", "ET, sees 256 of the source", Look("orange", "d"), {}),
        Shown("slots=16384", "ET, 16,384 slots", Look("#8a5a00", "h"),
              {"ordered_processing": ("8",)}),
    ),
)  # fmt: skip
