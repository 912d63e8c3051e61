"""The audit: overlapping runs are found, whatever the order of their rows."""

from __future__ import annotations

import json

import pytest

from experiments.records import audit as auditing
from experiments.records.audit import audit, overlaps
from experiments.records.results import Raw
from operators.contract import UsageError


def run(start: int, end: int, phase: str = "closed", **fields: object) -> dict[str, object]:
    return {
        "phase": phase, "started_at": start, "ended_at": end, "group": "aggregation-few-keys-os",
        "repetition": 1, "variant": "mq", **fields,
    }  # fmt: skip


def test_runs_that_touch_do_not_overlap():
    assert overlaps([run(10, 20), run(0, 10), run(20, 30)]) == []


def test_a_run_inside_an_earlier_one_is_found():
    outer, inner, later = run(0, 100), run(40, 50), run(60, 70)
    assert overlaps([later, inner, outer]) == [(outer, inner), (outer, later)]


def test_a_search_spans_its_own_probes():
    assert overlaps([run(0, 10, "probe"), run(10, 20, "probe"), run(0, 20, "sustained")]) == []


def test_an_overlap_ends_the_audit_and_writes_nothing(tmp_path, monkeypatch):
    rows = [run(0, 10), run(9, 12, variant="tumlsc", repetition=2)]
    monkeypatch.setattr(auditing.results, "read_all", lambda files: Raw(rows))
    second = "aggregation-few-keys-os repetition 2: tumlsc .closed."
    first = "aggregation-few-keys-os repetition 1: mq .closed."
    with pytest.raises(UsageError, match=f"{second} began before {first} had ended"):
        audit(["a.jsonl"], tmp_path / "audit.json")
    assert list(tmp_path.iterdir()) == []


def test_the_audit_tells_what_it_looked_at(tmp_path, monkeypatch):
    rows = [run(0, 10), run(10, 12)]
    monkeypatch.setattr(auditing.results, "read_all", lambda files: Raw(rows))
    audit(["a.jsonl", "b.jsonl"], tmp_path / "audit.json")
    told = json.loads((tmp_path / "audit.json").read_text())
    assert told == {"files": 2, "runs": 2, "overlaps": 0}
