"""Litmus programs: a few atomics each, and every outcome that the checker's memory may show.

An *outcome* is written as the answers of all threads in program order, one character each, ``-``
for a call that did not reach its answer; where the last values of words matter they follow a bar.
``race`` stands for a whole table: some run of the program has a data race.

The first three tables are those of store buffers, which strengthen C11 where the hardware is
stronger or where the search would not end in reasonable time. Outcomes that RC11 allows in addition
are in `Litmus.c11`; they come from these differences:

1. *Loads are performed in program order*, whatever their memory order. A relaxed load that should
   have been an acquire therefore shows in no answer; it shows as a data race, and races follow C11.
2. *A store arrives for all other threads at once* (multi-copy atomicity).
3. *A load is never late*: no store takes effect before the loads that precede it.
4. *A read-modify-write is never late*, and one that releases waits until all stores of its thread
   have arrived; so do locks, SEQ_CST fences and SEQ_CST stores. A SEQ_CST load waits for nothing.
5. *A release sequence* is its head and the read-modify-writes behind it, as since C++20.
6. *A release store waits for all earlier stores of its thread*, and one to the same word arrives
   after them; C11 lets two such stores to two words cross with another thread's (2+2W).
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from operators.check.explore import Explorer
from operators.check.history import HistoryOperation
from operators.check.scenario import Call, Scenario
from operators.core.atomics import (
    ACQ_REL,
    ACQUIRE,
    MUTEX_WORDS,
    RELAXED,
    RELEASE,
    SEQ_CST,
    cas,
    exchange,
    fence,
    fetch_add,
    init_lock,
    load,
    lock,
    pause,
    store,
    unlock,
)
from operators.core.layout import aligned_words

EVERY_MEMORY = ("sc", "tso", "pso", "rc11")
# Those whose reduction keeps to a bound on preemptions and draws.
MEMORIES = EVERY_MEMORY[:-1]
RACE = "race"
WORDS = ("x", "y", "z", "data")
NOT_SEEN = -1
Programs = tuple[tuple[Call, ...], ...]


class LitmusState(NamedTuple):
    """The state of a litmus program: words that start at 0."""

    x: np.ndarray
    y: np.ndarray
    z: np.ndarray
    data: np.ndarray  # accessed plainly
    one: np.ndarray  # a mutex
    two: np.ndarray  # another


def make_state() -> LitmusState:
    """Return the state that every litmus program starts in."""
    mutexes = aligned_words(MUTEX_WORDS), aligned_words(MUTEX_WORDS)
    for mutex in mutexes:
        init_lock(mutex, 0)
    return LitmusState(*(aligned_words(1) for _ in range(4)), *mutexes)


# --- operations of threads, each called by name ---------------------------------------------------


def wait_for(word, value, order):
    """Spin until `word` is `value`."""
    while load(word, 0, order) != value:
        pause()


def wait_and_note(flag, note):
    """Wait until `flag` is set; meanwhile store the same value to `note` again and again."""
    while load(flag, 0, ACQUIRE) == 0:
        store(note, 0, 1, RELAXED)
        pause()


def read_behind(flag, value, order, data):
    """Read plain `data` once `flag` is `value`."""
    return data[0] if load(flag, 0, order) == value else NOT_SEEN


def read_behind_fence(flag, value, order, data):
    """Read plain `data` behind a fence of `order` if `flag` is `value`."""
    if load(flag, 0, RELAXED) != value:
        return NOT_SEEN
    fence(order)
    return data[0]


def read_behind_update(update, flag, order, data):
    """Read plain `data` if the cas or fetch_add finds `flag` other than 0."""
    seen = not cas(flag, 0, 0, 0, order) if update == "cas" else fetch_add(flag, 0, 0, order) != 0
    return data[0] if seen else NOT_SEEN


def write_behind(flag, value, order, data):
    """Write plain `data` if `flag` is `value`."""
    if load(flag, 0, order) != value:
        return NOT_SEEN
    data[0] = 2
    return 2


def dekker(mine, other, store_order, load_order, fenced, data):
    """Add to plain `data` if the other has not asked to: the entry of Dekker's algorithm."""
    store(mine, 0, 1, store_order)
    if fenced:
        fence(SEQ_CST)
    if load(other, 0, load_order) != 0:
        return 0
    data[0] += 1
    return 1


def peterson(mine, other, turn, me, turn_order, fenced, data):
    """Add to plain `data` under Peterson's lock with acquire loads and a release at the end."""
    store(mine, 0, 1, RELAXED)
    store(turn, 0, 1 - me, turn_order)
    if fenced:
        fence(SEQ_CST)
    while load(other, 0, ACQUIRE) == 1 and load(turn, 0, ACQUIRE) == 1 - me:
        pause()
    data[0] += 1
    store(mine, 0, 0, RELEASE)


def spin_locked(word, take, give_back, data):
    """Add to plain `data` under a spin lock of one word."""
    while not cas(word, 0, 0, 1, take):
        pause()
    data[0] += 1
    store(word, 0, 0, give_back)


def wait_a_while(word, value, tries):
    """Return 1 if `word` was `value` at one of `tries` looks, else 0."""
    for _ in range(tries):
        if load(word, 0, ACQUIRE) == value:
            return 1
        pause()
    return 0


def wait_patiently(word, value):
    """Wait with several pauses between two looks."""
    while load(word, 0, ACQUIRE) != value:
        for _ in range(3):
            pause()


def spin(word, value):
    """Wait without yielding."""
    while load(word, 0, ACQUIRE) != value:
        pass


