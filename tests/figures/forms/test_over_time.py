"""Curves over the time of one run: a panel a quantity, a line a stream where there are several."""

from __future__ import annotations

import numpy as np
import pytest

from figures import draw as drawing
from figures import load, style
from figures.view import View
from tests.figures.drawn import footer_of, picture_of, results_of, table_of, texts
from tests.invented_scalejoin import DECLARED, PAPER, PARTS, rows_at

FIGURE = DECLARED["8a"]


@pytest.fixture(name="table")
def table_of_one_run(tmp_path):
    given = rows_at("8a", "scale-join", {}, latency_ms=2.0, cores=2)
    later = rows_at("8a", "scale-join", {}, latency_ms=9.0, cores=2)
    # The run of another process, which is not drawn.
    given += [{**row, "repetition": 2} for row in later]
    return table_of(results_of(tmp_path, given), FIGURE)


def test_the_table_has_every_part_of_the_first_run(table):
    assert len(table) == PARTS * (3 + 1 + 1)
    rates = table[(table["panel"] == "over_time_rates") & (table["line"] == "S 1")]
    assert rates["x"].tolist() == [0.5 + part for part in range(PARTS)]
    assert rates["value"].tolist() == pytest.approx([8.0 * (100 + p) for p in range(PARTS)])
    deviation = table[table["panel"] == "over_time_deviation"]["value"]
    assert deviation.tolist() == pytest.approx([0.1 + 0.02 * part for part in range(PARTS)])


def test_the_footer_says_that_it_is_one_run_however_many_there_are(tmp_path):
    given = [{**row, "repetition": process} for process in (1, 2)
             for row in rows_at("8a", "scale-join", {}, latency_ms=2.0)]  # fmt: skip
    results = results_of(tmp_path, given)
    assert "n = 2 processes" in load.footer_of(results, View(FIGURE), None)
    told = footer_of(drawing.draw(PAPER, "8a", results).figure)
    assert "n = 1 run" in told and "processes" not in told


def test_streams_are_told_apart_by_colour_and_dash(table):
    picture = picture_of(table, FIGURE)
    rates, mean, deviation = picture.axes
    assert [len(axes.lines) for axes in picture.axes] == [3, 1, 1]
    looks = {(line.get_color(), str(line.get_linestyle())) for line in rates.lines}
    assert len(looks) == 3
    assert {"R 0", "S 0", "S 1"} <= set(texts(picture))
    low, high = deviation.get_ylim()
    assert low == 0 and high > 0.2
    assert np.allclose(mean.lines[0].get_ydata()[0], 2 * 5e7 / 10 / 1e6)


def test_more_threads_than_cores_are_grey_and_said(table):
    picture = picture_of(table, FIGURE)
    assert "grey: more threads than cores" in footer_of(picture)
    oversubscribed = tuple(int(style.CROWDED[n : n + 2], 16) / 255 for n in (1, 3, 5))
    assert all(axes.get_facecolor()[:3] == pytest.approx(oversubscribed) for axes in picture.axes)


def test_without_a_valid_run_it_says_so(table):
    picture = picture_of(table.iloc[:0], FIGURE)
    assert texts(picture).count("no valid run") == 3
