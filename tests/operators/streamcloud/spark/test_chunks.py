"""Chunks: a written chunk is read back, and an invalid file is refused by name."""

from __future__ import annotations

import json
import os
from random import Random

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from operators.contract import UsageError
from operators.streamcloud.algebra import Input, Map, Output, Product, Query, TimeWindow
from operators.streamcloud.carriers.spark import chunks
from operators.streamcloud.carriers.spark.chunks import (
    KEY,
    columns_of,
    read_chunk,
    read_coding,
    read_streams,
    source_of,
    words_of_chunk,
    write_chunks,
)
from operators.streamcloud.coding import encode_inputs
from operators.streamcloud.compiler import compile_query
from operators.streamcloud.rows import END, most_tuples, words_of

CALLS = Input("calls", {"emitted": "int64", "caller": "text", "length": "double",
                        "district": "int64"}, time="emitted")  # fmt: skip
TOWNS = Input("towns", {"name": "text"})
MEET = Product("meet", (CALLS, TOWNS), TimeWindow(5), {"name": "right.name"},
               where="left.caller == \"nobody\"")  # fmt: skip
QUERY = Query("q", MEET)
PLAIN = Query("plain", Map("halves", Input("a", {"x": "int64"}), {"x": "x // 2"}))


def streams_of(random, counts=(7, 0, 12)):
    def times(count):
        return np.array(sorted(random.randint(0, 30) for _ in range(count)), dtype=np.int64)

    def texts(count):
        return np.array([random.choice("abcé") for _ in range(count)], dtype=object)

    calls = [
        {
            "emitted": times(count),
            "caller": texts(count),
            "length": np.array([random.uniform(-9, 9) for _ in range(count)]),
            "district": np.array([random.randint(-9, 9) for _ in range(count)], dtype=np.int64),
        }
        for count in counts[:2]
    ]
    return {"calls": calls, "towns": [{"ts": times(counts[2]), "name": texts(counts[2])}]}


def written(tmp_path, tuples, counts=(7, 0, 12)):
    """Return a folder of chunks, the written words, and their coding."""
    words, coding = encode_inputs(QUERY, streams_of(Random(3), counts))
    write_chunks(tmp_path / "chunks", QUERY, columns_of(QUERY, words, coding), tuples)
    return tmp_path / "chunks", words, coding


def data(folder):
    return [path for path in folder.iterdir() if path.name[0] not in "._"]


def read_all(folder):
    return [read_chunk(path.read_bytes(), path.name) for path in data(folder)]


