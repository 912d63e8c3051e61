"""Decimal texts and time labels, one by one and against Python's exact arithmetic."""

from __future__ import annotations

import struct
from datetime import date
from decimal import ROUND_HALF_EVEN, Decimal, localcontext

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from datasets.formats.numbers import (
    FINE,
    LARGEST,
    NULL,
    TOO_WIDE,
    UNPARSABLE,
    most_decimals_that_fit,
    parse_decimals,
    to_fixed_point,
)
from datasets.formats.times import (
    OUT_OF_RANGE,
    TOO_FINE,
    coarsest_unit,
    kind_of,
    looks_like_epoch,
    parse_times,
)

decimal_texts = st.from_regex(
    r"[+-]?[0-9]{1,14}(\.[0-9]{0,10})?([eE][+-]?[0-9]{1,2})?", fullmatch=True
)


def exact(text: str) -> Decimal:
    with localcontext(prec=400):
        return Decimal(text) + 0


@given(st.lists(decimal_texts, min_size=1, max_size=20))
def test_parsed_decimals_are_exact(texts):
    parsed = parse_decimals(pa.array(texts, pa.string()))
    for text, mantissa, scale, state in zip(texts, *parsed[:3], strict=True):
        if state == FINE:
            with localcontext(prec=400):
                assert Decimal(int(mantissa)).scaleb(-int(scale)) == exact(text)
        else:
            assert state == TOO_WIDE
            digits = text.lower().split("e")[0].strip("+-").replace(".", "")
            assert int(digits.rstrip("0") or 0) > LARGEST or len(digits) > 18


@given(st.lists(decimal_texts, min_size=1, max_size=20), st.integers(0, 18))
def test_fixed_point_rounds_half_to_even(texts, decimals):
    parsed = parse_decimals(pa.array(texts, pa.string()), decimals=decimals)
    value, overflow, _ = to_fixed_point(parsed.mantissa, parsed.scale, decimals)
    for row, text in enumerate(texts):
        with localcontext(prec=400):
            expected = int(exact(text).scaleb(decimals).to_integral_value(ROUND_HALF_EVEN))
        if parsed.state[row] == FINE and not overflow[row]:
            assert value[row] == expected
        else:
            assert abs(expected) > LARGEST


@given(st.lists(st.floats(allow_nan=False, allow_infinity=False, width=64), min_size=1))
def test_doubles_go_by_their_shortest_text(values):
    parsed = parse_decimals(pa.array(values).cast(pa.string()))
    for value, mantissa, scale in zip(values, *parsed[:2], strict=True):
        assert exact(repr(value)) == Decimal(int(mantissa)).scaleb(-int(scale))


@pytest.mark.parametrize(
    ("text", "mantissa", "scale"),
    [
        (" 0 ", 0, 0),
        ("-0.00", 0, 0),
        ("2.50", 25, 1),
        (".5", 5, 1),
        ("5.", 5, 0),
        ("1.6e-05", 16, 6),
        ("1E3", 1, -3),
        ("+7", 7, 0),
        ("0.062000003", 62000003, 9),
        (str(LARGEST), LARGEST, 0),
        (f"-{LARGEST + 1}", -LARGEST - 1, 0),
    ],
)
def test_some_numbers(text, mantissa, scale):
    parsed = parse_decimals(pa.array([text]))
    assert (parsed.mantissa[0], parsed.scale[0], parsed.state[0]) == (mantissa, scale, FINE)


@pytest.mark.parametrize(
    ("text", "state"),
    [
        (None, NULL),
        ("", NULL),
        ("  ", NULL),
        ("Null", NULL),
        ("NaN", NULL),
        ("N/A", NULL),
        ("inf", UNPARSABLE),
        (".", UNPARSABLE),
        ("-", UNPARSABLE),
        ("1,5", UNPARSABLE),
        ("1 000", UNPARSABLE),
        ("0x10", UNPARSABLE),
        ("1.2.3", UNPARSABLE),
        ("1e", UNPARSABLE),
        (str(LARGEST + 1), TOO_WIDE),
        (f"-{LARGEST + 2}", TOO_WIDE),
        ("3" * 5_000, TOO_WIDE),
        ("-0." + "3" * 5_000, TOO_WIDE),
    ],
)
def test_some_texts_that_are_no_numbers(text, state):
    parsed = parse_decimals(pa.array([text, "1"], pa.string()))
    assert parsed.state.tolist() == [state, FINE]
    assert parsed.mantissa.tolist() == [0, 1]


