"""Current throughput: the operator with the lowest throughput in the current window.

Source: "Scaling Ordered Stream Processing on Shared-Memory Multicores", section 6.4, equation 3:
worker time in the window, plus a slice for each present worker, divided by the cost of a tuple and
by the number of tuples that reach the operator per tuple that enters the pipeline.

# ASSUME: the paper divides by the cumulative selectivity up to and including the operator, and so
# compares the outputs of operators. An operator with almost no outputs, the last one of every query
# here, then has the highest throughput of all and is never chosen, and one without outputs divides
# by zero. Here the selectivity is that up to the operator *before*, so inputs are compared.
# `operators.pipeline.ct_as_printed` has the printed formula.
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
    """Return the number of pipeline tuples that an operator processes in this window (eq. 3).

    `reached` is the number of its tuples per tuple of the pipeline; at 0 the result is infinity.
    """
    if reached <= 0.0:
        return float("inf")
    spent = look(board, place, IN_WINDOW) + look(board, place, WORKERS) * board.slice_ns
    return spent / (look(board, place, COST) * reached)


@inlined
def lowest_throughput(board, inclusive):
    """Return the schedulable operator of the lowest throughput; tie-breaking: the earliest.

    `inclusive` says whether the operator's selectivity counts, too.
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
        Shown("reorder=non-blocking,second_work=each,slots=64", "Non-blocking, sent in parts",
              Look("sky", "o"), {"ordered_processing": ("13",)}, rival=False),
        Shown("reorder=lock-based,second_work=each,slots=64", "Lock-based, sent in parts",
              Look("vermillion", "X"), {"ordered_processing": ("13",)}, rival=False),
        Shown("slice_us=10", "CT, slices of 10 µs", Look("#003f63", "<"), {}),
        Shown("slice_us=1000", "CT, slices of 1 ms", Look("#003f63", ">"), {}),
        Shown("window_us=1000", "CT, window of 1 ms", Look("sky", "h"), {}),
        Shown("window_us=100000", "CT, window of 100 ms", Look("sky", "H"), {}),
        Shown("slots=256", "CT, 256 slots", Look("#5e4fa2", "p"), {}),
        Shown("slots=16384", "CT, 16,384 slots", Look("#5e4fa2", "8"),
              {"ordered_processing": ("8",)}),
        # The scheduler has no part in it: workers run blocks to completion.
        Shown("form=blocks,block=16,parts=1", "Blocks of 16", Look("#dfb06a", "v"), {}),
        Shown("form=blocks,block=64,parts=1", "Blocks of 64", Look("#c28f3c", "d"), {}),
        Shown("form=blocks,block=1024,parts=1", "Blocks of 1,024", Look("#5c3f0c", "P"), {}),
        Shown("form=blocks,parts=1", "Blocks of 256", Look("#a6761d", "D", "solid"),
              {"ordered_processing": ("8", "14")}),
    ),
)  # fmt: skip
