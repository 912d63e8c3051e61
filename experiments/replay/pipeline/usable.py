"""The usable rows of a query's files, each judged once; unusable rows of the input are set aside.

A file is read text by text, as in all replays (`experiments.replay.reading`); the result is columns
of integers and texts.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from datasets.formats import numbers, times
from datasets.formats.arrays import of_texts
from datasets.formats.delimited import read_header
from datasets.formats.gather import NULL_LABELS, read_blocks
from datasets.formats.layout import Layout
from datasets.formats.rejected import BELOW_0, BEYOND_64_BITS, Faults, Rejected, rejected_rows
from datasets.formats.sources import Opener, Source
from experiments.replay import stages
from experiments.replay.faults import SET_ASIDE
from experiments.replay.files import schema_of
from operators.contract import UsageError

# The kind of a column: a time; a number from 0 up, required or optional; money; a label; or any
# text.
TIME, WHOLE, OPTIONAL, MONEY, LABEL, ANYTHING = range(6)
DECIMALS_OF_MONEY = 2
_NULL_LABELS = of_texts([*sorted(NULL_LABELS), None])


def columns_of(path: Path) -> list[str]:
    """Return the names of a file's columns; raises UsageError if it cannot be read."""
    source = Source(str(path), path, None)
    with Opener() as opener, opener.open(source) as handle:
        if is_parquet(path):
            return schema_of(path).names
        return read_header(handle, source.label, ",", True)


class Usable(NamedTuple):
    """Some columns of a file.

    Attributes
    ----------
    table : pyarrow table
        The usable rows. Times, numbers and money are int64, the rest is text.
    lines : int64 array (rows,)
        The line of a text file on which a row begins, or the row number in a Parquet file.
    rejected : list of Rejected
        The unusable rows, by line; empty unless they are set aside.
    counted : str or None
        The kind of the times (`datasets.formats.times`); None without times.
    """

    table: pa.Table
    lines: np.ndarray
    rejected: list[Rejected]
    counted: str | None


def read_usable(
    path: Path,
    holding: Mapping[str, int],
    time_unit: str | None = None,
    aside: bool = False,
    remedy: str = SET_ASIDE,
) -> Usable:
    """Read some columns of a file, of any role in a query.

    Parameters
    ----------
    path : Path
    holding : mapping
        Kinds by column name. Times are returned in s, whatever their unit, and money in
        hundredths.
    time_unit : str or None
        s, ms or us; None if numeric times count s.
    aside : bool
        Whether unusable rows are set aside.
    remedy : str
        What to do about an unusable row, for the error.

    Raises
    ------
    UsageError
        When a column is missing, or a row cannot be used and nothing is set aside.
    """
    # The role "time" keeps the type that a Parquet file declares.
    names = {"time" if kind == TIME else f"column {name}": name for name, kind in holding.items()}
    source = Source(str(path), path, None)
    judge = _Judge(is_parquet(path), time_unit)
    rejected: list[Rejected] = []
    pieces: list[dict[str, pa.Array]] = []
    lines = [np.zeros(0, dtype=np.int64)]
    for _, _, rows in read_blocks(Layout(names), [source]):
        faults, found = Faults(len(rows.line)), {}
        for role, name in names.items():
            found[name], state = judge.judged(rows.columns[role], holding[name])
            faults.note("time" if holding[name] == TIME else name, state, role)
        unusable = rejected_rows(0, rows, faults)
        if unusable and not aside:
            first = unusable[0]
            raise UsageError(
                f"{place(path, first.line)}: {first.reason}: {first.content[:80]!r}; {remedy}"
            )
        rejected += unusable
        stages.current().read(len(rows.line))
        kept = pa.array(faults.usable)
        lines.append(rows.line[faults.usable])
        pieces.append({name: values.take(kept) for name, values in found.items()})
    joined = {
        name: pa.chunked_array([piece[name] for piece in pieces], _type_of(kind))
        for name, kind in holding.items()
    }
    return Usable(pa.table(joined), np.concatenate(lines), rejected, judge.counted)


def declared_types(path: Path) -> dict[str, pa.DataType]:
    """Return the column types that a Parquet file declares; empty for a text file."""
    if not is_parquet(path):
        return {}
    return {field.name: field.type for field in schema_of(path)}


def is_parquet(path: Path) -> bool:
    """Say whether a file is Parquet, by name."""
    return path.name.lower().endswith(".parquet")


def place(path: Path, line: int) -> str:
    """Return the name of a row of a file for messages."""
    return f"{path}, {'row' if is_parquet(path) else 'line'} {line}"


def _type_of(kind: int) -> pa.DataType:
    return pa.string() if kind in (LABEL, ANYTHING) else pa.int64()


class _Judge:
    """Judges the columns of one file, block by block."""

    def __init__(self, typed: bool, time_unit: str | None) -> None:
        self._typed, self._unit = typed, time_unit
        self.counted: str | None = None

    def judged(self, column: pa.Array, kind: int) -> tuple[pa.Array, np.ndarray]:
        """Return the values of a column, and the state of each row (`Faults`)."""
        if kind == TIME:
            return self._times(column)
        text = column.cast(pa.string())
        if kind in (LABEL, ANYTHING) and not self._typed:
            # Blanks around a field are stripped, except in Parquet, where a text is taken as is.
            text = pc.utf8_trim_whitespace(text)
        if kind == LABEL:
            none = pc.is_null(text) if self._typed else pc.is_in(text, value_set=_NULL_LABELS)
        else:
            none = numbers.is_null_text(text)
        missing = pc.fill_null(none, True).to_numpy(zero_copy_only=False)
        state = np.full(len(column), numbers.FINE, dtype=np.uint8)
        if kind in (WHOLE, MONEY, LABEL):
            state[missing] = numbers.NULL
        if kind in (LABEL, ANYTHING):
            return text, state
        parsed = numbers.parse_decimals(text)
        decimals = DECIMALS_OF_MONEY if kind == MONEY else 0
        values, overflow, _ = numbers.to_fixed_point(parsed.mantissa, parsed.scale, decimals)
        # Digits beyond the last allowed decimal must be zero.
        finer = np.maximum(parsed.scale - decimals, 0).astype(np.int64)
        exact = (finer == 0) | (parsed.mantissa % 10 ** np.minimum(finer, 18) == 0)
        fine = (parsed.state == numbers.FINE) & ~overflow & exact
        state[~fine & ~missing] = numbers.UNPARSABLE
        state[(parsed.state == numbers.TOO_WIDE) | overflow] = BEYOND_64_BITS
        if kind != MONEY:
            state[fine & (values < 0)] = BELOW_0
        return pa.array(values, pa.int64(), mask=missing), state

    def _times(self, column: pa.Array) -> tuple[pa.Array, np.ndarray]:
        """Return times in whole seconds, and their states."""
        if self.counted is None:
            # A block without any time does not decide.
            self.counted = times.kind_of(column)
        kind = self.counted or "epoch"
        unit = self._unit if kind == "epoch" else self._unit or "us"
        ticks, state = times.parse_times(column, kind, unit)
        return pa.array(ticks // times.TICKS_A_SECOND[unit or "s"]), state
