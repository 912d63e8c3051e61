"""How words become values: exact sums, one division, one rounding."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from operators.aggregation import functions
from operators.aggregation.functions import (
    AVG,
    CODES,
    COUNT,
    FIRST,
    FIRST_MAIL,
    LOW_BITS,
    LOW_MASK,
    MAX,
    MIN,
    NAMES,
    SUM,
    finish_rows,
    function_code,
    text_of,
)
from operators.contract import UsageError

WORD = st.integers(-(2**63), 2**63 - 1)


def row(a: int, b: int, n: int) -> np.ndarray:
    return np.array([[0, 0, a, b, n]], dtype=np.int64)


@given(st.lists(WORD, min_size=1, max_size=50), st.integers(0, 6))
def test_sum_and_average_are_the_exact_ones_rounded_once(values, decimals):
    low = sum(v & LOW_MASK for v in values)
    high = sum(v >> LOW_BITS for v in values)
    words = row(low, high, len(values))
    exact = Fraction(sum(values), 10**decimals)
    assert finish_rows(SUM, words, decimals)[0] == float(exact)
    assert finish_rows(AVG, words, decimals)[0] == float(exact / len(values))


@pytest.mark.parametrize("function", [MIN, MAX, FIRST])
def test_a_chosen_value_is_divided_by_its_scale(function):
    finished = finish_rows(function, row(12345, 0, 3), decimals=3)
    assert finished.tolist() == [12.345] and finished.dtype == np.float64


@pytest.mark.parametrize("function", [COUNT, FIRST_MAIL])
def test_counts_and_references_stay_whole_numbers(function):
    finished = finish_rows(function, row(7, 0, 7), decimals=3)
    assert finished.tolist() == [7] and finished.dtype == np.int64


@pytest.mark.parametrize("function", sorted(NAMES))
def test_no_rows_give_no_values(function):
    assert len(finish_rows(function, np.zeros((0, 5), dtype=np.int64), 2)) == 0


def test_negative_decimals_are_refused():
    with pytest.raises(UsageError, match="decimals must not be negative, received -1"):
        finish_rows(SUM, row(1, 0, 1), -1)


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
