"""Latency over the offered rate, logarithmic: a panel a latency.

A thin vertical line marks the maximum throughput of each line, measured with the inputs as fast as
they are taken, so that one sees where its latency should explode. The extended form shows every
measured series.

Curves are compared by where they explode, and not point by point: no two variants were offered the
same rates. So it is the maxima that may be tied, and those lines are grey.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure as Picture
from matplotlib.lines import Line2D

from experiments.declare import Figure
from experiments.records.quantities import quantity
from figures import plot, style
from figures.forms.curves import RATE_UNIT, panels_of
from figures.load import Results, joined, points_of, table_of, with_ties


def select(results: Results, paper: str, figure: Figure, extended: bool = False) -> pd.DataFrame:
    """Return what the figure draws, in the form of ``figures.load``; x is in tuples/s.

    The panel of the throughput holds the maxima, their own x.
    """
    parts = []
    for name in panels_of(figure, extended):
        table = table_of(points_of(results, paper, figure, name, extended), figure)
        if quantity(name).unit == RATE_UNIT:
            table = with_ties(table, results.floor_of(paper, figure), by="panel")
        parts.append(table)
    return joined(parts)


def draw(
    table: pd.DataFrame, figure: Figure, footer: Sequence[str], extended: bool = False
) -> Picture:
    """Return the picture of `table`."""
    rates = [name for name in panels_of(figure, extended) if quantity(name).unit == RATE_UNIT]
    shown = [name for name in panels_of(figure, extended) if name not in rates]
    maxima, curves = table[table["panel"].isin(rates)], table[~table["panel"].isin(rates)]
    footer = [*footer, *plot.absent(curves, figure)]
    looks = plot.looks_of(curves, figure)
    width, height = (style.WIDE, 2.2) if extended else (style.NARROW, 2.0)
    handles = [plot.handle_of(look) for look in looks.values()]
    handles += plot.notes_of(curves, _marks(maxima))
    title = plot.title_of(figure, extended)
    picture, panels = plot.canvas(width, (1, len(shown)), height, title, handles, footer)
    for axes, name in zip(panels, shown, strict=True):
        _draw_panel(axes, curves[curves["panel"] == name], maxima, looks, figure)
        axes.set_ylabel(quantity(name).label)
    return picture


def _marks(maxima: pd.DataFrame) -> list[Line2D]:
    """Return the legend entries of the vertical lines."""
    tied = maxima["state"].str.contains("tied")
    marks = []
    if not tied.all():
        marks.append(Line2D([], [], color=style.BLACK, lw=0.7, label="maximum throughput"))
    if tied.any():
        marks.append(Line2D([], [], color=style.GREY, lw=0.7, label="maxima that are tied"))
    return marks


def _draw_panel(
    axes: Axes,
    members: pd.DataFrame,
    maxima: pd.DataFrame,
    looks: Mapping[str, style.Look],
    figure: Figure,
) -> None:
    if members.empty:
        plot.nothing(axes)
        return
    scale, unit = plot.rate_unit(members["x"])
    plot.log_axis(axes, members[["value", "low", "high"]].to_numpy(float).ravel())
    for line, look in looks.items():
        own = members[members["line"] == line]
        if not own.empty:
            plot.series(axes, own, look, x_scale=scale)
    for line, value, state in maxima[["line", "value", "state"]].itertuples(index=False):
        look = looks.get(line) or style.look_of(figure.family, line)
        color = style.GREY if "tied" in state else look.color
        axes.axvline(value / scale, color=color, lw=0.7, ls=look.dash, alpha=0.6, zorder=0)
    axes.set_xlim(0.0, 1.06 * members["x"].max() / scale)
    axes.set_xlabel(f"Offered rate ({unit})")
