"""The bench of pipelines: whole passes over generated sales and clicks, checked by a serial run."""

from __future__ import annotations

import numpy as np
import pytest

from datasets.generate import generate
from experiments import families
from experiments.families.pipeline import bench as module
from experiments.families.pipeline.inputs import input_of
from experiments.timing.bench import Request
from operators import registry
from operators.contract import UsageError
from operators.core.integers import fold
from operators.core.jit import INTERPRETED
from operators.pipeline.reference import run_serially
from tests.operators.pipeline import batch

pytestmark = pytest.mark.skipif(INTERPRETED, reason="thousands of tuples through five operators")
ROLES = {"sales": "store_sales", "clicks": "web_clickstreams"}
QUERIES = registry.family("pipeline").queries
ROWS = 6_000


@pytest.fixture(scope="module")
def folders(spark, tmp_path_factory):
    """A small set of either role, by role."""
    root = tmp_path_factory.mktemp("shop")
    for name in ROLES.values():
        generate(name, ROWS, 3, root / name, "local[2]", 2)
    return {role: root / name for role, name in ROLES.items()}


def ready(folders, query, scheduler="ct", **settings):
    given = {"query": query, "dataset": folders[QUERIES[query].role], **settings}
    return families.ready("pipeline", scheduler, given)


@pytest.mark.parametrize("query", QUERIES)
def test_every_scheduler_puts_out_what_a_serial_run_does(folders, query):
    for scheduler in registry.variants("pipeline"):
        bench = ready(folders, query, scheduler.id, workers=2)
        row = bench.run(Request(0.1))
        assert row["valid"], (scheduler.id, row["invalid_reason"])
        assert row["outputs"] > 0
        assert row["throughput_tps"] > 0
        assert row["tuples"] == len(input_of(query, folders[QUERIES[query].role]).records)


def test_markers_tell_the_processing_latency(folders):
    row = ready(folders, "q2", workers=2).run(Request(0.1))
    assert row["markers"] == pytest.approx(module.MARKERS_A_RUN, rel=0.25)
    assert 0 < row["processing_ms_p50"] <= row["processing_ms_p99"]
    assert row["latency_ms_mean"] is None


def test_a_serial_run_is_the_functions_one_record_at_a_time(folders):
    for query in QUERIES:
        folder = folders[QUERIES[query].role]
        found = input_of(query, folder)
        wanted = run_serially(found.pipeline(1), found.records)
        digest = 0
        for word in (word for row in wanted for word in row):
            digest = fold(digest, word)
        assert wanted
        assert module.serial_run(query, folder, len(found.records)) == (len(wanted), digest)


def test_query_2_of_generated_clicks_is_a_batch_over_the_table(folders):
    found = input_of("q2", folders["clicks"])
    assert run_serially(found.pipeline(1), found.records) == batch.query_2(found.records)


def test_a_wrong_output_is_seen(folders, monkeypatch):
    bench = ready(folders, "q4", workers=2)
    monkeypatch.setattr(module, "serial_run", lambda query, folder, total: (1, 5))
    assert bench.run(Request(0.1))["invalid_reason"].startswith("wrong output: other outputs")
    monkeypatch.setattr(module, "serial_run", lambda query, folder, total: (7, 5))
    assert "1 outputs, and a serial run has 7" in bench.run(Request(0.1))["invalid_reason"]


def test_time_runs_faster_for_query_1_alone(folders):
    q1, q15 = (input_of(query, folders["sales"]).records for query in ("q1", "q15"))
    assert q1[-1, 0] < q15[-1, 0] - q15[0, 0]
    np.testing.assert_array_equal(q1[:, 1:], q15[:, 1:])


def test_what_it_does_not_take_is_refused(folders):
    with pytest.raises(UsageError, match="query must be one of q1, q2, q3, q4, q15, received 'q9'"):
        families.ready("pipeline", "lp", {"query": "q9"})
    with pytest.raises(UsageError, match="query q1 runs on sales, and dataset web_clickstreams"):
        families.ready("pipeline", "lp", {"query": "q1", "dataset": folders["clicks"]})
    bench = ready(folders, "q4")
    with pytest.raises(UsageError, match="has a saturated source and takes no rate"):
        bench.run(Request(0.1, 100.0, "open"))
