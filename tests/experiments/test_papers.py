"""Papers are found as folders; an unknown one is refused with a list of those present."""

from __future__ import annotations

import pytest
import yaml

from experiments import papers
from operators.contract import UsageError

PAPER = "multiway_aggregation"


def test_a_paper_is_a_folder_with_a_declaration_and_its_statements():
    assert PAPER in papers.paper_names()
    assert papers.paper_names() == sorted(papers.paper_names())
    assert [paper.id for paper in papers.papers()] == papers.paper_names()
    for name in papers.paper_names():
        assert (papers.folder_of(name) / "figures.py").is_file()
        assert papers.published_file(name).is_file()


def test_a_figure_is_found_by_paper_and_id():
    assert papers.figure(PAPER, "7").subject == "sorting"
    assert papers.figure(PAPER, "7") in papers.paper(PAPER).figures


def test_unknown_papers_and_figures_list_those_there_are():
    for ask in (papers.paper, papers.folder_of, papers.published_file):
        with pytest.raises(UsageError, match="unknown paper 'other'; papers are: .*multiway_aggr"):
            ask("other")
    with pytest.raises(
        UsageError, match="no figure '99' of multiway_aggregation; there are: 7, 8, 9"
    ):
        papers.figure(PAPER, "99")
    with pytest.raises(UsageError, match="unknown paper 'other'"):
        papers.figure("other", "7")


def test_folders_that_are_no_papers_are_none():
    assert not {"families", "records", "judging", "timing", "commands"} & set(papers.paper_names())


def test_a_paper_has_modules_of_its_own_where_it_needs_them():
    assert papers.own_module(PAPER, "comparators").__name__ == f"experiments.{PAPER}.comparators"
    assert papers.own_module(PAPER, "clocks") is None


def test_a_declaration_that_bears_another_name_is_refused(monkeypatch):
    folder = papers.folder_of(PAPER)
    monkeypatch.setattr(papers, "_folders", lambda: {"another": folder})
    module = papers.importlib.import_module(f"experiments.{PAPER}.figures")
    monkeypatch.setattr(papers.importlib, "import_module", lambda name: module)
    with pytest.raises(UsageError, match="the paper in experiments/another calls itself 'multiwa"):
        papers.paper("another")


@pytest.mark.parametrize("name", papers.paper_names())
def test_every_published_statement_is_read_twice(name):
    published = papers.published_file(name)
    claims = yaml.safe_load(published.read_text("utf-8"))["claims"]
    second = yaml.safe_load(published.with_name("second_reading.yaml").read_text("utf-8"))
    assert {claim["id"] for claim in claims} == set(second["second_reading"])
