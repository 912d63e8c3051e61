"""Predicates over numbers of any streams: bands, equality, and any user-defined condition.

`operators.theta_join.predicates` defines predicates, and has that of the benchmark.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import cache
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from operators.contract import UsageError, whole
from operators.core.jit import inlined
from operators.core.user_functions import user_function
from operators.theta_join.family import R
from operators.theta_join.predicates import (
    CHUNK,
    HIGH,
    LOW,
    Predicate,
    as_found,
    check_column,
    in_first,
    in_others,
)

# More columns would make the code of the comparison with a window long.
MOST_COLUMNS = 8
_LEAST, _MOST = int(np.iinfo(np.int64).min), int(np.iinfo(np.int64).max)


class NumberTables(NamedTuple):
    """The compared numbers of tuples, those of a row contiguous; see ``number_tables``.

    Attributes
    ----------
    r, s : int64 or float64 arrays (rows of the stream * columns)
    half_widths : int64 array (columns)
        Half widths of bands; empty for another condition.
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
        Half widths of bands, one a column; 0 is equality.
    real : bool
        Whether the numbers are kept as float64, for a condition over real numbers.

    Raises
    ------
    UsageError
        When a half width is negative or not whole, or numbers are not numeric or not
        one-dimensional, do not fit their kind, or are not whole without `real`.
    """
    if isinstance(half_widths, str) or not isinstance(half_widths, Iterable):
        raise UsageError(f"half widths are a row of whole numbers, received {half_widths!r}")
    widths = [whole("each half width", width) for width in half_widths]
    if min(widths, default=0) < 0:
        raise UsageError(f"bands have half widths of at least 0, received {tuple(half_widths)}")
    tables = (_kept(name, given, real) for name, given in (("r", r), ("s", s)))
    return NumberTables(*tables, np.array([min(each, _MOST) for each in widths], dtype=np.int64))


def _kept(name: str, given: ArrayLike, real: bool) -> np.ndarray:
    """Return numbers as they are kept; refuse a number that would change."""
    try:
        found = np.asarray(given)
    except ValueError:  # rows of different lengths
        found = np.zeros((0, 0))
    if found.ndim != 1 or (found.dtype.kind not in "iuf" and found.size):
        raise UsageError(
            f"numbers of {name} are numbers of up to 64 bits in a row, those of a tuple side by"
            f" side, received {found.dtype} of shape {found.shape}"
        )
    if np.isnan(found.astype(np.float64)).any():
        raise UsageError(f"numbers of {name} have what is not a number")
    with np.errstate(invalid="ignore"):
        kept = np.require(found, np.float64 if real else np.int64, ["C", "W"])
        if real:
            # Converted back: a comparison across kinds would round whole numbers.
            same = kept.astype(found.dtype) == found
        elif found.dtype.kind == "f":
            same = kept == found
        else:
            same = found <= _MOST
    if same.all():
        return kept
    if real:
        raise UsageError(f"numbers of {name} do not fit 64 bits as real numbers; leave real out")
    raise UsageError(
        f"numbers of {name} are whole and fit 64 bits; give real=True for a condition over others"
    )


def _check_of(columns: int, real: bool, widths: int) -> Callable[..., None]:
    """Return ``check`` of a predicate over ``NumberTables`` with `widths` half widths."""

    def check(tables: object, rows: tuple[int, int]) -> None:
        if not isinstance(tables, NumberTables):
            raise UsageError(
                f"bands and conditions are over what number_tables returns, received"
                f" {type(tables).__name__}"
            )
        for name, numbers, count in zip("rs", tables[:2], rows, strict=True):
            if isinstance(numbers, np.ndarray) and len(numbers) != columns * count:
                raise UsageError(
                    f"{count} tuples of {name} have {columns} numbers each, received"
                    f" {len(numbers)} in all"
                )
            kind = np.float64 if real else np.int64
            check_column(f"numbers of {name}", numbers, columns * count, kind)
        given = len(tables.half_widths)
        if given != widths:
            raise UsageError(
                f"bands of {columns} numbers have {columns} half widths, received {given}"
                if widths
                else f"a condition has no half widths, received {given}; bands have them"
            )
        check_column("half widths", tables.half_widths, widths, np.int64)
        if (tables.half_widths < 0).any():
            raise UsageError(
                f"bands have half widths of at least 0, received {tuple(tables.half_widths)}"
            )

    return check


@inlined
def _no_record(tables, timestamp, r_row, s_row, out, place):
    """Write nothing: a pair's key identifies both tuples."""


@cache
def bands(columns: int) -> Predicate:
    """Return |r - s| <= half width in every column, over ``NumberTables`` with half widths.

    The half widths are read from the tables, so one compiled join serves any of them.

    Parameters
    ----------
    columns : int
        At least one.

    Raises
    ------
    UsageError
        When it is below one.
    """
    columns = whole("columns", columns)
    if columns < 1:
        raise UsageError(f"bands are of at least 1 number of a tuple, received {columns}")
    keep = _keep_of(columns)

    @inlined
    def prepare(tables, side, row, wanted, base):
        for column in range(columns):
            number, half_width = keep(tables, side, row, column), tables.half_widths[column]
            place = base + 2 * column
            # Clipped to 64 bits.
            wanted[place + LOW] = number - half_width if number >= _LEAST + half_width else _LEAST
            wanted[place + HIGH] = number + half_width if number <= _MOST - half_width else _MOST

    return Predicate(
        columns, np.int64, 0, 2 * columns, _cell_of_bands, keep, prepare, in_first,
        in_others(columns), _no_record, _check_of(columns, False, columns),
    )  # fmt: skip


def _cell_of_bands(tables: NumberTables) -> int:
    # Wider than half of the range: every number is in the same cell or the next.
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
    """Return a function that reads `columns` numbers, `apart` words from each other."""
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
        on: whether a tuple of R and one of S match. Plain Python that numba compiles; a named
        function in a file, so that a compiled join is found again in the cache. It is also called
        for window slots without a tuple, whose numbers are 0 or those of an earlier tuple; these
        answers are ignored.
    columns : int
        Numbers of a tuple, at most ``MOST_COLUMNS``.
    real : bool
        Whether they are float64 and not int64, as in the tables.

    Raises
    ------
    UsageError
        When `columns` is out of its limits, or the function has no name or no file.
    """
    columns = whole("columns", columns)
    if not 1 <= columns <= MOST_COLUMNS:
        raise UsageError(
            f"a condition looks at 1 to {MOST_COLUMNS} numbers of a tuple, received {columns}"
        )
    accepts = user_function(f"a condition over {columns} numbers of a tuple", holds, 2 * columns)
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
        columns, np.int64, 0, columns, _no_cell, keep, prepare, match_64, as_found, _no_record,
        _check_of(columns, real, 0),
    )  # fmt: skip
