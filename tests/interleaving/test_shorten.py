"""Failing schedules made short, and random walks."""

from __future__ import annotations

from collections import Counter

import pytest

from operators.check.explore import Explorer, replay
from operators.check.pct import random_schedules
from operators.check.scenario import Failure
from operators.check.schedules import parse_schedule
from operators.check.shared_memory import THREAD_MASK
from operators.check.shorten import shorten
from operators.core.atomics import RELAXED
from tests.interleaving import litmus
from tests.interleaving.litmus import LitmusState, all_answers, scenario_of
from tests.interleaving.litmus_order import message
from tests.interleaving.test_pct import BUGS, IN_TURNS, LOST_ADDITION, lost


def failing(scenario, memory: str = "sc", walk: bool = True) -> tuple[Explorer, Failure]:
    """Return the first failure of random schedules, and the explorer that met it."""
    explorer = Explorer(scenario, memory, [litmus])
    with pytest.raises(Failure) as caught:
        for _ in random_schedules(scenario, count=2_000, seed=5, explorer=explorer, walk=walk):
            pass
    return explorer, caught.value


def turns_in(failure: Failure) -> int:
    return len(parse_schedule(failure.schedule).turns)


@pytest.mark.parametrize(("bug", "turns"), [("a lost addition", 3), ("steps in turns", 4)])
def test_a_random_failure_is_shortened_to_the_switches_that_it_takes(bug, turns):
    programs, finish, _ = BUGS[bug]
    scenario = scenario_of(programs, finish=finish)
    explorer, failure = failing(scenario)
    short = shorten(explorer, failure)
    assert turns_in(failure) > turns_in(short) == turns
    assert short.check == failure.check
    with pytest.raises(Failure, match=str(short)):
        replay(scenario, short.schedule, [litmus])


def test_a_failure_before_the_first_step_is_returned_as_it_is():
    explorer, _ = failing(scenario_of(BUGS["a lost addition"][0], finish=lost))
    early = Failure("result", "at once", "lost:sc:")
    assert shorten(explorer, early) is early


def test_draws_that_a_failure_does_not_take_are_left_out():
    def stale(state: LitmusState, history: list) -> None:
        assert all_answers(history)[:2] != (1, 0), "the message was seen and the data was not"

    scenario = scenario_of((*message(flag=RELAXED),), finish=stale)
    explorer, failure = failing(scenario, "rc11")
    short = shorten(explorer, failure)
    draws = [draw for draws in parse_schedule(short.schedule).late.values() for draw in draws]
    assert sum(draw > 0 for draw in draws) == 1
    assert turns_in(short) == 2


def test_a_random_walk_chooses_among_all_threads_before_each_step():
    found: Counter[tuple[int, ...]] = Counter()
    scenario = scenario_of(IN_TURNS)
    for machine in random_schedules(scenario, count=400, seed=2, modules=[litmus], walk=True):
        found[tuple(epoch & THREAD_MASK for epoch in machine.epochs)] += 1
    firsts = Counter(order[0] for order in found.elements())
    assert set(firsts) == {0, 1} and min(firsts.values()) > 150
    switches = [sum(a != b for a, b in zip(o, o[1:], strict=False)) for o in found]
    assert sum(switches) / len(switches) > 5, "priorities would switch two or three times"


def test_a_random_walk_is_the_same_for_a_seed():
    def walked(seed):
        machines = random_schedules(
            scenario_of(LOST_ADDITION), count=20, seed=seed, modules=[litmus], walk=True
        )
        return [tuple(machine.epochs) for machine in machines]

    assert walked(1) == walked(1) != walked(2)


def test_a_random_walk_finds_a_lost_addition():
    _, failure = failing(scenario_of(LOST_ADDITION, finish=lost))
    assert failure.check == "result"
