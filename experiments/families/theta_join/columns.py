"""Columns of a theta join's raw results besides the common ones, and quantities made of them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from experiments.declare import EACH_PROCESS, ONCE, TWICE, Overhead, Phase, Quantity
from experiments.families.theta_join.phases import EVEN, deviation_of, real_seconds, search_seconds
from experiments.records.columns import CLOSED, Column

REAL_TIME = "real time"
"""An open run at the rate of event time: tuples are due as far apart as their timestamps."""

HIGHEST = "highest density"
"""The search for the highest density that a real-time run keeps up with."""

COLUMNS = (
    Column(
        "comparisons",
        "integer",
        "",
        "pairs of tuples that the sequential join compares in the run",
        "when the run failed",
    ),
    Column(
        "thread_comparisons",
        "object",
        "",
        "comparisons of each processing thread in the run, by its number",
        "when the run failed, or there are no such threads",
    ),
    Column(
        "compared_ps",
        "number",
        "c/s",
        "comparisons of the cores of a chain while its driver is in the middle of the run; 0 when a"
        " core ended before",
        "unless a driver feeds the others",
    ),
    Column("sort_peak", "integer", "pairs", "most pairs that waited to be put in order"),
    Column(
        "over_time",
        "object",
        "",
        "the run in equal parts: `seconds` from its begin to a part's middle; `rates`, tuples/s"
        " offered by each physical stream; `mean` and `deviation`, comparisons/s a thread and their"
        " standard deviation in %; `event_` before them: by event time and not by the clock",
        f"unless {REAL_TIME}, or where cores see tuples in other orders",
    ),
    Column(
        "tried",
        "object",
        "tuples/s",
        "densities that were tried, each with whether the run kept up",
        f"unless {HIGHEST}",
    ),
)


# Once per setting the streams are made and the oracle joins them (two cores of a Xeon "Sapphire
# Rapids").
OVERHEAD = Overhead(lambda settings: 0.9, lambda settings, slice_seconds: 0.0)


def _often(settings: Mapping[str, Any]) -> str:
    """Return how often a real-time run is made: twice, as latencies are; a case study, once."""
    return TWICE if settings["profile"] == EVEN else ONCE


PHASES = (
    Phase(REAL_TIME, _often, real_seconds),
    Phase(HIGHEST, EACH_PROCESS, search_seconds),
)


def _comparisons(row: Mapping[str, Any]) -> float | None:
    """Return the comparisons/s of the middle, or of the whole run where the throughput is of that.

    A tuple causes equally many comparisons in each design. In a chain, however, the tuples that the
    driver has sent may still be waiting, so that the comparisons of the cores are counted.
    """
    if not row["throughput_tps"] or row["comparisons"] is None:
        return None
    if row["compared_ps"] is not None and row["of_whole_run"]:
        return sum(row["thread_comparisons"].values()) / row["seconds"]
    if row["compared_ps"] is not None:
        return row["compared_ps"] or None
    return row["throughput_tps"] * row["comparisons"] / row["tuples"]


def _threads(row: Mapping[str, Any]) -> np.ndarray:
    return np.array(list((row["thread_comparisons"] or {}).values()), dtype=np.float64)


def _a_thread(row: Mapping[str, Any]) -> float | None:
    found = _comparisons(row)
    return found / len(_threads(row)) if found and len(_threads(row)) else None


def _deviation(row: Mapping[str, Any]) -> float | None:
    counts = _threads(row)
    return deviation_of(counts) if len(counts) > 1 and counts.sum() else None


def _over_time(
    name: str, unit: str, meaning: str, label: str, better: str = "higher", timed: bool = False
) -> Quantity:
    def mean(row: Mapping[str, Any]) -> float | None:
        found = (row["over_time"] or {}).get(name)
        return float(np.mean(list(found.values()) if name == "rates" else found)) if found else None

    return Quantity(
        name=f"over_time_{name}",
        unit=unit,
        meaning=meaning,
        words=label.lower(),
        label=label,
        better=better,
        phase=REAL_TIME,
        absent=f"unless {REAL_TIME}",
        timed=timed,
        arithmetic=True,
        short_label=name,
        compute=mean,
    )


QUANTITIES = (
    Quantity(
        name="comparisons_ps",
        unit="c/s",
        meaning="throughput times the comparisons that the sequential join makes for a tuple, also"
        " where an index spares them; of a chain those that its cores make",
        words="comparisons a second",
        label="Comparisons",
        better="higher",
        phase=CLOSED,
        compute=_comparisons,
    ),
    Quantity(
        name="thread_comparisons_ps",
        unit="c/s",
        meaning="the same over the processing threads",
        words="comparisons a second of a thread",
        label="Comparisons a thread",
        better="higher",
        phase=CLOSED,
        compute=_a_thread,
    ),
    Quantity(
        name="deviation_percent",
        unit="%",
        meaning="standard deviation of the comparisons of the processing threads, of their mean; a"
        " millionth at least",
        words="deviation of the threads' work",
        label="Deviation of work (%)",
        better="lower",
        phase=CLOSED,
        absent="when the run failed, or one thread has all the work",
        timed=False,
        compute=_deviation,
    ),
    Quantity(
        name="highest_tps",
        unit="t/s",
        meaning="highest rate of both streams together with which a run in real time, windows full"
        " of as many tuples a second, keeps up",
        words="highest rate in real time",
        label="Highest rate in real time",
        better="higher",
        phase=HIGHEST,
        absent=f"unless {HIGHEST}, or when none was kept up with",
        bracket="highest_tps",
    ),
    Quantity(
        name="highest_ms_mean",
        unit="ms",
        meaning="from a tuple's due time to the output of its pairs at that rate, mean",
        words="latency at the highest rate",
        label="Mean latency at the highest rate (ms)",
        better="lower",
        phase=HIGHEST,
        absent=f"unless {HIGHEST}, or when too few pairs came out",
    ),
    Quantity(
        name="real_time_ms_mean",
        unit="ms",
        meaning="from the due time of a pair's later tuple to its output, in real time, mean",
        words="latency in real time",
        label="Mean latency (ms)",
        better="lower",
        phase=REAL_TIME,
        absent=f"unless {REAL_TIME}, or when too few pairs came out",
    ),
    Quantity(
        name="real_time_ms_p99",
        unit="ms",
        meaning="the same, 99th percentile",
        words="latency in real time",
        label="99th percentile of latency (ms)",
        better="lower",
        phase=REAL_TIME,
        absent=f"unless {REAL_TIME}, or when too few pairs came out",
    ),
    _over_time("rates", "t/s", "tuples/s that each physical stream offers, mean", "Offered rate"),
    _over_time(
        "mean", "c/s", "comparisons of a processing thread by the clock, mean over the run",
        "Comparisons a thread", timed=True,
    ),
    _over_time(
        "deviation", "%", "standard deviation of the threads' comparisons by the clock, of their"
        " mean, mean over the run", "Deviation (%)", "lower", timed=True,
    ),
    _over_time(
        "event_mean", "c/s", "comparisons of a processing thread by event time, mean over the run",
        "Comparisons, event time",
    ),
    _over_time(
        "event_deviation", "%", "standard deviation of the threads' comparisons by event time, of"
        " their mean, mean over the run", "Deviation, event time (%)", "lower",
    ),
    Quantity(
        name="sort_buffer_pairs",
        unit="",
        meaning="most pairs that waited to be put in order",
        words="pairs in the sort buffer",
        label="Most pairs in the sort buffer",
        better="lower",
        phase=REAL_TIME,
        absent=f"unless {REAL_TIME}, or when nothing waits to be put in order",
        timed=False,
        compute=lambda row: row["sort_peak"] or None,
    ),
)  # fmt: skip
