"""Specific to MQ's queues.

Order, ties, readiness, push-back, end of stream and real threads are in ``tests/contract`` for all
gates. Here: that the baseline is as the paper prints it, and its one rare branch.
"""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest

from operators.contract import ACCEPTED, FULL, NOT_READY, READY
from operators.core import atomics, marks
from operators.gate.multi_queue import (
    TAIL,
    check_invariants,
    close_source,
    get_next_ready_tuple,
    insert_tuple,
    make_state,
)

OUT = np.zeros(4, dtype=np.int64)


@pytest.fixture
def operations(monkeypatch) -> Counter:
    """Count the calls of atomics of the interpreted operations, by name."""
    counts: Counter[str] = Counter()
    monkeypatch.setattr(
        atomics, "scheduling_hook", lambda name, array, index: counts.update([name])
    )
    return counts


def test_the_reader_locks_every_queue_to_peek_and_one_more_time_to_take(operations):
    state = make_state(sources=5, readers=1, ahead=3)
    for source in range(5):
        insert_tuple(state, source, 10 - source, 0, 0)
    operations.clear()
    assert get_next_ready_tuple(state, 0, OUT) == READY
    assert (operations["lock"], operations["unlock"]) == (6, 6)
    assert OUT.tolist() == [6, 4, 0, 0]


def test_no_head_is_remembered_between_two_calls(operations):
    state = make_state(sources=3, readers=1, ahead=3)
    for source in range(3):
        for timestamp in range(3):
            insert_tuple(state, source, timestamp, 0, 0)
    operations.clear()
    for _ in range(3):
        assert get_next_ready_tuple(state, 0, OUT) == READY
    assert operations["lock"] == 3 * 4


def test_the_reader_stops_looking_at_the_first_empty_queue(operations):
    state = make_state(sources=4, readers=1, ahead=3)
    insert_tuple(state, 0, 1, 0, 0)
    operations.clear()
    assert get_next_ready_tuple(state, 0, OUT) == NOT_READY
    assert operations["lock"] == 2


def test_an_insertion_takes_its_own_lock_only(operations):
    state = make_state(sources=4, readers=1, ahead=3)
    operations.clear()
    assert insert_tuple(state, 2, 1, 0, 0) == ACCEPTED
    assert (operations["lock"], operations["unlock"]) == (1, 1)


def test_a_full_queue_gives_its_lock_back():
    state = make_state(sources=1, readers=1, ahead=1)
    before = marks.hits["multi_queue: full"]
    assert [insert_tuple(state, 0, 1, 0, 0) for _ in range(3)] == [ACCEPTED, FULL, FULL]
    assert marks.hits["multi_queue: full"] == before + 2
    assert close_source(state, 0) == ACCEPTED
    assert get_next_ready_tuple(state, 0, OUT) == READY


def test_a_ring_that_is_no_power_of_two_long_holds_exactly_ahead_tuples():
    state = make_state(sources=1, readers=1, ahead=5)
    for lap in range(4):
        for step in range(5):
            assert insert_tuple(state, 0, lap, step, 10 * lap + step) == ACCEPTED
        assert insert_tuple(state, 0, lap, 9, 9) == FULL
        check_invariants(state)
        for step in range(5):
            assert get_next_ready_tuple(state, 0, OUT) == READY
            assert OUT.tolist() == [lap, 0, step, 10 * lap + step]


def test_a_broken_queue_is_noticed():
    state = make_state(sources=1, readers=1, ahead=2)
    state.queues[TAIL] = 3
    with pytest.raises(AssertionError, match=r"\(1\) source 0"):
        check_invariants(state)
