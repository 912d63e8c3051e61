"""Integers in place of numbers that do not fit 64 bits together: the same pairs and order."""

from __future__ import annotations

from decimal import Decimal
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from datasets.formats import numbers
from datasets.formats.arrays import of_texts
from experiments.replay.bands import Column, exact, half_width, on_a_grid

# Few digits, so that many numbers are exactly a half width apart, and many sizes.
TEXTS = st.one_of(
    st.decimals(-30, 30, places=1).map(str),
    st.integers(-30, 30).map(str),
    st.floats(allow_nan=False, allow_infinity=False).map(repr),
    st.integers(-(2**70), 2**70).map(str),
    st.sampled_from(["1e300", "-1e-300", "0.1234567890123456789012", "12345678901234567890.5"]),
)
WIDTHS = st.one_of(
    st.decimals(0, 9, places=1).map(str),
    st.sampled_from(["0", "1e-9", "1e-300", "1e300", "9223372036854775808", "0." + "1" * 25]),
)


def column(texts: list[str]) -> Column:
    parsed = numbers.parse_decimals(of_texts(texts))
    wide = np.flatnonzero(parsed.state == numbers.TOO_WIDE)
    scale = np.where(parsed.state == numbers.TOO_WIDE, 0, parsed.scale)
    return Column(parsed.mantissa, scale, {int(row): exact(texts[row]) for row in wide})


def check(texts: list[str], width: str, values: list[Fraction], **options) -> None:
    middle = len(texts) // 2
    columns = [column(texts[:middle]), column(texts[middle:])]
    pieces, half = on_a_grid(columns, half_width("--half-width", width), **options)
    grid = np.concatenate(pieces).tolist()
    for number, at in zip(values, grid, strict=True):
        for other, place in zip(values, grid, strict=True):
            assert (abs(number - other) <= Fraction(width)) == (abs(at - place) <= half)
            assert (number < other) == (at < place)


@given(st.lists(TEXTS, max_size=12), WIDTHS)
def test_the_same_numbers_are_within_the_half_width(texts, width):
    check(texts, width, [Fraction(text) for text in texts])


@given(st.lists(TEXTS, max_size=8))
def test_numbers_are_rounded_half_to_even_before(texts):
    rounded = [
        Fraction(text) if -Decimal(text).as_tuple().exponent <= 1 else round(Fraction(text), 1)
        for text in texts
    ]
    check(texts, "0.3", rounded, decimals=1)


@pytest.mark.parametrize(("text", "mantissa", "scale"), [
    ("0.50", 5, 1), ("1e3", 1000, 0), ("9" * 25, int("9" * 25), 0), ("1e-20", 1, 20),
])  # fmt: skip
def test_a_half_width_has_as_many_digits_as_it_likes(text, mantissa, scale):
    assert half_width("--half-width", text)[2:] == (mantissa, scale)
