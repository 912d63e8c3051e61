"""One point, from a bench to the row and to the object of the command; failures are rows too."""

from __future__ import annotations

import json

import pytest

from experiments import families
from experiments.records import columns
from experiments.records.columns import OPEN
from experiments.timing import run_row, threads
from experiments.timing.bench import Request
from operators.contract import UsageError
from operators.running import pinning
from operators.running.run_threads import RunFailed
from tests.experiments.rows import purpose


def bench_of(path, **settings):
    return families.ready("aggregation", "mqlf", {"dataset": path, "inputs": 2, **settings})


@pytest.mark.parametrize("asked", [Request(0.02), Request(0.02, 50_000.0, OPEN)])
@pytest.mark.parametrize("query", ["k-OS", "k-OI", "w-OI"])
def test_every_row_of_a_run_is_a_row(meters, query, asked):
    seen = run_row.row(bench_of(meters, query=query), asked)
    row = columns.validate({**seen, **purpose(phase=asked.phase)})
    assert row["settings"]["query"] == query
    assert (row["dataset"], row["dataset_source"]) == ("smart_meter", "generated")


def test_a_row_of_a_gate_has_no_data():
    bench = families.ready("gate", "t-gate", {"sources": 2})
    row = columns.validate({**run_row.row(bench, Request(0.02)), **purpose()})
    assert (row["dataset"], row["dataset_source"], row["dataset_digest"]) == (None, None, None)
    assert row["settings"] == bench.settings


def test_a_closed_run_gives_the_object_of_the_command(meters):
    told = []
    bench = bench_of(meters, inputs="2")
    seen = run_row.measure(bench, "max", 0.05, told.append)
    assert seen["valid"]
    assert seen["latency_ms"] is None
    assert seen["whole_tps"] == pytest.approx(seen["tuples"] / seen["seconds"])
    assert seen["throughput_tps"] > 0
    assert seen["samples"] == [seen["throughput_tps"]]
    assert seen["digest"] == seen["oracle_digest"]
    assert seen["threads"] == 3
    assert seen["oversubscribed"] == (pinning.cores() < 3)
    assert seen["dataset"] == "smart_meter"
    assert (seen["settings"]["query"], seen["settings"]["inputs"]) == ("k-OS", 2)
    assert seen["provenance"]["cores"] == seen["cores"]
    assert seen["provenance"]["asked"] == {
        "settings": seen["settings"], "rate": "max", "seconds": 0.05,
    }  # fmt: skip
    assert told[0] == "compiling"
    json.dumps(seen, allow_nan=False)


def test_an_open_run_has_latencies_in_their_order(comments):
    seen = run_row.measure(bench_of(comments, query="K-OI"), 20_000, 0.1)
    latency = seen["latency_ms"]
    assert seen["oracle_digest"] == seen["digest"]
    assert 0 < latency["p50"] <= latency["p99"] <= latency["max"]
    assert latency["mean"] <= latency["max"]
    assert not [name for name in seen if name.startswith("latency_ms_")]
    assert seen["offered_tps"] == 20_000
    # The last tuple is due at the end of the schedule, and not before.
    assert seen["seconds"] >= (seen["tuples"] - 1) / 20_000
    assert seen["lateness_ms_max"] >= 0


def test_a_failed_run_is_a_row_too(meters):
    row = run_row.failed(bench_of(meters), "it broke\nbadly", 5, 6)
    checked = columns.validate({**row, **purpose(phase="open", rate_fraction=0.7)})
    assert checked["invalid_reason"] == "it broke badly"
    assert checked["throughput_tps"] is None
    assert (checked["valid"], checked["threads"], checked["started_at"]) == (False, 3, 5)
    assert checked["ended_at"] - 5 == checked["ended_monotonic"] - 6


def test_rate_and_seconds_are_checked_before_anything_runs(meters):
    bench = bench_of(meters)
    bench.run = None
    with pytest.raises(UsageError, match="rate must be max or above 0"):
        run_row.measure(bench, 0, 0.1)
    with pytest.raises(UsageError, match="seconds must be above 0"):
        run_row.measure(bench, "max", 0)


def test_a_run_without_a_result_is_raised(meters, monkeypatch):
    def fail(*given):
        raise RunFailed("it fell over")

    monkeypatch.setattr(threads, "run_tuples", fail)
    with pytest.raises(RunFailed, match="it fell over"):
        run_row.measure(bench_of(meters), "max", 0.05)
