"""Specific to the W-Hive and winsets: passing, reach, and reuse of slots.

``tests/contract`` compares the output of the variants with the oracle, and ``tests/interleaving``
tests the interaction of the threads.
"""

from __future__ import annotations

import pytest

from operators.aggregation import shared_winsets, tumlmc, w_hive, wiml
from operators.aggregation.plan import make_plan
from operators.aggregation.sink import take_rows
from operators.contract import (
    ACCEPTED,
    FULL,
    NOT_READY,
    OUT_OF_ORDER,
    READY,
    UsageError,
)
from operators.core import marks
from operators.core.epochs import UNPINNED
from operators.core.layout import LINE_WORDS

KEYS = 4


def wiml_state(function="count", size=4, advance=2, inputs=2, levels=2, winsets_ahead=1):
    plan = make_plan(function, size, advance, KEYS, rows_capacity=64)
    return wiml.make_state(plan, inputs, levels, winsets_ahead)


# --- winsets -------------------------------------------------------------------------------------


def test_a_freed_slot_is_claimed_again():
    state = wiml_state(size=2)
    hive = state.windows
    winsets = hive.winsets
    row = shared_winsets.home_row(winsets, 1)
    tag = (1 << winsets.key_bits) | 1
    slot, old = shared_winsets.claim_slot(winsets, row, 0, 1, tag)
    beside, _ = shared_winsets.claim_slot(winsets, row, 0, 1, tag)
    assert slot != beside
    winsets.words[slot + shared_winsets.TAG] = old
    assert shared_winsets.claim_slot(winsets, row, 0, 1, tag)[0] == slot


# --- the list ------------------------------------------------------------------------------------


def test_nothing_is_put_out_before_every_thread_has_reported():
    state = wiml_state(size=2, winsets_ahead=3)
    assert wiml.add(state, 0, 0, 0, 0) == ACCEPTED
    assert wiml.add(state, 0, 9, 0, 0) == FULL  # input 1 has reported nothing: out of reach
    assert wiml.process(state) == NOT_READY
    assert wiml.add(state, 1, 9, 0, 0) == ACCEPTED
    assert wiml.add(state, 0, 9, 0, 0) == ACCEPTED
    assert [wiml.process(state) for _ in range(2)] == [READY, NOT_READY]


def test_a_thread_out_of_reach_waits_for_the_slowest_one():
    state = wiml_state(size=2, winsets_ahead=1)
    assert wiml.add(state, 1, 0, 0, 0) == ACCEPTED
    assert wiml.add(state, 0, 2, 0, 0) == ACCEPTED
    assert wiml.add(state, 0, 4, 0, 0) == FULL
    assert wiml.add(state, 1, 3, 0, 0) == ACCEPTED
    assert wiml.add(state, 0, 4, 0, 0) == ACCEPTED


def test_a_leap_of_all_threads_finds_places():
    state = wiml_state(size=6, advance=2, winsets_ahead=1)
    clock = 0
    for _ in range(50):
        clock += 10**12 + 1
        for stream in (0, 1):
            for _ in range(10):
                if wiml.add(state, stream, clock, 0, 0) == ACCEPTED:
                    break
                wiml.process(state)
                take_rows(state.windows.sink)
            else:
                # The other stream has to leap as well.
                assert stream == 0 and wiml.add(state, 1, clock, 0, 0) in (ACCEPTED, FULL)
    w_hive.check_invariants(state.windows)


def test_places_are_used_again_without_end_and_none_is_lost():
    hive_state = wiml_state(size=6, advance=2, inputs=1, levels=3, winsets_ahead=1)
    hive = hive_state.windows
    for timestamp in range(500):
        while wiml.add(hive_state, 0, timestamp, timestamp % KEYS, 0) == FULL:
            assert wiml.process(hive_state) == READY
        take_rows(hive.sink)
        w_hive.check_invariants(hive)
    generations = hive.nodes.reshape(-1, hive.stride)[: hive.places, w_hive.GENERATION]
    assert generations.min() > 500 // 2 // hive.places - 5


def test_a_pinned_search_keeps_its_nodes():
    state = wiml_state(size=2, advance=2, inputs=2, levels=1, winsets_ahead=1)
    hive = state.windows
    wiml.close(state, 1)
    hive.searches.pins[LINE_WORDS] = (
        0  # thread 1 is inside a search that began before anything moved
    )
    marks.hits.clear()
    timestamp = 0
    while marks.hits["w_hive: no place"] < 10:
        if wiml.add(state, 0, timestamp, 0, 0) == ACCEPTED:
            timestamp += 2
        wiml.process(state)
        take_rows(hive.sink)
    assert marks.hits["w_hive: pinned"]
    assert hive.nodes.reshape(-1, hive.stride)[:, w_hive.USED].all()
    hive.searches.pins[LINE_WORDS] = UNPINNED
    for _ in range(2):  # up to the old boundary, then up to the current head
        wiml.process(state)
    assert wiml.add(state, 0, timestamp, 0, 0) == ACCEPTED
    w_hive.check_invariants(hive)


# --- variants ------------------------------------------------------------------------------------


@pytest.mark.parametrize("function", ["first", "first-mail", "first-mail-ip"])
def test_wiml_refuses_what_depends_on_order(function):
    plan = make_plan(function, 4, 2, KEYS)
    with pytest.raises(UsageError, match=f"cannot do {function}, .* take tumlsc or tumlmc"):
        wiml.make_state(plan, 2, 2, 1)


def test_an_input_that_goes_back_in_time_is_refused():
    state = wiml_state(inputs=1)
    assert wiml.add(state, 0, 5, 0, 0) == ACCEPTED
    assert wiml.add(state, 0, 4, 0, 0) == OUT_OF_ORDER
    assert wiml.close(state, 0) == ACCEPTED
    assert wiml.add(state, 0, 5, 0, 0) == OUT_OF_ORDER


def test_update_threads_without_keys_hold_nothing():
    # One key and eight update threads: seven of them own no key and still have to report.
    plan = make_plan("first", 4, 2, 1, rows_capacity=8)
    state = tumlmc.make_state(plan, 1, 8, 8, 2, 1)
    rows = []
    timestamp = 0
    while timestamp <= 40:
        if tumlmc.add(state, 0, timestamp, 0, timestamp) == ACCEPTED:
            timestamp += 1
        for thread in range(8):
            tumlmc.update(state, thread)
        while tumlmc.process(state) == READY:
            rows += take_rows(state.windows.sink)[:, 2].tolist()
    # Tuple 39 is the last that is ready; windows that end before it are out, each with the first
    # tuple.
    assert rows == list(range(0, 2 * len(rows), 2)) and len(rows) >= 17


def test_each_key_has_one_update_thread_and_threads_share_them():
    owners = [
        [tumlmc.update_thread_of(key, threads) for key in range(1_000)] for threads in (1, 3, 7)
    ]
    for threads, found in zip((1, 3, 7), owners, strict=True):
        assert set(found) == set(range(threads))
        assert min(map(found.count, range(threads))) > 1_000 / threads * 0.7
