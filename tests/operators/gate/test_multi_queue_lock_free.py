"""Specific to MQLF's queues.

Order, ties, readiness, push-back, end of stream and real threads are in ``tests/contract`` for all
gates; the queue itself is tested in ``tests/operators/core``. Here: that no lock is left, and the
race between the last delivery, the closing and the reader's two looks.
"""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest

from operators.contract import ACCEPTED, END, NOT_READY, READY
from operators.core import atomics, marks
from operators.gate import multi_queue_lock_free
from operators.gate.multi_queue_lock_free import (
    check_invariants,
    close_source,
    get_next_ready_tuple,
    insert_tuple,
    make_state,
)

OUT = np.zeros(4, dtype=np.int64)


def test_no_operation_takes_a_lock(monkeypatch):
    counts: Counter[str] = Counter()
    monkeypatch.setattr(
        atomics, "scheduling_hook", lambda name, array, index: counts.update([name])
    )
    state = make_state(sources=3, readers=1, ahead=2)
    for source in range(3):
        assert insert_tuple(state, source, 1, 0, 0) == ACCEPTED
        assert close_source(state, source) == ACCEPTED
    while get_next_ready_tuple(state, 0, OUT) == READY:
        pass
    assert counts["lock"] == 0 and counts["cas"] > 0


def test_a_source_that_delivers_and_closes_behind_the_first_look_loses_nothing(monkeypatch):
    """Between the reader's peek, which finds nothing, and the look at `closed`, both happen."""
    state = make_state(sources=1, readers=1, ahead=2)
    mark = "multi_queue_lock_free: delivered and closed after the first peek"
    before = marks.hits[mark]

    def deliver_late(name, array, index):
        if array is state.closed and name == "load":
            monkeypatch.setattr(atomics, "scheduling_hook", None)
            assert insert_tuple(state, 0, 5, 6, 7) == ACCEPTED
            assert close_source(state, 0) == ACCEPTED

    monkeypatch.setattr(atomics, "scheduling_hook", deliver_late)
    assert get_next_ready_tuple(state, 0, OUT) == READY
    assert OUT.tolist() == [5, 0, 6, 7]
    assert marks.hits[mark] == before + 1
    assert get_next_ready_tuple(state, 0, OUT) == END


def test_a_reader_that_looked_at_closed_first_would_have_lost_the_tuple(monkeypatch):
    """The mutant without the second peek fails on the schedule above: the test can fail."""
    state = make_state(sources=1, readers=1, ahead=2)
    original = multi_queue_lock_free.peek
    looks: list[bool] = []

    def peek_once(queues, queue):
        there, timestamp = original(queues, queue)
        looks.append(there)
        if len(looks) == 1:
            insert_tuple(state, 0, 5, 6, 7)
            close_source(state, 0)
        return len(looks) > 2 and there, timestamp

    monkeypatch.setattr(multi_queue_lock_free, "peek", peek_once)
    assert get_next_ready_tuple(state, 0, OUT) == END
    assert looks == [False, True]


def test_an_open_empty_queue_holds_the_others_back():
    state = make_state(sources=2, readers=1, ahead=2)
    insert_tuple(state, 0, 1, 0, 0)
    assert get_next_ready_tuple(state, 0, OUT) == NOT_READY


def test_a_broken_state_is_noticed():
    state = make_state(sources=1, readers=1, ahead=2)
    insert_tuple(state, 0, 5, 0, 0)
    check_invariants(state)
    state.last[0] = 4
    with pytest.raises(AssertionError, match=r"\(1\) source 0"):
        check_invariants(state)
