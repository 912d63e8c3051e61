"""Reads tables with a column mapping (CSV, TSV or Parquet), and London's, with known columns.

London's files come in two variants: the original of the London Datastore, with seven decimals in
the seconds and padded numbers, and one written by pandas, with a row number in front::

    LCLid[,stdorToU],DateTime,KWH/hh (per half hour)
    ,mac,datetime,kwhh
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import BinaryIO

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from datasets.formats.delimited import Delimited
from datasets.formats.layout import Layout
from datasets.formats.rows import Rows
from datasets.formats.sources import Source
from operators.contract import UsageError

LONDON_COLUMNS = {
    "key": ("lclid", "mac"),
    "time": ("datetime", "tstp"),
    "value": ("kwh/hh (per half hour)", "kwhh", "energy(kwh/hh)"),
}
"""Names of London's columns in lower case; other columns are not read."""

PARQUET_BLOCK_ROWS = 1 << 17


def read_table(layout: Layout, source: Source, handle: BinaryIO) -> Iterator[Rows]:
    """Read a table by the names of its columns."""
    name = (source.member or source.path.name).lower().removesuffix(".gz")
    if name.endswith(".parquet"):
        yield from _read_parquet(layout, source.label, handle)
        return
    is_tsv = name.endswith(".tsv")
    delimiter = layout.delimiter or ("\t" if is_tsv else ",")
    quoted = not is_tsv if layout.quoted is None else layout.quoted
    file = Delimited(handle, source.label, delimiter, quoted)
    places = {
        role: find_column(source.label, file.header, column)
        for role, column in layout.columns.items()
    }
    yield from _read_columns(file, places)


def read_london(layout: Layout, source: Source, handle: BinaryIO) -> Iterator[Rows]:
    """Read one of London's files, either variant."""
    file = Delimited(handle, source.label, ",", True)
    header, places = file.header, {}
    for role, names in LONDON_COLUMNS.items():
        fitting = [at for at, name in enumerate(header) if name.lower() in names]
        if len(fitting) != 1:
            raise UsageError(
                f"{source.label} has {len(fitting)} columns named {' or '.join(names)}, but "
                f"london-smart-meter needs one; its header is {_shown(header)}"
            )
        places[role] = fitting[0]
    for rows in _read_columns(file, places):
        rows.columns["key"] = pc.utf8_trim_whitespace(rows.columns["key"])
        yield rows


def find_column(label: str, header: list[str], column: str) -> int:
    """Return the index of a column, which must be in the header exactly once."""
    times = header.count(column)
    if times != 1:
        what = "no column" if times == 0 else f"{times} columns"
        remedy = "name one of these" if times == 0 else "rename all but one"
        mark = _other_mark(header, column)
        if mark is not None:
            remedy = f"its fields are parted by {mark!r}, and commas are read: convert the file"
        raise UsageError(
            f"{label} has {what} named {column!r}: its header is {_shown(header)}; {remedy}"
        )
    return header.index(column)


def _shown(header: list[str], at_most: int = 12) -> str:
    more = f", ... ({len(header)} in all)" if len(header) > at_most else ""
    # A blank at the end of a name would be invisible.
    names = (repr(name[:40]) if name != name.strip() else name[:40] for name in header[:at_most])
    return ", ".join(names) + more


def _other_mark(header: list[str], column: str) -> str | None:
    """Return the likely delimiter of a header that was read as one name but contains the column."""
    for mark in (";", "\t", "|"):
        names = header[0].split(mark) if len(header) == 1 else []
        if len(names) > 1 and column in (name.strip(' "') for name in names):
            return mark
    return None


def _read_columns(file: Delimited, places: dict[str, int]) -> Iterator[Rows]:
    for block in file.blocks(list(places.values())):
        columns = {role: block.columns[place] for role, place in places.items()}
        yield Rows(block.line, columns, block.raw, block.faults)


def _read_parquet(layout: Layout, label: str, handle: BinaryIO) -> Iterator[Rows]:
    source = handle if handle.seekable() else pa.BufferReader(handle.read())
    try:
        file = pq.ParquetFile(source)
        for column in layout.columns.values():
            find_column(label, file.schema_arrow.names, column)
        # The equality of two rows depends on all columns.
        wanted = None if layout.whole_rows else list(dict.fromkeys(layout.columns.values()))
        first = 1
        for batch in file.iter_batches(PARQUET_BLOCK_ROWS, columns=wanted):
            columns = {
                role: _readable(label, role, column, batch.column(column), layout.integers)
                for role, column in layout.columns.items()
            }
            line = np.arange(first, first + len(batch))
            yield Rows(line, columns, _Content(batch).__getitem__, [])
            first += len(batch)
    except (pa.ArrowException, OSError) as error:
        first_line = str(error).splitlines()[0]
        said = f"{label} is not a whole Parquet file: {first_line.rstrip('.')}"
        raise UsageError(f"{said}; fetch or write it again") from None


class _Content:
    """Rows of a Parquet batch as JSON objects."""

    def __init__(self, batch: pa.RecordBatch) -> None:
        self._batch = batch

    def __getitem__(self, row: int) -> str:
        row_dict = self._batch.slice(row, 1).to_pylist()[0]
        return json.dumps(row_dict, ensure_ascii=False, default=str)


def _readable(label: str, role: str, name: str, column: pa.Array, integers: bool) -> pa.Array:
    """Return a Parquet column as strings; a time keeps a type that has a meaning.

    Other integers keep their type if requested, except those read as texts.
    """
    if pa.types.is_dictionary(column.type):
        column = column.dictionary_decode()
    kind = column.type
    if integers and role != "text" and pa.types.is_integer(kind):
        return column
    if role == "time" and (pa.types.is_timestamp(kind) or pa.types.is_date(kind)):
        return column
    if role == "time" and (pa.types.is_integer(kind) or pa.types.is_floating(kind)):
        return column
    simple = (
        pa.types.is_integer,
        pa.types.is_floating,
        pa.types.is_decimal,
        pa.types.is_string,
        pa.types.is_large_string,
        pa.types.is_string_view,
        pa.types.is_binary,
        pa.types.is_large_binary,
        pa.types.is_boolean,
        pa.types.is_null,
    )
    if not any(is_of(kind) for is_of in simple):
        raise UsageError(f"{label}: column {name!r} is {kind}, which cannot be used as {role}")
    # Arrow writes a double as the shortest text that reads back as the same double.
    try:
        return column.cast(pa.string())
    except pa.ArrowInvalid:
        raise UsageError(f"{label}: column {name!r} holds {kind} that is no UTF-8 text") from None
