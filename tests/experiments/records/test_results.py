"""Raw results survive a crash at any byte, and are never mixed with those of other conditions."""

from __future__ import annotations

import json
import os

import pytest

from experiments.records import results
from experiments.records.results import Raw, Writer, partial_path
from operators.contract import UsageError
from tests.experiments.rows import a_row

PLANNED = ("k1", "k2", "k3")


def row(key, /, **changes):
    given = a_row(key=key, provenance="p1", settings={"inputs": int(key[1:])})
    return given | changes


def writer(tmp_path, provenance="p1", keys=PLANNED):
    return Writer(tmp_path / "deep" / "repetition-1.jsonl", {"id": provenance}, keys)


def keys_of(raw):
    return [row["key"] for row in raw.rows]


def test_rows_are_on_the_disk_before_the_file_has_its_name(tmp_path):
    begun = writer(tmp_path)
    begun.append(row("k1"))
    assert not begun.output.exists()
    lines = partial_path(begun.output).read_text().splitlines()
    assert json.loads(lines[0]) == {"provenance": {"id": "p1"}}
    assert json.loads(lines[1])["key"] == "k1"
    assert partial_path(begun.output).name.startswith(".")
    begun.finish()
    raw = results.read(begun.output)
    assert raw.provenances == {"p1": {"id": "p1"}}
    assert keys_of(raw) == ["k1"]
    assert not partial_path(begun.output).exists()


@pytest.mark.parametrize("cut", [1, 7, 300])
def test_a_torn_last_line_is_dropped_with_a_message(tmp_path, capsys, cut):
    begun = writer(tmp_path)
    begun.append(row("k1"))
    begun.append(row("k2"))
    whole = begun.partial.read_bytes()
    begun.partial.write_bytes(whole[:-cut])
    resumed = writer(tmp_path)
    assert "dropping a torn last line" in capsys.readouterr().err
    assert [one["key"] for one in resumed.rows] == ["k1"]
    resumed.append(row("k3"))
    assert keys_of(results.read(resumed.finish())) == ["k1", "k3"]


def test_a_row_from_before_a_column_is_read_as_if_it_said_nothing_of_it(tmp_path):
    begun = writer(tmp_path)
    begun.append(row("k1", of_whole_run=True))
    path = begun.finish()
    first, line = path.read_text().splitlines()
    old = json.loads(line)
    del old["of_whole_run"]
    path.write_text(f"{first}\n{json.dumps(old)}\n")
    assert results.read(path).rows == [row("k1", of_whole_run=None)]
    del old["seconds"]
    path.write_text(f"{first}\n{json.dumps(old)}\n")
    with pytest.raises(UsageError, match="not a whole file of results"):
        results.read(path)


def test_a_whole_file_is_resumed_silently(tmp_path, capsys):
    writer(tmp_path).append(row("k2"))
    resumed = writer(tmp_path)
    assert resumed.find("k2")["settings"] == {"inputs": 2}
    assert resumed.find("k1") is None
    assert capsys.readouterr().err == ""


def test_a_key_that_is_not_planned_any_more_sets_the_file_aside_whole(tmp_path, capsys):
    begun = writer(tmp_path)
    begun.append(row("k1"))
    begun.append(row("k2"))
    before = begun.partial.read_bytes()
    resumed = writer(tmp_path, keys=("k2", "k9"))
    stale = begun.partial.with_name(f"{begun.partial.name}.stale-1")
    assert stale.read_bytes() == before
    told = capsys.readouterr().err
    assert "holds rows measured with other sources, data or settings" in told
    assert f"set aside as {stale.name}, 1 of its 2 rows are taken over" in told
    # Only planned rows are taken over, with their provenance.
    assert [one["key"] for one in resumed.rows] == ["k2"]
    resumed.append(row("k9"))
    raw = results.read(resumed.finish())
    assert keys_of(raw) == ["k2", "k9"]
    assert raw.provenances == {"p1": {"id": "p1"}}
    assert stale.read_bytes() == before


def test_what_was_set_aside_is_never_written_over(tmp_path):
    for number in (1, 2, 3):
        begun = writer(tmp_path, keys=(f"k{number}",))
        begun.append(row(f"k{number}"))
    kept = sorted(path.name for path in begun.partial.parent.glob("*.stale-*"))
    assert kept == [f"{begun.partial.name}.stale-{n}" for n in (1, 2)]


def test_rows_of_another_process_keep_its_provenance(tmp_path):
    writer(tmp_path).append(row("k1"))
    resumed = writer(tmp_path, provenance="p2")
    resumed.append(row("k2", provenance="p2"))
    raw = results.read(resumed.finish())
    assert [(one["key"], one["provenance"]) for one in raw.rows] == [("k1", "p1"), ("k2", "p2")]
    assert raw.provenances.keys() == {"p1", "p2"}


