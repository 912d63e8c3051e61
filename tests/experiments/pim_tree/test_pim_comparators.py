"""Comparators of the fourth paper, and additions for all papers: places, needs, equal curves."""

from __future__ import annotations

from dataclasses import replace

import pytest

from experiments import papers
from experiments.judging import claims
from experiments.judging.points import gather, points_of_paper
from experiments.judging.published import read_published
from tests import judging_pim_tree
from tests.invented_pim_tree import DECLARED, PAPER, rows_at

PUBLISHED = read_published(PAPER)
CLAIMS = {claim.id: claim for claim in PUBLISHED.claims}
RATIOS, LENGTHS = (1 / 64, 1 / 8, 1.0), (2, 3, 9)


def judged(name: str, rows: list[dict]) -> dict:
    """Return the verdict on a statement by its id."""
    return judging_pim_tree.judged(CLAIMS[name], rows)


def over_ratios(figure: str, line: str, window: int, values: tuple) -> list[dict]:
    rows = []
    for ratio, value in zip(RATIOS, values, strict=True):
        at = {"window": window, "merge_ratio": ratio}
        rows += rows_at(figure, line, at, throughput=1e6 * value)
    return rows


def chains(values: tuple) -> list[dict]:
    rows = []
    for length, value in zip(LENGTHS, values, strict=True):
        for line in ("b-chain", "ib-chain"):
            at = {"window": 1 << 17, "chain_length": length}
            rows += rows_at("8b", line, at, throughput=1e6 * value)
    return rows


def test_the_first_of_a_curve_is_held_against_the_best_of_the_others():
    best = judged("chain-of-two-best", chains((4, 2, 3)))
    assert best["direction"] == "holds" and best["ratio"] == pytest.approx(4 / 3)
    assert judged("chain-of-two-best", chains((2, 4, 3)))["direction"] == "does not hold"
    assert judged("chain-of-two-best", [])["direction"] == "not measured here"


@pytest.mark.parametrize(("values", "answer"), [((1, 3, 2), "holds"), ((3, 2, 1), "does not hold")])
def test_a_value_of_the_axis_is_no_value_of_another_setting(values, answer):
    # In every row 1/8 is also the deviation of a drift.
    rows = over_ratios("9b", "im-tree", 1 << 16, values)
    rows += over_ratios("9c", "pim-tree", 1 << 16, values)
    found = judged("best-merge-ratio-at-2-16", rows)
    assert found["direction"] == answer
    assert found["ratio"] == pytest.approx(values[1] / max(values[0], values[2]))


def depths(values: tuple, window: int = 1 << 22) -> list[dict]:
    return [
        row
        for depth, value in enumerate(values, start=1)
        for row in rows_at(
            "8c", f"pim-tree:insertion_depth={depth}", {"window": window}, throughput=1e6 * value
        )
    ]


def test_lines_in_their_order_are_an_axis():
    found = judged("deepest-insertion-slower", depths((3, 4, 2)))
    assert found["direction"] == "holds" and found["ratio"] == pytest.approx(0.5)
    assert judged("deepest-insertion-slower", depths((3, 2, 4)))["direction"] == "does not hold"


def test_a_depth_that_a_tree_does_not_have_is_no_rival_of_the_deepest_it_has():
    # With 2^17 tuples the deepest is the second; the third behaves like the second.
    found = judged("deepest-insertion-slower", depths((3, 4, 4), 1 << 17))
    assert found["direction"] == "does not hold" and found["ratio"] == pytest.approx(4 / 3)
    found = judged("deepest-insertion-slower", depths((3, 2, 2), 1 << 17))
    assert found["direction"] == "holds" and found["ratio"] == pytest.approx(2 / 3)
    # With 2^12 it is the first, and there is nothing to compare.
    assert judged("deepest-insertion-slower", depths((3, 2, 1), 1 << 12))["missing"]


def test_a_variant_of_one_figure_is_held_against_a_rival_of_another():
    def rows(pim: float) -> list[dict]:
        both = over_ratios("9c", "pim-tree", 1 << 12, (pim, pim, pim))
        return both + over_ratios("9b", "im-tree", 1 << 12, (1, 1, 1))

    found = judged("pim-tree-over-im-tree-by-merge-ratio", rows(1.5))
    assert found["direction"] == "holds" and len(found["parts"]) == 3
    found = judged("pim-tree-over-im-tree-by-merge-ratio", rows(0.5))
    assert found["direction"] == "does not hold"


