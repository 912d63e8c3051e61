"""The entry point to Spark: sizes of batches, counts of tuples, and remains of refused runs.

Spark itself runs nothing here.
"""

from __future__ import annotations

import shutil
import threading
import time
from random import Random

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from operators.contract import UsageError
from operators.streamcloud.carriers.spark import running
from operators.streamcloud.carriers.spark.chunks import KEY, write_chunk
from operators.streamcloud.run import SPARK, run_streamcloud
from tests.operators.streamcloud.carrying import inputs_of
from tests.operators.streamcloud.test_carriers import calls_and_suspects, query_named


def put(folder, number, tuples, progress=None):
    """Write a chunk of calls, and return the file."""
    folder.mkdir(exist_ok=True)
    query = query_named("figure-1")
    (calls,) = [node for node in query.inputs if node.name == "calls"]
    columns = inputs_of(query, calls_and_suspects(Random(4), tuples=100))["calls"][0]
    few = {name: column[:tuples] for name, column in columns.items()}
    return write_chunk(folder, calls, 0, number, 0, progress, few)


def test_a_batch_is_as_large_as_the_chunk_with_most_tuples_makes_it(tmp_path):
    large = put(tmp_path, 0, 2)
    put(tmp_path, 1, 50)
    # The largest file has few tuples, as with long texts.
    with large.open("r+b") as file:
        body = file.read()
        file.seek(0)
        file.write(b"PAR1" + bytes(10_000) + body[4:])
    assert running._files(tmp_path, 100, False) == 2
    assert running._files(tmp_path, 20, False) == 1


def test_who_follows_an_empty_folder_waits_for_a_chunk(tmp_path, monkeypatch):
    monkeypatch.setattr(running, "POLL_SECONDS", 0.01)
    found = []
    asking = threading.Thread(target=lambda: found.append(running._files(tmp_path, 100, True)))
    asking.start()
    time.sleep(0.05)
    assert not found
    put(tmp_path, 0, 5)
    asking.join(20)
    assert found == [20]


def test_a_chunk_that_is_there_twice_counts_once(tmp_path):
    first = put(tmp_path, 0, 30)
    put(tmp_path, 1, 12)
    shutil.copy(first, tmp_path / "again.parquet")
    assert running._tuples(tmp_path) == 42


def test_a_chunk_that_came_again_with_another_content_is_refused(tmp_path):
    first = put(tmp_path, 0, 30)
    again = tmp_path / "later.parquet"
    said = (
        f"^{again}: chunk 0 of stream 0 of calls is there twice, and this one is not what"
        f" {first.name} is: number"
    )
    for tuples, progress in ((30, 7_000_000), (29, None)):
        put(tmp_path / "_aside", 0, tuples, progress).rename(again)
        with pytest.raises(UsageError, match=said):
            running._tuples(tmp_path)
    # The same chunk in other bytes counts as the same.
    pq.write_table(pq.read_table(first), again, compression="gzip")
    assert running._tuples(tmp_path) == 30


def test_what_is_no_chunk_and_came_late_is_named(tmp_path):
    put(tmp_path, 0, 30)
    for schema in (None, {KEY: b"7"}, {KEY: b'{"input": "calls"}'}, {KEY: b"{"}):
        table = pa.table({"ts": [1]}).replace_schema_metadata(schema)
        pq.write_table(table, tmp_path / "other.parquet")
        with pytest.raises(UsageError, match="other.parquet: is no chunk: let nothing else lie"):
            running._tuples(tmp_path)


def test_a_folder_that_cannot_be_made_is_refused(tmp_path):
    (tmp_path / "file").write_text("mine")
    query = query_named("figure-1")
    inputs = inputs_of(query, calls_and_suspects(Random(1), tuples=10))
    for work, reason in (("file", "File exists"), ("file/below", "Not a directory")):
        with pytest.raises(UsageError, match=f"{work}: cannot be made a folder .*: {reason}"):
            run_streamcloud(query, inputs, backend=SPARK, work=tmp_path / work)


def test_nothing_is_written_into_the_folder_of_another_job(tmp_path, monkeypatch):
    monkeypatch.setattr(running, "run_chunks", lambda *_: pytest.fail("it was run"))
    query = query_named("figure-1")
    inputs = [inputs_of(query, calls_and_suspects(Random(seed), tuples=10)) for seed in (1, 2)]
    with pytest.raises(pytest.fail.Exception):
        run_streamcloud(query, inputs[0], backend=SPARK, work=tmp_path)
    there = sorted(path.name for path in tmp_path.iterdir())
    with pytest.raises(UsageError, match="that of other (texts|chunks)"):
        run_streamcloud(query, inputs[1], backend=SPARK, work=tmp_path)
    assert sorted(path.name for path in tmp_path.iterdir()) == there
