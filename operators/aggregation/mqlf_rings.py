"""MQLF on rings from one producer to one consumer.

In no paper: MQLF, for which "Efficient data streaming multiway aggregation" is the source, on the
cheapest queue for its two threads, and with remembered heads::

    input thread i:   Add                        -> ring i
    output thread:    S-Merge, Update, Output    S heads -> ready tuple -> winsets -> rows

`operators.gate.multi_queue_rings` says what differs, `operators.aggregation.mqlf` what does not.
Progress is the gate's.
"""

from __future__ import annotations

from operators.aggregation.functions import CODES
from operators.aggregation.one_output_thread import one_output_thread
from operators.contract import Look, Variant
from operators.gate import multi_queue_rings

VARIANT = Variant(
    id="mqlf-rings",
    family="aggregation",
    title="MQLF, rings",
    paper="multiway_aggregation",
    section="extends 7",
    operations=one_output_thread(multi_queue_rings.VARIANT.operations),
    order="window start, then key",
    progress="lock-free",
    threads={"input": "one per stream", "output": "one"},
    capacity="ahead tuples an input; a full input is told FULL",
    parameters=multi_queue_rings.VARIANT.parameters,
    functions=tuple(CODES),
    extended=True,
    look=Look("#a87400", "<"),
    extends={"multiway_aggregation": ("13", "14", "15", "16")},
)
