"""The set of results in the repository can be read, and supports the statements about it."""

from __future__ import annotations

from functools import cache

import pytest

from experiments import papers, plan, profiles
from experiments.declare import stem_of
from experiments.records import archives
from experiments.records.results import read_all
from figures import load
from operators.core.sources import ROOT

KEPT = ROOT / "docs" / "sixteen-cores"
# The numbers of processes behind the points of a figure; six unless listed here.
PROCESSES = {
    ("ordered_processing", "fig_09"): {3, 6, 9},
    ("scalejoin", "fig_05a"): {9},
    ("scalejoin", "fig_05b"): {6, 9},
    ("scalejoin", "fig_06a"): {9},
}
DRAWN = sorted((path.parent.name, path.stem) for path in KEPT.glob("*/*.png"))


@pytest.fixture(scope="module")
def raw(tmp_path_factory):
    folder = tmp_path_factory.mktemp("kept")
    # By the door that any set of others comes in through.
    archives.unpack(KEPT / "raw.tar.xz", folder / "set")
    return folder / "set" / "raw"


@cache
def read(raw, paper):
    """Return the results of the groups of a paper: two papers may hold one setting."""
    groups = plan.groups(profiles.load("paper"), [paper])
    return load.read(file for group in groups for file in raw.glob(f"{group.id}/*/*.jsonl"))


def test_its_rows_are_valid_and_of_sixteen_cores(raw):
    files = [read_all([file]) for file in raw.glob("*/*/*.jsonl")]
    rows = [row for each in files for row in each.rows]
    assert len(rows) == 4_568 and all(row["valid"] for row in rows)
    assert {told["cores"] for each in files for told in each.provenances.values()} == {16}


@pytest.mark.parametrize(("paper", "stem"), DRAWN)
def test_its_pictures_have_points_of_so_many_processes(raw, paper, stem):
    (figure,) = [each for each in papers.paper(paper).figures if stem_of(each.id) == stem]
    points = read(raw, paper).points(figure)
    assert {point.processes for point in points} == PROCESSES.get((paper, stem), {6})
    # Among them are points of many threads with a core each.
    assert any(point.threads > 8 and not point.oversubscribed for point in points)
