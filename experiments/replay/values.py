"""Values of several files to exact numbers, and whether they are whole numbers or decimals."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from datasets.formats import numbers
from datasets.formats.arrays import numbers_of, of_flags
from datasets.formats.sources import Source
from experiments.replay.bands import Column, exact, on_a_grid
from experiments.replay.files import schema_of
from experiments.replay.request import Numbers

LARGEST_UNSIGNED = 2**64 - 1
UNSIGNED = re.compile(r"\+?0*[0-9]{1,20}")


class ValueColumn:
    """The value column of all inputs.

    Values are whole numbers if no Parquet file declares otherwise and every value in a text file is
    written as one: 5.00 and 5e3 are decimals. A requested number of decimals takes precedence.

    Parameters
    ----------
    name : str or None
        Name of the column; None if no values are read.
    sources : list of Source
        The inputs in the order of their streams.
    decimals : int or None
        Digits after the point that values are rounded to; None keeps all of them.
    names : sequence of str
        The column's name in each input, if the names differ.
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
        """Whether the values parsed so far are whole numbers, by text and by type."""
        if self._decimals is not None or self._name is None:
            return not self._decimals
        typed = [one for one in self._sources if one[0].label.lower().endswith(".parquet")]
        return self._written_whole and not any(_declares_decimals(*one) for one in typed)

    def parse(self, column: pa.Array) -> numbers.Decimals:
        """Parse a column of decimal texts, see ``datasets.formats.numbers``; fast for integers."""
        whole = whole_numbers(column)
        if whole is None:
            column = column.cast(pa.string())
            parsed = numbers.parse_decimals(column, decimals=self._decimals)
            if self._written_whole:
                pointed = pc.fill_null(pc.match_substring_regex(column, "[.eE]"), False)
                number = np.isin(parsed.state, (numbers.FINE, numbers.TOO_WIDE))
                self._written_whole = not pointed.to_numpy(zero_copy_only=False)[number].any()
            return parsed
        rows = len(whole)
        return numbers.Decimals(whole, np.zeros(rows, np.int16), np.zeros(rows, np.uint8), 0)


class Scaled(NamedTuple):
    """A column of numbers, in units of the last decimal that any of them has.

    Attributes
    ----------
    decimals : int
    whole : bool
        Whether they are whole numbers; decimals that happen to be whole are not.
    values : list of int64 array
        Values of the used rows of each input.
    doubles : bool
        Whether values are instead doubles, as integers of the same order (`ordered`).
    unsigned : bool
        Whether they are unsigned whole numbers, each stored less 2**63.
    half_width : int
        Half width of the band, in the same unit. If one unit of 64 bits is not enough, values and
        half width are integers that give the same pairs (`bands.on_a_grid`).
    """

    decimals: int
    whole: bool
    values: list[np.ndarray]
    doubles: bool = False
    unsigned: bool = False
    half_width: int = 0


def ordered(doubles: np.ndarray) -> np.ndarray:
    """Return float64 as int64 of the same order.

    Examples
    --------
    >>> bool(np.all(np.diff(ordered(np.array([-2.5, -1e-300, 0.0, 1e-300, 7.0]))) > 0))
    True
    """
    return _without_sign_order(doubles.view(np.int64))


def from_ordered(values: np.ndarray) -> np.ndarray:
    """Return the float64 from which `ordered` made these int64."""
    return _without_sign_order(values).view(np.float64)


def _without_sign_order(bits: np.ndarray) -> np.ndarray:
    # A double is a sign and a magnitude: below zero larger bits are smaller numbers.
    return np.where(bits < 0, bits ^ np.int64(numbers.LARGEST), bits)


class Parsed(NamedTuple):
    """The numbers of a block.

    Attributes
    ----------
    mantissa, scale, state
        As in `datasets.formats.numbers.Decimals`.
    wide : bool array
        Which numbers have more digits than 64 bits hold. Those that may still be used are FINE.
    nearest : float64 array or None
        The nearest doubles, where these are allowed.
    """

    mantissa: np.ndarray
    scale: np.ndarray
    state: np.ndarray
    wide: np.ndarray
    nearest: np.ndarray | None = None


class TooLarge(NamedTuple):
    """A number that does not fit 64 bits with a given number of decimals.

    Attributes
    ----------
    file, row : int
        The row counts the used rows of the file.
    given : str
    decimals : int or None
        None if the number fits with none.
    fit : int or None
        The number of decimals with which all numbers fit; None if there is none.
    """

    file: int
    row: int
    given: str
    decimals: int | None
    fit: int | None


