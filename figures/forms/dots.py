"""Labelled dots: lines that have one place each, a column a line, a panel a unit.

Quantities of one unit share a panel, each with a dot of its own in the column of a line, labelled
with the quantity's short name where there are several. Rates stand on an axis from zero, everything
else on a logarithmic one. Dots and not bars, because a bar on a logarithmic axis has no length that
means anything.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure as Picture
from matplotlib.ticker import FixedLocator, NullLocator

from experiments.declare import Figure
from experiments.records.quantities import quantity
from figures import plot, style
from figures.forms.curves import RATE_UNIT, panels_of
from figures.load import Results, joined, points_of, table_of, with_ties

# From so many columns on, only the legend names the lines: there is no room below them.
MOST_NAMES = 6
# Of a column's width: how far apart dots of one column stand.
APART = 0.4


def select(results: Results, paper: str, figure: Figure, extended: bool = False) -> pd.DataFrame:
    """Return what the figure draws, in the form of ``figures.load``."""
    floor = results.floor_of(paper, figure)
    parts = []
    for name in panels_of(figure, extended):
        table = table_of(points_of(results, paper, figure, name, extended), figure)
        parts.append(with_ties(table, floor) if quantity(name).unit == RATE_UNIT else table)
    return joined(parts)


def by_unit(names: Sequence[str]) -> list[list[str]]:
    """Return quantities that share a panel, in their order."""
    units = dict.fromkeys(quantity(name).unit for name in names)
    return [[name for name in names if quantity(name).unit == unit] for unit in units]


def draw(
    table: pd.DataFrame, figure: Figure, footer: Sequence[str], extended: bool = False
) -> Picture:
    """Return the picture of `table`."""
    looks = plot.looks_of(table, figure)
    panels_shown = by_unit(panels_of(figure, extended))
    dots = [plot.handle_of(look, line=False) for look in looks.values()]
    footer = [*footer, *plot.absent(table, figure)]
    width = style.WIDE if extended else style.NARROW
    shape = (len(panels_shown), 1)
    handles = [*dots, *plot.notes_of(table)]
    title = plot.title_of(figure, extended)
    picture, panels = plot.canvas(width, shape, 1.45, title, handles, footer)
    for axes, names in zip(panels, panels_shown, strict=True):
        draw_panel(axes, table, looks, names)
    name_columns(panels[-1], looks)
    return picture


def draw_panel(
    axes: Axes, table: pd.DataFrame, looks: Mapping[str, style.Look], names: Sequence[str]
) -> float:
    """Draw the quantities `names`, of one unit, a column a line; return what values are over."""
    label = quantity(names[0]).label
    axes.set_ylabel(label)
    members = table[table["panel"].isin(names)]
    columns_of(axes, len(looks))
    if members.empty:
        plot.nothing(axes)
        return 1.0
    scale = 1.0
    if quantity(names[0]).unit == RATE_UNIT:
        scale, unit = plot.rate_unit(members["value"])
        plot.zero_based(axes, members[["value", "high"]].max().max() / scale)
        axes.set_ylabel(f"{label} ({unit})")
    else:
        plot.log_axis(axes, members[["value", "low", "high"]].to_numpy(float).ravel())
    ticks, labels = [], []
    for column, (line, look) in enumerate(looks.items()):
        for name, side in zip(names, sides(len(names)), strict=True):
            own = members[(members["line"] == line) & (members["panel"] == name)]
            if not own.empty:
                x = column + side
                plot.series(axes, own.assign(x=x), look, y_scale=scale, right=0.0)
                ticks.append(x)
                labels.append(quantity(name).short)
    if len(names) > 1:
        axes.set_xticks(ticks, labels, fontsize=style.SMALL)
    return scale


def sides(count: int) -> list[float]:
    """Return how far from the middle of a column each of `count` dots stands."""
    return [APART * (place - (count - 1) / 2) for place in range(count)]


def columns_of(axes: Axes, count: int) -> None:
    """Divide a panel into columns without ticks."""
    axes.set_xlim(-0.5, max(count, 1) - 0.5)
    axes.xaxis.set_major_locator(FixedLocator([]))
    axes.xaxis.set_minor_locator(NullLocator())
    axes.tick_params(axis="x", length=0)
    for place in range(1, count):
        axes.axvline(place - 0.5, color=style.FAINT, lw=0.4, zorder=0)


def name_columns(axes: Axes, looks: Mapping[str, style.Look]) -> None:
    """Write the names of the lines below their columns, where there is room."""
    named = [look.title for look in looks.values()] if len(looks) <= MOST_NAMES else []
    axes.set_xticks(range(len(named)), named, fontsize=style.FONT_SIZE - 1)
