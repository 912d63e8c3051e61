"""Chunks: recorded streams as files that Spark reads whole.

A *chunk* is a Parquet file with tuples of one stream, in order: ``ts`` and the columns of the
input's schema. The identity of a chunk is in the file and not in the path: as JSON, under the key
``millrace.chunk`` of the metadata::

    {"input": "calls", "stream": 1, "number": 7, "first": 70000, "progress": 3600}

*number* counts the chunks of a stream from 0, without gaps; *first* is the position of the first
tuple in the stream. Later tuples have a time of at least *progress*, a watermark; null means that
there are none. An empty chunk only carries progress: a silent stream must send some, or it holds up
all others.

Chunks of all inputs of a query are in one folder, under any names. The folder also has
``_streams.json``, the number of streams of each input, and, if an input has texts, ``_texts.json``,
all texts of all chunks: the code of a text is the rank among all (`operators.streamcloud.coding`).
Spark ignores files whose names begin with "_" or ".". So a chunk that is being written has such a
name, and is renamed when it is complete.
"""

from __future__ import annotations

import json
import time
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from operators.contract import TIMESTAMP_LIMIT, UsageError
from operators.running.whole import why, write_whole
from operators.streamcloud.algebra import Input, Output, Query
from operators.streamcloud.coding import Coding, as_words, checked_columns, decode, texts_of
from operators.streamcloud.order import key_width
from operators.streamcloud.plan import Plan
from operators.streamcloud.rows import END, most_tuples, words_of
from operators.streamcloud.schema import DOUBLE, INT64, TEXT, TIME, did_you_mean, listed

KEY = b"millrace.chunk"
STREAMS, TEXTS = "_streams.json", "_texts.json"
_TYPES = {INT64: pa.int64(), DOUBLE: pa.float64(), TEXT: pa.string()}
_SAID = ("input", "stream", "number", "first", "progress")

# By the names of the columns in the query, as `coding.checked_columns` returns it.
Checked = Mapping[str, np.ndarray]


class Chunk(NamedTuple):
    """The identity of a chunk, and the tuples.

    Attributes
    ----------
    input : str
    stream, number, first : int
    progress : int
        ``rows.END`` if it closes the stream.
    table : pa.Table
    """

    input: str
    stream: int
    number: int
    first: int
    progress: int
    table: pa.Table

    @property
    def name(self) -> str:
        """The name of the chunk in messages."""
        return f"chunk {self.number} of stream {self.stream} of {self.input}"


# --- write chunks ---------------------------------------------------------------------------------


def write_chunks(
    folder: Path, query: Query, inputs: Mapping[str, Sequence[Checked]], tuples: int
) -> int:
    """Write streams as chunks, and return the number of chunks.

    Parameters
    ----------
    folder : Path
        Made if it does not exist.
    query : Query
    inputs : mapping of str to sequence of columns
        By input the streams, each by the names of the columns in the query (``ts`` is the time),
        checked.
    tuples : int
        Of a chunk, at most; fewer if a row of Spark could not carry so many.

    Raises
    ------
    UsageError
        When the folder is not empty, or cannot be written.
    """
    try:
        folder.mkdir(parents=True, exist_ok=True)
        if any(folder.iterdir()):
            raise UsageError(f"{folder} is not empty: give a new folder for chunks")
        found = [
            (node, stream, number, first, progress, columns)
            for node in query.inputs
            for stream, whole in enumerate(inputs[node.name])
            for number, first, progress, columns in _cut(node, whole, tuples)
        ]
        _write_beside(folder, query, inputs)
        # Spark hands files out by age: in the order of time no stream waits for another.
        found.sort(key=_begin)
        youngest = time.time_ns() // 1_000_000
        for age, each in enumerate(reversed(found)):
            write_chunk(folder, *each, modified_ms=youngest - age)
        return len(found)
    except OSError as error:
        raise UsageError(f"{folder}: chunks cannot be written: {why(error)}") from error


def _begin(chunk: tuple[Input, int, int, int, int | None, Checked]) -> tuple[int, int]:
    times = chunk[-1][TIME]
    return (int(times[0]) if len(times) else -1), chunk[2]


