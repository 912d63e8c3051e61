"""Axes that stay readable for any values, and figures that fit their content."""

from __future__ import annotations

import warnings
from itertools import pairwise

import matplotlib
import numpy as np
import pandas as pd
import pytest
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from experiments.declare import SIZES, Sweep
from figures import panel, plot, style
from tests.figures.overlap import overlaps


def fresh_axes():
    return Figure().add_subplot()


@pytest.mark.parametrize(
    "values",
    [[3.0], [3.0, 3.1], [0.004, 0.005], [1.0, 90.0], [0.02, 900.0], [1e-3, 1e7], []],
)
def test_a_log_axis_has_a_few_plain_labels_around_its_values(values):
    axes = fresh_axes()
    panel.log_axis(axes, np.array(values, dtype=float))
    low, high = axes.get_ylim()
    ticks = [tick for tick in axes.yaxis.get_majorticklocs() if low <= tick <= high]
    labels = [axes.yaxis.get_major_formatter()(tick) for tick in ticks]
    assert 2 <= len(ticks) <= 8
    assert len(set(labels)) == len(labels)
    assert not any("e" in label for label in labels)
    if values:
        assert low < min(values) <= max(values) < high


@pytest.mark.parametrize(("places", "room"), [
    ([1, 2, 4, 20], 2.0), ([7], 2.0), (list(range(1, 101)), 2.0), ([1, 1e6], 2.0),
    ([0.015625, 0.07, 0.5, 1], 1.0), ([0.015625, 0.05, 0.5, 1], 1.1), ([0.015625, 0.1, 1], 0.9),
])  # fmt: skip
def test_places_on_a_logarithmic_axis_are_labelled_as_far_as_there_is_room(places, room):
    axes = fresh_axes()
    panel.log_places(axes, places, room)
    shown = axes.xaxis.get_majorticklocs()
    assert {places[0], places[-1]} & set(shown) and set(shown) <= set(places)
    low, high = axes.get_xlim()
    assert low < min(places) <= max(places) < high
    inches = np.log(shown) / np.log(high / low) * room
    widths = [style.width_of(f"{place:,g}", style.SMALL) for place in shown]
    gaps = np.diff(inches) - [(one + other) / 2 for one, other in pairwise(widths)]
    assert (gaps > 0).all()


def test_powers_of_two_are_told_as_such():
    told = {}
    for places in ([1 / 64, 1 / 2, 1], [1 << 10, 1 << 20], [1 / 16, 2, 1024], [1, 1.5]):
        axes = fresh_axes()
        panel.log_places(axes, places, 3.0)
        told[tuple(places)] = [axes.xaxis.get_major_formatter()(place) for place in places]
    assert list(told.values()) == [
        ["1/64", "1/2", "1"], ["2¹⁰", "2²⁰"], ["0.0625", "2", "1,024"], ["1", "1.5"]
    ]  # fmt: skip


def test_thousands_of_one_axis_are_told_alike():
    told = {}
    for values in ([300.0, 4e3], [1e3, 9e4]):
        axes = fresh_axes()
        panel.log_axis(axes, np.array(values))
        ticks = axes.yaxis.get_majorticklocs()
        told[values[0]] = axes.yaxis.get_major_formatter().format_ticks(ticks)
    assert "1,000" in told[300.0] and not any("k" in each for each in told[300.0])
    assert {"1k", "10k"} <= set(told[1e3]) and not any("," in each for each in told[1e3])


def test_a_unit_is_not_broken_over_two_lines():
    axes = plot.canvas(style.WIDE, (1, 3), 1.4, "t", [], [], between=(0.9, 0.0))[1][0]
    label = "Closed-loop throughput (million tuples/s)"
    for along, told in (("x", axes.get_xlabel), ("y", axes.get_ylabel)):
        panel.label_axis(axes, label, along)
        assert told() == "Closed-loop throughput\n(million tuples/s)"
        panel.label_axis(axes, "Bytes a tuple", along)
        assert told() == "Bytes a tuple"


def test_every_letter_of_an_exponent_is_in_the_font():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert style.width_of(style.power(10, -1234567890), style.SMALL) > 0.2


def test_throughput_axes_begin_at_zero():
    axes = fresh_axes()
    panel.zero_based(axes, 2.0)
    assert axes.get_ylim() == pytest.approx((0.0, 2.24))


def test_thousands_on_an_axis_from_zero_have_a_comma():
    axes = fresh_axes()
    panel.zero_based(axes, 1_100.0)
    told = axes.yaxis.get_major_formatter().format_ticks([0.0, 500.0, 1_000.0])
    assert told == ["0", "500", "1,000"]


@pytest.mark.parametrize(("largest", "labels"), [
    (8e4, ["0", "50,000", "1,000,000"]),
    (9e4, ["0", "50k", "1,000k"]),
    (2e6, ["0", "0.05M", "1M"]),
])  # fmt: skip
def test_long_numbers_on_an_axis_from_zero_are_told_short(largest, labels):
    axes = fresh_axes()
    panel.zero_based(axes, largest)
    assert axes.yaxis.get_major_formatter().format_ticks([0.0, 5e4, 1e6]) == labels


