"""One point, from the settings to the row: what is right, what is invalid, and what is refused."""

from __future__ import annotations

import json

import numpy as np
import pytest

from experiments import families
from experiments.families.aggregation.bench import AggregationBench, _winset_latency
from experiments.records import columns
from experiments.timing import cycle as feeds
from experiments.timing import machine, stability
from experiments.timing import threads as measurement
from experiments.timing.crew import Outcome
from experiments.timing.threads import measure
from operators.aggregation.sink import WinsetLog
from operators.contract import UsageError
from operators.core import histogram

VARIANT = "mqlf"
PURPOSE = {
    "paper": "p", "figure": "f", "profile": "quick", "phase": "open", "rate_fraction": 0.7,
    "repetition": 1, "coarse": True, "provenance": "id", "series": VARIANT,
}  # fmt: skip


def bench_of(path, **settings):
    return families.make("aggregation", VARIANT, {"dataset": path, "inputs": 2, **settings})


def test_a_closed_run_gives_the_object_of_the_command(meters):
    told = []
    seen = measure(
        "aggregation", VARIANT, {"query": "k-OS", "inputs": "2"}, "max", 0.05, told.append
    )
    assert seen["valid"]
    assert seen["latency_ms"] is None
    assert seen["throughput_tps"] == pytest.approx(seen["tuples"] / seen["seconds"])
    assert seen["samples"] == [seen["throughput_tps"]]
    assert seen["digest"] == seen["oracle_digest"]
    assert seen["threads"] == 3
    assert seen["dataset"] == "smart_meter"
    assert seen["provenance"]["cores"] == seen["cores"]
    assert told[0] == "compiling"
    json.dumps(seen, allow_nan=False)


def test_an_open_run_has_latencies_in_their_order(comments):
    seen = measure("aggregation", VARIANT, {"query": "K-OI", "inputs": 2}, 20_000, 0.1)
    latency = seen["latency_ms"]
    assert seen["valid"]
    assert 0 < latency["p50"] <= latency["p99"] <= latency["max"]
    assert latency["mean"] <= latency["max"]
    assert seen["offered_tps"] == 20_000
    # The last tuple is due at the end of the schedule, and not before.
    assert seen["seconds"] >= (seen["tuples"] - 1) / 20_000
    assert seen["lateness_ms_max"] >= 0


def test_a_closed_run_that_a_bad_trial_made_too_short_is_made_again(meters, monkeypatch):
    bench = bench_of(meters, query="k-OS")
    monkeypatch.setattr(measurement, "guess", lambda bench, limit_seconds: 1_000.0)
    done = measurement.run_closed(bench, 0.05)
    assert done.total > bench.least_tuples
    assert done.output.problem is None


def test_runs_longer_than_the_data_are_right_too(meters):
    bench = bench_of(meters, query="k-OS")
    done = measurement.run(bench, 10_000)
    assert done.output.problem is None
    assert done.output.winsets > 100


@pytest.mark.parametrize("query", ["k-OS", "k-OI", "w-OI"])
def test_every_row_of_a_run_is_a_row(meters, query):
    done = measurement.run(bench_of(meters, query=query), 4_000, 50_000.0)
    columns.validate({**measurement.row(done), **PURPOSE})


def test_warming_up_compiles_everything_that_a_run_enters(meters, monkeypatch):
    monkeypatch.setattr(measurement, "_warm", set())
    bench = bench_of(meters, query="k-OS")
    measurement.warm_up(bench)
    kernels = {role.kernel for role in bench.start(100, 0.0).roles}
    assert len(kernels) == 2
    if not machine.INTERPRETED:
        compiled = {kernel: len(kernel.signatures) for kernel in kernels}
        measurement.run(bench, 2_000, 50_000.0)
        measurement.run(bench, 2_000)
        assert {kernel: len(kernel.signatures) for kernel in kernels} == compiled
        assert min(compiled.values()) > 0


def test_texts_are_loaded_for_the_queries_that_read_them(comments):
    done = measurement.run(bench_of(comments, query="f-OS"), 3_000)
    assert done.output.problem is None


def test_a_wrong_digest_makes_an_invalid_row(meters, monkeypatch):
    bench = bench_of(meters, query="k-OS")
    right = bench._oracle

    class Wrong:
        def expected(self, total):
            expected = right.expected(total)
            return expected._replace(digest=expected.digest ^ 1)

    monkeypatch.setattr(AggregationBench, "_oracle", Wrong())
    row = measurement.row(measurement.run(bench, 4_000))
    assert not row["valid"]
    assert row["invalid_reason"].startswith("wrong output: winset 0 ")
    assert row["digest"] != row["oracle_digest"]
    columns.validate({**row, **PURPOSE, "phase": "closed", "rate_fraction": None})


def test_a_failed_run_is_a_row_too(meters):
    row = measurement.failed(bench_of(meters), "it broke\nbadly", 5, 6)
    checked = columns.validate({**row, **PURPOSE})
    assert checked["invalid_reason"] == "it broke badly"
    assert checked["throughput_tps"] is None


@pytest.mark.parametrize("variant", ["multi-queue-lock-free", "t-gate"])
def test_a_gate_delivers_everything_in_order_at_either_kind_of_rate(variant):
    bench = families.make("gate", variant, {"sources": 3, "ahead": 64})
    closed = measurement.row(measurement.run(bench, 30_000))
    assert closed["valid"], closed["invalid_reason"]
    assert closed["outputs"] == 30_000
    opened = measurement.row(measurement.run(bench, 20_000, 100_000.0))
    assert opened["valid"], opened["invalid_reason"]
    assert opened["latency_samples"] == 15_000
    assert 0 < opened["latency_ms_p50"] <= opened["latency_ms_max"]


