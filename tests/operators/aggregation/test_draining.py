"""The output thread of an aggregate hands over rows: slowly at times, but not without a limit."""

from __future__ import annotations

import threading
from typing import NamedTuple

import numpy as np
import pytest

from operators.aggregation import draining
from operators.aggregation.sink import OUTPUTS, Sink, keep_row, make_sink
from operators.contract import END, ROWS_FULL
from operators.core.atomics import now
from operators.core.jit import inlined
from operators.running import control, run_threads
from operators.running.control import HANDING_OVER, STATE, STOP
from operators.running.run_threads import Role

WINSET = 10


class Windows(NamedTuple):
    sink: Sink


class State(NamedTuple):
    windows: Windows


@inlined
def process(state):
    """Emit a winset that fills the buffer, three times."""
    sink = state.windows.sink
    if sink.counters[OUTPUTS] == 3 * WINSET:
        return END
    for key in range(WINSET):
        keep_row(sink, sink.counters[OUTPUTS], key, 0, 0, 0)
    sink.counters[OUTPUTS] += WINSET
    return ROWS_FULL


def run(append, **limits) -> None:
    state = State(Windows(make_sink(WINSET, 1)))
    role = Role("output", draining.drain, (state, process, append), output=True)
    run_threads.run([role], pin=False, expected_seconds=0.1, limit_seconds=float("inf"), **limits)


@pytest.fixture(autouse=True)
def four_at_once(monkeypatch):
    monkeypatch.setattr(draining, "ROWS_AT_ONCE", 4)
    run(lambda rows: None)  # compiles


def test_every_row_is_handed_over_in_order_and_in_small_blocks():
    blocks: list[np.ndarray] = []
    run(blocks.append)
    assert [len(block) for block in blocks] == 3 * [4, 4, 2]
    keys = np.concatenate(blocks)[:, 1]
    assert keys.tolist() == 3 * list(range(WINSET))


def test_handing_over_is_no_stall_however_long_it_takes(monkeypatch):
    hours, looked, handed = [0], threading.Event(), []
    monkeypatch.setattr(run_threads, "now", lambda: now() + hours[0] * 3_600 * 10**9)

    def append(rows):
        hours[0] += 1
        # The first look may have read the old clock.
        for _ in range(2):
            looked.clear()
            assert looked.wait(10)
        handed.append(len(rows))

    run(append, stall_seconds=60.0, progress=lambda processed, seconds: looked.set())
    assert sum(handed) == 3 * WINSET


def test_who_is_told_to_stop_hands_over_no_further_block():
    words, handed = control.make_control(1), []
    own = control.block(0)

    def append(rows):
        assert words[own + STATE] == HANDING_OVER
        handed.append(len(rows))
        words[STOP] = len(handed) == 2

    draining.hand_over(words, own, np.zeros((WINSET, 5), np.int64), append)
    assert handed == [4, 4]
