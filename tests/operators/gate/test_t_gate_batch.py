"""Specific to the T-Gate with batch insertion: which nodes are linked when, and how.

Order, ties, end of stream, push-back and equality with the oracle hold for every gate and are
tested in ``tests/contract``; nodes, readers and reuse are the T-Gate's and have ``test_t_gate``.
"""

from __future__ import annotations

import numpy as np
import pytest

from operators.contract import ACCEPTED, FULL, NOT_READY, UsageError
from operators.core import marks
from operators.gate import t_gate_batch
from operators.gate.t_gate import SINCE_TALL, WALK_LIMIT
from operators.gate.t_gate_batch import (
    VARIANT,
    check_invariants,
    close_source,
    insert_tuple,
    make_state,
)
from tests.drivers import in_total_order, random_streams, scaled, through_gate
from tests.operators.gate import steps
from tests.operators.gate.steps import Counting, Intruder

OPERATIONS = VARIANT.operations


def gate(sources=2, readers=1, ahead=64, levels=1, batch=8):
    return make_state(sources, readers, ahead, levels, batch)


def read(state, reader=0):
    return steps.read(OPERATIONS, state, reader)


def drain(state, reader=0):
    return steps.drain(OPERATIONS, state, reader)


def insert_all(state, source, timestamps):
    for timestamp in timestamps:
        assert insert_tuple(state, source, timestamp, 0, 0) == ACCEPTED


def test_batch_is_linked_by_one_cas_and_counted_by_one_store():
    state = gate(sources=1)
    counting = Counting()
    insert_all(state, 0, range(7))
    assert counting.of("cas", state.gate.nodes) == 0
    assert counting.of("store", state.gate.written) == 0
    check_invariants(state)
    insert_all(state, 0, [7])
    assert counting.of("cas", state.gate.nodes) == 1
    assert counting.of("store", state.gate.written) == 1
    assert counting.of("store", state.gate.searches.pins) == 0
    check_invariants(state)
    assert drain(state) == [(t, 0) for t in range(7)]  # the last one stays, as in a T-Gate


def test_batch_falls_apart_into_runs_between_the_tuples_of_others():
    state = gate()
    insert_all(state, 1, range(0, 80, 10))
    counting = Counting()
    insert_all(state, 0, (1, 2, 11, 12, 13, 40, 90, 91))
    # (1, 2), (11, 12, 13), (40), which precedes (40, 1) because the source is lower; (90, 91).
    assert counting.of("cas", state.gate.nodes) == 4
    check_invariants(state)
    rest = steps.finish(OPERATIONS, state)
    assert rest == sorted(rest) and len(rest) == 16


def test_tall_nodes_of_a_run_share_one_pin():
    state = gate(sources=1, levels=2)
    counting = Counting()
    tall = []
    for timestamp in range(8):
        state.gate.private[SINCE_TALL] = state.gate.tall_every if timestamp % 2 else 0
        tall.append(timestamp % 2)
        insert_all(state, 0, [timestamp])
    assert sum(tall) == 4
    assert counting.of("store", state.gate.searches.pins) == 2  # to pin and to unpin
    check_invariants(state)


def test_reader_that_waits_gets_the_next_tuple_at_once():
    state = gate()
    insert_all(state, 1, range(100, 108))
    insert_all(state, 0, (1, 2))
    assert read(state)[0] == NOT_READY  # stands before the dummy of source 0 and requests more
    insert_all(state, 0, [3])
    assert drain(state) == [(1, 0), (2, 0)]
    insert_all(state, 0, [4])
    assert drain(state) == [(3, 0)]
    check_invariants(state)


def test_reader_that_has_enough_lets_a_batch_grow():
    state = gate()
    insert_all(state, 1, range(100, 108))
    read(state)
    insert_all(state, 0, (1, 2, 3, 4))  # 1 is requested; the tuples after it are not
    assert state.unlinked[0] == 3
    assert drain(state) == []
    insert_all(state, 0, [5])
    assert state.unlinked[0] == 0 and drain(state) == [(t, 0) for t in range(1, 5)]


def test_each_of_several_readers_may_ask():
    state = gate(readers=2)
    insert_all(state, 1, range(100, 108))
    insert_all(state, 0, range(8))
    for reader in (0, 1):
        insert_all(state, 0, [10 + reader])
        assert state.unlinked[0] == 1
        assert len(drain(state, reader)) > 0
        insert_all(state, 0, [10 + reader])
        assert state.unlinked[0] == 0, f"reader {reader} has asked"
    check_invariants(state)


