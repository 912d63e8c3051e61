"""Every sentence that page, card and figure print on a paper's verdicts can be read aloud.

The verdicts come from invented rows of every paper: rows of one process, rows of three processes
with spread, and no rows. Each pattern that the tests refuse was printed once: truncated column
names, two adjacent numbers, multiples without a unit, verbs without an object.
"""

from __future__ import annotations

import random
import re
from collections.abc import Iterator
from dataclasses import asdict
from html import unescape

import pytest

from experiments import papers
from experiments.judging import claims, findings
from experiments.judging.published import read_published
from experiments.judging.reasons import answers, reading
from experiments.records.results import Raw
from figures import findings as cards
from figures import first_screen, load
from figures.page_data import PageData
from figures.statements import label_of
from tests import invented_ordered, invented_pim_tree, invented_scalejoin, invented_streamcloud
from tests.invented_paper import paper_rows

ROWS = {
    "multiway_aggregation": lambda **given: paper_rows(cores=2, **given),
    "ordered_processing": invented_ordered.of_every_figure,
    "pim_tree": invented_pim_tree.of_every_figure,
    "scalejoin": invented_scalejoin.of_every_figure,
    "streamcloud": invented_streamcloud.of_every_figure,
}
REFUSED = {
    "a ratio of a multiple": r"\d times \d[\d.,]* ",
    "a power of ten": r"\d[eE][+-]?\d",
    "a verb without an object": r"\b(does|do) not(?! \w)",
    "answers that are no sentence": r"\b(statements|findings): (\d+ )?(does|do) not\b(?! hold)",
    "a multiple without a unit": r"\d [kMG](?! [a-z]+/s)\b",
    "the name of a column": r"\b[a-z]+_(tps|ms|ns|us|ps|bytes|share|percent|mean|p50|p90|p99)\b",
    "a long number without commas": r"(?<![\d.,^])\d{5,}(?![\d.])",
    "a number after a number": r"\d(?<!σ) \d[\d.,]* times",
    "what the text of a paper has not": r"\b(None|nan|inf)\b",
    "that something kept up": r"\ball kept up|of \d+ kept up",
    "a whole number as a broken one": r"\d\.0 (inputs|partners|tuples|threads|workers|keys)\b",
}
KINDS = ("one process", "three that spread", "none")


def rows_of(paper: str, kind: str) -> list[dict]:
    """Return invented rows of a paper; rows with spread have the same spread in each test."""
    if kind == "none":
        return []
    rows = ROWS[paper](repetitions=3 if kind == "three that spread" else 1)
    if kind == "one process":
        return rows
    chance = random.Random(7)
    measured = ("throughput_tps", "latency_ms_mean", "highest_tps", "highest_ms_mean")
    return [
        each | {name: each[name] * chance.uniform(0.3, 3.0) for name in measured if each.get(name)}
        for each in rows
    ]


def verdicts_of(paper: str, kind: str) -> dict:
    judged = claims.judge_paper(paper, rows_of(paper, kind))
    found = findings.findings_of(paper, read_published(paper).findings, judged)
    headline = findings.headline(findings.tally(found))
    first = read_published(paper).first_screen
    return {
        "paper": paper, "claims": judged, "findings": found, "headline": headline,
        "first_screen": asdict(first), "floors": [], "cores": 2,
    }  # fmt: skip


def printed(paper: str, verdicts: dict, folder) -> Iterator[str]:
    """Yield each text of the findings' section and of each figure, without the paper's quotes."""
    data = PageData(papers.paper(paper), verdicts, load.Results(Raw([], {})), folder)
    text = cards.section(data, {})
    section = re.sub(r"<blockquote>.*?</blockquote>", "", text, flags=re.DOTALL)
    yield first_screen.banner_text(verdicts)
    for claim in first_screen.headline_claims(verdicts):
        yield re.sub(r"“.*?”", "", first_screen.sentence_of(claim))
    for claim in verdicts["claims"]:
        yield re.sub(r"“.*?”", "", label_of(claim))
    for figure in data.paper.figures:
        yield reading(verdicts, figure.id)
        yield answers(verdicts, figure.id)
    written = [part for claim in read_published(paper).claims
               for part in (claim.assumed, claim.kind_why) if part]  # fmt: skip
    for text in re.split(r"<[^>]*>", section):
        text = re.sub(r"“.*?”", "", unescape(text))
        for part in written:
            text = text.replace(part, "")
        yield text


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("paper", ROWS)
def test_every_sentence_can_be_read_aloud(paper, kind, tmp_path):
    verdicts = verdicts_of(paper, kind)
    unreadable = {
        f"{what}: {text}"
        for text in printed(paper, verdicts, tmp_path)
        for what, pattern in REFUSED.items()
        if re.search(pattern, text)
    }
    assert unreadable == set()


def test_every_paper_is_read():
    assert set(ROWS) == set(papers.paper_names())


@pytest.mark.parametrize(
    "text",
    [
        "ScaleJoin at 2 processing threads 0.97 times 2 times that at 1",
        "ScaleJoin 0.74 times 0.1 %",
        "7.62e+03 M c/s here, 100 M in the paper",
        "statements: 1 does not, 3 cannot tell",
        "0.78 ms here, 2 k in the paper",
        "PIM-Tree at 131072 tuples 1.45 times that at 4096",
        "1 process, none noisy, all kept up",
        "B+-Tree at 16.0 partners 0.95 times that at 0.0625",
        "throughput_tps 1.02 times",
    ],
)
def test_what_was_printed_once_is_refused(text):
    assert any(re.search(pattern, text) for pattern in REFUSED.values())
