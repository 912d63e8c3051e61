"""Values of several files to exact numbers, and whether they are whole numbers or decimals."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from datasets.formats import numbers
from datasets.formats.sources import Source
from experiments.replay.request import Numbers


class ValueColumn:
    """The value column of all inputs.

    Values are whole numbers where no Parquet file says that they are not, and every one in a text
    file is written as one: 5.00 and 5e3 are decimals. Where a number of decimals is asked for, it
    decides.

    Parameters
    ----------
    name : str or None
        Of the column; None where no values are read.
    sources : list of Source
        The inputs in the order of their streams.
    decimals : int or None
        Digits after the point that values are rounded to; None keeps all of them.
    names : sequence of str
        The column's name in each input, where they differ.
    """

    def __init__(
        self,
        name: str | None,
        sources: list[Source],
        decimals: int | None,
        names: Sequence[str] = (),
    ) -> None:
        self._name, self._decimals = name, decimals
        self._sources = list(zip(sources, names or [name] * len(sources), strict=True))
        self._written_whole = True

    @property
    def whole(self) -> bool:
        """Whether the values of the rows parsed so far are whole numbers, by text and by type."""
        if self._decimals is not None or self._name is None:
            return not self._decimals
        typed = [one for one in self._sources if one[0].label.lower().endswith(".parquet")]
        return self._written_whole and not any(_declares_decimals(*one) for one in typed)

    def parse(self, column: pa.Array) -> numbers.Decimals:
        """Parse a column of decimal texts, see ``datasets.formats.numbers``; integers quickly."""
        whole = whole_numbers(column)
        if whole is None or pc.any(pc.equal(pa.array(whole), -(2**63))).as_py():
            parsed = numbers.parse_decimals(column, decimals=self._decimals)
            if self._written_whole:
                pointed = pc.fill_null(pc.match_substring_regex(column, "[.eE]"), False)
                fine = parsed.state == numbers.FINE
                self._written_whole = not pointed.to_numpy(zero_copy_only=False)[fine].any()
            return parsed
        rows = len(whole)
        return numbers.Decimals(whole, np.zeros(rows, np.int16), np.zeros(rows, np.uint8), 0)


class Scaled(NamedTuple):
    """A column of numbers in whole units of the last decimal that any of them has.

    Attributes
    ----------
    decimals : int
    whole : bool
        Whether they are whole numbers; decimals that happen to be whole are not.
    values : list of int64 array
        Of the used rows of each input.
    """

    decimals: int
    whole: bool
    values: list[np.ndarray]


class TooLarge(NamedTuple):
    """A number that does not fit 64 bits with so many decimals.

    Attributes
    ----------
    file, row : int
        The row counts those of its file that are used.
    given : str
    decimals : int
    fit : int or None
        With how many decimals all numbers fit; None when with none.
    """

    file: int
    row: int
    given: str
    decimals: int
    fit: int | None


class NumberColumn:
    """A column of numbers of all inputs, read a block at a time.

    Parameters
    ----------
    kind : Numbers
        What it holds.
    role : str
        What its columns are called among those that are read.
    names : sequence of str
        The column's name in each input.
    sources : list of Source
    decimals : int or None
        Digits after the point that numbers are rounded to; None keeps all of them.
    """

    def __init__(
        self,
        kind: Numbers,
        role: str,
        names: Sequence[str],
        sources: list[Source],
        decimals: int | None,
    ) -> None:
        self.kind, self.role, self.names = kind, role, names
        self._decimals = decimals
        self._texts = ValueColumn(role, sources, decimals, names)
        self._kept: list[list[tuple[np.ndarray, np.ndarray]]] = [[] for _ in sources]

    def parse(self, column: pa.Array) -> numbers.Decimals:
        """Parse the numbers of a block."""
        return self._texts.parse(column)

    def keep(self, file: int, parsed: numbers.Decimals, rows: np.ndarray) -> None:
        """Keep the numbers of those rows of a block that are used."""
        self._kept[file].append((parsed.mantissa[rows], parsed.scale[rows]))

    def scaled(self, refuse: Callable[[TooLarge], None]) -> Scaled:
        """Bring the numbers of all files to one scale.

        Parameters
        ----------
        refuse : callable
            Raises for the first number that does not fit.
        """
        mantissas, scales = zip(*map(_joined, self._kept), strict=True)
        decimals = self._decimals
        if decimals is None:
            found = (int(scale.max()) for scale in scales if scale.size)
            decimals = max([self.kind.least_decimals, *found])
        values = []
        for file, (mantissa, scale) in enumerate(zip(mantissas, scales, strict=True)):
            value, overflow, _ = numbers.to_fixed_point(mantissa, scale, decimals)
            for row in np.flatnonzero(overflow)[:1].tolist():
                fit = numbers.most_decimals_that_fit(
                    np.concatenate(mantissas), np.concatenate(scales)
                )
                given = f"{mantissa[row]}e{-int(scale[row])}" if scale[row] else str(mantissa[row])
                refuse(TooLarge(file, row, given, decimals, fit))
            values.append(value)
        return Scaled(decimals, self._texts.whole, values)


def _joined(pieces: list[tuple[np.ndarray, np.ndarray]]) -> tuple[np.ndarray, np.ndarray]:
    """Return the mantissas and the scales of all blocks of a file."""
    if len(pieces) == 1:
        return pieces[0]
    nothing = np.zeros(0, np.int64), np.zeros(0, np.int16)
    mantissas, scales = zip(nothing, *pieces, strict=True)
    return np.concatenate(mantissas), np.concatenate(scales)


def _declares_decimals(source: Source, name: str) -> bool:
    kind = pq.read_schema(source.path).field(name).type
    if pa.types.is_dictionary(kind):
        kind = kind.value_type
    return pa.types.is_floating(kind) or (pa.types.is_decimal(kind) and kind.scale > 0)


def whole_numbers(column: pa.Array) -> np.ndarray | None:
    """Return a column of plain integers as int64, or None where it is something else or has nulls.

    The quick way for what most files hold; everything else is parsed text by text.
    """
    is_text = pa.types.is_string(column.type)
    if column.null_count or not (is_text or pa.types.is_integer(column.type)):
        return None
    # Arrow reads 0x10 as sixteen.
    if is_text and pc.any(pc.match_substring(column, "x", ignore_case=True)).as_py():
        return None
    try:
        return column.cast(pa.int64()).to_numpy(zero_copy_only=False)
    except pa.ArrowInvalid:
        return None