def test_every_reader_of_a_gate_sees_every_tuple():
    bench = families.make("gate", "t-gate", {"sources": 2, "readers": 2})
    done = measurement.run(bench, 20_000)
    assert done.output.problem is None
    assert done.output.outputs == 40_000


def test_a_gate_that_loses_a_tuple_is_found_out():
    bench = families.make("gate", "t-gate", {"sources": 2})
    started = bench.start(1_000, 0.0)
    words = np.zeros(512, dtype=np.int64)
    outcome = Outcome(0, 1, words[:0], words[:0], words, words[:3], False)
    problem = started.finish(outcome).problem
    assert problem == "wrong output: reader 0 got 0 of 1000 tuples"


def test_gate_data_run_over_their_end():
    cycle, source = feeds.gate_streams(3, 1)
    bench = families.make("gate", "multi-queue", {"sources": 3})
    done = measurement.run(bench, cycle.rows + 5_000)
    assert done.output.problem is None
    assert np.bincount(source).min() > 0.3 * cycle.rows


def test_the_latency_of_a_winset_counts_from_the_due_time_of_its_releasing_tuple():
    period, go = 1_000.0, 10**9
    released = np.array([5, 30, 50, 90, 99, -1])
    late = np.array([9e6, 1e6, 2e6, 3e6, 9e6, 9e6])
    emitted = go + (released * period).astype(np.int64) + late.astype(np.int64)
    rows = np.array([9, 1, 1, 2, 9, 9])
    log = WinsetLog(released, rows, rows, released, emitted)
    seen = _winset_latency(log, released, go, 100, period)
    # Those before a fifth and after nineteen twentieths, and the end of the streams, do not count.
    assert seen.samples == 3
    assert seen.mean == pytest.approx((1 + 2 + 3 + 3) / 4)
    assert (seen.p50, seen.p99, seen.max) == (2.0, 3.0, 3.0)
    assert _winset_latency(log, released, go, 10_000, period) is None


def outcome_of(seconds, processed, go=10**9):
    clock = go + (np.asarray(seconds) * 1e9).astype(np.int64)
    words = np.zeros(64, dtype=np.int64)
    return Outcome(go, int(clock[-1]), clock, np.asarray(processed), words, words[:2], False)


def test_a_sustained_rate_has_a_level_backlog():
    seconds = np.linspace(0.01, 1, 100)
    noise = np.random.default_rng(1).integers(-50, 50, 100)
    seen = stability.judge(
        outcome_of(seconds, (seconds * 100_000).astype(int) + noise), 100_000, 1e5
    )
    assert not seen.saturated
    assert seen.slope_upper < stability.LEVEL_SLOPE
    assert seen.achieved_tps == pytest.approx(1e5, rel=0.01)
    assert seen.steady


def test_an_exceeded_rate_leaves_a_growing_backlog():
    seconds = np.linspace(0.01, 1.1, 110)
    seen = stability.judge(outcome_of(seconds, (seconds * 90_000).astype(int)), 100_000, 1e5)
    assert seen.saturated
    assert seen.slope == pytest.approx(0.1, abs=0.01)


def test_a_slowing_run_is_not_steady_and_too_few_samples_say_nothing():
    seconds = np.linspace(0.01, 1, 100)
    slowing = (100_000 * np.sqrt(seconds)).astype(int)
    assert stability.judge(outcome_of(seconds, slowing), 100_000, None).steady is False
    short = outcome_of(seconds[:3], slowing[:3])
    assert stability.judge(short, 100_000, None) == (None, None, None, None, False)
    assert stability.judge(short, 100, 1e3).saturated is False


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"query": "x-OS"}, "unknown query 'x-OS'; there are: k-OS"),
        ({"inputs": 0}, "inputs must be between 1 and 512, received 0"),
        ({"inputs": "two"}, "inputs must be a whole number, received 'two'"),
        ({"ahead": 0}, "ahead must be between"),
        (
            {"speed": 1},
            "has no setting 'speed'; it has: ahead, dataset, inputs, query, seed",
        ),
        ({"dataset": "nowhere"}, "there is no dataset 'nowhere' .made so far: smart_meter."),
        ({"query": "K-OS"}, "there is no dataset of comments"),
        ({"query": "K-OS", "dataset": "smart_meter"}, "runs on comments, and dataset smart_meter"),
    ],
)
def test_a_wrong_setting_is_one_line_that_lists_the_right_ones(meters, settings, message):
    with pytest.raises(UsageError, match=message) as caught:
        measure("aggregation", VARIANT, settings, "max", 0.1)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("rate", [0, -1, "fast", float("nan"), float("inf")])
def test_a_rate_must_be_positive(meters, rate):
    with pytest.raises(UsageError, match="rate must be max or above 0"):
        measure("aggregation", VARIANT, {}, rate, 0.1)


def test_seconds_and_variants_are_checked_before_anything_compiles(meters):
    with pytest.raises(UsageError, match="seconds must be above 0"):
        measure("aggregation", VARIANT, {}, "max", 0)
    with pytest.raises(UsageError, match="unknown variant 'fastest'"):
        measure("aggregation", "fastest", {}, "max", 1)


def test_histograms_of_several_readers_are_merged():
    from experiments.families.gate.bench import _tuple_latency

    kept = [histogram.make_histogram() for _ in range(2)]
    assert _tuple_latency(kept) is None
    for one, value in zip(kept, (1_000_000, 3_000_000), strict=True):
        histogram.record(one, value, 1)
    seen = _tuple_latency(kept)
    assert seen.samples == 2
    assert seen.mean == pytest.approx(2.0)
    assert seen.max == pytest.approx(3.0)
