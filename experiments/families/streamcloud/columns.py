"""Columns of a query's raw results besides the common ones, and quantities made of them.

Two cores cannot show the time that twenty or sixty processors take, but they can show the work: how
many comparisons, tuples, bytes and channels each instance has, at the paper's numbers of instances.
That is counted in a separate run, and labelled as counted.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from experiments.declare import EACH_PROCESS, ONCE, Overhead, Phase, Quantity
from experiments.families.streamcloud.phases import COSTS_SECONDS, COUNTING_SECONDS
from experiments.records.columns import CLOSED, OPEN, Column

COUNTING = "counting"
"""A run on one thread, over a fixed number of tuples, that counts work and does not time it."""

COSTS = "costs"
"""A closed run whose instances are in processes, which report the processor time they use."""

FAILED = "when the run failed"
UNCOUNTED = f"unless {COUNTING}"
UNSPLIT = f"unless {COSTS}"

COLUMNS = (
    Column("compared", "integer", "", "pairs of tuples that all instances looked at", FAILED),
    Column(
        "compared_a_tuple",
        "number",
        "",
        "the same, of the part with full windows, over the tuples of that",
        "when the run failed or was too short, and when instances are in nodes",
    ),
    Column(
        "instance_seconds",
        "number",
        "s",
        "processor time of all instances, what they take, step and send",
        FAILED,
    ),
    Column(
        "late_tuples",
        "integer",
        "tuples",
        "tuples that came when what they needed was let go; none under transparent mergers",
        FAILED,
    ),
    Column(
        "lost_rows",
        "integer",
        "rows",
        "output rows of the oracle that best-effort mergers lost",
        FAILED,
    ),
)


def _counted(
    name: str, unit: str, meaning: str, words: str, label: str, better: str = "lower", **more: Any
) -> Quantity:
    return Quantity(
        name=name,
        unit=unit,
        meaning=meaning,
        words=words,
        label=label,
        better=better,
        phase=COUNTING,
        timed=False,
        **{"absent": UNCOUNTED, **more},
    )


def _share(name: str, meaning: str, label: str) -> Quantity:
    return Quantity(
        name=name,
        unit="",
        meaning=f"share of the processor time that nodes could have had that {meaning}",
        words=f"share of {label.lower()}",
        label=label,
        better="higher" if name == "processing_share" else "lower",
        phase=COSTS,
        absent=UNSPLIT,
        arithmetic=True,
        total_label="Share of the nodes' processor time",
        short_label=label.lower(),
    )


def _a_second(rate: str) -> Callable[[Mapping[str, Any]], float | None]:
    """Return a function that gives comparisons/s: a rate of tuples times the comparisons of one."""

    def compared(row: Mapping[str, Any]) -> float | None:
        if not row[rate] or not row["compared_a_tuple"]:
            return None
        return row[rate] * row["compared_a_tuple"]

    return compared


def _most_share(row: Mapping[str, Any]) -> float | None:
    return row["most_comparisons"] / row["all_comparisons"] if row["all_comparisons"] else None


QUANTITIES = (
    # --- closed slices ---
    Quantity(
        name="instance_comparisons_ps",
        unit="c/s",
        meaning="throughput times the pairs that all instances looked at for a tuple",
        words="comparisons a second",
        label="Comparisons",
        better="higher",
        phase=CLOSED,
        compute=_a_second("throughput_tps"),
    ),
    Quantity(
        name="operator_ns",
        unit="ns",
        meaning="processor time of all instances over the tuples and over the query's operators",
        words="processor time a tuple and operator",
        label="Processor time (ns a tuple and operator)",
        better="lower",
        phase=CLOSED,
    ),
    # --- at an offered rate ---
    Quantity(
        name="processed_tps",
        unit="t/s",
        meaning="input tuples per second in the middle of an open run",
        words="throughput at the offered rate",
        label="Throughput",
        better="higher",
        phase=OPEN,
        absent="unless open, and when too few samples fell into the middle",
        compute=lambda row: row["achieved_tps"],
    ),
    Quantity(
        name="processed_comparisons_ps",
        unit="c/s",
        meaning="the same times the pairs that all instances looked at for a tuple",
        words="comparisons a second at the offered rate",
        label="Comparisons",
        better="higher",
        phase=OPEN,
        absent="unless open, and when too few samples fell into the middle",
        compute=_a_second("achieved_tps"),
    ),
    Quantity(
        name="processor_use",
        unit="",
        meaning="processor time of all instances over the run's, on as many cores as they can use",
        words="processor use",
        label="Processor use",
        better="lower",
        phase=OPEN,
        absent=FAILED,
        arithmetic=True,
    ),
    Quantity(
        name="queue_tuples",
        unit="tuples",
        meaning="tuples that wait in channels, or are due and not sent, over the instances; mean of"
        " the middle of an open run",
        words="queue length",
        label="Queue length (tuples an instance)",
        better="lower",
        phase=OPEN,
        absent="unless open and on threads, and when nothing was looked at in the middle",
        arithmetic=True,
    ),
    # --- counted ---
    _counted(
        "most_comparisons",
        "",
        "pairs of tuples that the busiest instance looked at, over the input tuples",
        "comparisons of the busiest instance",
        "Comparisons, busiest (a tuple, counted)",
    ),
    _counted(
        "all_comparisons",
        "",
        "pairs of tuples that all instances looked at, over the input tuples",
        "comparisons of all instances",
        "Comparisons, all (a tuple, counted)",
    ),
    _counted(
        "most_share",
        "",
        "share of the comparisons that the busiest instance made",
        "share of the busiest instance",
        "Comparisons, busiest (share, counted)",
        absent=f"{UNCOUNTED}, or when nothing is compared",
        compute=_most_share,
    ),
    _counted(
        "most_tuples",
        "",
        "tuples that the busiest instance took, over the input tuples",
        "tuples of the busiest instance",
        "Tuples taken, busiest (a tuple, counted)",
    ),
    _counted(
        "hops_a_tuple",
        "",
        "tuples sent from instance to instance, over the input tuples",
        "hops a tuple",
        "Hops (a tuple, counted)",
    ),
    _counted(
        "bytes_a_tuple",
        "B",
        "bytes sent from instance to instance, over the input tuples",
        "bytes a tuple",
        "Bytes (a tuple, counted)",
    ),
    _counted(
        "rows_a_kilotuple",
        "",
        "rows sent from instance to instance, empty ones among them, over 1,000 input tuples",
        "rows a thousand tuples",
        "Rows (1,000 tuples, counted)",
    ),
    _counted(
        "channels",
        "",
        "channels from instance to instance",
        "channels",
        "Channels (counted)",
    ),
    _counted(
        "idle_by_rounding",
        "",
        "share of the processors that is idle when all instances wait for the slowest stage, as"
        " processors are dealt out in whole numbers",
        "idle share by rounding",
        "Idle by rounding (share, counted)",
        absent=f"{UNCOUNTED}, or when no processors are dealt out",
    ),
    # --- in nodes ---
    Quantity(
        name="nodes_tps",
        unit="t/s",
        meaning="input tuples per second in the middle of a closed run, instances in nodes",
        words="throughput on nodes",
        label="Throughput on nodes",
        better="higher",
        phase=COSTS,
        compute=lambda row: row["throughput_tps"],
    ),
    _share("processing_share", "instances use in steps", "Processing"),
    _share(
        "communication_share",
        "they use between steps, or hearing connections: to take, pack, send and read rows",
        "Communication",
    ),
    _share("idle_share_measured", "was left, what sources and outputs use apart", "Idle"),
)

# Columns that only runs of the family's extra phases fill.
OWN_PHASES_COLUMNS = tuple(
    each.name for each in QUANTITIES if each.phase in (COUNTING, COSTS) and each.compute is None
)

# Once per setting the plan is made; in each run the oracle is computed anew if the length is new,
# which takes about as long as the run itself.
OVERHEAD = Overhead(lambda settings: 0.2, lambda settings, slice_seconds: slice_seconds)

PHASES = (
    Phase(COUNTING, ONCE, lambda settings, slice_seconds: COUNTING_SECONDS, alone=True),
    Phase(COSTS, EACH_PROCESS, lambda settings, slice_seconds: COSTS_SECONDS, alone=True),
)