def test_source_that_falls_silent_keeps_less_than_a_batch_and_closing_lets_it_go():
    state = gate(sources=1)
    insert_all(state, 0, range(8 + 7))
    assert drain(state) == [(t, 0) for t in range(7)]
    assert state.unlinked[0] == 7
    assert close_source(state, 0) == ACCEPTED
    assert drain(state) == [(t, 0) for t in range(7, 15)]
    check_invariants(state)


def test_full_source_links_what_it_has():
    state = gate(sources=1, ahead=9, batch=4)
    taken = 0
    while insert_tuple(state, 0, taken, 0, 0) == ACCEPTED:
        taken += 1
    assert marks.hits["t_gate_batch: full"] == 1
    assert state.unlinked[0] == 0 and taken == 8
    assert insert_tuple(state, 0, taken, 0, 0) == FULL
    assert len(drain(state)) == 7
    insert_all(state, 0, [taken])


def test_lost_cas_finds_a_shorter_run():
    state = gate()
    insert_all(state, 0, (1, 2, 5, 6, 7, 8, 9))
    Intruder("cas", state.gate.nodes, lambda: insert_all(state, 1, [4] * 8))
    insert_all(state, 0, [10])
    assert marks.hits["t_gate_batch: level_0_lost"] == 1
    check_invariants(state)
    assert len(steps.finish(OPERATIONS, state)) == 16


def far_apart(state):
    """Let source 0 deliver a tall tuple, then one far behind many of source 1."""
    insert_all(state, 1, range(10, 10 + 8 * WALK_LIMIT))
    marks.hits.clear()
    state.gate.private[SINCE_TALL] = state.gate.tall_every
    insert_all(state, 0, (5, 6, 10**6, 10**6, 10**6, 10**6, 10**6, 10**6))


def test_far_tuple_is_searched_for_behind_the_tall_ones_before_it():
    state = gate(ahead=16 * WALK_LIMIT, levels=3)
    far_apart(state)
    assert marks.hits["t_gate_batch: searched"] == 2, "the tall one and the far one"
    check_invariants(state)


def test_tall_nodes_left_until_the_end_would_be_linked_too_far(monkeypatch):
    """The canary: the search for the far tuple has moved the fingers past the tall one."""
    later = []
    original = t_gate_batch.link_higher

    def postponed(gate, source, first, end):
        later.append((gate, source, first, end))
        if end == 8:
            for run in later:
                original(*run)
            later.clear()

    monkeypatch.setattr(t_gate_batch, "link_higher", postponed)
    state = gate(ahead=16 * WALK_LIMIT, levels=3)
    with pytest.raises(AssertionError, match="invariant 1"):
        far_apart(state)
        check_invariants(state)


def test_reader_in_the_middle_of_a_batch_sees_nothing_of_it():
    state = gate()
    insert_all(state, 1, range(100, 108))
    insert_all(state, 0, range(7))
    seen = []
    Intruder("store", state.gate.written, lambda: seen.extend(drain(state)))
    insert_all(state, 0, [7])
    assert seen == []
    assert drain(state) == [(t, 0) for t in range(7)]


def test_batch_is_at_most_half_of_ahead_and_at_least_one():
    assert gate(ahead=9, batch=100).batch == 4
    assert gate(ahead=3, batch=16).batch == 1
    with pytest.raises(UsageError, match="batch must be between 1 and .*received 0"):
        gate(batch=0)


def test_broken_state_is_noticed():
    state = gate(sources=1)
    insert_all(state, 0, (5, 6, 7))
    check_invariants(state)
    state.unlinked[0] = 8
    with pytest.raises(AssertionError, match="invariant 6: source 0 has 8"):
        check_invariants(state)
    state.unlinked[0] = 2
    with pytest.raises(AssertionError, match="invariant 6: 0"):
        check_invariants(state)


@pytest.mark.parametrize(
    ("sources", "readers", "ahead", "batch"),
    [(1, 1, 3, 1), (2, 1, 4, 2), (3, 2, 16, 8), (8, 2, 64, 16), (20, 1, 64, 32)],
)
@pytest.mark.parametrize("spread", [0, 3])
def test_real_threads_give_every_reader_the_total_order(sources, readers, ahead, batch, spread):
    streams = random_streams(sources, sources, scaled(10_000), keys=5, spread=spread)
    given = {"levels": 2, "batch": batch}
    for got in through_gate(VARIANT, streams, ahead, threads=True, readers=readers, **given):
        np.testing.assert_array_equal(got, np.stack(in_total_order(streams), axis=1))
