"""An invalid chunk or a failing step is refused in one line that says where.

States and folders: `test_refused_states`.
"""

from __future__ import annotations

import json
import re
from random import Random

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from operators.contract import UsageError
from operators.streamcloud import reference
from operators.streamcloud.carriers.spark import chunks, steps
from operators.streamcloud.carriers.spark.steps import refusals
from operators.streamcloud.coding import Coding
from operators.streamcloud.yaml_form import read_query
from tests.covering import interpreted_is_enough
from tests.operators.streamcloud.carrying import plan_of
from tests.operators.streamcloud.spark.batching import in_turn
from tests.operators.streamcloud.spark.chunking import KEY, Piece, cut_all
from tests.operators.streamcloud.spark.forms import (
    BOUNDED,
    STREAM,
    pretended,
    ran,
    written,
)

SHORT = {
    "query": "short",
    "inputs": {"calls": {"schema": {"ts": "int64", "n": "int64", "x": "double", "name": "text"}}},
    "operators": {"same": {"map": {"input": "calls", "columns": {"n": "n", "name": "name"}}}},
    "outputs": ["same"],
}  # fmt: skip
FORMS = (BOUNDED, STREAM)


def short():
    return read_query(SHORT)


def rows_at(*times):
    return tuple((ts, 1, 0.5, "a") for ts in times)


TUPLES = rows_at(3, 5)


def chunk(number=0, rows=TUPLES, progress=None, stream=0, first=0):
    return Piece(short().inputs[0], stream, number, first, rows, progress)


def changed(table=None, **said):
    """Return a writer of a chunk's file with other columns or other metadata."""

    def write(path):
        piece = chunk()
        made = piece.table() if table is None else table(piece.table())
        made = made.replace_schema_metadata({KEY: json.dumps(piece.said | said)})
        pq.write_table(made, path)

    return write


def plain(body):
    return lambda path: path.write_bytes(body)


def bare(path):
    pq.write_table(chunk().table().replace_schema_metadata(None), path)


def whole_file(path):
    chunk().write(path.parent, path.name)


def cut_off(path):
    whole_file(path)
    path.write_bytes(path.read_bytes()[:-20])


def column(name, values):
    def of(table):
        return table.set_column(table.column_names.index(name), name, values)

    return of


WHERE = "chunk 0 of stream 0 of calls"
# How a file is written, and the parts of the message besides the file's name.
WRONG = {
    "no parquet": (plain(b"ts,n\n1,2\n"), ["cannot be read as a chunk"]),
    "empty": (plain(b""), ["cannot be read as a chunk"]),
    "cut off": (cut_off, ["cannot be read as a chunk"]),
    "no metadata": (bare, ["is no chunk", KEY]),
    "an input": (changed(input="cals"), ["chunk 0 of stream 0 of cals", "no such input", "calls"]),
    "a stream": (changed(stream=3), ["chunk 0 of stream 3 of calls", "1 streams"]),
    "a number": (changed(number=-1), [KEY, "-1"]),
    "a number that is none": (changed(number="x"), [KEY]),
    "a position": (changed(first=None), [KEY]),
    "a progress": (changed(progress=-2), [KEY]),
    "more than it should say": (changed(more=1), [KEY]),
    "promises too much": (changed(progress=4), [WHERE, "4", "5"]),
    "a column missing": (changed(lambda t: t.drop_columns("n")), [WHERE, '"n"']),
    "a column of another type": (
        changed(column("n", pa.array([1.5, 2.5]))),
        [WHERE, "column n", "int64"],
    ),
    "an integer of 32 bits": (
        changed(column("n", pa.array([1, 2], pa.int32()))),
        [WHERE, "column n", "int64"],
    ),
    "a value missing": (changed(column("n", pa.array([1, None]))), [WHERE, "column n", "missing"]),
    "no number": (
        changed(column("x", pa.array([0.5, float("nan")]))),
        [WHERE, "column x", "nan"],
    ),
    "times that fall": (changed(column("ts", pa.array([5, 3]))), [WHERE, "3 is before 5"]),
    "a time before all": (changed(column("ts", pa.array([-1, 3]))), [WHERE, "-1"]),
    "an unknown text": (
        changed(column("name", pa.array(["a", "zz"]))),
        [WHERE, "'zz'", "_texts.json"],
    ),
}


def refused(form, files, folder, streams=1):
    """Return the message with which a form refuses files."""
    query = short()
    plan = plan_of(query, {"calls": [[]] * streams})
    spark = pretended(form, plan, Coding(["a"]), folder, Random(1))
    with pytest.raises(UsageError) as failure, refusals():
        ran(form, spark, files)
    message = str(failure.value)
    assert "\n" not in message and len(message) < 400, message
    return message


