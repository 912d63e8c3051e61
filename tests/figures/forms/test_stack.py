"""Stacked shares: a bar a line, a part a quantity, a block of bars for each other value."""

from __future__ import annotations

import pytest

from experiments import papers
from figures.cells import Cell, frame, having
from figures.forms.stack import SHADES
from tests import invented_pim_tree as pim_tree
from tests.figures.drawn import picture_of, results_of, table_of
from tests.invented_ordered import DECLARED, rows_at

FIGURE = DECLARED["8x"]
TIMES = {"q1": (0.1, 0.2, 0.3, 0.4), "q3": (0.5, 0.25, 0.25)}


@pytest.fixture(name="picture")
def picture_of_two_queries(tmp_path):
    given = []
    for query, seconds in TIMES.items():
        spent = {f"{place} operator": value for place, value in enumerate(seconds, 1)}
        for line in FIGURE.lines:
            given += rows_at("8x", line, {"query": query}, operator_seconds=spent)
    return picture_of(table_of(results_of(tmp_path, given), FIGURE), FIGURE)


def test_a_bar_has_the_share_of_each_operator(picture):
    assert [axes.get_title() for axes in picture.axes] == ["query q1", "query q3"]
    for axes, seconds in zip(picture.axes, TIMES.values(), strict=True):
        bars = axes.patches
        assert len(bars) == len(seconds) * len(FIGURE.lines)
        first = [bar for bar in bars if round(bar.get_x() + bar.get_width() / 2) == 0]
        assert [bar.get_height() for bar in first] == pytest.approx(list(seconds), rel=1e-4)
        assert first[-1].get_y() + first[-1].get_height() == pytest.approx(1.0)


def test_the_best_of_a_part_means_nothing_and_no_part_is_tied(tmp_path):
    steps = pim_tree.DECLARED["10a"]
    (at, *_) = pim_tree.places_of(steps)
    given = [row for line in steps.lines for row in pim_tree.rows_at(steps, line, at)]
    # Equal runs that differ so much that nothing could be told from the best.
    far = [{**row, "phase": "equal", "throughput_tps": 9 * row["throughput_tps"]}
           for row in given if row["phase"] == "closed"]  # fmt: skip
    table = table_of(results_of(tmp_path, given + far), steps)
    assert table["value"].notna().any() and not having(table, "tied").any()


def test_parts_are_numbered_and_named_in_the_key(picture):
    (axes, _) = picture.axes
    assert {text.get_text() for text in axes.texts} == {"1", "2", "3", "4"}
    named = [text.get_text() for legend in picture.legends for text in legend.get_texts()]
    assert named == ["Operator 1", "Operator 2", "Operator 3", "Operator 4"]


def test_the_unit_of_parts_is_on_the_axis_alone_and_a_power_of_two_above_them():
    figure = {each.id: each for each in papers.paper("pim_tree").figures}["11c"]
    given = {"paper": "pim_tree", "figure": "11c", "subject": "1,048,576 tuples", "x": 0, "n": 1,
             "value": 8.0, "unit": "B"}  # fmt: skip
    cells = [Cell(**given, panel=name, variant=line, line=line)
             for line in figure.lines for name in figure.quantities]  # fmt: skip
    picture = picture_of(frame(cells), figure)
    named = [text.get_text() for legend in picture.legends for text in legend.get_texts()]
    assert named == ["Search tree", "Insert tree, B+-Tree", "Merge buffer", "Windows"]
    (axes,) = picture.axes
    assert (axes.get_ylabel(), axes.get_title()) == ("Bytes a tuple", "2²⁰ tuples")
    inside = [text.get_text() for text in axes.texts]
    assert set(inside) == {"search", "insert", "buffer", "window"}


def test_neighbouring_parts_differ_in_grey():
    grey = [sum(int(shade[n : n + 2], 16) for n in (1, 3, 5)) for shade in SHADES]
    assert grey == sorted(grey)
    assert all(other - one >= 12 for one, other in zip(grey, grey[1:], strict=False))


@pytest.mark.parametrize(("tried", "told"), [(False, "not measured"), (True, "no valid run")])
def test_a_bar_that_is_missing_was_not_measured_or_had_no_valid_run(tmp_path, tried, told):
    steps = pim_tree.DECLARED["10a"]
    first, *others = pim_tree.places_of(steps)
    *most, last = steps.lines

    def rows_of(lines, places):
        return [row for line in lines for at in places for row in pim_tree.rows_at(steps, line, at)]

    given = rows_of(most, (first, *others)) + rows_of([last], [first])
    if tried:
        lost = {"valid": False, "invalid_reason": "made up"}
        given += [{**row, **lost} for row in rows_of([last], others)]
    table = table_of(results_of(tmp_path, given), steps)
    picture = picture_of(table, steps)
    missing = [
        {text.get_text() for text in axes.texts} & {"not measured", "no valid run"}
        for axes in picture.axes
    ]
    assert missing == [set(), *({told} for _ in others)]
