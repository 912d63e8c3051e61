"""Specific to the T-Gate.

Order, ties, end of stream, push-back and equality with the oracle hold for every gate and are
tested in ``tests/contract``. Here: the paper's description by hand, every small input in every
order of delivery, the races (another source's insertion started inside an atomic of this one's),
the reuse of nodes at the smallest capacities, and real threads.
"""

from __future__ import annotations

import itertools
import threading
from functools import cache

import numpy as np
import pytest

from operators.contract import ACCEPTED, END, FULL, NOT_READY, OUT_OF_ORDER, READY, UsageError
from operators.core import marks
from operators.core.atomics import SEQ_CST, fetch_add, load, yield_thread
from operators.core.backoff import wait_a_little
from operators.core.jit import INTERPRETED, kernel
from operators.core.layout import LINE_WORDS, aligned_words
from operators.gate.reference import ReadinessModel, merged
from operators.gate.t_gate import (
    FINGER_WORDS,
    FINGERS,
    SINCE_TALL,
    WALK_LIMIT,
    check_invariants,
    close_source,
    get_next_ready_tuple,
    insert_tuple,
    make_state,
)
from tests.operators.gate.steps import Intruder

AHEAD = 4  # small enough that every ring wraps around in a few insertions


def gate(sources=2, readers=1, ahead=AHEAD, levels=2):
    return make_state(sources, readers, ahead, levels)


def read(state, reader=0):
    """Return (status, tuple or None) of one reading."""
    out = np.zeros(4, dtype=np.int64)
    status = get_next_ready_tuple(state, reader, out)
    return status, tuple(int(v) for v in out[:2]) if status == READY else None


def drain(state, reader=0):
    """Return all ready tuples, in output order."""
    found = []
    while (answer := read(state, reader))[0] == READY:
        found.append(answer[1])
    return found


def test_reader_returns_nothing_until_every_source_has_delivered():
    state = gate()
    assert insert_tuple(state, 0, 1, 0, 0) == ACCEPTED
    assert insert_tuple(state, 0, 2, 0, 0) == ACCEPTED
    assert read(state) == (NOT_READY, None)
    assert insert_tuple(state, 1, 5, 0, 0) == ACCEPTED
    assert drain(state) == [(1, 0)]  # 2 is the last tuple of its source and stays


def test_last_tuple_leaves_when_its_source_closes():
    state = gate()
    insert_tuple(state, 0, 1, 0, 0)
    insert_tuple(state, 1, 2, 0, 0)
    assert close_source(state, 0) == ACCEPTED
    assert drain(state) == [(1, 0)]
    assert close_source(state, 1) == ACCEPTED
    assert drain(state) == [(2, 1)]
    assert read(state) == (END, None)


def test_gate_of_sources_that_deliver_nothing_ends_at_once():
    state = gate(sources=3)
    for source in range(3):
        assert read(state)[0] == NOT_READY
        close_source(state, source)
        close_source(state, source)  # closing twice has no further effect
    assert read(state) == (END, None)
    check_invariants(state)


def test_ties_go_by_source_number_whoever_came_first():
    state = gate(sources=3)
    for source in (2, 0, 1):
        insert_tuple(state, source, 7, 0, 0)
        close_source(state, source)
    assert drain(state) == [(7, 0), (7, 1), (7, 2)]


@pytest.mark.parametrize("timestamp", [4, -1, 1 << 62])
def test_out_of_order_tuple_is_refused_and_changes_nothing(timestamp):
    state = gate()
    insert_tuple(state, 0, 5, 0, 0)
    assert insert_tuple(state, 0, timestamp, 0, 0) == OUT_OF_ORDER
    check_invariants(state)
    close_source(state, 0)
    assert insert_tuple(state, 0, 6, 0, 0) == OUT_OF_ORDER
    close_source(state, 1)
    assert drain(state) == [(5, 0)]


def test_full_source_is_told_and_goes_on_when_readers_have_passed():
    state = gate(sources=1, ahead=AHEAD)
    taken = 0
    while insert_tuple(state, 0, taken, 0, 0) == ACCEPTED:
        taken += 1
    assert 2 <= taken <= AHEAD
    check_invariants(state)
    assert len(drain(state)) == taken - 1
    assert insert_tuple(state, 0, taken, 0, 0) == ACCEPTED
    check_invariants(state)


def test_slowest_reader_decides_about_room():
    state = gate(sources=1, readers=2)
    count = 0
    while insert_tuple(state, 0, count, 0, 0) == ACCEPTED:
        count += 1
    drain(state, 0)
    assert insert_tuple(state, 0, count, 0, 0) == FULL
    assert len(drain(state, 1)) == count - 1
    assert insert_tuple(state, 0, count, 0, 0) == ACCEPTED


