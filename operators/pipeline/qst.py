"""Queue-size throttling: the earliest operator whose output queue is below its threshold.

Source: "Scaling Ordered Stream Processing on Shared-Memory Multicores", section 6.1, equation 1. It
pushes tuples through the pipeline, one operator at a time. The threshold of an operator is a share
of the system's capacity, proportional to its number of outputs per tuple that enters the pipeline.

# ASSUME: the paper does not say how large the capacity is; see
# `operators.pipeline.run.capacity_of`.
# ASSUME: a threshold is at least 1: with a selectivity of 0 it would stop the operator forever. The
# last operator has no output queue and always passes. If every operator is above the threshold, the
# earliest schedulable one is taken, since otherwise no worker would move.
"""

from __future__ import annotations

from operators.contract import Look, Shown, Variant
from operators.core.jit import inlined
from operators.pipeline.board import NOBODY, ONE, SCHEDULABLE, SELECTIVITY, WAITING, look
from operators.pipeline.family import PipelineOperations


@inlined
def choose(board):
    """Return the earliest schedulable operator below its threshold, or NOBODY."""
    total = 0.0
    reached = 1.0
    for place in range(board.operators):
        reached *= look(board, place, SELECTIVITY) / ONE
        total += reached
    earliest = NOBODY
    reached = 1.0
    for place in range(board.operators):
        reached *= look(board, place, SELECTIVITY) / ONE
        if look(board, place, SCHEDULABLE) != 0:
            if earliest == NOBODY:
                earliest = place
            if place == board.operators - 1:
                return place
            threshold = 1.0
            if total > 0.0:
                threshold = max(1.0, board.capacity * reached / total)
            if look(board, place + 1, WAITING) < threshold:
                return place
    return earliest


VARIANT = Variant(
    id="qst",
    family="pipeline",
    title="QST",
    paper="ordered_processing",
    section="6.1, eq. 1",
    operations=PipelineOperations(choose),
    order="that of a serial run",
    progress="blocking",
    threads={"worker": "any number"},
    capacity="slots tuples an operator",
    look=Look("purple", "v"),
    shown=(
        Shown("capacity=128", "QST, capacity 128", Look("#7a3f5f", "*"), {}),
        Shown("capacity=4096", "QST, capacity 4,096", Look("#7a3f5f", "P"), {}),
        Shown("slots=16384", "QST, 16,384 slots", Look("#7a3f5f", "<"),
              {"ordered_processing": ("8",)}),
    ),
)  # fmt: skip
