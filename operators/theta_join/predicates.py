"""Predicates of theta joins: what windows keep of a tuple, and how 64 of them are compared at once.

A predicate is compiled into the joins that use it. It says of a tuple which numbers a window keeps
(`keep`), what a comparison with it looks for (`prepare`), and which of 64 tuples of a window match
(`match_64`). Bands and equality are intervals of the numbers kept, so that one vectorised
comparison serves them all; any other condition is a function of the numbers of both sides
(`condition`).

Real attributes are kept as integers in the same order (``in_order``), so that they are compared as
such. "y >= b - 10" is meant in the arithmetic of the attributes, float32, where the difference is
rounded. Rounding keeps order: what a tuple of R matches are the b up to a largest one, which
``largest_below`` finds, and from a smallest one on.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import NamedTuple

import numpy as np

from operators.core.jit import inlined
from operators.core.vectors import WITHIN, within_64
from operators.theta_join.family import R

CHUNK = WITHIN
# What a comparison looks for, by number kept: from where to where.
LOW, HIGH = 0, 1
# Section VI: the half width of both bands of the benchmark.
HALF_WIDTH = 10
# An output of the benchmark: ts; x and y; z; z and a; b; c; d.
BENCH_RECORD = 8
_LEAST, _MOST = int(np.iinfo(np.int64).min), int(np.iinfo(np.int64).max)
_LEAST_32, _MOST_32 = int(np.iinfo(np.int32).min), int(np.iinfo(np.int32).max)
# The largest finite float32 and its negative, in order.
LEAST_REAL, MOST_REAL = -0x7F7FFFFF - 1, 0x7F7FFFFF


class Predicate(NamedTuple):
    """A predicate as its joins are compiled with it.

    ``keep(tables, side, row, column)`` returns a number that windows keep of a tuple;
    ``prepare(tables, side, row, wanted, base)`` writes what a tuple of `side` is compared for to
    ``wanted[base]`` and behind, `wanted` words; ``match_64(chunks, at, wanted, base, side)``
    returns a word whose bit i says whether tuple i of the chunk at `at` may match, by its first
    number, and ``narrow_64(chunks, at, wanted, base, side, found)`` which of those do;
    ``combine(tables, timestamp, r_row, s_row, out, place)`` writes an output's ``record`` words.
    What matches lies in an interval of the first number, ``cell_of(tables)`` wide; 0 where it does
    not.
    """

    columns: int
    kind: type  # of the numbers kept: np.int32 or np.int64
    record: int
    wanted: int
    cell_of: Callable[..., int]
    keep: Callable[..., int]
    prepare: Callable[..., None]
    match_64: Callable[..., int]
    narrow_64: Callable[..., int]
    combine: Callable[..., None]


class BenchTables(NamedTuple):
    """All attributes of the benchmark's tuples (section VI), by row.

    Attributes
    ----------
    x, a : int32 arrays
    y, b : float32 arrays
    z : int64 array (3 * rows)
        char[20]: its bytes, eight a word, the last four of a word 0.
    c : float64 array
    d : uint8 array
    """

    x: np.ndarray
    y: np.ndarray
    z: np.ndarray
    a: np.ndarray
    b: np.ndarray
    c: np.ndarray
    d: np.ndarray


# --- numbers --------------------------------------------------------------------------------------


@inlined
def in_order(real):
    """Return an integer of 32 bits for a float32: in the same order, and next to its neighbours'.

    Zeros of both signs are one. There is no such integer for what is not a number.
    """
    bits = np.float32(real + np.float32(0)).view(np.int32)
    return np.int64(bits) if bits >= 0 else np.int64(bits ^ np.int32(0x7FFFFFFF))


@inlined
def from_order(number):
    """Return the float32 that ``in_order`` gives this integer."""
    bits = np.int32(number if number >= 0 else number ^ 0x7FFFFFFF)
    return bits.view(np.float32)


@inlined
def largest_below(bound, offset):
    """Return, in order, the largest float32 v with v + offset <= bound in float32 arithmetic."""
    # Bisected: near 0 a thousand million v may be rounded to one and the same sum.
    low, high = LEAST_REAL, MOST_REAL
    while low < high:
        middle = (low + high + 1) >> 1
        if np.float32(from_order(middle) + offset) <= bound:
            low = middle
        else:
            high = middle - 1
    return low


@inlined
def smallest_above(bound, offset):
    """Return, in order, the smallest float32 v with v + offset >= bound in float32 arithmetic."""
    low, high = LEAST_REAL, MOST_REAL
    while low < high:
        middle = (low + high) >> 1
        if np.float32(from_order(middle) + offset) >= bound:
            high = middle
        else:
            low = middle + 1
    return low


# --- the benchmark --------------------------------------------------------------------------------


@inlined
def _bench_keep(tables, side, row, column):
    if side == R:
        return np.int64(tables.x[row]) if column == 0 else in_order(tables.y[row])
    return np.int64(tables.a[row]) if column == 0 else in_order(tables.b[row])


def _bench_prepare_of(x_width: int, y_width: int) -> Callable[..., None]:
    """Return ``prepare`` of |x - a| <= x_width and y between b - y_width and b + y_width."""

    @inlined
    def prepare(tables, side, row, wanted, base):
        width = np.float32(y_width)
        if side == R:
            middle = np.int64(tables.x[row])
            low = smallest_above(tables.y[row], width)
            high = largest_below(tables.y[row], -width)
        else:
            middle = np.int64(tables.a[row])
            low = in_order(np.float32(tables.b[row] - width))
            high = in_order(np.float32(tables.b[row] + width))
        # Compared in 32 bits, where a band ends too.
        wanted[base + LOW] = max(middle - x_width, _LEAST_32)
        wanted[base + HIGH] = min(middle + x_width, _MOST_32)
        wanted[base + 2 + LOW] = low
        wanted[base + 2 + HIGH] = high

    return prepare


@inlined
def _bench_combine(tables, timestamp, r_row, s_row, out, place):
    """Write <ts, x, y, z, a, b, c, d>, every attribute."""
    x = np.int64(tables.x[r_row]) & 0xFFFFFFFF
    y = np.int64(np.float32(tables.y[r_row]).view(np.int32)) & 0xFFFFFFFF
    a = np.int64(tables.a[s_row]) & 0xFFFFFFFF
    b = np.int64(np.float32(tables.b[s_row]).view(np.int32)) & 0xFFFFFFFF
    out[place] = timestamp
    out[place + 1] = x | y << 31 << 1
    out[place + 2] = tables.z[3 * r_row]
    out[place + 3] = tables.z[3 * r_row + 1]
    out[place + 4] = tables.z[3 * r_row + 2] | a << 31 << 1
    out[place + 5] = b
    out[place + 6] = np.float64(tables.c[s_row]).view(np.int64)
    out[place + 7] = np.int64(tables.d[s_row])


# --- comparisons ----------------------------------------------------------------------------------


@inlined
def in_first(chunks, at, wanted, base, side):
    """Return which of 64 tuples lie in an interval in the first column."""
    return within_64(chunks, at, wanted[base + LOW], wanted[base + HIGH])


@cache
def in_others(columns: int) -> Callable[..., int]:
    """Return ``narrow_64`` of what lies in an interval in every column."""

    @inlined
    def narrow_64(chunks, at, wanted, base, side, found):
        for column in range(1, columns):
            place = base + 2 * column
            low, high = wanted[place + LOW], wanted[place + HIGH]
            found &= within_64(chunks, at + column * CHUNK, low, high)
        return found

    return narrow_64


@inlined
def as_found(chunks, at, wanted, base, side, found):
    """Return what was found: there is nothing more to look at."""
    return found


@cache
def bench_predicate(equal: bool = False) -> Predicate:
    """Return the predicate of the CellJoin benchmark (section VI), or one of equality on x and a.

    ::

        x >= a - 10 AND x <= a + 10 AND y >= b - 10 AND y <= b + 10

    Parameters
    ----------
    equal : bool
        Whether x equals a instead, and the band of y and b is all there is beside it.
    """
    width = 0 if equal else HALF_WIDTH
    prepare = _bench_prepare_of(width, HALF_WIDTH)

    def cell_of(tables: BenchTables) -> int:
        return 2 * width + 1

    return Predicate(
        2, np.int32, BENCH_RECORD, 4, cell_of, _bench_keep, prepare, in_first, in_others(2),
        _bench_combine,
    )  # fmt: skip
