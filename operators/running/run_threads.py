"""Starts the threads of one run, watches them, and ends them in every case.

Each thread enters a compiled kernel that does not hold the GIL. The calling thread only waits: it
sets the common start, samples the progress, calls for progress lines, and acts as a watchdog. A run
in which no thread makes progress for a while has stalled; the message names each thread and its
state. Whatever ends a run early (a stall, the time limit, an exception in a thread, Ctrl-C) sets
the stop word, joins the threads and is raised in the calling thread.

*Progress* counts turns that did some work: a thread that polls in vain, however often, reports
none. A thread whose progress word counts for the whole run also counts its actions in another word
(`ACTED`).
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

import numpy as np

from operators.contract import UsageError
from operators.core.atomics import ACQUIRE, RELEASE, load, now, store
from operators.core.jit import INTERPRETED
from operators.running import pinning
from operators.running.control import (
    ACTED,
    ARRIVED,
    ENDED,
    FAILURE,
    FIRST_NS,
    GO,
    LAST_NS,
    NEVER,
    PROGRESS,
    STATE,
    STATES,
    STOP,
    UNHURRIED,
    block,
    make_control,
)

# Time between the last thread's report and the common start: long enough to wake a sleeping thread.
LEAD_NS = 2_000_000
STALL_SECONDS = 10.0
# Time for a stopped thread to leave the kernel; one that does not is stuck inside an operation.
STOP_SECONDS = 30.0 if INTERPRETED else 5.0
SHORTEST_SAMPLE_SECONDS = 0.002
# The watchdog reads three words per thread, which takes longer than a sample.
LOOK_SECONDS = 0.05
LONGEST_SAMPLE_SECONDS = 0.1
SAMPLES = 100
MOST_SAMPLES = 20 * SAMPLES


class RunFailed(RuntimeError):
    """A run without a measurement; the message gives the reason.

    Attributes
    ----------
    status : int
        The status by which an operation ended it; 0 if it ended otherwise.
    """

    def __init__(self, message: str, status: int = 0) -> None:
        super().__init__(message)
        self.status = status


class Stalled(RunFailed):
    """No thread made progress for a while."""


class TimedOut(RunFailed):
    """The run exceeded the time limit."""


class Stuck(RunFailed):
    """A thread did not stop on request: nothing more can be measured in this process."""


class Counts(StrEnum):
    """How a thread's progress contributes to the number of tuples that the run has processed."""

    EVERY_TUPLE = "all"
    """The thread sees every tuple: the slowest such thread determines the run's progress."""
    SHARE = "share"
    """Exactly one such thread sees each tuple of the run: the sum is the run's progress."""
    NOTHING = ""
    """The thread's steps are not tuples, or other threads determine the run's progress."""


@dataclass(frozen=True)
class Role:
    """One thread of a run.

    Attributes
    ----------
    name : str
        For messages: "input 3".
    kernel : callable
        Called as ``kernel(control, own, *arguments)``.
    arguments : tuple
    output : bool
        Whether the end of this thread is the end of the run.
    counts : Counts
        How its progress contributes to the run's.
    doing : callable, optional
        Returns the thread's current activity in a few words. Called to describe a stalled run.
    """

    name: str
    kernel: Callable[..., Any]
    arguments: tuple[Any, ...]
    output: bool = False
    counts: Counts = Counts.NOTHING
    doing: Callable[[], str] | None = None

    def __post_init__(self) -> None:
        """Refuse a value that is not one of `Counts`, with which a thread would count nothing."""
        Counts(self.counts)


@dataclass(frozen=True)
class Outcome:
    """The result of a finished run.

    Attributes
    ----------
    go_ns, ended_ns : int
        Monotonic times of the common start and of the last output.
    sampled_ns, processed : int64 arrays of one length
        Samples of the number of tuples that the run had processed.
    control : int64 array
        The control words, with the records of the threads in their blocks.
    cpu_ns : int64 array
        Processor time of each thread.
    pinned : bool
    passed_ns : (int, int)
        When the run passed the beginning and the end of the measured part; 0 if there is none.
    """

    go_ns: int
    ended_ns: int
    sampled_ns: np.ndarray
    processed: np.ndarray
    control: np.ndarray
    cpu_ns: np.ndarray
    pinned: bool
    passed_ns: tuple[int, int] = (0, 0)

    @property
    def seconds(self) -> float:
        """Time from the common start to the last output, in s."""
        return max(self.ended_ns - self.go_ns, 1) / 1e9

    def words(self, word: int, threads: Sequence[int]) -> np.ndarray:
        """Return one word from the blocks of some threads."""
        return np.array([self.control[block(t) + word] for t in threads], dtype=np.int64)


