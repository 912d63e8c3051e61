"""Loads of old stores: exactly the outcomes of RC11, by published tables and by its axioms."""

from __future__ import annotations

import random
from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
import pytest

from operators.check.explore import UNBOUNDED, Explorer, replay
from operators.check.linearizability import find_order_after
from operators.check.pct import random_schedules
from operators.check.scenario import Call, Failure, Scenario
from operators.core.atomics import ACQUIRE, RELAXED, RELEASE, load, store
from operators.core.layout import aligned_words
from operators.core.reference import QueueSpecification
from tests.interleaving import litmus
from tests.interleaving.axioms import rc11_outcomes
from tests.interleaving.eager import eager_outcomes
from tests.interleaving.litmus import WORDS, Programs, explored, get, put, scenario_of
from tests.interleaving.litmus_rc11 import SEQUENTIAL, SHAPES, Sequential, Shape
from tests.interleaving.test_linearizability import TAKE, one_by_one
from tests.interleaving.test_linearizability import put as enqueue
from tests.interleaving.test_litmus import random_program

# A shape of three or four threads has up to 729 combinations of orders: a sample of them.
SAMPLE = 40
RANDOM_PROGRAMS = 60


def outcomes_of(programs: Programs, stale: int = UNBOUNDED) -> set[tuple[int, ...]]:
    """Return every outcome that some schedule shows: the answers and the last x, y, z and data."""
    return explored(programs, UNBOUNDED, reduce=True, memory="rc11", stale=stale)[0]


def shown(found: set[tuple[int, ...]], answers: tuple[int, ...], last: dict[str, int]) -> bool:
    """Return whether some outcome has these answers and these last values."""
    return any(
        outcome[: -len(WORDS)] == answers
        and all(outcome[WORDS.index(w) - len(WORDS)] == value for w, value in last.items())
        for outcome in found
    )


