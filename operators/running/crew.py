"""Starts the threads of one run, watches them, and ends them all, whatever happens.

Each thread enters a compiled kernel that does not hold the GIL. The calling thread only waits: it
gives the common start, samples how far everyone is, calls for progress lines, and watches. No
progress anywhere for a while is a stall: the message names each thread and what it waits for.
Whatever ends a run early (a stall, the time limit, an exception in a thread, Ctrl-C) sets the stop
word, waits for the threads and is raised in the calling thread.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

import numpy as np

from operators.contract import UsageError
from operators.core.atomics import ACQUIRE, RELEASE, load, now, store
from operators.core.jit import INTERPRETED
from operators.running import pinning
from operators.running.control import (
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

# From the last thread's report to the common start: long enough that a sleeping thread is awake.
LEAD_NS = 2_000_000
STALL_SECONDS = 10.0
# A stopped thread has this long to leave its kernel; one that does not is inside an operation.
STOP_SECONDS = 30.0 if INTERPRETED else 5.0
SHORTEST_SAMPLE_SECONDS = 0.002
# The watchdog reads two words a thread, which takes longer than a sample.
LOOK_SECONDS = 0.05
LONGEST_SAMPLE_SECONDS = 0.1
SAMPLES = 100
MOST_SAMPLES = 20 * SAMPLES


class RunFailed(RuntimeError):
    """A run that gave no measurement; the message says why.

    Attributes
    ----------
    status : int
        What an operation answered that ended it; 0 where it ended otherwise.
    """

    def __init__(self, message: str, status: int = 0) -> None:
        super().__init__(message)
        self.status = status


class Stalled(RunFailed):
    """No thread made progress for a while."""


class TimedOut(RunFailed):
    """The run took longer than it was given."""


class Stuck(RunFailed):
    """A thread did not stop when told: nothing more can be measured in this process."""


class Counts(StrEnum):
    """How the progress of a thread tells how many tuples the run is through with."""

    EVERY_TUPLE = "all"
    """The thread sees every tuple of the run: the slowest of such threads says how far it is."""
    SHARE = "share"
    """Each tuple of the run is seen by one such thread: their sum says how far it is."""
    NOTHING = ""
    """Its steps are no tuples, or other threads say how far the run is."""


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
        Whether its end is the end of the run.
    counts : Counts
        What its progress says of the run's.
    """

    name: str
    kernel: Callable[..., Any]
    arguments: tuple[Any, ...]
    output: bool = False
    counts: Counts = Counts.NOTHING

    def __post_init__(self) -> None:
        """Refuse a word that is none of `Counts`, for which a thread would count nothing."""
        Counts(self.counts)


