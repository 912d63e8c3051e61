"""The settings that the second paper's figures sweep, by the size of a profile."""

from __future__ import annotations

from dataclasses import replace

from experiments.declare import Sweep
from experiments.families.pipeline.columns import SHARES
from operators.pipeline.queries.parametric import SHARED
from operators.pipeline.queries.table_1 import QUERIES

BY_QUERY = Sweep("query", dict.fromkeys(("quick", "laptop", "paper"), tuple(QUERIES)), "query")
BY_WORKERS = Sweep(
    "workers",
    {"quick": (1, 2), "laptop": (1, 2, 4, 16), "paper": (1, *range(2, 17, 2))},
    "workers",
    {"quick": (2,), "laptop": (2,)},
)
WORKERS_OF_ONE = replace(
    BY_WORKERS,
    values={"quick": (1, 2, 4), "laptop": (1, 2, 3, 4, 8, 16), "paper": tuple(range(1, 17))},
)
# The normal distribution is symmetric, so that at sigma 0.1 the largest of two ranges holds half of
# the keys, but of three ranges nearly all: three workers show the skew on two cores.
UNEVEN = replace(
    BY_WORKERS,
    values={"quick": (1, 3), "laptop": (1, 2, 3, 4, 16), "paper": tuple(range(1, 17))},
    extended={"quick": (3,), "laptop": (3,)},
)
BY_SIGMA = Sweep(
    "sigma",
    {"quick": (0.1, 1), "laptop": (0.1, 0.25, 0.5, 1), "paper": (0.1, 0.25, 0.5, 1)},
    "σ",
)
BY_COST = Sweep(
    "work_us",
    {"quick": (10, 100, 1_000), "laptop": (10, 100, 1_000, 10_000),
     "paper": (10, 100, 1_000, 10_000)},
    "cost (µs)",
    {"quick": (100,), "laptop": (100,)},
)  # fmt: skip
BY_SLOTS = Sweep("slots", {"quick": (16,), "laptop": (16, 64), "paper": (16, 64, 256)}, "slots")
# Where schedulers are compared a worklist must hold more tuples than a turn puts into it (some
# hundred of these queries in a slice of 100 us), or it fills before any scheduler is asked again.
ROOMY = 4_096
# Two workers; `quick` has only the point that figure 13 measures anyway. With 64 slots there is
# room for the outputs of one tuple, but hardly ever for those of the next.
MORE_SLOTS = Sweep(
    "slots",
    {"quick": (ROOMY,), "laptop": (64, 256, 1_024, ROOMY), "paper": (64, 256, 1_024, ROOMY)},
    "slots",
)
COST = Sweep("work_us", {"quick": (10,), "laptop": (20,), "paper": (100,)}, "cost (µs)")

# One worker and two: the machine on which this was written has two cores.
ONE_AND_TWO = Sweep("workers", dict.fromkeys(("quick", "laptop", "paper"), (1, 2)), "workers")

# The work added to each operator of a query: from none to the cost that the paper's may have.
BY_ADDED = Sweep(
    "added_us",
    {"quick": (0, 1), "laptop": (0, 1), "paper": (0, 0.3, 1, 3, 10)},
    "added work (µs)",
)

# The work of either operator of the parametric query: from less than a hop of a tuple to more.
BY_WORK = Sweep(
    "work_us",
    {"quick": (0.05, 0.5), "laptop": (0.02, 0.05, 0.1, 0.5, 2),
     "paper": (0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 3)},
    "work (µs)",
)  # fmt: skip
# The default is 256. Blocks stay whole: by default a trial decides, and two runs may differ by it.
BLOCK_SIZES = (
    "ct:form=blocks,block=16,parts=1", "ct:form=blocks,block=64,parts=1",
    "ct:form=blocks,parts=1", "ct:form=blocks,block=1024,parts=1",
)  # fmt: skip

# Parameters of schedulers and runtime that no paper gives: less and more of each than in figure 8.
GIVEN = (
    "ct", "ct:slice_us=10", "ct:slice_us=1000", "ct:window_us=1000", "ct:window_us=100000",
    "ct:slots=256", "ct:slots=16384", "qst", "qst:capacity=128", "qst:capacity=4096",
    "et", "et:source=256",
)  # fmt: skip

# As many shares of worker time as the longest query has operators.
MOST_STAGES = max(len(query.stages.split()) for query in QUERIES.values())
SHARES_SHOWN = tuple(share.name for share in SHARES[:MOST_STAGES])
SENT_WHOLE = {"query": "parametric", "selectivity": 50, "second_work": SHARED}
