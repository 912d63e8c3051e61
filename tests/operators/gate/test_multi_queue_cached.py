"""Specific to MQ with cached heads: how often it locks, and which heads it caches.

Order, ties, readiness, push-back, end of stream and real threads are in ``tests/contract`` for all
gates; the queues have ``test_multi_queue``.
"""

from __future__ import annotations

import pytest

from operators.contract import ACCEPTED, END, NOT_READY
from operators.gate.heads import NO_MORE, UNKNOWN
from operators.gate.multi_queue_cached import (
    VARIANT,
    check_invariants,
    close_source,
    insert_tuple,
    make_state,
)
from tests.operators.gate import steps
from tests.operators.gate.steps import Counting, Intruder

OPERATIONS = VARIANT.operations


def read(state):
    return steps.read(OPERATIONS, state)


def test_a_tuple_costs_one_lock():
    state = make_state(sources=5, readers=1, ahead=8)
    for source in range(5):
        for timestamp in range(4):
            assert insert_tuple(state, source, timestamp, 0, 0) == ACCEPTED
    assert read(state)[1] == (0, 0)
    counting = Counting()
    assert [read(state)[1] for _ in range(10)] == [(t, s) for t in range(3) for s in range(5)][1:11]
    assert counting.of("lock", state.queues.locks) == 10
    assert counting.of("unlock", state.queues.locks) == 10


def test_first_reading_meets_every_queue_and_a_waiting_one_the_empty_queue_only():
    state = make_state(sources=3, readers=1, ahead=8)
    insert_tuple(state, 0, 5, 0, 0)
    insert_tuple(state, 2, 5, 0, 0)
    counting = Counting()
    assert read(state)[0] == NOT_READY
    assert counting.of("lock", state.queues.locks) == 2
    assert read(state)[0] == NOT_READY
    assert counting.of("lock", state.queues.locks) == 3
    close_source(state, 1)
    assert read(state)[1] == (5, 0)
    assert state.heads.tolist() == [UNKNOWN, NO_MORE, 5]
    check_invariants(state)


def test_next_tuple_that_comes_before_the_lock_is_remembered_with_the_taking():
    state = make_state(sources=1, readers=1, ahead=2)
    insert_tuple(state, 0, 5, 0, 0)
    assert read(state)[1] == (5, 0) and state.heads[0] == UNKNOWN
    insert_tuple(state, 0, 6, 0, 0)

    def deliver_and_close():
        insert_tuple(state, 0, 7, 0, 0)
        close_source(state, 0)

    Intruder("lock", state.queues.locks, deliver_and_close)
    assert read(state)[1] == (6, 0)
    assert state.heads[0] == 7
    assert read(state)[1] == (7, 0)
    assert read(state)[0] == END and state.heads[0] == NO_MORE


def test_broken_state_is_noticed():
    state = make_state(sources=1, readers=1, ahead=2)
    insert_tuple(state, 0, 5, 0, 0)
    insert_tuple(state, 0, 6, 0, 0)
    read(state)
    check_invariants(state)
    state.heads[0] = 5
    with pytest.raises(AssertionError, match=r"\(4\) source 0: head 5, not 6"):
        check_invariants(state)