def sampled(shape: Shape) -> list[tuple[tuple[int, ...], Programs, bool]]:
    """Return combinations of orders: all of a small shape, else some of either verdict."""
    cases = list(shape.cases())
    if len(cases) <= 3**4:
        return cases
    dice = random.Random(7)
    allowed, forbidden = ([c for c in cases if c[2] == verdict] for verdict in (False, True))
    return [
        *dice.sample(allowed, min(SAMPLE // 2, len(allowed))),
        *dice.sample(forbidden, min(SAMPLE // 2, len(forbidden))),
        cases[-1],
    ]


@pytest.mark.parametrize("shape", SHAPES, ids=lambda shape: shape.name)
def test_weak_outcome_shows_exactly_where_rc11_allows_it(shape):
    for orders, programs, forbidden in sampled(shape):
        found = shown(outcomes_of(programs), shape.answers, shape.last)
        assert found != forbidden, orders


@pytest.mark.parametrize("shape", SHAPES, ids=lambda shape: shape.name)
def test_published_tables_are_those_of_the_axioms(shape):
    for orders, programs, forbidden in shape.cases():
        found = shown(rc11_outcomes(programs, WORDS), shape.answers, shape.last)
        assert found != forbidden, orders


@pytest.mark.parametrize("case", SEQUENTIAL, ids=lambda case: case.name)
def test_sequentially_consistent_accesses_and_fences_forbid_no_more_than_rc11(case: Sequential):
    by_axioms = rc11_outcomes(case.programs, WORDS)
    assert shown(by_axioms, case.answers, case.last) == case.allowed
    assert outcomes_of(case.programs) == by_axioms


def programs_at_random(seed: int, count: int, most_calls: int) -> Iterator[Programs]:
    dice = random.Random(seed)
    while count:
        programs = random_program(dice)
        if sum(map(len, programs)) <= most_calls:
            count -= 1
            yield programs


def test_random_programs_end_as_the_axioms_say():
    for programs in programs_at_random(1, RANDOM_PROGRAMS, 5):
        assert outcomes_of(programs) == rc11_outcomes(programs, WORDS), programs


@pytest.mark.parametrize("memory", ["tso", "pso"])
def test_rc11_allows_what_store_buffers_allow(memory):
    for programs in programs_at_random(2, RANDOM_PROGRAMS, 6):
        assert eager_outcomes(programs, WORDS, memory) <= outcomes_of(programs), programs


def test_two_old_loads_a_schedule_are_tried_unless_more_are_asked_for():
    # read x three times, each time 0 although 1, 2 and 3 are there, takes three old loads.
    programs = (
        (put("x", 1, RELAXED), put("y", 1, RELEASE)),
        tuple(get(word, RELAXED) for word in "yxxx"),
    )
    explorer = Explorer(scenario_of(programs), "rc11", [litmus])
    found = {
        tuple(o.answer for o in machine.history if o.name == "load")
        for machine in explorer.every_schedule(0)
    }
    assert (1, 0, 0, 1) in found and (1, 0, 0, 0) not in found
    assert (1, 0, 0, 0, 1, 1, 0, 0) in explored(programs, 0, reduce=True, memory="rc11", stale=3)[0]


def test_a_failed_cas_is_a_load_of_an_old_store():
    # The cas expects the latest value, and may all the same fail at an older one.
    programs = ((put("x", 1, RELAXED),), (Call("cas", ("x", 1, 2, RELAXED)),))
    assert {(0, 1, 0, 0, 0), (1, 2, 0, 0, 0)} == outcomes_of(programs)


def test_a_random_schedule_reads_at_most_two_old_stores():
    programs = ((put("x", 1, RELAXED),) * 4, (get("x", RELAXED),) * 8)
    scenario = scenario_of(programs)
    odd = set()
    for machine in random_schedules(scenario, count=300, memory="rc11", modules=[litmus]):
        odd.add(sum(draw > 0 for draws in machine.chosen.values() for draw in draws))
    assert odd == {0, 1, 2}


def test_who_waits_sees_every_store_in_the_end():
    programs = (
        (Call("wait_for", ("x", 1, RELAXED)), put("y", 1, RELAXED)),
        (put("x", 1, RELAXED), Call("wait_for", ("y", 1, RELAXED))),
    )
    assert outcomes_of(programs) == {(1, 1, 0, 0)}


# --- calls ---------------------------------------------------------------------------------------


class Register(NamedTuple):
    """Two words, each read and written by one atomic."""

    words: np.ndarray


class RegisterSpecification:
    """Words that answer the value written last."""

    def __init__(self, values=(0, 0)):
        self.values = values

    def accepts(self, thread, name, arguments, answer):
        if name == "read":
            return self.values[arguments[0]] == answer
        number, value = arguments
        self.values = tuple(value if n == number else v for n, v in enumerate(self.values))
        return True

    def copy(self):
        return RegisterSpecification(self.values)

    def key(self):
        return self.values


def registers(store_order, load_order, *programs) -> Scenario:
    """Return a program that reads and writes two registers."""

    def perform(state, call):
        if call.name == "read":
            return load(state.words, call.arguments[0], load_order)
        return store(state.words, *call.arguments, store_order)

    return Scenario("registers", lambda: Register(aligned_words(2)), programs, perform,
                    specification=RegisterSpecification)  # fmt: skip


MODULE = __import__(__name__, fromlist=["load"])
WRITE, READ = Call("write", (0, 1)), Call("read", (0,))
MESSAGE = ((WRITE, Call("write", (1, 1))), (Call("read", (1,)), READ))


def checked(scenario: Scenario, memory: str = "rc11") -> None:
    for _ in Explorer(scenario, memory, [MODULE]).every_schedule(2):
        pass


def test_a_call_that_merely_ended_earlier_need_not_be_seen():
    checked(registers(RELAXED, RELAXED, (WRITE,), (READ, READ)))


def test_a_call_that_happens_before_another_must_be_seen():
    checked(registers(RELEASE, ACQUIRE, *MESSAGE))
    scenario = registers(RELAXED, RELAXED, *MESSAGE)
    checked(scenario, "tso")
    with pytest.raises(Failure, match="no sequential order") as caught:
        checked(scenario)
    assert caught.value.schedule.startswith("registers:rc11:")
    with pytest.raises(Failure, match="no sequential order"):
        replay(scenario, caught.value.schedule, [MODULE])


def test_an_order_keeps_to_the_calls_that_come_before():
    history = one_by_one((0, enqueue(1), 1), (0, enqueue(2), 1), (1, TAKE, (2,)), (1, TAKE, (1,)))
    free = [0, 0, 0, 0b0100]
    order = find_order_after(history, free, QueueSpecification(3))
    assert order is not None and order.index(1) < order.index(2) < order.index(3)
    assert order.index(0) < order.index(3)
    assert find_order_after(history, [0, 0b0001, 0, 0b0100], QueueSpecification(3)) is None
