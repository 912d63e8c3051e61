"""Half widths of bands, and the numbers compared with them, both as exact as given.

Kernels compare integers of 64 bits. If numbers and half width do not fit these at one scale, such
as doubles of very different magnitude, `on_a_grid` finds integers that give the same pairs.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from decimal import Decimal
from typing import NamedTuple

import numpy as np

from datasets.formats import numbers
from datasets.formats.arrays import of_texts
from operators.contract import UsageError

HALF = 2**62
"""Numbers below it fit 64 bits, and so do their differences."""


class HalfWidth(NamedTuple):
    """A half width as given: mantissa / 10**scale, with `scale` at least 0.

    Attributes
    ----------
    option : str
        The option that gave it, for messages.
    text : str
    mantissa, scale : int
    """

    option: str
    text: str
    mantissa: int
    scale: int

    def units(self, decimals: int) -> int:
        """Return the half width in units of the last of `decimals` decimals; it has no more."""
        return self.mantissa * 10 ** (decimals - self.scale)


class Exact(NamedTuple):
    """The number mantissa / 10**scale."""

    mantissa: int
    scale: int


class Column(NamedTuple):
    """The numbers of a file.

    Attributes
    ----------
    mantissa, scale : int64 array, int16 array
        As in `datasets.formats.numbers.Decimals`.
    wide : dict of int to Exact
        The numbers that no mantissa of 64 bits holds, by row.
    """

    mantissa: np.ndarray
    scale: np.ndarray
    wide: Mapping[int, Exact]


def exact(text: str) -> Exact:
    """Return the number that a text denotes, with any number of digits.

    Examples
    --------
    >>> exact("-0.50")
    Exact(mantissa=-50, scale=2)
    """
    sign, digits, exponent = Decimal(text).as_tuple()
    # Via a decimal: Python converts no text of thousands of digits to an int.
    return Exact(int(Decimal((sign, digits, 0))), -exponent)


def on_a_grid(
    columns: Sequence[Column], half_width: HalfWidth, decimals: int | None = None
) -> tuple[list[np.ndarray], int]:
    """Return integers of 64 bits that are within a half width exactly where the numbers are.

    They always fit: for n numbers the largest integer is below 2 n**2.

    A number is a whole count of half widths, the *level*, plus a rest. Two numbers of one level are
    always within the half width; two of adjacent levels are if the rest of the upper one is not the
    larger; all others are not. Only the order of the rests and the adjacency of levels matter:
    rests are numbered by rank, adjacent levels are as far apart as there are rests, and this
    distance is the half width.

    Parameters
    ----------
    columns : sequence of Column
    half_width : HalfWidth
    decimals : int, optional
        Decimals that numbers are rounded to, half to even.

    Returns
    -------
    values : list of int64 array
        In the order of the numbers; equal where the numbers are equal.
    half_width : int
    """
    scales = [int(scale) for one in columns for scale in np.unique(one.scale)]
    scales += [number.scale for one in columns for number in one.wide.values()]
    most = max([half_width.scale, *scales])
    units: list[int] = []
    places = [_places(one, units, most, most if decimals is None else decimals) for one in columns]
    width = half_width.units(most)
    rests, rank = _sorted([one % width if width else 0 for one in units])
    levels, step = _sorted([one // width if width else one for one in units])
    # Levels that are not adjacent may be any other distance apart.
    apart = np.minimum(np.diff(levels), 2).astype(np.int64)
    begins = np.concatenate([[0], np.cumsum(apart)]) * len(rests)
    values = begins[step] + rank
    return [values[place] for place in places], len(rests) if width else 0


def _sorted(whole: list[int]) -> tuple[np.ndarray, np.ndarray]:
    """Return the distinct whole numbers, of any size, ascending, and each number's index there."""
    fits = min(whole, default=0) > -HALF and max(whole, default=0) < HALF
    return np.unique(np.array(whole, np.int64 if fits else object), return_inverse=True)


def _places(column: Column, units: list[int], most: int, decimals: int) -> np.ndarray:
    """Return each row's index into `units`, to which the column's distinct numbers are appended.

    They are in units of the last of `most` decimals, rounded to `decimals`.
    """
    places = np.empty(len(column.mantissa), np.int64)
    for scale in np.unique(column.scale).tolist():
        rows = np.flatnonzero(column.scale == scale)
        distinct, place = np.unique(column.mantissa[rows], return_inverse=True)
        places[rows] = place + len(units)
        units += _in_units(distinct.tolist(), scale, most, decimals)
    for row, one in column.wide.items():
        places[row] = len(units)
        units += _in_units([one.mantissa], one.scale, most, decimals)
    return places


def _in_units(mantissas: list[int], scale: int, most: int, decimals: int) -> list[int]:
    if scale > decimals:
        sizes = [numbers.round_to(abs(one), scale - decimals)[0] for one in mantissas]
        mantissas = [-size if one < 0 else size for one, size in zip(mantissas, sizes, strict=True)]
        scale = decimals
    power = 10 ** (most - scale)
    return [one * power for one in mantissas]


def half_width(option: str, given: str) -> HalfWidth:
    """Return the half width that an option gives.

    Raises
    ------
    UsageError
        When it is not a number, or below 0.
    """
    state = numbers.parse_decimals(of_texts([given])).state[0]
    number = state in (numbers.FINE, numbers.TOO_WIDE)
    mantissa, scale = _shortest(exact(given)) if number else Exact(-1, 0)
    if mantissa < 0:
        raise UsageError(f"{option} must be a number, 0 at least, received {given:.60}")
    # 1e3 has a scale of -3: the digits are written out.
    return HalfWidth(option, given, mantissa * 10 ** max(-scale, 0), max(scale, 0))


def _shortest(one: Exact) -> Exact:
    """Return a number without trailing zeros in its decimals."""
    mantissa, scale = one
    while scale > 0 and mantissa % 10 == 0:
        mantissa, scale = mantissa // 10, scale - 1
    return Exact(mantissa, scale)


def checked_decimals(decimals: int | None, *half_widths: HalfWidth) -> int | None:
    """Return the decimals that numbers of bands are rounded to.

    Raises
    ------
    UsageError
        When there are too many, or a half width has more.
    """
    if decimals is None:
        return None
    if not 0 <= decimals <= numbers.MOST_DECIMALS:
        raise UsageError(
            f"--decimals must be between 0 and {numbers.MOST_DECIMALS}, received {decimals}"
        )
    for one in half_widths:
        if one.scale > decimals:
            raise UsageError(
                f"{one.option} {one.text:.60} has {one.scale} decimals, and --decimals {decimals}"
                f" rounds to fewer; give --decimals {one.scale} at least, or a half width of fewer"
            )
    return decimals
