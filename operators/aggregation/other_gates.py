"""MQ, MQLF and TuMLSC over gates that no paper has: what differs is the gate, and nothing else.

Each line below puts a gate of ours into the frame of `one_output_thread`, where one of the paper's
stands in `mq`, `mqlf` or `tumlsc`. What the gate does better, and what it costs, is told there::

    id               gate                      instead of
    mq-cached        multi_queue_cached        one lock a queue and tuple: one lock a tuple
    mqlf-rings       multi_queue_rings         queues for any number of threads: a ring for two
    mqlf-loser-tree  multi_queue_loser_tree    a scan of all heads: a tournament, log S matches
    tumlsc-batch     t_gate_batch              a link a tuple: a link a run of tuples
"""

from __future__ import annotations

from operators.aggregation.functions import CODES
from operators.aggregation.one_output_thread import one_output_thread
from operators.contract import Look, Variant
from operators.gate import (
    multi_queue_cached,
    multi_queue_loser_tree,
    multi_queue_rings,
    t_gate_batch,
)

# Where their figures show them: those of the paper's queries with many windows and keys.
_FIGURES = {"multiway_aggregation": ("13", "14", "15", "16")}


def _over(gate: Variant, variant_id: str, title: str, section: str, look: Look) -> Variant:
    """Return an aggregate that is `gate` in front of one output thread."""
    return Variant(
        id=variant_id,
        family="aggregation",
        title=title,
        paper="multiway_aggregation",
        section=section,
        operations=one_output_thread(gate.operations),
        order="window start, then key",
        progress=gate.progress,
        threads={"input": "one per stream", "output": "one"},
        capacity="ahead tuples an input; a full input is told FULL",
        parameters=gate.parameters,
        functions=tuple(CODES),
        extended=True,
        look=look,
        extends=_FIGURES,
    )


VARIANTS = (
    _over(
        multi_queue_cached.VARIANT, "mq-cached", "MQ, cached", "extends 5.3", Look("#8f3e00", "p")
    ),
    _over(
        multi_queue_rings.VARIANT, "mqlf-rings", "MQLF, rings", "extends 7", Look("#a87400", "<")
    ),
    _over(
        multi_queue_loser_tree.VARIANT,
        "mqlf-loser-tree",
        "MQLF, loser tree",
        "extends 7",
        Look("#5f4200", ">"),
    ),
    _over(t_gate_batch.VARIANT, "tumlsc-batch", "TuMLSC, batches", "extends 5.4", Look("sky", "P")),
)
