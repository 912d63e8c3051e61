"""A bench whose run is threads in compiled loops: warm up, run, compare with the oracle, say so.

The order of things, of which only the third is timed::

    check, load      settings; data into memory, split
    warm_up          enter every kernel once with the very types of the run: compilation
    crew.run         from all threads ready to the last output
    finish           digests against the oracle's, latencies from the log
    columns          what was seen; a wrong digest makes an invalid row, never a point
"""

from __future__ import annotations

import math
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from experiments.records.columns import CLOSED
from experiments.text import si
from experiments.timing import machine, stability
from experiments.timing.bench import COOL, WARM, Output, Progress, Request, Started, data_of
from operators import registry
from operators.contract import UsageError, Variant
from operators.core.atomics import now
from operators.running import control, crew, pinning
from operators.running.control import BLOCKED_NS, LATEST_NS
from operators.running.schedule import CLOSED_LOOP, Schedule, every

# A trial tells how many tuples a run of so many seconds needs; a shorter one is all start-up.
TRIAL_SECONDS = 0.01
TRIAL_TUPLES = 20_000
TRIALS = 2
MOST_TUPLES = 1 << 40
SECOND_NS = 1e9
MOST_SECONDS = 86_400.0
MOST_RATE_TPS = 1e9
# Lengths of runs lie on a grid, each so many times the one before, so that settings share them:
# what a run must put out is computed once a length.
GRID = 2.0**0.25
# A run may take this many times what was planned, and so much beside, before it is given up.
PATIENCE = 5.0
PATIENCE_SECONDS = 30.0

_warm: set[tuple] = set()


@dataclass(frozen=True)
class Run:
    """One finished run, with what the machine did meanwhile."""

    total: int
    offered_tps: float | None
    outcome: crew.Outcome
    output: Output
    observed: machine.Observed
    started_at: int
    started_monotonic: int
    ended_monotonic: int


