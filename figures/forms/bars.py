"""Bars from zero: lines that have one place each, a bar a line, a panel a quantity.

A bar is pale, so that interval and marker stand out on its upper end. What the bars measure stands
on their axis; bars of processor time leave out whoever waits or sleeps, which is said there too.
"""

from __future__ import annotations

from collections.abc import Sequence

import pandas as pd
from matplotlib.figure import Figure as Picture

from experiments.records.quantities import quantity
from figures import marks, panel, plot
from figures.cells import readable_values
from figures.forms import dots, rows
from figures.load import Results
from figures.view import View

# Of a column's width, and of the line's colour.
WIDTH, PALE = 0.6, 0.35


def select(results: Results, view: View) -> pd.DataFrame:
    """Return what the figure draws, in the form of ``figures.cells``."""
    return dots.without_brackets(rows.select(results, view), as_rows=False)


def draw(table: pd.DataFrame, view: View, footer: Sequence[str]) -> Picture:
    """Return the picture of `table`."""
    looks = plot.looks_of(table, view.figure)
    if len(looks) > dots.MOST_COLUMNS:
        return rows.draw(table, view, footer)
    shown = plot.panels_of(table, view)
    footer = [*footer, *plot.notes_of(table, view)]
    keys = marks.keys_of(table)
    picture, panels = dots.columns(view, looks, len(shown), keys, footer)
    places = {line: place for place, line in enumerate(looks)}
    for axes, name in zip(panels, shown, strict=True):
        members = table[table["panel"] == name]
        if members.empty:
            panel.label_axis(axes, quantity(name).label)
            panel.nothing(axes)
            continue
        members = members.assign(x=members["line"].map(places).astype(float))
        panel.crowded_places(axes, members)
        # A bar's length means something from zero only, whatever the quantity.
        scale = panel.value_axis(axes, members, from_zero=True)
        for row in readable_values(members).itertuples():
            look = looks[row.line]
            axes.bar(row.x, row.value / scale, WIDTH, color=look.color, alpha=PALE, lw=0, zorder=1)
        for line, look in looks.items():
            marks.single(axes, members[members["line"] == line], look, scale)
        marks.at_edges(axes, members, looks)
    return picture
