"""The reduction loses no outcome, however few preemptions are allowed.

Random small programs are explored with and without the reduction; the sets of all answers and last
words must be equal. Tests on programs small enough to count show what the bound itself leaves out.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from itertools import product

import pytest

from operators.check.explore import UNBOUNDED, Explorer, outcomes
from operators.check.judge import timed
from operators.check.scenario import Call
from operators.core.atomics import ACQ_REL, ACQUIRE, RELAXED, RELEASE
from tests.interleaving import litmus
from tests.interleaving.litmus import MEMORIES, Programs, explored, get, put, scenario_of
from tests.interleaving.litmus_order import STORE_BUFFERING

# The number of random programs, by preemptions: a wrong reduction loses outcomes where a schedule
# has hardly any preemptions. With late stores a program has more schedules.
RANDOM_PROGRAMS = (25, 60, 10, 5)
FEWER_WITH_BUFFERS = 5
WAIT = Call("wait_for", ("data", 1, ACQUIRE))
LOCK, UNLOCK = Call("lock", ("one",)), Call("unlock", ("one",))
ADD = Call("fetch_add", ("z", 1, ACQ_REL))


def straight_call(dice: random.Random, words: str, value: int) -> list[Call]:
    """Return one atomic, or a critical section of one."""
    word = dice.choice(words)
    calls = [
        get(word, ACQUIRE),
        put(word, value, RELAXED),
        put(word, value, RELEASE),
        Call("cas", (word, dice.choice([0, value - 1]), value, ACQ_REL)),
        Call("fetch_add", (word, 10, ACQ_REL)),
        Call("exchange", (word, value, ACQ_REL)),
    ]
    call = dice.choices(calls, [6, 3, 3, 2, 2, 1])[0]
    if dice.random() < 0.25:
        mutex = dice.choice(["one", "one", "two"])
        return [Call("lock", (mutex,)), call, Call("unlock", (mutex,))]
    return [call]


def branching_call(dice: random.Random, words: str, value: int) -> list[Call]:
    """Return an operation whose steps depend on the values it reads, or a straight one."""
    word, other = dice.choice(words), dice.choice(words)
    calls = [
        Call("count_up", (word, 2)),
        Call("follow", (word, other, dice.choice("xyz"), value)),
    ]
    return [dice.choice(calls)] if dice.random() < 0.4 else straight_call(dice, words, value)


def waiting_call(dice: random.Random, words: str, value: int) -> list[Call]:
    """Return a wait for the last thread's end, or a straight call.

    Such a wait has the same answer however often it looks. A wait that counts its looks and gives
    up would show when it was woken, which the reduction does not preserve.
    """
    return [WAIT] if dice.random() < 0.3 else straight_call(dice, words, value)


def random_programs(
    seed: int, count: int, draw: Callable[[random.Random, str, int], list[Call]]
) -> list[Programs]:
    """Return programs of two or three threads on one to three words."""
    dice = random.Random(seed)
    found = []
    for _ in range(count):
        words = "xyz"[: dice.choice([1, 2, 2, 3])]
        sizes = dice.choice([(2, 2), (3, 3), (4, 3), (1, 1, 2), (2, 1, 2), (2, 2, 1), (2, 1, 3)])
        values = iter(range(1, 100))
        programs = []
        for size in sizes:
            program: list[Call] = []
            while len(program) < size:
                program += draw(dice, words, next(values))
            programs.append(tuple(program))
        last = (*(call for call in programs[-1] if call != WAIT), put("data", 1, RELEASE))
        found.append((*programs[:-1], last))
    return found


@pytest.mark.parametrize("preemptions", [0, 1, 2, 3])
@pytest.mark.parametrize("memory", MEMORIES)
@pytest.mark.parametrize("draw", [straight_call, branching_call, waiting_call])
def test_reduction_loses_no_outcome(draw, memory, preemptions):
    count = RANDOM_PROGRAMS[preemptions] // (1 if memory == "sc" else FEWER_WITH_BUFFERS)
    for programs in random_programs(preemptions, count, draw):
        whole, schedules = explored(programs, preemptions, reduce=False, memory=memory)
        reduced, fewer = explored(programs, preemptions, reduce=True, memory=memory)
        assert reduced == whole, programs
        assert fewer <= schedules, programs


class Anything:
    """A specification that accepts every history."""

    def accepts(self, *call: object) -> bool:
        return True

    def copy(self) -> Anything:
        return self

    def key(self) -> int:
        return 0


def call_of_steps(dice: random.Random, words: str, value: int) -> list[Call]:
    """Return an operation of two steps or more."""
    word, other = dice.choice(words), dice.choice(words)
    calls = [
        Call("add_by_halves", (word,)),
        Call("count_up", (word, 2)),
        Call("follow", (word, other, dice.choice("xyz"), value)),
    ]
    return [dice.choice(calls)]


def histories(programs: Programs, preemptions: int, reduce: bool) -> tuple[set[tuple], int]:
    """Return every history, as answers and as pairs of calls in real-time order, and the runs."""
    explorer = Explorer(scenario_of(programs, specification=Anything), "sc", [litmus])
    found = set()
    for machine in explorer.every_schedule(preemptions, reduce=reduce):
        calls = timed(machine.history, machine.epochs, machine.landed)
        calls.sort(key=lambda call: call.thread)
        pairs = product(enumerate(calls), repeat=2)
        order = frozenset((i, k) for (i, one), (k, other) in pairs if one.ended < other.began)
        found.add((tuple(call.answer for call in calls), order))
    return found, explorer.tally.schedules


@pytest.mark.parametrize("preemptions, count", [(0, 25), (1, 40), (2, 10), (3, 3)])
@pytest.mark.parametrize("draw", [call_of_steps, branching_call])
def test_reduction_loses_no_history(draw, preemptions, count):
    # That a call ended before another began shows in no word: a bug that shows only in this order,
    # such as FULL after room was made, must be found all the same.
    for programs in random_programs(preemptions, count, draw):
        whole, schedules = histories(programs, preemptions, reduce=False)
        reduced, fewer = histories(programs, preemptions, reduce=True)
        assert reduced == whole, programs
        assert fewer <= schedules, programs


def test_reduction_of_independent_threads_leaves_their_orders_only():
    programs = tuple((put(word, 1, RELEASE), get(word, ACQUIRE)) * 2 for word in "xyz")
    whole, schedules = explored(programs, 2, reduce=False)
    reduced, fewer = explored(programs, 2, reduce=True)
    assert reduced == whole and len(whole) == 1
    # Three threads can follow each other in six orders; between them a switch is always tried.
    assert fewer <= 6
    assert schedules > 50 * fewer


def test_reduction_switches_where_a_switch_is_paid_for():
    # a writes, c reads, b runs, a reads: one preemption. For c to read before b's *last* step, a
    # second switch is needed there; a switch before b's turn costs nothing more.
    programs = (
        (Call("cas", ("x", 0, 1, ACQ_REL)), get("x", ACQUIRE)),
        (get("x", ACQUIRE), Call("fetch_add", ("x", 10, ACQ_REL))),
        (get("x", ACQUIRE),),
    )
    whole, _ = explored(programs, 1, reduce=False)
    reduced, _ = explored(programs, 1, reduce=True)
    assert reduced == whole
    assert (1, 11, 1, 1, 1, 11, 0, 0, 0) in reduced


CRITICAL = (LOCK, put("x", 1, RELAXED), UNLOCK)
ALSO_CRITICAL = (LOCK, put("x", 5, RELAXED), UNLOCK)
WITH_LOCKS = {
    # Two sections compete for taking the lock: neither can come before an unlock.
    "the last read happens under the lock": (
        (get("x", ACQUIRE), ADD, LOCK, get("z", RELAXED), UNLOCK),
        (
            Call("cas", ("z", 4, 5, ACQ_REL)),
            put("z", 6, RELEASE),
            LOCK,
            put("z", 7, RELAXED),
            UNLOCK,
            put("data", 1, RELEASE),
        ),
    ),
    # A switch inside the section is free once the other thread waits for the lock.
    "who waits for the lock gives the turn back": (
        (*CRITICAL, Call("fetch_add", ("x", 10, ACQ_REL))),
        (put("x", 3, RELAXED), put("x", 4, RELAXED), *ALSO_CRITICAL),
    ),
}


@pytest.mark.parametrize("preemptions", [0, 1, 2, 3])
@pytest.mark.parametrize("programs", WITH_LOCKS.values(), ids=WITH_LOCKS)
def test_reduction_turns_critical_sections(programs, preemptions):
    whole, schedules = explored(programs, preemptions, reduce=False)
    reduced, fewer = explored(programs, preemptions, reduce=True)
    assert reduced == whole
    assert fewer <= schedules


def test_reduction_turns_only_what_meets():
    # Each thread writes a private word and then the common one, which alone can have two outcomes.
    programs = tuple(
        (put(word, 1, RELEASE), put(word, 2, RELEASE), put(word, 3, RELEASE), add)
        for word, add in (("x", ADD), ("y", ADD))
    )
    whole, schedules = explored(programs, 3, reduce=False)
    reduced, fewer = explored(programs, 3, reduce=True)
    assert reduced == whole and len(whole) == 2
    assert schedules > 5 * fewer


@pytest.mark.parametrize(
    "preemptions, found", [(0, "01 10"), (1, "01 10 11"), (UNBOUNDED, "01 10 11")]
)
@pytest.mark.parametrize("reduce", [False, True])
def test_outcomes_take_the_preemptions_they_take(preemptions, found, reduce):
    programs = STORE_BUFFERING[0].programs
    seen = outcomes(scenario_of(programs), "sc", preemptions, reduce, [litmus])
    assert seen == {tuple(map(int, each)) for each in found.split()}


@pytest.mark.parametrize("reduce", [False, True])
def test_turn_by_turn_takes_two_preemptions(reduce):
    programs = ((Call("fetch_add", ("x", 1, ACQ_REL)),) * 2,) * 2
    one, two = (outcomes(scenario_of(programs), "sc", p, reduce, [litmus]) for p in (1, 2))
    assert two - one == {(0, 2, 1, 3), (1, 3, 0, 2)}


def test_stale_loads_are_counted():
    # Both of these loads find the other's store still buffered: x = 1; read y | y = 1; read x.
    found = [
        explored(STORE_BUFFERING[0].programs, 2, reduce=True, memory="tso", stale=s)[0]
        for s in (0, 1, 2)
    ]
    assert (0, 0, 1, 1, 0, 0) not in found[0]
    assert (0, 0, 1, 1, 0, 0) in found[1]
    assert found[1] == found[2]
