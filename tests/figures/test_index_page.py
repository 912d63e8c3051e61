"""The front page: a section for each set of results, each independent of the others."""

from __future__ import annotations

import json
import re

import pytest

from experiments.judging import claims
from experiments.judging.findings import headline
from experiments.judging.pool import DIRECTIONS
from figures import names
from figures.files import ANSWERS
from figures.index_page import write_front
from figures.report import write_page
from figures.set_page import write_set_page
from tests.invented import PAPER, points_over, two, write_raw
from tests.second_paper import SECOND, join, second


def make_set(root, label, rows, papers=(PAPER,)):
    """Judge papers by rows and write the page of a set."""
    folder = root / label
    files = write_raw(folder / "raw", rows)
    for paper in papers:
        claims.judge(paper, files, folder / "claims" / f"{paper}.json")
        write_page(folder, paper, folder / f"{paper}.html")
    return write_set_page(folder, folder / "report.html")


@pytest.fixture
def root(tmp_path, monkeypatch):
    """Return a folder with two sets of results, the second on another machine."""
    join(monkeypatch, tmp_path)
    root = tmp_path / "results"
    make_set(root, "quick", two(repetitions=1))
    theirs = points_over(second().figures[1], "mq", {4: (1e6, 5.0)}, machine="another")
    make_set(root, "laptop-mine", theirs, (PAPER, SECOND))
    (root / "data").mkdir()
    return root


def test_two_labels_have_their_own_pages_and_the_front_page_leads_to_both(root):
    before = (root / "quick" / "report.html").read_bytes()
    text = write_front(root, root / "report.html").read_text("utf-8")
    assert re.findall(r'<section id="([^"]*)">', text) == ["laptop-mine", "quick", names.PLACE]
    links = [link.partition("#")[0] for link in re.findall(r'<a href="([^"]*)">', text)]
    assert list(dict.fromkeys(links)) == [
        "laptop-mine/report.html", f"laptop-mine/{PAPER}.html", f"laptop-mine/{SECOND}.html",
        "quick/report.html", f"quick/{PAPER}.html",
    ]  # fmt: skip
    assert all((root / link).is_file() for link in links)
    assert (root / "quick" / "report.html").read_bytes() == before
    assert before != (root / "laptop-mine" / "report.html").read_bytes()


def test_a_set_with_a_gallery_has_a_link_to_it(root):
    gallery = root / "quick" / "figures" / "index.html"
    gallery.parent.mkdir(exist_ok=True)
    gallery.write_text("all of them")
    page = write_front(root, root / "report.html").read_text()
    assert re.findall(r'href="([^"]*index.html)"', page) == ["quick/figures/index.html"]


def test_each_set_is_told_with_its_machine_papers_and_findings(root):
    text = write_front(root, root / "report.html").read_text("utf-8")
    mine, quick, _ = text.split("<section")[1:]
    assert "Invented Processor 9000" in mine and "Invented Processor 9000" in quick
    assert "A second paper" in mine and "A second paper" not in quick
    # The number of findings with each answer, over the papers of a set.
    for section, label in ((mine, "laptop-mine"), (quick, "quick")):
        found = [claims.read_verdicts(file)["answers"]
                 for file in (root / label / "claims").glob("*.json")]  # fmt: skip
        counts = {answer: sum(each[answer] for each in found) for answer in DIRECTIONS}
        told = [int(number) for number in re.findall(r"<b>(\d+)</b>", section)]
        assert told == list(counts.values())
        assert f"<b>{headline(counts)}</b>" in section


def test_a_set_that_was_made_again_is_told_anew_and_the_other_as_before(root):
    first = write_front(root, root / "report.html").read_text("utf-8")
    make_set(root, "quick", two(repetitions=6))
    again = write_front(root, root / "report.html").read_text("utf-8")
    assert first != again
    assert first.split("<section")[1] == again.split("<section")[1]


def test_what_is_no_set_of_results_is_not_listed(root):
    (root / "old").mkdir()
    (root / "old" / "report.html").write_text("a page of before")
    text = write_front(root, root / "report.html").read_text("utf-8")
    assert "old/report.html" not in text


def test_a_set_that_cannot_be_told_is_listed_with_the_reason_beside_the_others(root):
    whole = write_front(root, root / "report.html").read_text("utf-8").split("<section")
    file = root / "quick" / "claims" / f"{PAPER}.json"
    older = json.loads(file.read_text("utf-8"))
    del older["processor"]
    for content, reason in (
        ("{", f"cannot read verdicts {file}"),
        (json.dumps(older), "Judged by another version of Millrace: its verdicts lack"),
    ):
        file.write_text(content)
        again = write_front(root, root / "report.html").read_text("utf-8").split("<section")
        assert again[1] == whole[1]
        assert reason in again[2] and "quick/report.html" in again[2]


def test_each_set_has_the_first_questions_and_names_are_explained(root):
    text = write_front(root, root / "report.html").read_text("utf-8")
    mine, quick, listed = text.split("<section")[1:]
    for section in (mine, quick):
        assert "Which design for two inputs, where the order matters?" in section
        assert "Does lock-freedom matter?" in section
    assert "<dfn>TuMLSC</dfn>" in listed
    (root / "quick" / ANSWERS).unlink()
    _, quick, *_ = write_front(root, root / "report.html").read_text().split("<section")[1:]
    assert "lock-freedom" not in quick