def test_decimal_comma():
    parsed = parse_decimals(pa.array(["3,25", "-,5", "3.25"]), mark=",")
    assert parsed.mantissa.tolist() == [325, -5, 0]
    assert parsed.state.tolist() == [FINE, FINE, UNPARSABLE]


def test_the_smallest_number_is_scaled_and_rounded():
    smallest = parse_decimals(pa.array([str(-(2**63)), "-0." + "9" * 5_000]), decimals=0)
    assert smallest.mantissa.tolist() == [-(2**63), -1] and smallest.rounded == 1
    value, overflow, _ = to_fixed_point(smallest.mantissa, smallest.scale, 1)
    assert (value.tolist(), overflow.tolist()) == ([0, -10], [True, False])
    assert to_fixed_point(smallest.mantissa, smallest.scale + 1, 0)[0][0] == -(2**63 // 10 + 1)
    assert most_decimals_that_fit(smallest.mantissa, smallest.scale) == 0


def test_long_texts_are_rounded_to_the_asked_decimals():
    parsed = parse_decimals(pa.array(["0.12345678901234567890", "-1.5"]), decimals=4)
    value, overflow, rounded = to_fixed_point(parsed.mantissa, parsed.scale, 4)
    assert value.tolist() == [1235, -15000]
    assert not overflow.any()
    assert parsed.rounded + rounded == 1


def test_far_too_many_places_round_to_zero():
    value, overflow, rounded = to_fixed_point(np.array([7, -7]), np.array([40, 40]), 2)
    assert (value.tolist(), overflow.any(), rounded) == ([0, 0], False, 2)


def test_most_decimals_that_fit():
    assert most_decimals_that_fit(np.array([764500, 1]), np.array([0, 14])) == 13
    assert most_decimals_that_fit(np.array([1]), np.array([-19])) is None


@given(st.integers(0, 4_000_000_000), st.sampled_from(["s", "ms", "us"]))
def test_epoch_and_iso_labels_agree(second, unit):
    label = np.datetime_as_string(np.datetime64(second, "s"))
    per_second = {"s": 1, "ms": 1000, "us": 1_000_000}[unit]
    from_iso, iso_state = parse_times(pa.array([label, f"{label}Z"]), "iso", unit)
    epoch = pa.array([str(second * per_second), f" {second * per_second}.0"])
    from_epoch, epoch_state = parse_times(epoch, "epoch", unit)
    assert from_iso.tolist() == from_epoch.tolist() == [second * per_second] * 2
    assert not (iso_state.any() or epoch_state.any())


@pytest.mark.parametrize(
    ("label", "unit", "ticks"),
    [
        ("1970-01-01", None, 0),
        ("2012-10-12 00:30:00.0000000", "s", 1_350_001_800),
        ("2018-03-12T17:14:46.030", "ms", 1_520_874_886_030),
        ("2018-03-12T18:14:46.03+01:00", "ms", 1_520_874_886_030),
        ("1970-01-01 00:00:00.000001", None, 1),
    ],
)
def test_some_calendar_labels(label, unit, ticks):
    found, state = parse_times(pa.array([label]), "iso", unit)
    assert (found[0], state[0]) == (ticks, FINE)


@pytest.mark.parametrize(
    ("label", "state"),
    [
        (None, NULL),
        ("", NULL),
        ("null", NULL),
        ("now", UNPARSABLE),
        ("today", UNPARSABLE),
        ("2012-13-01", UNPARSABLE),
        ("2012-02-30 00:00", UNPARSABLE),
        ("12:30", UNPARSABLE),
        ("2012-10-12 00:30:00.00000000001", UNPARSABLE),
        ("1969-12-31 23:59:59", OUT_OF_RANGE),
        ("2012-10-12 00:30:00.5", TOO_FINE),
        ("October", UNPARSABLE),
    ],
)
def test_some_labels_that_are_no_times(label, state):
    ticks, found = parse_times(pa.array([label, "1970-01-01"], pa.string()), "iso", "s")
    assert found.tolist() == [state, FINE]
    assert ticks.tolist() == [0, 0]


@pytest.mark.parametrize(
    ("label", "state"),
    [
        ("1.5", UNPARSABLE),
        ("-1", OUT_OF_RANGE),
        (str(2**62), OUT_OF_RANGE),
        ("1e30", OUT_OF_RANGE),
        ("9" * 30, OUT_OF_RANGE),
        ("noon", UNPARSABLE),
        ("", NULL),
    ],
)
def test_some_integers_that_are_no_times(label, state):
    assert parse_times(pa.array([label]), "epoch", "s")[1].tolist() == [state]


def test_strptime_format_and_arrow_types():
    assert parse_times(pa.array(["02/01/1970 01:00", "x"]), "%d/%m/%Y %H:%M", "s")[0][0] == 90_000
    assert parse_times(pa.array([19700102]), "%Y%m%d", "s")[0][0] == 86_400
    assert parse_times(pa.array([date(1970, 1, 2), None]), "iso", "s")[0].tolist() == [86_400, 0]
    never = pa.array([253_402_214_400, 60], pa.timestamp("s"))
    assert parse_times(never, "iso", "s")[0].tolist() == [253_402_214_400, 60]
    assert parse_times(pa.array([1 << 62], pa.timestamp("s")), "iso", "us")[1] == [OUT_OF_RANGE]


@pytest.mark.parametrize(
    ("label", "seconds"),
    [
        ("2300-01-01", 10_413_792_000),
        ("9999-12-31T23:59:59+00:00", 253_402_300_799),
        ("2019-10-01 00:00:00 UTC", 1_569_888_000),
        ("2019-10-01 02:00:00 +02:00", 1_569_888_000),
    ],
)
def test_calendar_times_of_any_year_are_read(label, seconds):
    ticks, state = parse_times(pa.array([label]), "iso", "us")
    assert (ticks.tolist(), state.tolist()) == ([seconds * 1_000_000], [FINE])


def test_numbers_with_a_fraction_are_seconds_since_1970():
    found = pa.array(["1403517600", "1403517600.5", "0.0001"])
    assert kind_of(found) == "seconds"
    assert kind_of(pa.array([1403517600.5, None])) == "seconds"
    assert kind_of(pa.array([1403517600e6, None])) == "epoch"
    assert kind_of(pa.array(["1403517600123.5"])) == "epoch"
    ticks, state = parse_times(found, "seconds", "ms")
    assert ticks.tolist()[:2] == [1403517600000, 1403517600500]
    assert state.tolist() == [FINE, FINE, TOO_FINE]


def test_kind_and_unit_of_times_are_found():
    assert looks_like_epoch(pa.array(["1301702400", "", "x", "5.0"]))
    assert not looks_like_epoch(pa.array(["2012-10-12", "1", "2012-10-12"]))
    assert looks_like_epoch(pa.array([1, 2]))
    assert looks_like_epoch(pa.array([None, ""], pa.string())) is None
    assert not looks_like_epoch(pa.array([1], pa.timestamp("s")))
    assert coarsest_unit(np.array([0, 3_000_000])) == "s"
    assert coarsest_unit(np.array([0, 3_001_000])) == "ms"
    assert coarsest_unit(np.array([0, 1])) == "us"


def test_subnormal_double_has_its_exact_text():
    smallest = struct.unpack("<d", (1).to_bytes(8, "little"))[0]
    parsed = parse_decimals(pa.array([smallest]).cast(pa.string()))
    assert (parsed.mantissa[0], parsed.scale[0]) == (5, 324)
