"""The report: whole, self-contained, and honest about what is not valid."""

from __future__ import annotations

import json
import re
from html.parser import HTMLParser

import pytest

from experiments.harness import claims
from experiments.harness.columns import COLUMNS
from figures.draw import draw_figure
from figures.report import write_report
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
    """Return a folder of results with two figures drawn, and one run that is not valid."""
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
    for figure in ("fig_09", "fig_13", "fig_13_extended"):
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
    assert all(source.startswith("data:image/svg+xml;base64,") for source in checker.loads)
    assert not re.search(r"(https?:)?//[a-z]|url\(|@import|<script", text)


def test_it_has_each_figure_and_each_statement_with_its_verdict(text, folder):
    assert text.count("<img") == 3
    for claim in claims.read_verdicts(folder / "claims.json")["claims"]:
        assert claim["quote"] in text
        assert claim["verdict"] in text


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
