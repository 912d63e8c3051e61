"""One point: warm up, run, compare with the oracle, and say what was seen in the columns' words.

The order of things, of which only the third is timed::

    bench            check settings, load and split the data
    warm_up          enter every kernel once with the very types of the run: compilation
    crew.run         from all threads ready to the last output
    bench.finish     digests against the oracle's, latencies from the log
    row              the columns; a wrong digest makes an invalid row, never a point

``measure`` is this for the command: one setting, one dict. ``runner`` does it for figures.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from experiments.harness import columns, control, crew, families, machine, stability
from experiments.harness.bench import Bench, Output
from experiments.harness.control import BLOCKED_NS, LATEST_NS
from experiments.harness.oracle import hexadecimal
from experiments.harness.text import si
from operators.contract import UsageError
from operators.core.atomics import now

# A trial tells how many tuples a run of so many seconds needs; a shorter one is all start-up.
TRIAL_SECONDS = 0.05
TRIAL_TUPLES = 20_000
MOST_TUPLES = 1 << 40
MOST_SECONDS = 86_400.0
MOST_RATE_TPS = 1e9
# A closed run shorter than this share of what was asked for is made again, and how often at most.
LEAST_SHARE = 0.6
MOST_RUNS = 3
# A run may take this many times what was planned, and so much beside, before it is given up.
PATIENCE = 5.0
PATIENCE_SECONDS = 30.0

Progress = Callable[[str], None]

_warm: set[tuple[str, str, str, bool]] = set()


@dataclass(frozen=True)
class Run:
    """One finished run, with what the machine did meanwhile."""

    bench: Bench
    total: int
    offered_tps: float | None
    outcome: crew.Outcome
    output: Output
    observed: machine.Observed
    started_at: int
    started_monotonic: int
    ended_monotonic: int


def run(
    bench: Bench,
    total: int,
    offered_tps: float | None = None,
    *,
    timed: bool = False,
    limit_seconds: float | None = None,
    progress: Progress | None = None,
) -> Run:
    """Run a bench once, at full rate or at the offered one, and look at its output.

    Parameters
    ----------
    bench : Bench
    total : int
        Tuples.
    offered_tps : float, optional
        Offered rate of all inputs together, tuples/s; None for the closed loop.
    timed : bool
        Whether threads time their operations; only in the closed loop.
    limit_seconds : float, optional
        After how long to give up; None for a multiple of what the rate lets expect.
    progress : callable, optional
        Takes a short text, several times a second.

    Raises
    ------
    crew.RunFailed
        When there is no result. A wrong result is none of these: see ``Run.output.problem``.
    """
    warm_up(bench, timed)
    expected = total / offered_tps if offered_tps else TRIAL_SECONDS
    limit = limit_seconds or PATIENCE * expected + PATIENCE_SECONDS
    watch = machine.Watch()
    wall, begin = time.time_ns(), now()
    started = bench.start(total, 1e9 / offered_tps if offered_tps else 0.0, timed)
    outcome = crew.run(
        started.roles,
        pin=bench.threads <= machine.cores(),
        expected_seconds=expected,
        limit_seconds=limit,
        progress=_said(progress, total),
    )
    end = now()
    observed = watch.done()
    output = started.finish(outcome)
    return Run(bench, total, offered_tps, outcome, output, observed, wall, begin, end)


def _said(progress: Progress | None, total: int) -> Callable[[int, float], None] | None:
    if progress is None:
        return None

    def say(processed: int, seconds: float) -> None:
        if processed and seconds > 0:
            left = seconds * (total - processed) / processed
            rate = processed / seconds
            progress(f"{100 * processed / total:.0f} %, {si(rate)}tuples/s, {left:.1f} s left")

    return say


def warm_up(bench: Bench, timed: bool = False) -> None:
    """Compile what the bench's runs need, once a process, with the very types of a run.

    The kernels are entered in this thread and told to stop before they begin: Ctrl-C reaches a
    compiler that runs here, and no other.
    """
    place = (bench.variant.family, bench.variant.id, str(bench.facts["query"]), timed)
    if place in _warm:
        return
    roles = bench.start(bench.tiny_tuples, 0.0, timed).roles
    words = control.make_control(len(roles))
    words[control.STOP] = 1
    entered = {role.kernel: (thread, role) for thread, role in enumerate(roles)}
    for thread, role in entered.values():
        role.kernel(words, control.block(thread), *role.arguments)
    _warm.add(place)


def guess(bench: Bench, *, limit_seconds: float | None = None) -> float:
    """Return roughly how many tuples/s a bench takes, from short closed runs.

    The tuples of the trial double until it is long enough to mean something.
    """
    warm_up(bench)
    total = max(TRIAL_TUPLES, bench.tiny_tuples)
    if machine.INTERPRETED:
        total = bench.tiny_tuples
    while True:
        started = bench.start(total, 0.0)
        outcome = crew.run(
            started.roles,
            pin=bench.threads <= machine.cores(),
            expected_seconds=TRIAL_SECONDS,
            limit_seconds=limit_seconds or PATIENCE_SECONDS,
        )
        if outcome.seconds >= TRIAL_SECONDS or total >= MOST_TUPLES:
            return total / outcome.seconds
        total *= max(2, min(8, math.ceil(TRIAL_SECONDS / outcome.seconds)))


def tuples_for(bench: Bench, rate_tps: float, seconds: float) -> int:
    """Return the tuples of a run of about `seconds`, but enough for a latency."""
    return max(int(rate_tps * seconds), bench.least_tuples)


def run_closed(
    bench: Bench,
    seconds: float,
    limit_seconds: float | None = None,
    progress: Progress | None = None,
    timed: bool = False,
) -> Run:
    """Run a bench at full rate for about `seconds`; a `timed` run gives durations too.

    A short trial tells how many tuples that is. One that was disturbed tells too few: the run is
    then made again with the tuples that its own rate asks for.

    Raises
    ------
    crew.RunFailed
        When there is no result.
    """
    rate = guess(bench, limit_seconds=limit_seconds)
    for _ in range(MOST_RUNS):
        total = tuples_for(bench, rate, seconds)
        limit = limit_seconds or PATIENCE * max(seconds, total / rate) + PATIENCE_SECONDS
        done = run(bench, total, timed=timed, limit_seconds=limit, progress=progress)
        if done.outcome.seconds >= LEAST_SHARE * seconds:
            break
        rate = total / done.outcome.seconds
    return done


def empty(bench: Bench) -> dict[str, Any]:
    """Return the columns of a run of `bench` of which nothing is known yet: a failed one."""
    return {
        **dict.fromkeys(columns.MEASURED),
        **bench.facts,
        "family": bench.variant.family,
        "variant": bench.variant.id,
        "valid": False,
        "invalid_reason": "not measured",
        "saturated": False,
        "oversubscribed": bench.threads > machine.cores(),
        "noisy": False,
        "threads": bench.threads,
        "cores": machine.cores(),
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


def row(run: Run) -> dict[str, Any]:
    """Return the columns that a run fills; what it was for is the caller's to add."""
    outcome, output, observed = run.outcome, run.output, run.observed
    judged = stability.judge(outcome, run.total, run.offered_tps)
    reason = output.problem
    if reason is None and run.offered_tps:
        reason = stability.injector_fault(run.bench, outcome, machine.cores())
    inputs = range(run.bench.first_input, run.bench.threads)
    late = float(outcome.words(LATEST_NS, inputs).max() / 1e6) if run.offered_tps else None
    latency = output.latency._asdict() if output.latency else {}
    durations = output.durations._asdict() if output.durations else {}
    return {
        **empty(run.bench),
        "offered_tps": run.offered_tps,
        "throughput_tps": run.total / outcome.seconds,
        "achieved_tps": judged.achieved_tps,
        "tuples": run.total,
        "seconds": outcome.seconds,
        "outputs": output.outputs,
        "winsets": output.winsets,
        **{
            f"latency_ms_{name}": latency.get(name) for name in ("mean", "p50", "p90", "p99", "max")
        },
        "latency_samples": latency.get("samples"),
        "lateness_ms_max": late,
        **durations,
        "blocked_seconds": float(outcome.words(BLOCKED_NS, inputs).sum() / 1e9),
        "backlog_slope": judged.slope,
        "backlog_slope_upper": judged.slope_upper,
        "digest": hexadecimal(output.digest),
        "oracle_digest": hexadecimal(output.oracle_digest),
        "valid": reason is None,
        "invalid_reason": reason,
        "steady": judged.steady,
        "saturated": judged.saturated,
        "pinned": outcome.pinned,
        **observed._asdict(),
        "started_at": run.started_at,
        "ended_at": run.started_at + run.ended_monotonic - run.started_monotonic,
        "started_monotonic": run.started_monotonic,
        "ended_monotonic": run.ended_monotonic,
    }