@pytest.mark.parametrize("levels", [1, 2, 5, 16])
@pytest.mark.parametrize("ahead", [3, 4, 9])
def test_idle_source_with_old_fingers_does_not_pin_the_others(levels, ahead):
    """Source 0 delivers far in the future and rests; source 1 goes round the ring many times."""
    state = gate(sources=2, ahead=ahead, levels=levels)
    insert_tuple(state, 0, 0, 0, 0)
    insert_tuple(state, 0, 10**6, 0, 0)
    seen = []
    for timestamp in range(20 * ahead):
        while insert_tuple(state, 1, timestamp, 0, 0) == FULL:
            fresh = drain(state)
            assert fresh, "the gate is full and gives nothing out"
            seen += fresh
        check_invariants(state)
    close_source(state, 0)
    close_source(state, 1)
    seen += drain(state)
    expected = sorted([(0, 0), (10**6, 0)] + [(t, 1) for t in range(20 * ahead)])
    assert seen == expected
    assert read(state) == (END, None)


@cache
def interleavings(*counts):
    """Return every order in which sources with these numbers of operations can take turns."""
    if not any(counts):
        return [()]
    orders = []
    for source, count in enumerate(counts):
        if count:
            rest = [c - (s == source) for s, c in enumerate(counts)]
            orders += [(source, *order) for order in interleavings(*rest)]
    return orders


@pytest.mark.parametrize("step", [13, pytest.param(1, marks=pytest.mark.full)], ids=["some", "all"])
@pytest.mark.parametrize("levels", [1, 3])
def test_every_small_input_in_orders_of_delivery(levels, step):
    """Up to three sources of up to two tuples, timestamps 0 or 1, against the readiness model."""
    streams_of_one = [[], [0], [1], [0, 0], [0, 1], [1, 1]]
    for streams in itertools.product(streams_of_one, repeat=3):
        # A step that does not divide the count, and another start at each height.
        for order in interleavings(*(len(s) + 1 for s in streams))[levels % step :: step]:
            state, model = gate(3, ahead=3, levels=levels), ReadinessModel(3)
            waiting = [list(s) for s in streams]
            got = []
            for source in order:
                if waiting[source]:
                    timestamp = waiting[source].pop(0)
                    assert insert_tuple(state, source, timestamp, 0, 0) == ACCEPTED
                    model.insert_tuple(source, timestamp, 0, 0)
                else:
                    close_source(state, source)
                    model.close_source(source)
                got += drain(state)
                # The gate may hold back a source's last tuple, but releases nothing too early.
                allowed = [t[:2] for t in sorted(model.delivered) if model.is_ready(t)]
                assert got == allowed[: len(got)], (streams, order)
            expected = merged([[(t, 0, 0) for t in s] for s in streams])
            assert got == [t[:2] for t in expected]
            assert read(state) == (END, None)
            check_invariants(state)


def finish(state, sources=2):
    """Close all sources and return the rest of the output."""
    for source in range(sources):
        close_source(state, source)
    rest = drain(state)
    check_invariants(state)
    return rest


def test_lost_level_0_cas_finds_its_place_behind_the_winner():
    state = gate(levels=8, ahead=64)
    Intruder("cas", state.nodes, lambda: insert_tuple(state, 1, 3, 0, 0))
    insert_tuple(state, 0, 5, 0, 0)
    assert marks.hits["t_gate: level_0_lost"] == 1
    assert finish(state) == [(3, 1), (5, 0)]


def test_lost_higher_level_cas_keeps_every_level_sorted():
    # With three tuples in flight every node has full height, so both take the slow path.
    state = gate(levels=2, ahead=3)
    Intruder("cas", state.nodes, lambda: insert_tuple(state, 1, 3, 0, 0))
    insert_tuple(state, 0, 5, 0, 0)
    assert marks.hits["t_gate: level_lost"] >= 1
    check_invariants(state)
    assert finish(state) == [(3, 1), (5, 0)]


def test_reader_in_the_middle_of_an_insertion_sees_nothing_new():
    state = gate(ahead=16)
    insert_tuple(state, 0, 1, 0, 0)
    insert_tuple(state, 1, 9, 0, 0)
    seen = []
    # The node of timestamp 2 is linked, but `written` does not count it yet.
    Intruder("store", state.written, lambda: seen.extend(drain(state)))
    insert_tuple(state, 0, 2, 0, 0)
    assert seen == []
    assert drain(state) == [(1, 0)]


def test_long_way_is_taken_past_many_tuples_of_others():
    state = gate(ahead=8 * WALK_LIMIT, levels=3)
    for timestamp in range(3 * WALK_LIMIT):
        insert_tuple(state, 1, timestamp, 0, 0)
    insert_tuple(state, 0, 10**6, 0, 0)
    assert marks.hits["t_gate: far"] == 1
    assert len(finish(state)) == 3 * WALK_LIMIT + 1


