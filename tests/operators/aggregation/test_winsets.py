"""Winsets, their hash tables, and the progress of the output thread through time.

The output of the aggregates is tested in ``tests/contract``. Here: slots and tables in a quiescent
state, at sizes that collide.
"""

from __future__ import annotations

import numpy as np
import pytest

from operators.aggregation.functions import CODES
from operators.aggregation.plan import Text, make_plan
from operators.aggregation.sink import WINSETS, WINSETS_FULL, take_rows, winset_log
from operators.aggregation.through_time import ACTIVE, FIRST_WINSET, NEXT_CHANGE, PROCESSED
from operators.aggregation.update_output import end_of_streams, is_holding, update_output
from operators.aggregation.winsets import (
    FIRST_PLACE,
    GENERATION,
    STATE_BYTES_LIMIT,
    TAG,
    find,
    find_or_create,
    home_slot,
    make_windows,
    row_words_of,
    slot_address,
)
from operators.contract import END, READY, UsageError
from operators.core.layout import LINE_WORDS


def put(windows, timestamp, key=0, value=0) -> int:
    windows.current[:] = timestamp, 0, key, value
    return update_output(windows)


def control(windows, *words) -> list[int]:
    return [int(windows.control[word]) for word in words]


@pytest.mark.parametrize("keys", [1, 2, 3, 6, 7, 243, 1000])
@pytest.mark.parametrize("function", ["count", "sum"])
def test_every_key_fits_and_is_found_again(keys, function):
    windows = make_windows(make_plan(function, 2, 1, keys))
    assert keys <= 0.75 * (windows.slot_mask + 1)
    tag = 1 << windows.key_bits
    for place in range(2):
        addresses = set()
        for key in range(keys):
            home = home_slot(windows, key)
            at = find_or_create(windows, place, home, key, (tag * (place + 1)) | key)
            assert at == find(windows, place, key, (tag * (place + 1)) | key)
            addresses.add(at)
        assert len(addresses) == windows.keys_inside[place] == keys


def test_colliding_keys_are_kept_apart():
    # The fullest a table gets. (Hashing spreads the codes of fewer keys without a collision.)
    keys = 1535
    windows = make_windows(make_plan("count", 1, 1, keys, rows_capacity=keys))
    homes = [home_slot(windows, key) for key in range(keys)]
    assert windows.slot_mask + 1 == 2048 and len(set(homes)) < keys
    for key in reversed(range(keys)):
        for _ in range(1 + key % 3):
            assert put(windows, 0, key) == READY
    assert end_of_streams(windows) == END
    rows = take_rows(windows.sink)
    assert rows[:, 1].tolist() == list(range(keys))
    assert rows[:, 2].tolist() == [1 + key % 3 for key in range(keys)]


def test_slots_of_two_places_never_overlap():
    windows = make_windows(make_plan("sum", 3, 1, keys=4))
    width = 1 << windows.slot_bits
    words = [
        slot_address(windows, slot, place) + word
        for slot in range(windows.slot_mask + 1)
        for place in range(windows.count_of_places)
        for word in range(width)
    ]
    assert len(set(words)) == len(words) and max(words) < len(windows.table)


@pytest.mark.parametrize(("words", "row"), [(1, 1), (2, 2), (6, 8), (8, 8), (9, 16), (20, 24)])
def test_rows_are_whole_lines_or_divide_one(words, row):
    assert row_words_of(words) == row
    assert row % LINE_WORDS == 0 or LINE_WORDS % row == 0


def test_a_reused_place_is_empty_without_being_cleared():
    windows = make_windows(make_plan("count", 2, 2, keys=1))
    assert put(windows, 0) == READY
    before = int(windows.table[TAG::8].max())
    assert put(windows, 2) == READY
    assert windows.control[GENERATION] == 2
    assert int(windows.table.max()) > before
    assert end_of_streams(windows) == END
    assert winset_log(windows.sink).rows.tolist() == [1, 1]


def test_the_active_winsets_are_those_of_the_tuple():
    windows = make_windows(make_plan("count", 3, 2, keys=1))
    for timestamp, first, active, change in (
        (0, 0, 1, 2),
        (1, 0, 1, 2),
        (2, 0, 2, 3),
        (3, 1, 1, 4),
        (4, 1, 2, 5),
        (11, 5, 1, 12),
    ):
        assert put(windows, timestamp) == READY
        found = control(windows, FIRST_WINSET, ACTIVE, NEXT_CHANGE)
        assert found == [first, active, change], f"at {timestamp}"


def test_places_follow_one_another_in_the_ring():
    windows = make_windows(make_plan("count", 3, 1, keys=1))
    for timestamp in range(50):
        put(windows, timestamp)
        first, place, generation = control(windows, FIRST_WINSET, FIRST_PLACE, GENERATION)
        assert place == first % 3 and generation == first + 1


def test_a_leap_of_1e9_advances_is_one_step():
    windows = make_windows(make_plan("count", 30, 3, keys=1))
    put(windows, 0)
    assert put(windows, 3 * 10**9) == READY
    assert control(windows, FIRST_WINSET, ACTIVE) == [10**9 - 9, 10]
    # Nine of the ten new winsets reach back before the tuple, and all contain it.
    end_of_streams(windows)
    assert winset_log(windows.sink).window_start.tolist() == [
        0,
        *range(3 * 10**9 - 27, 3 * 10**9 + 1, 3),
    ]


def test_a_held_tuple_is_processed_once():
    windows = make_windows(make_plan("count", 1, 1, keys=1, winsets_capacity=1))
    assert [put(windows, 0), put(windows, 1)] == [READY, READY]
    assert put(windows, 2) == WINSETS_FULL and is_holding(windows)
    windows.sink.counters[WINSETS] = 0
    assert update_output(windows) == READY and not is_holding(windows)
    assert control(windows, PROCESSED) == [3]
    assert end_of_streams(windows) == WINSETS_FULL
    windows.sink.counters[WINSETS] = 0
    assert end_of_streams(windows) == END


def test_too_many_windows_for_the_memory_are_refused_in_one_line():
    plan = make_plan("sum", 1 << 20, 1, keys=1 << 20)
    with pytest.raises(UsageError) as refusal:
        make_windows(plan)
    assert f"the limit is {STATE_BYTES_LIMIT >> 20} MiB" in str(refusal.value)
    assert "\n" not in str(refusal.value)


@pytest.mark.parametrize("function", sorted(CODES))
def test_functions_that_count_have_small_slots(function):
    text = Text(np.zeros(1, dtype=np.int64), np.zeros(0, dtype=np.uint8))
    windows = make_windows(make_plan(function, 1, 1, keys=1), text)
    assert (windows.slot_bits == 1) == function.startswith("count")
