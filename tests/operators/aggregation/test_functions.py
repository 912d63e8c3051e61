"""Conversion of words to values: exact sums, one division, one rounding."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from operators.aggregation import functions
from operators.aggregation.functions import (
    CODES,
    FIRST,
    LOW_BITS,
    LOW_MASK,
    MAX,
    MIN,
    NAMES,
    SUM,
    averages,
    fixed_point,
    function_code,
    text_of,
)
from operators.contract import UsageError

WORD = st.integers(-(2**63), 2**63 - 1)


def row(a: int, b: int, n: int) -> np.ndarray:
    return np.array([[0, 0, a, b, n]], dtype=np.int64)


def exact(function: int, words: np.ndarray) -> int:
    ((high,), (low,)) = fixed_point(function, words)
    assert 0 <= low <= LOW_MASK
    return (int(high) << LOW_BITS) + int(low)


@given(st.lists(WORD, min_size=1, max_size=50), st.integers(0, 6))
def test_a_sum_is_exact_and_an_average_rounded_once(values, decimals):
    low = sum(v & LOW_MASK for v in values)
    high = sum(v >> LOW_BITS for v in values)
    words = row(low, high, len(values))
    assert exact(SUM, words) == sum(values)
    mean = Fraction(sum(values), len(values) * 10**decimals)
    assert averages(words, decimals).tolist() == [float(mean)]


@given(WORD)
def test_a_chosen_value_is_exact(value):
    assert {exact(function, row(value, 0, 3)) for function in (MIN, MAX, FIRST)} == {value}


def test_no_rows_give_no_values():
    none = np.zeros((0, 5), dtype=np.int64)
    assert averages(none, 2).tolist() == [] == fixed_point(SUM, none)[0].tolist()


def test_an_unknown_function_is_refused_with_the_list_of_known_ones():
    with pytest.raises(UsageError) as refusal:
        function_code("mean")
    assert all(name in str(refusal.value) for name in ("'mean'", *CODES))


def test_names_and_codes_are_a_bijection_and_the_groups_are_of_names():
    assert {CODES[NAMES[code]] for code in NAMES} == set(CODES.values()) == set(range(len(CODES)))
    for group in (functions.ORDER_SENSITIVE, functions.TEXT, functions.COUNTS):
        assert group <= set(CODES)


def test_a_reference_stands_for_its_bytes():
    whole = "añb".encode()
    offsets = np.array([0, 1, len(whole), len(whole)], dtype=np.int64)
    text_bytes = np.frombuffer(whole, dtype=np.uint8)
    assert [text_of(offsets, text_bytes, r) for r in range(3)] == ["a", "ñb", ""]
