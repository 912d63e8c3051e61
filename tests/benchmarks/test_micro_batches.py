"""Millrace's carriers on Spark compared with Spark's operators: in turns, in one process.

Every run of the tests uses the tiny size, and compares only rows. The real size also checks
ratios, and prints the measurements, on an otherwise idle machine::

    MILLRACE_BENCHMARKS=real python -m pytest -s tests/benchmarks/test_micro_batches.py

A stream's rate excludes the first batch, a job's rate is that of the whole job. Each round has
every rival once; the first round is a warm-up.
"""

from __future__ import annotations

import os
import statistics

import pytest

from experiments import families
from experiments.families.micro_batches import bench
from experiments.families.micro_batches.columns import WHOLE
from experiments.timing.bench import Request
from operators.core.jit import INTERPRETED
from tests.covering import on_spark, with_always

REAL = os.environ.get("MILLRACE_BENCHMARKS") == "real" and not INTERPRETED
ROUNDS = 3 if REAL else 1
FEW_KEYS = {"query": "few-keys", "density": 1_000 if REAL else 4}
TINY = {"trigger": 600, "batches": 1}

pytestmark = on_spark

# Our variant, the rival, the tuples of a batch, the measured batches, and the expected ratio.
RATIOS = {
    "window() at 500,000": ("stream", "spark-window", 500_000, 3, 3.0),
    "window() at 2,000,000": ("stream", "spark-window", 2_000_000, 2, 5.0),
    "pandas with state at 500,000": ("stream", "pandas-with-state", 500_000, 1, 10.0),
    "batch window()": ("bounded", "spark-window-batch", 500_000, 4, 3.0),
}


def rates(runs):
    """Return the rates of some settings by name, in tuples/s, measured in turns."""
    ready = {
        name: families.ready("micro_batches", variant, settings)
        for name, (variant, settings) in runs.items()
    }
    found = {name: [] for name in runs}
    for number in range(ROUNDS):
        for name, made in ready.items():
            row = made.run(Request(1.0, phase=WHOLE, limit_seconds=120.0))
            assert row["valid"], row["invalid_reason"]
            if number or not REAL:
                found[name].append(row["throughput_tps"])
            if REAL:
                print(told(name, row))
    return {name: statistics.median(each) for name, each in found.items()}


def told(name, row):
    used = (row["java_seconds"] + row["python_seconds"]) / row["measured_tuples"] * 1e6
    batch = "" if row["batch_ms"] is None else f", {row['batch_ms']:.0f} ms a batch"
    return f"{name}: {row['throughput_tps'] / 1e6:.3f} M tuples/s, {used:.2f} s/M{batch}"


@pytest.fixture(autouse=True)
def practised(monkeypatch):
    """Skip the practice runs unless timed; otherwise practise until Java compiles little."""
    if REAL:
        monkeypatch.setattr(bench, "BATCHES_PRACTISED", 40)
    else:
        monkeypatch.setattr(bench.MicroBatchBench, "_practise", lambda self, spark, limit: None)


# For rows alone one case shows that this file runs: other tests check each variant's rows.
@pytest.mark.parametrize("name", RATIOS if REAL else with_always(RATIOS, ["batch window()"]))
def test_ours_is_so_many_times_as_fast_as_the_rival(name, request):
    ours, rival, trigger, batches, times = RATIOS[name]
    session_of(request)
    size = {"trigger": trigger, "batches": batches} if REAL else TINY
    found = rates({each: (each, {**FEW_KEYS, **size}) for each in (ours, rival)})
    if REAL:
        ratio = found[ours] / found[rival]
        print(f"{name}: {ratio:.1f} times as fast")
        assert ratio >= times


def test_a_stage_of_python_takes_a_million_tuples_a_second(request):
    session_of(request)
    size = {"trigger": 1_000_000, "batches": 3} if REAL else TINY
    found = rates({"one stage": ("bounded", {"query": "relay", **size})})
    if REAL:
        assert found["one stage"] >= 1e6


def session_of(request):
    """Use the session of all tests unless timed; otherwise one that is set up for more."""
    if not REAL:
        request.getfixturevalue("spark")
