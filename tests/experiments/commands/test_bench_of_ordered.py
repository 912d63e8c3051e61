"""``millrace bench`` of reorder buffers and worklists, with the options as in the issue.

The bench of pipelines needs data: ``tests/experiments/families/pipeline/test_pipeline_bench.py``.
"""

from __future__ import annotations

import json

import pytest

from experiments.cli import main
from operators.core.jit import INTERPRETED

pytestmark = pytest.mark.skipif(INTERPRETED, reason="benches are compiled")
SHORT = ("--seconds", "0.02", "--repeat", "1", "--json")


@pytest.fixture(autouse=True)
def nobody_else(tmp_path, monkeypatch):
    monkeypatch.setenv("MILLRACE_RESULTS", str(tmp_path / "results"))
    monkeypatch.setenv("MILLRACE_LOCK", str(tmp_path / "lock"))
    monkeypatch.setattr("experiments.timing.isolation.wait_for_quiet", lambda: True)


def benched(capsys, *argv):
    assert main(["bench", *argv, *SHORT]) == 0
    return json.loads(capsys.readouterr().out)


def test_by_default_a_reorder_buffer_has_two_workers_and_exponential_work(capsys):
    found = benched(capsys, "reorder", "lock-based")
    assert found["valid"] and found["outputs"] == found["tuples"] > 0
    told = {name: found["settings"][name] for name in ("workers", "work", "work_us", "send_us")}
    assert told == {"workers": 2, "work": "exponential", "work_us": 1.0, "send_us": 0.1}


@pytest.mark.parametrize("work", ["constant", "exponential"])
def test_reorder_buffers_are_benched_in_turn_with_their_settings(work, capsys):
    given = ("work_us=0.5", f"work={work}", "send_us=0.2", "--set", "workers=3", "slots=64")
    found = benched(capsys, "reorder", "lock-based", "non-blocking", "--set", *given)
    assert [one["variant"] for one in found["results"]] == ["lock-based", "non-blocking"]
    wanted = {"work_us": 0.5, "work": work, "send_us": 0.2, "workers": 3, "slots": 64}
    for one in found["results"]:
        assert one["valid"] and one["settings"].items() >= wanted.items()
    assert len(found["ratios"]) == 1


@pytest.mark.parametrize(("variant", "partitions"), [("hybrid", 100), ("partitioned", 3)])
def test_worklists_are_benched_under_uneven_keys(variant, partitions, capsys):
    given = ("sigma=0.1", f"partitions={partitions}", "workers=3", "work_us=1",
             "reorder=lock-based")  # fmt: skip
    found = benched(capsys, "partition", variant, "--set", *given)
    assert found["valid"] and found["variant"] == variant
    wanted = {"sigma": 0.1, "workers": 3, "work_us": 1.0, "reorder": "lock-based"}
    assert found["settings"].items() >= wanted.items()
