"""Specific to MQLF's rings: cached heads, and slots returned in batches.

Order, ties, readiness, push-back, end of stream and real threads are in ``tests/contract`` for all
gates; the ring itself is tested in ``tests/operators/core``.
"""

from __future__ import annotations

import numpy as np
import pytest

from operators.contract import ACCEPTED, END, FULL, NOT_READY
from operators.core import marks
from operators.core.spsc_ring import READ, RING_WORDS, TAKEN, WRITTEN
from operators.gate.heads import NO_MORE, UNKNOWN, lowest_head, make_heads
from operators.gate.multi_queue_rings import (
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


def drain(state):
    return steps.drain(OPERATIONS, state)


def test_only_the_queue_that_was_taken_from_is_looked_at_again():
    state = make_state(sources=4, readers=1, ahead=8)
    for source in range(4):
        for timestamp in (source, 10):
            insert_tuple(state, source, timestamp, 0, 0)
    assert read(state)[1] == (0, 0)
    counting = Counting()
    assert read(state)[1] == (1, 1)
    positions = state.queues.rings.positions
    looked = {
        source: counting.of("load", positions, source * RING_WORDS + TAKEN) for source in range(4)
    }
    assert looked[1] > 0 and not looked[0] and not looked[2] and not looked[3]
    assert counting.of("cas", positions) == 0 and counting.of("load", state.queues.closed) == 0


def test_waiting_reader_looks_at_the_one_empty_queue_only():
    state = make_state(sources=3, readers=1, ahead=8)
    for source in (0, 2):
        insert_tuple(state, source, 5, 0, 0)
    assert read(state)[0] == NOT_READY
    counting = Counting()
    assert read(state)[0] == NOT_READY
    positions = state.queues.rings.positions
    for source, times in ((0, 0), (1, 1), (2, 0)):
        assert counting.of("load", positions, source * RING_WORDS + WRITTEN) == times
    # A tuple delivered meanwhile is seen at once.
    insert_tuple(state, 1, 4, 0, 0)
    assert read(state)[1] == (4, 1)


def test_slots_are_given_back_an_eighth_at_a_time():
    state = make_state(sources=1, readers=1, ahead=64)
    for timestamp in range(64):
        assert insert_tuple(state, 0, timestamp, 0, 0) == ACCEPTED
    counting = Counting()
    assert len(drain(state)) == 64
    assert counting.of("store", state.queues.rings.positions, READ) == 8


@pytest.mark.parametrize("ahead", [1, 2, 3, 7, 8, 9, 33])
def test_source_of_an_empty_ring_always_has_room(ahead):
    state = make_state(sources=1, readers=1, ahead=ahead)
    taken = 0
    for turn in range(3 * ahead):
        while insert_tuple(state, 0, turn, 0, 0) == ACCEPTED:
            taken += 1
        got = len(drain(state))
        assert 0 < got <= ahead
        taken -= got
        check_invariants(state)
    assert taken == 0


def test_batch_of_the_whole_ring_and_more_would_stop_both_sides():
    """The canary: the reason for (5)."""
    state = make_state(sources=1, readers=1, ahead=4)
    broken = state._replace(queues=state.queues._replace(back=8))
    for timestamp in range(4):
        insert_tuple(broken, 0, timestamp, 0, 0)
    assert len(drain(broken)) == 4
    assert insert_tuple(broken, 0, 4, 0, 0) == FULL and read(broken)[0] == NOT_READY


def test_source_that_delivers_and_closes_behind_the_first_look_loses_nothing():
    state = make_state(sources=1, readers=1, ahead=2)

    def deliver_late():
        assert insert_tuple(state, 0, 5, 0, 0) == ACCEPTED
        assert close_source(state, 0) == ACCEPTED

    Intruder("load", state.queues.closed, deliver_late)
    assert read(state)[1] == (5, 0)
    assert marks.hits["multi_queue_rings: delivered and closed after the first look"] == 1
    assert read(state)[0] == END
    check_invariants(state)


def test_lowest_head_is_the_first_of_equal_ones_and_an_unknown_one_before_all():
    heads = make_heads(3)
    assert heads.tolist() == [UNKNOWN] * 3 and lowest_head(heads) == 0
    for words, lowest in (([7, 5, 5], 1), ([0, UNKNOWN, 0], 1), ([NO_MORE, NO_MORE, 9], 2)):
        assert lowest_head(np.array(words)) == lowest


def test_broken_state_is_noticed():
    def filled():
        state = make_state(sources=2, readers=1, ahead=4)
        for timestamp in (5, 6, 7):
            insert_tuple(state, 0, timestamp, 0, 0)
        insert_tuple(state, 1, 5, 0, 0)
        assert drain(state) == [(5, 0), (5, 1)]
        check_invariants(state)
        return state

    state = filled()
    state.heads[0] = 7
    with pytest.raises(AssertionError, match=r"\(3\) source 0: head 7"):
        check_invariants(state)
    state = filled()
    state.heads[1] = NO_MORE
    with pytest.raises(AssertionError, match=r"\(3\) source 1 is open"):
        check_invariants(state)
    state = filled()
    state.queues.last[0] = 6
    with pytest.raises(AssertionError, match=r"\(1\) source 0: last"):
        check_invariants(state)
    state = filled()
    state.queues.closed[0] = 2
    with pytest.raises(AssertionError, match=r"\(2\) source 0"):
        check_invariants(state)
