"""What is run for the paper's figures 8 to 14.

Three families: reorder buffers (12), worklists of partitioned operators (9 and 10), and whole
pipelines, in which workers are sent to operators by a scheduler (8, 11, 13 and 14)::

    source --> |worklist| --> [operator 1] --> |reorder| --> |worklist| --> [operator 2] --> ...
                     ^             ^                ^
                 11: hybrid    8: which of the   12, 13, 14: lock-based
                 or part-      operators a       or non-blocking
                 itioned       free worker
                 queue         goes to

Sources are saturated: throughput is closed-loop, and latency is the paper's processing latency, of
markers from the 20th to the 80th percentile of a run. A pipeline's run is a whole pass over its
data, since some queries answer at its end only.

# ASSUME: the paper's *peak* throughput is that of the best number of workers. Here it is the
# saturated throughput at each number, and figures 14, 8x, 8y, 13x and 14x are at two workers, the
# cores of the machine that this was written on. It is no word for the cores of the machine at hand:
# settings are looked up in results of other machines too, where it would mean another number. On
# more cores figure 14 shows two workers, and not the peak.
# ASSUME: an operator of figure 13 costs 100 us in the paper, and 10 in a quick run and 20 in a
# laptop's. Fifty outputs of that cost make a tuple 5 ms of work, and a run needs hundreds of
# tuples: too long for the time these profiles have. With less work a tuple the order of its outputs
# weighs more, not less.
# ASSUME: the values of sigma (figure 9), the costs of figures 9 and 12, the slots of figures 10 and
# 13 (there more than the outputs of a tuple, or each would be sent in parts) and what schedulers
# are given (figure 8y) are not in the text.
# ASSUME: figures 9 and 10 have one producer beside the workers; in a pipeline it is a worker of the
# operator before.
# ASSUME: with a saturated source there is no due time, and the latency from due times that the
# other papers draw is not measured here.
"""

from __future__ import annotations

from dataclasses import replace

from experiments.declare import LINES, Figure, Heading, Paper, Sweep
from experiments.families.pipeline.columns import SHARES
from operators.pipeline.queries.table_1 import QUERIES

SCHEDULERS = ("qst", "lp", "et", "ct")
PARTITIONED, HYBRID = "partitioned", "hybrid"
# Under CT, which section 7 uses wherever it compares something else.
QUEUES = (f"ct:partition={PARTITIONED}", f"ct:partition={HYBRID}")
LOCK_BASED, NON_BLOCKING = "lock-based", "non-blocking"
BUFFERS = (f"ct:reorder={LOCK_BASED}", f"ct:reorder={NON_BLOCKING}")

THROUGHPUT = "throughput_tps"
MEAN, P50, P99 = "processing_ms_mean", "processing_ms_p50", "processing_ms_p99"
SPEED_UP = "speed_up"

# As many shares of worker time as the longest query has operators.
MOST_STAGES = max(len(query.stages.split()) for query in QUERIES.values())
SHARES_SHOWN = tuple(share.name for share in SHARES[:MOST_STAGES])

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
# the keys, and of three nearly all: three workers show on two cores what the figure is about.
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
# Two workers; `quick` has what figure 13 measures anyway.
MORE_SLOTS = Sweep(
    "slots", {"quick": (64,), "laptop": (16, 64, 256), "paper": (16, 64, 256, 1_024)}, "slots"
)
COST = Sweep("work_us", {"quick": (10,), "laptop": (20,), "paper": (100,)}, "cost (µs)")

# As many operators as a query has, each so much dearer: from none to what the paper's may cost.
BY_ADDED = Sweep(
    "added_us",
    {"quick": (0, 1), "laptop": (0, 1), "paper": (0, 0.3, 1, 3, 10)},
    "added work (µs)",
)

# What schedulers and runtime are given, and no paper says: less and more of each than by default.
GIVEN = (
    "ct", "ct:slice_us=10", "ct:slice_us=1000", "ct:window_us=1000", "ct:window_us=100000",
    "ct:slots=32", "ct:slots=2048", "qst", "qst:capacity=128", "qst:capacity=8192",
    "et", "et:source=256",
)  # fmt: skip

