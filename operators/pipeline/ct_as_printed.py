"""Current throughput as printed: compares the outputs of operators instead of their inputs.

Source: "Scaling Ordered Stream Processing on Shared-Memory Multicores", section 6.4, equation 3.
`operators.pipeline.ct` describes the consequences.
"""

from __future__ import annotations

from operators.contract import Look, Variant
from operators.core.jit import inlined
from operators.pipeline.ct import lowest_throughput
from operators.pipeline.family import PipelineOperations


@inlined
def choose(board):
    """Return the schedulable operator of the lowest throughput by outputs, or NOBODY."""
    return lowest_throughput(board, True)


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
    look=Look("sky", "P"),
    extended=True,
    extends={"ordered_processing": ("8",)},
)
