"""The highest rate that a variant sustains, between one that passed and one that failed.

A closed run gives the first guess; open runs then close in on the rate from both sides. A rate
passes when the output was right, the backlog does not grow (the upper confidence bound of the slope
is below a hundredth of the rate), the achieved rate is at least 0.99 of the offered rate, and the
99th percentile of the latency stays under the limit. The outcome is a bracket, never a single
number without one.

A run that failed while others had the machine is no evidence about the rate: it is repeated once,
and the second result counts. A run that passed despite a disturbance needs no repetition.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from experiments.timing.stability import LEVEL_SLOPE

LEAST_ACHIEVED = 0.99
# ASSUME: the paper gives no bound; a second is longer than any of its curves before saturation.
LATENCY_LIMIT_MS = 1_000.0
# A closed run has backpressure and keeps caches warm, so the full rate is seldom sustained.
FIRST_SHARE = 0.9
UP, DOWN = 1.15, 0.8
# A bracket this narrow is narrower than the differences between two processes.
NARROW = 1.05

Row = Mapping[str, Any]


class Bracket(NamedTuple):
    """The outcome of a search.

    Attributes
    ----------
    low_tps : float or None
        Highest rate that passed; None when none did.
    high_tps : float or None
        Lowest rate that failed; None when none did.
    passed : mapping or None
        Row of the run at `low_tps`.
    probes : int
        Number of runs, including repeated ones.
    """

    low_tps: float | None
    high_tps: float | None
    passed: Row | None
    probes: int


def passes(row: Row, latency_limit_ms: float = LATENCY_LIMIT_MS) -> bool:
    """Say whether an open run's row shows that the rate is sustained.

    Parameters
    ----------
    row : mapping
        A raw result.
    latency_limit_ms : float
        Of the 99th percentile.
    """
    if not row["valid"] or row["backlog_slope_upper"] is None:
        return False
    return (
        row["backlog_slope_upper"] <= LEVEL_SLOPE
        and row["achieved_tps"] >= LEAST_ACHIEVED * row["offered_tps"]
        and (row["latency_ms_p99"] is None or row["latency_ms_p99"] <= latency_limit_ms)
    )


def next_rate(guess: float, low: float | None, high: float | None) -> float:
    """Return the rate to try next, given the rates that passed and failed so far (tuples/s)."""
    if low is None and high is None:
        return FIRST_SHARE * guess
    if low is None:
        return DOWN * high
    if high is None:
        return UP * low
    return math.sqrt(low * high)


def search(
    measure: Callable[[float], Row],
    guess: float,
    probes: int,
    latency_limit_ms: float = LATENCY_LIMIT_MS,
) -> Bracket:
    """Search the highest sustained rate.

    Parameters
    ----------
    measure : callable
        Takes an offered rate (tuples/s), runs it and returns the row.
    guess : float
        Throughput of the closed run.
    probes : int
        Most rates to try.
    latency_limit_ms : float
        Of the 99th percentile.
    """
    low: float | None = None
    high: float | None = None
    passed: Row | None = None
    made = 0
    for _ in range(probes):
        if low is not None and high is not None and high / low < NARROW:
            break
        rate = next_rate(guess, low, high)
        row = measure(rate)
        made += 1
        if row["noisy"] and not passes(row, latency_limit_ms):
            row = measure(rate)
            made += 1
        if passes(row, latency_limit_ms):
            low, passed = rate, row
        else:
            high = rate
    return Bracket(low, high, passed, made)
