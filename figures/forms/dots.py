"""Labelled dots: lines with a single point each, a column a line, a panel a unit.

Quantities of one unit share a panel, with a dot each in the column of a line, labelled with the
quantity's short name where there are several. Rates have an axis from zero, times a logarithmic
one. Dots are used because the length of a bar on a logarithmic axis is meaningless. The extended
form, and a figure of many lines, has a row a line (``figures.forms.rows``).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import pandas as pd
from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.figure import Figure as Picture

from experiments.records.quantities import quantity
from figures import marks, panel, plot, style
from figures.cells import BRACKET
from figures.forms import rows
from figures.load import Results
from figures.view import View

# With more columns there is no room for names below them: the lines become rows.
MOST_COLUMNS = 6
# Distance between dots of one column, in columns.
APART = 0.4
PANEL = 1.35


def select(results: Results, view: View) -> pd.DataFrame:
    """Return the drawn cells, in the form of ``figures.cells``."""
    return without_brackets(rows.select(results, view), view.extended)


def without_brackets(table: pd.DataFrame, as_rows: bool) -> pd.DataFrame:
    """Return a table without the brackets of rate searches, which are drawn only in rows."""
    if as_rows or table["line"].nunique() > MOST_COLUMNS:
        return table
    return table[table["spread"] != BRACKET].reset_index(drop=True)


def by_unit(names: Sequence[str]) -> list[list[str]]:
    """Return groups of quantities that share a panel, in order."""
    units = dict.fromkeys(quantity(name).unit for name in names)
    return [[name for name in names if quantity(name).unit == unit] for unit in units]


def draw(table: pd.DataFrame, view: View, footer: Sequence[str]) -> Picture:
    """Return the picture of `table`."""
    looks = plot.looks_of(table, view.figure)
    if view.extended or len(looks) > MOST_COLUMNS:
        return rows.draw(table, view, footer)
    shown = by_unit(plot.panels_of(table, view))
    footer = [*footer, *plot.notes_of(table, view)]
    picture, panels = columns(view, looks, len(shown), marks.keys_of(table), footer)
    for axes, names in zip(panels, shown, strict=True):
        draw_panel(axes, table, looks, names)
    return picture


def columns(
    view: View,
    looks: Mapping[str, style.Look],
    count: int,
    keys: Sequence[Artist],
    footer: Sequence[str],
) -> tuple[Picture, list[Axes]]:
    """Return a picture of `count` panels, one below the other, with a named column a line."""
    width = style.WIDE if view.extended else style.NARROW
    room = width - plot.LEFT - plot.RIGHT
    names = panel.category_names([look.title for look in looks.values()], room)
    picture, panels = plot.canvas(
        width, (count, 1), PANEL, view.title, [keys], footer,
        below=panel.below_of(names, label=False), between=(plot.BETWEEN_WIDE, 0.26),
    )  # fmt: skip
    for place, axes in enumerate(panels):
        panel.categories(axes, names, labelled=place == count - 1)
    return picture, panels


def draw_panel(
    axes: Axes,
    table: pd.DataFrame,
    looks: Mapping[str, style.Look],
    names: Sequence[str],
    at_least: float = 0.0,
) -> float:
    """Draw the quantities `names`, of one unit, a column a line; return the divisor of the values.

    An axis from zero reaches at least to `at_least`.
    """
    members = table[table["panel"].isin(names)]
    if members.empty:
        panel.label_axis(axes, quantity(names[0]).label)
        panel.nothing(axes)
        return 1.0
    places = {line: place for place, line in enumerate(looks)}
    members = members.assign(x=members["line"].map(places).astype(float))
    panel.shade_oversubscribed(axes, members)
    scale = panel.value_axis(axes, members)
    if axes.get_yscale() == "linear" and at_least / scale * 1.05 > axes.get_ylim()[1]:
        panel.zero_based(axes, at_least / scale)
    beside = dict(zip(names, sides(len(names)), strict=True))
    members = members.assign(x=members["x"] + members["panel"].map(beside))
    for line, look in looks.items():
        marks.single(axes, members[members["line"] == line], look, scale)
    marks.at_edges(axes, members, looks)
    if len(names) > 1:
        for x, name in members[["x", "panel"]].drop_duplicates().itertuples(index=False):
            axes.annotate(quantity(name).short_label, (x, 0.0), (0.0, -3.0),
                          axes.get_xaxis_transform(), "offset points", va="top", ha="center",
                          fontsize=style.SMALL)  # fmt: skip
    return scale


def sides(count: int) -> list[float]:
    """Return the offset of each of `count` dots from the middle of a column."""
    return [APART * (place - (count - 1) / 2) for place in range(count)]
