"""Throughput along the stream while keys drift, a curve for each r: the paper's figure 13c.

A row has the column ``along_stream``: tuples/s in each part of a run, in order. Dashed lines mark
the start and the end of the drift. A value is the geometric mean over all runs at the same
setting. The extended form has the throughput before, during and after the drift, over r.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure as Picture
from matplotlib.lines import Line2D

from experiments.declare import Figure, Series
from experiments.families.join.columns import DRIFT_BEGINS, DRIFT_ENDS, STREAM_ENDS
from experiments.records.quantities import quantity
from figures import panel, plot, style
from figures.cells import OVERSUBSCRIBED, Cell, frame, having
from figures.forms import side_by_side
from figures.load import Results
from figures.table import cell_at
from figures.view import View

_PANEL = 1.6


def select(results: Results, view: View) -> pd.DataFrame:
    """Return the drawn cells, in the form of ``figures.cells``; x is in windows."""
    figure = view.figure
    if view.extended:
        return side_by_side.select(results, view)
    found: dict[tuple, list[tuple[Series, Mapping[str, Any]]]] = {}
    for line, row in results.placed_rows(figure):
        if line in figure.lines and row["valid"] and row["along_stream"]:
            place = tuple(row["settings"][sweep.setting] for sweep in figure.free)
            found.setdefault(place, []).append((line, row))
    # Other profiles have other windows, and so other streams; keep the widest window.
    widest = max((place[0] for place in found), default=None)
    return frame(
        cell
        for place in sorted(found)
        if place[0] == widest
        for cell in _cells(figure, found[place])
    )


def _cells(figure: Figure, runs: Sequence[tuple[Series, Mapping[str, Any]]]) -> list[Cell]:
    """Return the throughput of each part of the stream, over all runs at one setting."""
    variant, row = runs[0]
    (name,), settings = figure.quantities, row["settings"]
    rates = np.array([each["along_stream"]["tps"] for _, each in runs])
    own = {
        "line": figure.setting_text(figure.x.setting, settings[figure.x.setting]),
        "n": len({each["repetition"] for _, each in runs}),
        "states": (OVERSUBSCRIBED,) if row["oversubscribed"] else (),
    }
    values = np.exp(np.log(rates).mean(axis=0))
    return [
        cell_at(figure, name, variant, settings, x=x, value=value, **own)
        for x, value in zip(row["along_stream"]["place"], values, strict=True)
    ]


def draw(table: pd.DataFrame, view: View, footer: Sequence[str]) -> Picture:
    """Return the picture of `table`."""
    if view.extended:
        return side_by_side.draw(table, view, footer)
    lines = list(dict.fromkeys(table["line"]))
    looks = {line: style.swept_look(place, line) for place, line in enumerate(lines)}
    key = [
        Line2D([], [], color=look.color, ls=look.dash, lw=style.LINE_WIDTH, label=look.title)
        for look in looks.values()
    ]
    oversubscribed = having(table, OVERSUBSCRIBED).any()
    footer = [*footer, *["grey: more threads than cores"] * bool(oversubscribed)]
    picture, (axes,) = plot.canvas(style.NARROW, (1, 1), _PANEL, view.title, [key], footer)
    if table.empty:
        panel.nothing(axes)
        panel.label_axis(axes, quantity(view.quantities[0]).label)
    else:
        _draw_panel(axes, table, looks, oversubscribed)
    return picture


def _draw_panel(
    axes: Axes, table: pd.DataFrame, looks: Mapping[str, style.Look], oversubscribed: bool
) -> None:
    """Draw a curve a line, and the start and the end of the drift."""
    if oversubscribed:
        axes.set_facecolor(style.CROWDED)
    scale = panel.value_axis(axes, table)
    for place in (DRIFT_BEGINS, DRIFT_ENDS):
        axes.axvline(place, color=style.GREY, lw=0.8, ls=style.DENSE, zorder=1)
    for line, look in looks.items():
        members = table[table["line"] == line]
        axes.plot(members["x"], members["value"] / scale, color=look.color, ls=look.dash,
                  lw=style.LINE_WIDTH)  # fmt: skip
    first, last = int(table["x"].min()), STREAM_ENDS
    axes.set_xlim(first, last)
    axes.set_xticks(range(first, last + 1, 2))
    axes.set_xlabel("Place in the stream (windows)", labelpad=2.0)
