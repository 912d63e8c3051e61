"""Bars from zero: a bar a line, a panel a quantity, states in the marker on top."""

from __future__ import annotations

import pytest
from matplotlib.colors import to_hex

from figures import draw as drawing
from figures import style
from figures.cells import having
from tests.figures.drawn import (
    carets,
    crosses,
    dots,
    failed,
    footer_of,
    is_pale,
    labels,
    picture_of,
    results_of,
    table_of,
    texts,
)
from tests.invented import equal_runs, points_at, row, write_raw
from tests.second_paper import MEAN, SECOND, THROUGHPUT, at_twenty, join, second

LINES = ("mq", "mqlf", "tumlsc")
FIGURE = at_twenty("8a", "bars", lines=LINES)


def rows_of(values, repetitions=3, **given):
    return [
        each
        for line, (throughput, latency) in values.items()
        for each in points_at(FIGURE, line, None, throughput, {0.7: latency}, repetitions, **given)
    ]


VALUES = {"mq": (1e6, 8.0), "mqlf": (2e6, 6.0), "tumlsc": (3e6, 4.0)}


def drawn(folder, rows, extended=False):
    table = table_of(results_of(folder, rows), FIGURE, extended)
    return table, picture_of(table, FIGURE, extended)


def heights(axes):
    return [bar.get_height() for bar in bars_of(axes)]


def bars_of(axes):
    return [bar for container in axes.containers for bar in container]


def test_each_line_has_a_bar_from_zero_in_its_colour(tmp_path):
    table, picture = drawn(tmp_path, rows_of(VALUES))
    rates, latencies = picture.axes
    assert heights(rates) == pytest.approx([1.01, 2.02, 3.03], rel=1e-4)
    assert heights(latencies) == pytest.approx([8.08, 6.06, 4.04], rel=1e-4)
    for axes in picture.axes:
        assert {bar.get_y() for bar in bars_of(axes)} == {0.0}
        assert axes.get_ylim()[0] == 0.0 and axes.get_yscale() == "linear"
        assert axes.get_ylim()[1] > max(heights(axes))
        colors = [to_hex(bar.get_facecolor()).upper() for bar in bars_of(axes)]
        assert colors == [style.look_of("aggregation", line).color for line in LINES]
        middles = [bar.get_x() + bar.get_width() / 2 for bar in bars_of(axes)]
        assert middles == pytest.approx([0, 1, 2])
    assert rates.get_ylabel().replace("\n", " ") == "Closed-loop throughput (million tuples/s)"
    assert latencies.get_ylabel() == "Mean latency (ms)"
    assert labels(latencies) == ["MQ", "MQLF", "TuMLSC"]
    assert set(table["panel"]) == {THROUGHPUT, MEAN}


def test_a_spread_stands_on_a_bar_where_there_is_one(tmp_path):
    table, picture = drawn(tmp_path, rows_of(VALUES))
    assert "range of 3; ticks are values" in texts(picture)
    low, high = table[table["panel"] == THROUGHPUT][["low", "high"]].iloc[0] / 1e6
    segment = picture.axes[0].collections[0].get_segments()[0]
    assert sorted(segment[:, 1]) == pytest.approx([low, high])
    assert picture.axes[0].get_ylim()[1] > table["high"].max() / 1e6
    table, picture = drawn(tmp_path / "once", rows_of(VALUES, repetitions=1))
    assert table["low"].isna().all() and not any("range of" in text for text in texts(picture))


def test_states_are_in_the_marker_the_background_and_the_footer(tmp_path):
    rows = rows_of({"mq": VALUES["mq"]}, cores=2, noisy=True)
    rows += rows_of({"tumlsc": VALUES["tumlsc"]})
    table, picture = drawn(tmp_path, rows)
    states = table.set_index(["panel", "line"])["states"]
    assert states[THROUGHPUT, "mq"] == ("oversubscribed", "noisy")
    assert states[THROUGHPUT, "tumlsc"] == ()
    assert "grey: more threads than cores" in footer_of(picture)
    # The bar is as filled as any; the marker on it is pale.
    assert [is_pale(dot) for dot in dots(picture.axes[0])] == [True, False]


def test_a_saturated_or_failed_line_has_no_bar(tmp_path):
    rows = rows_of({"tumlsc": VALUES["tumlsc"]}, 1) + [failed(FIGURE, "mqlf")]
    rows += [{**each, "saturated": True} for each in rows_of({"mq": (1e6, 9e5)}, 1)]
    _, picture = drawn(tmp_path, rows)
    rates, latencies = picture.axes
    assert heights(rates) == [1.0, 3.0] and heights(latencies) == [4.0]
    assert [caret.get_xdata()[0] for caret in carets(latencies)] == [0]
    assert [[cross.get_xdata()[0] for cross in crosses(axes)] for axes in picture.axes] == [[1]] * 2


def test_a_rate_that_cannot_be_told_from_the_best_one_is_tied(tmp_path):
    rows = rows_of({"mq": (1e6, 8.0), "mqlf": (1.05e6, 6.0), "tumlsc": (3e5, 4.0)}, 1)
    table, picture = drawn(tmp_path, [*rows, *equal_runs(1.1)])
    tied = table[having(table, "tied")]
    assert set(zip(tied["panel"], tied["line"], strict=True)) == {(THROUGHPUT, "mq")}
    assert "best" not in footer_of(picture)


def test_a_line_without_points_is_named_and_leaves_no_bar(tmp_path):
    _, picture = drawn(tmp_path, rows_of({line: VALUES[line] for line in ("mq", "tumlsc")}))
    assert "not measured: MQLF" in footer_of(picture)
    assert [len(bars_of(axes)) for axes in picture.axes] == [2, 2]
    assert labels(picture.axes[-1]) == ["MQ", "TuMLSC"]


def test_a_line_with_one_quantity_has_a_bar_in_one_panel(tmp_path):
    rows = rows_of({"mq": VALUES["mq"]}) + [row(FIGURE, "tumlsc", throughput_tps=2e6)]
    _, picture = drawn(tmp_path, rows)
    assert [len(bars_of(axes)) for axes in picture.axes] == [2, 1]


def test_a_panel_without_a_valid_run_says_so(tmp_path):
    _, picture = drawn(tmp_path, [row(FIGURE, "mq", throughput_tps=2e6)])
    assert [[text.get_text() for text in axes.texts] for axes in picture.axes] == [
        [],
        ["no valid run"],
    ]


def test_the_latency_is_that_at_the_usual_rate_whatever_else_was_offered(tmp_path):
    rows = points_at(FIGURE, "mq", None, 1e6, {0.3: 2.0, 0.7: 5.0, 1.1: 90.0}, repetitions=1)
    table, picture = drawn(tmp_path, rows)
    assert table[table["panel"] == MEAN]["value"].tolist() == [5.0]
    assert heights(picture.axes[1]) == [5.0]


def test_it_is_drawn_by_its_declaration_into_equal_bytes(tmp_path, monkeypatch):
    join(monkeypatch, tmp_path, second(FIGURE))
    files = write_raw(tmp_path / "raw", rows_of(VALUES))
    one, two = (drawing.draw(SECOND, "8a", files) for _ in range(2))
    assert one.bytes_of("svg") == two.bytes_of("svg")
    assert one.figure.get_size_inches()[0] == style.NARROW