class ThreadedBench(ABC):
    """What benches of threads share; a family's bench adds ``prepare``, ``load`` and ``start``.

    Attributes
    ----------
    variant, settings, data, threads
        As in `Bench`; `data` is that of no data set until ``load`` says otherwise.
    parameters : dict
        The variant's own among the settings, after ``check``.
    first_input : int
        Input threads are those from this one on; output and update threads come before.
    least_tuples : int
        Fewer in the measured part of a closed run tell no rate.
    least_open_tuples : int
        An open run of fewer has no latency to speak of.
    in_flight : int or None
        Most input tuples that may be under way at once, None where nothing bounds them.
    tiny_tuples : int
        Enough to enter every kernel, for warming up.
    trial_tuples : int
        What a trial begins with; fewer where a tuple takes long.
    kernels : str
        What tells its kernels from those of the same variant at other settings.
    own_phases : tuple of str
        Phases of the family's own quantities, which have kernels of their own.
    """

    first_input: int
    threads: int
    least_tuples: int
    least_open_tuples: int
    tiny_tuples: int
    in_flight: int | None = None
    trial_tuples: int = TRIAL_TUPLES
    kernels: str = ""
    own_phases: tuple[str, ...] = ()

    def __init__(self, variant: Variant) -> None:
        self.variant = variant
        self.family = registry.family(variant.family)
        self.settings: dict[str, Any] = {}
        self.parameters: dict[str, Any] = {}
        self.data = data_of(None)

    def check(self, settings: Mapping[str, Any]) -> None:
        """Take the settings, every one checked against the family's and the variant's limits."""
        given = dict(settings)
        dataset = given.pop("dataset", None) if self.family.role_of(given) else None
        self.settings = self.family.resolve(self.variant, given)
        self.parameters = {each.name: self.settings[each.name] for each in self.variant.parameters}
        self.prepare(dataset)

    @abstractmethod
    def prepare(self, dataset: object) -> None:
        """Derive the threads from the settings; `dataset` is the name or path that was given."""

    @abstractmethod
    def load(self) -> None:
        """Bring the data into memory."""

    @abstractmethod
    def start(self, total: int, schedule: Schedule, phase: str = CLOSED) -> Started:
        """Return the threads of a run of `total` tuples, each due when the schedule says."""

    def schedule_of(self, total: int, offered_tps: float | None) -> Schedule:
        """Return the schedule of a run of `total` tuples; no rate stands for the closed loop."""
        return every(SECOND_NS / offered_tps) if offered_tps else CLOSED_LOOP

    def bound_in_flight(self, **tuples_of_unit: int) -> int | None:
        """Return how many input tuples the variant lets be in flight, all its bounds together.

        Parameters
        ----------
        **tuples_of_unit
            Of how many input tuples one of a unit is ("tuples", "winsets", "panes").

        Returns
        -------
        int or None
            None where no parameter of the variant bounds them.
        """
        bounds = [each for each in self.variant.parameters if each.bounds_flight]
        return (
            sum(self.parameters[each.name] * tuples_of_unit[each.unit] for each in bounds) or None
        )

    @property
    def input_threads(self) -> range:
        """The places of the input threads among those that `start` returns."""
        return range(self.first_input, self.threads)

    # --- a run ------------------------------------------------------------------------------------

    def run(self, request: Request) -> dict[str, Any]:
        """Run once and return the columns that were seen."""
        return columns_of(self, self.measure(request))

    def measure(self, request: Request) -> Run:
        """Run once, for about the seconds that are asked for.

        Raises
        ------
        crew.RunFailed
            When there is no result. A wrong result is none of these: see ``Run.output.problem``.
        """
        total = request.tuples
        if total is None and request.offered_tps is None:
            total = self.slice_tuples(request.seconds, request.limit_seconds)
        elif total is None:
            total = max(on_grid(request.offered_tps * request.seconds), self.least_open_tuples)
        return run_tuples(self, total, request)

    def warm_up(self, phase: str = CLOSED) -> None:
        """Compile what runs of a phase need, once a process."""
        warm_up(self, phase)

    def kernels_key(self, phase: str = CLOSED) -> tuple:
        """Return what tells the kernels that runs of a phase need from all others."""
        own = phase if phase in self.own_phases else CLOSED
        return (self.variant.family, self.variant.id, self.kernels, own)

    def slice_tuples(self, seconds: float, limit_seconds: float | None = None) -> int:
        """Return how many tuples a closed run of about `seconds` has, from a short trial."""
        total = on_grid(guess(self, limit_seconds) * seconds)
        while _length(self.measured(total)) < self.least_tuples:
            total = on_grid(GRID * total)
        return total

    def measured(self, total: int, open_loop: bool = False) -> tuple[int, int]:
        """Return the ranks between which the measured part of a run lies."""
        filling = 0 if open_loop or self.in_flight is None else self.in_flight
        return max(int(WARM * total), filling), int(COOL * total)


def on_grid(tuples: float) -> int:
    """Return the next number of tuples on the grid of lengths, at least one."""
    step = math.floor(math.log(max(tuples, 1.0), GRID)) - 1
    while math.ceil(GRID**step) < tuples:
        step += 1
    return math.ceil(GRID**step)


def _length(measured: tuple[int, int]) -> int:
    return measured[1] - measured[0]


def run_tuples(bench: ThreadedBench, total: int, request: Request) -> Run:
    """Run a bench once over `total` tuples and look at its output; raises as ``measure`` does."""
    schedule = bench.schedule_of(total, request.offered_tps)
    return run_started(bench, total, request, lambda: bench.start(total, schedule, request.phase))


def run_started(
    bench: ThreadedBench, total: int, request: Request, start: Callable[[], Started]
) -> Run:
    """Run the threads that `start` returns, of a bench and over `total` tuples; see ``run_tuples``.

    `start` is called when all is compiled, and before the clock runs.
    """
    offered = request.offered_tps
    bench.warm_up(request.phase)
    expected = total / offered if offered else request.seconds
    limit = request.limit_seconds or PATIENCE * expected + PATIENCE_SECONDS
    watch = machine.Watch()
    wall, begin = time.time_ns(), now()
    started = start()
    outcome = crew.run(
        started.roles,
        pin=bench.threads <= pinning.cores(),
        expected_seconds=expected,
        limit_seconds=limit,
        measured=bench.measured(total, bool(offered)),
        failures=bench.family.failures,
        progress=_said(request.progress, total, started.look),
    )
    end = now()
    observed = watch.done()
    output = started.finish(outcome)
    return Run(total, offered, outcome, output, observed, wall, begin, end)


