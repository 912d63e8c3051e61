"""Current throughput: the operator with the lowest throughput in the current window.

Source: "Scaling Ordered Stream Processing on Shared-Memory Multicores", section 6.4, equation 3:
worker time in the window, and a slice for each worker that is there, over the cost of a tuple and
over how many tuples reach the operator for one that enters the pipeline.

# ASSUME: the paper divides by the cumulative selectivity up to and with the operator, and so
# compares the outputs of operators. An operator that puts out next to nothing, the last of every
# query here, then has the highest throughput of all and is never chosen, and one that puts out
# nothing divides by zero. Here it is the selectivity up to the operator *before*: inputs are
# compared. `operators.pipeline.ct_as_printed` has the other one.
"""

from __future__ import annotations

from operators.contract import Look, Shown, Variant
from operators.core.jit import inlined
from operators.pipeline.board import (
    COST,
    IN_WINDOW,
    NOBODY,
    ONE,
    SCHEDULABLE,
    SELECTIVITY,
    WORKERS,
    look,
)
from operators.pipeline.family import PipelineOperations


@inlined
def effective_tuples(board, place, reached):
    """Return how many tuples of the pipeline an operator gets through in this window (eq. 3).

    `reached` is how many of its tuples there are for one of the pipeline's; infinity for none.
    """
    if reached <= 0.0:
        return float("inf")
    spent = look(board, place, IN_WINDOW) + look(board, place, WORKERS) * board.slice_ns
    return spent / (look(board, place, COST) * reached)


@inlined
def lowest_throughput(board, inclusive):
    """Return the schedulable operator of the lowest throughput, the earliest of equal ones.

    `inclusive` says whether an operator's own selectivity counts.
    """
    chosen = NOBODY
    lowest = 0.0
    reached = 1.0
    for place in range(board.operators):
        passed_on = reached * look(board, place, SELECTIVITY) / ONE
        if look(board, place, SCHEDULABLE) != 0:
            effective = effective_tuples(board, place, passed_on if inclusive else reached)
            if chosen == NOBODY or effective < lowest:
                chosen = place
                lowest = effective
        reached = passed_on
    return chosen


@inlined
def choose(board):
    """Return the schedulable operator of the lowest throughput by inputs, or NOBODY."""
    return lowest_throughput(board, False)


VARIANT = Variant(
    id="ct",
    family="pipeline",
    title="CT",
    paper="ordered_processing",
    section="6.4, eq. 3",
    operations=PipelineOperations(choose),
    order="that of a serial run",
    progress="blocking",
    threads={"worker": "any number"},
    capacity="slots tuples an operator",
    look=Look("blue", "o", "solid"),
    shown=(
        Shown("partition=hybrid", "Hybrid queue", Look("blue", "o", "solid"), {}),
        Shown("partition=partitioned", "Partitioned queue", Look("vermillion", "s"), {}),
        Shown("partition=shared", "Shared queue", Look("green", "^"),
              {"ordered_processing": ("11",)}),
        Shown("reorder=non-blocking", "Non-blocking", Look("blue", "o", "solid"), {}),
        Shown("reorder=lock-based", "Lock-based", Look("black", "X", "dashed"), {}),
        Shown("slice_us=10", "CT, slices of 10 µs", Look("#003f63", "<"), {}),
        Shown("slice_us=1000", "CT, slices of 1 ms", Look("#003f63", ">"), {}),
        Shown("window_us=1000", "CT, window of 1 ms", Look("sky", "h"), {}),
        Shown("window_us=100000", "CT, window of 100 ms", Look("sky", "H"), {}),
        Shown("slots=32", "CT, 32 slots", Look("#5e4fa2", "p"), {}),
        Shown("slots=2048", "CT, 2,048 slots", Look("#5e4fa2", "8"), {}),
    ),
)  # fmt: skip