class _Crew:
    def __init__(self, roles: Sequence[Role], pin: bool, measured: tuple[int, int]) -> None:
        self.roles = list(roles)
        self.pin = pin
        self.control = make_control(len(self.roles), measured)
        self.failures: list[tuple[str, BaseException]] = []
        self.cpu_ns = np.zeros(len(self.roles), dtype=np.int64)
        self._pinned: list[bool] = []
        self._left = len(self.roles)
        self._see_all = self._that_count(Counts.EVERY_TUPLE)
        self._see_some = self._that_count(Counts.SHARE)
        self._guard = threading.Lock()
        self.finished = threading.Event()
        self.threads = [
            threading.Thread(target=self._body, args=(place, role), name=role.name, daemon=True)
            for place, role in enumerate(self.roles)
        ]

    def _that_count(self, counts: Counts) -> list[int]:
        return [thread for thread, role in enumerate(self.roles) if role.counts == counts]

    def _body(self, place: int, role: Role) -> None:
        try:
            if self.pin:
                self._pinned.append(pinning.pin_this_thread(place))
            before = time.thread_time_ns()
            role.kernel(self.control, block(place), *role.arguments)
            self.cpu_ns[place] = time.thread_time_ns() - before
        except BaseException as error:  # raised in the calling thread, with its cause
            self.failures.append((role.name, error))
            self.stop()
        finally:
            with self._guard:
                self._left -= 1
                if self._left == 0:
                    self.finished.set()

    def stop(self) -> None:
        store(self.control, STOP, 1, RELEASE)

    def stopped(self) -> bool:
        """Return whether a thread or the caller has requested a stop."""
        return load(self.control, STOP, ACQUIRE) != 0

    def word(self, place: int, word: int) -> int:
        return load(self.control, block(place) + word, ACQUIRE)

    def processed(self) -> int:
        """Return how many tuples the run has processed: those that the slowest thread has seen."""
        seen = [self.word(place, PROGRESS) for place in self._see_all]
        return min(seen) if seen else sum(self.word(place, PROGRESS) for place in self._see_some)

    def passed(self, word: int) -> int:
        """Return when the run passed one end of the measured part, 0 if it never did.

        Among threads that see every tuple, the slowest counts. Threads that share the tuples pass
        it one by one, each at a position in its share, so that the mean of their times counts.
        """
        places = self._see_all or self._see_some
        times = [self.word(place, word) for place in places]
        # A stream may end before its share reaches the end of the measured part.
        times = [when or self.word(place, ENDED) for when, place in zip(times, places, strict=True)]
        if not times or 0 in times:
            return 0
        return max(times) if self._see_all else sum(times) // len(times)

    @property
    def pinned(self) -> bool:
        return self.pin and all(self._pinned)

    def start(self) -> int:
        """Start every thread, wait until all are ready, and return the time of the common start."""
        for thread in self.threads:
            thread.start()
        # A thread may compile first: nothing is timed yet.
        while load(self.control, ARRIVED, ACQUIRE) < len(self.roles):
            if self.finished.wait(0.001) or load(self.control, STOP, ACQUIRE):
                return 0
        go = now() + LEAD_NS
        store(self.control, GO, go, RELEASE)
        return go

    def bring_home(self) -> list[str]:
        """Stop every thread and wait for it; return the names of those that did not stop."""
        self.stop()
        if all(t.ident is None for t in self.threads) or self.finished.wait(STOP_SECONDS):
            return []
        return [t.name for t in self.threads if t.is_alive()]

    def describe(self) -> str:
        """Return each thread's state and progress, grouped by state."""
        states: dict[str, list[str]] = {}
        for place, role in enumerate(self.roles):
            state = STATES[self.word(place, STATE)]
            at = f"{role.name} at {self.word(place, PROGRESS)}"
            if role.doing is not None:
                at += f" ({role.doing()})"
            states.setdefault(state, []).append(at)
        return "; ".join(f"{state}: {', '.join(names)}" for state, names in states.items())

    def failure(self, failures: Mapping[int, str]) -> Exception | None:
        """Return the error of a thread, or None; `failures` explains statuses.

        An exception of a thread becomes the cause of the error, unless it is one of Millrace's
        errors, which is returned as it is.
        """
        if self.failures:
            name, error = self.failures[0]
            if isinstance(error, UsageError | RunFailed):
                # Its message already says what failed and where, or how to mend it.
                return error
            # A compiler's message has pages; they stay in the cause.
            first = str(error).strip().partition("\n")[0]
            failed = RunFailed(f"{name} failed: {type(error).__name__}: {first}")
            failed.__cause__ = error
            return failed
        for place, role in enumerate(self.roles):
            status = self.word(place, FAILURE)
            if status:
                why = failures.get(status, f"an operation answered {status}")
                steps = "steps" if role.output and not role.counts else "tuples"
                done = self.word(place, PROGRESS)
                return RunFailed(f"{role.name}: {why} (after {done} {steps})", status)
        return None


