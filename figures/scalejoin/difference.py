"""The lead of one join over each other one in comparisons a second: the paper's figure 6c.

The first line of the figure is compared with every other line, at each x and process by process:
the spread is that of the differences. Above 0 the first line is ahead.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import pandas as pd
from matplotlib.figure import Figure as Picture

from experiments.records.quantities import quantity
from experiments.records.statistics import difference
from figures import marks, panel, plot, style
from figures.cells import SATURATED, Cell, joined
from figures.load import Results, points_of
from figures.table import panel_of, x_of
from figures.view import View

_PANEL = 1.5
# Horizontal distance between two lines, as a share of the axis' length and a ratio of x, so that
# neither covers the spread of the other.
_APART = 0.02


def select(results: Results, view: View) -> pd.DataFrame:
    """Return the drawn cells, in the form of ``figures.cells``."""
    panels = (panel_of(results, view, name, ties=False) for name in view.quantities)
    return joined(_differences(cells, results, view) for cells in panels)


def _differences(cells: Sequence[Cell], results: Results, view: View) -> list[Cell]:
    """Return the cells of a panel minus those of the first line at the same x, where it has one."""
    figure = view.figure
    values = {
        (point.variant, x_of(point, figure)): point.values
        for name in {cell.panel for cell in cells}
        for point in points_of(results, view, name)
    }
    firsts = {cell.x: cell for cell in cells if cell.variant == figure.lines[0]}
    found = []
    for cell in cells:
        first = firsts.get(cell.x)
        if first is None or first.variant == cell.variant:
            continue
        spread = difference(*(values.get((each.variant, cell.x), {}) for each in (first, cell)))
        shown = cell.without_value() if spread is None else cell.with_spread(spread)
        states = dict.fromkeys(each for each in (*cell.states, *first.states) if each != SATURATED)
        found.append(shown._replace(states=tuple(states)))
    return found


def draw(table: pd.DataFrame, view: View, footer: Sequence[str]) -> Picture:
    """Return the picture of `table`."""
    figure = view.figure
    looks = plot.looks_of(table, figure)
    table, names = plot.placed(table, figure.x)
    curved = not names and not table.empty
    keys = [[plot.handle_of(look, curved) for look in looks.values()], marks.keys_of(table)]
    others = replace(view, figure=replace(figure, lines=figure.lines[1:]))
    footer = [*footer, *plot.notes_of(table, others)]
    picture, (axes,) = plot.canvas(style.NARROW, (1, 1), _PANEL, view.title, keys, footer)
    axes.set_xlabel(figure.x_label, labelpad=2.0)
    if table["value"].notna().sum() == 0:
        panel.nothing(axes)
        return picture
    room = style.NARROW - plot.LEFT - plot.RIGHT
    panel.x_axis(axes, table, names, room, True, False)
    panel.shade_oversubscribed(axes, table)
    ends = table[["value", "low", "high", "near", "far"]].to_numpy(float)
    scale, unit = style.rate_unit(float(abs(ends[ends == ends]).max()), table["unit"].iloc[0])
    low, high = min(0.0, ends[ends == ends].min()), max(0.0, ends[ends == ends].max())
    # If all values are equal, the axis has no length to take a share of.
    beyond = 0.08 * (high - low) or scale
    axes.set_ylim((low - beyond) / scale, (high + beyond) / scale)
    axes.axhline(0.0, color=style.GREY, lw=0.6)
    one = quantity(figure.quantities[0]).label
    panel.label_axis(axes, f"{one}, ScaleJoin's less theirs ({unit})")
    slots = plot.slots_of(list(looks))
    wide = table["x"].max() / table["x"].min() if curved else 1.0
    for number, (line, look) in enumerate(looks.items()):
        own = table[table["line"] == line]
        beside = _APART * (number - (len(looks) - 1) / 2)
        own = own.assign(x=own["x"] * wide**beside if curved else own["x"] + slots[line])
        (marks.curve if curved else marks.single)(axes, own, look, scale)
    return picture
