"""A data set's folder on disk: its description and its columns, read and checked.

    folder/dataset.json          what it is, and the names of its files in time order
    folder/part-00000.parquet    time, row, key, value or text, and more
    folder/part-00001.parquet

Whatever is wrong with a folder is found here, before anything is built on it, and said in one line
that names the file, the place and what stands there. A value or time is never mended or left out.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from operators.contract import TIMESTAMP_LIMIT, UsageError

TIME_UNITS = ("s", "ms", "us")
ROLES = ("comments", "meters")
REQUIRED = {
    "name": str,
    "role": str,
    "rows": int,
    "time_unit": str,
    "query_time_unit": int,
    "decimals": int,
    "digest": str,
    "files": list,
}


def read_info(path: Path | str) -> dict[str, Any]:
    """Read and check the `dataset.json` of a folder.

    Parameters
    ----------
    path
        The folder of the data set.

    Returns
    -------
    dict

    Raises
    ------
    UsageError
        If there is none, or it is not what the generators write.
    """
    file = Path(path) / "dataset.json"
    try:
        info = json.loads(file.read_text(encoding="utf-8"))
    except OSError as error:
        raise UsageError(
            f"{path} is no data set ({file.name}: {error.strerror}); give a folder that Millrace"
            " made"
        ) from error
    except ValueError as error:
        raise UsageError(f"{file} is not valid JSON ({error}); make the data set again") from error
    for name, kind in REQUIRED.items():
        found = info.get(name) if isinstance(info, dict) else None
        if not isinstance(found, kind) or isinstance(found, bool):
            raise UsageError(f"{file} has no {name} ({kind.__name__}); make the data set again")
    if info["role"] not in ROLES or info["time_unit"] not in TIME_UNITS:
        raise UsageError(
            f"{file} has role {info['role']!r} and time unit {info['time_unit']!r}; known are"
            f" {', '.join(ROLES)} and {', '.join(TIME_UNITS)}"
        )
    named = all(isinstance(name, str) for name in info["files"])
    if info["rows"] < 1 or info["query_time_unit"] < 1 or not info["files"] or not named:
        raise UsageError(f"{file} describes no rows; make the data set again")
    return info


def read_columns(file: Path, payload: str, *, keep: bool) -> pa.Table:
    """Read the columns that are needed of one Parquet file, and check them.

    Parameters
    ----------
    file
    payload
        `value` or `text`; it has to be there.
    keep
        Whether to read that column, too.

    Returns
    -------
    Table
        `time`, `row`, `key`, perhaps the payload, and `stream` if the file has it.

    Raises
    ------
    UsageError
        If the file cannot be read, or a column is missing, of another type, or has nulls.
    """
    try:
        if file.stat().st_size == 0:
            raise UsageError(f"{file} has zero bytes; make the data set again")
        with pq.ParquetFile(file) as opened:
            names = opened.schema_arrow.names
            for name in ("time", "row", "key", payload):
                if name not in names:
                    raise UsageError(
                        f"{file} has no column {name!r}, only {', '.join(names)}; make the data"
                        " set again"
                    )
            wanted = ["time", "row", "key"] + [payload] * keep + ["stream"] * ("stream" in names)
            table = opened.read(wanted)
    except OSError as error:
        reason = error.strerror or str(error).splitlines()[0]
        raise UsageError(f"cannot read {file}: {reason}; make the data set again") from error
    except pa.ArrowInvalid as error:
        raise UsageError(
            f"{file} is not a Parquet file ({str(error).splitlines()[0]}); make the data set again"
        ) from error
    for name in table.column_names:
        _check_column(file, name, table.column(name))
    return table


def _check_column(file: Path, name: str, column: pa.ChunkedArray) -> None:
    """Refuse a column of the wrong type or with nulls."""
    whole = pa.types.is_integer(column.type) and column.type != pa.uint64()
    string = pa.types.is_string(column.type) or pa.types.is_large_string(column.type)
    if not {"key": whole or string, "text": string}.get(name, whole):
        expected = {"key": "integers or text", "text": "text"}.get(name, "integers")
        raise UsageError(
            f"column {name!r} of {file} is {column.type}; {expected} are needed, make the data set"
            " again"
        )
    if column.null_count:
        place = int(np.argmax(pc.is_null(column).to_numpy()))
        raise UsageError(
            f"{name} is null at row {place} of {file}; remove the row or make the data set again"
        )


def integers(parts: list[pa.Table], name: str) -> np.ndarray:
    """Join one integer column of all files into int64."""
    arrays = [np.asarray(part.column(name).to_numpy(), dtype=np.int64) for part in parts]
    return np.concatenate(arrays)


def check_order(
    path: Path,
    files: list[str],
    parts: list[pa.Table],
    time: np.ndarray,
    row: np.ndarray,
    row_stream: np.ndarray | None,
) -> None:
    """Refuse times that decrease or are out of range, and rows that do not count up from 0."""
    ends = np.cumsum([part.num_rows for part in parts])

    def where(index: int) -> str:
        file = int(np.searchsorted(ends, index, side="right"))
        place = index - (int(ends[file - 1]) if file else 0)
        stream = "" if row_stream is None else f" (stream {int(row_stream[index])})"
        return f"row {place} of {path / files[file]}{stream}"

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
                f"time {time[index]} at {where(index)} is not between 0 and 2**62; shift the times"
            )
    wrong = np.flatnonzero(row != np.arange(len(row)))
    if len(wrong):
        index = int(wrong[0])
        raise UsageError(
            f"{where(index)} has number {row[index]} instead of {index}; make the data set again"
        )
    if row_stream is not None and row_stream.min() < 0:
        index = int(np.argmax(row_stream < 0))
        raise UsageError(f"{where(index)} is below 0; number streams from 0")


def code_keys(column: pa.ChunkedArray) -> tuple[np.ndarray, np.ndarray]:
    """Code keys by rank: integers by value, text by its UTF-8 bytes.

    Parameters
    ----------
    column
        Integers or text, without nulls.

    Returns
    -------
    tuple of ndarray
        Codes, int64 (rows,), and labels in code order: int64, or str objects.

    Examples
    --------
    >>> code_keys(pa.chunked_array([["b", "é", "b", "a"]]))
    (array([1, 2, 1, 0]), array(['a', 'b', 'é'], dtype=object))
    """
    encoded = column.dictionary_encode().unify_dictionaries().combine_chunks()
    labels = encoded.dictionary.to_pylist()
    text = not pa.types.is_integer(column.type)
    order = sorted(range(len(labels)), key=lambda i: labels[i].encode() if text else labels[i])
    codes = np.empty(len(labels), dtype=np.int64)
    codes[order] = np.arange(len(labels))
    ranked = np.array([labels[i] for i in order], dtype=object if text else np.int64)
    return codes[encoded.indices.to_numpy()], ranked


def key_column(path: Path, parts: list[pa.Table]) -> pa.ChunkedArray:
    """Join the keys of all files, which have to be of one type."""
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
