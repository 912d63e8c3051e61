"""Latency over the offered rate, with the maxima as upright lines."""

from __future__ import annotations

import pytest

from figures import draw as drawing
from figures import load, style
from tests.figures.drawn import color_of, results_of, table_of, texts
from tests.invented import PAPER, points_by_rate, row, write_raw


def test_figure_9_is_drawn_over_the_offered_rate_with_its_maxima(tmp_path):
    rows = points_by_rate("mq", 2e5, {0.3: 12.0, 0.7: 6.0, 1.1: 400.0}, repetitions=1)
    table = table_of(results_of(tmp_path, rows), "9")
    latency = table[table["panel"] == "latency_ms_mean"]
    assert latency["x"].tolist() == pytest.approx([0.6e5, 1.4e5, 2.2e5])
    assert latency["state"].tolist() == ["", "", "saturated"]
    maximum = table[table["panel"] == "throughput_tps"]
    assert maximum["x"].tolist() == maximum["value"].tolist() == [2e5]


def test_maxima_that_are_tied_are_grey_lines_over_the_rate(tmp_path):
    rows = [
        r
        for variant, maximum in (("mq", 2e5), ("mqlf", 1.9e5), ("tumlsc", 1e5))
        for r in points_by_rate(variant, maximum, {0.3: 12.0, 0.7: 6.0}, repetitions=1)
    ]
    rows.append(row("9", "mq", throughput_tps=1.8e5, phase="control"))
    files = write_raw(tmp_path, rows)
    maxima = table_of(load.read(files), "9").query("panel == 'throughput_tps'")
    assert maxima["state"].tolist() == ["tied", "tied", ""]
    drawn = drawing.draw(PAPER, "9", files).figure
    assert {"maximum throughput", "maxima that are tied"} < set(texts(drawn))
    upright = [line for line in drawn.axes[0].lines if len(set(line.get_xdata())) == 1]
    colors = [color_of(line) for line in upright if len(line.get_xdata()) == 2]
    assert colors == [style.GREY.upper(), style.GREY.upper(), style.BLUE]


def test_rates_that_figure_14_measured_too_are_points_of_figure_9(tmp_path):
    rows = points_by_rate("mq", 2e5, {0.7: 6.0}, repetitions=1, figure="9")
    shared = points_by_rate("mq", 2e5, {0.3: 12.0}, repetitions=1, figure="9")
    table = table_of(results_of(tmp_path, rows + shared), "9")
    assert table[table["panel"] == "latency_ms_mean"]["value"].tolist() == [12.0, 6.0]


def test_the_extended_form_has_the_percentiles(tmp_path):
    rows = points_by_rate("mq", 2e5, {0.3: 10.0, 0.7: 5.0}, repetitions=1)
    table = table_of(results_of(tmp_path, rows), "9", extended=True)
    told = {panel: own["value"].tolist() for panel, own in table.groupby("panel")}
    assert told == {
        "throughput_tps": [2e5],
        "latency_ms_p50": pytest.approx([8.0, 4.0]),
        "latency_ms_p99": pytest.approx([30.0, 15.0]),
    }
