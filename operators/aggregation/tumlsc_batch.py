"""TuMLSC whose input threads link several tuples at once.

In no paper: TuMLSC, for which "Efficient data streaming multiway aggregation" is the source, over a
T-Gate with batch insertion::

    input thread i:   Add, S-Merge      -> T-Gate, a batch at a time
    output thread:    Update, Output    T-Gate -> ready tuple -> winsets -> rows

`operators.gate.t_gate_batch` says what differs, `operators.aggregation.tumlsc` what does not.
Progress is the gate's, lock-free.
"""

from __future__ import annotations

from operators.aggregation.functions import CODES
from operators.aggregation.one_output_thread import one_output_thread
from operators.contract import Look, Variant
from operators.gate import t_gate_batch

VARIANT = Variant(
    id="tumlsc-batch",
    family="aggregation",
    title="TuMLSC, batches",
    paper="multiway_aggregation",
    section="extends 5.4",
    operations=one_output_thread(t_gate_batch.VARIANT.operations),
    order="window start, then key",
    progress="lock-free",
    threads={"input": "one per stream", "output": "one"},
    capacity="ahead tuples an input; a full input is told FULL",
    parameters=t_gate_batch.VARIANT.parameters,
    functions=tuple(CODES),
    extended=True,
    look=Look("sky", "P"),
    extends={"multiway_aggregation": ("13", "14", "15", "16")},
)
