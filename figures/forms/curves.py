"""Curves over a swept setting, a panel a quantity: throughput above, mean latency below.

The extended form has every measured series, the panels side by side, and the throughput on a
logarithmic axis where it spans more than a decade. A latency is that at one share of each variant's
own throughput (the footer says which), not at one rate for all.

*Ideal* is predicted and not measured: the best throughput at the lowest x, times the cores that the
threads of x can use, over the cores that they could use there. On two cores it is level; with a
core for every thread it rises with the threads.
"""

from __future__ import annotations

from collections.abc import Sequence

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure as Picture

from experiments.declare import Figure
from experiments.judging.points import Point, at_maximum
from experiments.records.quantities import quantity
from figures import plot, style
from figures.load import (
    Results,
    comparable,
    frame,
    joined,
    line_of,
    points_of,
    table_of,
    with_ties,
    x_of,
)

RATE_UNIT = "t/s"
# From so large a ratio on, an extended figure has its throughputs on a logarithmic axis.
LOGARITHMIC_FROM = 10.0


def panels_of(figure: Figure, extended: bool) -> tuple[str, ...]:
    """Return the quantities of the panels."""
    return figure.extended_quantities if extended else figure.quantities


def select(results: Results, paper: str, figure: Figure, extended: bool = False) -> pd.DataFrame:
    """Return what the figure draws, in the form of ``figures.load``."""
    floor = results.floor_of(paper, figure)
    parts = []
    for name in panels_of(figure, extended):
        points = at_maximum(points_of(results, paper, figure, name, extended))
        table = table_of(points, figure)
        # Lines that are values of one setting are no rivals.
        parts.append(table if figure.sweeps else with_ties(table, floor))
        if quantity(name).unit == RATE_UNIT:
            parts += [ideal_of(own, figure) for own in _by_line(points, figure)]
    return joined(parts)


def draw(
    table: pd.DataFrame, figure: Figure, footer: Sequence[str], extended: bool = False
) -> Picture:
    """Return the picture of `table`."""
    table, words = plot.placed(table, figure.x)
    looks = plot.looks_of(table, figure)
    footer = [*footer, *plot.absent(table, figure)]
    shown = panels_of(figure, extended)
    width, shape, height = (style.NARROW, (len(shown), 1), 1.45)
    if extended:
        width, shape, height = (style.WIDE, (1, len(shown)), 2.5)
    handles = plot.handles_of(table, looks)
    title = plot.title_of(figure, extended)
    picture, panels = plot.canvas(width, shape, height, title, handles, footer)
    for axes, name in zip(panels, shown, strict=True):
        members = table[table["panel"] == name]
        if quantity(name).unit == RATE_UNIT:
            draw_rates(axes, members, looks, quantity(name).label, logarithmic=extended)
        else:
            draw_logarithmic(axes, members, looks, quantity(name).label)
    _label(panels, table, words, figure, extended)
    return picture


def _label(
    panels: Sequence[Axes],
    table: pd.DataFrame,
    words: Sequence[str],
    figure: Figure,
    extended: bool,
) -> None:
    """Label the x axes; of panels above each other the lowest one alone."""
    margin = 0.17 if plot.alone_of(table) else 0.05
    label = figure.words_of(figure.x.setting)
    for place, axes in enumerate(panels):
        if words:
            plot.label_words(axes, words)
        else:
            plot.count_ticks(axes, [int(x) for x in table["x"]], margin)
        if extended or place == len(panels) - 1:
            axes.set_xlabel(f"{label[0].upper()}{label[1:]}")
        else:
            axes.tick_params(labelbottom=False)


def _by_line(points: Sequence[Point], figure: Figure) -> list[list[Point]]:
    """Return the points that one ideal follows from: all, or those of each swept value."""
    if not figure.sweeps:
        return [list(points)]
    lines = dict.fromkeys(line_of(point, figure) for point in points)
    return [[point for point in points if line_of(point, figure) == line] for line in lines]


def ideal_of(points: Sequence[Point], figure: Figure) -> pd.DataFrame:
    """Return the ideal throughput over x as rows of a table; none where x adds no threads."""
    points = [point for point in points if comparable(point.variant)]
    if not points or any(isinstance(x_of(point, figure), str) for point in points):
        return frame([])
    fewest = min(x_of(point, figure) for point in points)
    there = [point for point in points if x_of(point, figure) == fewest]
    first = max(there, key=lambda point: point.middle[0])
    line = line_of(first, figure) if figure.sweeps else plot.IDEAL
    threads = {x_of(point, figure): point.threads for point in points}
    if len(threads) > 1 and len(set(threads.values())) == 1:
        # Another setting than one of threads: cores say nothing about it.
        return frame([])
    rows = []
    for x, count in sorted(threads.items()):
        usable = min(count, first.cores) / min(first.threads, first.cores)
        about = (first.paper, first.figure, first.quantity, first.subject, plot.IDEAL, line)
        rows.append((*about, x, first.middle[0] * usable, None, None, 0, "predicted", RATE_UNIT))
    return frame(rows)


def draw_rates(
    axes: Axes,
    members: pd.DataFrame,
    looks: dict[str, style.Look],
    label: str,
    logarithmic: bool = False,
) -> None:
    """Draw the rates of each line on an axis from zero, with the ideal lines.

    Parameters
    ----------
    axes : Axes
    members : DataFrame
        Of one panel.
    looks : dict of str to Look
        By line.
    label : str
    logarithmic : bool
        Whether the axis is a logarithmic one where the values span more than a decade.
    """
    measured = members[members["variant"] != plot.IDEAL]
    axes.set_ylabel(label)
    if measured.empty:
        plot.nothing(axes)
        return
    scale, unit = plot.rate_unit(measured["value"])
    values = measured[["value", "low", "high"]] / scale
    smallest, largest = measured["value"].min(), measured["value"].max()
    if logarithmic and largest > LOGARITHMIC_FROM * smallest:
        plot.log_axis(axes, values.to_numpy(float).ravel())
    else:
        plot.zero_based(axes, values[["value", "high"]].max().max())
    _draw_lines(axes, measured, looks, scale)
    for _, line in members[members["variant"] == plot.IDEAL].groupby("line"):
        plot.ideal(axes, line, scale)
    axes.set_ylabel(f"{label} ({unit})")


def draw_logarithmic(
    axes: Axes, members: pd.DataFrame, looks: dict[str, style.Look], label: str
) -> None:
    """Draw one quantity of each line on a log axis."""
    axes.set_ylabel(label)
    if members.empty:
        plot.nothing(axes)
        return
    plot.log_axis(axes, members[["value", "low", "high"]].to_numpy(float).ravel())
    _draw_lines(axes, members, looks, 1.0)


def _draw_lines(
    axes: Axes, members: pd.DataFrame, looks: dict[str, style.Look], scale: float
) -> None:
    alone = plot.alone_of(members)
    for line, look in looks.items():
        own = members[members["line"] == line]
        if not own.empty:
            plot.series(axes, own, look, y_scale=scale, right=alone.get(line))
