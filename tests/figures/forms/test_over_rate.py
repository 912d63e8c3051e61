"""Latency over the offered rate, with the maxima as upright lines."""

from __future__ import annotations

import pytest

from figures import draw as drawing
from figures import load, style
from tests.figures.drawn import (
    carets,
    color_of,
    crosses,
    lines_of,
    picture_of,
    results_of,
    table_of,
    texts,
)
from tests.invented import PAPER, equal_runs, open_row, points_by_rate, write_raw


def three():
    return [
        each
        for variant, maximum in (("mq", 2e5), ("mqlf", 1.9e5), ("tumlsc", 1e5))
        for each in points_by_rate(variant, maximum, {0.3: 12.0, 0.7: 6.0}, repetitions=1)
    ]


def test_figure_9_is_drawn_over_the_offered_rate_with_its_maxima(tmp_path):
    rows = points_by_rate("mq", 2e5, {0.3: 12.0, 0.7: 6.0, 1.1: 400.0}, repetitions=1)
    table = table_of(results_of(tmp_path, rows), "9")
    latency = table[table["panel"] == "latency_ms_mean"]
    assert latency["x"].tolist() == pytest.approx([0.6e5, 1.4e5, 2.2e5])
    assert latency["states"].tolist() == [(), (), ("saturated",)]
    maximum = table[table["panel"] == "throughput_tps"]
    assert maximum["x"].tolist() == maximum["value"].tolist() == [2e5]
    (axes,) = picture_of(table, "9").axes
    assert axes.get_xscale() == axes.get_yscale() == "log"
    # The saturated point is at the edge, neither joined nor on the axis' scale.
    assert [list(line.get_xdata()) for line in lines_of(axes)] == [pytest.approx([60.0, 140.0])]
    assert [caret.get_xdata()[0] for caret in carets(axes)] == pytest.approx([220.0])
    assert axes.get_ylim()[1] < 100


def test_a_rate_that_failed_is_a_cross_and_a_gap(tmp_path):
    rows = points_by_rate("mq", 2e5, {0.1: 20.0, 0.3: 12.0, 0.9: 6.0}, repetitions=1)
    wrong = {"valid": False, "invalid_reason": "late", "throughput_tps": None}
    rows.append(open_row("9", "mq", None, 1.0, rate_fraction=0.7, offered_tps=1.4e5, **wrong))
    (axes,) = picture_of(table_of(results_of(tmp_path, rows), "9"), "9").axes
    assert [len(line.get_xdata()) for line in lines_of(axes)] == [2, 1]
    assert [cross.get_xdata()[0] for cross in crosses(axes)] == pytest.approx([140.0])


def test_maxima_that_are_tied_are_grey_lines_over_the_rate(tmp_path):
    rows = three()
    rows += equal_runs(1.1)
    files = write_raw(tmp_path, rows)
    maxima = table_of(load.read(files), "9").query("panel == 'throughput_tps'")
    assert maxima["states"].tolist() == [(), ("tied",), ()]
    drawn = drawing.draw(PAPER, "9", files).figure
    assert {"closed-loop throughput", "the same, within noise of the highest"} < set(texts(drawn))
    upright = [line for line in drawn.axes[0].lines if len(set(line.get_xdata())) == 1]
    colors = [color_of(line) for line in upright if len(line.get_xdata()) == 2]
    assert colors == [style.VERMILLION, style.GREY.upper(), style.BLUE]


def test_each_maximum_bears_its_name_and_none_covers_another(tmp_path):
    picture = picture_of(table_of(results_of(tmp_path, three()), "9"), "9")
    picture.draw_without_rendering()
    named = {text.get_text(): text.get_window_extent() for text in picture.axes[0].texts}
    assert list(named) == ["TuMLSC", "MQLF", "MQ"]
    ends = [(box.x0, box.x1) for box in named.values()]
    assert all(one[1] < other[0] for one, other in zip(ends, ends[1:], strict=False))


def test_rates_that_figure_14_measured_too_are_points_of_figure_9(tmp_path):
    rows = points_by_rate("mq", 2e5, {0.7: 6.0}, repetitions=1, figure="9")
    shared = points_by_rate("mq", 2e5, {0.3: 12.0}, repetitions=1, figure="9")
    table = table_of(results_of(tmp_path, rows + shared), "9")
    assert table[table["panel"] == "latency_ms_mean"]["value"].tolist() == [12.0, 6.0]


def test_the_extended_form_has_the_percentiles(tmp_path):
    rows = points_by_rate("mq", 2e5, {0.3: 10.0, 0.7: 5.0}, repetitions=1)
    rows = [each if each["phase"] == "closed" else {**each, "latency_samples": 1_000}
            for each in rows]  # fmt: skip
    table = table_of(results_of(tmp_path, rows), "9", extended=True)
    told = {panel: own["value"].tolist() for panel, own in table.groupby("panel")}
    assert told == {
        "throughput_tps": [2e5],
        "latency_ms_p50": pytest.approx([8.0, 4.0]),
        "latency_ms_p99": pytest.approx([30.0, 15.0]),
    }
