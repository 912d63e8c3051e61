"""States in Spark's store: partitions of groups, number of calls, and contents."""

from __future__ import annotations

from collections import Counter
from random import Random

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pyspark.errors import StreamingQueryException
from pyspark.sql import functions as F

from operators.contract import UsageError
from operators.running.spark_session import settings_on
from operators.running.spark_settings import PARTITIONS
from operators.streamcloud import reference
from operators.streamcloud.carriers.spark.chunks import write_chunks
from operators.streamcloud.carriers.spark.export import export
from operators.streamcloud.carriers.spark.job import Job
from operators.streamcloud.carriers.spark.state_store import (
    LATE,
    STARTS,
    GroupState,
    _started,
    partition_of,
    run_state_store,
    salts_of,
    spark_hash,
)
from operators.streamcloud.saved import Log, pack_saved
from tests.covering import on_spark, with_always
from tests.operators.streamcloud.carrying import all_rows, inputs_of, plan_of
from tests.operators.streamcloud.spark.forms import coding_of
from tests.operators.streamcloud.test_carriers import calls_and_suspects, query_named

# --- where groups lie -----------------------------------------------------------------------------


@given(slots=st.integers(1, 40), partitions=st.integers(1, 9))
def test_a_slot_has_a_key_of_its_own_that_falls_where_it_shall(slots, partitions):
    salts = salts_of(slots, partitions)
    assert len(set(salts)) == slots
    assert [partition_of(each, partitions) for each in salts] == [
        slot % partitions for slot in range(slots)
    ]


@on_spark
def test_spark_puts_a_slot_where_its_key_falls(spark):
    for slots, partitions in ((3, 2), (7, 4)):
        salts = salts_of(slots, partitions)
        rows = spark.range(0, slots, 1, 3).withColumn(
            "salt", F.get(F.array(*map(F.lit, salts)), F.col("id"))
        )
        with settings_on(spark, {PARTITIONS: str(partitions)}):
            # The exchange before a stateful operator is the same as before any grouping.
            grouped = rows.groupBy("salt").count().select(
                "salt", F.hash("salt").alias("hashed"), F.spark_partition_id().alias("partition")
            )  # fmt: skip
            found = {row.salt: (row.partition, row.hashed) for row in grouped.collect()}
        assert found == {
            salt: (slot % partitions, spark_hash(salt)) for slot, salt in enumerate(salts)
        }


@on_spark
def test_the_number_of_partitions_is_put_back(spark):
    before = spark.conf.get(PARTITIONS)
    with pytest.raises(KeyError), settings_on(spark, {PARTITIONS: "7"}):
        assert spark.conf.get(PARTITIONS) == "7"
        raise KeyError
    assert spark.conf.get(PARTITIONS) == before


# --- how often it is called -----------------------------------------------------------------------


class Held:
    """Simulates Spark's handles and counts the calls."""

    def __init__(self):
        self.calls, self.value, self.values = Counter(), None, {}

    def get(self):
        self.calls["get"] += 1
        return self.value

    def update(self, value):
        self.calls["update"] += 1
        self.value = value

    def getValue(self, key):  # noqa: N802
        self.calls["getValue"] += 1
        return self.values.get(key)

    def updateValue(self, key, value):  # noqa: N802
        self.calls["updateValue"] += 1
        self.values[key] = value

    def removeKey(self, key):  # noqa: N802
        self.calls["removeKey"] += 1
        del self.values[key]


def state(batch, window):
    """Return the state after a batch: a number, and a log of the tuples of the last batches."""
    places = np.arange(max(0, 10 * (batch + 1) - 10 * window), 10 * (batch + 1))
    return [np.array([batch]), Log(int(places[0]), np.array([places, -places]))]


@pytest.mark.parametrize("window", [1, 4])
def test_a_batch_calls_the_store_for_what_is_new(window):
    held = Held()
    for batch in range(20):
        # A store of this batch alone: Spark makes one in each task.
        store = GroupState(held, held)
        found = store.read(0, 0, batch)
        assert (
            batch == 0
            and found is None
            or (pack_saved(found) == pack_saved(state(batch - 1, window)))
        )
        store.write(0, 0, batch, state(batch, window))
        live = min(batch, window)
        expected = {"get": 1, "getValue": live, "update": 1, "updateValue": 1}
        expected["removeKey"] = 1 if batch >= window else 0
        assert held.calls == Counter(expected)
        held.calls.clear()
        assert len(held.values) == min(batch + 1, window)


# --- when Python is late --------------------------------------------------------------------------


def late(times, text):
    """Return a function that runs a query, and fails `times` times."""
    left = [StreamingQueryException(text)] * times

    def run():
        if left:
            raise left.pop()
        return [{"batchId": 0}]

    return run


def test_a_query_whose_python_is_late_is_started_again():
    text = f"[STREAM_FAILED] Query terminated with exception: {LATE}. SQLSTATE: XXKST"
    assert _started(late(0, text)) == _started(late(STARTS - 1, text)) == [{"batchId": 0}]
    with pytest.raises(UsageError, match="^Python did not start within ten seconds, 4 times: the"):
        _started(late(STARTS, text))
    with pytest.raises(StreamingQueryException, match="another"):
        _started(late(1, "another"))


# --- the same bytes -------------------------------------------------------------------------------


@on_spark
@pytest.mark.parametrize("instances", with_always([1, 2, 3], [2]))
def test_it_puts_out_what_one_instance_does(spark, tmp_path, instances):
    query = query_named("figure-1")
    streams = calls_and_suspects(Random(3), tuples=60)
    plan = plan_of(query, streams, instances=instances)
    write_chunks(tmp_path / "chunks", query, inputs_of(query, streams), tuples=20)
    job = Job(plan, coding_of(query, streams), tmp_path / "chunks", tmp_path / "work", files=3)
    batches = run_state_store(job)
    found = export(job)
    assert found.closed
    assert all_rows(query, found.outputs) == reference.run(query, streams)
    assert found.outputs["busy"]["ts"].tolist()
    assert len(batches) == 3
    for number, batch in enumerate(batches):
        for level in batch["stateOperators"]:
            assert level["numStateStoreInstances"] == instances
            # For each instance a head, and a segment if its logs grew.
            assert instances <= level["numRowsUpdated"] <= 2 * instances
            assert level["numRowsTotal"] <= instances * (number + 2)
    # In the end all tuples were released.
    assert [level["numRowsTotal"] for level in batches[-1]["stateOperators"]] == [instances] * 2
