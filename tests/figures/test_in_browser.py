"""The pages in a headless Chromium: no errors, no network, and filters and links that work."""

from __future__ import annotations

import pytest

from experiments.judging import claims
from figures import draw, forest
from figures.index_page import write_front
from figures.report import write_page
from figures.set_page import write_set_page
from tests.browser import browser, program
from tests.invented import PAPER, as_in_the_paper, write_raw

pytestmark = [
    pytest.mark.skipif(program() is None, reason="there is no Chromium to open the pages with"),
    pytest.mark.xdist_group("browser"),
]
NARROW = 380
SHOWN = "[...document.querySelectorAll('.forest li[data-answer]')].filter((i) => !i.hidden)"


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Return a set of results with two figures, the forest plot and both pages."""
    folder = tmp_path_factory.mktemp("results") / "quick"
    files = write_raw(folder / "raw", as_in_the_paper(cores=2, repetitions=1))
    verdicts = folder / "claims" / f"{PAPER}.json"
    claims.judge(PAPER, files, verdicts)
    drawn = folder / "figures" / PAPER
    draw.draw_figures(PAPER, ("13", "14"), files, verdicts, drawn)
    forest.write_forest(verdicts, drawn)
    write_page(folder, PAPER, folder / f"{PAPER}.html")
    write_set_page(folder, folder / "report.html")
    write_front(folder.parent, folder.parent / "report.html")
    return folder


@pytest.fixture(scope="module")
def opened(tmp_path_factory):
    with browser(tmp_path_factory.mktemp("profile")) as found:
        yield found


@pytest.fixture(
    params=(f"{PAPER}.html", "report.html", "../report.html"), ids=("paper", "set", "front")
)
def page(request, folder):
    return folder / request.param


def test_a_page_has_no_errors_and_asks_for_nothing(opened, page):
    opened.open(page)
    assert opened.run("document.querySelectorAll('main section').length") > 0
    assert opened.complaints() == []
    assert opened.requested() == []


@pytest.mark.parametrize("width", (NARROW, 1920))
def test_nothing_scrolls_sideways(opened, page, width):
    opened.open(page, width)
    wide = (
        "[...document.querySelectorAll('body *')].filter((e) => !e.closest('.scroll, svg, pre'))"
        f".filter((e) => e.getBoundingClientRect().right > {width} + 1).map((e) => e.outerHTML"
        ".slice(0, 120)).slice(0, 5)"
    )
    assert opened.run("document.documentElement.scrollWidth") <= width, opened.run(wide)


def test_every_figure_is_seen(opened, page):
    opened.open(page)
    sizes = opened.run(
        "[...document.querySelectorAll('svg[role=img]')].filter((e) => !e.closest('details'))"
        ".map((e) => e.getBoundingClientRect()).map((r) => Math.min(r.width, r.height))"
    )
    assert sizes and min(sizes) > 30


def test_a_filter_hides_the_others_and_is_in_the_address(opened, folder):
    opened.open(folder / f"{PAPER}.html")
    every = opened.run(f"{SHOWN}.length")
    opened.run(
        "(() => { const s = document.querySelector('select[name=answer]'); s.value = 'holds';"
        " s.dispatchEvent(new Event('change')); })()"
    )
    answers = set(opened.run(f"{SHOWN}.map((i) => i.dataset.answer)"))
    assert answers == {"holds"}
    assert opened.run("location.hash") == "#~answer=holds"
    assert 0 < opened.run(f"{SHOWN}.length") < every
    opened.run("document.querySelector('form.filter').reset()")
    assert opened.run(f"{SHOWN}.length") == every
    assert opened.run("location.hash") == ""


def test_an_address_is_a_view(opened, folder):
    opened.open(folder / f"{PAPER}.html", fragment="#~answer=holds&design=tumlsc")
    shown = opened.run(f"{SHOWN}.map((i) => [i.dataset.answer, i.dataset.designs])")
    assert shown and all(a == "holds" and "tumlsc" in d.split("|") for a, d in shown)
    # A value that the page does not have hides nothing.
    opened.open(folder / f"{PAPER}.html", fragment="#~answer=nobody")
    assert opened.run("document.querySelector('select[name=answer]').value") == ""
    assert opened.run("document.querySelectorAll('.forest li[hidden]').length") == 0


def test_a_link_opens_the_folded_part_that_it_leads_to(opened, folder):
    opened.open(folder / f"{PAPER}.html")
    for link in ("li.ratio a", ".matrix td a"):
        opened.run(f"document.querySelector({link!r}).click()")
        seen = (
            "(() => { const id = decodeURIComponent(location.hash.slice(1));"
            " const t = document.getElementById(id);"
            " const r = t.getBoundingClientRect(); return [r.height > 0, r.top]; })()"
        )
        visible, top = opened.run(f"new Promise((d) => setTimeout(() => d({seen}), 200))")
        assert visible and -50 < top < 900


def test_a_name_leads_to_what_it_is_by_keyboard_and_the_list_is_printed(opened, page):
    opened.open(page, NARROW)
    sentence = opened.run(
        "(() => { const a = document.querySelector('a.name'); a.focus();"
        " return document.activeElement === a && a.querySelector('abbr').title; })()"
    )
    opened.run("document.activeElement.click()")
    told = opened.run("document.querySelector(':target').textContent")
    assert sentence and sentence.split(": ")[-1] in told
    opened.call("Emulation.setEmulatedMedia", media="print")
    height = opened.run("document.querySelector('ul.names').getBoundingClientRect().height")
    opened.call("Emulation.setEmulatedMedia", media="")
    assert height > 0


def test_no_answer_is_scrolled_to_on_a_phone(opened, folder):
    for page in (folder / "report.html", folder.parent / "report.html"):
        opened.open(page, NARROW)
        wide = "(e) => e.scrollWidth - e.clientWidth"
        tables = (
            "[...document.querySelectorAll('.scroll')].filter((e) => e.querySelector('.answers'))"
        )
        assert set(opened.run(f"{tables}.map({wide})")) == {0}
        labels = "[...document.querySelectorAll('.answers .label')].every((e) => e.offsetWidth > 0)"
        assert opened.run(labels)
