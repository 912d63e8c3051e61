"""Numbers as text, as on cards and in reasons."""

from __future__ import annotations

import pytest

from experiments.judging import badges


@pytest.mark.parametrize(
    ("value", "unit", "told"),
    [
        (7.62e9, "c/s", "7.62 G c/s"),
        (999.6e6, "t/s", "1,000 M t/s"),
        (2000.0, "ms", "2 s"),
        (0.78, "ms", "780 µs"),
        (450_000.0, "ms", "7.5 min"),
        (0.77, "share", "0.77"),
        (0.00011, "%", "0.00011 %"),
        (24_300.0, "tuples", "24,300 tuples"),
        (0.0, "%", "0 %"),
    ],
)
def test_a_value_is_told_in_the_multiple_that_reads_best(value, unit, told):
    assert badges.in_unit(value, unit) == told


@pytest.mark.parametrize(
    ("ratio", "told"),
    [(2.8e-5, "0.000028"), (0.0372, "0.037"), (0.0995, "0.10"), (0.61, "0.61"), (7620.0, "7,620")],
)
def test_a_ratio_has_no_exponent(ratio, told):
    assert badges.shortened(ratio) == told


@pytest.mark.parametrize(
    ("ends", "told"),
    [
        ((2.5, 3.3), ("2.9", " [2.5, 3.3]")),
        ((2.924, 2.942), ("2.93", " [2.92, 2.94]")),
        ((2.9301, 2.9304), ("2.930", " [2.930, 2.930]")),
        ((2.93, 2.93), ("2.9", " [2.9, 2.9]")),
        ((None, 3.0), ("2.9", "")),
        ((2.0, float("inf")), ("2.9", "")),
    ],
)
def test_an_interval_narrower_than_the_rounding_gets_more_digits(ends, told):
    assert badges.with_ends(2.93, *ends) == told
