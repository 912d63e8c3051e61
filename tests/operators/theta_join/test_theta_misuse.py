"""Arguments that do not fit a theta join: tables and predicate, numbers, windows.

A kernel checks no length and no type: wrong arguments would be read past an array, or truncated.
"""

from __future__ import annotations

import numpy as np
import pytest

from operators.theta_join.number_predicates import NumberTables, bands, condition, number_tables
from operators.theta_join.predicates import BenchTables, bench_predicate
from operators.theta_join.run import run_join
from tests.operators.refusing import THREE, array, nothing_runs, refused

__all__ = ["nothing_runs"]


def less(r, s):
    return r < s


WHOLE = number_tables(THREE, THREE)
NEAR = number_tables(THREE, THREE, half_widths=(1,))
REAL = number_tables([0.5, 1.5, 2.5], THREE, real=True)
REAL_NEAR = number_tables([0.5, 1.5, 2.5], THREE, half_widths=(1,), real=True)


def benchmark(**other):
    """Return three rows of the benchmark's tables, some of them replaced."""
    zeros = {
        "x": np.int32, "y": np.float32, "z": np.int64, "a": np.int32, "b": np.float32,
        "c": np.float64, "d": np.uint8,
    }  # fmt: skip
    columns = {name: np.zeros(9 if name == "z" else 3, kind) for name, kind in zeros.items()}
    return BenchTables(**{**columns, **other})


@pytest.mark.parametrize(
    ("predicate", "tables", "told"),
    [
        (bands(1), WHOLE, "bands of 1 numbers have 1 half widths, received 0"),
        (bands(1), NEAR._replace(half_widths=array(1, 2)), "have 1 half widths, received 2"),
        (bands(2), number_tables(range(6), range(6), (1,)), "have 2 half widths, received 1"),
        (bands(1), NEAR._replace(half_widths=array(-1)), "half widths of at least 0, received"),
        (
            bands(1),
            NEAR._replace(half_widths=array(1.5, kind=float)),
            "half widths must be 1 words of int64 in a row, received float64 of shape (1,)",
        ),
        (
            bands(1),
            REAL_NEAR,
            "numbers of r must be 3 words of int64 in a row, received float64 of shape (3,)",
        ),
        (bands(2), NEAR, "3 tuples of r have 2 numbers each, received 3 in all"),
        (bands(1), number_tables(THREE, [1, 2], (1,)), "3 tuples of s have 1 numbers each"),
        (
            bands(1),
            NumberTables(array(1, 2, 3, kind=np.int32), array(1, 2, 3), array(1)),
            "numbers of r must be 3 words of int64 in a row, received int32 of shape (3,)",
        ),
        (
            bands(1),
            NumberTables(THREE, THREE, array(1)),
            "numbers of r must be 3 words of int64 in a row, received list",
        ),
        (
            bands(1),
            NEAR._replace(s=np.arange(9)[::3]),
            "numbers of s must be 3 words of int64 in a row, received int64 of shape (3,)",
        ),
        (bands(1), (THREE, THREE, [1]), "over what number_tables returns, received tuple"),
        (bands(1), benchmark(), "over what number_tables returns, received BenchTables"),
        (condition(less, 1), NEAR, "a condition has no half widths, received 1; bands have them"),
        (condition(less, 1), REAL, "must be 3 words of int64 in a row, received float64"),
        (condition(less, 1, real=True), WHOLE, "must be 3 words of float64 in a row, received int"),
        (bench_predicate(), NEAR, "predicate is over BenchTables, received NumberTables"),
        (
            bench_predicate(),
            benchmark(x=np.zeros(3)),
            "column x must be 3 words of int32 in a row, received float64 of shape (3,)",
        ),
        (
            bench_predicate(),
            benchmark(z=np.zeros(3, np.int64)),
            "column z must be 9 words of int64 in a row, received 3 of them",
        ),
        (
            bench_predicate(),
            benchmark(b=array(1, np.nan, 2, kind=np.float32)),
            "column b has what is not a number",
        ),
        (less, WHOLE, "a predicate is what bands or condition returns, received less"),
        (None, WHOLE, "a predicate is what bands or condition returns, received NoneType"),
    ],
)
def test_tables_that_do_not_fit_the_predicate(predicate, tables, told):
    times = [0, 1, 2]
    refused(told, run_join, "scale-join", predicate, tables, times, times, span=5)


