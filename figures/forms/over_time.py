"""Quantities over the time of one run, one panel below the other.

A row has the column ``over_time``: ``seconds`` from the start of the run, and by the short name of
each quantity one value per entry of ``seconds``; or, where several things have the quantity (the
rate of each stream), such a list by name. Lines join the values, which are means over equal parts
of the run.

The values are those of one run: the spread between runs is unknown.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure as Picture
from matplotlib.lines import Line2D

from experiments.declare import Figure, Series
from experiments.records.quantities import quantity
from figures import marks, panel, plot, style
from figures.cells import OVERSUBSCRIBED, Cell, frame, having
from figures.footers import line_of
from figures.load import COUNTED, ONE_RUN, Results
from figures.stated import apart
from figures.table import cell_at
from figures.view import View

_PANEL, _WIDE_PANEL = 1.0, 1.35
# Colours and dashes of the lines of a panel that has several, in order.
_COLORS = (style.BLUE, style.VERMILLION, style.GREEN, style.ORANGE, style.SKY, style.PURPLE)
_DASHES = ("-", (0, (4, 1.2)), (0, (1.2, 1.2)))


def select(results: Results, view: View) -> pd.DataFrame:
    """Return the drawn cells, in the form of ``figures.cells``; x is in seconds."""
    found = [
        (variant, row)
        for variant, row in results.placed_rows(view.figure)
        if row["valid"] and row["over_time"]
    ]
    # Only one run is drawn: that of the first process.
    found.sort(key=lambda each: (each[1]["repetition"], each[1]["round"]))
    return frame(
        cell
        for variant, row in found[:1]
        for name in view.quantities
        for cell in _cells(view.figure, name, variant, row)
    )


def _cells(figure: Figure, name: str, variant: Series, row: Mapping[str, Any]) -> list[Cell]:
    """Return the values of a quantity over one run, for each thing that has the quantity."""
    run = row["over_time"]
    values = run[quantity(name).short_label]
    by_line = values if isinstance(values, dict) else {variant: values}
    states = (OVERSUBSCRIBED,) if row["threads"] > row["cores"] else ()
    return [
        cell_at(figure, name, variant, row["settings"], line=line, x=x, value=value, n=1,
                states=states)
        for line, own in by_line.items()
        for x, value in zip(run["seconds"], own, strict=True)
    ]  # fmt: skip


def draw(table: pd.DataFrame, view: View, footer: Sequence[str]) -> Picture:
    """Return the picture of `table`."""
    shown = view.quantities
    table, stated = apart(table)
    several = _several(table)
    keys = [
        [Line2D([], [], color=color, ls=dash, lw=style.LINE_WIDTH, label=line)
         for line, (color, dash) in _looks(several).items()]
    ]  # fmt: skip
    keys.append(marks.keys_of_stated(stated))
    oversubscribed = having(table, OVERSUBSCRIBED).any()
    # Only one run is drawn, whatever the number of runs.
    told = [ONE_RUN if each.startswith(COUNTED) else each for each in footer[1:]]
    footer = [line_of(told), *told] if told else footer
    footer = [*footer, *["grey: more threads than cores"] * bool(oversubscribed)]
    picture, panels = plot.canvas(
        style.NARROW, (len(shown), 1), _WIDE_PANEL if view.extended else _PANEL,
        view.title, keys, footer,
    )  # fmt: skip
    for place, (axes, name) in enumerate(zip(panels, shown, strict=True)):
        own = table[table["panel"] == name]
        if oversubscribed:
            axes.set_facecolor(style.CROWDED)
        if own.empty:
            panel.nothing(axes)
            panel.label_axis(axes, quantity(name).label)
        else:
            _draw_panel(axes, own, stated[stated["panel"] == name], several)
        if place == len(panels) - 1:
            axes.set_xlabel("Time (s)", labelpad=2.0)
        else:
            axes.tick_params(labelbottom=False)
    return picture


def _several(table: pd.DataFrame) -> list[str]:
    """Return the names of the lines of panels that have more than one."""
    lines = table.groupby("panel", sort=False)["line"].unique()
    return list(dict.fromkeys(line for own in lines if len(own) > 1 for line in own))


def _looks(lines: Sequence[str]) -> dict[str, tuple]:
    """Return colour and dash of each line, by index: dashes tell lines apart in grey."""
    return {
        line: (_COLORS[n % len(_COLORS)], _DASHES[n // 2 % len(_DASHES)])
        for n, line in enumerate(lines)
    }


def _draw_panel(
    axes: Axes, own: pd.DataFrame, stated: pd.DataFrame, several: Sequence[str]
) -> None:
    scale = panel.value_axis(axes, pd.concat([own, stated]))
    looks = _looks(several)
    for line, members in own.groupby("line", sort=False):
        color, dash = looks.get(line, (style.BLACK, "-"))
        axes.plot(members["x"], members["value"] / scale, color=color, ls=dash,
                  lw=style.LINE_WIDTH)  # fmt: skip
    marks.stated(axes, stated, {}, scale)
    axes.set_xlim(0.0, own["x"].max() + own["x"].min())
