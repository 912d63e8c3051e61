"""TuMLSC with all windows of a key side by side: one look for the key, one vector operation.

TuMLSC ("Efficient data streaming multiway aggregation", section 5.4) looks a key up in every
winset that a tuple contributes to. Here a key has one row, and its windows are neighbours in it::

    input thread i:   Add, S-Merge      -> T-Gate
    output thread:    Update, Output    T-Gate -> ready tuple -> row of its key -> rows

`operators.gate.t_gate` has the merged list, `operators.aggregation.side_by_side` what becomes of a
ready tuple, and `one_output_thread` joins the two. Every function is offered. Progress is the
gate's, lock-free.
"""

from __future__ import annotations

from operators.aggregation.functions import CODES
from operators.aggregation.one_output_thread import one_output_thread
from operators.aggregation.side_by_side import OUTPUT_THREAD
from operators.contract import Look, Variant
from operators.gate import t_gate

VARIANT = Variant(
    id="tumlsc-side-by-side",
    family="aggregation",
    title="TuMLSC, side by side",
    paper="multiway_aggregation",
    section="extends 5.4",
    operations=one_output_thread(t_gate.VARIANT.operations, OUTPUT_THREAD),
    order="window start, then key",
    progress="lock-free",
    threads={"input": "one per stream", "output": "one"},
    capacity="ahead tuples an input; a full input is told FULL",
    parameters=t_gate.VARIANT.parameters,
    functions=tuple(CODES),
    extended=True,
    look=Look("#5e4fa2", "h"),
    extends={"multiway_aggregation": ("13", "14", "15", "16")},
)
