"""A bench that runs threads in compiled loops: warm up, run, compare with the oracle, report.

The steps of a run, of which only the third is timed::

    check, load       settings; data into memory, split
    warm_up           enter every kernel once with the very types of the run: compilation
    run_threads.run   from all threads ready to the last output
    finish            digests against the oracle's, latencies from the log
    columns           the observed columns; a wrong digest makes an invalid row, never a point
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
from operators.running import control, pinning, run_threads
from operators.running.control import BLOCKED_NS, LATEST_NS
from operators.running.schedule import CLOSED_LOOP, Schedule, every

# A trial shows how many tuples a run of so many seconds needs; a shorter one is all start-up.
TRIAL_SECONDS = 0.01
TRIAL_TUPLES = 20_000
TRIALS = 2
MOST_TUPLES = 1 << 40
SECOND_NS = 1e9
MOST_SECONDS = 86_400.0
MOST_RATE_TPS = 1e9
# Lengths of runs lie on a grid with this factor between neighbours, so that settings share them:
# the expected output is computed once a length.
GRID = 2.0**0.25
# The least content of the middle of a closed run, so that inputs and outputs show one steady rate:
# this many times the tuples that may be in flight, and this many rounds in which each thread has
# had a turn on a core. Shorter, a middle counted at the inputs gave up to 1.8 times the rate of the
# whole run (F-OI and K-OI, 20 inputs, two cores).
FLIGHTS, SCHEDULER_ROUNDS, TURN_SECONDS = 4, 3, 0.004
# A slice is made longer for that, up to this factor; where it would have to be longer still, the
# rate is that of the whole run.
MOST_STRETCH = 5
# A run may take this many times the planned time, and so much more, before it is given up.
PATIENCE = 5.0
PATIENCE_SECONDS = 30.0

_warm: set[tuple] = set()


@dataclass(frozen=True)
class Run:
    """One finished run, with the state of the machine meanwhile."""

    total: int
    offered_tps: float | None
    of_whole: bool
    outcome: run_threads.Outcome
    output: Output
    state_bytes: int | None
    observed: machine.Observed
    started_at: int
    started_monotonic: int
    ended_monotonic: int


class ThreadedBench(ABC):
    """Common part of benches of threads; a family's bench adds ``prepare``, ``load``, ``start``.

    Attributes
    ----------
    variant, settings, data, threads
        As in `Bench`; `data` is that of no data set before ``load``.
    parameters : dict
        The variant's parameters among the settings, after ``check``.
    first_input : int
        Input threads are those from this one on; output and update threads come before.
    least_tuples : int
        A closed run with fewer in the measured part has no rate.
    least_open_tuples : int
        An open run with fewer has no meaningful latency.
    in_flight : int or None
        Most input tuples that may be in flight, None where nothing bounds them.
    of_whole_runs : bool
        Whether the throughput of every closed run is the tuples over the whole time, rather than
        that of the middle: for designs with so much in flight that inputs say little about
        outputs. Other designs do so where a slice cannot be long enough (``is_of_whole``).
    tiny_tuples : int
        Enough to enter every kernel, for warm-up.
    trial_tuples : int
        The first length of a trial; smaller where a tuple takes long.
    kernels : str
        Distinguishes the kernels from those of the same variant at other settings.
    own_phases : tuple of str
        Phases of the family's quantities, which have separate kernels.
    """

    first_input: int
    threads: int
    least_tuples: int
    least_open_tuples: int
    tiny_tuples: int
    in_flight: int | None = None
    of_whole_runs: bool = False
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
        """Take the settings, after checking each against the limits of family and variant."""
        given = dict(settings)
        dataset = given.pop("dataset", None) if self.family.role_of(given) else None
        self.settings = self.family.resolve(self.variant, given)
        self.parameters = {each.name: self.settings[each.name] for each in self.variant.parameters}
        self.prepare(dataset)

    @abstractmethod
    def prepare(self, dataset: object) -> None:
        """Derive the threads from the settings; `dataset` is the given name or path."""

    @abstractmethod
    def load(self) -> None:
        """Bring the data into memory."""

    @abstractmethod
    def start(self, total: int, schedule: Schedule, phase: str = CLOSED) -> Started:
        """Return the threads of a run of `total` tuples, each due when the schedule says."""

    def schedule_of(self, total: int, offered_tps: float | None) -> Schedule:
        """Return the schedule of a run of `total` tuples; no rate means the closed loop."""
        return every(SECOND_NS / offered_tps) if offered_tps else CLOSED_LOOP

    def bound_in_flight(self, **tuples_of_unit: int) -> int | None:
        """Return how many input tuples the variant lets be in flight, by the sum of all bounds.

        Parameters
        ----------
        **tuples_of_unit
            The number of input tuples in one of each unit ("tuples", "winsets", "panes").

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
        """The indices of the input threads among those that `start` returns."""
        return range(self.first_input, self.threads)

    # --- a run ------------------------------------------------------------------------------------

    def run(self, request: Request) -> dict[str, Any]:
        """Run once and return the observed columns."""
        return columns_of(self, self.measure(request))

    def measure(self, request: Request) -> Run:
        """Run once, for about the requested seconds.

        Raises
        ------
        run_threads.RunFailed
            When there is no result. A wrong result is none of these: see ``Run.output.problem``.
        """
        total = request.tuples
        if total is None and request.offered_tps is None:
            total = self.slice_tuples(request.seconds, request.limit_seconds)
        elif total is None:
            total = max(on_grid(request.offered_tps * request.seconds), self.least_open_tuples)
        return run_tuples(self, total, request)

    def warm_up(self, phase: str = CLOSED) -> None:
        """Compile the kernels of a phase, once a process."""
        warm_up(self, phase)

    def kernels_key(self, phase: str = CLOSED) -> tuple:
        """Return the key of the kernels that runs of a phase need."""
        own = phase if phase in self.own_phases else CLOSED
        return (self.variant.family, self.variant.id, self.kernels, own)

    def slice_tuples(self, seconds: float, limit_seconds: float | None = None) -> int:
        """Return how many tuples a closed run of about `seconds` has, from a short trial.

        More, where the middle would otherwise be too short and can be lengthened: see
        ``is_of_whole``.
        """
        rate = guess(self, limit_seconds)
        total = on_grid(rate * seconds)
        while _length(self.measured(total)) < self.least_tuples:
            total = on_grid(GRID * total)
        wanted = max(FLIGHTS * (self.in_flight or 0), rate * SCHEDULER_ROUNDS * self.round_seconds)
        longer, longest = total, on_grid(MOST_STRETCH * rate * seconds)
        while _length(self.measured(longer)) < wanted and longer < longest:
            longer = on_grid(GRID * longer)
        return longer if _length(self.measured(longer)) >= wanted else total

    @property
    def round_seconds(self) -> float:
        """About how long it takes until each thread has had a turn on a core."""
        return TURN_SECONDS * self.threads / pinning.cores()

    def is_of_whole(self, total: int, seconds: float) -> bool:
        """Say whether the throughput of a closed run is the tuples over the whole time.

        Only the length decides, which is fixed before the run: equal slices are treated alike.

        Parameters
        ----------
        total : int
        seconds : float
            The requested length of a slice.
        """
        length = _length(self.measured(total))
        longest = MOST_STRETCH * seconds * length / total
        few = length < FLIGHTS * (self.in_flight or 0)
        return self.of_whole_runs or few or SCHEDULER_ROUNDS * self.round_seconds > longest

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
    """Run a bench once over `total` tuples and check the output; raises as ``measure`` does."""
    schedule = bench.schedule_of(total, request.offered_tps)
    return run_started(bench, total, request, lambda: bench.start(total, schedule, request.phase))


