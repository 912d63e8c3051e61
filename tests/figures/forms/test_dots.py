"""Labelled dots: a column a line, a panel a unit."""

from __future__ import annotations

import pytest
from matplotlib.colors import to_hex

from experiments.families.aggregation.columns import INPUT, OUTPUT
from figures import draw as drawing
from figures import style
from figures.forms import dots as form
from tests.figures.drawn import (
    color_of,
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
from tests.invented import equal_runs, points_of_durations, row, write_raw
from tests.second_paper import SECOND, THROUGHPUT, at_twenty, join, second

SHOWN = (INPUT, OUTPUT, THROUGHPUT)
LINES = ("mq", "mqlf", "tumlsc")
# Settings of the first paper's figure 8, whose rows are shared.
SETTINGS = {"query": "K-OS", "inputs": 20}
FIGURE = at_twenty(
    "8a", "dots", lines=LINES, settings=SETTINGS, quantities=SHOWN, extended_quantities=SHOWN
)
DURATIONS = {"mq": (400.0, 5000.0), "mqlf": (200.0, 2500.0), "tumlsc": (800.0, 1100.0)}


def rows_of(*lines, repetitions=3, **given):
    return [
        each
        for line in lines
        for each in points_of_durations("8", line, DURATIONS[line], repetitions, **given)
    ]


def drawn(folder, rows, extended=False):
    table = table_of(results_of(folder, rows), FIGURE, extended)
    return table, picture_of(table, FIGURE, extended)


def test_each_quantity_of_a_line_is_a_row_with_its_interval(tmp_path):
    table, _ = drawn(tmp_path, rows_of(*LINES))
    assert len(table) == len(SHOWN) * len(LINES)
    assert set(table["x"]) == {0} and set(table["n"]) == {3}
    assert dict(zip(table["panel"], table["unit"], strict=True)) == {
        INPUT: "ns",
        OUTPUT: "ns",
        THROUGHPUT: "t/s",
    }
    one = table.set_index(["panel", "line"]).loc[(OUTPUT, "mq")]
    assert one["low"] < one["value"] < one["high"]
    assert one["value"] == pytest.approx(5050.0, rel=1e-4)


def test_quantities_of_one_unit_share_a_panel_and_each_has_a_dot_in_each_column(tmp_path):
    table, picture = drawn(tmp_path, rows_of(*LINES))
    durations, rates = picture.axes
    colors = [style.look_of("aggregation", line).color for line in LINES]
    assert [color_of(dot) for dot in dots(durations)] == [c for c in colors for _ in range(2)]
    assert [color_of(dot) for dot in dots(rates)] == colors
    assert [dot.get_xdata()[0] for dot in dots(durations)] == pytest.approx(
        [-0.2, 0.2, 0.8, 1.2, 1.8, 2.2]
    )
    assert [dot.get_xdata()[0] for dot in dots(rates)] == [0, 1, 2]
    values = table[table["panel"] == THROUGHPUT]["value"] / 1e3
    assert [dot.get_ydata()[0] for dot in dots(rates)] == pytest.approx(values.tolist())
    words = sorted((text.xy[0], text.get_text()) for text in durations.texts)
    assert [word for _, word in words] == ["in", "out"] * 3
    assert labels(rates) == ["MQ", "MQLF", "TuMLSC"]
    # A rate from zero, a time on a logarithmic axis: there are no bars.
    assert (durations.get_yscale(), rates.get_yscale()) == ("log", "linear")
    assert rates.get_ylim()[0] == 0 and not durations.patches
    assert [axes.get_ylabel().replace("\n", " ") for axes in picture.axes] == [
        "Processor time (ns a tuple)",
        "Closed-loop throughput (thousand tuples/s)",
    ]


def test_a_spread_is_drawn_where_there_is_one(tmp_path):
    _, picture = drawn(tmp_path, rows_of(*LINES))
    assert "range of 3; ticks are values" in texts(picture)
    assert [len(axes.collections) for axes in picture.axes] == [6, 3]
    _, picture = drawn(tmp_path / "once", rows_of(*LINES, repetitions=1))
    assert not any("range of" in text for text in texts(picture))
    assert all(not c.get_segments() for axes in picture.axes for c in axes.collections)


def test_states_are_in_the_marker_the_background_and_the_footer(tmp_path):
    rows = rows_of("mq", cores=2, noisy=True) + rows_of("tumlsc", steady=False)
    rows += rows_of("mqlf")
    table, picture = drawn(tmp_path, rows)
    states = table.set_index(["panel", "line"])["states"]
    assert states[OUTPUT, "mq"] == ("oversubscribed", "noisy")
    assert states[THROUGHPUT, "tumlsc"] == ("unsteady",)
    assert "pale (of 9): 3 noisy, 3 not steady" in footer_of(picture)
    assert [is_pale(dot) for dot in dots(picture.axes[1])] == [True, False, True]
    assert [to_hex(each.get_facecolor()) for each in picture.axes[1].patches] == [style.CROWDED]


def test_a_rate_that_cannot_be_told_from_the_best_one_is_tied(tmp_path):
    rows = [
        row("8", line, throughput_tps=tps)
        for line, tps in (("mq", 1e6), ("mqlf", 1.05e6), ("tumlsc", 2e5))
    ]
    rows += equal_runs(1.1)
    table, picture = drawn(tmp_path, rows)
    assert table.set_index("line")["states"].to_dict() == {
        "mq": ("tied",),
        "mqlf": (),
        "tumlsc": (),
    }
    # No mark shows the tied dots, so nothing counts them.
    assert "best" not in footer_of(picture)


def test_a_failed_line_keeps_its_column_with_a_red_cross(tmp_path):
    _, picture = drawn(tmp_path, [*rows_of("mq", "tumlsc"), failed("8", "mqlf")])
    assert labels(picture.axes[1]) == ["MQ", "MQLF", "TuMLSC"]
    assert [cross.get_xdata()[0] for cross in crosses(picture.axes[1])] == [1]


def test_a_line_without_points_is_named_and_leaves_no_column(tmp_path):
    _, picture = drawn(tmp_path, rows_of("mq", "tumlsc"))
    assert "not measured: MQLF" in footer_of(picture)
    assert labels(picture.axes[1]) == ["MQ", "TuMLSC"]
    assert picture.axes[1].get_xlim() == (-0.5, 1.5)


def test_a_panel_without_a_valid_run_says_so_and_the_other_is_drawn(tmp_path):
    rows = [each for each in rows_of(*LINES) if each["phase"] == "closed"]
    _, picture = drawn(tmp_path, rows)
    assert [[text.get_text() for text in axes.texts] for axes in picture.axes] == [
        ["no valid run"],
        [],
    ]


def test_many_lines_are_rows(tmp_path):
    own = ("mq-cached", "mqlf-rings", "mqlf-loser-tree", "tumlsc-batch")
    many = at_twenty("8a", "dots", lines=(*LINES, *own), settings=SETTINGS)
    assert len(many.lines) > form.MOST_COLUMNS
    rows = [row(many, line) for line in many.lines]
    table = table_of(results_of(tmp_path, rows), many)
    picture = picture_of(table, many)
    assert {"MQ", "MQLF, rings"} < set(texts(picture))
    assert len(picture.axes[0].get_yticklabels()) == len(many.lines)


def test_it_is_drawn_by_its_declaration_into_equal_bytes(tmp_path, monkeypatch):
    join(monkeypatch, tmp_path, second(FIGURE))
    files = write_raw(tmp_path / "raw", rows_of(*LINES))
    one, two = (drawing.draw(SECOND, "8a", files) for _ in range(2))
    assert one.bytes_of("svg") == two.bytes_of("svg")
    assert one.figure.get_size_inches()[0] == style.NARROW
