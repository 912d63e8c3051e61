"""Loops that take no step: the check ends with a failure that names the thread."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from dataclasses import replace
from typing import NamedTuple

import numpy as np
import pytest

from operators.check import endless
from operators.check.explore import Explorer
from operators.check.scenario import Call, EndlessLoop, Failure, Scenario
from operators.check.schedules import Turns
from operators.check.shorten import shorten
from operators.core.atomics import RELAXED, load

THIS = sys.modules[__name__]


class State(NamedTuple):
    words: np.ndarray


@pytest.fixture
def watched(monkeypatch):
    monkeypatch.setattr(endless, "SECONDS", 0.05)
    before = signal.getsignal(signal.SIGVTALRM)
    endless.watch()
    yield
    signal.setitimer(signal.ITIMER_VIRTUAL, 0)
    signal.signal(signal.SIGVTALRM, before)


def scenario(perform) -> Scenario:
    calls = (Call("go"),), (Call("go"),)
    return Scenario("loop", lambda: State(np.zeros(1, np.int64)), calls, perform)


def once(state, call):
    return load(state.words, 0, RELAXED)


def test_a_loop_without_a_step_fails_and_names_the_thread(watched):
    def perform(state, call):
        while load(state.words, 0, RELAXED) == 0:
            while True:
                pass

    explorer = Explorer(scenario(perform), "sc", [THIS])
    with pytest.raises(Failure, match="thread a has taken no step .* a loop without an end") as got:
        explorer.run(Turns({}))
    assert got.value.check == "progress" and got.value.schedule == "loop:sc:a1"


def test_a_judge_that_drains_without_an_end_fails(watched):
    def finish(state, history):
        while True:
            pass

    judged = replace(scenario(once), finish=finish)
    explorer = Explorer(judged, "sc", [THIS])
    with pytest.raises(EndlessLoop, match="the draining of the structure has not ended") as got:
        explorer.run(Turns({}))
    assert got.value.schedule and shorten(explorer, got.value) is got.value


def test_a_judgement_at_rest_without_an_end_fails(watched):
    def invariants(state):
        while state.words[0] == 0:
            pass

    explorer = Explorer(replace(scenario(once), invariants=invariants), "sc", [THIS])
    with pytest.raises(EndlessLoop, match="the judgement at rest has not ended"):
        explorer.run(Turns({}))


def test_a_program_whose_making_does_not_end_fails(watched):
    def make():
        while True:
            pass

    with pytest.raises(Failure, match="the making of the program has not ended in 0.2 s"):
        Explorer(replace(scenario(once), make=make))


def test_a_long_search_for_an_order_is_no_loop(watched):
    explorer = Explorer(scenario(once), "sc", [THIS])
    explorer.judge.judge = lambda machine: sum(range(20_000_000))
    explorer.run(Turns({}))


def test_many_short_runs_and_what_runs_between_them_are_no_loop(watched):
    explorer = Explorer(scenario(once), "sc", [THIS])
    for _ in range(300):
        explorer.run(Turns({}))
    # The machine is not installed here.
    sum(range(20_000_000))


# Objects of a module go when Python's handlers of signals are gone already.
LATE = """
import time
from operators.check import endless

class Late:
    def __del__(self, now=time.process_time):
        end = now() + 0.3
        while now() < end:
            pass

late = Late()
endless.SECONDS = 0.1
endless.watch()
"""


def test_a_check_that_has_ended_is_not_killed_by_the_timer():
    """The exit status would be that of a signal, whatever the check has found."""
    done = subprocess.run([sys.executable, "-c", LATE], env=os.environ | {"NUMBA_DISABLE_JIT": "1"})
    assert done.returncode == 0