def test_node_is_not_used_again_while_a_source_in_an_insertion_is_pinned():
    """Source 0 stops between pin and search; source 1 may not take nodes it can still reach."""
    state = gate(sources=2, ahead=3, levels=2)
    answers = []

    def run_ahead():
        for timestamp in range(1, 20):
            answers.append(insert_tuple(state, 1, timestamp, 0, 0))
            drain(state)
            if answers[-1] == FULL:
                break

    insert_tuple(state, 0, 100, 0, 0)  # with source 0 far ahead, source 1 alone decides
    Intruder("load", state.anchor, run_ahead)
    insert_tuple(state, 0, 200, 0, 0)
    assert answers[-1] == FULL
    assert marks.hits["t_gate: pinned"] >= 1
    check_invariants(state)
    assert insert_tuple(state, 1, 50, 0, 0) == ACCEPTED, "unpinned, the nodes may be used again"
    check_invariants(state)


def test_finger_on_a_node_in_use_again_is_not_followed():
    """Source 0's finger holds a node's old position; now the node lies beyond the next tuple."""
    state = gate(sources=2, ahead=16, levels=2)
    insert_tuple(state, 0, 1000, 0, 0)
    for timestamp in range(500):
        assert insert_tuple(state, 1, timestamp, 0, 0) == ACCEPTED
        drain(state)
    insert_tuple(state, 1, 5000, 0, 0)
    beyond = state.private[state.private_words + FINGERS]
    finger = FINGERS + FINGER_WORDS  # source 0, level 1
    state.private[finger : finger + FINGER_WORDS] = beyond, 5, 1
    state.private[SINCE_TALL] = state.tall_every  # the next node is on both levels
    insert_tuple(state, 0, 2000, 0, 0)
    check_invariants(state)
    assert finish(state) == [(499, 1), (1000, 0), (2000, 0), (5000, 1)]


@pytest.mark.parametrize(
    ("settings", "named"),
    [
        ({"sources": 0}, "sources"),
        ({"readers": 0}, "readers"),
        ({"ahead": 2}, "ahead"),
        ({"levels": 0}, "levels"),
        ({"levels": 33}, "levels"),
    ],
)
def test_bad_parameters_are_named_with_their_limit(settings, named):
    with pytest.raises(UsageError, match=f"{named} must be .*received"):
        gate(**settings)


@kernel
def run_source(state, ready, source, timestamps, threads):
    fetch_add(ready, 0, 1, SEQ_CST)
    while load(ready, 0, SEQ_CST) < threads:
        yield_thread()
    for i in range(timestamps.size):
        waited = 0
        while insert_tuple(state, source, timestamps[i], i, i) == FULL:
            waited = wait_a_little(waited)
        if timestamps[i] & 7 == source & 7:
            yield_thread()
    close_source(state, source)


@kernel
def run_reader(state, ready, reader, threads, out, found):
    fetch_add(ready, 0, 1, SEQ_CST)
    while load(ready, 0, SEQ_CST) < threads:
        yield_thread()
    count = 0
    waited = 0
    while True:
        status = get_next_ready_tuple(state, reader, out)
        if status == READY:
            for word in range(3):
                found[3 * count + word] = out[word]
            count += 1
            waited = 0
        elif status == END:
            return count
        else:
            waited = wait_a_little(waited)


@pytest.mark.parametrize(
    ("sources", "readers", "ahead", "levels"),
    [(1, 1, 3, 1), (2, 1, 3, 2), (3, 2, 4, 3), (8, 1, 64, 3), (20, 3, 16, 2), (5, 2, 9, 16)],
)
@pytest.mark.parametrize("span", [1, 50, 10**9])
def test_real_threads_give_every_reader_the_total_order(sources, readers, ahead, levels, span):
    rng = np.random.default_rng(sources * 100 + readers)
    each = 60 if INTERPRETED else 3000
    streams = [
        np.sort(rng.integers(0, span, rng.integers(0, each), dtype=np.int64))
        for _ in range(sources)
    ]
    state = make_state(sources, readers, ahead, levels)
    ready = aligned_words(LINE_WORDS)
    total = sum(len(s) for s in streams)
    found = [aligned_words(3 * total + 3) for _ in range(readers)]
    workers = [
        threading.Thread(
            target=run_source, args=(state, ready, s, stream, sources + readers), daemon=True
        )
        for s, stream in enumerate(streams)
    ] + [
        threading.Thread(
            target=run_reader,
            args=(state, ready, r, sources + readers, aligned_words(4), found[r]),
            daemon=True,
        )
        for r in range(readers)
    ]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join(60)
        assert not worker.is_alive(), "a thread hangs"
    check_invariants(state)
    expected = merged([[(int(t), i, i) for i, t in enumerate(s)] for s in streams])
    for rows in found:
        got = rows[: 3 * total].reshape(-1, 3)
        assert [tuple(map(int, row)) for row in got] == [(t[0], t[1], t[3]) for t in expected]
