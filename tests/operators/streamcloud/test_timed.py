"""What the time of an instance's thread goes into, by clocks that are set by hand."""

from __future__ import annotations

import pytest

from operators.streamcloud.carriers import timed
from operators.streamcloud.carriers.timed import Spent


class Clocks:
    """A clock, and the processor time of one thread."""

    def __init__(self):
        self.now = self.used = 1_000

    def go_on(self, seconds, used):
        self.now += seconds
        self.used += used


@pytest.fixture
def clocks(monkeypatch):
    found = Clocks()
    monkeypatch.setattr(timed, "now", lambda: found.now)
    monkeypatch.setattr(timed, "thread_now", lambda: found.used)
    return found


def begun():
    spent = Spent()
    spent.begin()
    return spent


def test_time_is_split_into_steps_what_is_between_and_waiting(clocks):
    spent = begun()
    clocks.go_on(100, used=10)
    spent.note(step=True)
    clocks.go_on(70, used=70)
    spent.note(step=False)
    clocks.go_on(50, used=5)
    spent.note(step=True)
    assert spent.sample().tolist() == [70, 15, 90 + 45]


def test_a_step_that_had_no_core_is_neither_work_nor_idle(clocks):
    spent = begun()
    spent.note(step=True)
    clocks.go_on(500, used=100)
    spent.note(step=False)
    assert spent.sample().tolist() == [100, 0, 0]


def test_a_wait_that_has_not_ended_counts(clocks):
    spent = begun()
    clocks.go_on(40, used=0)
    assert spent.sample().tolist() == [0, 0, 40]
    spent.note(step=True)
    clocks.go_on(40, used=0)
    # In a step nobody waits.
    assert spent.sample().tolist() == [0, 0, 40]
