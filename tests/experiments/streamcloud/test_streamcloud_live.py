"""The short runs of the fifth paper's notebook."""

from __future__ import annotations

import numpy as np
import pytest

from experiments.streamcloud import live
from operators.core.jit import INTERPRETED


@pytest.mark.skipif(INTERPRETED, reason="a minute where it is interpreted")
def test_strategies_run_on_calls_that_are_made_up_where_there_is_no_dataset(monkeypatch):
    monkeypatch.setattr(live, "LIVE_SECONDS", 0.01)
    monkeypatch.setattr(live, "_calls", live.made_up_calls)
    runs = live.compare_strategies("map", ("query-cluster", "subquery-cluster"), (1, 2))
    assert [(run.strategy, run.instances) for run in runs] == [
        ("query-cluster", 1), ("subquery-cluster", 1),
        ("query-cluster", 2), ("subquery-cluster", 2),
    ]  # fmt: skip
    assert all(run.valid and run.throughput_tps > 0 for run in runs)


def test_made_up_calls_are_as_those_of_the_dataset():
    tables = live.made_up_calls()
    calls, suspects = tables.table("calls"), tables.table("suspects")
    assert np.all(np.diff(calls["emitted"]) >= 0) and np.all(calls["start"] <= calls["emitted"])
    assert set(suspects["number"]) <= set(calls["caller"])
    assert len(suspects["ts"]) * live.CALLS_AN_ANNOUNCEMENT >= len(calls["emitted"])


def test_strategies_run_on_the_dataset_where_there_is_one(monkeypatch):
    monkeypatch.setattr(live, "dataset_path", lambda named, role: (named, role))
    assert live._calls() == (None, "calls")


@pytest.mark.skipif(INTERPRETED, reason="thousands of calls, compiled")
def test_best_effort_loses_more_the_later_rows_come_and_transparent_nothing(monkeypatch):
    monkeypatch.setattr(live, "LOST_CALLS", 1 << 12)
    runs = live.losses((0, 2, 8))
    lost = {(run.merger, run.behind): run.missing for run in runs}
    assert [lost["transparent", behind] for behind in (0, 2, 8)] == [0, 0, 0]
    assert lost["best-effort", 0] < lost["best-effort", 2] < lost["best-effort", 8]
    assert all(run.other == 0 and run.wanted > 100 for run in runs)
    assert live.losses((2,), mergers=["best-effort"]) == [runs[4]]