HEADINGS = (
    Heading(
        "schedulers",
        "Which operator a free worker goes to",
        "Four heuristics on five queries of TPCx-BB: push from the source (QST), pull from the end"
        " (LP), most work waiting (ET), lowest throughput (CT).",
    ),
    Heading(
        "partitioning",
        "Partitioned operators",
        "A queue for each partition, or beside them a master queue, whose keys any worker takes.",
    ),
    Heading(
        "reordering",
        "Putting outputs in order",
        "A buffer under a lock that is held while sending, or one whose sender nobody waits for.",
    ),
)

_LIGHT = (
    "With one worker these queries take millions of tuples a second, where the paper tells of"
    " millions with sixteen: a tuple costs a fraction of a microsecond, and handing it from one"
    " core to another costs as much. Figure 14x has the same with dearer operators."
)

SCHEDULING = Figure(
    id="8",
    title="Five queries, four schedulers: throughput and processing latency by workers",
    caption="schedulers on five queries",
    subject="five queries",
    family="pipeline",
    lines=SCHEDULERS,
    x=BY_WORKERS,
    form="beside",
    heading="schedulers",
    quantities=(THROUGHPUT, MEAN),
    extended_quantities=(THROUGHPUT, P50, P99),
    beside=BY_QUERY,
    about=(
        "CT leaves the operator's own selectivity out of what its throughput is divided by; with"
        " it, as printed, a last operator that puts next to nothing out is never chosen."
        f" {_LIGHT}"
    ),
)

WORKER_TIME = Figure(
    id="8x",
    title="Five queries, four schedulers, two workers: where the workers' time goes",
    caption="worker time by operator (ours)",
    subject="five queries",
    family="pipeline",
    lines=SCHEDULERS,
    x=LINES,
    form="stack",
    heading="schedulers",
    quantities=SHARES_SHOWN,
    extended_quantities=SHARES_SHOWN,
    settings={"workers": 2},
    beside=BY_QUERY,
    about="Ours: the paper says of it that it is almost similar, and shows no figure.",
)

SENSITIVITY = Figure(
    id="8y",
    title="Query 2, two workers: what schedulers are given, less and more of it",
    caption="what schedulers are given (ours)",
    subject="query q2",
    family="pipeline",
    lines=GIVEN,
    x=LINES,
    form="rows",
    heading="schedulers",
    quantities=(THROUGHPUT, MEAN),
    extended_quantities=(THROUGHPUT, MEAN),
    settings={"query": "q2", "workers": 2},
    about=(
        "Ours: slice, CT's window, QST's capacity, ET's view of the source and the slots of an"
        " operator are not given in the paper."
    ),
)

LOAD = Figure(
    id="9",
    title="One partitioned operator under uneven keys: throughput by workers",
    caption="uneven keys",
    subject="uneven keys",
    family="partition",
    lines=(PARTITIONED, HYBRID),
    x=UNEVEN,
    form="beside",
    heading="partitioning",
    quantities=(THROUGHPUT,),
    extended_quantities=(THROUGHPUT, MEAN),
    settings={"work_us": 10},
    beside=BY_SIGMA,
    about=(
        "Keys from a normal distribution around 0, kept where they lie in [-1, 1], in ranges of one"
        " width: as many as workers in the partitioned queue, 100 in the hybrid one. At σ = 0.1 the"
        " largest of 2, 3 and 4 ranges holds 50, 99.9 and 50 % of the keys."
    ),
)

LATENCY = Figure(
    id="10",
    title="One partitioned operator, uniform keys, two workers and a producer: latency by cost",
    caption="latency by cost, uniform keys",
    subject="uniform keys",
    family="partition",
    lines=(PARTITIONED, HYBRID),
    x=BY_COST,
    form="beside",
    heading="partitioning",
    quantities=(MEAN,),
    extended_quantities=(MEAN, P99, THROUGHPUT),
    settings={"sigma": 0, "workers": 2},
    beside=BY_SLOTS,
    about="How long an output waits depends on the tuples that may be under way: the slots.",
)

PARTITIONING = Figure(
    id="11",
    title="Five queries, two partitioning schemes: throughput and processing latency by workers",
    caption="partitioning on five queries",
    subject="five queries",
    family="pipeline",
    lines=QUEUES,
    x=BY_WORKERS,
    form="beside",
    heading="partitioning",
    quantities=(THROUGHPUT, MEAN),
    extended_quantities=(THROUGHPUT, P50, P99),
    beside=BY_QUERY,
    about=_LIGHT,
)

