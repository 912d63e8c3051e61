"""TuMLSC: the tuple merged list with a single consumer.

"Efficient data streaming multiway aggregation", sections 4 and 5.4, Algorithm 3, Figs. 2b and 4:
the input threads merge and sort while they insert, so that the output thread only updates and
puts out::

    input thread i:   Add, S-Merge      -> T-Gate
    output thread:    Update, Output    T-Gate -> ready tuple -> winsets -> rows

`operators.gate.t_gate` has the merged list, `operators.aggregation.update_output` what becomes of a
ready tuple (UpdateOutput), and `one_output_thread` joins the two. Each says where it departs from
the paper. Progress is the gate's, lock-free.
"""

from __future__ import annotations

from operators.aggregation.functions import CODES
from operators.aggregation.one_output_thread import one_output_thread
from operators.contract import Look, Shown, Variant
from operators.gate import t_gate

VARIANT = Variant(
    id="tumlsc",
    family="aggregation",
    title="TuMLSC",
    paper="multiway_aggregation",
    section="5.4, Algorithm 3",
    operations=one_output_thread(t_gate.VARIANT.operations),
    order="window start, then key",
    progress="lock-free",
    threads={"input": "one per stream", "output": "one"},
    capacity="ahead tuples an input; a full input is told FULL",
    parameters=t_gate.VARIANT.parameters,
    functions=tuple(CODES),
    look=Look("blue", "o", "solid"),
    extends={"multiway_aggregation": ("15", "16", "20", "21", "25", "26")},
    shown=(
        Shown(
            "unit_divisor=10",
            "TuMLSC, unit / 10",
            Look("#7189a0", "8"),
            {"multiway_aggregation": ("14",)},
        ),
    ),
)
