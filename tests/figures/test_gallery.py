"""The gallery: each drawn figure with the reading, under a heading, and links to the files."""

from __future__ import annotations

import json
import re
from html.parser import HTMLParser

import pytest

from figures import draw, gallery
from operators.contract import UsageError
from tests.invented import PAPER, of_every_figure, write_raw

VERDICTS = {
    "paper": PAPER,
    "claims": [
        {
            "figures": ["13"],
            "kind": "result",
            "repeats": None,
            "direction": "holds",
            "comparator": "ordering",
            "quantity": "throughput_tps",
            "parts": [
                {"figures": ["13"], "above": "TuMLSC", "below": "MQ", "where": f"{n} inputs",
                 "sign": 1, "ratio": 2.8}
                for n in (1, 4, 20)
            ],
        }
    ],
    "floors": [],
}  # fmt: skip


class Links(HTMLParser):
    """Collects the links of a page."""

    def __init__(self, text):
        super().__init__()
        self.found = []
        self.feed(text)

    def handle_starttag(self, tag, attributes):
        self.found += [value for name, value in attributes if name in ("href", "src")]


@pytest.fixture
def folder(tmp_path):
    folder = tmp_path / "quick"
    (folder / "claims").mkdir(parents=True)
    text = json.dumps(VERDICTS)
    (folder / "claims" / f"{PAPER}.json").write_text(text, encoding="utf-8")
    return folder


def made(folder):
    files = write_raw(folder / "raw", of_every_figure(2, 1, ("8", "13")))
    draw.draw_figures(PAPER, ("8", "13"), files, None, folder / "figures" / PAPER)
    return gallery.write_gallery(folder)


def test_each_drawn_figure_stands_under_its_heading_with_its_reading(folder):
    text = made(folder).read_text(encoding="utf-8")
    headings = re.findall(r'<h2 class="group">(.*?)</h2>', text)
    assert headings == ["What the threads do, and how long it takes", "Few keys and many"]
    assert text.count("<img") == 2
    shown = dict(re.findall(rf'<figure id="{PAPER}-(.*?)">(.*?)</figure>', text))
    assert "TuMLSC 2.8 times MQ, 3 of 3 pairs" in shown["13"]
    # A figure in no statement has no reading; an extended form that repeats has no link.
    assert "reading" not in shown["8"]
    assert "all measured variants" in shown["13"] and "all measured variants" not in shown["8"]


def test_every_link_leads_to_a_file_beside_it_or_to_the_report(folder):
    path = made(folder)
    links = Links(path.read_text(encoding="utf-8")).found
    links.remove("#content")
    assert len(links) == 2 * 5 + 1
    for link in links:
        if link.startswith(f"../{PAPER}.html#"):
            assert link.removeprefix(f"../{PAPER}.html#") in (f"{PAPER}-8", f"{PAPER}-13")
        else:
            assert (path.parent / link).is_file(), link


def test_without_figures_it_says_how_to_draw_them(folder):
    with pytest.raises(UsageError, match="draw them with `make figures`"):
        gallery.write_gallery(folder)
