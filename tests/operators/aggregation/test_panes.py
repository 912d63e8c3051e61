"""Panes: their bounds, the contents of a cell, and the assembly of a winset.

The output of the variants on panes is tested in ``tests/contract``. Here: windows that are no
multiple of the advance, and the quiescent state.
"""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from operators.aggregation.cells import (
    CHUNK,
    clear_cell,
    make_cells,
    merge_cell,
    move_cell,
    plane_of,
    put,
    take_away_cell,
)
from operators.aggregation.functions import CODES, ORDER_SENSITIVE, TEXT
from operators.aggregation.panes import (
    FIRST_WINSET,
    NEWEST,
    RUNNING,
    begin_pane,
    end_of_pane,
    end_pane,
    is_empty,
    leap_to,
    make_panes,
    pane_of,
)
from operators.aggregation.plan import NO_TEXT, Text, make_plan
from operators.aggregation.sink import WINSETS, WINSETS_FULL, take_rows, winset_log
from operators.aggregation.tumlsc_panes import (
    PROCESSED,
    VARIANT,
    end_of_streams,
    is_holding,
    update_output,
)
from operators.aggregation.winsets import STATE_BYTES_LIMIT
from operators.contract import END, READY, ROWS_FULL, TIMESTAMP_LIMIT, UsageError
from operators.core.layout import LINE_WORDS
from tests.comparing import agree
from tests.drivers import random_streams, scaled, streams_of

NUMERIC = sorted(set(CODES) - TEXT)


def put_tuple(windows, timestamp, key=0, value=0) -> int:
    windows.current[:] = timestamp, 0, key, value
    return update_output(windows)


