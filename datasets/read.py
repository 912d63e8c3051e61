"""Loads data sets into memory, as columns and as physical streams; without Spark.

All input of operators comes from here. `load` reads the Parquet files of a folder into NumPy
columns and checks them; `split` distributes the rows over physical streams:

    dataset:   row   0 1 2 3 4 5 6 7 8     in time order
    stream:          1 0 1 1 0 0 1 0 0     hash(seed, row) modulo the number of inputs
    streams:   0: 1 4 5 7 8   1: 0 2 3 6   offsets 0, 5, 9; each stream is sorted by time

so that one set on disk serves any number of inputs. Recorded data with physical streams keep them
(modulo the inputs). The total order that operators follow is (timestamp, stream, position in the
stream); `rank` is each row's position in it.

Guaranteed after `load`: times are integers from 0 to below 2**62 and never decrease, rows count up
from 0, no key is null, and keys are coded by rank (integers by value, text by its UTF-8 bytes), so
that codes ascend as the labels do. `folder` refuses a set that violates this, in one line that
names the file, the position and the content.

This is the view of the main table as a keyed stream. A data set may have more tables and columns,
or no key: `read_table` returns the columns of any table as they are declared.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa

from datasets.description import main_table, read_info, stored_table
from datasets.folder import (
    check_order,
    integers,
    key_column,
    read_stream,
    read_typed,
    stream_column,
    text_buffers,
    typed_column,
)
from datasets.in_memory import InMemory
from datasets.keys import code_keys
from operators.contract import UsageError

MOST_INPUTS = 1 << 15  # stream numbers are sorted as 16-bit integers
ROWS_AT_ONCE = 1 << 15  # a column of this many rows takes 256 KiB; a few of them fit in a cache


class Streams(NamedTuple):
    """The rows of a data set, distributed over physical streams; all arrays are int64.

    Attributes
    ----------
    offsets : ndarray, (inputs + 1,)
        Stream s is rows `offsets[s]` to before `offsets[s + 1]` of the other arrays.
    timestamp, key, value : ndarray, (rows,)
    rank : ndarray, (rows,)
        Position of the row in the total order (timestamp, stream, position), from 0.
    """

    offsets: np.ndarray
    timestamp: np.ndarray
    key: np.ndarray
    value: np.ndarray
    rank: np.ndarray


@dataclass(frozen=True)
class Dataset:
    """One data set in memory, in time order.

    Attributes
    ----------
    path : Path
        The data set's folder.
    info : dict
        The content of `dataset.json`.
    time : ndarray of int64, (rows,)
        In the main table's `time_unit`.
    key : ndarray of int64, (rows,)
        Codes: `keys[code]` is the label.
    keys : ndarray of int64 or of str objects, (distinct keys,)
        Ascending by value, or by UTF-8 bytes.
    value : ndarray of int64, (rows,)
        Fixed point, times `10**info["decimals"]`; for a text payload the row number, which is the
        index of the text.
    text_offsets, text_bytes : ndarray of int64, (rows + 1,), and of uint8, or None
        The text of row i is `text_bytes[text_offsets[i]:text_offsets[i + 1]]`, UTF-8. None if the
        payload is not text, or the texts were not requested.
    row_stream : ndarray of int64, (rows,), or None
        The stream on which each row was recorded, if the data have any.
    """

    path: Path
    info: dict[str, Any]
    time: np.ndarray
    key: np.ndarray
    keys: np.ndarray
    value: np.ndarray
    text_offsets: np.ndarray | None
    text_bytes: np.ndarray | None
    row_stream: np.ndarray | None


def load(path: Path | str, *, text: bool = False) -> Dataset:
    """Read a data set and check it.

    Parameters
    ----------
    path
        The folder with `dataset.json`.
    text
        Whether to keep the texts, too, if the payload is text.

    Returns
    -------
    Dataset

    Raises
    ------
    UsageError
        If a file is missing, empty, damaged or not Parquet, a column is missing or of another
        type, a key, time or value is null, rows are out of order, or the main table has no time,
        key and payload.
    """
    path = Path(path)
    info = read_info(path)
    table, files = stored_table(info, info["main_table"]), main_table(info)["files"]
    if not table.is_keyed_stream:
        raise UsageError(
            f"table {table.name!r} of {path} has not a time, a key and a payload; read its columns"
            " with read_table"
        )
    has_text = table.payload == "text"
    parts = on_all_cores(
        lambda name: read_stream(path / name, table, payload=text or not has_text), files
    )
    _check_rows(path, parts, info["rows"])
    time, row_stream = integers(parts, "time"), stream_column(path, files, parts)
    row = integers(parts, "row") if table.row else None
    check_order(path, files, parts, time, row, row_stream)
    key, keys = code_keys(key_column(path, parts))
    offsets, content = text_buffers(parts) if has_text and text else (None, None)
    value = np.arange(info["rows"], dtype=np.int64) if has_text else integers(parts, "value")
    return Dataset(path, info, time, key, keys, value, offsets, content, row_stream)


def read_table(path: Path | str | InMemory, table: str) -> dict[str, np.ndarray]:
    """Read and check all columns of any table of a data set.

    Parameters
    ----------
    path
        The folder with `dataset.json`, or a data set in memory.
    table
        The name of the table.

    Returns
    -------
    dict of str to ndarray, (rows,)
        The columns by name, with the declared types; strings as objects. A nullable column is a
        masked array.

    Raises
    ------
    UsageError
        If there is no such table, a file is missing, empty, damaged or not Parquet, a column is
        missing, of another type or null without being declared nullable, or rows are missing or out
        of order.
    """
    if isinstance(path, InMemory):
        return path.table(table)
    path = Path(path)
    info = read_info(path)
    form, entry = stored_table(info, table), info["tables"][table]
    parts = [read_typed(path / name, form) for name in entry["files"]]
    _check_rows(path, parts, entry["rows"])
    columns = {column.name: typed_column(parts, column) for column in form.columns}
    check_order(path, entry["files"], parts, columns.get(form.time), columns.get(form.row))
    return columns


def _check_rows(path: Path, parts: list[pa.Table], expected: int) -> None:
    """Refuse files with more or fewer rows than were written."""
    rows = sum(part.num_rows for part in parts)
    if rows != expected:
        raise UsageError(
            f"{path} has {rows} rows and its dataset.json says {expected}; make the data set again"
        )


def splitmix64(seed: int, words: np.ndarray) -> np.ndarray:
    """Hash integers with a seed (Steele, Lea and Flood, 2014, OOPSLA: SplitMix's finaliser).

    Parameters
    ----------
    seed
        Any integer; the low 64 bits count.
    words : ndarray of int64

    Returns
    -------
    ndarray of uint64
    """

    def finalised(mixed: np.ndarray) -> np.ndarray:
        mixed = (mixed ^ (mixed >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        mixed = (mixed ^ (mixed >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
        return mixed ^ (mixed >> np.uint64(31))

    golden = np.uint64(0x9E3779B97F4A7C15)
    start = finalised(np.array([seed & 0xFFFFFFFFFFFFFFFF], dtype=np.uint64) + golden)
    return finalised((words.astype(np.uint64) + np.uint64(1)) * golden + start)


def split(dataset: Dataset, inputs: int, seed: int = 1) -> Streams:
    """Distribute the rows of a data set over physical streams.

    Parameters
    ----------
    dataset
        A data set from `load`.
    inputs
        Number of streams, at least 1. Streams may be empty.
    seed
        Seed of the hash that distributes the rows; unused if the data have recorded streams.

    Returns
    -------
    Streams
        With one input, the columns are those of the data set.

    Raises
    ------
    UsageError
        If `inputs` is out of range.
    """
    if not 1 <= inputs <= MOST_INPUTS:
        raise UsageError(f"{inputs} inputs; give 1 to {MOST_INPUTS}")
    stream = _streams_of(dataset, inputs, seed)
    parts = parts_of(len(stream))
    counts = np.array(on_all_cores(lambda part: np.bincount(stream[part], minlength=inputs), parts))
    offsets = np.zeros(inputs + 1, dtype=np.int64)
    np.cumsum(counts.sum(axis=0), out=offsets[1:])
    rank = total_order_rank(dataset.time, stream)
    columns = (dataset.time, dataset.key, dataset.value, rank)
    if inputs > 1:
        # For each part, the target index of its first row in each stream.
        heads = offsets[:-1] + np.cumsum(counts, axis=0) - counts
        columns = _dealt(columns, stream, parts, counts, heads)
    return Streams(offsets, *columns)


def _dealt(
    columns: tuple[np.ndarray, ...],
    stream: np.ndarray,
    parts: list[slice],
    counts: np.ndarray,
    heads: np.ndarray,
) -> list[np.ndarray]:
    """Return the columns stream by stream, with the rows of each stream in order.

    `counts` and `heads` have a row for each part: the number of rows of each stream there, and the
    target index of the first of them.
    """
    dealt = [np.empty_like(column) for column in columns]

    def deal(number: int) -> None:
        """Distribute one part: reads its columns once, and writes each stream contiguously."""
        part, count = parts[number], counts[number]
        # A stable sort keeps the time order; on 16-bit integers it is linear.
        order = np.argsort(stream[part], kind="stable")
        firsts = np.cumsum(count) - count
        place = np.empty(len(order), dtype=np.int64)
        place[order] = np.arange(len(order)) + np.repeat(heads[number] - firsts, count)
        for column, target in zip(columns, dealt, strict=True):
            target[place] = column[part]

    on_all_cores(deal, range(len(parts)))
    return dealt


def parts_of(rows: int) -> list[slice]:
    """Return slices that cover `rows` rows, to be processed one by one or on several cores."""
    starts = range(0, rows, ROWS_AT_ONCE)
    return [slice(begin, min(begin + ROWS_AT_ONCE, rows)) for begin in starts]


def on_all_cores(work: Callable[[Any], Any], parts: Iterable[Any]) -> list[Any]:
    """Return the results of `work` for each part; raises what a call raises.

    NumPy and Arrow release the interpreter lock while they process arrays and files.
    """
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        return list(pool.map(work, parts))


def _streams_of(dataset: Dataset, inputs: int, seed: int) -> np.ndarray:
    """Return the stream of each row: the recorded one, or one by the hash of the row number."""
    if dataset.row_stream is not None:
        return (dataset.row_stream % inputs).astype(np.uint16)
    rows = len(dataset.time)
    stream = np.empty(rows, dtype=np.uint16)

    def hash_part(part: slice) -> None:
        hashed = splitmix64(seed, np.arange(part.start, part.stop, dtype=np.int64))
        stream[part] = hashed % np.uint64(inputs)

    # Part by part: a hash passes over its words eight times.
    on_all_cores(hash_part, parts_of(rows))
    return stream


def total_order_rank(time: np.ndarray, stream: np.ndarray) -> np.ndarray:
    """Return the position of each row in the order (time, stream, position).

    Parameters
    ----------
    time : ndarray of int64, (rows,)
        Non-decreasing.
    stream : ndarray of unsigned integers, (rows,)

    Returns
    -------
    ndarray of int64, (rows,)
    """
    rows = len(time)
    rank = np.arange(rows, dtype=np.int64)
    equal = time[1:] == time[:-1]
    # Only rows with equal times can move, and only among each other.
    tied = np.zeros(rows, dtype=bool)
    tied[1:] |= equal
    tied[:-1] |= equal
    places = np.flatnonzero(tied)
    if len(places):
        order = np.lexsort((stream[places], time[places]))
        rank[places[order]] = places
    return rank


def cycle_span(dataset: Dataset, window_advance: int) -> int:
    """Return the shift of the timestamps from one cycle over the data set to the next.

    Parameters
    ----------
    dataset
    window_advance
        In the data set's time units, at least 1.

    Returns
    -------
    int
        The span of the times rounded up to a multiple of `window_advance`: windows are then aligned
        alike in every cycle, and each cycle begins after the end of the one before.

    Raises
    ------
    UsageError
        If `window_advance` is not positive.
    """
    if window_advance < 1:
        raise UsageError(f"window advance {window_advance}; give 1 or more")
    span = int(dataset.time[-1]) - int(dataset.time[0]) + 1
    return -(-span // window_advance) * window_advance


def datasets_made(root: Path | str) -> list[Path]:
    """Find every data set below a folder.

    Parameters
    ----------
    root
        Need not exist.

    Returns
    -------
    list of Path
        Folders with a `dataset.json`, sorted by number of rows. Unfinished folders (with a leading
        dot in their names) are left out.

    Raises
    ------
    UsageError
        If a `dataset.json` is damaged.
    """
    root = Path(root)
    found = [
        file.parent
        for file in root.rglob("dataset.json")
        if not any(part.startswith(".") for part in file.relative_to(root).parts)
    ]
    return sorted(found, key=lambda folder: (read_info(folder)["rows"], str(folder)))
