"""The report: whole, self-contained, and honest about what is not valid."""

from __future__ import annotations

import json
import re
from html.parser import HTMLParser

import pytest

from experiments.judging import claims
from experiments.multiway_aggregation.figures import FIGURES
from experiments.records.columns import COLUMNS
from figures import multiway_aggregation
from figures.draw import draw_figure
from figures.report import grouped, write_report
from operators.contract import UsageError
from tests.invented import as_in_the_paper, row, write_raw

VOID = {"meta", "img", "br"}


class Checker(HTMLParser):
    """Fails on tags that do not close in order, and remembers ids and links."""

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


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Return a folder of results with three figures drawn, and one run that is not valid."""
    folder = tmp_path_factory.mktemp("results")
    rows = as_in_the_paper(cores=2, repetitions=1, coarse=True)
    wrong = {"valid": False, "invalid_reason": "digest <is> & is not 5eed", "digest": "0bad"}
    rows.append(row("fig_13", "mq", 4, **wrong))
    files = write_raw(folder / "raw", rows)
    claims.judge(files, claims.published_files(), folder / "claims.json")
    info = {"digest": "ab" * 8, "title": "Invented meters", "rows": 12345, "keys": 243}
    kept = folder / "data" / "quick" / "smart_meter"
    kept.mkdir(parents=True)
    (kept / "dataset.json").write_text(json.dumps(info))
    for figure in ("fig_09", "fig_13", "fig_13_extended", "fig_14"):
        stem = folder / "figures" / "multiway_aggregation" / figure
        draw_figure("multiway_aggregation", figure, files, folder / "claims.json", stem)
    return folder


@pytest.fixture(scope="module")
def text(folder):
    return write_report(folder, folder / "report.html").read_text("utf-8")


def test_it_is_well_formed_and_every_link_leads_somewhere(text):
    checker = Checker()
    checker.feed(text)
    assert checker.open == []
    assert {link.removeprefix("#") for link in checker.links} <= checker.ids


def test_it_loads_nothing_from_anywhere(text):
    checker = Checker()
    checker.feed(text)
    assert checker.loads == []
    assert not re.search(r"(https?:)?//[a-z]|url\((?!#)|@import|<script", text)


def test_it_has_each_figure_and_each_statement_with_its_verdict(text, folder):
    assert text.count('role="img"') == 4
    for claim in claims.read_verdicts(folder / "claims.json")["claims"]:
        assert claim["quote"] in text
        assert claim["verdict"] in text


def test_figures_stand_in_groups_with_a_heading(text):
    titles = re.findall(r'<h2 class="group">([^<]*)</h2>', text)
    assert titles == ["What the threads do, and how long it takes", "Few keys and many"]
    every = [name for _, _, names in multiway_aggregation.GROUPS for name in names]
    assert every == [figure.id for figure in FIGURES]


def test_a_figure_of_no_group_stands_at_the_end(tmp_path):
    paths = [tmp_path / "multiway_aggregation" / f"{name}.svg" for name in ("fig_99", "fig_07")]
    found = [(title, [path.stem for path in own]) for title, _, own in grouped(paths)]
    assert found == [("Sorting alone", ["fig_07"]), ("Other figures", ["fig_99"])]


def test_letters_stand_once_and_no_two_figures_share_an_id(text, folder):
    # That ids are unique, the checker above asserts.
    letters = set(re.findall(r'<path id="(DejaVu[^"]*)"', text))
    used = set(re.findall(r'href="#(DejaVu[^"]*)"', text))
    assert used and used <= letters
    inside = {name for name in re.findall(r'(?:href="#|url\(#)(svg-[^")]*)', text)}
    assert inside <= set(re.findall(r'\bid="(svg-[^"]*)"', text))
    files = [path.stat().st_size for path in folder.glob("figures/*/*.svg")]
    assert len(text) < sum(files) + 150_000


def test_a_statement_is_told_once_and_then_pointed_at(text, folder):
    published = claims.read_verdicts(folder / "claims.json")["claims"]
    drawn, again = ("fig_09", "fig_13", "fig_14"), 0
    for place, figure in enumerate(drawn):
        own = [claim["figures"] for claim in published if figure in claim["figures"]]
        earlier = sum(1 for figures in own if set(drawn[:place]) & set(figures))
        assert f"{earlier} statements told with earlier figures" in text or not earlier
        again += earlier
    assert text.count("The reason stands with") == again > 1


def test_it_names_machine_time_and_data(text):
    assert "Invented Processor 9000" in text
    assert "measured in" in text
    assert "Invented meters" in text
    assert "12,345" in text


def test_it_shows_what_is_not_valid_and_why(text):
    assert "digest &lt;is&gt; &amp; is not 5eed" in text


def test_its_glossary_has_every_column(text):
    for column in COLUMNS:
        assert f"<td>{column.name}</td>" in text


def test_verdicts_have_an_icon_and_a_word(text):
    for icon, word in (("✓", "reproduced"), ("◐", "partial"), ("–", "not testable here")):
        assert f'<span aria-hidden="true">{icon}</span> {word}' in text


def test_it_is_the_same_page_twice(text, folder):
    assert write_report(folder, folder / "again.html").read_text("utf-8") == text


def test_without_verdicts_it_says_how_to_get_them(tmp_path):
    with pytest.raises(UsageError, match="make figures"):
        write_report(tmp_path, tmp_path / "report.html")


def test_without_raw_results_it_says_how_to_get_them(tmp_path):
    claims.judge([], claims.published_files(), tmp_path / "claims.json")
    with pytest.raises(UsageError, match="no raw results"):
        write_report(tmp_path, tmp_path / "report.html")
