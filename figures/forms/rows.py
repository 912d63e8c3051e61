"""Labelled rows: a line a row, sorted by the first quantity, with one panel a quantity in a row.

For many lines at one x, where curves would be single points and a key would name a dozen of them.
If a swept setting has several values there is a block of rows for each. A saturated latency is a
caret at the upper end of the axis, a failed line a red cross at the lower end.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np
import pandas as pd
from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.figure import Figure as Picture
from matplotlib.patches import Patch
from matplotlib.ticker import FixedLocator, NullLocator
from matplotlib.transforms import blended_transform_factory

from experiments.declare import Figure, Sweep
from experiments.records.quantities import quantity
from experiments.records.statistics import INTERVAL
from figures import marks, panel, plot, style
from figures.cells import (
    FAILED,
    OVERSUBSCRIBED,
    SCARCE,
    TIED,
    having,
    joined,
    off_scale,
    readable_values,
)
from figures.load import Results, comparable
from figures.table import bracket_panel, brackets_of, panel_of
from figures.view import View

ROW = 0.145
# Inches: for the names of lines, at most; between two panels; right of the last panel, where half
# of a number extends beyond the end of the axis.
MOST_FOR_NAMES, BETWEEN, RIGHT = 1.75, 0.28, 0.16
_BLOCK_TITLE = 0.17
# Height in points of the bar behind a tied value.
_TIED_BAR = 7.5


def select(results: Results, view: View, ties: bool = True, brackets: bool = True) -> pd.DataFrame:
    """Return the drawn cells, in the form of ``figures.cells``.

    Parameters
    ----------
    results, view
        As of every form.
    ties : bool
        Whether lines at one x compete, so that ties are marked.
    brackets : bool
        Whether the form draws the brackets of rate searches.
    """
    found = [panel_of(results, view, name, ties) for name in view.quantities]
    if brackets:
        found += [brackets_of(results, view, name) for name in view.quantities]
    return joined(found)


def at_ends(table: pd.DataFrame, figure: Figure) -> pd.DataFrame:
    """Return the rows at the lowest and the highest x of the series that the paper lacks."""
    places = table["x"][~table["variant"].isin(figure.lines)]
    ends = {min(places, key=figure.x.sort_key), max(places, key=figure.x.sort_key)}
    return table[table["x"].isin(ends)].reset_index(drop=True)


def draw(table: pd.DataFrame, view: View, footer: Sequence[str]) -> Picture:
    """Return the picture of `table`."""
    figure = view.figure
    looks = plot.looks_of(table, figure)
    shown = plot.panels_of(table, view)
    footer = [*footer, *plot.notes_of(table, view)]
    # Panels side by side need the wide format in every form.
    width = style.WIDE if view.extended or len(shown) > 1 else style.NARROW
    place_of = figure.x.sort_key if isinstance(figure.x, Sweep) else float
    blocks = sorted(set(table["x"]), key=place_of) or [0]
    names = {
        line: style.wrapped(look.title, MOST_FOR_NAMES, style.SMALL) for line, look in looks.items()
    }
    widths = [style.width_of(part, style.SMALL) for own in names.values() for part in own]
    left = 0.14 + max(widths, default=0.5)
    lines = max((len(own) for own in names.values()), default=1)
    height = max(len(looks), 3) * ROW * (0.3 + 0.7 * lines)
    keys = [[*marks.keys_of(table), *_tied_key(table)]]
    titled = len(blocks) > 1
    room = (width - left - RIGHT - (len(shown) - 1) * BETWEEN) / len(shown)
    below = plot.BELOW + panel.more_lines(shown, room)
    picture, panels = plot.canvas(
        width, (len(blocks), len(shown)), height, view.title, keys, footer, left=left, right=RIGHT,
        below=below, between=(BETWEEN, below + (_BLOCK_TITLE if titled else 0.0)),
        top=_BLOCK_TITLE if titled else 0.0,
    )  # fmt: skip
    for number, x in enumerate(blocks):
        own = table[table["x"] == x]
        order = _order(own, shown, looks)
        for place, name in enumerate(shown):
            axes = panels[number * len(shown) + place]
            _draw_panel(axes, own, figure, name, order, looks)
            labels = ["\n".join(names[line]) for line in order] if place == 0 else []
            axes.set_yticks(range(len(labels)), labels, linespacing=0.95)
            if titled and place == 0:
                told = figure.setting_text(figure.x.setting, x)
                axes.text(0.0, 1.0 + 0.05 / height, told, transform=axes.transAxes, va="bottom",
                          ha="left", fontsize=style.SMALL, fontweight="bold")  # fmt: skip
    return picture


def _order(own: pd.DataFrame, shown: Sequence[str], looks: Mapping[str, style.Look]) -> list[str]:
    """Return the lines from the worst in the first panel (row 0, below) to the best."""
    first = own[own["panel"] == shown[0]]
    lower = quantity(shown[0]).better == "lower"
    values = dict(zip(first["line"], first["value"], strict=True))
    there = [line for line in looks if line in set(own["line"])]

    def rank(line: str) -> tuple[bool, float]:
        value = values.get(line, np.nan)
        return (value == value, 0.0 if value != value else -value if lower else value)

    return sorted(there, key=rank)


def _draw_panel(
    axes: Axes,
    own: pd.DataFrame,
    figure: Figure,
    name: str,
    order: Sequence[str],
    looks: Mapping[str, style.Look],
) -> None:
    members = own[own["panel"] == name]
    axes.set_ylim(-0.6, max(len(order), 1) - 0.4)
    axes.yaxis.set_major_locator(FixedLocator([]))
    axes.yaxis.set_minor_locator(NullLocator())
    axes.tick_params(axis="y", length=0)
    if members.empty:
        axes.set_xticks([])
        panel.label_axis(axes, quantity(name).label, "x")
        panel.nothing(axes)
        return
    bracketed = own[own["panel"] == bracket_panel(name)]
    scale = panel.value_axis(axes, pd.concat([members, bracketed]), logarithmic=True, along="x")
    rows = {line: place for place, line in enumerate(order)}
    _tied_bars(axes, members, figure, rows, name, scale)
    across = blended_transform_factory(axes.transAxes, axes.transData)
    for row, saturated in zip(members.itertuples(), off_scale(members), strict=True):
        place, look = rows[row.line], looks[row.line]
        oversubscribed = OVERSUBSCRIBED in row.states
        if oversubscribed:
            axes.axhspan(place - 0.5, place + 0.5, color=style.CROWDED, lw=0, zorder=0)
        axes.axhline(place, color="white" if oversubscribed else style.FAINT, lw=0.7, zorder=0.2)
        if FAILED in row.states:
            marks.edge_mark(axes, 0.0, place, look, False, across)
        elif saturated:
            marks.edge_mark(axes, 1.0, place, look, True, across, marks.CARET_RIGHT)
        elif row.value == row.value:
            _whisker(axes, row, place, look, scale)
            marks.dot(axes, row.value / scale, place, look, row.states)
        elif SCARCE in row.states:
            # Measured, but with too few latencies for the panel's percentile.
            axes.text(0.02, place, "few", transform=across, ha="left", va="center_baseline",
                      fontsize=style.SMALL, color=style.GREY)  # fmt: skip
    for row in bracketed.itertuples():
        _bracket(axes, row, rows[row.line], looks[row.line], scale)


def _whisker(axes: Axes, row: NamedTuple, place: int, look: style.Look, scale: float) -> None:
    if row.low != row.low:
        return
    sure = row.spread == INTERVAL
    axes.hlines(place, row.low / scale, row.high / scale, color=look.color, zorder=1.5,
                lw=3.0 if sure else 0.7, alpha=0.35 if sure else 1.0)  # fmt: skip
    if not sure:
        ticks = [value / scale for value in row.values]
        axes.plot(ticks, [place] * len(ticks), ls="", marker="|", markersize=marks.TICK,
                  color=look.color, markeredgewidth=0.6, zorder=1.6)  # fmt: skip


def _bracket(axes: Axes, row: NamedTuple, place: int, look: style.Look, scale: float) -> None:
    """Draw the bracket of a rate search a little below the dot of the row."""
    y = place - 0.33
    high = row.high / scale if row.high == row.high else axes.get_xlim()[1]
    axes.hlines(y, row.low / scale, high, color=look.color, lw=0.8, zorder=2.5)
    ends = [row.low / scale, *([high] if row.high == row.high else [])]
    axes.plot(ends, [y] * len(ends), ls="", marker="+", markersize=4.4, color=look.color,
              markeredgewidth=0.8, zorder=2.5)  # fmt: skip


def _tied_bars(
    axes: Axes,
    members: pd.DataFrame,
    figure: Figure,
    rows: Mapping[str, int],
    name: str,
    scale: float,
) -> None:
    """Draw a grey bar from the best value to each tied one, behind them, and at the best."""
    tied = readable_values(members[having(members, TIED)])
    if tied.empty:
        return
    of_rivals = [comparable(figure.family, variant) for variant in members["variant"]]
    rivals = readable_values(members[of_rivals])["value"]
    best = rivals.idxmin() if quantity(name).better == "lower" else rivals.idxmax()
    for row in members.loc[[best, *tied.index]].itertuples():
        ends = (rivals[best] / scale, row.value / scale)
        axes.plot(ends, [rows[row.line]] * 2, color=style.TIED, lw=_TIED_BAR, solid_capstyle="butt",
                  marker="s", markersize=_TIED_BAR, markeredgewidth=0, zorder=0.3)  # fmt: skip


def _tied_key(table: pd.DataFrame) -> list[Artist]:
    if not having(table, TIED).any():
        return []
    return [Patch(facecolor=style.TIED, lw=0, label="cannot be told from the best")]