class _Watchdog:
    """Detects stalls and exceeded time limits."""

    def __init__(self, crew: _Crew, stall_seconds: float, limit_seconds: float) -> None:
        self._crew = crew
        self._stall_seconds = stall_seconds
        self._limit_seconds = limit_seconds
        self._begin = self._moved = now()
        self._last: list[int] = []

    def look(self) -> None:
        crew = self._crew
        places = range(len(crew.roles))
        seen = [crew.word(place, word) for place in places for word in (PROGRESS, ACTED)]
        clock = now()
        unhurried = any(crew.word(place, STATE) in UNHURRIED for place in places)
        if seen != self._last or unhurried:
            self._last, self._moved = seen, clock
        if clock - self._moved > self._stall_seconds * 1e9:
            raise Stalled(
                f"no thread made progress for {self._stall_seconds:g} s; {crew.describe()};"
                " where one tuple may take longer, give a longer stall_seconds"
            )
        if clock - self._begin > self._limit_seconds * 1e9:
            raise TimedOut(f"the run took longer than {self._limit_seconds:g} s; {crew.describe()}")


@contextmanager
def _brought_home(crew: _Crew, failures: Mapping[int, str]) -> Iterator[None]:
    """Stop and join every thread after the body, and raise the first cause of a failure.

    The first cause is a failure that a thread recorded, otherwise an exception of the body; Ctrl-C
    always takes precedence. A thread that did not stop is reported after the cause.
    """
    cause: BaseException | None = None
    try:
        yield
    except Exception as error:
        # Later failures of threads result from the stop.
        cause = crew.failure(failures) or error
    except BaseException as error:  # Ctrl-C
        cause = error
    inside = crew.bring_home()
    cause = cause or crew.failure(failures)
    if not inside:
        if cause is not None:
            raise cause
        return
    still = (
        f"told to stop, and still inside an operation after {STOP_SECONDS:.0f} s:"
        f" {', '.join(inside)}"
    )
    if isinstance(cause, Exception):
        still = f"{cause}; {still}"
    raise Stuck(still, getattr(cause, "status", 0)) from cause


def run(
    roles: Sequence[Role],
    *,
    pin: bool,
    expected_seconds: float,
    limit_seconds: float,
    measured: tuple[int, int] = (NEVER, NEVER),
    stall_seconds: float = STALL_SECONDS,
    failures: Mapping[int, str] | None = None,
    progress: Callable[[int, float], None] | None = None,
) -> Outcome:
    """Run one thread per role until all have ended.

    Parameters
    ----------
    roles : sequence of Role
    pin : bool
        Bind each thread to a separate core; only with at most as many threads as cores.
    expected_seconds : float
        Estimate of the run's length; determines how often progress is sampled.
    measured : (int, int)
        The tuples at which the measured part begins and ends; none by default.
    limit_seconds, stall_seconds : float
        Time limits of the whole run, and of a period without progress: the longest time that a
        tuple may take.
    failures : mapping of int to str, optional
        Statuses that end a run, each with a clause that gives the reason (``Family.failures``).
    progress : callable, optional
        Called between samples with (tuples processed so far, seconds since the start).

    Raises
    ------
    RunFailed
        When a thread failed, no thread made progress, or the time was over; see the subclasses.
    UsageError
        If a thread raised it.
    KeyboardInterrupt
        Within a second of Ctrl-C; the threads have ended by then.
    """
    crew = _Crew(roles, pin, measured)
    pause = min(max(expected_seconds / SAMPLES, SHORTEST_SAMPLE_SECONDS), LONGEST_SAMPLE_SECONDS)
    outputs = [place for place, role in enumerate(crew.roles) if role.output]
    samples: list[tuple[int, int]] = []
    go = 0
    with _brought_home(crew, failures or {}):
        go = crew.start()
        watchdog, looked = _Watchdog(crew, stall_seconds, limit_seconds), 0
        # A failed thread has set the stop word: do not wait for the others any longer.
        while not crew.finished.wait(pause) and not crew.stopped():
            processed = crew.processed()
            clock = now()
            samples.append((clock, processed))
            if len(samples) == MOST_SAMPLES:
                # A run that outlasts its estimate is sampled half as often and keeps every second
                # sample, so that the memory of a long run stays bounded.
                del samples[::2]
                pause = min(2 * pause, LONGEST_SAMPLE_SECONDS)
            if clock - looked >= LOOK_SECONDS * 1e9:
                looked = clock
                watchdog.look()
            if progress is not None:
                progress(processed, (clock - go) / 1e9)
    ended = max(crew.word(place, ENDED) for place in outputs)
    taken = np.array(samples, dtype=np.int64).reshape(-1, 2)
    passed = (0, 0) if measured[0] == NEVER else (crew.passed(FIRST_NS), crew.passed(LAST_NS))
    samples_of = (taken[:, 0], taken[:, 1])
    return Outcome(go, ended, *samples_of, crew.control, crew.cpu_ns, crew.pinned, passed)