LIGHT = Figure(
    id="12",
    title="A light stateless operator: speed-up and cost of a tuple by workers",
    caption="reorder buffers, light operator",
    subject="light operator",
    family="reorder",
    lines=(LOCK_BASED, NON_BLOCKING),
    x=WORKERS_OF_ONE,
    form="curves",
    heading="reordering",
    quantities=(SPEED_UP, "worker_us"),
    extended_quantities=(SPEED_UP, "worker_us", THROUGHPUT),
    settings={"work": "constant", "work_us": 20},
    about=(
        "The lock is a pthread mutex; the extended form has a spin lock too. Work is constant, and"
        " sending short: workers then hardly meet, and the buffers hardly differ. The extended form"
        " has, of ours, exponential work of 10 µs and sends of 5 µs, where they meet."
    ),
)

SELECTIVE = Figure(
    id="13",
    title="Selectivity 50, then a partitioned operator: speed-up, and cost of the first operator",
    caption="reorder buffers, selectivity 50",
    subject="selectivity 50",
    family="pipeline",
    lines=BUFFERS,
    x=BY_WORKERS,
    form="beside",
    heading="reordering",
    quantities=(SPEED_UP, "first_operator_us"),
    extended_quantities=(SPEED_UP, "first_operator_us", THROUGHPUT),
    settings={"query": "parametric", "selectivity": 50, "slots": 64},
    beside=COST,
    about=(
        "Each output of the first operator costs as much in the second one. The paper's cost is"
        " about 100 µs. Fifty outputs of that are 5 ms of work a tuple, too long for short runs:"
        " the quick profile has 10 µs, laptop 20, and only the paper's own profile 100."
    ),
)

MORE_UNDER_WAY = replace(
    SELECTIVE,
    id="13x",
    title="Selectivity 50, two workers: speed-up, and cost of the first operator, by slots",
    caption="selectivity 50 by slots (ours)",
    x=MORE_SLOTS,
    settings={"query": "parametric", "selectivity": 50, "workers": 2},
    about="Ours: how many tuples may be under way in an operator is not given in the paper.",
)

REORDERING = Figure(
    id="14",
    title="Five queries, two reorder buffers, two workers: throughput",
    caption="reorder buffers on five queries",
    subject="five queries",
    family="pipeline",
    lines=BUFFERS,
    x=BY_QUERY,
    form="curves",
    heading="reordering",
    quantities=(THROUGHPUT,),
    extended_quantities=(THROUGHPUT, MEAN),
    settings={"workers": 2},
    about=(
        "At two workers on any machine: with more cores the peak may be at more workers, which"
        f" figure 8 has for the non-blocking buffer. {_LIGHT}"
    ),
)

DEARER = Figure(
    id="14x",
    title="Queries whose operators cost more, two workers: schedulers, queues and buffers",
    caption="dearer operators (ours)",
    subject="dearer operators",
    family="pipeline",
    lines=("ct", "lp", "et", "qst", QUEUES[0], BUFFERS[0]),
    x=BY_ADDED,
    form="beside",
    heading="reordering",
    quantities=(THROUGHPUT, MEAN),
    extended_quantities=(THROUGHPUT, MEAN),
    settings={"workers": 2},
    beside=replace(BY_QUERY, values={**BY_QUERY.values, "quick": ("q2",)}),
    about=(
        "Ours: matrix work of so many µs is added to each tuple in each operator, which brings a"
        " query to what a tuple costs in the paper, and the rest is as in figures 8, 11 and 14. CT"
        " has the hybrid queue and the non-blocking buffer; the last two have one thing other."
    ),
)

PAPER = Paper(
    id="ordered_processing",
    title="Scaling Ordered Stream Processing on Shared-Memory Multicores",
    headings=HEADINGS,
    figures=(
        SCHEDULING, WORKER_TIME, SENSITIVITY, LOAD, LATENCY, PARTITIONING, LIGHT, SELECTIVE,
        MORE_UNDER_WAY, REORDERING, DEARER,
    ),
)  # fmt: skip
