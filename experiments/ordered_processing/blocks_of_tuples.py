"""The runs of figure 14z, ours: a serial number for a block of tuples.

The figures 8 and 14 show such blocks in the extended form, on the paper's queries.
"""

from __future__ import annotations

from experiments.declare import Figure
from experiments.ordered_processing.axes import BLOCK_SIZES, BY_WORK

IN_BLOCKS = Figure(
    id="14z",
    title="Blocks of tuples, two workers: speed-up by the work of a tuple and the size of a block",
    caption="blocks of tuples (ours)",
    subject="cheap operators",
    family="pipeline",
    lines=("ct", *BLOCK_SIZES),
    x=BY_WORK,
    form="side_by_side",
    heading="reordering",
    quantities=("speed_up",),
    extended_quantities=("speed_up", "throughput_tps", "processing_ms_p50"),
    settings={"query": "parametric", "workers": 2},
    model="ideal",
    about=(
        "Ours: a serial number for a block of tuples in place of one for each. A tuple costs the"
        " serial loop twice the work of an operator. The hops of a tuple cost two workers some"
        " tenths of a microsecond, since cache lines change cores; a block has as many hops as a"
        " tuple. How long a cache line takes changes with the cores that a virtual machine has."
    ),
)
