"""Labelled dots: a column a line, a panel a unit."""

from __future__ import annotations

import pytest

from experiments.families.aggregation.columns import INPUT, OUTPUT
from figures import draw as drawing
from figures import style
from figures.forms import dots as form
from tests.figures.drawn import (
    color_of,
    dots,
    labels,
    picture_of,
    results_of,
    table_of,
    texts,
)
from tests.invented import points_of_durations, row, write_raw
from tests.second_paper import SECOND, THROUGHPUT, at_twenty, join, second

SHOWN = (INPUT, OUTPUT, THROUGHPUT)
LINES = ("mq", "mqlf", "tumlsc")
# Of the first paper's figure 8, whose rows it shares.
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
    table = table_of(results_of(folder, rows), FIGURE, extended, SECOND)
    return table, picture_of(table, FIGURE, extended, SECOND)


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
    assert one["value"] == pytest.approx(5050.0)


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
    assert labels(durations) == ["in", "out"] * 3
    assert labels(rates) == ["MQ", "MQLF", "TuMLSC"]
    # A rate from zero, a time on a logarithmic axis: there are no bars.
    assert (durations.get_yscale(), rates.get_yscale()) == ("log", "linear")
    assert rates.get_ylim()[0] == 0 and not durations.patches and not rates.patches
    assert (durations.get_ylabel(), rates.get_ylabel()) == (
        "Processor time (ns a tuple)",
        "Throughput (thousand t/s)",
    )


def test_an_interval_is_drawn_where_there_is_one(tmp_path):
    _, picture = drawn(tmp_path, rows_of(*LINES))
    assert "95 % interval" in texts(picture)
    assert [len(axes.collections) for axes in picture.axes] == [6, 3]
    _, picture = drawn(tmp_path / "once", rows_of(*LINES, repetitions=1))
    assert "95 % interval" not in texts(picture)
    assert all(not c.get_segments() for axes in picture.axes for c in axes.collections)


def test_states_are_at_the_dots_and_in_the_legend(tmp_path):
    rows = rows_of("mq", cores=2, noisy=True) + rows_of("tumlsc", steady=False)
    table, picture = drawn(tmp_path, rows)
    states = table.set_index(["panel", "line"])["state"]
    assert states[OUTPUT, "mq"] == "oversubscribed noisy"
    assert states[THROUGHPUT, "tumlsc"] == "unsteady"
    written = texts(picture)
    assert {style.STATE_TITLES[s] for s in ("oversubscribed", "noisy", "unsteady")} < set(written)
    assert style.STATE_TITLES["coarse"] not in written
    faces = [dot.get_markerfacecolor() for dot in dots(picture.axes[1])]
    assert "white" in faces and style.BLUE in faces
    assert len(dots(picture.axes[1], "x")) == 1 and len(dots(picture.axes[0], "x")) == 2


def test_rates_that_equal_runs_lie_as_far_apart_as_are_tied(tmp_path):
    rows = [
        row("8", line, throughput_tps=tps)
        for line, tps in (("mq", 1e6), ("mqlf", 1.05e6), ("tumlsc", 2e5))
    ]
    rows.append(row("8", "mq", throughput_tps=1.1e6, phase="control"))
    table, picture = drawn(tmp_path, rows)
    assert table.set_index("line")["state"].to_dict() == {
        "mq": "tied",
        "mqlf": "tied",
        "tumlsc": "",
    }
    assert len(dots(picture.axes[1], "$=$")) == 2


def test_a_line_without_points_is_named_and_leaves_no_column(tmp_path):
    _, picture = drawn(tmp_path, rows_of("mq", "tumlsc"))
    assert "not measured: MQLF" in texts(picture)
    assert labels(picture.axes[1]) == ["MQ", "TuMLSC"]
    assert picture.axes[1].get_xlim() == (-0.5, 1.5)


def test_a_panel_without_a_valid_run_says_so_and_the_other_is_drawn(tmp_path):
    rows = [each for each in rows_of(*LINES) if each["phase"] == "closed"]
    _, picture = drawn(tmp_path, rows)
    assert [[text.get_text() for text in axes.texts] for axes in picture.axes] == [
        ["no valid run"],
        [],
    ]
    wrong = {"valid": False, "invalid_reason": "timed out", "throughput_tps": None}
    _, picture = drawn(tmp_path / "none", [row("8", "mq", **wrong)])
    assert texts(picture).count("no valid run") == 2


def test_many_columns_are_named_by_the_legend_alone(tmp_path):
    own = ("mq-cached", "mqlf-rings", "mqlf-loser-tree", "tumlsc-batch")
    many = at_twenty("8a", "dots", lines=(*LINES, *own), settings=SETTINGS)
    assert len(many.lines) > form.MOST_NAMES
    rows = [row(many, line) for line in many.lines]
    picture = picture_of(
        table_of(results_of(tmp_path, rows), many, paper=SECOND), many, False, SECOND
    )
    assert labels(picture.axes[-1]) == []
    assert {"MQ", "Rings", "MQLF, rings"} & set(texts(picture)) == {"MQ", "MQLF, rings"}


@pytest.mark.parametrize("extended", [False, True])
def test_it_is_drawn_by_its_declaration_into_equal_bytes(extended, tmp_path, monkeypatch):
    join(monkeypatch, tmp_path, second(FIGURE))
    files = write_raw(tmp_path / "raw", rows_of(*LINES))
    one, two = (drawing.draw(SECOND, "8a", files, extended=extended) for _ in range(2))
    assert one.bytes_of("svg") == two.bytes_of("svg")
    wide = style.WIDE if extended else style.NARROW
    assert one.figure.get_size_inches()[0] == wide
