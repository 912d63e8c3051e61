"""Predicates over numbers of any streams: bands, equality, and any condition of a user's.

`operators.theta_join.predicates` says what a predicate is, and has the benchmark's.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from operators.contract import UsageError
from operators.core.jit import inlined
from operators.core.user_functions import user_function
from operators.theta_join.family import R
from operators.theta_join.predicates import (
    CHUNK,
    HIGH,
    LOW,
    Predicate,
    as_found,
    in_first,
    in_others,
)

# More would make long code of the comparison with a window.
MOST_COLUMNS = 8
_LEAST, _MOST = int(np.iinfo(np.int64).min), int(np.iinfo(np.int64).max)


class NumberTables(NamedTuple):
    """Numbers of tuples that are compared, those of a row side by side; see ``number_tables``.

    Attributes
    ----------
    r, s : int64 or float64 arrays (rows of the stream * columns)
    half_widths : int64 array (columns)
        Of bands; none where another condition is joined by.
    """

    r: np.ndarray
    s: np.ndarray
    half_widths: np.ndarray


def number_tables(
    r: ArrayLike, s: ArrayLike, half_widths: Sequence[int] = (), real: bool = False
) -> NumberTables:
    """Return tables of numbers.

    Parameters
    ----------
    r, s : array_like of int or float
        (rows of the stream * columns)
    half_widths : sequence of int
        Of bands, one a column; 0 is equality.
    real : bool
        Whether the numbers are kept as float64, for a condition over such.

    Raises
    ------
    UsageError
        When a half width is negative, or a number is not whole and `real` was not given.
    """
    if min(half_widths, default=0) < 0:
        raise UsageError(f"bands have half widths of at least 0, received {tuple(half_widths)}")
    tables = [np.asarray(each, dtype=np.float64 if real else np.int64) for each in (r, s)]
    if any((kept != np.asarray(given)).any() for kept, given in zip(tables, (r, s), strict=True)):
        raise UsageError("numbers are whole and fit 64 bits; give real=True for a condition over"
                         " others")  # fmt: skip
    widths = np.array([min(width, _MOST) for width in half_widths], dtype=np.int64)
    return NumberTables(*tables, widths)


@inlined
def _no_record(tables, timestamp, r_row, s_row, out, place):
    """Write nothing: a pair's key says which tuples it is of."""


@cache
def bands(columns: int) -> Predicate:
    """Return |r - s| <= half width in every column, over ``NumberTables`` with half widths.

    They are read with the numbers, so that one compiled join serves any of them.

    Parameters
    ----------
    columns : int
        One at least.

    Raises
    ------
    UsageError
        When there is none.
    """
    if columns < 1:
        raise UsageError(f"bands are of at least 1 number of a tuple, received {columns}")
    keep = _keep_of(columns)

    @inlined
    def prepare(tables, side, row, wanted, base):
        for column in range(columns):
            number, half_width = keep(tables, side, row, column), tables.half_widths[column]
            place = base + 2 * column
            # A band that goes beyond 64 bits ends there.
            wanted[place + LOW] = number - half_width if number >= _LEAST + half_width else _LEAST
            wanted[place + HIGH] = number + half_width if number <= _MOST - half_width else _MOST

    return Predicate(
        columns, np.int64, 0, 2 * columns, _cell_of_bands, keep, prepare, in_first,
        in_others(columns), _no_record,
    )  # fmt: skip


def _cell_of_bands(tables: NumberTables) -> int:
    # Wider than half of all there is: everything is in one cell or the next.
    return min(2 * int(tables.half_widths[0]) + 1, _MOST)


def _no_cell(tables: NumberTables) -> int:
    return 0


@cache
def _keep_of(columns: int, real: bool = False) -> Callable[..., int]:
    @inlined
    def keep(tables, side, row, column):
        numbers = tables.r if side == R else tables.s
        number = numbers[columns * row + column]
        return np.float64(number).view(np.int64) if real else np.int64(number)

    return keep


@inlined
def _whole(word):
    return word


@inlined
def _real(word):
    return np.int64(word).view(np.float64)


@cache
def _numbers_of(columns: int, real: bool) -> Callable[..., tuple]:
    """Return a function that reads so many numbers, `apart` words from each other."""
    read = _real if real else _whole
    if columns == 1:
        return inlined(lambda words, at, apart: (read(words[at]),))
    first, last = _numbers_of(columns - 1, real), columns - 1

    @inlined
    def numbers(words, at, apart):
        return first(words, at, apart) + (read(words[at + last * apart]),)

    return numbers


@cache
def condition(holds: Callable[..., bool], columns: int, real: bool = False) -> Predicate:
    """Return any condition over ``NumberTables``.

    Parameters
    ----------
    holds : callable
        ``holds(r, s)`` of one number of each tuple, ``holds(r_0, r_1, s_0, s_1)`` of two, and so
        on: whether a tuple of R and one of S match. Plain Python that numba compiles; a function
        with a name, in a file, by which a compiled join is found again. It is asked, too, of places
        where a window has no tuple, whose numbers are 0 or an earlier one's: that answer counts for
        nothing.
    columns : int
        Numbers of a tuple, at most ``MOST_COLUMNS``.
    real : bool
        Whether they are float64 and not int64, as in the tables.

    Raises
    ------
    UsageError
        When it looks at none or more, or the function has no name or no file.
    """
    if not 1 <= columns <= MOST_COLUMNS:
        raise UsageError(
            f"a condition looks at 1 to {MOST_COLUMNS} numbers of a tuple, received {columns}"
        )
    accepts = user_function("a condition", holds)
    keep, numbers = _keep_of(columns, real), _numbers_of(columns, real)

    @inlined
    def prepare(tables, side, row, wanted, base):
        for column in range(columns):
            wanted[base + column] = keep(tables, side, row, column)

    @inlined
    def accepts_at(chunks, at, wanted, base, side):
        asked, kept = numbers(wanted, base, 1), numbers(chunks, at, CHUNK)
        return accepts(*(asked + kept)) if side == R else accepts(*(kept + asked))

    @inlined
    def match_64(chunks, at, wanted, base, side):
        found = np.int64(0)
        for place in range(CHUNK):
            found |= np.int64(accepts_at(chunks, at + place, wanted, base, side) != 0) << place
        return found

    return Predicate(
        columns, np.int64, 0, columns, _no_cell, keep, prepare, match_64, as_found, _no_record
    )
