"""``millrace export`` and ``import`` of results: there and back, and what is refused."""

from __future__ import annotations

import json

import pytest

from experiments.cli import main
from experiments.records import results
from tests.invented import two, write_raw


@pytest.fixture
def archive(tmp_path):
    write_raw(results.root() / "quick" / "raw", two(repetitions=2))
    return tmp_path / "out.tar.xz"


def refused(capsys, *argv):
    assert main(list(map(str, argv))) == 2
    told = capsys.readouterr()
    assert told.out == "" and told.err.startswith("millrace: ") and told.err.count("\n") == 1
    return told.err


def test_a_set_goes_out_and_comes_in_again_and_compares_as_alike(archive, capsys):
    assert main(["export", "quick", "--output", str(archive)]) == 0
    # A profile's label is that of each machine: the archive has another one.
    assert "quick-invented9000" in capsys.readouterr().out
    assert main(["import", str(archive)]) == 0
    told = capsys.readouterr().out
    assert "8 rows" in told and "make plots PROFILE=quick LABEL=quick-invented9000" in told
    assert main(["compare", "quick", "quick-invented9000"]) == 0
    assert capsys.readouterr().out.startswith("None of 6 values is known to have")


def test_json_says_what_went_out_and_what_came_in(archive, capsys):
    assert main(["export", "quick", "--output", str(archive), "--label", "mine", "--json"]) == 0
    out = json.loads(capsys.readouterr().out)
    assert (out["label"], out["rows"]) == ("mine", 8)
    assert out["bytes"] == archive.stat().st_size
    assert main(["import", str(archive), "--json"]) == 0
    back = json.loads(capsys.readouterr().out)
    assert back["files"] == out["files"] and back["folder"].endswith("mine")


def test_an_output_that_exists_stays(archive, capsys):
    archive.write_text("mine")
    assert "--overwrite" in refused(capsys, "export", "quick", "--output", archive)
    assert archive.read_text() == "mine"
    assert main(["export", "quick", "--output", str(archive), "--overwrite"]) == 0


def test_wrong_requests_of_an_import_are_one_line(archive, tmp_path, capsys):
    main(["export", "quick", "--output", str(archive)])
    capsys.readouterr()
    assert "--label" in refused(capsys, "import", archive, "--output", "x")
    assert "make figures measures here" in refused(capsys, "import", archive, "--label", "quick")
    assert "there is no file" in refused(capsys, "import", tmp_path / "no.tar.xz")
    mapping = tmp_path / "mapping.yaml"
    mapping.write_text("name: x\n")
    assert "--output FOLDER" in refused(capsys, "import", mapping)
    assert "--label" in refused(capsys, "import", mapping, "--output", "x", "--label", "y")
    (tmp_path / "bad.tar.xz").write_text("text")
    assert "no archive of results" in refused(capsys, "import", tmp_path / "bad.tar.xz")
