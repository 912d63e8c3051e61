"""Runners of theta joins in tests: one thread acts for all, or all threads are real.

*Interleaved*: a seed decides which thread moves next and for how many steps, and sometimes gives
some threads far more turns than others. A failure repeats exactly, and a deadlock is detected.

*Threads*: an OS thread for each thread of the join, with random yields in their loops.
"""

from __future__ import annotations

import random
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import accumulate
from typing import Any, NamedTuple

import numpy as np

from operators.contract import ACCEPTED, END, FULL, NOT_READY, READY, Variant
from operators.core.atomics import RELAXED, store
from operators.core.layout import aligned_words
from operators.theta_join import reference
from operators.theta_join.family import Extent, Shape, State
from operators.theta_join.number_predicates import bands
from operators.theta_join.predicates import Predicate
from operators.theta_join.processing import partner_of, rank_of
from operators.theta_join.reference import Arrival
from tests.operators.theta_join.kernels import FOR_EVER, STOPPED, kernels_of

TIMEOUT_SECONDS = 120
# Rounds in which no thread proceeds, until the join counts as stuck. A thread that waits for room
# for a pair may have sent others: each round may advance the pairs of a batch.
IDLE_ROUNDS = 300
# A small join needs fewer turns, unless a thread repeats the same step for ever.
MOST_TURNS = 300_000

# A stream's tuples: timestamp and row.
Stream = Sequence[tuple[int, int]]


class Stuck(AssertionError):
    """No thread proceeds, and not all have ended."""


class Failed(RuntimeError):
    """A thread ended with a failure; `status` identifies it."""

    def __init__(self, who: str, status: int) -> None:
        super().__init__(f"{who} ended with status {status}")
        self.status = status


@dataclass(frozen=True)
class Join:
    """The inputs of a join and the number of threads.

    Attributes
    ----------
    variant : Variant
    streams : sequence of Stream
        R's first.
    r_streams : int
    extent : Extent
    tables : NamedTuple
    predicate : Predicate
    threads, capacity : int
        As in `Shape`.
    own : mapping
        Parameters of the variant; unknown ones are ignored.
    filled : int
        Number of leading tuples that ``fill`` inserts.
    silent : mapping of int to (int, int)
        Streams that stay silent before a position, and for how many turns.
    """

    variant: Variant
    streams: Sequence[Stream]
    r_streams: int
    extent: Extent
    tables: Any
    predicate: Predicate = bands(2)
    threads: int = 2
    capacity: int = 1_000
    own: Mapping[str, int] = field(default_factory=dict)
    filled: int = 0
    silent: Mapping[int, tuple[int, int]] = field(default_factory=dict)

    @property
    def arrivals(self) -> list[Arrival]:
        """The tuples in the total order."""
        return reference.merged(self.streams, self.r_streams)

    def make_state(self) -> State:
        """Return the join's state with empty windows."""
        s_streams = len(self.streams) - self.r_streams
        shape = Shape(self.r_streams, s_streams, self.threads, self.capacity)
        # The number of threads is part of the shape.
        known = {each.name for each in self.variant.parameters} - {"threads"}
        own = {name: value for name, value in self.own.items() if name in known}
        make = self.variant.operations.make_state
        return make(self.predicate, self.tables, self.extent, shape, **own)


class Answer(NamedTuple):
    """The output: pairs of ranks, the later first, in order; their records; and the state."""

    pairs: list[tuple[int, int]]
    records: np.ndarray
    state: State


