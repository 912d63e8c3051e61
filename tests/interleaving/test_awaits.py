"""A graph of states knows the loops in which threads have waited; the report names the others."""

from __future__ import annotations

import sys
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from operators import registry
from operators.check.awaits import loops_in, waited_in, waits_of
from operators.check.progress import Graph
from operators.check.scenario import Call, Scenario
from operators.core.atomics import ACQ_REL, ACQUIRE, RELAXED, RELEASE, cas, load, store
from operators.core.layout import aligned_words

HERE = sys.modules[__name__]


class Words(NamedTuple):
    """A number that two threads add to, and a word that one waits for."""

    words: np.ndarray


def add(state):
    while True:
        found = load(state.words, 0, RELAXED)
        if cas(state.words, 0, found, found + 1, ACQ_REL):
            return found


def wait(state):
    while load(state.words, 1, ACQUIRE) == 0:
        pass
    return 1


def sweep(state):
    """Read a few words: this loop waits for nobody."""
    at = 0
    while load(state.words, at, RELAXED) > 0:
        at += 1
    return at


def perform(state, call):
    if call.name == "tell":
        store(state.words, 1, 1, RELEASE)
        return 1
    return {"add": add, "wait": wait, "sweep": sweep}[call.name](state)


ADD, WAIT = (
    "test_awaits.add: while True",
    "test_awaits.wait: while load(state.words, 1, ACQUIRE) == 0",
)
SWEEP = "test_awaits.sweep: while load(state.words, at, RELAXED) > 0"
SCENARIO = Scenario("waiting", lambda: Words(aligned_words(8)), (), perform)


def waited(*programs: tuple[str, ...]) -> set[str]:
    calls = tuple(tuple(map(Call, program)) for program in programs)
    return waited_in(Graph(replace(SCENARIO, programs=calls), 500, [HERE]).turns)


def test_the_loops_that_wait_are_told_from_those_that_go_on():
    assert {loop.name for loop in loops_in(__file__) if loop.waits} == {ADD, WAIT}
    assert {loop.name for loop in loops_in(__file__)} >= {SWEEP}


def test_a_loop_is_waited_in_once_another_thread_comes_between():
    assert waited(("add",), ("add",)) == {ADD}
    assert waited(("add", "add")) == set()
    assert waited(("add",), ("tell",)) == set()


def test_a_spin_and_a_sweep():
    assert waited(("wait",), ("tell",)) == {WAIT}
    assert waited(("tell", "wait"), ("add",)) == set()
    assert waited(("add", "sweep"), ("tell",)) == {SWEEP}


def test_a_variant_has_the_loops_of_its_folder_that_no_other_variant_has():
    found = waits_of(registry.variant("core", "michael-scott-queue"))
    assert found == {
        f"michael_scott_queue.{name}: while True"
        for name in ("enqueue_link", "dequeue", "allocate", "give_back")
    }
    assert any(
        name.startswith("bw_pool.") for name in waits_of(registry.variant("index", "bw-tree"))
    )
    assert waits_of(registry.variant("aggregation", "mq")) == set()