@pytest.mark.parametrize(
    ("r", "given", "told"),
    [
        ([1], {"half_widths": (1.5,)}, "each half width must be a whole number, received 1.5"),
        ([1], {"half_widths": (float("nan"),)}, "each half width must be a whole number"),
        ([1], {"half_widths": (float("inf"),)}, "each half width must be a whole number"),
        ([1], {"half_widths": ("x",)}, "each half width must be a whole number, received 'x'"),
        ([1], {"half_widths": 1}, "half widths are a row of whole numbers, received 1"),
        ([1], {"half_widths": "12"}, "half widths are a row of whole numbers, received '12'"),
        ([1], {"half_widths": (-1,)}, "half widths of at least 0, received (-1,)"),
        ([0.5], {}, "numbers of r are whole and fit 64 bits; give real=True"),
        ([1e300], {}, "numbers of r are whole and fit 64 bits; give real=True"),
        ([2.0**63], {}, "numbers of r are whole and fit 64 bits; give real=True"),
        (array(1 << 63, kind=np.uint64), {}, "numbers of r are whole and fit 64 bits"),
        ([1 << 70], {}, "numbers of up to 64 bits in a row, those of a tuple side by side, rec"),
        ([float("nan")], {}, "numbers of r have what is not a number"),
        ([float("nan")], {"real": True}, "numbers of r have what is not a number"),
        ([(1 << 53) + 1], {"real": True}, "do not fit 64 bits as real numbers; leave real out"),
        ([(1 << 63) - 1], {"real": True}, "do not fit 64 bits as real numbers; leave real out"),
        ([[1, 2]], {}, "in a row, those of a tuple side by side, received int64 of shape (1, 2)"),
        ([[1], [2, 3]], {}, "numbers of r are numbers of up to 64 bits in a row"),
        (["x"], {}, "numbers of r are numbers of up to 64 bits in a row"),
        ([True], {}, "numbers of r are numbers of up to 64 bits in a row"),
        ([1j], {}, "numbers of r are numbers of up to 64 bits in a row"),
    ],
)
def test_numbers_that_are_none(r, given, told):
    refused(told, number_tables, r, [1], **given)
    if "half_widths" not in given:
        refused(told.replace("of r", "of s"), number_tables, [1], r, **given)


@pytest.mark.parametrize(
    ("given", "told"),
    [
        ({"span": 2.5}, "span must be a whole number, received 2.5"),
        ({"span": "x"}, "span must be a whole number, received 'x'"),
        ({"span": float("nan")}, "span must be a whole number, received nan"),
        ({"span": float("inf")}, "span must be a whole number, received inf"),
        ({"span": 1 << 70}, "span and count must be below 2**62"),
        ({"span": 0, "count": 1.5}, "count must be a whole number, received 1.5"),
        ({"span": 0, "count": 1 << 62}, "span and count must be below 2**62"),
        ({"r_times": [[0, 1, 2]]}, "r_times are whole numbers in a row, received int64 of shape"),
        ({"r_times": [[0], [1, 2]]}, "r_times are whole numbers, received rows of different len"),
        ({"stall_seconds": 0}, "stall_seconds is a number of seconds above 0, received 0"),
    ],
)
def test_theta_joins_that_are_none(given, told):
    named = {"span": 5, "r_times": [0, 1, 2], "s_times": [0, 1, 2], **given}
    refused(told, run_join, "scale-join", bands(1), NEAR, **named)


def test_predicates_that_are_none():
    refused("columns must be a whole number, received 1.5", bands, 1.5)
    refused("columns must be a whole number, received 1.5", condition, less, 1.5)
    refused("a condition over 2 numbers of a tuple takes 4 arguments, received less(r, s)",
            condition, less, 2)  # fmt: skip
