"""Latency over the offered rate, both logarithmic: a panel a latency.

A thin upright line marks the closed-loop throughput of each line of points, near which latency
should explode; the name of the line is above it where there is room. Rates at which a line was
saturated are carets at the upper edge. The extended form has every measured series.

Curves are compared by the rate at which they explode, not point by point: the variants were offered
different rates. So only the maxima can be tied: those that cannot be told from the highest one are
grey.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure as Picture
from matplotlib.lines import Line2D

from experiments.records.quantities import quantity
from figures import marks, panel, plot, style
from figures.cells import OVERSUBSCRIBED, TIED, having, joined, readable_values
from figures.load import Results
from figures.table import RATE_UNIT, panel_of
from figures.view import View

_ABOVE = 0.15


def select(results: Results, view: View) -> pd.DataFrame:
    """Return the drawn cells, in the form of ``figures.cells``; x is in tuples/s.

    The panel of the throughput holds the maxima, with the maximum as x.
    """
    return joined(panel_of(results, view, name) for name in view.quantities)


def draw(table: pd.DataFrame, view: View, footer: Sequence[str]) -> Picture:
    """Return the picture of `table`."""
    shown = plot.panels_of(table, view)
    rates = [name for name in shown if quantity(name).unit == RATE_UNIT]
    shown = [name for name in shown if name not in rates]
    maxima, curves = table[table["panel"].isin(rates)], table[~table["panel"].isin(rates)]
    footer = [*footer, *plot.notes_of(table, view)]
    looks = plot.looks_of(table, view.figure)
    width, height = (style.WIDE, 2.0) if view.extended else (style.NARROW, 1.8)
    room = (width - plot.LEFT - plot.RIGHT - (len(shown) - 1) * plot.BETWEEN_WIDE) / len(shown)
    longest = sum(style.width_of(look.title, style.SMALL) + 0.08 for look in looks.values())
    named = longest <= room and set(looks) <= set(maxima["line"])
    keys = [[] if named else [plot.handle_of(look) for look in looks.values()]]
    keys.append([*marks.keys_of(curves), *_upright(maxima)])
    picture, panels = plot.canvas(width, (1, len(shown)), height, view.title, keys, footer,
                                  top=_ABOVE if named else 0.0)  # fmt: skip
    for axes, name in zip(panels, shown, strict=True):
        own = curves[curves["panel"] == name]
        if own.empty:
            panel.nothing(axes)
            axes.set_xticks([])
            panel.label_axis(axes, quantity(name).label)
            continue
        _draw_panel(axes, own, maxima, looks, room, named)
        if axes is not panels[0]:
            panel.label_nearer(axes)
    return picture


def _upright(maxima: pd.DataFrame) -> list[Line2D]:
    """Return the key entries of the upright lines."""
    free = Line2D([], [], color=style.BLACK, lw=0.7, label="closed-loop throughput")
    grey = Line2D([], [], color=style.GREY, lw=0.7, label="the same, within noise of the highest")
    return [free, *([grey] if having(maxima, TIED).any() else [])]


def _draw_panel(
    axes: Axes,
    members: pd.DataFrame,
    maxima: pd.DataFrame,
    looks: Mapping[str, style.Look],
    room: float,
    named: bool,
) -> None:
    panel.value_axis(axes, members)
    maxima = maxima[maxima["value"].notna()]
    rates = pd.concat([members["x"], maxima["value"]])
    scale, unit = style.rate_unit(rates.max())
    members = members.assign(x=members["x"].astype(float) / scale)
    panel.log_axis(axes, rates.to_numpy(float) / scale, along="x")
    axes.set_xlim(rates.min() / scale / 1.15, rates.max() / scale * 1.15)
    axes.grid(visible=False, axis="x")
    axes.set_xlabel(f"Offered rate ({unit})")
    if having(members, OVERSUBSCRIBED).all():
        axes.set_facecolor(style.CROWDED)
    for line, look in looks.items():
        own = members[members["line"] == line]
        if not own.empty:
            marks.curve(axes, own, look, 1.0)
    for row in maxima.itertuples():
        look = looks[row.line]
        color = style.GREY if TIED in row.states else look.color
        axes.axvline(row.value / scale, color=color, lw=0.7, ls=look.dash, alpha=0.8, zorder=0.5)
    marks.at_edges(axes, members, looks)
    if readable_values(members).empty:
        panel.nothing(axes, "all saturated")
    if named:
        _name_maxima(axes, maxima, looks, scale, room)


def _name_maxima(
    axes: Axes, maxima: pd.DataFrame, looks: Mapping[str, style.Look], scale: float, room: float
) -> None:
    """Write each line's name above the upright line, without overlaps."""
    ordered = maxima.sort_values(["value", "line"])
    low, high = axes.get_xlim()
    places = [math.log(v / scale / low) / math.log(high / low) * room for v in ordered["value"]]
    widths = [style.width_of(looks[line].title, style.SMALL) + 0.08 for line in ordered["line"]]
    middles = marks.side_by_side(places, widths, room)
    for place, row in zip(middles, ordered.itertuples(), strict=True):
        look = looks[row.line]
        axes.text(place / room, 1.0 + 0.05, look.title, transform=axes.transAxes, va="bottom",
                  ha="center", fontsize=style.SMALL, color=style.readable(look.color))  # fmt: skip
