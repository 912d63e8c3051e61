"""Axes that stay readable whatever the values, and figures that fit what they hold."""

from __future__ import annotations

import numpy as np
import pytest
from matplotlib.figure import Figure

from figures import plot, style


def fresh_axes():
    return Figure().add_subplot()


@pytest.mark.parametrize(
    "values",
    [[3.0], [3.0, 3.1], [0.004, 0.005], [1.0, 90.0], [0.02, 900.0], [1e-3, 1e7], []],
)
def test_a_log_axis_has_a_few_plain_labels_around_its_values(values):
    axes = fresh_axes()
    plot.log_axis(axes, np.array(values, dtype=float))
    low, high = axes.get_ylim()
    ticks = [tick for tick in axes.yaxis.get_majorticklocs() if low <= tick <= high]
    labels = [axes.yaxis.get_major_formatter()(tick) for tick in ticks]
    assert 2 <= len(ticks) <= 8
    assert len(set(labels)) == len(labels)
    assert not any("e" in label for label in labels)
    if values:
        assert low < min(values) <= max(values) < high


@pytest.mark.parametrize(
    ("counts", "labels"),
    [([1, 4, 20], [1, 4, 20]), ([1, 2, 4, 20], [1, 2, 4, 20]), ([7], [7]), ([], [1])],
)
def test_measured_numbers_of_inputs_are_labelled(counts, labels):
    axes = fresh_axes()
    plot.count_ticks(axes, counts)
    assert axes.xaxis.get_majorticklocs().tolist() == labels


def test_labels_that_would_touch_are_left_out():
    axes = fresh_axes()
    plot.count_ticks(axes, list(range(1, 101)))
    shown = axes.xaxis.get_majorticklocs()
    assert shown[-1] == 100
    assert np.diff(shown).min() >= 4


def test_throughput_axes_begin_at_zero():
    axes = fresh_axes()
    plot.zero_based(axes, 2.0)
    assert axes.get_ylim() == pytest.approx((0.0, 2.24))


def test_a_figure_grows_with_its_legend_and_its_footer():
    short, _ = plot.canvas(style.NARROW, (2, 1), 1.0, "t", [], ["one line"])
    long, panels = plot.canvas(style.NARROW, (2, 1), 1.0, "t", [], ["many words " * 40])
    assert long.get_size_inches()[1] > short.get_size_inches()[1]
    assert long.get_size_inches()[0] == style.NARROW
    for axes in panels:
        box = axes.get_position()
        assert 0 < box.x0 < box.x1 < 1
        assert 0 < box.y0 < box.y1 < 1