def test_a_line_that_is_no_row_of_this_version_sets_the_file_aside(tmp_path, capsys):
    begun = writer(tmp_path)
    begun.append(row("k1"))
    with open(begun.partial, "a") as file:
        file.write(json.dumps({**row("k2"), "speed": 1}) + "\n")
        file.write(json.dumps(row("k3")) + "\n")
    resumed = writer(tmp_path)
    assert [one["key"] for one in resumed.rows] == ["k1"]
    assert "set aside as .repetition-1.jsonl.partial.stale-1, 1 of" in capsys.readouterr().err


def test_a_file_cut_in_its_first_line_begins_again(tmp_path, capsys):
    begun = writer(tmp_path)
    begun.partial.write_text('{"proven')
    resumed = writer(tmp_path)
    assert resumed.rows == []
    assert "dropping a torn last line" in capsys.readouterr().err
    resumed.append(row("k1"))
    assert keys_of(results.read(resumed.finish())) == ["k1"]


def test_a_row_that_is_none_is_never_written(tmp_path):
    begun = writer(tmp_path)
    with pytest.raises(ValueError, match="not a result row"):
        begun.append({"key": "k1"})
    assert not begun.partial.exists()


def test_reading_what_is_not_there_says_how_to_get_it(tmp_path):
    with pytest.raises(UsageError, match="make figures"):
        results.read(tmp_path / "none.jsonl")
    (tmp_path / "cut.jsonl").write_text('{"provenance": {"id": "p"}}\n{"half')
    with pytest.raises(UsageError, match="not a whole file"):
        results.read(tmp_path / "cut.jsonl")


def write(tmp_path, name, *rows):
    begun = Writer(tmp_path / f"{name}.jsonl", {"id": rows[0]["provenance"]}, ())
    for one in rows:
        begun.append(one)
    return begun.finish()


def test_several_files_are_read_by_name_with_all_their_provenances(tmp_path):
    second = write(tmp_path, "b", row("k2", provenance="p2"))
    first = write(
        tmp_path, "a", row("k1"), row("k1", repetition=2, valid=False, invalid_reason="x")
    )
    raw = results.read_all([second, first])
    assert keys_of(raw) == ["k1", "k1", "k2"]
    assert raw.provenances.keys() == {"p1", "p2"}
    assert len(raw.valid) == 2


def test_one_point_under_two_keys_is_refused(tmp_path):
    files = [write(tmp_path, "a", row("k1")), write(tmp_path, "b", row("k1", key="other"))]
    with pytest.raises(UsageError, match=r"b.jsonl and .*a.jsonl hold the same point \(x, closed"):
        results.read_all(files)


@pytest.mark.parametrize(
    "difference",
    [
        {"machine": "another"},
        {"settings": {"inputs": 2}},
        {"variant": "mq"},
        {"phase": "equal"},
        {"rate_fraction": 0.5},
        {"repetition": 2},
        {"round": 2},
        {"dataset": "recorded"},
        {"family": "gate"},
    ],
)
def test_points_that_differ_in_anything_asked_for_may_have_keys_of_their_own(tmp_path, difference):
    other = a_row(difference.get("family", "aggregation"), key="other", provenance="p1",
                  settings={"inputs": 1}) | difference  # fmt: skip
    files = [write(tmp_path, "a", row("k1")), write(tmp_path, "b", other)]
    assert keys_of(results.read_all(files)) == ["k1", "other"]


def test_probes_have_no_place_that_two_files_could_share(tmp_path):
    files = [
        write(tmp_path, "a", row("k1", phase="probe")),
        write(tmp_path, "b", row("k1", phase="probe", key="other")),
    ]
    assert keys_of(results.read_all(files)) == ["k1", "other"]


def test_rows_of_several_machines_are_not_compared():
    here, there = row("k1", machine="here"), row("k1", machine="there")
    results.one_machine(Raw([here, here]))
    with pytest.raises(UsageError, match=r"raw results of 2 machines \(here, there\) were given"):
        results.one_machine(Raw([there, here]))


def judge(folder, label, when, paper="p"):
    file = folder / label / "claims" / f"{paper}.json"
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text("[]")
    os.utime(file, (when, when))
    return folder / label


def test_the_results_that_are_shown_are_those_judged_last(tmp_path):
    assert results.judged_last(tmp_path) is None
    quick = judge(tmp_path, "quick", 100)
    laptop = judge(tmp_path, "laptop", 200)
    judge(tmp_path, "laptop", 50, paper="another")
    assert results.judged_last(tmp_path) == laptop
    judge(tmp_path, "quick", 300, paper="another")
    assert results.judged_last(tmp_path) == quick
    assert results.judged_last(tmp_path, "laptop") == laptop
    assert results.judged_last(tmp_path, "paper") is None