@pytest.mark.parametrize(("largest", "labels"), [
    (1.1e-4, ["0", *(f"{n}·10⁻⁵" for n in (2, 4, 6, 8, 10, 12))]),
    (3e-7, ["0", *(f"{n}·10⁻⁸" for n in (5, 10, 15, 20, 25, 30))]),
])  # fmt: skip
def test_small_numbers_of_an_axis_have_one_exponent(largest, labels):
    axes = fresh_axes()
    panel.zero_based(axes, largest)
    step = largest / 5.5 if largest > 1e-5 else 5e-8
    ticks = [round(place * step, 9) for place in range(len(labels))]
    assert axes.yaxis.get_major_formatter().format_ticks(ticks) == labels


# Around the values from which numbers are written in another way, or have another step.
OF_ANY_SIZE = [
    leading * 10.0**exponent
    for exponent in (-6, -4, -3, -2, 0, 3, 4, 5, 6, 9, 12)
    for leading in (1.01, 1.2, 1.9, 2.1, 4.4, 7.5, 9.1, 9.7)
]


@pytest.mark.parametrize("height", [1.3, 2.0])
@pytest.mark.parametrize("kind", ["from zero", "logarithmic"])
def test_two_lines_of_a_label_fit_beside_numbers_of_any_size(kind, height):
    with matplotlib.rc_context(style.PARAMETERS):
        for largest in OF_ANY_SIZE:
            picture, [axes] = plot.canvas(style.NARROW, (1, 1), height, "t", [], [])
            axes.set_xticks([])
            if kind == "from zero":
                panel.zero_based(axes, largest)
            else:
                panel.log_axis(axes, np.array([largest / 3, largest]))
            panel.label_axis(axes, "Queue length (tuples an instance)")
            assert not overlaps(picture), largest


@pytest.mark.parametrize(("width", "columns"), [(style.NARROW, 1), (style.WIDE, 3)])
@pytest.mark.parametrize("kind", ["from zero", "logarithmic"])
def test_numbers_of_an_x_axis_touch_neither_each_other_nor_the_edge(kind, width, columns):
    with matplotlib.rc_context(style.PARAMETERS):
        for largest in OF_ANY_SIZE:
            picture, panels = plot.canvas(width, (1, columns), 1.3, "t", [], [])
            for axes in panels:
                axes.set_yticks([])
                if kind == "from zero":
                    panel.zero_based(axes, largest, along="x")
                else:
                    panel.log_axis(axes, np.array([largest / 3, largest]), along="x")
                panel.space_numbers(axes)
                assert [text for text in axes.get_xticklabels() if text.get_text()], largest
            assert not overlaps(picture), largest


def test_names_of_categories_stay_however_close():
    axes = fresh_axes()
    panel.categories(axes, ["one long name", "another long name"] * 20)
    panel.space_numbers(axes)
    assert [text.get_text() for text in axes.get_xticklabels()].count("one long name") == 20


def test_a_figure_grows_with_its_key_and_its_footer():
    short, _ = plot.canvas(style.NARROW, (2, 1), 1.0, "t", [], ["one line"])
    long, panels = plot.canvas(style.NARROW, (2, 1), 1.0, "t", [], ["many words " * 40])
    assert long.get_size_inches()[1] > short.get_size_inches()[1]
    assert long.get_size_inches()[0] == style.NARROW
    for axes in panels:
        box = axes.get_position()
        assert 0 < box.x0 < box.x1 < 1
        assert 0 < box.y0 < box.y1 < 1


def test_the_first_statement_stands_below_a_figure_and_the_others_behind_it():
    picture, _ = plot.canvas(style.NARROW, (1, 1), 1.0, "t", [], ["2 cores", "noisy: 3", "grey"])
    below = [text.get_text() for text in picture.texts if text.get_color() == style.GREY]
    assert below == ["2 cores"] and picture.notes == ["noisy: 3", "grey"]


def test_no_line_of_a_footer_begins_with_a_dot_or_parts_a_number_from_its_sign():
    for words in range(1, 12):
        footer = ["w " * words, "n = 6 processes", "latency at 70 % of it", "more"] * 3
        picture, _ = plot.canvas(style.NARROW, (1, 1), 1.0, "t", [], [plot.as_one(footer)])
        lines = [text.get_text() for text in picture.texts if text.get_color() == style.GREY]
        assert len(lines) > 2
        assert not any(line[0] in "\u00b7=%" or line.endswith(("n", "=")) for line in lines)


def test_the_entries_of_a_key_fill_rows_that_fit():
    keys = [Line2D([], [], label=f"{n} some words of a key") for n in range(7)]
    rows = plot.rows_of_key(keys, 3.2)
    assert [key for row in rows for key in row] == keys
    assert {len(row) for row in rows[:-1]} == {2}


def test_names_below_categories_are_broken_to_fit():
    (one, other) = panel.category_names(["a-name-of-exactly-30-letters-x", "MQ"], 2.0)
    assert other == "MQ"
    assert all(style.width_of(line, style.SMALL) <= 0.95 for line in one.splitlines())


def test_few_powers_of_two_are_told_by_category_as_on_an_axis():
    sweep = Sweep("merge_ratio", dict.fromkeys(SIZES, (1 / 64, 1 / 8, 1.0)), "m")
    given = {
        (1 / 64, 1.0): ["1/64", "1"],
        (1, 8): ["1", "8"],
        (10, 1_000): ["10", "1,000"],
        (0.0, 0.4, 1.0): ["0", "0.4", "1"],
        (0.3, 1_000.0): ["0.3", "1,000"],
    }
    for places, told in given.items():
        assert plot.placed(pd.DataFrame({"x": places}), sweep)[1] == told
