"""Adjacent windows of a key: the table and the mask in a quiescent state.

The variant's output is tested in ``tests/contract``.
"""

from __future__ import annotations

import numpy as np
import pytest

from operators.aggregation.functions import CODES, TEXT
from operators.aggregation.plan import make_plan
from operators.aggregation.side_by_side import (
    VARIANT,
    end_of_streams,
    is_holding,
    make_side_by_side,
    update_output,
)
from operators.aggregation.sink import WINSETS, WINSETS_FULL, winset_log
from operators.aggregation.through_time import ACTIVE, FIRST_WINSET, NEXT_CHANGE, PROCESSED
from operators.aggregation.winsets import STATE_BYTES_LIMIT
from operators.contract import END, READY, UsageError
from tests.comparing import agree
from tests.drivers import random_streams, scaled, streams_of

NUMERIC = sorted(set(CODES) - TEXT)


def put(windows, timestamp, key=0, value=0) -> int:
    windows.current[:] = timestamp, 0, key, value
    return update_output(windows)


def test_the_mask_says_which_places_are_active():
    windows = make_side_by_side(make_plan("count", 3, 2, keys=1))
    for timestamp, first, active, change, mask in (
        (0, 0, 1, 2, [-1, 0]),
        (1, 0, 1, 2, [-1, 0]),
        (2, 0, 2, 3, [-1, -1]),
        (3, 1, 1, 4, [0, -1]),
        (4, 1, 2, 5, [-1, -1]),
        (11, 5, 1, 12, [0, -1]),
    ):
        assert put(windows, timestamp) == READY
        found = [int(windows.control[word]) for word in (FIRST_WINSET, ACTIVE, NEXT_CHANGE)]
        assert found == [first, active, change], f"at {timestamp}"
        assert windows.mask.tolist() == mask, f"at {timestamp}"


@pytest.mark.parametrize("function", NUMERIC)
def test_a_tuple_enters_the_active_windows_of_its_key_and_no_other_word(function):
    windows = make_side_by_side(make_plan(function, 8, 3, keys=3))
    before = windows.table.copy()
    assert put(windows, 3, key=1, value=7) == READY
    changed = np.flatnonzero(windows.table != before)
    assert set(changed // windows.row_words) == {1}
    assert set(changed % windows.row_words % windows.count_of_places) == {0, 1}
    assert end_of_streams(windows) == END
    assert (windows.table == before).all()


@pytest.mark.parametrize("function", NUMERIC)
@pytest.mark.parametrize(("size", "advance"), [(11, 4), (9, 9), (1, 1), (17, 2)])
def test_any_size_and_advance_is_right(function, size, advance):
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


def test_a_held_tuple_is_processed_once():
    windows = make_side_by_side(make_plan("count", 1, 1, keys=1, winsets_capacity=1))
    assert [put(windows, 0), put(windows, 1)] == [READY, READY]
    for _ in range(3):
        assert put(windows, 2) == WINSETS_FULL and is_holding(windows)
    windows.sink.counters[WINSETS] = 0
    assert update_output(windows) == READY and not is_holding(windows)
    assert windows.control[PROCESSED] == 3
    assert end_of_streams(windows) == WINSETS_FULL
    windows.sink.counters[WINSETS] = 0
    assert end_of_streams(windows) == END
    assert winset_log(windows.sink).window_start.tolist() == [2]


def test_a_table_that_needs_too_much_memory_is_refused_in_one_line():
    with pytest.raises(UsageError) as refusal:
        make_side_by_side(make_plan("sum", 1 << 20, 1, keys=1 << 20))
    assert f"the limit is {STATE_BYTES_LIMIT >> 20} MiB" in str(refusal.value)
    assert "\n" not in str(refusal.value)
