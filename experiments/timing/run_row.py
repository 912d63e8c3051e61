"""One point as a row: the request, the observations, and failures as rows all the same."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from experiments.records import columns, quantities
from experiments.records.columns import OPEN
from experiments.timing import machine, memory
from experiments.timing.bench import Bench, Progress, Request
from experiments.timing.threads import check_rate, check_seconds
from operators.core.atomics import now
from operators.running import pinning

# The quantity of the families that compare a run with a serial one.
SPEED_UP = "speed_up"


def empty(bench: Bench) -> dict[str, Any]:
    """Return the columns of a run of `bench` without any result yet: a failed one."""
    family = bench.variant.family
    return {
        **{name: None for name in columns.of_family(family) if name not in columns.PURPOSE},
        **bench.data,
        "family": family,
        "variant": bench.variant.id,
        "settings": dict(bench.settings),
        "valid": False,
        "invalid_reason": "not measured",
        "saturated": False,
        "in_flight_tuples": bench.in_flight,
        "oversubscribed": bench.threads > pinning.cores(),
        "noisy": False,
        "threads": bench.threads,
        "cores": pinning.cores(),
        "pinned": False,
    }


def failed(bench: Bench, reason: str, started_at: int, started_monotonic: int) -> dict[str, Any]:
    """Return the columns of a run that ended without a result."""
    ended = now()
    return {
        **empty(bench),
        "invalid_reason": " ".join(reason.split()),
        "started_at": started_at,
        "ended_at": started_at + ended - started_monotonic,
        "started_monotonic": started_monotonic,
        "ended_monotonic": ended,
    }


def row(bench: Bench, request: Request) -> dict[str, Any]:
    """Run once and return the columns that a run fills.

    Raises
    ------
    run_threads.RunFailed
        When there is no result.
    """
    before = memory.begin()
    seen = bench.run(request)
    return {**empty(bench), **seen, **memory.since(before)._asdict()}


def measure(
    bench: Bench, rate: str | float, seconds: float, progress: Progress | None = None
) -> dict[str, Any]:
    """Measure one point for ``millrace bench``.

    Parameters
    ----------
    bench : Bench
        Loaded.
    rate : "max" or float
        Closed loop, or the offered rate of all inputs together, tuples/s.
    seconds : float
        Length of the run. A short closed trial turns it into a number of tuples.
    progress : callable, optional
        Takes a short text several times a second, for a live line.

    Returns
    -------
    dict
        The JSON object of the command: ``throughput_tps``, ``latency_ms`` (None in the closed
        loop), ``tuples``, ``seconds``, ``outputs``, ``digest``, ``valid``, ``oversubscribed``,
        ``threads``, ``samples`` (the throughput of each run: one here), ``provenance``,
        ``speed_up`` over a serial run in families that time one, and also the request and every
        state of the run. A wrong digest gives ``valid`` false.

    Raises
    ------
    UsageError
        When the rate or the seconds are invalid.
    run_threads.RunFailed
        When the run had no result.
    """
    offered = check_rate(rate)
    check_seconds(seconds)
    if progress is not None:
        progress("compiling")
    # In a run of that phase a serial run is timed, too.
    speed_up = quantities.of_family(bench.variant.family).get(SPEED_UP)
    phase = {} if speed_up is None else {"phase": speed_up.phase}
    if offered is not None:
        phase = {"phase": OPEN}
    seen = row(bench, Request(seconds, offered, progress=progress, **phase))
    asked = {"settings": dict(bench.settings), "rate": rate, "seconds": seconds}
    return report(seen, machine.provenance() | {"asked": asked})


def report(measured: Mapping[str, Any], provenance: Mapping[str, Any]) -> dict[str, Any]:
    """Return a measured row as the command prints it, latencies in one object."""
    flat = {k: v for k, v in measured.items() if not k.startswith("latency_ms_")}
    names = ("mean", "p50", "p90", "p99", "max")
    latency = {name: measured[f"latency_ms_{name}"] for name in names}
    speed_up = quantities.of_family(measured["family"]).get(SPEED_UP)
    computed = {} if speed_up is None else {SPEED_UP: speed_up.value(measured)}
    return {
        **flat,
        **computed,
        "latency_ms": latency if latency["mean"] is not None else None,
        "samples": [measured["throughput_tps"]],
        "provenance": dict(provenance),
    }