# --- time ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(("size", "advance"), [(5, 3), (7, 7), (8, 7), (1, 1), (12, 3), (29, 10)])
def test_a_pane_ends_wherever_a_window_begins_or_ends_and_nowhere_else(size, advance):
    windows = make_panes(make_plan("count", size, advance, keys=1))
    until = 4 * size + 4 * advance
    limits = set(range(0, until, advance))
    limits |= {begin + size for begin in range(-advance * (size // advance), until, advance)}
    number = 0
    for time in range(until - size - advance):
        number += time in limits and time > 0
        assert pane_of(windows, time) == number, f"at {time}"
        assert end_of_pane(windows, number) == min(t for t in limits if t > time), f"at {time}"


@given(st.integers(1, 60), st.integers(1, 60), st.integers(0, 10**6))
def test_the_panes_of_a_window_are_the_times_it_covers(one, other, time):
    size, advance = max(one, other), min(one, other)
    windows = make_panes(make_plan("count", size, advance, keys=1))
    pane = pane_of(windows, time)
    covering = [w for w in range(time // advance + 1) if time < w * advance + size]
    for winset in range(max(covering[0] - 2, 0), covering[-1] + 3):
        windows.control[FIRST_WINSET] = winset
        assert (begin_pane(windows) <= pane < end_pane(windows)) == (winset in covering)
    windows.control[FIRST_WINSET] = 0
    leap_to(windows, pane)
    assert windows.control[FIRST_WINSET] == covering[0]


def test_the_last_pane_ends_with_all_times():
    for size, advance in ((7, 3), (6, 3), (2**61, 2**61)):
        windows = make_panes(make_plan("count", size, advance, keys=1))
        last = pane_of(windows, TIMESTAMP_LIMIT - 1)
        assert end_of_pane(windows, last) == TIMESTAMP_LIMIT


# --- cells ---------------------------------------------------------------------------------------


def words_of(cells, pane, place) -> list[int]:
    """Return the words of a cell, counts first."""
    counts = cells.counts.reshape(-1, cells.count_planes, cells.plane)[pane, :, place]
    if cells.word_planes == 0:
        return counts.tolist()
    words = cells.words.reshape(-1, cells.word_planes, cells.plane)[pane, :, place]
    return counts.tolist() + words.tolist()


@pytest.mark.parametrize("function", NUMERIC)
def test_cells_are_moved_merged_taken_away_and_cleared(function):
    code = CODES[function]
    cells = make_cells(code, NO_TEXT, 2, CHUNK)
    totals = make_cells(code, NO_TEXT, 1, CHUNK)
    alone = make_cells(code, NO_TEXT, 1, CHUNK)
    values = [3, -(2**63), 2**63 - 1, -1, 3]
    for place, value in enumerate(values):
        assert put(cells, place >= 2, 5, value)
        assert put(alone, 0, 5, value)
    assert cells.entered[[0, LINE_WORDS]].tolist() == [1, 1]
    assert cells.keys[[0, CHUNK]].tolist() == [5, 5]
    for pane in (0, 1):
        merge_cell(totals, 5, cells, pane, 5)
    assert words_of(totals, 0, 5) == words_of(alone, 0, 5)
    before = words_of(cells, 1, 5)
    ring = make_cells(code, NO_TEXT, 2, 8)
    move_cell(ring, 3, cells, 1, 5)
    assert words_of(ring, 1, 3) == before and ring.keys[8 + 3] == 5
    assert not any(words_of(cells, 1, 5))
    if code in RUNNING:
        take_away_cell(totals, 5, ring, 1, 3)
        assert words_of(totals, 0, 5) == words_of(cells, 0, 5)
        take_away_cell(totals, 5, cells, 0, 5)
        assert not any(words_of(totals, 0, 5))
    clear_cell(cells, 0, 5)
    assert not any(words_of(cells, 0, 5))


def test_a_pane_has_room_in_its_list_for_every_key_and_one():
    for keys in (1, CHUNK - 1, CHUNK, CHUNK + 1):
        assert plane_of(keys) >= keys + 1 and plane_of(keys) % CHUNK == 0
        cells = make_cells(CODES["count"], NO_TEXT, 2, plane_of(keys))
        for _ in range(2):
            for key in range(keys):
                put(cells, 0, key, 0)
        assert cells.entered[0] == keys and cells.entered[LINE_WORDS] == 0
        assert cells.keys[cells.plane :].max(initial=0) == 0, "it wrote into the next pane"


# --- winsets -------------------------------------------------------------------------------------


@pytest.mark.parametrize("function", NUMERIC)
@pytest.mark.parametrize(("size", "advance"), [(11, 4), (9, 9), (10, 9), (1, 1), (17, 2)])
def test_windows_that_are_no_multiple_of_the_advance_are_right(function, size, advance):
    for spread in (0, 1, 30):
        streams = random_streams(7 * size + spread, 3, scaled(600), keys=7, spread=spread)
        plan = make_plan(function, size, advance, keys=7, rows_capacity=7)
        agree(VARIANT, plan, streams, 16, burst=5)


def test_leaps_ties_and_empty_streams_are_right():
    some = [(t, t % 3, t) for t in (0, 0, 0, 1, 50, 50, 51, 10**12, 10**12, 10**15)]
    for lists in ([[], some], [some, some], [some[:1], [], some[4:]]):
        for function in ("sum", "max", "first"):
            plan = make_plan(function, 8, 3, keys=3, rows_capacity=3)
            agree(VARIANT, plan, streams_of(lists), 8)


def test_more_keys_than_the_list_holds_come_in_order():
    keys = 3_000
    random_keys = np.random.default_rng(1).integers(0, keys, 5_000).tolist()
    rows = [(time, key, key) for time, key in enumerate(random_keys)]
    plan = make_plan("sum", 4_000, 1_500, keys=keys, rows_capacity=keys)
    agree(VARIANT, plan, streams_of([rows]), 16)


@pytest.mark.parametrize("function", NUMERIC)
def test_nothing_is_left_when_all_winsets_are_out(function):
    windows = make_panes(make_plan(function, 7, 3, keys=4))
    for timestamp in (0, 2, 2, 6, 7, 100, 101):
        assert put_tuple(windows, timestamp, timestamp % 4, timestamp) == READY
    assert not is_empty(windows)
    assert end_of_streams(windows) == END
    assert is_empty(windows)
    assert not windows.panes.counts.any() and not windows.panes.words.any()
    assert not windows.panes.entered.any()
    if function not in ORDER_SENSITIVE | {"min", "max"}:
        assert not windows.totals.counts.any() and not windows.totals.words.any()


@pytest.mark.parametrize("function", ["count", "max"])
def test_a_held_tuple_is_processed_once(function):
    windows = make_panes(make_plan(function, 1, 1, keys=1, winsets_capacity=1))
    assert [put_tuple(windows, 0), put_tuple(windows, 1)] == [READY, READY]
    for _ in range(3):
        assert put_tuple(windows, 2) == WINSETS_FULL and is_holding(windows)
    windows.sink.counters[WINSETS] = 0
    assert update_output(windows) == READY and not is_holding(windows)
    assert windows.control[PROCESSED] == 3
    assert end_of_streams(windows) == WINSETS_FULL
    windows.sink.counters[WINSETS] = 0
    assert end_of_streams(windows) == END


def test_a_winset_that_waits_for_rows_is_put_out_once_and_unchanged():
    windows = make_panes(make_plan("sum", 5, 3, keys=2, rows_capacity=2))
    for timestamp in (0, 1, 3, 4):
        put_tuple(windows, timestamp, timestamp % 2, 10 * timestamp)
    assert put_tuple(windows, 5, 1, 50) == READY
    assert [put_tuple(windows, 8, 0, 80) for _ in range(3)] == [ROWS_FULL] * 3
    assert take_rows(windows.sink)[:, 1:].tolist() == [[0, 40, 0, 2], [1, 40, 0, 2]]
    assert update_output(windows) == READY
    assert take_rows(windows.sink)[:, 1:].tolist() == [[0, 40, 0, 1], [1, 80, 0, 2]]
    assert end_of_streams(windows) == END
    assert take_rows(windows.sink)[:, 1:].tolist() == [[0, 80, 0, 1]]
    assert winset_log(windows.sink).processed.tolist() == [4, 5, -1]


def test_a_leap_of_1e9_advances_is_one_step():
    windows = make_panes(make_plan("count", 30, 4, keys=1))
    put_tuple(windows, 0)
    assert put_tuple(windows, 4 * 10**9) == READY
    assert windows.control[FIRST_WINSET] == 10**9 - 7
    assert winset_log(windows.sink).window_start.tolist() == [0]


def test_a_text_without_a_match_leaves_no_trace():
    text = Text(np.array([0, 4, 10], dtype=np.int64), np.frombuffer(b"nonea@b.cc", dtype=np.uint8))
    windows = make_panes(make_plan("first-mail", 6, 4, keys=2, rows_capacity=8), text)
    for timestamp, value in ((0, 0), (1, 0), (9, 1), (30, 0), (31, 1)):
        assert put_tuple(windows, timestamp, 1, value) == READY
    assert windows.control[NEWEST] == pane_of(windows, 31)
    assert end_of_streams(windows) == END
    starts = take_rows(windows.sink)[:, 0].tolist()
    assert starts == [4, 8, 28]


def test_panes_that_need_too_much_memory_are_refused_in_one_line():
    with pytest.raises(UsageError) as refusal:
        make_panes(make_plan("sum", 1 << 20, 1, keys=1 << 20))
    assert f"the limit is {STATE_BYTES_LIMIT >> 20} MiB" in str(refusal.value)
    assert "\n" not in str(refusal.value)
