"""Words of rows to values: exact in their type, or an error that names window, key and remedy."""

from __future__ import annotations

from decimal import Decimal
from types import SimpleNamespace

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from experiments.replay.aggregation.results import Results
from experiments.replay.reading import Recording
from operators.aggregation.functions import LOW_BITS, LOW_MASK
from operators.contract import UsageError

WORD = st.integers(-(2**63), 2**63 - 1)


def of(function: str, *values: int, decimals=0, whole=False, exact=False) -> pa.Array:
    """Return the finished values of rows with these sums, or one value each."""
    words = [
        (v & LOW_MASK, v >> LOW_BITS) if function in ("sum", "avg") else (v, 0) for v in values
    ]
    rows = np.array([[30, 0, a, b, 2] for a, b in words], dtype=np.int64).reshape(-1, 5)
    recording = Recording([], pa.array(["north"]), decimals, whole, None, [])
    results = Results(SimpleNamespace(function=function, exact=exact), recording)
    finished = results.values(rows)
    assert finished.type == results.type
    return finished


@given(WORD)
def test_whole_numbers_stay_whole(value):
    for function in ("first", "min", "max", "sum"):
        assert of(function, value, whole=True).equals(pa.array([value]))


@given(st.integers(-(2**94), 2**94), st.integers(0, 38))
def test_exact_is_exact(value, decimals):
    (found,) = of("sum", value, decimals=decimals, exact=True).to_pylist()
    assert found == Decimal(f"{value}e-{decimals}")


@given(st.integers(-(2**53) + 1, 2**53 - 1), st.integers(0, 30))
def test_decimals_below_the_limit_are_the_nearest_floats(value, decimals):
    for function in ("first", "sum"):
        assert of(function, value, decimals=decimals).to_pylist() == [value / 10**decimals]


@pytest.mark.parametrize("value", [2**63, -(2**63) - 1, 2**94, -(2**94)])
def test_a_sum_beyond_64_bits_is_named(value):
    with pytest.raises(UsageError) as refusal:
        of("sum", 2**63 - 1, -(2**63), value, whole=True)
    assert str(refusal.value).startswith(f"window 30, key north: sum {value} does not fit 64 bits")
    assert "--exact" in str(refusal.value)


@pytest.mark.parametrize(
    ("function", "value", "shown"),
    [
        ("max", 2**53, "90071992547409.92"),
        ("first", -(2**53), "-90071992547409.92"),
        ("sum", 2**64, "184467440737095516.16"),
        ("sum", 10**28 + 1, "100000000000000000000000000.01"),
    ],
)
def test_decimals_of_2_to_the_53_units_are_named(function, value, shown):
    with pytest.raises(UsageError, match=f"^window 30, key north: {function} {shown} has more"):
        of(function, 5, value, decimals=2)


def test_an_average_stays_a_float_whatever_the_values_are():
    assert of("avg", 5, whole=True).equals(pa.array([2.5]))


def test_more_decimals_than_digits_are_refused():
    with pytest.raises(UsageError, match="have 39 decimals, and --exact holds 38 digits"):
        of("sum", 5, decimals=39, exact=True)


@pytest.mark.parametrize("function", ["count", "sum", "avg", "first"])
def test_no_rows_give_no_values(function):
    assert len(of(function)) == 0