def _said(
    progress: Progress | None, total: int, look: Callable[[], None] | None
) -> Callable[[int, float], None] | None:
    """Return what the main thread does between samples; None where that is nothing."""
    if progress is None and look is None:
        return None

    def say(processed: int, seconds: float) -> None:
        if look is not None:
            look()
        if progress is not None and processed and seconds > 0:
            left = seconds * (total - processed) / processed
            rate = processed / seconds
            progress(f"{100 * processed / total:.0f} %, {si(rate)}tuples/s, {left:.1f} s left")

    return say


def warm_up(bench: ThreadedBench, phase: str = CLOSED) -> None:
    """Compile what the bench's runs need, once a process, with the very types of a run.

    The kernels are entered in this thread and told to stop before they begin: Ctrl-C reaches a
    compiler that runs here, and no other.
    """
    place = bench.kernels_key(phase)
    if place in _warm:
        return
    roles = bench.start(bench.tiny_tuples, CLOSED_LOOP, phase).roles
    words = control.make_control(len(roles))
    words[control.STOP] = 1
    entered = {role.kernel: (thread, role) for thread, role in enumerate(roles)}
    for thread, role in entered.values():
        role.kernel(words, control.block(thread), *role.arguments)
    _warm.add(place)


def trial_of(microseconds: float) -> int:
    """Return what a trial begins with where a tuple's work takes so long."""
    return min(TRIAL_TUPLES, math.ceil(1e6 * TRIAL_SECONDS / max(microseconds, 1e-3)))


def guess(bench: ThreadedBench, limit_seconds: float | None = None) -> float:
    """Return roughly how many tuples/s a bench takes, from short closed runs.

    The tuples of the trial grow until it is long enough to mean something. Of a few such trials the
    fastest counts: whatever disturbs one makes it slower, and too short a slice tells nothing.
    """
    bench.warm_up()
    total = max(bench.trial_tuples, bench.tiny_tuples)
    if machine.INTERPRETED:
        total = bench.tiny_tuples
    fastest, trials = 0.0, 0
    while trials < TRIALS:
        started = bench.start(total, CLOSED_LOOP)
        outcome = crew.run(
            started.roles,
            pin=bench.threads <= pinning.cores(),
            expected_seconds=TRIAL_SECONDS,
            limit_seconds=limit_seconds or PATIENCE_SECONDS,
            failures=bench.family.failures,
        )
        fastest = max(fastest, total / outcome.seconds)
        if outcome.seconds >= TRIAL_SECONDS or total >= MOST_TUPLES:
            trials += 1
        else:
            total *= max(2, min(8, math.ceil(TRIAL_SECONDS / outcome.seconds)))
    return fastest


def columns_of(bench: ThreadedBench, run: Run) -> dict[str, Any]:
    """Return the columns that a run fills; what it was for is the runner's to add."""
    outcome, output, observed = run.outcome, run.output, run.observed
    whole = run.total / outcome.seconds
    measured = bench.measured(run.total, bool(run.offered_tps))
    judged = stability.judge(outcome, measured, run.offered_tps)
    throughput = whole if run.offered_tps else judged.rate_tps
    reason = output.problem
    if reason is None and run.offered_tps:
        reason = stability.injector_fault(outcome, bench.input_threads, bench.threads)
    elif reason is None and throughput is None:
        reason = f"{run.total} tuples are too few to have a middle after filling"
    inputs = bench.input_threads
    late = float(outcome.words(LATEST_NS, inputs).max() / 1e6) if run.offered_tps else None
    latency = output.latency._asdict() if output.latency else {}
    return {
        "offered_tps": run.offered_tps,
        "throughput_tps": throughput,
        "achieved_tps": judged.rate_tps if run.offered_tps else None,
        "whole_tps": whole,
        "in_flight_tuples": bench.in_flight,
        "tuples": run.total,
        "seconds": outcome.seconds,
        "outputs": output.outputs,
        **{
            f"latency_ms_{name}": latency.get(name) for name in ("mean", "p50", "p90", "p99", "max")
        },
        "latency_samples": latency.get("samples"),
        "lateness_ms_max": late,
        **output.extra,
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


def hexadecimal(digest: int) -> str:
    """Return a digest as 16 hexadecimal digits."""
    return f"{digest & (1 << 64) - 1:016x}"


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
