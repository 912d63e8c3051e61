"""The axes of the paper's figures: the settings that they sweep, their lines and quantities.

Figures share axes, so that points of several figures are measured once.
"""

from __future__ import annotations

from experiments.declare import SIZES, Sweep

QUERY, OPERATOR, SUBQUERY = "query-cluster", "operator-cluster", "subquery-cluster"
STRATEGIES = (QUERY, OPERATOR, SUBQUERY)

THROUGHPUT, COMPARISONS = "throughput_tps", "instance_comparisons_ps"
PROCESSED, COMPARED = "processed_tps", "processed_comparisons_ps"
USE, QUEUE, LATENCY = "processor_use", "queue_tuples", "latency_ms_mean"
SHARES = ("processing_share", "communication_share", "idle_share_measured")
# Rates as shares of the throughput, beyond the profile's, which ends a tenth above it.
BEYOND = (1.5,)
# Where a tuple causes much work: a run has a minimum number of blobs, whatever their size.
SMALL_BLOBS = {"blob": 2_048}
COUNTED_EIGHT = {"query": "eight-operators", "density": 20}
EIGHT = {**COUNTED_EIGHT, "blob": 512}


def sweep(setting: str, quick: tuple, laptop: tuple, paper: tuple, words: str,
          label: str = "") -> Sweep:  # fmt: skip
    """Return a sweep from the values in each size."""
    return Sweep(setting, dict(zip(SIZES, (quick, laptop, paper), strict=True)), words, label=label)


OF_INSTANCES = sweep("instances", (1, 2), (1, 2, 4), (1, 2, 20, 40), "instances")
# The paper ran the second: dealt out by user, with a scan of the instance's whole window.
OF_QUERIES = sweep(
    "query", ("join", "join-by-nested-loop"),
    *(("join", "join-by-nested-loop", "join-as-product"),) * 2, "query",
)  # fmt: skip
# Calls per second of event time, in each stream.
OF_CALLS = sweep("density", (100,), (100,), (1_000,), "calls/s")
# The product evaluates more pairs to find those that match.
OF_COMPARED_CALLS = sweep("density", (50,), (100,), (1_000,), "calls/s")
OF_MANY_CALLS = sweep("density", *((1_000,),) * 3, "calls/s")
OF_WINDOW = sweep("window", (8_000,), (20_000,), (20_000,), "tuples")
BY_INSTANCES = sweep("instances", (1, 2), (1, 2, 4), (1, 4, 16, 36, 64), "instances")
BY_COUNTED = sweep("instances", *((1, 4, 16, 36, 64),) * 3, "instances")
OF_PROCESSORS = sweep("processors", (8,), (8,), (60,), "processors")
OF_SHARED_NODES = sweep("processors", (8,), (8,), (30,), "processors")
BY_PROCESSORS = sweep("processors", (30, 60), *((16, 30, 60, 120),) * 2, "processors")
A_NODE = sweep("instances", (1, 2), (1, 2, 3, 4), (1, 2, 3, 4), "instances",
               "instances a node")  # fmt: skip
OF_NODES = sweep("nodes", (1, 2), (1, 2), (1, 5, 10, 15, 20), "nodes")
OF_A_NODE = sweep("instances", (1, 4), *((1, 2, 4),) * 2, "instances")
BY_NODES = sweep("nodes", (1, 5, 10), *((1, 2, 5, 10, 20),) * 2, "nodes")
# On Spark, where an instance is a task.
OF_SPARK_INSTANCES = sweep("instances", (2,), (1, 2), (1, 2, 4, 8), "instances")
OF_SPARK_QUERIES = sweep(
    "query", ("join", "aggregate"), *(("map", "join", "aggregate", "product"),) * 2, "query"
)
BY_TRIGGER = sweep("trigger", (100_000, 300_000), *((100_000, 500_000, 2_000_000),) * 2,
                   "tuples of a batch")  # fmt: skip
