"""The report: complete, self-contained, and open about invalid runs."""

from __future__ import annotations

import html
import json
import re
from html.parser import HTMLParser
from pathlib import Path
from typing import NamedTuple

import pytest
from matplotlib.figure import Figure

from experiments.declare import stem_of
from experiments.fidelity import ALL, read_fidelity
from experiments.judging import claims
from experiments.judging.pool import DIRECTIONS
from experiments.judging.published import read_published
from experiments.judging.reasons import counts, reading
from experiments.records.columns import every
from figures import load, page
from figures.draw import draw
from figures.files import KINDS
from figures.peers import write_peers
from figures.pictures import Picture
from figures.report import write_page
from figures.set_page import write_set_page
from operators.contract import UsageError
from tests.figures.peers_rows import write_rows
from tests.invented import (
    PAPER,
    as_in_the_paper,
    equal_runs,
    once,
    points_over,
    row,
    two,
    write_raw,
)
from tests.second_paper import CLAIMS, SECOND, add_module, join, second

VOID = {"meta", "img", "br"}


def verdicts_of(folder, paper=PAPER):
    return folder / "claims" / f"{paper}.json"


class Checker(HTMLParser):
    """Fails on tags that do not close in order, and collects ids and links."""

    def __init__(self):
        super().__init__()
        self.open, self.ids, self.links, self.loads = [], set(), set(), []

    def handle_starttag(self, tag, attrs):
        attrs = dict(attrs)
        if "id" in attrs:
            assert attrs["id"] not in self.ids
            self.ids.add(attrs["id"])
        if tag == "a":
            self.links.add(attrs["href"])
        self.loads += [attrs[name] for name in ("src", "rel", "data") if name in attrs]
        if tag not in VOID:
            self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag


def page_of(folder, paper=PAPER):
    """Write the page of a paper; return the text."""
    return write_page(folder, paper, folder / f"{paper}.html").read_text("utf-8")


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Return a folder of results with three figures drawn, and one run that is not valid."""
    results = tmp_path_factory.mktemp("results")
    rows = as_in_the_paper(cores=2)
    wrong = {"valid": False, "invalid_reason": "digest <is> & is not 5eed", "digest": "0bad"}
    rows.append(row("13", "mq", 4, **wrong))
    folder = results / "quick"
    verdicts = verdicts_of(folder)
    files = write_raw(folder / "raw", rows)
    claims.judge(PAPER, files, verdicts)
    tables = {"readings": {"keys": 243}}
    info = {"digest": "ab" * 8, "title": "Invented meters", "rows": 12345,
            "main_table": "readings", "tables": tables}  # fmt: skip
    kept = results / "data" / "quick" / "smart_meter"
    kept.mkdir(parents=True)
    (kept / "dataset.json").write_text(json.dumps(info))
    for figure, extended in (("9", False), ("13", False), ("13", True), ("14", False)):
        draw_into(folder, PAPER, figure, load.read(files), verdicts, extended)
    return folder


def draw_into(folder, paper, figure, results, verdicts, extended=False):
    """Write the files of a figure that a page reads."""
    stem = folder / "figures" / paper / f"{stem_of(figure)}{'_extended' if extended else ''}"
    stem.parent.mkdir(parents=True, exist_ok=True)
    drawing = draw(paper, figure, results, verdicts, extended)
    for kind in KINDS:
        stem.with_name(f"{stem.name}.{kind}").write_bytes(drawing.bytes_of(kind))


@pytest.fixture(scope="module")
def text(folder):
    return page_of(folder)


def dead_links(text, folder):
    """Return the links of a page that lead to no part of it and to no file of the folder."""
    checker = Checker()
    checker.feed(text)
    assert checker.open == []
    # The front pages are written later.
    outside = (link.partition("#")[0] for link in checker.links)
    files = {link for link in outside if link} - {"report.html", "../report.html"}
    parts = {link[1:] for link in checker.links if link[0] == "#"}
    return [*(parts - checker.ids), *(file for file in files if not (folder / file).is_file())]


def test_it_is_well_formed_and_every_link_leads_somewhere(text, folder):
    assert dead_links(text, folder) == []


def test_it_loads_nothing_from_anywhere(text):
    checker = Checker()
    checker.feed(text)
    assert checker.loads == []
    assert not re.search(r"(https?:)?//[a-z]|url\((?!#)|@import|<script[^>]", text)
    # The browser is told to refuse whatever would be loaded.
    assert "default-src 'none'" in text


def test_under_a_figure_stands_what_differs_from_the_paper(text):
    _, _, behind = text.partition(f'<section id="{PAPER}-9">')
    section, _, _ = behind.partition("</section>")
    own = [each for each in read_fidelity(PAPER) if each.touches("9")]
    assert own
    assert f"<summary>Measured otherwise than in the paper: {len(own)}</summary>" in section
    assert f'href="#fidelity-{PAPER}"' in section
    for each in own:
        by_name = each.figures != ALL
        assert (f'<a href="#fidelity-{PAPER}-{each.id}">' in section) == by_name
        assert (html.escape(each.paper) in section) == by_name
    # All of a deviation is told once.
    assert all(text.count(html.escape(each.here)) == 1 for each in read_fidelity(PAPER))


def test_it_has_each_figure_and_each_statement_with_its_answer(text, folder):
    # The main figure is shown twice: at the top, and in its section.
    assert text.count('role="img"') == 5
    for claim in claims.read_verdicts(verdicts_of(folder))["claims"]:
        place = f'<li id="{PAPER}-says-{claim["id"]}">{page.badge(claim["direction"])}'
        assert place in text
        assert html.escape(claim["quote"]) in text
        assert html.escape(claim["reason"]) in text


def test_it_opens_with_the_headline_and_answers_each_finding(text, folder):
    verdicts = claims.read_verdicts(verdicts_of(folder))
    assert text.count(verdicts["headline"]) == 1
    section = sections_of(text)[f"findings-{PAPER}"]
    for finding in verdicts["findings"]:
        question = f"{page.badge(finding['direction'])}<h3>{html.escape(finding['finding'])}</h3>"
        assert question in section
    # The statements are listed under the question they answer, in the order of the question.
    order = [name for finding in verdicts["findings"] for name in finding["statements"]]
    assert re.findall(rf'<li id="{PAPER}-says-([^"]*)"', section) == order


def test_what_stands_beside_an_answer_is_told_in_words(text, folder):
    for claim in claims.read_verdicts(verdicts_of(folder))["claims"]:
        for name, key in (("Size", "size"), ("Regime", "regime"), ("Evidence", "evidence")):
            if claim[key]:
                assert f"<b>{name}</b> {html.escape(claim[key]['text'])}" in text
    assert "21 threads on 2 cores; the paper&#x27;s machine has 24" in text


def test_what_does_not_count_says_why(text):
    assert text.count(">another statement</a> and does not count again.") == 16
    assert "Not counted, a definition. Our generators make it true" in text


def test_figures_stand_in_groups_with_a_heading(text):
    titles = re.findall(r'<h2 class="group">([^<]*)</h2>', text)
    assert titles == ["What the threads do, and how long it takes", "Few keys and many"]
    assert re.findall(r'<section id="(multiway_aggregation-[^"]*)"', text) == [
        f"{PAPER}-9",
        f"{PAPER}-13",
        f"{PAPER}-14",
    ]


def test_letters_stand_once_and_no_two_figures_share_an_id(text, folder):
    # The checker above asserts that ids are unique.
    letters = set(re.findall(r'<path id="(DejaVu[^"]*)"', text))
    used = set(re.findall(r'href="#(DejaVu[^"]*)"', text))
    assert used and used <= letters
    inside = {name for name in re.findall(r'(?:href="#|url\(#)(svg-[^")]*)', text)}
    assert inside <= set(re.findall(r'\bid="(svg-[^"]*)"', text))
    files = [path.stat().st_size for path in folder.glob("figures/*/*.svg")]
    assert len(text) < sum(files) + 250_000


def test_a_figure_has_its_reading_and_leads_to_its_statements(text, folder):
    verdicts = claims.read_verdicts(verdicts_of(folder))
    for figure in ("9", "13", "14"):
        section = sections_of(text)[f"{PAPER}-{figure}"]
        assert f"<p><b>{reading(verdicts, figure)}</b></p>" in section
        own = [claim["id"] for claim in verdicts["claims"]
               if figure in claim["figures"] and counts(claim)]  # fmt: skip
        assert re.findall(rf'<a href="#{PAPER}-says-([^"]*)"', section) == own


def test_it_says_what_equal_runs_differ_by(text, tmp_path):
    assert "too few to say" in text
    rows = [*two(), *equal_runs(1.07)]
    files = write_raw(tmp_path / "raw", rows)
    claims.judge(PAPER, files, verdicts_of(tmp_path))
    told = page_of(tmp_path)
    assert "<td>throughput</td><td>a core for every thread</td><td>1.070</td>" in told


def test_it_names_machine_time_and_data(text):
    assert "Invented Processor 9000" in text
    assert "measured in" in text
    assert "Invented meters" in text
    assert "12,345" in text
    assert '<td class="number">243</td>' in text


def test_it_shows_what_is_not_valid_and_why(text):
    assert "digest &lt;is&gt; &amp; is not 5eed" in text


def test_its_glossary_has_every_column(text):
    for column in every():
        assert f"<td>{column.name}</td>" in text


def test_answers_have_an_icon_and_a_word(text):
    icons = {"holds": "✓", "does not hold": "✕", "mixed": "◐", "cannot tell": "–",
             "not measured here": "○"}  # fmt: skip
    assert set(icons) == set(DIRECTIONS)
    for word, icon in icons.items():
        assert f'<span aria-hidden="true">{icon}</span> {word}' in text


def test_filters_name_the_answers_and_the_designs_of_the_page(text):
    form = re.search(r'<form class="filter" hidden>.*?</form>', text)[0]
    options = {html.unescape(value) for value in re.findall(r'<option value="([^"]+)"', form)}
    used = {html.unescape(each) for value in re.findall(r'data-designs="([^"]+)"', text)
            for each in value.split("|")}  # fmt: skip
    assert used and used | set(DIRECTIONS) <= options
    assert set(re.findall(r'data-answer="([^"]+)"', text)) <= set(DIRECTIONS)


def test_every_drawn_point_has_an_id(text, folder):
    for figure in ("9", "13", "14"):
        rows = (folder / "figures" / PAPER / f"{stem_of(figure)}.csv").read_text().splitlines()
        points = sum(not line.startswith("#") for line in rows) - 1
        places = re.findall(rf'<tr id="{PAPER}-{figure}-point-(\d+)">', text)
        assert list(map(int, places)) == list(range(1, points + 1))


def test_it_is_the_same_page_twice(text, folder):
    assert page_of(folder) == text


def test_without_verdicts_it_says_how_to_get_them(tmp_path):
    with pytest.raises(UsageError, match="make figures"):
        page_of(tmp_path)


def test_without_raw_results_it_says_how_to_get_them(tmp_path):
    claims.judge(PAPER, [], verdicts_of(tmp_path))
    with pytest.raises(UsageError, match="no raw results"):
        page_of(tmp_path)


# A set of two papers, whose figures have the same ids.


class Both(NamedTuple):
    """The pages of a set with figures 8, 9 and 13 of one paper, and 5f, 8, 8a, 10c of another."""

    folder: Path
    ours: str
    theirs: str
    front: str


@pytest.fixture(scope="module")
def both(tmp_path_factory):
    folder = tmp_path_factory.mktemp("both") / "quick"
    with pytest.MonkeyPatch.context() as monkeypatch:
        join(monkeypatch, folder.parent)
        add_module(monkeypatch, f"figures.{SECOND}")
        shown = [("A <picture>.", Picture(Figure(figsize=(1, 1))))]
        more = {"HEADING": "What & why", "explained": lambda: shown}
        add_module(monkeypatch, f"figures.{SECOND}.explained", **more)
        rows = as_in_the_paper(cores=2, repetitions=1)
        for line, tps in (("mq", 1e6), ("tumlsc", 2e6)):
            rows += points_over(second().figures[1], line, {20: (tps, 5.0)}, repetitions=1)
        files = write_raw(folder / "raw", rows)
        for paper, figures in ((PAPER, ("8", "9", "13")), (SECOND, ("5f", "8", "8a", "10c"))):
            claims.judge(paper, files, verdicts_of(folder, paper))
            for figure in figures:
                draw_into(folder, paper, figure, load.read(files), verdicts_of(folder, paper))
        pages = [page_of(folder, paper) for paper in (PAPER, SECOND)]
        front = write_set_page(folder, folder / "report.html").read_text("utf-8")
        return Both(folder, *pages, front)


def sections_of(text):
    """Return the text of each section by its id."""
    found = re.findall(r'<section id="([^"]*)"[^>]*>(.*?)</section>', text, re.DOTALL)
    assert len(dict(found)) == len(found)
    return dict(found)


def test_figures_of_one_id_have_sections_of_their_own(both):
    assert [dead_links(text, both.folder) for text in (both.ours, both.theirs)] == [[], []]
    ours, theirs = sections_of(both.ours)[f"{PAPER}-8"], sections_of(both.theirs)[f"{SECOND}-8"]
    assert "Figure 8: K-OS" in ours and "Figure 8: w-OS" not in ours
    assert "Figure 8: w-OS" in theirs and "Figure 8: K-OS" not in theirs


def test_a_paper_may_explain_its_subject_before_its_figures(both):
    section = sections_of(both.theirs)[f"explained-{SECOND}"]
    assert section.startswith("<h2>What &amp; why</h2><p>A &lt;picture&gt;.</p><figure><svg ")
    assert 'role="img" aria-label="A &lt;picture&gt;."' in section
    assert f'<a href="#explained-{SECOND}">What &amp; why</a>' in both.theirs
    before = both.theirs.index(f'id="explained-{SECOND}"')
    assert before < both.theirs.index(f'id="{SECOND}-5f"')
    assert f"explained-{PAPER}" not in both.ours


def test_panels_have_sections_and_pictures(both):
    sections = sections_of(both.theirs)
    for figure in ("5f", "8a", "10c"):
        assert f"Figure {figure}: " in sections[f"{SECOND}-{figure}"]
        assert 'role="img"' in sections[f"{SECOND}-{figure}"]
        assert f'<a href="#{SECOND}-{figure}">{figure}</a>' in both.theirs


def test_each_statement_stands_under_the_findings_of_its_own_paper(both):
    sections = sections_of(both.theirs)
    quote = CLAIMS[0]["quote"]
    told = [name for name, text in sections.items() if f"<blockquote>“{quote}”" in text]
    assert told == [f"findings-{SECOND}"]
    # A statement about several figures is printed once, and linked from each.
    place = f"{SECOND}-says-panels"
    assert f'<li id="{place}">' in sections[told[0]]
    for figure in ("5f", "8a", "10c"):
        assert f'<a href="#{place}">' in sections[f"{SECOND}-{figure}"]
    # The statements on our figure 8 are not listed with theirs.
    ours = [claim.quote for claim in read_published(PAPER).claims if "8" in claim.figures]
    assert all(quote not in both.theirs for quote in ours)
    assert any(quote in sections_of(both.ours)[f"{PAPER}-8"] for quote in ours)


def test_the_front_page_names_each_paper_and_counts_the_findings_of_both(both):
    sections = sections_of(both.front)
    assert "A second paper" in sections[f"paper-{SECOND}"]
    assert "Efficient data streaming multiway aggregation" in sections[f"paper-{PAPER}"]
    numbers = re.findall(r"<b>(\d+)</b>", both.front)[: len(DIRECTIONS)]
    assert sum(map(int, numbers)) == len(read_published(PAPER).findings) + len(CLAIMS)


def test_the_front_page_has_a_small_plot_a_paper_that_leads_to_the_large_one(both):
    assert dead_links(both.front, both.folder) == []
    for paper, text in ((PAPER, both.ours), (SECOND, both.theirs)):
        link = f'<a href="{paper}.html#forest-{paper}"><svg class="small"'
        assert link in sections_of(both.front)[f"paper-{paper}"]
        assert f'id="forest-{paper}"' in text


def test_rows_that_both_papers_are_judged_by_count_once(both):
    rows = as_in_the_paper(cores=2, repetitions=1)
    assert f"; {len(once(rows)) + 4:,} runs." in both.front


def test_peers_are_on_the_page_of_a_run_that_names_them_and_on_no_other(folder):
    drawn = folder / "figures" / PAPER
    write_peers(write_rows(folder.parent / "peers.jsonl"), drawn)
    try:
        without = page_of(folder)
        assert "What users would take instead" not in without
        shown = write_page(folder, PAPER, folder / f"{PAPER}.html", peers=True).read_text("utf-8")
        assert dead_links(shown, folder) == []
    finally:
        for file in drawn.glob("fig_peers.*"):
            file.unlink()
    section = shown.partition(f'<section id="peers-{PAPER}">')[2].partition("</section>")[0]
    assert f'href="#peers-{PAPER}"' in shown
    for told in ("fig_peers.csv", "batch over recorded input", "no latency", "DuckDB", "2.0.1",
                 "Spark is not drawn in k-OI: wrong output"):  # fmt: skip
        assert told in section