def measure(
    family: str,
    variant: str,
    settings: Mapping[str, Any],
    rate: str | float,
    seconds: float,
    progress: Progress | None = None,
) -> dict[str, Any]:
    """Measure one point for ``millrace bench``.

    Parameters
    ----------
    family, variant : str
    settings : mapping of str to object
        As ``--set`` takes them; `families.setting_names` lists the names.
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
        ``threads``, ``samples`` (the throughput of each run: one here), ``provenance``, and beside
        them what was asked for and every state of the run. A wrong digest gives ``valid`` false.

    Raises
    ------
    UsageError
        When a setting, the rate or the seconds are no good.
    crew.RunFailed
        When the run had no result.
    """
    offered = check_rate(rate)
    check_seconds(seconds)
    bench = families.make(family, variant, settings)
    say = progress or (lambda text: None)
    say("compiling")
    warm_up(bench)
    if offered is None:
        done = run_closed(bench, seconds, progress=progress)
    else:
        done = run(bench, tuples_for(bench, offered, seconds), offered, progress=progress)
    asked = {name: str(value) for name, value in settings.items()}
    return report(row(done), machine.provenance({**asked, "rate": rate, "seconds": seconds}))


def check_seconds(seconds: float, name: str = "seconds") -> float:
    """Return the length of a run.

    Raises
    ------
    UsageError
        When it is not above 0, or longer than a day; `name` is what the message calls it.
    """
    if not (isinstance(seconds, int | float) and 0 < seconds <= MOST_SECONDS):
        raise UsageError(
            f"{name} must be above 0 and at most {MOST_SECONDS:.0f}, received {seconds:g}"
        )
    return seconds


def check_rate(rate: str | float) -> float | None:
    """Return the offered rate in tuples/s, or None for the closed loop.

    Raises
    ------
    UsageError
        When it is neither "max" nor a positive number within the limit.
    """
    if rate == "max":
        return None
    try:
        value = float(rate)
    except (TypeError, ValueError):
        value = math.nan
    if not 0 < value <= MOST_RATE_TPS:
        raise UsageError(
            f"rate must be max or above 0 and at most {MOST_RATE_TPS:.0f} tuples/s, received {rate}"
        )
    return value


def report(measured: Mapping[str, Any], provenance: Mapping[str, Any]) -> dict[str, Any]:
    """Return a measured row as the command prints it, latencies in one object."""
    flat = {k: v for k, v in measured.items() if not k.startswith("latency_ms_")}
    names = ("mean", "p50", "p90", "p99", "max")
    latency = {name: measured[f"latency_ms_{name}"] for name in names}
    return {
        **flat,
        "latency_ms": latency if latency["mean"] is not None else None,
        "samples": [measured["throughput_tps"]],
        "provenance": dict(provenance),
    }
