"""Current throughput as printed: the outputs of operators are compared, and not their inputs.

Source: "Scaling Ordered Stream Processing on Shared-Memory Multicores", section 6.4, equation 3.
`operators.pipeline.ct` says what that does.
"""

from __future__ import annotations

from operators.contract import Look, Variant
from operators.core.jit import inlined
from operators.pipeline.board import NOBODY, ONE, SCHEDULABLE, SELECTIVITY, look
from operators.pipeline.ct import effective_tuples
from operators.pipeline.family import PipelineOperations


@inlined
def choose(board):
    """Return the schedulable operator of the lowest throughput, the earliest of equal ones."""
    chosen = NOBODY
    lowest = 0.0
    reached = 1.0
    for place in range(board.operators):
        reached *= look(board, place, SELECTIVITY) / ONE
        if look(board, place, SCHEDULABLE) != 0:
            effective = effective_tuples(board, place, reached)
            if chosen == NOBODY or effective < lowest:
                chosen = place
                lowest = effective
    return chosen


VARIANT = Variant(
    id="ct-as-printed",
    family="pipeline",
    title="CT (as printed)",
    paper="ordered_processing",
    section="6.4, eq. 3",
    operations=PipelineOperations(choose),
    order="that of a serial run",
    progress="blocking",
    threads={"worker": "any number"},
    capacity="slots tuples an operator",
    look=Look("sky", "v"),
    extended=True,
)
