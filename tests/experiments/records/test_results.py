"""Raw results survive a crash at any byte, and are never mixed with those of other sources."""

from __future__ import annotations

import json

import pytest
from tests.experiments.harness.rows import a_row

from experiments.records import results
from experiments.records.results import Writer, partial_path
from operators.contract import UsageError


def identify(row):
    return row["inputs"]


def writer(tmp_path, provenance="p1"):
    return Writer(tmp_path / "deep" / "repetition-1.jsonl", {"id": provenance}, identify)


def test_rows_are_on_the_disk_before_the_file_has_its_name(tmp_path):
    begun = writer(tmp_path)
    begun.append(a_row(inputs=1))
    assert not begun.output.exists()
    lines = partial_path(begun.output).read_text().splitlines()
    assert json.loads(lines[0]) == {"provenance": {"id": "p1"}}
    assert json.loads(lines[1])["inputs"] == 1
    assert partial_path(begun.output).name.startswith(".")
    begun.finish()
    provenance, rows = results.read(begun.output)
    assert provenance == {"id": "p1"}
    assert [row["inputs"] for row in rows] == [1]
    assert not partial_path(begun.output).exists()


@pytest.mark.parametrize("cut", [1, 7, 300])
def test_a_torn_last_line_is_dropped_with_a_message(tmp_path, capsys, cut):
    begun = writer(tmp_path)
    begun.append(a_row(inputs=1))
    begun.append(a_row(inputs=2))
    whole = begun.partial.read_bytes()
    begun.partial.write_bytes(whole[:-cut])
    resumed = writer(tmp_path)
    assert "dropping a torn last line" in capsys.readouterr().err
    assert [row["inputs"] for row in resumed.rows] == [1]
    resumed.append(a_row(inputs=3))
    assert [row["inputs"] for row in results.read(resumed.finish())[1]] == [1, 3]


def test_a_whole_file_is_resumed_silently(tmp_path, capsys):
    writer(tmp_path).append(a_row(inputs=4))
    resumed = writer(tmp_path)
    assert resumed.find({"inputs": 4})["inputs"] == 4
    assert resumed.find({"inputs": 5}) is None
    assert capsys.readouterr().err == ""


def test_results_of_other_sources_are_measured_again(tmp_path, capsys):
    begun = writer(tmp_path)
    begun.append(a_row(inputs=4))
    before = begun.partial.read_bytes()
    for number in (1, 2):
        resumed = writer(tmp_path, provenance=f"q{number}")
        assert resumed.rows == []
        stale = begun.partial.with_name(f"{begun.partial.name}.stale-{number}")
        assert stale.read_bytes() == before
        told = capsys.readouterr().err
        assert "measured with other sources" in told
        assert f"set aside as {stale.name}, starting again" in told
        before = resumed.partial.read_bytes()


def test_what_differs_from_results_that_are_set_aside_is_named(tmp_path, capsys):
    output = tmp_path / "repetition-1.jsonl"
    for number, source in enumerate(("abc", "def")):
        given = {"id": f"p{number}", "cores": 2, "source_hash": source, "argv": [source]}
        Writer(output, given, identify)
    assert "settings (other source_hash): set aside" in capsys.readouterr().err


def test_a_file_cut_in_its_first_line_begins_again(tmp_path, capsys):
    begun = writer(tmp_path)
    begun.partial.write_text('{"proven')
    assert writer(tmp_path).rows == []
    assert "has no whole first line: set aside" in capsys.readouterr().err


def test_a_row_that_is_none_is_never_written(tmp_path):
    begun = writer(tmp_path)
    with pytest.raises(ValueError, match="not a result row"):
        begun.append({"inputs": 1})
    assert len(begun.partial.read_text().splitlines()) == 1


def test_reading_what_is_not_there_says_how_to_get_it(tmp_path):
    with pytest.raises(UsageError, match="make figures"):
        results.read(tmp_path / "none.jsonl")
    (tmp_path / "cut.jsonl").write_text('{"provenance": {"id": "p"}}\n{"half')
    with pytest.raises(UsageError, match="not a whole file"):
        results.read(tmp_path / "cut.jsonl")