class Crew:
    """The threads of a join over one state. A method acts for one of them and returns a status.

    At most `most` steps are taken. A thread that `waits` goes on until the end.
    """

    def __init__(self, join: Join, pairs: int) -> None:
        self.join, self.state = join, join.make_state()
        self.kernels = kernels_of(join.variant.operations, join.predicate)
        arrivals = join.arrivals
        fill(join, self.state, arrivals[: join.filled])
        self.place = np.zeros(len(join.streams), np.int64)
        for arrival in arrivals[: join.filled]:
            self.place[arrival.stream] += 1
        self.columns = [
            tuple(np.array([row[column] for row in stream], np.int64) for column in (0, 1))
            for stream in join.streams
        ]
        # A stream is closed after the last tuple.
        self.ends = [len(stream) + 1 for stream in join.streams]
        self.words = 1 + join.predicate.record
        self.out, self.taken = aligned_words(self.words + 8), aligned_words(8)
        self.found = np.zeros(self.words * (pairs + 8), np.int64)
        self.stop = aligned_words(8)

    def feed(self, stream: int, until: int, most: int, waits: bool = False) -> int:
        """Deliver a stream up to a position."""
        times, rows = self.columns[stream]
        return self.kernels.feed(
            self.state.shared, stream, times, rows, self.place, until, most, waits, self.stop
        )

    def advance(self, thread: int, most: int, waits: bool = False) -> int:
        """Let a processing thread take steps."""
        own = self.state.threads[thread]
        return self.kernels.advance(self.state.shared, own, most, waits, self.stop)

    def drive(self, most: int, waits: bool = False) -> int:
        """Let the driver take steps."""
        return self.kernels.drive(self.state.shared, self.state.driver, most, waits, self.stop)

    def take(self, most: int, waits: bool = False) -> int:
        """Let the thread that takes pairs take some."""
        shared, own = self.state.shared, self.state.output
        return self.kernels.take(
            shared, own, self.out, self.found, self.taken, most, waits, self.stop
        )

    def answer(self) -> Answer:
        """Return the output."""
        self.join.variant.operations.check_invariants(self.state)
        records = self.found[: self.words * int(self.taken[0])].reshape(-1, self.words)
        pairs = [(rank_of(key), partner_of(key)) for key in records[:, 0].tolist()]
        return Answer(pairs, records[:, 1:], self.state)


def fill(join: Join, state: State, arrivals: Sequence[Arrival]) -> None:
    """Insert the first tuples into the windows without comparing them.

    Raises
    ------
    Failed
        When a window has no room.
    """
    kernels = kernels_of(join.variant.operations, join.predicate)
    filled = [sum(each.side == side for each in arrivals) for side in (0, 1)]
    for own in state.threads or (state.output,):
        newer = list(filled)
        for each in arrivals:
            newer[each.side] -= 1
            words = each.side, each.timestamp, each.row, newer[each.side], filled[each.side]
            status = kernels.fill(state.shared, own, *words)
            if status != ACCEPTED:
                raise Failed("filling", status)
    if kernels.drive_past:
        for each in arrivals:
            assert kernels.drive_past(state.driver, each.side, each.timestamp)


# --- one thread acts for all ---------------------------------------------------------------------

# The result of a turn.
ENDED, MOVED, IDLE = "ended", "moved", "idle"
Turn = Callable[[int], str]


def interleaved(
    join: Join, seed: int = 1, pairs: int = 1 << 14, most_turns: int = MOST_TURNS
) -> Answer:
    """Run a join by one thread, in an order that a seed decides, with at most `pairs` outputs.

    Raises
    ------
    Stuck
        When no thread proceeds, or no end is in sight.
    Failed
        When a thread ended with a failure.
    """
    crew = Crew(join, pairs)
    turns = list(_turns(crew))
    chance = random.Random(seed)
    weights = [1] * len(turns)
    left = list(range(len(turns)))
    # An idle thread has nothing to do until another one has moved. When all threads were polled
    # equally, 19 of 20 turns did nothing.
    awake, shares = list(left), []
    for _ in range(most_turns):
        if chance.random() < 0.1:
            # For a while some are far faster than others, or all have the same speed.
            weights, shares = [chance.choice([1, 1, 1, 10, 100]) for _ in turns], []
        shares = shares or list(accumulate(weights[each] for each in awake))
        [number] = chance.choices(awake, cum_weights=shares)
        came_to = turns[number](chance.choice([1, 1, 2, 5]))
        if came_to == IDLE:
            awake.remove(number)
            shares = []
            if awake:
                continue
            # A step may do work without a result, so all threads are polled, in any order.
            asked = chance.sample(left, len(left))
            if all(turns[each](1) == IDLE for _ in range(IDLE_ROUNDS) for each in asked):
                raise Stuck(f"{left} do not get on; places {crew.place} of {crew.ends}")
        elif came_to == ENDED:
            left.remove(number)
            if not left:
                return crew.answer()
        if awake != left:
            awake, shares = list(left), []
    raise Stuck(f"{left} come to no end; places {crew.place} of {crew.ends}")


