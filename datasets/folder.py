"""A data set's folder on disk: reads and checks the Parquet files.

    folder/dataset.json              description, and the files of each table in order
    folder/readings-00000.parquet    time, row, key, value or text, and more
    folder/readings-00001.parquet

Every fault of a folder is found here, before anything is built on it, and reported in one line with
the file, the position and the faulty content. Values and times are never repaired or skipped.
`description` does the same for `dataset.json`.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from datasets.declare import Column, Table
from operators.contract import TIMESTAMP_LIMIT, UsageError

STREAM = "stream"
"""The column of a recorded table that has the physical stream of each row."""


def read_file(
    file: Path, needed: Sequence[str], *, unread: Sequence[str] = (), if_there: Sequence[str] = ()
) -> pa.Table:
    """Read columns of one Parquet file.

    Parameters
    ----------
    file
    needed
        Required columns.
    unread
        Required columns that are only checked for, and not read.
    if_there
        Further columns to read if the file has them.

    Raises
    ------
    UsageError
        If the file cannot be read or lacks a column.
    """
    try:
        if file.stat().st_size == 0:
            raise UsageError(f"{file} has zero bytes; make the data set again")
        with pq.ParquetFile(file) as opened:
            names = opened.schema_arrow.names
            for name in needed:
                if name not in names:
                    raise UsageError(
                        f"{file} has no column {name!r}, only {', '.join(names)}; make the data"
                        " set again"
                    )
            wanted = [name for name in needed if name not in unread]
            return opened.read(wanted + [name for name in if_there if name in names])
    except OSError as error:
        reason = error.strerror or str(error).splitlines()[0]
        raise UsageError(f"cannot read {file}: {reason}; make the data set again") from error
    except pa.ArrowInvalid as error:
        raise UsageError(
            f"{file} is not a Parquet file ({str(error).splitlines()[0]}); make the data set again"
        ) from error


def read_stream(file: Path, table: Table, *, payload: bool) -> pa.Table:
    """Read and check the columns of a keyed stream from one file of the table.

    Parameters
    ----------
    file
    table
        A keyed stream.
    payload
        Whether to read the payload, too; it must exist in any case.

    Returns
    -------
    Table
        Columns by purpose: `time`, `row` if the table numbers the rows, `key`, `value` or `text`,
        and `stream` if the file has it.

    Raises
    ------
    UsageError
        If the file cannot be read, or a column is missing, of another type, or has nulls.
    """
    purposes = {getattr(table, each): each for each in ("time", "row", "key", table.payload)}
    purposes.pop(None, None)
    unread = [] if payload else [getattr(table, table.payload)]
    read = read_file(file, list(purposes), unread=unread, if_there=[STREAM])
    for name in read.column_names:
        _check_purpose(file, name, purposes.get(name, STREAM), read.column(name))
    return read.rename_columns([purposes.get(name, name) for name in read.column_names])


def _check_purpose(file: Path, name: str, purpose: str, column: pa.ChunkedArray) -> None:
    """Refuse a column with nulls or with a type that does not suit the purpose."""
    whole = pa.types.is_integer(column.type) and column.type != pa.uint64()
    string = pa.types.is_string(column.type) or pa.types.is_large_string(column.type)
    if not {"key": whole or string, "text": string}.get(purpose, whole):
        expected = {"key": "integers or text", "text": "text"}.get(purpose, "integers")
        raise UsageError(
            f"column {name!r} of {file} is {column.type}; {expected} are needed, make the data set"
            " again"
        )
    _check_nulls(file, name, column)


def _check_nulls(file: Path, name: str, column: pa.ChunkedArray) -> None:
    if column.null_count:
        place = int(np.argmax(pc.is_null(column).to_numpy()))
        raise UsageError(
            f"{name} is null at row {place} of {file}; remove the row or make the data set again"
        )


def read_typed(file: Path, table: Table) -> pa.Table:
    """Read all columns of one file of a table, and check their types and nulls.

    Raises
    ------
    UsageError
        If the file cannot be read, or a column is missing, differs from the declared type, or has
        undeclared nulls.
    """
    read = read_file(file, [column.name for column in table.columns])
    check_types(file, table, read.schema)
    for column in table.columns:
        if not column.nullable:
            _check_nulls(file, column.name, read.column(column.name))
    return read


def check_types(file: Path, table: Table, schema: pa.Schema) -> None:
    """Refuse a file whose columns differ from the types that the table declares.

    Raises
    ------
    UsageError
        If the type of a column differs.
    """
    for column in table.columns:
        found = schema.field(column.name).type
        if found != column.arrow_type:
            raise UsageError(
                f"column {column.name!r} of {file} is {found} and declared as {column.type}; mend"
                " the declaration or make the data set again"
            )


def typed_column(parts: list[pa.Table], column: Column) -> np.ndarray:
    """Join one column of all files; keeps the type, and masks nulls of a nullable column."""
    joined = pa.chunked_array(
        [chunk for part in parts for chunk in part.column(column.name).chunks]
    )
    if not column.nullable:
        return joined.to_numpy()
    # NumPy has no null for integers and booleans: the values under the mask are meaningless.
    filled = joined.fill_null(pa.scalar(0).cast(column.arrow_type))
    return np.ma.MaskedArray(filled.to_numpy(), mask=joined.is_null().to_numpy())


def integers(parts: list[pa.Table], name: str) -> np.ndarray:
    """Join one integer column of all files into int64."""
    arrays = [np.asarray(part.column(name).to_numpy(), dtype=np.int64) for part in parts]
    return np.concatenate(arrays)


def check_order(
    path: Path,
    files: list[str],
    parts: list[pa.Table],
    time: np.ndarray | None,
    row: np.ndarray | None,
    row_stream: np.ndarray | None = None,
) -> None:
    """Refuse times that decrease or are out of range, and row numbers that do not count up from 0.

    None stands for a column that the table does not have.
    """
    ends = np.cumsum([part.num_rows for part in parts])

    def where(index: int) -> str:
        file = int(np.searchsorted(ends, index, side="right"))
        place = index - (int(ends[file - 1]) if file else 0)
        stream = "" if row_stream is None else f" (stream {int(row_stream[index])})"
        return f"row {place} of {path / files[file]}{stream}"

    if time is not None:
        backwards = np.flatnonzero(time[1:] < time[:-1])
        if len(backwards):
            index = int(backwards[0]) + 1
            raise UsageError(
                f"out of order at {where(index)}: time {time[index]} comes after {time[index - 1]};"
                " sort the data set by time"
            )
        for index in (0, len(time) - 1):
            if not 0 <= time[index] < TIMESTAMP_LIMIT:
                raise UsageError(
                    f"time {time[index]} at {where(index)} is not between 0 and 2**62; shift the"
                    " times"
                )
    if row is not None:
        wrong = np.flatnonzero(row != np.arange(len(row)))
        if len(wrong):
            index = int(wrong[0])
            raise UsageError(
                f"{where(index)} has number {row[index]} instead of {index}; make the data set"
                " again"
            )
    if row_stream is not None and row_stream.min() < 0:
        index = int(np.argmax(row_stream < 0))
        raise UsageError(f"{where(index)} is below 0; number streams from 0")


def key_column(path: Path, parts: list[pa.Table]) -> pa.ChunkedArray:
    """Join the keys of all files, which must be of one type."""
    types = {str(part.column("key").type) for part in parts}
    if len(types) > 1:
        raise UsageError(
            f"the files of {path} have keys of types {' and '.join(sorted(types))}; make the data"
            " set again"
        )
    return pa.chunked_array([chunk for part in parts for chunk in part.column("key").chunks])


def stream_column(path: Path, files: list[str], parts: list[pa.Table]) -> np.ndarray | None:
    """Join the recorded streams of all files; None if no file has any."""
    without = [f for f, part in zip(files, parts, strict=True) if "stream" not in part.column_names]
    if len(without) == len(files):
        return None
    if without:
        raise UsageError(
            f"{path / without[0]} has no column 'stream' and other files have; make the data set"
            " again"
        )
    return integers(parts, "stream")


def text_buffers(parts: list[pa.Table]) -> tuple[np.ndarray, np.ndarray]:
    """Join the texts of all files: offsets, int64 (rows + 1,), and bytes, uint8."""
    sizes, contents = [], []
    for part in parts:
        for chunk in part.column("text").chunks:
            whole = chunk.cast(pa.large_binary())
            _, bounds, data = whole.buffers()
            ends = np.frombuffer(bounds, dtype=np.int64)[whole.offset :][: len(whole) + 1]
            sizes.append(np.diff(ends))
            content = np.frombuffer(data, dtype=np.uint8) if data else np.zeros(0, np.uint8)
            contents.append(content[ends[0] : ends[-1]] if len(whole) else content[:0])
    offsets = np.zeros(sum(map(len, sizes)) + 1, dtype=np.int64)
    np.cumsum(np.concatenate(sizes), out=offsets[1:])
    return offsets, np.concatenate(contents)