def test_how_far_a_curve_spreads_is_compared_between_the_ends_of_what_is_beside():
    def rows(small: tuple, large: tuple) -> list[dict]:
        return over_ratios("9b", "im-tree", 1 << 12, small) + over_ratios(
            "9b", "im-tree", 1 << 17, large
        )

    name = "merge-ratio-matters-to-small-windows"
    found = judged(name, rows((1, 4, 2), (1, 1.5, 1)))
    assert found["direction"] == "holds" and found["ratio"] == pytest.approx(4 / 1.5)
    assert judged(name, rows((1, 1.5, 1), (1, 4, 2)))["direction"] == "does not hold"
    # The curve of one window alone cannot be compared.
    assert judged(name, over_ratios("9b", "im-tree", 1 << 12, (1, 4, 2)))["missing"]


def test_gains_are_compared_between_the_places_that_both_have():
    def rows(loop: float) -> list[dict]:
        found = []
        for window, value in ((1 << 12, 4.0), (1 << 14, 4.0 * loop)):
            at = {"window": window}
            found += rows_at("8a", "nested-loop-scalar", at, throughput=1e6 * value)
            found += rows_at("8a", "b-plus-tree", at, throughput=5e6)
        # Only the tree was measured here.
        return found + rows_at("8a", "b-plus-tree", {"window": 1 << 17}, throughput=1e6)

    found = judged("nested-loop-more-vulnerable", rows(0.25))
    assert found["direction"] == "holds" and found["ratio"] == pytest.approx(0.25)
    assert judged("nested-loop-more-vulnerable", rows(1.5))["direction"] == "does not hold"


def test_a_line_that_x_means_nothing_to_stands_at_each_of_its_places():
    figure = DECLARED["8b"]
    rows = chains((4, 2, 3)) + rows_at("8b", "b-plus-tree", {"window": 1 << 17}, throughput=3e6)
    found = [point for point in gather(rows, figure) if point.variant == "b-plus-tree"]
    throughput = [point for point in found if point.quantity == "throughput_tps"]
    assert [point.settings["chain_length"] for point in throughput] == list(LENGTHS)
    assert {point.value for point in throughput} == {3e6}


def test_what_needs_something_that_is_not_built_cannot_be_told_and_says_so():
    # No statement of this paper waits any more; one that did would name the missing resource.
    waiting = replace(CLAIMS["chain-of-two-best"], needs="chips")
    published = replace(PUBLISHED, needs={"chips": "a processor that is not made yet"})
    points = points_of_paper(chains((4, 2, 3)), papers.paper(PAPER))
    found = claims.judge_claim(waiting, points, published, DECLARED.values())
    assert found["direction"] == "not measured here"
    assert found["reason"] == "Not measured here: it needs a processor that is not made yet."


def drifts(*idle: float) -> list[dict]:
    """Return rows of figure 13b from the slowest drift to the fastest, with these idle shares."""
    rows = []
    for drift, share in zip((0.0, 0.4, 1.0), idle, strict=True):
        at = {"window": 1 << 16, "sigma": 0.0125, "drift": drift}
        rows += rows_at("13b", "pim-tree:merge_ratio=1", at, idle_share=share)
    return rows


def test_a_share_of_nothing_is_a_value_and_has_no_ratio(monkeypatch):
    points = points_of_paper(drifts(0.0, 0.1, 0.7), papers.paper(PAPER))
    shares = [point.value for point in points if point.quantity == "idle_share"]
    assert shares == pytest.approx([0.0, 0.1, 0.7])
    shown = judged("idle-subindexes", drifts(0.0, 0.1, 0.0))
    assert shown["size"]["here"] == 0.0
    rising = replace(CLAIMS["inserts-more-skewed"], quantity="idle_share")
    monkeypatch.setitem(CLAIMS, "rising", rising)
    found = judged("rising", drifts(0.0, 0.1, 0.7))
    assert found["direction"] == "cannot tell" and "a value of 0 has no ratio" in found["reason"]
    assert judged("rising", drifts(0.1, 0.1, 0.7))["direction"] == "holds"
