"""Invariants are judged whenever no thread is inside a call, and not at the end alone."""

from __future__ import annotations

import json
import sys
from dataclasses import asdict, replace
from typing import NamedTuple

import numpy as np
import pytest

from operators.check import suite
from operators.check.explore import Explorer, replay
from operators.check.scenario import Call, Failure, Scenario
from operators.core.atomics import RELAXED, fetch_add
from operators.core.layout import aligned_words

HERE = sys.modules[__name__]


class Counter(NamedTuple):
    """A word that is 0 in the beginning and in the end, but not in between."""

    words: np.ndarray


def add(state, call):
    return fetch_add(state.words, 0, call.arguments[0], RELAXED)


def invariants(state):
    assert state.words[0] < 2, f"the word is {state.words[0]}"


UP, DOWN = Call("add", (1,)), Call("add", (-1,))
SCENARIO = Scenario(
    "up-and-down", lambda: Counter(aligned_words(1)), ((UP, DOWN), (UP, DOWN)), add,
    finish=lambda state, history: None, invariants=invariants,
)  # fmt: skip


def run_all(scenario: Scenario, memory: str = "sc") -> Explorer:
    explorer = Explorer(scenario, memory, [HERE])
    for _ in explorer.every_schedule(2):
        pass
    return explorer


def test_a_state_between_calls_breaks_an_invariant_that_the_end_keeps():
    with pytest.raises(Failure, match="at rest between calls, the word is 2") as caught:
        run_all(SCENARIO)
    assert caught.value.check == "invariant"
    with pytest.raises(Failure, match="the word is 2"):
        replay(SCENARIO, caught.value.schedule, [HERE])


def test_a_program_may_say_that_threads_keep_something_from_call_to_call():
    explorer = run_all(replace(SCENARIO, rests=False))
    assert explorer.judge.rests == set() and len(explorer.judge.states) > 0


def test_each_state_at_rest_is_judged_once():
    seen = []
    free = replace(SCENARIO, invariants=lambda state: seen.append(int(state.words[0])))
    explorer = run_all(free)
    assert len(explorer.judge.rests) == 3
    assert len(seen) == 3 + len(explorer.judge.states)


def test_late_stores_are_no_rest():
    assert run_all(SCENARIO, "tso").judge.rests == set()


def test_a_report_with_counts_of_assertions_can_be_written_as_json():
    explorer, report = run_all(replace(SCENARIO, rests=False)), suite.Report("family", "variant")
    explorer.judge.assertions.counts["word > 0"] = 3
    for _ in range(2):
        suite._add(report, explorer, {})
    assert json.loads(json.dumps(asdict(report)))["assertions"]["word > 0"] == 6
