"""Schedules: waiting is fair, endless runs are reported, failures replay from strings."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
import pytest

from operators.check.explore import Explorer, replay
from operators.check.history import HistoryOperation
from operators.check.pct import random_schedules
from operators.check.scenario import Call, Failure, Scenario
from operators.contract import ACCEPTED, NOT_READY, UsageError
from operators.core.atomics import ACQUIRE, RELAXED, RELEASE
from operators.core.layout import aligned_words
from tests.interleaving import litmus
from tests.interleaving.litmus import (
    MEMORIES,
    LitmusState,
    Programs,
    all_answers,
    explored,
    get,
    put,
    scenario_of,
)
from tests.interleaving.litmus_order import STORE_BUFFERING
from tests.interleaving.litmus_races import EXCLUSION


def wait_for(word: str, value: int) -> Call:
    """Return a spin that yields."""
    return Call("wait_for", (word, value, ACQUIRE))


def holding(mutex: str, *calls: Call) -> tuple[Call, ...]:
    """Return calls made while a mutex is held."""
    return (Call("lock", (mutex,)), *calls, Call("unlock", (mutex,)))


def failure_of(scenario: Scenario, memory: str = "sc", preemptions: int = 2) -> Failure:
    """Return the failure that some schedule shows."""
    with pytest.raises(Failure) as caught:
        for _ in Explorer(scenario, memory, [litmus]).every_schedule(preemptions, stale=2):
            pass
    return caught.value


SET_X, SET_Y = put("x", 1, RELEASE), put("y", 1, RELEASE)
TWO_LOCKS = tuple(
    (*(Call("lock", (m,)) for m in order), *(Call("unlock", (m,)) for m in order))
    for order in (("one", "two"), ("two", "one"))
)

WAITS: dict[str, Programs] = {
    "for a flag": ((wait_for("x", 1),), (SET_Y, SET_X)),
    "for each other in turn": (
        (SET_X, wait_for("y", 1), put("x", 2, RELEASE)),
        (wait_for("x", 1), SET_Y, wait_for("x", 2)),
    ),
    "in a row": (
        (wait_for("x", 1), SET_Y),
        (wait_for("y", 1), put("z", 1, RELEASE)),
        (SET_X, wait_for("z", 1)),
    ),
    "while a lock is held": (holding("one", wait_for("x", 1)), (SET_X, *holding("one"))),
    # A bounded wait is no livelock, however long nobody writes.
    "in vain for a while": ((Call("wait_a_while", ("x", 1, 20)),), (SET_Y,)),
}


@pytest.mark.parametrize("memory", MEMORIES)
@pytest.mark.parametrize("programs", WAITS.values(), ids=WAITS)
def test_who_gives_way_ends_under_every_schedule(programs, memory):
    whole, schedules = explored(programs, 2, reduce=False, memory=memory)
    reduced, fewer = explored(programs, 2, reduce=True, memory=memory)
    assert whole == reduced and fewer <= schedules


WAITS_FOR_EACH_OTHER = ((wait_for("x", 1), SET_Y), (wait_for("y", 1), SET_X))
ENDLESS: dict[str, tuple[Programs, str]] = {
    "a spin": (((Call("spin", ("x", 1)),),), "progress"),
    "a spin beside another": (((Call("spin", ("x", 1)),), (SET_Y,)), "progress"),
    "a wait for nobody": (((wait_for("x", 1),), (get("y", ACQUIRE),)), "progress"),
    "waits for each other": (WAITS_FOR_EACH_OTHER, "progress"),
    "a lock held by who waits for its next owner": (
        (holding("one", wait_for("x", 1)), holding("one", SET_X)),
        "progress",
    ),
    "two locks in opposite order": (TWO_LOCKS, "deadlock"),
    "one lock twice": (((Call("lock", ("one",)),) * 2,), "deadlock"),
    "a lock that is kept": (((Call("lock", ("one",)),),) * 2, "deadlock"),
}


@pytest.mark.parametrize("programs, check", ENDLESS.values(), ids=ENDLESS)
def test_what_never_ends_is_reported(programs, check):
    assert failure_of(scenario_of(programs)).check == check


PAUSE = Call("pause")
WAITS_WHILE_IT_HOLDS = (holding("one", PAUSE, get("x", ACQUIRE)), holding("one"))


@pytest.mark.parametrize("programs, check", ENDLESS.values(), ids=ENDLESS)
def test_what_never_ends_is_reported_by_random_schedules(programs, check):
    # A contended lock leaves no thread to choose, or only one that has yielded.
    with pytest.raises(Failure) as caught:
        for _ in random_schedules(scenario_of(programs), count=200, seed=3, modules=[litmus]):
            pass
    assert caught.value.check == check


def test_who_gives_way_with_a_lock_in_hand_is_waited_for():
    scenario = scenario_of(WAITS_WHILE_IT_HOLDS)
    assert sum(1 for _ in random_schedules(scenario, count=200, seed=3, modules=[litmus])) == 200


@pytest.mark.parametrize("memory", MEMORIES)
def test_who_writes_down_the_same_again_wakes_nobody(memory):
    # Otherwise the two waiting threads would wake each other forever if the third comes last.
    notes = tuple((Call("wait_and_note", ("x", word)),) for word in ("y", "z"))
    scenario = scenario_of((*notes, (SET_X,)))
    ran = random_schedules(scenario, count=200, seed=3, memory=memory, modules=[litmus])
    assert sum(1 for _ in ran) == 200


def test_two_locks_in_opposite_order_may_go_well():
    # Without a preemption each thread takes both locks before the other asks.
    _, schedules = explored(TWO_LOCKS, 0, reduce=False)
    assert schedules == 2
    assert failure_of(scenario_of(TWO_LOCKS), preemptions=1).check == "deadlock"


def test_lock_of_another_cannot_be_given_back():
    failure = failure_of(scenario_of(((Call("lock", ("one",)),), (Call("unlock", ("one",)),))))
    assert failure.check == "exception" and "lock" in str(failure)


def nobody_misses(state: LitmusState, history: list[HistoryOperation]) -> None:
    assert all_answers(history) != (0, 0), "both read 0"


def table_named(name: str, **settings: Any) -> Scenario:
    programs = {case.name: case.programs for case in (*STORE_BUFFERING, *EXCLUSION)}
    return scenario_of(programs[name], **settings)


FAILING = {
    "a race": (table_named("lock-one-side"), "sc", "data race"),
    "a race behind stale loads": (table_named("peterson-fence"), "pso", "data race"),
    "a result": (table_named("sb-relaxed", finish=nobody_misses), "tso", "result"),
    "a deadlock": (scenario_of(TWO_LOCKS), "sc", "deadlock"),
    "waits": (scenario_of(WAITS_FOR_EACH_OTHER), "pso", "progress"),
    "a spin": (scenario_of(ENDLESS["a spin beside another"][0]), "sc", "progress"),
    "no step": (scenario_of(((Call("plain_write", ("data", 1)),),) * 2), "sc", "data race"),
    "an exception": (scenario_of(((Call("plain_add", ("data", "1")),),)), "sc", "exception"),
}


@pytest.mark.parametrize("scenario, memory, check", FAILING.values(), ids=FAILING)
def test_failing_schedule_replays_from_its_string(scenario, memory, check):
    first = failure_of(scenario, memory)
    assert first.check == check
    assert first.schedule.startswith(f"program:{memory}:")
    with pytest.raises(Failure) as again:
        replay(scenario, first.schedule, [litmus])
    assert (again.value.check, str(again.value)) == (check, str(first))
    assert again.value.schedule == first.schedule


@pytest.mark.parametrize("memory", MEMORIES)
def test_every_schedule_replays_from_its_string(memory):
    scenario = scenario_of(
        (
            (put("x", 1, RELAXED), SET_Y, *holding("one")),
            (get("y", ACQUIRE), get("x", ACQUIRE), *holding("one")),
            (Call("wait_a_while", ("y", 1, 2)),),
        )
    )
    explorer = Explorer(scenario, memory, [litmus])
    runs = {
        explorer.string(): (machine.trace, machine.epochs, all_answers(machine.history))
        for machine in explorer.every_schedule(1, stale=2)
    }
    assert len(runs) > 30
    for text, run in runs.items():
        again = replay(scenario, text, [litmus])
        assert (again.trace, again.epochs, all_answers(again.history)) == run, text


class Parts(NamedTuple):
    """A shared word, and the progress of each thread on a separate cache line."""

    word: np.ndarray
    done: np.ndarray


def of_parts(*works: str) -> Scenario:
    """Return threads that repeat their calls: l loads the word, s stores, - takes no step."""

    def perform(state: Parts, call: Call) -> int:
        thread, work = call.arguments
        part = state.done[thread]
        if part == len(work):
            return ACCEPTED
        state.done[thread] = part + 1
        if work[part] == "l":
            litmus.load(state.word, 0, ACQUIRE)
        elif work[part] == "s":
            litmus.store(state.word, 0, part + 1, RELEASE)
        return NOT_READY

    programs = tuple((Call("work", (thread, work)),) for thread, work in enumerate(works))

    def make() -> Parts:
        return Parts(aligned_words(1), aligned_words(len(works)))

    return Scenario("parts", make, programs, perform, retry=frozenset({NOT_READY}))


@pytest.mark.parametrize("works", [("ssss", "l--l-", "ll-"), ("s-s-", "-l-", "sls")])
def test_calls_without_a_step_are_in_no_schedule_and_change_none(works):
    scenario = of_parts(*works)
    explorer = Explorer(scenario, "sc", [litmus])
    runs = {
        explorer.string(): list(machine.epochs)
        for machine in explorer.every_schedule(1, reduce=False)
    }
    assert len(runs) > 5
    for text, epochs in runs.items():
        assert replay(scenario, text, [litmus]).epochs == epochs, text
    without = of_parts(*(work.replace("-", "") for work in works))
    again = Explorer(without, "sc", [litmus])
    assert {again.string() for _ in again.every_schedule(1, reduce=False)} == set(runs)


def test_calls_without_a_step_and_without_an_end_are_reported():
    def perform(state: Parts, call: Call) -> int:
        return NOT_READY

    endless = replace(of_parts("l", "-"), perform=perform)
    assert failure_of(endless).check == "progress"


def test_who_has_done_something_goes_on_where_it_may():
    works = of_parts("sss", "lll")
    schedules = [
        sum(1 for _ in Explorer(each, "sc", [litmus]).every_schedule(0))
        for each in (works, replace(works, goes_on=frozenset({NOT_READY})))
    ]
    # Without yielding or preemption, one thread runs completely before the other.
    assert schedules[0] > 2 == schedules[1]


SET_AND_LOOK = ((SET_X,), (get("x", ACQUIRE),))
BOTH_LOCK = (holding("one"),) * 2
MISFITS = {
    "program:sc:a1c1": (SET_AND_LOOK, "no thread c"),
    "program:sc:a1!c": (SET_AND_LOOK, "no thread c"),
    "program:sc:a1!ab": (SET_AND_LOOK, "stops every thread"),
    "program:sc:a1b1a1": (BOTH_LOCK, "b cannot take step 1"),
    "program:pso:a1b1~1=7": (SET_AND_LOOK, "step 1 draws 7 of 2"),
    "program:pso:a1b1~0=1": (SET_AND_LOOK, "step 0 does not draw so often"),
}


@pytest.mark.parametrize("text", MISFITS)
def test_schedule_that_does_not_fit_is_refused(text):
    programs, why = MISFITS[text]
    with pytest.raises(UsageError, match=why):
        replay(scenario_of(programs), text, [litmus])


class Table(NamedTuple):
    """A word, and constants that every thread reads."""

    word: np.ndarray
    constants: np.ndarray


def of_constants(first: str, second: str) -> Scenario:
    """Return two threads that read the constants or write them."""

    def make() -> Table:
        constants = np.array([5, 7])
        constants.flags.writeable = False
        return Table(np.zeros(8, dtype=np.int64), constants)

    def perform(state: Table, call: Call) -> int:
        if call.name == "write":
            state.constants[0] = 6
        return int(state.constants[0])

    return Scenario("constants", make, ((Call(first),), (Call(second),)), perform)


def test_constants_are_read_by_all_and_who_writes_them_is_found():
    explorer = Explorer(of_constants("read", "read"))
    assert len(list(explorer.every_schedule(1))) >= 1
    failure = failure_of(of_constants("read", "write"))
    assert failure.check == "exception" and "read-only" in failure.message
