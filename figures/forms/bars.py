"""Bars from zero: lines with a single point each, a bar a line, a panel a quantity.

Bars are pale, so that interval and marker stand out on the upper end. The axis names the measured
quantity; for processor time it adds that waiting and sleeping threads are not counted.
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

# The width of a bar in columns, and the share of the line's colour in it.
WIDTH, PALE = 0.6, 0.35


def select(results: Results, view: View) -> pd.DataFrame:
    """Return the drawn cells, in the form of ``figures.cells``."""
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
        panel.shade_oversubscribed(axes, members)
        # The length of a bar is only meaningful from zero, whatever the quantity.
        scale = panel.value_axis(axes, members, from_zero=True)
        for row in readable_values(members).itertuples():
            look = looks[row.line]
            axes.bar(row.x, row.value / scale, WIDTH, color=look.color, alpha=PALE, lw=0, zorder=1)
        for line, look in looks.items():
            marks.single(axes, members[members["line"] == line], look, scale)
        marks.at_edges(axes, members, looks)
    return picture
