"""Sums of doubles: exact in any order, and rounded as the sum of fractions is."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from operators.core.jit import kernel
from operators.streamcloud.exact import LIMBS, add_exact, merge_exact, rounded

FINITE = st.floats(allow_nan=False, allow_infinity=False)
LARGEST, SMALLEST = 1.7976931348623157e308, 5e-324


@kernel
def add_all(cells, bits):
    for i in range(len(bits)):
        add_exact(cells, 0, 1, bits[i])
    return 0


@kernel
def merge_first(cells):
    merge_exact(cells, 0, cells, 1, 1)
    return 0


def sum_of(numbers):
    cells = np.zeros((2, LIMBS + 1), dtype=np.int64)
    add_all(cells, np.array(numbers, dtype=np.float64).view(np.int64))
    assert cells[0, 0] == 0
    return cells


@given(st.lists(FINITE, max_size=30))
@example([LARGEST, LARGEST, -LARGEST])
@example([SMALLEST, -LARGEST, LARGEST])
@example([2.2250738585072014e-308, 2.225073858507201e-308, -SMALLEST])
@example([1e16, 1.0, -1e16])
@example([-0.0])
def test_a_sum_is_exact(numbers):
    exact = sum(map(Fraction, numbers))
    limbs = sum_of(numbers)[0, 1:].tolist()
    try:
        expected = float(exact)
    except OverflowError:
        with pytest.raises(OverflowError, match="overflow of a double"):
            rounded(limbs)
        return
    assert repr(rounded(limbs)) == repr(expected)


@given(st.lists(FINITE, max_size=9), st.lists(FINITE, max_size=9))
def test_sums_are_merged(one, two):
    cells = sum_of(one)
    cells[1] = sum_of(two)[0]
    merge_first(cells)
    assert cells[1].tolist() == sum_of(one + two)[0].tolist()


def test_a_sum_of_many_does_not_overflow_its_words():
    numbers = np.full(5000, -math.pi * 1e300)
    assert rounded(sum_of(numbers)[0, 1:].tolist()) == float(Fraction(-math.pi * 1e300) * 5000)
