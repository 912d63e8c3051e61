"""Runs of a theta join in real time: tuple by tuple when its timestamp says, whatever happens.

::

    density --> windows full of as many tuples a second as come --> did the join keep up?
       ^                                                                    |
       +---------- half way between what it kept up with and what not <-----+

A long run is seen in its parts, as figure 8 draws it. Short ones, at densities that close in on the
highest one that is kept up with, are the search behind figures 5b and 7b.

Source: section VI of "ScaleJoin: a Deterministic, Disjoint-Parallel and Skew-Resilient Stream
Join".

# ASSUME: a run keeps up as in the rate search of all families: its backlog does not grow.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from experiments.families.theta_join import streams
from experiments.families.theta_join.columns import REAL_TIME
from experiments.families.theta_join.runs import PROBES, deviation_of
from experiments.families.theta_join.streams import SECOND, Arrivals
from experiments.timing import rate_search
from experiments.timing.bench import Request, Started
from experiments.timing.threads import ThreadedBench, columns_of, run_started

# Columns that no other run has.
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
        ``start()`` returns the threads of the run, its windows full.
    seconds : float

    Returns
    -------
    dict
        The columns that were seen.
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
    """Close in on the highest density that a run in real time keeps up with.

    Parameters
    ----------
    settings : mapping of str to value
    reached : float
        Throughput of a closed run at the settings' density, tuples/s of both streams.
    run_at : callable
        ``run_at(density)`` returns the columns of a short run in real time.

    Returns
    -------
    dict
        Columns of the run at the highest rate that was kept up with, and the rates that it lies
        between.
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
    # Where nothing passed, the last run tells of itself, and no rate is claimed.
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
    """Return a run in its parts: what streams offered, and what each thread compared.

    Parameters
    ----------
    came : Arrivals
    parts : int64 array, (threads, parts)
        Comparisons.
    part_ns : int
        How long a part is.

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