def run_started(
    bench: ThreadedBench, total: int, request: Request, start: Callable[[], Started]
) -> Run:
    """Run the threads that `start` returns, of a bench and over `total` tuples; see ``run_tuples``.

    `start` is called after compilation and before the clock starts.
    """
    offered = request.offered_tps
    bench.warm_up(request.phase)
    expected = total / offered if offered else request.seconds
    limit = request.limit_seconds or PATIENCE * expected + PATIENCE_SECONDS
    watch = machine.Watch(bench.threads)
    wall, begin = time.time_ns(), now()
    started = start()
    outcome = run_threads.run(
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
    of_whole = bool(offered) or bench.is_of_whole(total, request.seconds)
    size = started.state_bytes
    return Run(total, offered, of_whole, outcome, output, size, observed, wall, begin, end)


def _said(
    progress: Progress | None, total: int, look: Callable[[], None] | None
) -> Callable[[int, float], None] | None:
    """Return the main thread's callback between samples; None without progress and look."""
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
    """Compile the kernels of a bench's runs, once a process, with the very types of a run.

    The kernels are entered in this thread, with the stop flag set before they begin: Ctrl-C reaches
    a compiler that runs here, and no other.
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
    """Return the first length of a trial where a tuple takes so long."""
    return min(TRIAL_TUPLES, math.ceil(1e6 * TRIAL_SECONDS / max(microseconds, 1e-3)))


def guess(bench: ThreadedBench, limit_seconds: float | None = None) -> float:
    """Return roughly how many tuples/s a bench takes, from short closed runs.

    The tuples of the trial grow until it is long enough to be meaningful. Of a few such trials the
    fastest counts: a disturbance makes a trial slower, and too short a slice shows nothing.
    """
    bench.warm_up()
    total = max(bench.trial_tuples, bench.tiny_tuples)
    if machine.INTERPRETED:
        total = bench.tiny_tuples
    long_enough = max(TRIAL_SECONDS, bench.round_seconds)
    fastest, trials = 0.0, 0
    while trials < TRIALS:
        started = bench.start(total, CLOSED_LOOP)
        outcome = run_threads.run(
            started.roles,
            pin=bench.threads <= pinning.cores(),
            expected_seconds=long_enough,
            limit_seconds=limit_seconds or PATIENCE_SECONDS,
            failures=bench.family.failures,
        )
        fastest = max(fastest, total / outcome.seconds)
        if outcome.seconds >= long_enough or total >= MOST_TUPLES:
            trials += 1
        else:
            total *= max(2, min(8, math.ceil(long_enough / outcome.seconds)))
    return fastest


def columns_of(bench: ThreadedBench, run: Run) -> dict[str, Any]:
    """Return the columns that a run fills; the runner adds the purpose of the run."""
    outcome, output, observed = run.outcome, run.output, run.observed
    whole = run.total / outcome.seconds
    measured = bench.measured(run.total, bool(run.offered_tps))
    judged = stability.judge(outcome, measured, run.offered_tps)
    throughput = whole if run.of_whole else judged.rate_tps
    reason = output.problem
    if reason is None and run.offered_tps:
        reason = stability.injector_fault(outcome, bench.input_threads, bench.threads)
    elif reason is None and throughput is None:
        reason = f"{run.total} tuples passed too fast to tell the rate of their middle"
    inputs = bench.input_threads
    late = float(outcome.words(LATEST_NS, inputs).max() / 1e6) if run.offered_tps else None
    latency = output.latency._asdict() if output.latency else {}
    return {
        "offered_tps": run.offered_tps,
        "throughput_tps": throughput,
        "achieved_tps": judged.rate_tps if run.offered_tps else None,
        "whole_tps": whole,
        "of_whole_run": run.of_whole,
        "in_flight_tuples": bench.in_flight,
        "tuples": run.total,
        "seconds": outcome.seconds,
        "outputs": output.outputs,
        "state_bytes": run.state_bytes,
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
        When it is not above 0, or longer than a day; `name` is its name in the message.
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
