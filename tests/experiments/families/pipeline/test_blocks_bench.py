"""The bench of pipelines in blocks: what counts as a fault of a run, and where the work is."""

from __future__ import annotations

import pytest

from experiments.families.pipeline import bench as module
from experiments.families.saturated_source import SPEED_UP, SPEED_UPS
from experiments.timing.bench import Request
from operators.core.jit import INTERPRETED
from operators.pipeline.blocks.deciding import PARTS
from operators.running import pinning
from tests.experiments.families.pipeline.test_pipeline_bench import parametric

# On the worker that compiles the kernels of the parametric query.
pytestmark = pytest.mark.xdist_group("pipeline-parametric")


def speed_ups(monkeypatch, seconds, alone, serial=1.0, form="blocks"):
    """Return the row of a run with given seconds, and how often one worker was timed."""
    bench, timed = parametric(form=form, parts=1, workers=2), []
    monkeypatch.setattr(pinning, "cores", lambda: 2)
    monkeypatch.setattr(module, "timed_serial_run", lambda *given: ((0, 0), serial))
    monkeypatch.setattr(module.PipelineBench, "_alone", lambda *given: timed.append(1) or alone)
    row = {"tuples": 100, "throughput_tps": 100 / seconds, "valid": True, "invalid_reason": None,
           "alone_seconds": None}  # fmt: skip
    monkeypatch.setattr(module.ThreadedBench, "run", lambda self, request: row)
    return bench.run(Request(0.02, phase=SPEED_UP)), len(timed)


def test_a_speed_up_above_the_cores_is_a_fault_unless_one_worker_is_as_much_faster(monkeypatch):
    # One worker is 1.3 times as fast as the loop, and two are 1.9 times as fast as one.
    row, timed = speed_ups(monkeypatch, seconds=0.4, alone=0.76)
    assert row["valid"] and timed and row["alone_seconds"] == pytest.approx(0.76)
    assert SPEED_UPS.compute(row) == pytest.approx(2.5)
    # Two workers 2.4 times as fast as one: one of the two runs was disturbed.
    row, _ = speed_ups(monkeypatch, seconds=0.4, alone=0.96)
    assert not row["valid"] and "a speed-up of 2.40 over one worker where" in row["invalid_reason"]
    # One worker that is slower than the loop is no excuse: the loop could do the same.
    row, _ = speed_ups(monkeypatch, seconds=0.4, alone=1.3)
    assert not row["valid"]
    assert "a speed-up of 2.50 where the cores allow 2: the serial run" in row["invalid_reason"]
    # Where the cores allow it, one worker need not be timed.
    row, timed = speed_ups(monkeypatch, seconds=0.5, alone=0.1)
    assert row["valid"] and not timed and row["alone_seconds"] is None
    # A tuple a serial number: one worker does what the loop does, and more.
    row, timed = speed_ups(monkeypatch, seconds=0.4, alone=0.76, form="tuples")
    assert not row["valid"] and not timed


def test_one_worker_in_blocks_is_timed_on_the_same_tuples():
    bench = parametric(form="blocks", parts=1, workers=2, block=32)
    own = {**bench.settings, "workers": 1}
    few, many = (bench._alone(own, Request(0.02), total) for total in (1_000, 50_000))
    # 1 us a tuple in two operators.
    assert 0 < few < many and many > 0.01
    assert bench.settings["workers"] == bench.threads == 2


@pytest.mark.skipif(INTERPRETED, reason="one matrix product takes longer than the work")
def test_one_partitioned_operator_with_most_of_the_work_puts_out_what_the_loop_does():
    for parts in (0, 1, 4):
        bench = parametric(form="blocks", work_us=3, first_share=0.111, block=64, parts=parts)
        # By matrix products, since a share of measured time depends on who else has the cores.
        work = bench._source.parameters
        assert work.following / (work.products + work.following) == pytest.approx(0.9, abs=0.02)
        row = bench.run(Request(0.02))
        assert row["valid"] and row["digest"] == row["oracle_digest"], row["invalid_reason"]
        # In parts its outputs leave by a segment of their own.
        segments = ["1 stateless", "2 partitioned stateful", "3 output"]
        in_parts = bench._decision[:2] == (PARTS, (1,))
        assert list(row["operator_seconds"]) == segments[: 3 if in_parts else 2]
        assert in_parts == (parts == 4) or parts == 0
        # What a trial decided stays so for the next run.
        decided = bench._decision
        assert bench.run(Request(0.02))["valid"] and bench._decision is decided
    work = parametric(form="blocks", work_us=3)._source.parameters
    assert work.products == work.following
