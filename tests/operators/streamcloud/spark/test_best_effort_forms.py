"""On Spark, best effort invents no tuple, and a batch job always loses the same ones."""

from __future__ import annotations

from collections import Counter
from random import Random

import pytest

from operators.streamcloud import reference
from operators.streamcloud.carriers.spark import steps
from operators.streamcloud.plan import BEST_EFFORT
from operators.streamcloud.yaml_form import read_query
from tests.covering import interpreted_is_enough
from tests.operators.streamcloud.carrying import plan_of
from tests.operators.streamcloud.spark.batching import all_at_once, shuffled
from tests.operators.streamcloud.spark.chunking import cut_all
from tests.operators.streamcloud.spark.forms import (
    BOUNDED,
    STREAM,
    coding_of,
    pretended,
    put_out,
    written,
)
from tests.operators.streamcloud.test_carriers import (
    calls_and_suspects,
    query_named,
)


@interpreted_is_enough
@pytest.mark.parametrize("seed", range(3))
def test_bounded_best_effort_is_the_same_each_time(seed, tmp_path, monkeypatch):
    """Rows are sorted by begin: only plan, chunks and limits matter, not files or tasks."""
    monkeypatch.setattr(steps, "MOST_WAITING", 300)
    query = query_named("figure-1")
    streams = calls_and_suspects(Random(seed), tuples=60)
    pieces = cut_all(query, streams, Random(seed), most=9)
    plan = plan_of(query, streams, instances=3, merger=BEST_EFFORT)
    coding = coding_of(query, streams)
    found = []
    for again in range(3):
        random = Random(again)
        folder = tmp_path / str(again)
        spark = pretended(BOUNDED, plan, coding, folder, random)
        out = spark.bounded(written(folder, all_at_once(pieces, random))[0])
        found.append(sorted((each.row.sender, each.row.seq, each.row.batch.tobytes())
                            for each in out))  # fmt: skip
    assert found[0] == found[1] == found[2]


@interpreted_is_enough
@pytest.mark.parametrize("form", (BOUNDED, STREAM))
def test_best_effort_puts_out_nothing_that_transparent_does_not(form, tmp_path):
    query = read_query({
        "query": "known",
        "inputs": {
            "calls": {"schema": {"ts": "int64", "caller": "int64", "begin": "int64",
                                 "end": "int64"}},
            "suspects": {"schema": {"ts": "int64", "number": "int64"}},
        },
        "operators": {"known": {"join": {
            "left": "calls", "right": "suspects", "on": [["caller", "number"]],
            "window": {"time": 20}, "columns": {"begin": "left.begin", "seen": "right.ts"},
        }}},
        "outputs": ["known"],
    })  # fmt: skip
    lost = 0
    for seed in range(3):
        random = Random(seed)
        streams = calls_and_suspects(random, tuples=40)
        expected = Counter(reference.run(query, streams)["known"])
        plan = plan_of(query, streams, instances=2, merger=BEST_EFFORT)
        coding = coding_of(query, streams)
        spark = pretended(form, plan, coding, tmp_path / str(seed), random)
        files = written(tmp_path / str(seed), shuffled(cut_all(query, streams, random), random))
        out = spark.stream(files) if form == STREAM else spark.bounded(sum(files, []))
        found = Counter(put_out(plan, coding, out, random)["known"])
        assert not found - expected
        lost += (expected - found).total()
    assert form == BOUNDED or lost > 0, "chunks in any order must have made some late"
