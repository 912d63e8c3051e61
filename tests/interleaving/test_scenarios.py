"""The scenarios of every variant: they exist, are distinct, and start from the same state.

The results of their schedules are checked in ``test_variants``.
"""

from __future__ import annotations

import re
import sys
from collections import Counter
from dataclasses import replace
from typing import NamedTuple

import numpy as np
import pytest

from operators import registry
from operators.aggregation import mq
from operators.aggregation.check import scenarios as aggregation
from operators.check.explore import Explorer
from operators.check.families import checked, scenarios
from operators.check.history import HistoryOperation
from operators.check.scenario import Call, Scenario
from operators.contract import ACCEPTED, END, READY, TIMESTAMP_LIMIT, Parameter
from operators.core.atomics import RELAXED, fetch_add
from operators.gate import multi_queue, t_gate
from operators.gate.check import scenarios as gate

NAME = re.compile(r"[a-z0-9]+(-[a-z0-9]+)*")
VARIANTS = checked()
# Schedules have letters for this many threads.
MOST_THREADS = 6


@pytest.mark.parametrize("variant", VARIANTS, ids=[f"{v.family}-{v.id}" for v in VARIANTS])
def test_variant_has_scenarios_that_can_be_told_apart(variant):
    found = scenarios(variant)
    assert any(not scenario.deep for scenario in found)
    assert [s.deep for s in found] == sorted(s.deep for s in found), "the short ones come first"
    names = Counter(scenario.name for scenario in found)
    assert max(names.values()) == 1, names
    assert all(NAME.fullmatch(name) for name in names)
    for scenario in found:
        assert 1 <= len(scenario.programs) <= MOST_THREADS, scenario.name
        assert all(scenario.programs), f"{scenario.name}: a thread does nothing"
        assert scenario.specification or scenario.finish, f"{scenario.name} is never wrong"


@pytest.mark.parametrize("variant", VARIANTS, ids=[f"{v.family}-{v.id}" for v in VARIANTS])
def test_what_a_scenario_makes_is_the_same_each_time(variant):
    """Check that scenarios start from equal words; a schedule replays only then."""
    for scenario in scenarios(variant):
        first, second = words_of(scenario.make()), words_of(scenario.make())
        assert first == second, scenario.name


def words_of(state):
    """Return all words of a state, except the clock times in the log of winsets."""
    if isinstance(state, tuple):
        named = getattr(state, "_fields", range(len(state)))
        return [words_of(v) for f, v in zip(named, state, strict=True) if f != "log"]
    if hasattr(state, "restart"):
        return []  # made anew before each run, and not a word
    return state.tolist() if isinstance(state, np.ndarray) else state


class Noted:
    """Notes that threads keep outside of words."""

    def __init__(self):
        self.words, self.notes = [], []

    def restart(self, state):
        self.words.append(state.words)
        self.notes = []


class Noting(NamedTuple):
    """A word that threads add to, and their notes."""

    words: np.ndarray
    noted: Noted


def test_what_is_kept_beside_words_is_made_anew_before_each_run():
    noted = Noted()

    def perform(state, call):
        state.noted.notes.append(call.arguments)
        return fetch_add(state.words, 0, 1, RELAXED)

    def finish(state, history):
        assert sorted(state.noted.notes) == [(0,), (1,)], "it has notes of another run"

    programs = tuple((Call("note", (thread,)),) for thread in range(2))
    scenario = Scenario("noting", lambda: Noting(np.zeros(1, np.int64), noted), programs, perform,
                        finish=finish)  # fmt: skip
    explorer = Explorer(scenario, modules=[sys.modules[__name__]])
    assert sum(1 for _ in explorer.every_schedule(1)) > 1
    assert all(words is explorer.machine.words[0] for words in noted.words)


# --- the judges of gates and aggregates say no ---------------------------------------------------


def finished(scenario, *answers):
    """Run a scenario's threads one after the other; `answers` override the answers of the calls."""
    state = scenario.make()
    history = []
    for thread, program in enumerate(scenario.programs):
        for call in program:
            answer = scenario.perform(state, call)
            time = len(history)
            history.append(HistoryOperation(thread, *call, answer, time, time))
    for place, answer in answers:
        history[place] = history[place]._replace(answer=answer)
    scenario.finish(state, history)
    return state, history


def named(found, name):
    return next(scenario for scenario in found if scenario.name == name)


@pytest.mark.parametrize("variant", [multi_queue.VARIANT, t_gate.VARIANT], ids=lambda v: v.id)
def test_gate_that_loses_or_invents_a_tuple_is_wrong(variant):
    scenario = named(gate.scenarios(variant), "closing")
    _, history = finished(scenario)
    read = next(place for place, o in enumerate(history) if o.name == "get_next_ready_tuple")
    assert history[read].answer[0] == READY
    with pytest.raises(AssertionError, match="reader 0 got"):
        finished(scenario, (read, (READY, 1, 0, 0, 11)))
    with pytest.raises(AssertionError, match="reader 0 got"):
        finished(scenario, (read, (END,)))


def test_gate_whose_sources_do_not_end_comes_to_no_end():
    variant = multi_queue.VARIANT
    scenario = named(gate.scenarios(variant), "two-sources")
    state = scenario.make()

    def deaf(state, call):
        return ACCEPTED if call.name == "close_source" else scenario.perform(state, call)

    with pytest.raises(AssertionError, match="come to no end"):
        gate.drain_and_compare(state, deaf, 1, [])


def test_gate_is_made_small_and_within_its_limits():
    program = gate.GateProgram("any", (), ahead=1, levels=3)
    assert gate.settings(t_gate.VARIANT, program) == {"ahead": 3, "levels": 3}
    assert gate.settings(multi_queue.VARIANT, program) == {"ahead": 1}
    assert gate.most_readers(t_gate.VARIANT) == 2
    assert gate.most_readers(multi_queue.VARIANT) == 1


def test_a_choice_is_left_at_its_default():
    way = Parameter("way", "left", choices=("left", "right"))
    turning = replace(multi_queue.VARIANT, parameters=(*multi_queue.VARIANT.parameters, way))
    assert gate.settings(turning, gate.GateProgram("any", ()))["way"] == "left"
    program = aggregation.PROGRAMS["output"][0]
    assert aggregation.settings(replace(mq.VARIANT, parameters=(way,)), program)["way"] == "left"


def test_aggregate_that_loses_a_tuple_is_wrong():
    scenario = named(aggregation.scenarios(mq.VARIANT), "input-and-output")
    _, history = finished(scenario)
    added = next(place for place, o in enumerate(history) if o.name == "add")
    assert history[added].answer == ACCEPTED
    with pytest.raises(AssertionError, match="and should be"):
        finished(scenario, (added, TIMESTAMP_LIMIT))


def test_output_thread_answers_with_the_rows_it_put_out():
    scenario = named(aggregation.scenarios(mq.VARIANT), "input-and-output")
    state, history = finished(scenario)
    rows = [word for o in history if o.name == "process" for word in o.answer[1:]]
    assert len(rows) >= 5 and rows[:5] == [0, 1, 2, 0, 2]
    assert scenario.perform(state, Call("process")) == (END,)


@pytest.mark.parametrize("known", ["t-gate", "skip-list", "multi-queue-rings"])
def test_a_gate_of_ones_own_that_keeps_tuples_back_raises_no_false_alarm(known):
    own = replace(registry.variant("gate", known), id="a-gate-of-ones-own")
    for scenario in gate.scenarios(own):
        if not scenario.deep:
            for _ in Explorer(scenario).every_schedule(1):
                pass
