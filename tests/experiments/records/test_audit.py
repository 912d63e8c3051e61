"""The audit: overlapping runs are found, whatever the order of their rows."""

from __future__ import annotations

import json

import pytest

from experiments.records import results
from experiments.records.audit import audit, overlaps
from operators.contract import UsageError
from tests.experiments.rows import a_row, purpose


def run(start: int, end: int, phase: str = "closed", **fields: object) -> dict[str, object]:
    return {
        "phase": phase, "started_at": start, "ended_at": end, "group": "aggregation-few-keys-os",
        "repetition": 1, "variant": "mq", "machine": "m", **fields,
    }  # fmt: skip


def test_runs_that_touch_do_not_overlap():
    assert overlaps([run(10, 20), run(0, 10), run(20, 30)]) == []


def test_a_run_inside_an_earlier_one_is_found():
    outer, inner, later = run(0, 100), run(40, 50), run(60, 70)
    assert overlaps([later, inner, outer]) == [(outer, inner), (outer, later)]


def test_a_search_spans_its_own_probes():
    assert overlaps([run(0, 10, "probe"), run(10, 20, "probe"), run(0, 20, "sustained")]) == []


def raw_file(folder, group: str, start: int, end: int, **fields: object):
    """Write the file of a group with one run."""
    row = a_row(started_at=start, ended_at=end, **purpose(group=group)) | fields
    begun = results.Writer(folder / "raw" / f"{group}.jsonl", {"id": row["provenance"]}, ())
    begun.append(row)
    return begun.finish()


def test_an_overlap_ends_the_audit_and_writes_nothing(tmp_path):
    files = [raw_file(tmp_path, "a", 0, 10, variant="mq"),
             raw_file(tmp_path, "b", 9, 12, variant="tumlsc")]  # fmt: skip
    second, first = "b repetition 1: tumlsc .closed.", "a repetition 1: mq .closed."
    with pytest.raises(UsageError, match=f"{second} began before {first} had ended"):
        audit(files, tmp_path / "audit.json")
    assert not (tmp_path / "audit.json").exists()


def test_clocks_of_two_machines_are_not_compared(tmp_path):
    files = [raw_file(tmp_path, "a", 0, 10), raw_file(tmp_path, "b", 9, 12, machine="other")]
    with pytest.raises(UsageError, match=r"raw results of 2 machines \(m, other\) were given"):
        audit(files, tmp_path / "audit.json")


def test_the_audit_tells_what_it_looked_at(tmp_path):
    # The same point in groups of two papers, each judged and drawn from separate rows.
    files = [raw_file(tmp_path, "a", 0, 10), raw_file(tmp_path, "b", 10, 12)]
    audit(files, tmp_path / "audit.json")
    told = json.loads((tmp_path / "audit.json").read_text())
    assert told == {"files": 2, "runs": 2, "overlaps": 0}
    with pytest.raises(UsageError, match="hold the same point"):
        results.read_all(files)


def test_a_copy_of_a_file_overlaps_it(tmp_path):
    file = raw_file(tmp_path, "a", 0, 10)
    with pytest.raises(UsageError, match="1 timed runs overlapped another"):
        audit([file, file], tmp_path / "audit.json")
