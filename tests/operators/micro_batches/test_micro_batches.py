"""Queries on Spark: which of them a variant takes, and that all variants output the same rows."""

from __future__ import annotations

import numpy as np
import pytest

from experiments.families.micro_batches import given as files
from experiments.families.micro_batches.outputs import compared
from experiments.families.streamcloud.expected import expected
from experiments.families.streamcloud.streams import streams_of
from operators import registry
from operators.contract import UsageError
from operators.micro_batches import pandas_with_state, row_shuffle, stream_stream_join
from operators.micro_batches.family import CHECKPOINT, Work, reported_bytes
from operators.micro_batches.rivals import refuses_aggregate
from operators.streamcloud.queries import QUERIES, query_of
from operators.streamcloud.yaml_form import read_query, to_mapping
from tests.covering import on_spark, with_always
from tests.experiments.families.streamcloud.call_streams import in_memory

FAMILY = registry.family("micro_batches")
VARIANTS = {each.id: each for each in registry.variants("micro_batches")}
AGGREGATES, JOINS = {"few-keys", "aggregate"}, {"join", "join-by-nested-loop", "join-as-product",
                                                "product", "fixed-windows"}  # fmt: skip
TAKEN = {
    "spark-window": AGGREGATES,
    "spark-window-batch": AGGREGATES,
    "pandas-with-state": {"few-keys"},
    "stream-stream-join": JOINS,
    # A map computes with //, which SQL lacks.
    "row-shuffle": {"relay"},
}
EACH_RUN = [
    ("spark-window-batch", "aggregate"),
    ("pandas-with-state", "few-keys"),
    ("stream-stream-join", "product"),
    ("row-shuffle", "relay"),
]
RIVALS = [
    *EACH_RUN,
    ("spark-window", "few-keys"),
    ("spark-window", "aggregate"),
    ("stream-stream-join", "join"),
]
# Small windows, some of which meet; several triggers of some hundred tuples.
DENSITY, TRIGGER, TRIGGERS = 4, 600, 3


@pytest.mark.parametrize("variant", VARIANTS)
def test_a_rival_takes_what_it_can_be_asked_and_ours_all(variant):
    taken = {query for query in QUERIES if FAMILY.accepts(VARIANTS[variant], query) is None}
    assert taken == TAKEN.get(variant, set(QUERIES))


def test_a_refusal_says_what_is_taken():
    with pytest.raises(UsageError, match="^spark-window takes queries of one aggregate over an in"):
        FAMILY.resolve(VARIANTS["spark-window"], {"query": "join"})


def changed(query, operator, **more):
    """Return a published query with changed entries of an operator."""
    mapping = to_mapping(query_of(query))
    (kind,) = mapping["operators"][operator]
    mapping["operators"][operator][kind] |= more
    return read_query(mapping)


@pytest.mark.parametrize(
    ("refuses", "query", "reason"),
    [
        (refuses_aggregate, changed("aggregate", "busy", window={"count": 8, "advance": 2}),
         "windows of time"),
        (refuses_aggregate, changed("aggregate", "busy", columns={"a": "first(x)"}), "first"),
        (refuses_aggregate, changed("aggregate", "busy", columns={"a": "sum(x // 2)"}), "SQL"),
        (pandas_with_state.refuses, changed("few-keys", "counted", group_by=[]), "by a key"),
        (pandas_with_state.refuses, query_of("aggregate"), "count by a key"),
        (stream_stream_join.refuses, changed("join", "moves", time="smaller"), "larger"),
        (stream_stream_join.refuses, changed("join", "moves", window={"count": 9}), "of time"),
        (stream_stream_join.refuses, changed("join", "moves", where="left.x % 2 == 0"), "SQL"),
        (row_shuffle.refuses, query_of("eight-operators"), "maps"),
        (row_shuffle.refuses, changed("relay", "second", columns={"ts": "ts", "number": "number"}),
         "the time alone"),
    ],
    ids=lambda each: getattr(each, "name", None),
)  # fmt: skip
def test_what_a_rival_would_compute_otherwise_it_refuses(refuses, query, reason):
    assert reason in refuses(query)


def work_of(variant, query, folder, **more):
    """Return a variant's work, and the folder of the streams."""
    data = None if QUERIES[query].role is None else in_memory()
    place = (query, DENSITY, 20, data)
    streams = streams_of(*place)
    cut = files.cut_of(streams.query, TRIGGER)
    found = files.given(place, cut, TRIGGERS)
    own = {each.name: each.default for each in VARIANTS[variant].parameters} | more
    folder.mkdir()
    work = Work(
        streams.query, streams.coding, found.chunks, found.tables, cut.files, folder, 2, own
    )
    return work, expected(*place, cut.trigger * TRIGGERS, True)


def ran(spark, variant, query, tmp_path, **more):
    work, wanted = work_of(variant, query, tmp_path / "run", **more)
    found = VARIANTS[variant].operations.run(spark, work)
    result = compared(work.query, work.coding, found.read(), found.in_order, wanted)
    assert result.problem is None and result.rows > 0
    assert result.digest == result.oracle
    commits = {
        file.name
        for file in (work.folder / CHECKPOINT / "commits").glob("*")
        if file.name.isdigit()
    }
    batched = VARIANTS[variant].operations.in_batches
    assert commits >= set(map(str, range(TRIGGERS))) if batched else not commits
    return found


@on_spark
@pytest.mark.parametrize("rival", with_always(RIVALS, EACH_RUN), ids="-".join)
def test_a_rival_puts_out_what_one_instance_does(spark, tmp_path, rival):
    ran(spark, *rival, tmp_path)


@on_spark
@pytest.mark.parametrize(
    "variant", with_always(sorted(set(VARIANTS) - set(TAKEN)), ["state-store"])
)
def test_ours_put_out_what_one_instance_does_and_tell_their_batches(spark, tmp_path, variant):
    found = ran(spark, variant, "few-keys", tmp_path, instances=2)
    told = [each["batchId"] for each in found.progress]
    assert told == (list(range(TRIGGERS)) if VARIANTS[variant].operations.in_batches else [])


def test_of_buckets_each_pair_has_one_in_common():
    # As in the join's expressions: the bucket itself on the left, the adjacent ones on the right.
    size, times = 7, np.arange(60)
    for left in times:
        for right in times:
            common = sum(left // size == right // size + beside for beside in (-1, 0, 1))
            assert common == (abs(left // size - right // size) <= 1)
            if abs(left - right) <= size:
                assert common == 1


def told(number, *sizes):
    """Return Spark's report of a batch, with the bytes of each stateful operator's state."""
    operators = [{"customMetrics": {"loadedMapCacheHitCount": 9, **size}} for size in sizes]
    return {"batchId": number, "stateOperators": operators}


def test_bytes_of_state_are_those_of_the_largest_batch():
    memory, rocksdb = "stateOnCurrentVersionSizeBytes", "rocksdbSstFileSize"
    assert reported_bytes([told(0, {memory: 70}, {memory: 5}), told(1, {memory: 72})]) == 75
    assert reported_bytes([told(0, {rocksdb: 3}), told(1, {rocksdb: 8}), told(2)]) == 8
    assert reported_bytes([told(0), {"batchId": 1}]) is None