@dataclass(frozen=True)
class Outcome:
    """What a finished run left.

    Attributes
    ----------
    go_ns, ended_ns : int
        Monotonic clock of the common start and of the last output.
    sampled_ns, processed : int64 arrays of one length
        Samples of the tuples that the run was through with.
    control : int64 array
        The control words, for what threads noted in their blocks.
    cpu_ns : int64 array
        Processor time of each thread.
    pinned : bool
    passed_ns : (int, int)
        When the run had passed the beginning and the end of its measured part; 0 where it has none.
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
        """Time from all threads ready to the last output, in s."""
        return max(self.ended_ns - self.go_ns, 1) / 1e9

    def words(self, word: int, threads: Sequence[int]) -> np.ndarray:
        """Return one word of the blocks of some threads."""
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
        except BaseException as error:  # surfaces in the calling thread, with its cause
            self.failures.append((role.name, error))
            self.stop()
        finally:
            with self._guard:
                self._left -= 1
                if self._left == 0:
                    self.finished.set()

    def stop(self) -> None:
        store(self.control, STOP, 1, RELEASE)

    def word(self, place: int, word: int) -> int:
        return load(self.control, block(place) + word, ACQUIRE)

    def processed(self) -> int:
        """Return the tuples that the run is through with: those that the slowest has seen."""
        seen = [self.word(place, PROGRESS) for place in self._see_all]
        return min(seen) if seen else sum(self.word(place, PROGRESS) for place in self._see_some)

    def passed(self, word: int) -> int:
        """Return when the run had passed one end of its measured part, 0 when it never did.

        Of threads that see every tuple the slowest counts. Those that share the tuples pass it one
        by one, each at its own share of them, so that it is the mean of their times.
        """
        places = self._see_all or self._see_some
        times = [self.word(place, word) for place in places]
        # A stream that ends before it is through with its share at the end.
        times = [when or self.word(place, ENDED) for when, place in zip(times, places, strict=True)]
        if not times or 0 in times:
            return 0
        return max(times) if self._see_all else sum(times) // len(times)

    @property
    def pinned(self) -> bool:
        return self.pin and all(self._pinned)

    def start(self) -> int:
        """Start every thread, wait until all are ready, and return the common start."""
        for thread in self.threads:
            thread.start()
        # A thread that compiles first is not late: nothing is timed yet.
        while load(self.control, ARRIVED, ACQUIRE) < len(self.roles):
            if self.finished.wait(0.001) or load(self.control, STOP, ACQUIRE):
                return 0
        go = now() + LEAD_NS
        store(self.control, GO, go, RELEASE)
        return go

    def bring_home(self) -> None:
        """Stop every thread and wait for it."""
        self.stop()
        if any(t.ident is not None for t in self.threads) and not self.finished.wait(STOP_SECONDS):
            inside = [t.name for t in self.threads if t.is_alive()]
            raise Stuck(
                f"told to stop, and still inside an operation after {STOP_SECONDS:.0f} s:"
                f" {', '.join(inside)}"
            )

    def describe(self) -> str:
        """Return each thread with its state and progress, those alike in one clause."""
        states: dict[str, list[str]] = {}
        for place, role in enumerate(self.roles):
            state = STATES[self.word(place, STATE)]
            states.setdefault(state, []).append(f"{role.name} at {self.word(place, PROGRESS)}")
        return "; ".join(f"{state}: {', '.join(names)}" for state, names in states.items())

    def raise_failure(self, failures: Mapping[int, str]) -> None:
        """Raise what went wrong in a thread, if anything did; `failures` has words for statuses."""
        if self.failures:
            name, error = self.failures[0]
            if isinstance(error, UsageError | RunFailed):
                # It says itself what is to be mended, or what failed, and where.
                raise error
            # A compiler's message has pages; the cause carries them.
            first = str(error).strip().partition("\n")[0]
            raise RunFailed(f"{name} failed: {type(error).__name__}: {first}") from error
        for place, role in enumerate(self.roles):
            status = self.word(place, FAILURE)
            if status:
                why = failures.get(status, f"an operation answered {status}")
                steps = "steps" if role.output and not role.counts else "tuples"
                done = self.word(place, PROGRESS)
                raise RunFailed(f"{role.name}: {why} (after {done} {steps})", status)


class _Watchdog:
    """Notices that nothing moves, or that the time is over."""

    def __init__(self, crew: _Crew, stall_seconds: float, limit_seconds: float) -> None:
        self._crew = crew
        self._stall_ns = int(stall_seconds * 1e9)
        self._limit_seconds = limit_seconds
        self._begin = self._moved = now()
        self._last: list[int] = []

    def look(self) -> None:
        crew = self._crew
        places = range(len(crew.roles))
        seen = [crew.word(place, PROGRESS) for place in places]
        clock = now()
        unhurried = any(crew.word(place, STATE) in UNHURRIED for place in places)
        if seen != self._last or unhurried:
            self._last, self._moved = seen, clock
        if clock - self._moved > self._stall_ns:
            raise Stalled(
                f"no thread made progress for {self._stall_ns / 1e9:.0f} s; {crew.describe()}"
            )
        if clock - self._begin > self._limit_seconds * 1e9:
            raise TimedOut(f"the run took longer than {self._limit_seconds:g} s; {crew.describe()}")


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
    """Run one thread a role to its end.

    Parameters
    ----------
    roles : sequence of Role
    pin : bool
        Bind each thread to a core of its own; only for as many threads as there are cores.
    expected_seconds : float
        Roughly how long it will take; sets how often progress is sampled.
    measured : (int, int)
        The tuples between which its measured part lies; none by default.
    limit_seconds, stall_seconds : float
        After how long the run is given up, and after how long without progress.
    failures : mapping of int to str, optional
        Statuses that end a run, each with the clause that says why (``Family.failures``).
    progress : callable, optional
        Called between samples with (tuples processed so far, seconds since the start).

    Raises
    ------
    RunFailed
        When a thread failed, nothing moved, or the time was over; its subclasses tell them apart.
    UsageError
        As a thread raised it.
    KeyboardInterrupt
        Within a second of Ctrl-C; the threads have ended by then.
    """
    crew = _Crew(roles, pin, measured)
    pause = min(max(expected_seconds / SAMPLES, SHORTEST_SAMPLE_SECONDS), LONGEST_SAMPLE_SECONDS)
    outputs = [place for place, role in enumerate(crew.roles) if role.output]
    samples: list[tuple[int, int]] = []
    go = 0
    try:
        go = crew.start()
        watchdog, looked = _Watchdog(crew, stall_seconds, limit_seconds), 0
        while not crew.finished.wait(pause):
            processed = crew.processed()
            clock = now()
            samples.append((clock, processed))
            if len(samples) == MOST_SAMPLES:
                # A run that outlasts its estimate is looked at half as often and keeps every
                # second sample: ten minutes at full rate must not grow.
                del samples[::2]
                pause = min(2 * pause, LONGEST_SAMPLE_SECONDS)
            if clock - looked >= LOOK_SECONDS * 1e9:
                looked = clock
                watchdog.look()
            if progress is not None:
                progress(processed, (clock - go) / 1e9)
    finally:
        crew.bring_home()
    crew.raise_failure(failures or {})
    ended = max(crew.word(place, ENDED) for place in outputs)
    taken = np.array(samples, dtype=np.int64).reshape(-1, 2)
    passed = (0, 0) if measured[0] == NEVER else (crew.passed(FIRST_NS), crew.passed(LAST_NS))
    samples_of = (taken[:, 0], taken[:, 1])
    return Outcome(go, ended, *samples_of, crew.control, crew.cpu_ns, crew.pinned, passed)