class NumberColumn:
    """A column of numbers of all inputs, read a block at a time.

    Parameters
    ----------
    kind : Numbers
        The kind of the column.
    role : str
        The column's role when blocks are read.
    names : sequence of str
        The column's name in each input.
    sources : list of Source
    decimals : int or None
        Digits after the point that numbers are rounded to; None keeps all of them.
    sets_aside : bool
        Whether unusable rows are set aside. A number in a text file that does not fit a signed 64
        bits is then set aside, even if it fits without a sign.
    """

    def __init__(
        self,
        kind: Numbers,
        role: str,
        names: Sequence[str],
        sources: list[Source],
        decimals: int | None,
        sets_aside: bool,
    ) -> None:
        self.kind, self.role, self.names = kind, role, names
        self._decimals, self._sets_aside = decimals, sets_aside
        self._texts = ValueColumn(role, sources, decimals, names)
        self._kept: list[list[tuple[np.ndarray, np.ndarray]]] = [[] for _ in sources]
        self._nearest: list[list[np.ndarray]] = [[] for _ in sources]
        self._wide: list[dict[int, str]] = [{} for _ in sources]

    def parse(self, column: pa.Array) -> Parsed:
        """Parse the numbers of a block."""
        found = self._texts.parse(column)
        too_wide = found.state == numbers.TOO_WIDE
        nearest, wide = None, too_wide
        if self.kind.doubles:
            number = np.isin(found.state, (numbers.FINE, numbers.TOO_WIDE))
            nearest = _nearest(column, found, number)
            wide = too_wide & np.isfinite(nearest)
        elif self.kind.half_width is None and not pa.types.is_uint64(column.type):
            wide = too_wide & (not self._sets_aside)
        state = np.where(wide, numbers.FINE, found.state).astype(np.uint8)
        # Wide numbers are kept as text; their digits do not affect the scale of the others.
        scale = np.where(wide, 0, found.scale) if wide.any() else found.scale
        return Parsed(found.mantissa, scale, state, wide, nearest)

    def keep(self, file: int, parsed: Parsed, rows: np.ndarray, texts: pa.Array) -> None:
        """Keep the numbers of the used `rows` of a block, with their texts."""
        before = sum(len(mantissa) for mantissa, _ in self._kept[file])
        for row in np.flatnonzero(parsed.wide[rows]).tolist():
            self._wide[file][before + row] = str(texts[int(rows[row])]).strip()
        if parsed.nearest is not None:
            self._nearest[file].append(parsed.nearest[rows])
        self._kept[file].append((taken(parsed.mantissa, rows), taken(parsed.scale, rows)))

    def scaled(self, refuse: Callable[[TooLarge], None]) -> Scaled:
        """Bring the numbers of all files to one scale.

        Parameters
        ----------
        refuse : callable
            Raises for the first number that does not fit.
        """
        if self.kind.doubles and not self._texts.whole:
            nothing = np.zeros(0)
            values = [ordered(np.concatenate([nothing, *pieces])) for pieces in self._nearest]
            return Scaled(0, False, values, doubles=True)
        mantissas, scales = zip(*map(_joined, self._kept), strict=True)
        half_width, decimals = self.kind.half_width, self._decimals
        if decimals is None:
            found = (int(scale.max()) for scale in scales if scale.size)
            decimals = max([0 if half_width is None else half_width.scale, *found])
        width = 0 if half_width is None else half_width.units(decimals)
        fixed = [
            numbers.to_fixed_point(*one, decimals) for one in zip(mantissas, scales, strict=True)
        ]
        values = [value for value, _, _ in fixed]
        overflows = [np.flatnonzero(overflow).tolist() for _, overflow, _ in fixed]
        if not any(overflows) and not any(self._wide) and width <= numbers.LARGEST:
            return Scaled(decimals, self._texts.whole, values, half_width=width)
        if half_width is not None:
            wide = ({row: exact(text) for row, text in one.items()} for one in self._wide)
            columns = [Column(*one) for one in zip(mantissas, scales, wide, strict=True)]
            values, width = on_a_grid(columns, half_width, self._decimals)
            return Scaled(decimals, self._texts.whole, values, half_width=width)
        if self._without_sign(mantissas, scales):
            return Scaled(0, True, self._unsigned(mantissas), unsigned=True)
        for file, texts in enumerate(self._wide):
            for row, given in texts.items():
                refuse(TooLarge(file, row, given, None, None))
        fit = numbers.most_decimals_that_fit(np.concatenate(mantissas), np.concatenate(scales))
        for file, rows in enumerate(overflows):
            for row in rows:
                mantissa, scale = mantissas[file][row], int(scales[file][row])
                given = f"{mantissa}e{-scale}" if scale else str(mantissa)
                refuse(TooLarge(file, row, given, decimals, fit))
        raise AssertionError("what does not fit was not refused")

    def _without_sign(self, mantissas: Sequence[np.ndarray], scales: Sequence[np.ndarray]) -> bool:
        """Say whether all are unsigned whole numbers of 64 bits, including those that fit."""
        signed = zip(mantissas, scales, strict=True)
        wide = [text for texts in self._wide for text in texts.values()]
        return (
            self._texts.whole
            and not any(scale.any() or (mantissa < 0).any() for mantissa, scale in signed)
            and all(UNSIGNED.fullmatch(text) and int(text) <= LARGEST_UNSIGNED for text in wide)
        )

    def _unsigned(self, mantissas: Sequence[np.ndarray]) -> list[np.ndarray]:
        """Return unsigned numbers, each less 2**63."""
        values = [mantissa + np.int64(numbers.SMALLEST) for mantissa in mantissas]
        for value, texts in zip(values, self._wide, strict=True):
            for row, text in texts.items():
                value[row] = int(text) + numbers.SMALLEST
        return values


