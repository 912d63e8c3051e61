"""Predicates of theta joins: the numbers that windows keep, and the comparison of 64 at once.

A predicate is compiled into the joins that use it. It defines the numbers that a window keeps of a
tuple (`keep`), the bounds of a comparison with the tuple (`prepare`), and which of 64 tuples of a
window match (`match_64`). Bands and equality are intervals of the kept numbers, so one vectorised
comparison serves them all; any other condition is a function of the numbers of both sides
(`condition`).

Real attributes are kept as integers in the same order (``in_order``), and compared as integers.
"y >= b - 10" uses the arithmetic of the attributes, float32, where the difference is rounded.
Rounding is monotone: a tuple of R matches all b from a smallest one, which ``smallest_above``
finds, up to a largest one, which ``largest_below`` finds.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import NamedTuple

import numpy as np

from operators.contract import UsageError
from operators.core.jit import inlined
from operators.core.vectors import WITHIN, within_64
from operators.theta_join.family import R

CHUNK = WITHIN
# The bounds of a comparison, by kept number.
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
    """A predicate, as compiled into joins.

    ``keep(tables, side, row, column)`` returns a number that windows keep of a tuple;
    ``prepare(tables, side, row, wanted, base)`` writes the bounds of a comparison with a tuple of
    `side` to the `wanted` words from ``wanted[base]`` on; ``match_64(chunks, at, wanted, base,
    side)`` returns a word whose bit i is set if tuple i of the chunk at `at` may match by its first
    number, and ``narrow_64(chunks, at, wanted, base, side, found)`` those of `found` that match;
    ``combine(tables, timestamp, r_row, s_row, out, place)`` writes an output's ``record`` words.
    Matches lie in an interval of the first number, ``cell_of(tables)`` wide, or 0 if they do not.
    ``check(tables, rows)`` raises UsageError when tables do not fit the predicate, or the numbers
    of rows of R and of S: kernels do not check.
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
    check: Callable[..., None]


class BenchTables(NamedTuple):
    """All attributes of the benchmark's tuples (section VI), by row.

    Attributes
    ----------
    x, a : int32 arrays
    y, b : float32 arrays
    z : int64 array (3 * rows)
        char[20]: the bytes, eight a word, the last four of a word 0.
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
    """Return an integer of 32 bits for a float32: in the same order, adjacent for adjacent floats.

    Zeros of both signs are one. NaN has no such integer.
    """
    bits = np.float32(real + np.float32(0)).view(np.int32)
    return np.int64(bits) if bits >= 0 else np.int64(bits ^ np.int32(0x7FFFFFFF))


@inlined
def from_order(number):
    """Return the float32 that ``in_order`` maps to this integer."""
    bits = np.int32(number if number >= 0 else number ^ 0x7FFFFFFF)
    return bits.view(np.float32)


@inlined
def largest_below(bound, offset):
    """Return, in order, the largest float32 v with v + offset <= bound in float32 arithmetic."""
    # Bisected: near 0 a thousand million v may round to the same sum.
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
        # Clipped to 32 bits, in which the comparison is made.
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


# For each column of the benchmark the stream, the words a row, and the kind.
_BENCH_COLUMNS = {
    "x": (0, 1, np.int32), "y": (0, 1, np.float32), "z": (0, 3, np.int64),
    "a": (1, 1, np.int32), "b": (1, 1, np.float32), "c": (1, 1, np.float64), "d": (1, 1, np.uint8),
}  # fmt: skip


def check_column(name: str, column: object, words: int, kind: type) -> None:
    """Refuse a column that is not a contiguous array of so many words of a kind.

    Raises
    ------
    UsageError
        Naming the received column.
    """
    wanted = f"{name} must be {words} words of {np.dtype(kind)} in a row"
    if not isinstance(column, np.ndarray):
        raise UsageError(f"{wanted}, received {type(column).__name__}")
    if column.dtype != kind or column.ndim != 1 or not column.flags.c_contiguous:
        raise UsageError(f"{wanted}, received {column.dtype} of shape {column.shape}")
    if len(column) != words:
        raise UsageError(f"{wanted}, received {len(column)} of them")


def _check_bench(tables: object, rows: tuple[int, int]) -> None:
    if not isinstance(tables, BenchTables):
        raise UsageError(
            f"the benchmark's predicate is over BenchTables, received {type(tables).__name__}"
        )
    for name, (side, words, kind) in _BENCH_COLUMNS.items():
        check_column(f"column {name}", getattr(tables, name), words * rows[side], kind)
    for name in "yb":
        if np.isnan(getattr(tables, name)).any():
            raise UsageError(f"column {name} has what is not a number, which is in no order")


# --- comparisons ----------------------------------------------------------------------------------


@inlined
def in_first(chunks, at, wanted, base, side):
    """Return the mask of 64 tuples that lie in an interval in the first column."""
    return within_64(chunks, at, wanted[base + LOW], wanted[base + HIGH])


@cache
def in_others(columns: int) -> Callable[..., int]:
    """Return ``narrow_64`` for an interval in every column."""

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
    """Return `found` unchanged: the first check is complete."""
    return found


@cache
def bench_predicate(equal: bool = False) -> Predicate:
    """Return the predicate of the CellJoin benchmark (section VI), or one of equality on x and a.

    ::

        x >= a - 10 AND x <= a + 10 AND y >= b - 10 AND y <= b + 10

    Parameters
    ----------
    equal : bool
        Whether x equals a instead, and only the band of y and b remains.
    """
    width = 0 if equal else HALF_WIDTH
    prepare = _bench_prepare_of(width, HALF_WIDTH)

    def cell_of(tables: BenchTables) -> int:
        return 2 * width + 1

    return Predicate(
        2, np.int32, BENCH_RECORD, 4, cell_of, _bench_keep, prepare, in_first, in_others(2),
        _bench_combine, _check_bench,
    )  # fmt: skip
