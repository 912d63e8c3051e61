"""The paper's published values: in the figures that name them, and distinct from measurements."""

from __future__ import annotations

import io

import pandas as pd
import pytest

from experiments import papers
from experiments.judging.published import claim_of, read_published
from figures import draw, marks, stated, style
from figures.cells import having, parted
from figures.files import form_name
from figures.view import View
from operators.contract import UsageError
from tests import invented_scalejoin as scalejoin
from tests.figures.drawn import dots, lines_of, results_of, table_of, texts
from tests.invented import DECLARED, PAPER, points_over

# The modules of forms that can draw published values.
FORMS = {"curves", "side_by_side", "over_time"}


@pytest.fixture
def drawing(tmp_path):
    """Return figure 7 with both lines measured at three numbers of inputs."""
    rows = [
        row
        for line in DECLARED["7"].lines
        for row in points_over("7", line, {x: (9e6, 0.2) for x in (1, 4, 20)}, 1)
    ]
    return draw.draw(PAPER, "7", results_of(tmp_path, rows))


def test_every_value_that_is_to_be_drawn_stands_in_a_form_that_can_draw_it():
    found = [(paper, claim) for paper in papers.paper_names()
             for claim in read_published(paper).claims if claim.drawn]  # fmt: skip
    assert len(found) >= 17
    for paper, claim in found:
        for figure_id in claim.figures:
            figure = papers.figure(paper, figure_id)
            assert claim.quantity in figure.quantities, claim.id
            assert form_name(figure).rpartition(".")[2] in FORMS, claim.id
            assert set(claim.reads.variants) <= set(figure.lines), claim.id


def test_a_value_stands_at_its_place_in_its_line_and_says_whose_it_is(drawing):
    _, own = stated.apart(drawing.table)
    found = {(row.panel, row.line, row.x): row.value for row in own.itertuples()}
    assert found == {
        ("throughput_tps", "t-gate", 20): 2.2e6,
        ("throughput_tps", "skip-list", 20): 1.5e6,
        ("latency_ms_mean", "t-gate", 20): 1.0,
        ("latency_ms_mean", "skip-list", 20): 1.6,
    }
    again = pd.read_csv(io.BytesIO(drawing.bytes_of("csv")), comment="#")
    published = again[again["state"] == "published"]
    assert len(published) == 4 and set(published["n"]) == {0}
    assert set(published["spread"]) == {"the paper's own value"}
    assert not having(parted(stated.apart(drawing.table)[0])[0], "published").any()


def test_it_is_hollow_larger_and_joined_to_nothing(drawing):
    axes = drawing.figure.axes[0]
    hollow = [dot for dot in dots(axes) if dot.get_markersize() == marks.STATED_SIZE]
    assert sorted(float(dot.get_ydata()[0]) for dot in hollow) == [1.5, 2.2]
    assert {dot.get_markerfacecolor() for dot in hollow} == {"none"}
    assert marks.STATED_SIZE > 1.5 * style.MARKER_SIZE
    # The lines end at the measurement for 20 inputs.
    assert {line.get_ydata()[-1] for line in lines_of(axes)} == {9.0}
    assert texts(drawing.figure).count("the paper's own value") == 1


def test_without_a_measured_line_and_in_the_extended_form_there_is_none(tmp_path):
    results = results_of(tmp_path, points_over("7", "t-gate", {1: (9e6, 0.2)}, 1))
    _, own = stated.apart(draw.draw(PAPER, "7", results).table)
    assert set(own["line"]) == {"t-gate"}
    view = View(DECLARED["7"], extended=True)
    table = table_of(results, "7", extended=True)
    assert stated.with_stated(table, view) is table


def test_a_value_of_one_window_is_that_of_its_line_and_a_level_goes_through_all_places(tmp_path):
    rows = [row for window in (300, 600) for threads in (1, 2)
            for row in scalejoin.rows_at("5b", "scale-join", {"threads": threads,
            "window_s": window})]  # fmt: skip
    figure = papers.figure("scalejoin", "5b")
    view, results = View(figure), results_of(tmp_path, rows)
    _, own = stated.apart(stated.with_stated(table_of(results, figure), view))
    assert {(row.line, row.x): row.value for row in own.itertuples()} == {
        ("300 s windows", 48): 5_100,
        ("600 s windows", 48): 3_500,
    }


def test_what_has_no_value_of_its_own_cannot_be_drawn():
    told = {"id": "a", "quote": "q", "section": "1", "figures": ["7"], "kind": "result",
            "quantity": "throughput_tps", "comparator": "absolute", "drawn": "point",
            "reads": {"variants": ["t-gate"], "at": {"sources": 20}}}  # fmt: skip
    assert claim_of(PAPER, {**told, "unit": "t/s", "value": 2e6}).drawn == "point"
    with pytest.raises(UsageError, match="drawn needs a value in the quantity's own unit"):
        claim_of(PAPER, {**told, "unit": "times", "value": 1.5})
