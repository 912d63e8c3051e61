"""Vector operations on a node's elements: compiled, interpreted, and as plain loops."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from itertools import product
from unittest import mock

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numba import njit

from operators.core import chosen_lanes
from operators.core.chosen_lanes import AVX_2, AVX_512
from operators.core.jit import INTERPRETED, kernel
from operators.core.vectors import (
    AMONG_8,
    AMONG_16,
    COPIED,
    LIVE,
    RANKED,
    WITHIN,
    copy_8,
    copy_live_16,
    insert_in_32,
    peek,
    poke,
    positions_of_16,
    rank_among_8,
    rank_among_16,
    rank_in_32,
    remove_from_32,
    within_64,
    within_some,
)
from tests.operators.core.running import forms

TYPES = (np.int32, np.int64)
# Not aligned to a cache line, and with neighbours that must not be touched.
BEGIN = 3


@kernel
def ranks(keys, begin, wanted, found):
    for place in range(len(wanted)):
        found[place] = rank_in_32(keys, begin, wanted[place])


@kernel
def ranks_among(keys, begin, count, wanted, found):
    for place in range(len(wanted)):
        found[place] = rank_among_8(keys, begin, min(count, 8), wanted[place])
        found[len(wanted) + place] = rank_among_16(keys, begin, count, wanted[place])


@kernel
def insert(array, begin, place, value):
    insert_in_32(array, begin, place, value)


@kernel
def remove(array, begin, place, last):
    remove_from_32(array, begin, place, last)


@kernel
def inside(keys, begin, low, high):
    return within_64(keys, begin, low, high)


@kernel
def some_inside(keys, begin, count, low, high):
    return within_some(keys, begin, count, low, high)


@kernel
def copy_few(source, begin, count, target, put):
    copy_8(source, begin, count, target, put)


@kernel
def copy(keys, sequences, taken, end, key, oldest, put):
    return copy_live_16(keys, sequences, taken, end, key, oldest, put)


@cache
def _compiled(function, widest):
    return njit(error_model="numpy")(function.py_func)


def chosen_forms(function) -> Iterator:
    """Yield the forms, and code for processors with AVX-512, with AVX2 and with neither."""
    yield from forms(function)
    if not INTERPRETED:
        # LLVM adapts AVX-512 code to the processor; a permutation of AVX2 it does not adapt.
        for widest in (AVX_512, *[AVX_2] * bool(chosen_lanes.WIDEST), ""):
            with mock.patch.object(chosen_lanes, "WIDEST", widest):
                yield _compiled(function, widest)


@kernel
def positions(sequences, begin, count, oldest, newest, out, put):
    return positions_of_16(sequences, begin, count, oldest, newest, out, put)


@kernel
def swap(array, one, other):
    first = peek(array, one)
    poke(array, one, peek(array, other))
    poke(array, other, first)


def keys_of(data, kind: type, count: int) -> np.ndarray:
    limits = np.iinfo(kind)
    few = st.integers(-3, 3) | st.sampled_from([int(limits.min), int(limits.max)])
    drawn = data.draw(st.lists(few, min_size=count, max_size=count))
    return np.array(drawn, dtype=kind)


@pytest.mark.parametrize("kind", TYPES)
@given(data=st.data())
def test_a_rank_is_the_number_of_keys_below(kind, data):
    node = np.sort(keys_of(data, kind, RANKED))
    array = np.concatenate([keys_of(data, kind, BEGIN), node, keys_of(data, kind, 2)])
    wanted = np.unique(np.concatenate([array, [np.iinfo(kind).min]])).astype(np.int64)
    for form in chosen_forms(ranks):
        found = np.zeros(len(wanted), dtype=np.int64)
        form(array, BEGIN, wanted, found)
        assert found.tolist() == [int((node < each).sum()) for each in wanted]


@pytest.mark.parametrize("kind", TYPES)
@given(data=st.data(), count=st.integers(0, AMONG_16))
def test_a_rank_among_few_looks_at_no_others(kind, data, count):
    array = keys_of(data, kind, BEGIN + AMONG_16)
    node = array[BEGIN : BEGIN + count]
    wanted = np.unique(np.concatenate([array, [np.iinfo(kind).min]])).astype(np.int64)
    for form in chosen_forms(ranks_among):
        found = np.zeros(2 * len(wanted), dtype=np.int64)
        form(array, BEGIN, count, wanted, found)
        few = [int((node[:AMONG_8] < each).sum()) for each in wanted]
        assert found.tolist() == few + [int((node < each).sum()) for each in wanted]


@pytest.mark.parametrize("kind", TYPES)
@given(data=st.data(), place=st.integers(0, RANKED - 1))
def test_a_place_is_made_and_closed(kind, data, place):
    array = keys_of(data, kind, RANKED + 2 * BEGIN)
    before = array.tolist()
    node = before[BEGIN : BEGIN + RANKED]
    value, last = -7, 9
    made = [*node[:place], value, *node[place:-1]]
    closed = [*node[:place], *node[place + 1 :], last]
    for form, arguments, wanted in (
        *((each, (place, value), made) for each in forms(insert)),
        *((each, (place, last), closed) for each in forms(remove)),
    ):
        own = array.copy()
        form(own, BEGIN, *arguments)
        assert own.tolist() == [*before[:BEGIN], *wanted, *before[BEGIN + RANKED :]]


@pytest.mark.parametrize("kind", TYPES)
@given(data=st.data())
def test_every_bit_says_whether_its_key_lies_in_the_range(kind, data):
    array = keys_of(data, kind, WITHIN + BEGIN)
    low, high = sorted(keys_of(data, kind, 2).tolist())
    wanted = sum(
        1 << place for place, key in enumerate(array[BEGIN:].tolist()) if low <= key <= high
    )
    for form in forms(inside):
        assert form(array, BEGIN, low, high) % (1 << 64) == wanted
    for form, count in product(forms(some_inside), (1, 31, 32, 63, 64)):
        asked = wanted & ((1 << count) - 1)
        assert form(array, BEGIN, count, low, high) % (1 << 64) == asked


@pytest.mark.parametrize("kind", TYPES)
@given(data=st.data(), count=st.integers(0, COPIED))
def test_as_many_as_are_asked_for_are_copied_and_nobodys_places_behind(kind, data, count):
    source, target = (keys_of(data, kind, COPIED + 2 * BEGIN) for _ in range(2))
    for form in forms(copy_few):
        own = target.copy()
        form(source, BEGIN, count, own, 1)
        assert own[1 : 1 + count].tolist() == source[BEGIN : BEGIN + count].tolist()
        untouched = [0, *range(1 + COPIED, len(own))]
        assert own[untouched].tolist() == target[untouched].tolist()


@pytest.mark.parametrize("kind", TYPES)
@given(data=st.data())
def test_live_entries_up_to_a_key_are_copied(kind, data):
    count = data.draw(st.integers(0, 20))
    keys = np.sort(keys_of(data, kind, count))
    key = int(keys_of(data, kind, 1)[0])
    # Ages on both sides of the 32-bit wrap-around.
    oldest = data.draw(st.sampled_from([0, 5, (1 << 31) - 2, -(1 << 31)]))
    ages = data.draw(st.lists(st.integers(-4, 4), min_size=count, max_size=count))
    sequences = np.array([oldest + age for age in ages], dtype=np.int64).astype(np.int32)
    through = [place for place in range(min(count, LIVE)) if keys[place] <= key]
    wanted = [(int(keys[n]), int(sequences[n])) for n in through if ages[n] >= 0]
    for form in chosen_forms(copy):
        room = np.full(2 * LIVE + 20, -99)
        own = np.concatenate([keys, room]).astype(kind)
        entries = np.concatenate([sequences, room]).astype(np.int32)
        put = count + LIVE
        both = form(own, entries, 0, count, key, oldest, put)
        assert (both >> 5, both & 31) == (len(through), len(wanted))
        copied = slice(put, put + len(wanted))
        found = zip(own[copied].tolist(), entries[copied].tolist(), strict=True)
        assert list(found) == wanted
        assert (own[put + LIVE :] == -99).all() and (own[count:put] == -99).all()


@pytest.mark.parametrize("kind", TYPES)
@given(data=st.data(), count=st.integers(-2, LIVE + 4))
def test_positions_that_are_asked_for_are_written(kind, data, count):
    # Positions around the points where the lower 32 bits wrap around or change sign.
    oldest = data.draw(st.sampled_from([0, (1 << 31) - 3, (1 << 32) - 5, 3 << 31, (1 << 40) + 2]))
    newest = oldest + data.draw(st.integers(-1, 9))
    drawn = st.lists(st.integers(oldest - 4, newest + 4), min_size=LIVE, max_size=LIVE)
    own = data.draw(drawn)
    low = (np.array(own, dtype=np.int64) % (1 << 32)).astype(np.uint32).astype(np.int32)
    sequences = np.concatenate([np.full(BEGIN, 7), low]).astype(kind)
    wanted = [each for each in own[: max(count, 0)] if oldest <= each <= newest]
    first = int(np.array(oldest % (1 << 32)).astype(np.uint32).astype(np.int32))
    for form in chosen_forms(positions):
        out = np.full(BEGIN + LIVE + 2, -99, dtype=np.int64)
        copied = form(sequences, BEGIN, count, first, newest, out, BEGIN)
        assert out[BEGIN : BEGIN + copied].tolist() == wanted
        assert (out[:BEGIN] == -99).all() and (out[BEGIN + LIVE :] == -99).all()


@pytest.mark.parametrize("kind", TYPES)
def test_elements_are_loaded_and_stored(kind):
    limits = np.iinfo(kind)
    for form in forms(swap):
        array = np.array([limits.min, 4, limits.max], dtype=kind)
        form(array, 0, 2)
        assert array.tolist() == [limits.max, 4, limits.min]


@pytest.mark.skipif(INTERPRETED, reason="there is no assembly")
def test_a_rank_is_vector_comparisons_without_a_branch():
    # Compiled afresh: kernels from the cache have no assembly. One rank, because a loop is
    # unrolled.
    fresh = njit(error_model="numpy")(lambda keys, key: rank_in_32(keys, 0, key))
    fresh(np.zeros(RANKED, dtype=np.int32), 0)
    (text,) = fresh.inspect_asm().values()
    compared = [line for line in text.splitlines() if "pcmpgtd" in line or "cmgt" in line]
    # Two vectors of AVX-512, four of AVX2, eight of the baseline.
    assert 2 <= len(compared) <= 16