def _nearest(column: pa.Array, found: numbers.Decimals, number: np.ndarray) -> np.ndarray:
    """Return the nearest doubles of texts: 0.0 for no number, infinite beyond the range."""
    if not found.scale.any() and number.all() and (found.state == numbers.FINE).all():
        return found.mantissa.astype(np.float64)
    plain = pc.utf8_ltrim(pc.utf8_trim_whitespace(column.cast(pa.string())), "+")
    texts = pc.if_else(of_flags(number), plain, "0")
    try:
        nearest = texts.cast(pa.float64()).to_numpy(zero_copy_only=False)
    except pa.ArrowInvalid:
        # Arrow rejects numbers beyond the largest double.
        nearest = np.array([float(text) for text in texts.to_pylist()])
    # -0.0 becomes 0.0, as everywhere.
    return nearest + 0.0


def _joined(pieces: list[tuple[np.ndarray, np.ndarray]]) -> tuple[np.ndarray, np.ndarray]:
    """Return the mantissas and the scales of all blocks of a file."""
    if len(pieces) == 1:
        return pieces[0]
    nothing = np.zeros(0, np.int64), np.zeros(0, np.int16)
    mantissas, scales = zip(nothing, *pieces, strict=True)
    return np.concatenate(mantissas), np.concatenate(scales)


def taken(values: np.ndarray, rows: np.ndarray) -> np.ndarray:
    """Return the values of ascending rows; without a copy if these are all rows."""
    return values if len(rows) == len(values) else values[rows]


def _declares_decimals(source: Source, name: str) -> bool:
    kind = schema_of(source.path).field(name).type
    if pa.types.is_dictionary(kind):
        kind = kind.value_type
    return pa.types.is_floating(kind) or (pa.types.is_decimal(kind) and kind.scale > 0)


def whole_numbers(column: pa.Array) -> np.ndarray | None:
    """Return a column of plain integers as int64; None if it has anything else or nulls.

    A fast path for most files; everything else is parsed text by text.
    """
    is_text = pa.types.is_string(column.type)
    if column.null_count or not (is_text or pa.types.is_integer(column.type)):
        return None
    # Arrow reads 0x10 as sixteen.
    if is_text and _has_letter_x(column):
        return None
    try:
        return numbers_of(column.cast(pa.int64()))
    except pa.ArrowInvalid:
        return None


def _has_letter_x(column: pa.Array) -> bool:
    """Say whether a column of strings contains an x or X, by scanning the bytes."""
    _, offsets, content = column.buffers()
    if content is None or not len(column):
        return False
    places = np.frombuffer(offsets, np.int32)[column.offset : column.offset + len(column) + 1]
    letters = np.frombuffer(content, np.uint8)[places[0] : places[-1]]
    return bool(np.any(letters == ord("x")) or np.any(letters == ord("X")))
