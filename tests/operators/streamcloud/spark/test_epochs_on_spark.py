"""Spark's checkpoint contains nothing that would prevent other numbers of instances."""

from __future__ import annotations

import json
from random import Random

import pytest

from operators.streamcloud import reference
from operators.streamcloud.carriers.spark.stream import run_stream
from tests.covering import taken
from tests.operators.streamcloud.carrying import plan_of
from tests.operators.streamcloud.spark.batching import shuffled
from tests.operators.streamcloud.spark.chunking import cut_all
from tests.operators.streamcloud.spark.on_spark import exported, job_of, put
from tests.operators.streamcloud.test_carriers import calls_and_suspects, query_named


@pytest.mark.timeout(280)
def test_a_stream_on_spark_goes_on_with_other_instances(spark, tmp_path):
    query = query_named("figure-1")
    streams = calls_and_suspects(Random(5), tuples=60)
    random = Random(5)
    pieces = [each for batch in shuffled(cut_all(query, streams, random, most=24), random)
              for each in batch]  # fmt: skip
    counts = taken([2, 3, 1], [2, 3])
    each = -(-len(pieces) // len(counts))
    age = None
    for at, count in enumerate(counts):
        age = put(tmp_path / "chunks", pieces[at * each : (at + 1) * each], age)
        job = job_of(plan_of(query, streams, instances=count), streams, tmp_path, files=each)
        assert run_stream(job)
    expected = reference.run(query, streams)
    assert expected["busy"]
    assert exported(job) == expected
    said = json.loads((tmp_path / "work" / "epochs.json").read_text())
    assert [each["instances"]["busy"] for each in said] == list(counts)
