"""Real-time runs of a theta join: each tuple is due at its timestamp, whether or not it keeps up.

::

    density --> fill windows at that density --> real-time run --> did the join keep up?
       ^                                                                    |
       +------- half way between a density that passed and one that did not <+

Latency is counted from due times, so that there is no coordinated omission.

A long run is reported in parts, as figure 8 draws it. Short runs, at densities that converge on the
highest one that the join keeps up with, are the search behind figures 5b and 7b.

Source: section VI of "ScaleJoin: a Deterministic, Disjoint-Parallel and Skew-Resilient Stream
Join".

# ASSUME: a run keeps up if it passes the rate search of all families: the backlog does not grow.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from experiments.families.theta_join import streams
from experiments.families.theta_join.columns import REAL_TIME
from experiments.families.theta_join.phases import PROBES, deviation_of
from experiments.families.theta_join.streams import SECOND, Arrivals
from experiments.timing import rate_search
from experiments.timing.bench import Request, Started
from experiments.timing.threads import ThreadedBench, columns_of, run_started

# Columns that only runs in real time, or of the search, fill.
VALUES = ("highest_tps", "highest_ms_mean", "real_time_ms_mean", "real_time_ms_p99")


def run(
    bench: ThreadedBench, came: Arrivals, start: Callable[[], Started], seconds: float
) -> dict[str, Any]:
    """Run `bench` once with tuples due at the times of their timestamps.

    Parameters
    ----------
    bench : ThreadedBench
    came : Arrivals
    start : callable
        ``start()`` returns the threads of the run, with full windows.
    seconds : float

    Returns
    -------
    dict
        The measured columns.
    """
    total = len(came.time) - came.filled
    request = Request(seconds, streams.natural_tps(came), REAL_TIME, tuples=total)
    row = columns_of(bench, run_started(bench, total, request, start))
    row["real_time_ms_mean"], row["real_time_ms_p99"] = (
        row[f"latency_ms_{name}"] for name in ("mean", "p99")
    )
    return row


def search(
    settings: Mapping[str, Any], reached: float, run_at: Callable[[int], dict[str, Any]]
) -> dict[str, Any]:
    """Search for the highest density that a real-time run keeps up with.

    Parameters
    ----------
    settings : mapping of str to value
    reached : float
        Throughput of a closed run at the settings' density, tuples/s of both streams.
    run_at : callable
        ``run_at(density)`` returns the columns of a short real-time run.

    Returns
    -------
    dict
        Columns of the run at the highest rate that passed, and the bracket around that rate.
    """
    # Section VI: comparisons/s = 2 WS T**2, with T tuples/s of each stream.
    compared = reached * settings["density"] * settings["window_s"]
    first = 2 * math.sqrt(compared / (2 * settings["window_s"]))
    tried: dict[str, bool] = {}
    row: dict[str, Any] = {}

    def probe(rate: float) -> dict[str, Any]:
        density = max(round(rate / 2), 1)
        row.update(run_at(density))
        tried[str(density)] = rate_search.passes(row)
        return dict(row)

    found = rate_search.search(probe, first, PROBES)
    # If nothing passed, the row is the last run's and claims no rate.
    row = dict(found.passed or row)
    return {
        **row,
        "tried": tried,
        "over_time": None,
        "highest_tps": found.low_tps,
        "highest_ms_mean": row["real_time_ms_mean"] if found.low_tps else None,
        "bracket_low_tps": found.low_tps,
        "bracket_high_tps": found.high_tps,
        "probes": found.probes,
        "real_time_ms_mean": None,
        "real_time_ms_p99": None,
    }


def parts_of(came: Arrivals, parts: np.ndarray, part_ns: int) -> dict[str, Any]:
    """Return a run in parts: the rates that streams offered, and the comparisons of the threads.

    Parameters
    ----------
    came : Arrivals
    parts : int64 array, (threads, parts)
        Comparisons.
    part_ns : int
        Length of a part.

    Returns
    -------
    dict
        The column ``over_time``.
    """
    ends = came.begin + part_ns * np.arange(1, parts.shape[1] + 1)
    deviation = [deviation_of(each) if each.sum() else 0.0 for each in parts.T]
    return {
        "seconds": ((ends - came.begin - part_ns / 2) / SECOND).round(4).tolist(),
        "rates": streams.rates_of(came, ends - part_ns, ends),
        "mean": (parts.mean(axis=0) * SECOND / part_ns).round(1).tolist(),
        "deviation": np.round(deviation, 5).tolist(),
    }