def _cut(
    node: Input, whole: Checked, tuples: int
) -> Iterator[tuple[int, int, int | None, dict[str, np.ndarray]]]:
    """Yield number, first position, progress and columns of each chunk, at least one."""
    most = min(tuples, most_tuples(words_of(Output(node))))
    total = len(whole[TIME])
    for number in range(max(1, -(-total // most))):
        begin, end = number * most, (number + 1) * most
        progress = int(whole[TIME][end]) if end < total else None
        yield number, begin, progress, {name: each[begin:end] for name, each in whole.items()}


def _write_beside(folder: Path, query: Query, inputs: Mapping[str, Sequence[Checked]]) -> None:
    counts = {node.name: len(inputs[node.name]) for node in query.inputs}
    (folder / STREAMS).write_text(json.dumps(counts))
    if not any(_has_texts(node) for node in query.inputs):
        return
    texts: set[str] = set()
    for node in query.inputs:
        for name, kind in node.schema.columns:
            if kind == TEXT:
                texts.update(text for stream in inputs[node.name] for text in stream[name])
    (folder / TEXTS).write_text(json.dumps(sorted(texts), ensure_ascii=False), encoding="utf-8")


def _has_texts(node: Input) -> bool:
    return TEXT in node.schema.types


def write_chunk(
    folder: Path,
    node: Input,
    stream: int,
    number: int,
    first: int,
    progress: int | None,
    columns: Checked,
    modified_ms: int | None = None,
) -> Path:
    """Write a chunk atomically, and return the file.

    Parameters
    ----------
    folder : Path
    node : Input
    stream, number, first : int
    progress : int or None
    columns : mapping of str to array
    modified_ms : int, optional
        The file's time in milliseconds since 1970; now by default.
    """
    said = {"input": node.name, "stream": stream, "number": number, "first": first,
            "progress": progress}  # fmt: skip
    fields = [pa.field(name, _TYPES[kind], nullable=False) for name, kind in node.schema.columns]
    schema = pa.schema(fields, metadata={KEY: json.dumps(said).encode()})
    table = pa.table([pa.array(columns[f.name], f.type) for f in fields], schema=schema)
    path = folder / f"{node.name}-{stream}-{number:07}.parquet"
    body = pa.BufferOutputStream()
    pq.write_table(table, body)
    write_whole(path, memoryview(body.getvalue()), modified_ms)
    return path


def columns_of(
    query: Query, streams: Mapping[str, Sequence[np.ndarray]], coding: Coding
) -> dict[str, list[dict[str, np.ndarray]]]:
    """Return streams of words as columns, the input of `write_chunks`."""
    return {
        node.name: [
            decode(node.schema, key_width(Output(node)), words, coding)
            for words in streams[node.name]
        ]
        for node in query.inputs
    }


# --- read the other files -------------------------------------------------------------------------


def read_streams(folder: Path, query: Query) -> dict[str, int]:
    """Return the number of streams of each of a query's inputs in a folder of chunks.

    Raises
    ------
    UsageError
        When the folder does not say so, or not for the inputs of the query.
    """
    found = _read_beside(folder / STREAMS, 'such as {"calls": 2}: how many streams an input has')
    names = [node.name for node in query.inputs]
    good = isinstance(found, dict) and all(
        isinstance(count, int) and count > 0 for count in found.values()
    )
    if not good or sorted(found) != sorted(names):
        raise UsageError(
            f"{folder / STREAMS}: must say of each of the query's inputs ({listed(names)}) how many"
            ' streams it has, such as {"calls": 2}'
        )
    return {name: found[name] for name in names}


def read_coding(folder: Path, query: Query) -> Coding:
    """Return the coding of all texts in a folder of chunks, and of those in the query.

    Raises
    ------
    UsageError
        When an input has texts and the folder does not list them.
    """
    texts: list[str] = []
    if any(_has_texts(node) for node in query.inputs):
        texts = _read_beside(folder / TEXTS, "a list of all texts in the chunks")
        if not (isinstance(texts, list) and all(isinstance(text, str) for text in texts)):
            raise UsageError(f"{folder / TEXTS}: must be a list of texts")
    return Coding([*texts_of(query), *texts])


def _read_beside(path: Path, what: str) -> Any:
    try:
        return json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError as error:
        raise UsageError(f"{path.parent}: lacks {path.name}, {what}") from error
    except (OSError, ValueError) as error:
        raise UsageError(f"{path}: cannot be read: {error}") from error


# --- read chunks ----------------------------------------------------------------------------------


def read_chunk(body: bytes, file: str) -> Chunk:
    """Return a chunk.

    Parameters
    ----------
    body : bytes
        The whole file.
    file : str
        For messages.

    Raises
    ------
    UsageError
        When it is no Parquet, or does not say which chunk it is.
    """
    try:
        # One file, and a task has one core: `read_table` would handle threads and folders.
        table = pq.ParquetFile(pa.BufferReader(body)).read(use_threads=False)
        said = json.loads((table.schema.metadata or {}).get(KEY, b"null"))
    except (pa.ArrowException, OSError, ValueError) as error:
        first = str(error).strip().partition("\n")[0]
        raise UsageError(f"{file}: cannot be read as a chunk: {first}") from error
    if not isinstance(said, dict):
        raise UsageError(
            f'{file}: is no chunk: its metadata lacks "{KEY.decode()}", which says input, stream,'
            " number, first and progress"
        )
    progress = said.get("progress")
    numbers = [said.get(name) for name in ("stream", "number", "first")]
    if not (
        set(said) == set(_SAID)
        and isinstance(said["input"], str)
        and all(isinstance(each, int) and each >= 0 for each in numbers)
        and (progress is None or (isinstance(progress, int) and 0 <= progress < TIMESTAMP_LIMIT))
    ):
        raise UsageError(
            f'{file}: "{KEY.decode()}" must be input, stream, number, first and progress as'
            f" numbers from 0, progress null at the end; received {json.dumps(said)}"
        )
    end = END if progress is None else progress
    return Chunk(said["input"], *numbers, end, table.replace_schema_metadata(None))


def words_of_chunk(plan: Plan, chunk: Chunk, coding: Coding, file: str) -> np.ndarray:
    """Return the tuples of a chunk as words.

    Raises
    ------
    UsageError
        When the plan has no such stream, a column is missing or of another type, a value is
        missing, a text is unknown, times fall, or it has too many tuples: file, input, stream and
        number.
    """
    node = _input_of(plan, chunk, file)
    where = f"{file}: {chunk.name}"
    given: dict[str, np.ndarray] = {}
    for name, kind in node.schema.columns:
        if name not in chunk.table.column_names:
            continue  # found missing with all others
        column = chunk.table[name]
        if column.type != _TYPES[kind] or column.null_count:
            what = f"{column.null_count} values missing" if column.null_count else column.type
            raise UsageError(f"{where}: column {name} must be {kind} throughout, received {what}")
        given[name] = column.to_numpy()
    columns = checked_columns(where, node.schema, given)
    times = columns[TIME]
    if len(times) and chunk.progress < times[-1]:
        raise UsageError(
            f"{where}: promises that nothing before {chunk.progress} follows, and its own last time"
            f" is {times[-1]}"
        )
    most = most_tuples(words_of(Output(node)))
    if len(times) > most:
        raise UsageError(
            f"{where}: has {len(times)} tuples, and a chunk of {chunk.input} has {most} at most"
        )
    try:
        return as_words(
            node.schema, source_of(plan, chunk.input, chunk.stream), columns, coding, chunk.first
        )
    except KeyError as error:
        raise UsageError(f"{where}: the text {error.args[0]!r} is not in {TEXTS}") from error


def _input_of(plan: Plan, chunk: Chunk, file: str) -> Input:
    inputs = {node.name: node for node in plan.query.inputs}
    if chunk.input not in inputs:
        raise UsageError(
            f"{file}: {chunk.name}: {plan.query.name} has no such input ({listed(inputs)})"
            f"{did_you_mean(chunk.input, inputs)}"
        )
    if chunk.stream >= plan.streams[chunk.input]:
        raise UsageError(
            f"{file}: {chunk.name}: the plan has {plan.streams[chunk.input]} streams of it, counted"
            " from 0"
        )
    return inputs[chunk.input]


def source_of(plan: Plan, name: str, stream: int) -> int:
    """Return the number of a stream among those of all inputs."""
    names = [node.name for node in plan.query.inputs]
    return sum(plan.streams[each] for each in names[: names.index(name)]) + stream
