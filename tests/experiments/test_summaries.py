"""What a name of a paper is, read from the docstring that says so."""

from __future__ import annotations

import pytest

from experiments import papers, series
from experiments.declare import Series
from experiments.summaries import names_of, summary_of


@pytest.mark.parametrize("paper", papers.papers(), ids=lambda paper: paper.id)
def test_every_design_of_a_figure_is_explained_in_one_sentence(paper):
    known = names_of(paper)
    for figure in paper.figures:
        for line in series.measured(figure):
            variant = Series(line).variant
            title = series.drawn(figure.family, Series(variant)).title
            assert known.get(title), f"{figure.family} {variant} has no sentence"
    assert all(len(told) <= 200 and told.endswith(".") for told in known.values())


@pytest.mark.parametrize(
    ("family", "variant", "words"),
    [
        ("gate", "t-gate", "T-Gate (ScaleGate): a skip list that sorts"),  # the module's docstring
        ("index", "ib-chain", "A chain of trees like the B-chain"),  # a list in the docstring
        ("join", "ib-chain", "A chain of trees like the B-chain"),  # made from that variant
        ("join", "bw-tree", "The Bw-Tree: a B+-tree whose nodes"),
        ("gate", "unknown", ""),
    ],
)
def test_the_sentence_is_read_from_the_docstring(family, variant, words):
    found = summary_of(family, variant)
    assert found.startswith(words) and bool(found) == bool(words)


def test_queries_structures_and_other_names_are_explained_too():
    known = names_of(papers.paper("multiway_aggregation"))
    assert known["K-OS"].startswith("Query: forward the first comment")
    assert known["W-Hive"].startswith("W-Hive: the winsets")
    assert known["ScaleGate"] == known["T-Gate"]
