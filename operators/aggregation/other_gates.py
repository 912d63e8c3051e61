"""MQ, MQLF and TuMLSC over gates that are in no paper: only the gate differs.

Each line below puts one of our gates into the frame of `one_output_thread`, instead of the paper's
in `mq`, `mqlf` or `tumlsc`. The gate's module describes the improvement and the cost:

mq-cached
    MQ whose reader caches the heads of the queues: one lock a tuple in place of one a queue.
mqlf-rings
    MQLF on rings for one producer and one consumer, in place of queues for any number of threads.
mqlf-loser-tree
    MQLF on rings under a loser tree: log S comparisons for a tuple, in place of a scan of S heads.
tumlsc-batch
    TuMLSC that links several tuples of an input at once.
"""

from __future__ import annotations

from typing import Any

from operators.aggregation.one_output_thread import one_output_thread
from operators.contract import Look, Variant
from operators.gate import (
    multi_queue_cached,
    multi_queue_loser_tree,
    multi_queue_rings,
    t_gate_batch,
)


def _over(gate: Variant) -> dict[str, Any]:
    """Return the fields that an aggregate takes from the gate, and those common to all of these."""
    return {
        "family": "aggregation",
        "paper": "multiway_aggregation",
        "operations": one_output_thread(gate.operations),
        "order": "window start, then key",
        "progress": gate.progress,
        "threads": {"input": "one per stream", "output": "one"},
        "capacity": "ahead tuples an input; a full input is told FULL",
        "parameters": gate.parameters,
        "extended": True,
    }


# A change to one of these gates causes all four to be measured again: they share this module.
VARIANTS = (
    Variant(
        id="mq-cached",
        title="MQ, cached",
        section="extends 5.3",
        look=Look("#8f3e00", "p"),
        extends={"multiway_aggregation": ("14", "16")},
        **_over(multi_queue_cached.VARIANT),
    ),
    Variant(
        id="mqlf-rings",
        title="MQLF, rings",
        section="extends 7",
        look=Look("#a87400", "<"),
        extends={"multiway_aggregation": ("14", "16")},
        **_over(multi_queue_rings.VARIANT),
    ),
    Variant(
        id="mqlf-loser-tree",
        title="MQLF, loser tree",
        section="extends 7",
        look=Look("#5f4200", ">"),
        extends={"multiway_aggregation": ("14", "16")},
        **_over(multi_queue_loser_tree.VARIANT),
    ),
    Variant(
        id="tumlsc-batch",
        title="TuMLSC, batches",
        section="extends 5.4",
        look=Look("sky", "P"),
        extends={"multiway_aggregation": ("14", "16")},
        **_over(t_gate_batch.VARIANT),
    ),
)
