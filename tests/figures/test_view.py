"""The two forms of a figure, and the content of each."""

from __future__ import annotations

from dataclasses import replace

from figures.view import View
from tests.invented import DECLARED

FIGURE = replace(
    DECLARED["13"], lines=("mq", "tumlsc"), quantities=("throughput_tps",),
    extended_quantities=("throughput_tps", "latency_ms_p99"),
)  # fmt: skip
PAPERS_FORM, EXTENDED = View(FIGURE), View(FIGURE, extended=True)


def test_the_paper_s_form_shows_the_paper_s_lines_and_the_extended_one_all():
    assert [PAPERS_FORM.shows(line) for line in ("mq", "mq-cached")] == [True, False]
    assert [EXTENDED.shows(line) for line in ("mq", "mq-cached")] == [True, True]


def test_each_form_has_its_quantities_and_its_title():
    assert PAPERS_FORM.quantities == ("throughput_tps",)
    assert EXTENDED.quantities == ("throughput_tps", "latency_ms_p99")
    assert PAPERS_FORM.title == f"Figure 13: {FIGURE.caption}"
    assert EXTENDED.title == f"Figure 13, extended: {FIGURE.caption}"
