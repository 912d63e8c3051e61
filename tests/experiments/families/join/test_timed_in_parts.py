"""Runs of a join's bench in parts: along a drifting stream, and task by task."""

from __future__ import annotations

import numpy as np
import pytest

from datasets.band_join_keys.keys import PHASES
from datasets.in_memory import InMemory
from experiments import families
from experiments.families.join import expected
from experiments.families.join.bench import FILLED, PARTS_A_WINDOW, JoinBench
from experiments.families.join.columns import ALONG, TASK_COLUMNS, TASKS
from experiments.records import quantities
from experiments.records.columns import CLOSED
from experiments.timing.bench import Request
from tests.covering import compiled_few

WINDOW, ROWS = 64, 1_000
KNOWN = quantities.of_family("join")


def keys() -> InMemory:
    random = np.random.default_rng(5)
    ends = np.iinfo(np.int32)
    r, s = random.integers(ends.min, ends.max, (2, ROWS)).astype(np.int32)
    shift = np.clip((np.arange(16 * WINDOW) / WINDOW - PHASES[0]) / PHASES[1], 0, 1)
    drift = {"normal": random.normal(size=16 * WINDOW), "shift": shift}
    return InMemory("a few keys", "keys", {"uniform": {"r": r, "s": s}, "drift": drift})


KEYS = keys()


@pytest.fixture(autouse=True)
def small_blocks(monkeypatch):
    """Limit the oracle's blocks to the requested rows."""
    expected._kept.cache_clear()
    for name in ("LEAST_PART", "LEAST_BLOCK"):
        monkeypatch.setattr(expected, name, WINDOW)


def ready(variant: str, **settings: object) -> JoinBench:
    return families.ready("join", variant, {"window": WINDOW, "dataset": KEYS, **settings})


@pytest.mark.timed
@pytest.mark.parametrize("variant", compiled_few(["pim-tree", "pim-tree-parallel", "olc-tree"], []))
def test_a_stream_that_drifts_is_told_part_by_part(variant):
    bench = ready(variant, kind="self", keys="drift", drift=0.4)
    # Regardless of the length of slices: the stream after the prefilled windows.
    for _ in range(2):
        row = bench.run(Request(0.1, tuples=256, phase=ALONG))
        assert row["valid"] and row["tuples"] == (sum(PHASES) - FILLED) * WINDOW
        # The prefilled and the joined tuples together are the stream, once.
        assert bench._rows() == sum(PHASES) * WINDOW
        along = row["along_stream"]
        parts = (sum(PHASES) - FILLED) * PARTS_A_WINDOW
        assert along["place"] == [FILLED + (n + 0.5) / PARTS_A_WINDOW for n in range(parts)]
        took = sum(WINDOW / PARTS_A_WINDOW / rate for rate in along["tps"])
        # The run ends with the last tuple, and the threads end a little later.
        assert min(along["tps"]) > 0 and row["seconds"] / 10 < took < 1.001 * row["seconds"]
    before, during, after, whole = (
        KNOWN[f"{name}_tps"].value(row)
        for name in ("before_drift", "during_drift", "after_drift", "along_stream")
    )
    windows = PHASES[0] - FILLED, PHASES[1], PHASES[2]
    times = sum(n / rate for n, rate in zip(windows, (before, during, after), strict=True))
    assert sum(windows) / times == pytest.approx(whole)
    closed = bench.run(Request(0.1, tuples=bench.slice_tuples(0.01)))
    assert closed["along_stream"] is None and closed["tuples"] == PHASES[1] * WINDOW
    assert KNOWN["during_drift_tps"].value(closed) is None


@pytest.mark.parametrize("variant", compiled_few(["pim-tree-parallel", "bw-tree", "olc-tree"], []))
def test_tasks_and_tuples_are_timed_in_runs_of_their_own(variant):
    bench = ready(variant, task_size=8)
    rows = [bench.run(Request(0.1, tuples=1_024, phase=phase)) for phase in (TASKS, CLOSED, TASKS)]
    assert all(row["valid"] for row in rows)
    assert {rows[1][name] for name in TASK_COLUMNS} == {None}
    for row in rows[::2]:
        for times in ("task", "end_to_end"):
            middle, late = (row[f"{times}_us_{rank}"] for rank in ("p50", "p99"))
            assert 0 < middle <= late and middle / 2 < row[f"{times}_us_mean"]
        # Times of an earlier run are forgotten: the total is at most this run's time for all
        # threads.
        tasks_s = row["task_us_mean"] * 1_024 / 8 / 1e6
        assert tasks_s <= 1.02 * bench.threads * row["seconds"]
    assert KNOWN["task_us_mean"].value(rows[0]) == rows[0]["task_us_mean"]
