"""The bench of partitioned worklists: keys distributed as in the paper, and detected errors."""

from __future__ import annotations

import math
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest

from experiments import families
from experiments.families.partition import bench as module
from experiments.records.columns import OPEN
from experiments.timing.bench import Request
from operators import registry
from operators.contract import FULL, UsageError
from operators.core import histogram
from operators.core.jit import INTERPRETED, inlined
from operators.partition import shared
from operators.running.run_threads import RunFailed
from operators.running.schedule import CLOSED_LOOP

TOTAL = 4_000 if not INTERPRETED else 300


def ready(variant="hybrid", **settings):
    return families.ready("partition", variant, {"work_us": 0.2, "slots": 64, **settings})


@pytest.mark.parametrize(("partitions", "share"), [(2, 0.5), (3, 0.999), (4, 0.5), (16, 0.39)])
def test_skew_is_that_of_the_notes(partitions, share):
    # At sigma 0.1 the largest of that many ranges holds this share of the keys.
    found = np.bincount(module.partitions_of(0.1, partitions, 1), minlength=partitions)
    assert found.max() / found.sum() == pytest.approx(share, abs=0.06 if INTERPRETED else 0.03)


def test_uniform_keys_fill_all_partitions_alike():
    found = np.bincount(module.partitions_of(0, 4, 1), minlength=4)
    assert found.min() > 0.6 * found.max()


def test_a_partitioned_queue_has_a_partition_a_worker_unless_told():
    assert ready("partitioned", workers=3).partitions == 3
    assert ready("partitioned", workers=3, partitions=2).partitions == 2
    assert ready("hybrid", workers=3).partitions == 100


def test_a_partitioned_queue_has_no_more_partitions_than_workers():
    told = "partitions of a partitioned queue must be at most its workers, 3, received 7; give 0"
    with pytest.raises(UsageError, match=told):
        ready("partitioned", workers=3, partitions=7)
    assert ready("partitioned", workers=3, partitions=3).partitions == 3
    assert ready("hybrid", workers=3, partitions=7).partitions == 7


@inlined
def next_input_exchanged(state, worker, out):
    """Exchange the words of every two tuples."""
    status = shared.next_input(state, worker, out)
    out[2] ^= 1
    return status


def test_tuples_of_a_partition_in_another_order_are_seen():
    variant = registry.variant("partition", "shared")
    operations = variant.operations._replace(next_input=next_input_exchanged)
    bench = ready("shared", workers=1, partitions=1, work_us=0)
    assert bench.measure(Request(1.0, tuples=TOTAL)).output.problem is None
    bench.variant = replace(variant, id="exchanged", operations=operations)
    problem = bench.measure(Request(1.0, tuples=TOTAL)).output.problem
    assert problem == "wrong output: other outputs than those of a serial run"


@inlined
def send_without_a_slot(buffer, receiver, serial, output):
    """Find no slot for an output; the producer must ensure that there is one."""
    return FULL


def test_an_output_without_a_slot_ends_a_run_that_says_so(monkeypatch):
    without = SimpleNamespace(send=send_without_a_slot)
    monkeypatch.setattr(module, "sending", lambda operations: without)
    with pytest.raises(RunFailed, match="an output had no slot in the reorder buffer"):
        ready().measure(Request(1.0, tuples=TOTAL))


def test_a_closed_run_has_a_throughput_and_an_open_one_a_latency():
    bench = ready()
    row = bench.run(Request(0.05, tuples=TOTAL))
    assert row["valid"], row["invalid_reason"]
    assert row["throughput_tps"] > 0 and row["in_flight_tuples"] == 64
    rate = 20_000.0 if not INTERPRETED else 300.0
    row = bench.run(Request(0.2, rate, OPEN))
    assert row["valid"], row["invalid_reason"]
    assert row["latency_samples"] > 0


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"partitions": 0}, "partitions must be between 1 and 4096, received 0"),
        ({"sigma": "much"}, "sigma must be a number of at most 3 decimals, received 'much'"),
        ({"sigma": -0.5}, "sigma must be between 0 and 100, received -0.5"),
        ({"slots": 1}, "slots must be between 2 and 1048576 tuples, received 1"),
        (
            {"reorder": "none"},
            "reorder must be one of lock-based, lock-based-spin, non-blocking, received 'none'",
        ),
    ],
)
def test_bad_settings_are_refused_by_name(settings, message):
    with pytest.raises(UsageError, match=message.replace(".", r"\.")):
        ready(**settings)


# --- processing latency --------------------------------------------------------------------------


@pytest.mark.timed
def test_processing_latency_is_the_work_where_nobody_waits():
    bench = ready(workers=1, work_us=200, slots=16)
    row = bench.run(Request(0.1, tuples=300))
    assert row["valid"] and row["markers"] == 300
    if not INTERPRETED:
        # One worker processes in order, so that no output waits for an earlier one.
        assert 0.1 < row["processing_ms_p50"] < 0.5


@pytest.mark.skipif(INTERPRETED, reason="work is calibrated for compiled code")
def test_outputs_that_wait_for_an_earlier_one_take_longer():
    # One worker at a time owns each of two partitions. It processes many tuples of one, whose
    # outputs wait for the other's tuples in between; that makes five times the hybrid's latency. A
    # host that takes a core away only makes latencies longer. So the minimum of some runs counts;
    # if a core is missing, as many runs as it takes for both cores to be available once.
    benches = {
        variant: ready(variant, workers=2, work_us=100, slots=64)
        for variant in ("hybrid", "partitioned")
    }
    least = dict.fromkeys(benches, math.inf)
    for turn in range(1, 301):
        for variant, bench in benches.items():
            row = bench.run(Request(0.2, tuples=900))
            assert row["valid"]
            least[variant] = min(least[variant], row["processing_ms_mean"])
        if turn >= 5 and least["partitioned"] > 1.5 * least["hybrid"]:
            break
    assert least["partitioned"] > 1.5 * least["hybrid"] > 0.05


def test_markers_are_every_so_many_and_the_middle_ones_are_kept():
    downstream = module.receiver.make_downstream(
        0, CLOSED_LOOP, 0, 0, 8, marker_every=3, markers=20
    )
    for serial in range(1, 61):
        module.receiver.begin_work(downstream, serial)
        module.receiver._end_work(downstream, serial)
    assert downstream.words[module.MARKED] == 20
    assert histogram.count(downstream.processing) == 16 - 4
