"""Inserts by subindex while keys drift, a curve for each r: the paper's figure 13b.

There is a column for each spread of the keys. A row has the column ``inserts``, the share of the
inserts that each subindex got, in the order of keys. The counts are the same in every run, so only
one run is drawn. The extended form has the shares that summarize a curve, over r.
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
from experiments.records.quantities import quantity
from figures import panel, plot, style
from figures.cells import Cell, frame
from figures.forms import side_by_side
from figures.load import Results
from figures.table import cell_at
from figures.view import View

_PANEL = 1.6
_HEADING = 0.17


def select(results: Results, view: View) -> pd.DataFrame:
    """Return the drawn cells, in the form of ``figures.cells``; x is the subindex."""
    figure = view.figure
    if view.extended:
        return side_by_side.select(results, view)
    found: dict[tuple, tuple[Series, Mapping[str, Any]]] = {}
    for line, row in results.placed_rows(figure):
        if row["valid"] and row["inserts"]:
            place = tuple(row["settings"][sweep.setting] for sweep in figure.free)
            found.setdefault(place, (line, row))
    # Other profiles have other windows, with fewer subindexes; keep the widest window.
    widest = max((place[0] for place in found), default=None)
    return frame(
        cell
        for place in sorted(found)
        if place[0] == widest
        for cell in _cells(figure, *found[place])
    )


def _cells(figure: Figure, variant: Series, row: Mapping[str, Any]) -> list[Cell]:
    """Return the share of each subindex in one run."""
    (name,), settings, (column,) = figure.quantities, row["settings"], figure.sweeps
    own = {
        "subject": figure.setting_text(column.setting, settings[column.setting]),
        "line": figure.setting_text(figure.x.setting, settings[figure.x.setting]),
        "n": 1,
    }
    return [
        cell_at(figure, name, variant, settings, x=x, value=value, **own)
        for x, value in enumerate(row["inserts"]["shares"], start=1)
    ]


def draw(table: pd.DataFrame, view: View, footer: Sequence[str]) -> Picture:
    """Return the picture of `table`."""
    if view.extended:
        return side_by_side.draw(table, view, footer)
    lines, columns = (list(dict.fromkeys(table[each])) for each in ("line", "subject"))
    looks = {line: style.swept_look(place, line) for place, line in enumerate(lines)}
    key = [
        Line2D([], [], color=look.color, ls=look.dash, lw=style.LINE_WIDTH, label=look.title)
        for look in looks.values()
    ]
    footer = [*footer, *plot.absent(table, view.figure)]
    if (table["value"] == 0).any():
        footer.append("a gap in a curve: no insert")
    picture, panels = plot.canvas(
        style.WIDE, (1, max(len(columns), 1)), _PANEL, view.title, [key],
        footer, top=_HEADING,
    )  # fmt: skip
    if table.empty:
        panel.nothing(panels[0])
        return picture
    for axes, column in zip(panels, columns, strict=True):
        _draw_panel(axes, table, column, looks)
    panel.label_axis(panels[0], quantity(view.quantities[0]).label)
    return picture


def _draw_panel(
    axes: Axes, table: pd.DataFrame, column: str, looks: Mapping[str, style.Look]
) -> None:
    """Draw the curves of a column; all columns have the axes of the whole table."""
    panel.log_axis(axes, table["value"].to_numpy(float))
    axes.set_xlim(0.0, table["x"].max() + 1.0)
    axes.set_xlabel("Subindex", labelpad=2.0)
    axes.set_title(column, fontsize=style.SMALL, fontweight="bold", pad=3.0)
    own = table[table["subject"] == column]
    for line, look in looks.items():
        members = own[own["line"] == line]
        values = members["value"].to_numpy(float)
        axes.plot(members["x"], np.where(values > 0, values, np.nan), color=look.color,
                  ls=look.dash, lw=style.LINE_WIDTH)  # fmt: skip
