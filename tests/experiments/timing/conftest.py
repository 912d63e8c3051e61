"""A tiny group, measured into one file."""

from __future__ import annotations

import pytest

from experiments import families
from experiments.families.gate import bench as gate_bench
from experiments.records import results
from experiments.timing import runner
from experiments.timing.rounds import Reference
from tests.tiny_groups import COMMON, LENGTHS, TINY


@pytest.fixture
def measure(tmp_path, meters, monkeypatch):
    """Measure a group into one file and return its rows."""
    monkeypatch.setattr(gate_bench, "LEAST_TUPLES", 2_000)

    def go(group=TINY, common=COMMON, data=True, repetitions=(1,)):
        def bench_of(task):
            given = {**task.settings, **({"dataset": meters} if data else {})}
            return families.ready(group.family, task.variant, given)

        purpose = {"profile": "quick", "size": "quick", "started": 1}
        reference = Reference(families.ready("gate", "t-gate", {"sources": 1}), COMMON)
        path = runner.run_group(
            group, bench_of, LENGTHS, common, purpose, repetitions, reference, 60.0, go.output
        )
        return results.read(path).rows

    go.output = tmp_path / "raw" / "repetition-1.jsonl"
    return go