@interpreted_is_enough
@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("what", WRONG)
def test_a_wrong_chunk_is_refused_by_its_name(what, form, tmp_path):
    write, words = WRONG[what]
    path = tmp_path / "some.parquet"
    write(path)
    message = refused(form, [[path]], tmp_path)
    assert message.startswith(f"{path}: ")
    assert all(word in message for word in words), message


@interpreted_is_enough
@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize(
    "second",
    [chunk(1, rows_at(6), None, first=2), chunk(1, (), 6, first=2)],
    ids=["a tuple", "a progress"],
)
def test_a_chunk_that_breaks_the_promise_of_the_one_before_is_named(form, second, tmp_path):
    first = chunk(progress=7)
    for batches in ([[first], [second]], [[first, second]], [[second], [first]]):
        folder = tmp_path / str(len(batches)) / str(batches[0][0].number)
        message = refused(form, written(folder, batches), folder)
        assert "chunk 1 of stream 0 of calls" in message and "7" in message, message


@interpreted_is_enough
@pytest.mark.parametrize("form", FORMS)
def test_a_number_that_is_there_twice_with_other_tuples_is_named(form, tmp_path):
    batches = [[chunk(progress=7), chunk(rows=rows_at(3, 4), progress=7)]]
    message = refused(form, written(tmp_path, batches), tmp_path)
    assert "chunk 0 of stream 0 of calls" in message and "twice" in message


@interpreted_is_enough
def test_a_batch_job_needs_whole_streams(tmp_path):
    for name, pieces, words in (
        ("a", [chunk(progress=7)], "chunk 0 of stream 0 of calls.*does not close it"),
        ("b", [chunk(1)], "chunk 0 of stream 0 of calls is missing"),
        ("c", [chunk(progress=7), chunk(2, ())], "chunk 1 of stream 0 of calls is missing"),
    ):
        folder = tmp_path / name
        message = refused(BOUNDED, written(folder, [pieces]), folder)
        assert re.search(words, message), message


@interpreted_is_enough
def test_what_lies_beside_chunks_is_asked_for(tmp_path):
    query = short()
    with pytest.raises(UsageError, match="_texts.json"):
        chunks.read_coding(tmp_path, query)
    with pytest.raises(UsageError, match="_streams.json"):
        chunks.read_streams(tmp_path, query)
    for said in ('{"calls": 0}', "{}", "[]", '{"calls": 1, "more": 1}', "{"):
        (tmp_path / "_streams.json").write_text(said)
        with pytest.raises(UsageError, match="_streams.json"):
            chunks.read_streams(tmp_path, query)


# --- what fails in a step -------------------------------------------------------------------------

FAILING = {
    "query": "failing",
    "inputs": {"calls": {"schema": {"ts": "int64", "a": "int64"}}},
    "operators": {
        "counted": {"aggregate": {"input": "calls", "group_by": ["a"],
                                  "window": {"time": 10, "advance": 10},
                                  "columns": {"n": "count()"}}},
        "ratio": {"map": {"input": "counted", "columns": {"x": "n // (a - 3)"}}},
    },
    "outputs": ["ratio"],
}  # fmt: skip


@interpreted_is_enough
@pytest.mark.parametrize("form", FORMS)
def test_an_expression_that_fails_says_what_it_says_everywhere(form, tmp_path, random):
    query, streams = read_query(FAILING), {"calls": [[(ts, ts // 20) for ts in range(100)]]}
    with pytest.raises(UsageError) as expected:
        reference.run(query, streams)
    plan = plan_of(query, streams, instances=2)
    files = written(tmp_path, in_turn(cut_all(query, streams, random, most=20), random))
    spark = pretended(form, plan, Coding(), tmp_path, random)
    with pytest.raises(UsageError) as failure, refusals():
        ran(form, spark, files)
    assert str(failure.value) == str(expected.value)


def test_a_refusal_is_found_whatever_stands_around_it():
    for text in ('a "quoted" name', "two\nlines", "]] and [[", "ä\\n", "[[millrace refuses: x]]"):
        with pytest.raises(UsageError) as failure, refusals():
            try:
                with steps.marked():
                    raise UsageError(text)
            except UsageError as error:
                raise RuntimeError(
                    f"Job aborted\n  File x\nUsageError: {error}\n at java"
                ) from None
        assert str(failure.value) == text


def test_other_errors_keep_their_own_face():
    with pytest.raises(ZeroDivisionError), refusals():
        with steps.marked():
            raise ZeroDivisionError