@pytest.mark.parametrize("tuples", [1, 3, 7, 100])
def test_what_is_written_is_read_again(tmp_path, tuples):
    folder, words, coding = written(tmp_path, tuples)
    plan = compile_query(QUERY, "query-cluster", 1, streams=read_streams(folder, QUERY))
    assert read_coding(folder, QUERY).codes == coding.codes
    found = {name: [[] for _ in streams] for name, streams in words.items()}
    for chunk in read_all(folder):
        found[chunk.input][chunk.stream].append(chunk)
    for name, streams in words.items():
        for stream, wanted in enumerate(streams):
            pieces = sorted(found[name][stream], key=lambda chunk: chunk.number)
            assert [chunk.number for chunk in pieces] == list(range(len(pieces)))
            assert len(pieces) == max(1, -(-wanted.shape[1] // tuples))
            read = [words_of_chunk(plan, chunk, coding, "f") for chunk in pieces]
            assert (np.concatenate(read, axis=1) == wanted).all()
            firsts = [chunk.first for chunk in pieces]
            assert firsts == [number * tuples for number in range(len(pieces))]
            behind = [int(wanted[0, first]) for first in firsts[1:]]
            assert [chunk.progress for chunk in pieces] == [*behind, END]


def test_a_chunk_is_no_larger_than_a_row(tmp_path, monkeypatch):
    monkeypatch.setattr("operators.streamcloud.rows.MOST_BODY", 4 * 8 * 6)
    assert (most_tuples(words_of(Output(CALLS))), most_tuples(words_of(Output(TOWNS)))) == (4, 6)
    folder, words, coding = written(tmp_path, 100)
    rows = {(chunk.input, chunk.table.num_rows) for chunk in read_all(folder)}
    assert rows == {("calls", 4), ("calls", 3), ("calls", 0), ("towns", 6)}
    monkeypatch.setattr("operators.streamcloud.rows.MOST_BODY", 3 * 8 * 6)
    plan = compile_query(QUERY, "query-cluster", 1, streams={"calls": 2})
    (chunk,) = [one for one in read_all(folder) if (one.input, one.table.num_rows) == ("calls", 4)]
    with pytest.raises(UsageError, match="has 4 tuples, and a chunk of calls has 3 at most"):
        words_of_chunk(plan, chunk, coding, "f")


def test_files_are_as_old_as_their_tuples(tmp_path):
    folder, _, _ = written(tmp_path, 2)
    files = sorted(data(folder), key=lambda path: path.stat().st_mtime_ns)
    times = [path.stat().st_mtime_ns for path in files]
    assert len(set(times)) == len(times)
    read = [read_chunk(path.read_bytes(), "f").table for path in files]
    begins = [table["ts"][0].as_py() if table.num_rows else -1 for table in read]
    assert begins == sorted(begins)


def test_a_chunk_appears_whole(tmp_path, monkeypatch):
    def full(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "replace", full)
    with pytest.raises(UsageError, match="chunks cannot be written: No space left on device"):
        written(tmp_path, 2)
    assert data(tmp_path / "chunks") == []


def test_no_other_chunks_are_written_over(tmp_path):
    folder, words, coding = written(tmp_path, 2)
    with pytest.raises(UsageError, match="is not empty"):
        write_chunks(folder, QUERY, columns_of(QUERY, words, coding), 2)


def test_streams_are_counted_through_all_inputs():
    plan = compile_query(QUERY, "query-cluster", 1, streams={"calls": 3, "towns": 2})
    found = [source_of(plan, *each) for each in [("calls", 0), ("calls", 2), ("towns", 1)]]
    assert found == [0, 2, 4]


# --- what is refused ------------------------------------------------------------------------------

SAID = {"input": "a", "stream": 0, "number": 3, "first": 20, "progress": 40}
COLUMNS = {"ts": [30, 40], "x": [1, 2]}


def file_of(said, columns, types=None):
    table = pa.table({
        name: pa.array(column, (types or {}).get(name, pa.int64()))
        for name, column in columns.items()
    })  # fmt: skip
    if said is not None:
        table = table.replace_schema_metadata({KEY: said})
    sink = pa.BufferOutputStream()
    pq.write_table(table, sink)
    return sink.getvalue()


def read(said, columns=COLUMNS, types=None):
    plan = compile_query(PLAIN, "query-cluster", 1)
    given = json.dumps(said) if isinstance(said, dict) else said
    chunk = read_chunk(file_of(given, columns, types), "dir/f.parquet")
    _, coding = encode_inputs(PLAIN, {"a": [{"ts": [], "x": []}]})
    return words_of_chunk(plan, chunk, coding, "dir/f.parquet")


def test_one_that_is_good_is_taken():
    assert read(SAID).tolist() == [[30, 40], [0, 0], [20, 21], [1, 2]]
    assert read({**SAID, "progress": None}).shape == (4, 2)
    assert read(SAID, {"ts": [], "x": []}).shape == (4, 0)


@pytest.mark.parametrize(
    ("said", "message"),
    [
        (None, 'is no chunk: its metadata lacks "millrace.chunk"'),
        ("[1]", 'is no chunk: its metadata lacks "millrace.chunk"'),
        ("{", "cannot be read as a chunk"),
        ({**SAID, "number": -1}, '"millrace.chunk" must be input'),
        ({**SAID, "number": "1"}, '"millrace.chunk" must be input'),
        ({**SAID, "progress": 1 << 62}, '"millrace.chunk" must be input'),
        ({**SAID, "progress": -1}, '"millrace.chunk" must be input'),
        ({**SAID, "more": 1}, '"millrace.chunk" must be input'),
        ({**SAID, "input": 3}, '"millrace.chunk" must be input'),
        ({name: SAID[name] for name in SAID if name != "first"}, '"millrace.chunk" must be input'),
        ({**SAID, "input": "b"}, r"chunk 3 of stream 0 of b: plain has no such input \(a\)"),
        ({**SAID, "stream": 1}, "chunk 3 of stream 1 of a: the plan has 1 streams of it"),
        ({**SAID, "progress": 39}, "promises that nothing before 39 follows, and its own last time"
         " is 40"),
    ],
)  # fmt: skip
def test_what_says_what_it_cannot_be_is_refused(said, message):
    with pytest.raises(UsageError, match=f"^dir/f.parquet: .*{message}"):
        read(said)


@pytest.mark.parametrize(
    ("columns", "types", "message"),
    [
        ({"ts": [1]}, None, r'no column "x" \(ts\)'),
        ({"ts": [1], "x": [1.0]}, {"x": pa.float64()}, "column x must be int64 throughout,"
         " received double"),
        ({"ts": [1], "x": [1]}, {"x": pa.int32()}, "column x must be int64 throughout, received"
         " int32"),
        ({"ts": [1, 2], "x": [1, None]}, None, "column x must be int64 throughout, received 1"
         " values missing"),
        ({"ts": [2, 1], "x": [1, 1]}, None, "position 1: time 1 is before 2"),
        ({"ts": [-1], "x": [1]}, None, "position 0: time -1 is not between 0 and"),
    ],
)  # fmt: skip
def test_what_has_other_columns_is_refused(columns, types, message):
    where = "^dir/f.parquet: chunk 3 of stream 0 of a: ?"
    with pytest.raises(UsageError, match=f"{where}.*{message}|{where[:-3]}, {message}"):
        read(SAID, columns, types)


def test_what_is_no_parquet_is_refused():
    with pytest.raises(UsageError, match="^f.csv: cannot be read as a chunk"):
        read_chunk(b"ts,x\n1,2\n", "f.csv")


def test_a_text_that_was_not_told_is_refused(tmp_path):
    folder, _, _ = written(tmp_path, 100)
    (folder / chunks.TEXTS).write_text('["a"]')
    plan = compile_query(QUERY, "query-cluster", 1, streams={"calls": 2})
    coding = read_coding(folder, QUERY)
    assert coding.labels.tolist() == ["a", "nobody"]
    (towns,) = [chunk for chunk in read_all(folder) if chunk.input == "towns"]
    with pytest.raises(
        UsageError, match=r"f: chunk 0 of stream 0 of towns: the text '.' is not in"
    ):
        words_of_chunk(plan, towns, coding, "f")


def test_what_lies_beside_them_is_asked_for(tmp_path):
    with pytest.raises(UsageError, match="lacks _streams.json, such as"):
        read_streams(tmp_path, QUERY)
    with pytest.raises(UsageError, match="lacks _texts.json, a list of all texts"):
        read_coding(tmp_path, QUERY)
    assert read_coding(tmp_path, PLAIN).labels.tolist() == []
    for text in ('{"calls": 1}', '{"calls": 1, "towns": 0}', '{"calls": 1, "towns": 1, "z": 1}',
                 "[1]"):  # fmt: skip
        (tmp_path / chunks.STREAMS).write_text(text)
        with pytest.raises(UsageError, match=r"must say of each of the query's inputs"):
            read_streams(tmp_path, QUERY)
    for text in ('{"a": 1}', "[1]"):
        (tmp_path / chunks.TEXTS).write_text(text)
        with pytest.raises(UsageError, match="must be a list of texts"):
            read_coding(tmp_path, QUERY)
    (tmp_path / chunks.TEXTS).write_text("[")
    with pytest.raises(UsageError, match="cannot be read"):
        read_coding(tmp_path, QUERY)