def count_up(word, tries):
    """Add one by cas, with at most `tries` tries; return the number of failed ones."""
    for failed in range(tries):
        old = load(word, 0, RELAXED)
        if cas(word, 0, old, old + 1, ACQ_REL):
            return failed
    return tries


def add_by_halves(word):
    """Add one non-atomically: an addition between load and store is lost."""
    store(word, 0, load(word, 0, ACQUIRE) + 1, RELEASE)


def step_on(word, expected):
    """Add one atomically if `word` is `expected`; a step out of turn makes later ones fail."""
    cas(word, 0, expected, expected + 1, ACQ_REL)


def follow(word, even, odd, value):
    """Store `value` into `even` or `odd`, depending on the parity of `word`."""
    store(odd if load(word, 0, ACQUIRE) % 2 else even, 0, value, RELEASE)


def plain_read(word):
    return word[0]


def plain_write(word, value):
    word[0] = value


def plain_add(word, value):
    word[0] += value


OPERATIONS: dict[str, Callable[..., Any]] = {
    "load": lambda word, order: load(word, 0, order),
    "store": lambda word, value, order: store(word, 0, value, order),
    "cas": lambda word, expected, desired, order: int(cas(word, 0, expected, desired, order)),
    "fetch_add": lambda word, value, order: fetch_add(word, 0, value, order),
    "exchange": lambda word, value, order: exchange(word, 0, value, order),
    "fence": lambda order: fence(order),
    "lock": lambda mutex: lock(mutex, 0),
    "unlock": lambda mutex: unlock(mutex, 0),
    "pause": lambda: pause(),
} | {
    function.__name__: function
    for function in (
        wait_for, wait_and_note, read_behind, read_behind_fence, read_behind_update, write_behind,
        dekker, peterson, spin_locked, wait_a_while, wait_patiently, spin, count_up, add_by_halves,
        step_on, follow, plain_read, plain_write, plain_add,
    )
}  # fmt: skip


def perform(state: LitmusState, call: Call) -> int | None:
    """Run a call; arguments that name words are replaced by the words."""
    words = state._fields
    arguments = (getattr(state, a) if a in words else a for a in call.arguments)
    return OPERATIONS[call.name](*arguments)


# --- programs and their outcomes -----------------------------------------------------------------


@dataclass(frozen=True)
class Litmus:
    """A program and its outcomes under each memory.

    Attributes
    ----------
    name : str
    programs : tuple of tuples of Call
        One a thread.
    sc : str
        All outcomes under sequentially consistent interleavings.
    tso : str
        Outcomes that one store buffer per thread adds; ``race`` stands alone, here and below.
    pso : str
        Outcomes that a store buffer for each thread and word adds.
    c11 : str
        Further outcomes that RC11 allows, and `weak_memory` shows.
    never : str
        Further outcomes that C11 allows and no memory here shows: load buffering.
    final : tuple of str
        Words whose last values belong to the outcome.
    """

    name: str
    programs: Programs
    sc: str
    tso: str = ""
    pso: str = ""
    c11: str = ""
    never: str = ""
    final: tuple[str, ...] = ()

    def table(self, memory: str) -> set[str]:
        """Return exactly the outcomes that `memory` must show."""
        parts = [self.sc, self.tso, self.pso, self.c11]
        told = parts[: EVERY_MEMORY.index(memory) + 1]
        outcomes = {outcome for part in told for outcome in part.split()}
        return {RACE} if RACE in outcomes else outcomes

    def scenario(self, seen: set[str]) -> Scenario:
        """Return the program as a scenario in which every run adds its outcome to `seen`."""

        def finish(state: LitmusState, history: list[HistoryOperation]) -> None:
            seen.add(self.outcome(history, state))

        return Scenario(self.name, make_state, self.programs, perform, finish=finish)

    def outcome(self, history: list[HistoryOperation], state: LitmusState) -> str:
        """Return one run's outcome in the notation of the tables."""
        told = "".join(map(_letter, all_answers(history)))
        last = "".join(_letter(getattr(state, word)[0]) for word in self.final)
        return f"{told}|{last}" if last else told


def all_answers(history: list[HistoryOperation]) -> tuple[int, ...]:
    """Return the answers of the calls of all threads, in program order; None is left out."""
    # A thread's calls end in program order, and sorting keeps that.
    calls = sorted(history, key=lambda call: call.thread)
    return tuple(int(call.answer) for call in calls if call.answer is not None)


def _letter(answer: int) -> str:
    return "-" if answer == NOT_SEEN else str(answer)


def scenario_of(programs: Programs, **settings: Any) -> Scenario:
    """Return a scenario with only the checks that `settings` give."""
    return Scenario("program", make_state, programs, perform, **settings)


def explored(
    programs: Programs,
    preemptions: int,
    *,
    reduce: bool,
    memory: str = "sc",
    stale: int = 1,
) -> tuple[set[tuple[int, ...]], int]:
    """Return every outcome, all answers and the last x, y, z, data, and the number of schedules."""
    found: set[tuple[int, ...]] = set()

    def finish(state: LitmusState, history: list[HistoryOperation]) -> None:
        found.add((*all_answers(history), *(int(word[0]) for word in state[:4])))

    explorer = Explorer(scenario_of(programs, finish=finish), memory, [sys.modules[__name__]])
    for _ in explorer.every_schedule(preemptions, reduce=reduce, stale=stale):
        pass
    return found, explorer.tally.schedules


def put(word: str, value: int, order: int) -> Call:
    """Return an atomic store."""
    return Call("store", (word, value, order))


def get(word: str, order: int) -> Call:
    """Return an atomic load."""
    return Call("load", (word, order))


def fenced(order: int) -> Call:
    """Return a fence."""
    return Call("fence", (order,))
