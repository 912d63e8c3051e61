"""A gate is benched without data: the expected output is known, in order, and complete."""

from __future__ import annotations

import numpy as np
import pytest

from experiments import families
from experiments.families.gate import bench as gate_bench
from experiments.families.gate.bench import streams
from experiments.families.gate.loops import is_sampled
from experiments.records.columns import OPEN
from experiments.timing import threads
from experiments.timing.bench import Request, latency_of
from experiments.timing.threads import run_tuples
from operators import registry
from operators.contract import UsageError
from operators.core import histogram
from operators.running.run_threads import Outcome
from operators.running.schedule import CLOSED_LOOP

CLOSED_RUN = Request(0.1)


def bench_of(variant="t-gate", **settings):
    return families.ready("gate", variant, settings)


@pytest.mark.parametrize("variant", ["multi-queue-lock-free", "t-gate"])
def test_a_gate_delivers_everything_in_order_at_either_kind_of_rate(variant):
    bench = bench_of(variant, sources=3, ahead=64)
    closed = threads.columns_of(bench, run_tuples(bench, 300_000, CLOSED_RUN))
    assert closed["valid"], closed["invalid_reason"]
    assert closed["outputs"] == 300_000
    assert closed["in_flight_tuples"] == 3 * 64
    assert closed["latency_samples"] is None
    opened = threads.columns_of(bench, run_tuples(bench, 20_000, Request(0.2, 100_000.0, OPEN)))
    assert opened["valid"], opened["invalid_reason"]
    first, last = int(0.2 * 20_000), int(0.95 * 20_000)
    assert opened["latency_samples"] == sum(is_sampled(rank) for rank in range(first, last))
    assert 0 < opened["latency_ms_p50"] <= opened["latency_ms_max"]


def test_an_open_run_is_long_enough_for_a_99th_percentile():
    bench = bench_of()
    first, last = bench.measured(bench.least_open_tuples, open_loop=True)
    # Ten latencies lie beyond it.
    assert sum(map(is_sampled, range(first, last))) >= 1_000


def test_every_reader_of_a_gate_sees_every_tuple():
    done = run_tuples(bench_of(sources=2, readers=2), 20_000, CLOSED_RUN)
    assert done.output.problem is None
    assert done.output.outputs == 40_000


FAULTS = {
    "late": ("DISORDER", 3, "wrong output: reader 0 got 3 tuples too late"),
    "lost": ("PROGRESS", 999, "wrong output: reader 0 got 999 of 1000 tuples"),
    "other": ("DIGEST", 5, "wrong output: reader 0 got other tuples than were sent"),
}


@pytest.mark.parametrize("fault", FAULTS)
def test_a_gate_that_delivers_anything_else_is_found_out(fault):
    word, value, problem = FAULTS[fault]
    bench = bench_of(sources=2)
    started = bench.start(1_000, CLOSED_LOOP)
    control = gate_bench.control
    words = control.make_control(3)
    words[control.block(0) + control.PROGRESS] = 1_000
    words[control.block(0) + control.DIGEST] = bench._expected(1_000)
    outcome = Outcome(0, 1, words[:0], words[:0], words, words[:3], False)
    assert started.finish(outcome).problem is None
    words[control.block(0) + getattr(control, word)] = value
    assert started.finish(outcome).problem == problem


def test_gate_data_run_over_their_end():
    cycle, source = streams(3, 1)
    done = run_tuples(bench_of(sources=3), cycle.rows + 5_000, CLOSED_RUN)
    assert done.output.problem is None
    assert np.bincount(source).min() > 0.3 * cycle.rows


def test_its_threads_are_the_readers_and_then_the_sources():
    bench = bench_of(sources=2, readers=2)
    assert (bench.threads, bench.first_input) == (4, 2)
    names = [role.name for role in bench.start(100, CLOSED_LOOP).roles]
    assert names == ["reader 0", "reader 1", "source 0", "source 1"]
    assert bench.data == {"dataset": None, "dataset_source": None, "dataset_digest": None}


@pytest.mark.parametrize(
    ("variant", "settings", "message"),
    [
        ("multi-queue-lock-free", {"readers": 2}, "readers must be 1, received 2"),
        ("t-gate", {"sources": 0}, "sources must be between 1 and 512, received 0"),
        ("t-gate", {"levels": 99}, "levels must be between 1 and 32"),
        ("t-gate", {"dataset": "smart_meter"}, "gate t-gate has no setting 'dataset'; it has: "),
        ("t-gate", {"query": "k-OS"}, "gate t-gate has no setting 'query'; it has: "),
        ("t-gate", {"sources": 512, "ahead": 1 << 20}, "512 sources with ahead 1048576 need"),
    ],
)
def test_what_a_gate_does_not_take_is_refused_in_check(monkeypatch, variant, settings, message):
    monkeypatch.setattr(gate_bench, "streams", None)
    with pytest.raises(UsageError, match=message) as caught:
        families.make(registry.variant("gate", variant)).check(settings)
    assert "\n" not in str(caught.value)


def test_histograms_of_several_readers_are_merged():
    kept = [histogram.make_histogram() for _ in range(2)]
    assert latency_of(histogram.merge(kept)) is None
    for one, value in zip(kept, (1_000_000, 3_000_000), strict=True):
        histogram.record(one, value, 1)
    seen = latency_of(histogram.merge(kept))
    assert latency_of(histogram.merge(kept), least=3) is None
    assert seen.samples == 2
    assert seen.mean == pytest.approx(2.0)
    assert seen.max == pytest.approx(3.0)
