"""Bars from zero: lines that have one place each, a bar a line, a panel a quantity.

A bar is pale, so that interval, marker and states stand out on its upper end.
"""

from __future__ import annotations

from collections.abc import Sequence

import pandas as pd
from matplotlib.figure import Figure as Picture

from experiments.declare import Figure
from experiments.records.quantities import quantity
from figures import plot, style
from figures.forms import dots
from figures.forms.curves import RATE_UNIT, panels_of

# Of a column's width, and of the line's colour.
WIDTH, PALE = 0.6, 0.35

select = dots.select


def draw(
    table: pd.DataFrame, figure: Figure, footer: Sequence[str], extended: bool = False
) -> Picture:
    """Return the picture of `table`."""
    looks = plot.looks_of(table, figure)
    shown = panels_of(figure, extended)
    footer = [*footer, *plot.absent(table, figure)]
    width = style.WIDE if extended else style.NARROW
    handles = [*(plot.handle_of(look, line=False) for look in looks.values()),
               *plot.notes_of(table)]  # fmt: skip
    title = plot.title_of(figure, extended)
    picture, panels = plot.canvas(width, (len(shown), 1), 1.45, title, handles, footer)
    for axes, name in zip(panels, shown, strict=True):
        members = table[table["panel"] == name]
        dots.columns_of(axes, len(looks))
        axes.set_ylabel(quantity(name).label)
        if members.empty:
            plot.nothing(axes)
            continue
        scale = 1.0
        if quantity(name).unit == RATE_UNIT:
            scale, unit = plot.rate_unit(members["value"])
            axes.set_ylabel(f"{quantity(name).label} ({unit})")
        plot.zero_based(axes, members[["value", "high"]].max().max() / scale)
        for column, (line, look) in enumerate(looks.items()):
            own = members[members["line"] == line]
            if not own.empty:
                height = own["value"].iloc[0] / scale
                axes.bar(column, height, WIDTH, color=look.color, alpha=PALE, lw=0, zorder=0.5)
                # The marker on top carries the states that a bar has no room for.
                plot.series(axes, own.assign(x=column), look, y_scale=scale, right=0.0)
    dots.name_columns(panels[-1], looks)
    return picture
