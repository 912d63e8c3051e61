"""The content of a page on a paper: drawn figures, in the order of the declaration, and ids."""

from __future__ import annotations

import pytest

from experiments.judging import claims
from experiments.judging.pool import DIRECTIONS
from figures import page_data
from operators.contract import UsageError
from tests.invented import PAPER, two, write_raw
from tests.second_paper import FIGURES, SECOND, add_module, join


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """Return a set of results in which both papers are judged, and some figures drawn."""
    join(monkeypatch, tmp_path)
    folder = tmp_path / "quick"
    files = write_raw(folder / "raw", two())
    for paper in (PAPER, SECOND):
        claims.judge(paper, files, folder / "claims" / f"{paper}.json")
    for paper, stems in {PAPER: ("fig_08", "fig_13"), SECOND: ("fig_10c", "fig_05f")}.items():
        (folder / "figures" / paper).mkdir(parents=True)
        for stem in stems:
            (folder / "figures" / paper / f"{stem}.svg").write_text("<svg/>")
    return folder


def test_each_paper_has_its_own_figures_verdicts_and_anchors(folder):
    ours, theirs = page_data.read_pages(folder)
    assert [each.paper.id for each in (ours, theirs)] == [PAPER, SECOND]
    assert [each.verdicts["paper"] for each in (ours, theirs)] == [PAPER, SECOND]
    assert [shown.id for shown in ours.drawn] == ["8", "13"]
    # In the order of the declaration.
    assert [shown.id for shown in theirs.drawn] == ["5f", "10c"]
    assert (ours.anchor("8"), theirs.anchor("8")) == (f"{PAPER}-8", f"{SECOND}-8")
    assert theirs.svg(FIGURES[2], extended=True).name == "fig_08a_extended.svg"
    assert theirs.svg(FIGURES[2]).parent != ours.svg(FIGURES[2]).parent


def test_figures_stand_under_their_headings_and_empty_headings_are_left_out(folder):
    ours, theirs = page_data.read_pages(folder)
    assert [
        (title, [shown.id for shown in members]) for title, _, members in page_data.grouped(ours)
    ] == [
        ("What the threads do, and how long it takes", ["8"]),
        ("Few keys and many", ["13"]),
    ]
    (group,) = page_data.grouped(theirs)
    assert group == ("All of it", "What the second paper shows.", theirs.drawn)


def test_statements_have_places_of_their_own(folder):
    ours, theirs = page_data.read_pages(folder)
    assert list(theirs.claims) == ["tumlsc-is-faster", "panels"]
    assert theirs.claim_anchor("panels") == f"{SECOND}-says-panels"
    assert ours.claim_anchor("panels") != theirs.claim_anchor("panels")


def test_findings_are_counted_over_papers(folder):
    found = page_data.read_pages(folder)
    tally = page_data.tally_of(each.verdicts for each in found)
    assert list(tally) == list(DIRECTIONS)
    assert sum(tally.values()) == sum(len(each.verdicts["findings"]) for each in found)
    # The second paper has no findings: each of its statements is one.
    assert sum(page_data.tally_of([found[1].verdicts]).values()) == 2


def test_a_paper_may_have_a_section_of_its_own(monkeypatch):
    assert page_data.recommendations_of(PAPER).__name__ == f"figures.{PAPER}.recommendations"
    assert page_data.recommendations_of(SECOND) is None
    add_module(monkeypatch, f"figures.{SECOND}")
    assert page_data.recommendations_of(SECOND) is None
    add_module(monkeypatch, f"figures.{SECOND}.recommendations", heading=len, section=len)
    assert page_data.recommendations_of(SECOND).section is len


def test_a_paper_may_explain_its_subject(monkeypatch):
    assert page_data.explained_of("streamcloud").HEADING == "How a query is cut"
    assert page_data.explained_of(PAPER) is None and page_data.explained_of(SECOND) is None
    add_module(monkeypatch, f"figures.{SECOND}")
    add_module(monkeypatch, f"figures.{SECOND}.explained", HEADING="What it is")
    assert page_data.explained_of(SECOND).HEADING == "What it is"


def test_without_verdicts_or_rows_it_says_how_to_get_them(tmp_path):
    with pytest.raises(UsageError, match="no verdicts in .*make figures"):
        page_data.read_pages(tmp_path)
    claims.judge(PAPER, [], tmp_path / "claims" / f"{PAPER}.json")
    with pytest.raises(UsageError, match="no raw results below .*make figures"):
        page_data.read_pages(tmp_path)
