"""The runs of the figures on Spark, which are ours: no figure of the paper.

They are separate from those of threads, as the scales differ: a thread processes a tuple in about a
microsecond, a micro-batch a hundred thousand tuples at once. Runs are closed loops: a batch begins
when the previous one has ended. No rate here is therefore one that is sustained at a latency; the
lower bound of latency is the duration of a batch, which is drawn next to each rate.

# ASSUME: the paper knows no batches. High rates on Spark need large ones: here they have 100,000 to
# two million tuples.
"""

from __future__ import annotations

from experiments.declare import LINES, Figure, Heading, Series
from experiments.streamcloud.axes import (
    BY_TRIGGER,
    OF_SPARK_INSTANCES,
    OF_SPARK_QUERIES,
    STRATEGIES,
)

SPARK = Heading(
    "spark",
    "On Spark",
    "The same plans in micro-batches and as a batch job, beside what Spark has of its own.",
)

STREAM, BOUNDED, STORE = "stream", "bounded", "state-store"
WINDOW, WINDOW_BATCH = "spark-window", "spark-window-batch"
PANDAS, JOIN, ROWS = "pandas-with-state", "stream-stream-join", "row-shuffle"

RATE, USED, BATCH, OPERATOR = "spark_tps", "spark_us", "batch_ms", "spark_operator_us"
SHARES = (
    "spark_kernel_share", "spark_python_share", "spark_arrow_share", "spark_planning_share",
    "spark_idle_share",
)  # fmt: skip
# Enough tuples for a batch to outweigh Spark's overhead per batch.
EIGHT = {"density": 20, "trigger": 120_000, "batches": 2}

_CLOSED = "Closed loop: a batch begins when the one before has ended."
_FIRST = "A stream's first batch is left out, in which code is loaded and compiled."


def _cut(variant: str, strategy: str) -> Series:
    """Return a line of the query of figure 8, cut by a strategy."""
    return Series.of(variant, {"query": "eight-operators", "strategy": strategy})


def _relay(variant: str, strategy: str) -> Series:
    return Series.of(variant, {"query": "relay", "strategy": strategy})


def _on_spark(id: str, group: str, quantities: tuple[str, ...], **given: object) -> Figure:
    """Return a figure on Spark, measured with others of the same data."""
    return Figure(
        id=id,
        family="micro_batches",
        heading=SPARK.id,
        quantities=quantities,
        extended_quantities=quantities,
        measured_with=group,
        **given,
    )


_CALLS, _NUMBERS = "spark-calls", "spark-numbers"

OPERATORS = _on_spark(
    "7s",
    _CALLS,
    (RATE, USED),
    title="Map, join, aggregate and product on Spark: throughput and processor time",
    caption="one operator on Spark (ours)",
    subject="one operator",
    lines=(STREAM, BOUNDED),
    x=OF_SPARK_INSTANCES,
    panels=OF_SPARK_QUERIES,
    form="side_by_side",
    settings={"trigger": 100_000, "batches": 2},
    about=(
        f"Queries of figures 7a to 7d, 100 calls to a second. {_CLOSED} A batch is of 100,000"
        " calls. Over so few, what Spark does for a batch is most of what it takes; figure 12s has"
        " larger ones."
    ),
)
CUT = _on_spark(
    "7fs",
    _NUMBERS,
    (RATE, USED),
    title="Three strategies on Spark: throughput and processor time, as a stream and as a job",
    caption="three strategies on Spark (ours)",
    subject="eight operators",
    lines=tuple(_cut(variant, each) for variant in (STREAM, BOUNDED) for each in STRATEGIES),
    x=LINES,
    form="rows",
    settings=EIGHT,
    about=(
        "The query of figure 8, two instances a stage. A hop is a shuffle here, and stages that are"
        f" as far from the inputs share one. {_CLOSED} {_FIRST}"
    ),
)
SPLIT = _on_spark(
    "9s",
    _NUMBERS,
    SHARES,
    title="Three strategies on Spark: what the cores' time goes into",
    caption="costs on Spark (ours)",
    subject="eight operators",
    lines=tuple(_cut(STREAM, each) for each in STRATEGIES),
    x=LINES,
    form="stack",
    settings=EIGHT,
    about=(
        "Of all cores, from the end of the first batch on. Instances and the steps around them note"
        " their own processor time, Spark's tasks tell theirs, and what Java and Python have used"
        " in all is the system's word. Planning is what Java uses beside tasks, its compilers"
        " included."
    ),
)
HOP = _on_spark(
    "11s",
    _NUMBERS,
    (OPERATOR, RATE),
    title="What a hop costs on Spark: a call, a blob or a row through a shuffle, a state call",
    caption="what a hop costs on Spark (ours)",
    subject="hops",
    lines=(
        _relay(BOUNDED, "query-cluster"),
        _relay(BOUNDED, "operator-cluster"),
        _relay(STREAM, "operator-cluster"),
        _relay(STORE, "operator-cluster"),
        Series.of(ROWS, {"query": "relay"}),
    ),
    x=LINES,
    form="rows",
    settings={"trigger": 200_000, "batches": 2},
    about=(
        "Three maps in a row, all in one instance, or a stage each with two instances, so that"
        " each tuple goes through two shuffles more: as blobs, in a job; the same in a stream,"
        " whose instances read and write their state in each batch, in files or in Spark's store;"
        f" and as rows of Spark's, without Python. {_CLOSED}"
    ),
)
TRIGGERS = _on_spark(
    "12s",
    _NUMBERS,
    (RATE, USED, BATCH),
    title="Count by 243 keys in ten windows a tuple: throughput by tuples of a batch",
    caption="tuples of a batch on Spark (ours)",
    subject="few keys",
    lines=(STREAM, f"{STREAM}:instances=1", STORE, WINDOW, PANDAS),
    x=BY_TRIGGER,
    form="curves",
    settings={"query": "few-keys", "density": 1_000, "batches": 2},
    about=(
        f"{_CLOSED} {_FIRST} Plans have two instances where nothing else is said. What a tuple"
        " takes is the processor time of Java and Python. Spark's window() keeps its state in"
        " memory, which is its default; a function of pandas with state is called for each key."
    ),
)
RECORDED = _on_spark(
    "13s",
    _NUMBERS,
    (RATE, USED),
    title="Count by 243 keys of recorded input: a plan as a job, and Spark's window()",
    caption="recorded input on Spark (ours)",
    subject="few keys",
    lines=(BOUNDED, WINDOW_BATCH),
    x=LINES,
    form="dots",
    settings={"query": "few-keys", "density": 1_000, "trigger": 500_000},
    about="Two million tuples in one job, from its start to its last row: no batches.",
)
JOINS = _on_spark(
    "14s",
    _CALLS,
    (RATE, USED, BATCH),
    title="Calls of one user within a minute, on Spark: a plan, and a join of two streams",
    caption="join on Spark (ours)",
    subject="join",
    lines=(STREAM, JOIN),
    x=LINES,
    form="dots",
    settings={"query": "join", "trigger": 100_000, "batches": 2},
    about=(
        f"The query of figure 7b. Spark's join goes by the user and the distance in time. {_CLOSED}"
        f" {_FIRST}"
    ),
)

FIGURES = (OPERATORS, CUT, SPLIT, HOP, TRIGGERS, RECORDED, JOINS)