def _turns(crew: Crew) -> Iterator[Turn]:
    """Yield for each thread a function that takes up to some number of steps.

    The function returns the result of the turn.
    """
    for stream in range(len(crew.ends)):
        yield _feeding(crew, stream)
    for thread in range(len(crew.state.threads)):
        yield _judging(f"thread {thread}", lambda most, t=thread: crew.advance(t, most))
    if crew.state.driver is not None:
        yield _judging("driver", crew.drive)
    yield _judging("output", crew.take)


def _judging(who: str, act: Callable[[int], int]) -> Turn:
    def turn(most: int) -> str:
        came_to = IDLE
        for _ in range(most):
            status = act(1)
            if status == END:
                return ENDED
            if status == NOT_READY:
                break
            if status != READY:
                raise Failed(who, status)
            came_to = MOVED
        return came_to

    return turn


def _feeding(crew: Crew, stream: int) -> Turn:
    silent_at, turns_left = crew.join.silent.get(stream, (0, 0))

    def turn(most: int) -> str:
        nonlocal turns_left
        before = int(crew.place[stream])
        if turns_left > 0 and before >= silent_at:
            turns_left -= 1
            return MOVED
        until = silent_at if turns_left > 0 else crew.ends[stream]
        status = crew.feed(stream, until, most)
        if status not in (ACCEPTED, FULL, END):
            raise Failed(f"stream {stream}", status)
        if crew.place[stream] == crew.ends[stream]:
            return ENDED
        return MOVED if crew.place[stream] > before else IDLE

    return turn


# --- real threads --------------------------------------------------------------------------------


def threaded(join: Join, pairs: int) -> Answer:
    """Run a join by real threads, with at most `pairs` expected outputs.

    Raises
    ------
    TimeoutError
        When a thread does not end.
    Failed
        When one ended with a failure.
    """
    crew = Crew(join, pairs)
    works = [(f"stream {s}", lambda s=s: crew.feed(s, crew.ends[s], FOR_EVER, True))
             for s in range(len(crew.ends))]  # fmt: skip
    works += [(f"thread {t}", lambda t=t: crew.advance(t, FOR_EVER, True))
              for t in range(len(crew.state.threads))]  # fmt: skip
    if crew.state.driver is not None:
        works.append(("driver", lambda: crew.drive(FOR_EVER, True)))
    works.append(("output", lambda: crew.take(FOR_EVER, True)))
    failures: list[BaseException] = []

    def guarded(who: str, work: Callable[[], int]) -> None:
        try:
            status = work()
            if status not in (END, STOPPED):
                raise Failed(who, status)
        except BaseException as failure:  # noqa: BLE001 - raised again below
            failures.append(failure)
            store(crew.stop, 0, 1, RELAXED)

    threads = [threading.Thread(target=guarded, args=work, daemon=True) for work in works]
    for thread in threads:
        thread.start()
    for thread, (who, _) in zip(threads, works, strict=True):
        thread.join(TIMEOUT_SECONDS)
        if thread.is_alive():
            store(crew.stop, 0, 1, RELAXED)
            raise TimeoutError(f"{who} has not ended after {TIMEOUT_SECONDS} s")
    if failures:
        raise failures[0]
    return crew.answer()
