"""An executor or the whole driver is killed in mid-stream, twice: no row is lost or duplicated.

A cluster on this machine: a master and two workers of one core. The digests of the output are
compared with those of one instance in plain Python.
"""

from __future__ import annotations

import json
from hashlib import sha256
from random import Random

import pyarrow.parquet as pq
import pytest

from operators.streamcloud import reference
from tests.operators.streamcloud.spark.chunking import Piece
from tests.operators.streamcloud.spark.forms import STREAM
from tests.operators.streamcloud.spark.killing import Driver
from tests.operators.streamcloud.spark.on_spark import STATE_STORE, put
from tests.operators.streamcloud.test_carriers import QUERIES, calls_and_suspects, query_named

pytestmark = pytest.mark.timeout(280)

# A batch consists of a chunk from each of three streams. One kill needs fewer batches than three.
BATCHES, FEW_BATCHES, TUPLES, STREAMS = 10, 6, 1_000, 3
# Old versions are deleted, and the rest is compacted, all the time.
MAINTAINED = {
    "spark.sql.streaming.stateStore.maintenanceInterval": "500ms",
    "spark.sql.streaming.minBatchesToRetain": "2",
    "spark.sql.streaming.ratioExtraSpaceAllowedInCheckpoint": "0",
}
SETTINGS = {STREAM: {}, STATE_STORE: MAINTAINED}


def brought(folder, batches):
    """Write the streams' chunks in arrival order, and return the expected output."""
    query = query_named("figure-1")
    streams = calls_and_suspects(Random(46), tuples=TUPLES)
    pieces = [
        in_pieces(node, number, rows, batches)
        for node in query.inputs
        for number, rows in enumerate(streams[node.name])
    ]
    put(folder, [each for together in zip(*pieces, strict=True) for each in together])
    (folder / "_streams.json").write_text(json.dumps({n: len(s) for n, s in streams.items()}))
    return reference.run(query, streams)["busy"]


def in_pieces(node, number, rows, batches):
    """Return a stream in as many chunks as there are batches; the last one closes it."""
    size = -(-len(rows) // batches)
    found = []
    for at in range(batches):
        first, end = at * size, (at + 1) * size
        progress = None if at == batches - 1 else rows[end][0]
        found.append(Piece(node, number, at, first, rows[first:end], progress))
    return found


def digest(rows):
    return sha256(repr(rows).encode()).hexdigest()


def given(folder, cluster, form):
    """Return the arguments of a driver."""
    return {
        "query": str(QUERIES / "figure-1.yaml"),
        "chunks": str(folder / "chunks"),
        "instances": 2,
        "master": cluster.master,
        "form": form,
        "files": STREAMS,
        "settings": SETTINGS[form],
    }


def check(driver, expected, batches):
    """Check that a completed driver has the expected output."""
    assert driver.committed == batches
    found = pq.read_table(driver.work / "busy.parquet")
    rows = list(zip(*(found[name].to_pylist() for name in found.column_names), strict=True))
    assert digest(rows) == digest(expected)


def test_a_killed_executor_loses_and_doubles_nothing(cluster, tmp_path):
    expected = brought(tmp_path / "chunks", FEW_BATCHES)
    driver = Driver(tmp_path / "work", given(tmp_path, cluster, STREAM))
    try:
        driver.wait_for_batches(2)
        killed = cluster.executors()[0]
        killed.kill()
        assert driver.committed < FEW_BATCHES - 1, "in mid-stream"
        driver.end()
        check(driver, expected, FEW_BATCHES)
    finally:
        driver.close()
    assert not killed.is_running()


@pytest.mark.full
@pytest.mark.parametrize("form", [STREAM, STATE_STORE])
def test_killed_executors_and_drivers_lose_and_double_nothing(form, cluster, tmp_path):
    """Takes two minutes on two quiet cores."""
    expected = brought(tmp_path / "chunks", BATCHES)
    ends = []
    for number in range(3):
        driver = Driver(tmp_path / "work", given(tmp_path, cluster, form))
        try:
            driver.wait_for_batches(2)
            if number == 0:
                cluster.executors()[0].kill()
                driver.wait_for_batches(1)
            if number < 2:
                driver.kill()
                ends.append(driver.committed)
            else:
                driver.end()
                check(driver, expected, BATCHES)
        finally:
            driver.close()
    assert 0 < ends[0] < ends[1] < BATCHES
    if form == STATE_STORE:
        kept = {int(path.stem) for path in (driver.work / "checkpoint" / "state").rglob("*.zip")
                if path.stem.isdigit()}  # fmt: skip
        assert kept and min(kept) > 1, f"no maintenance has removed an old version: {kept}"
