"""Quantities over a swept setting for each value of another one: rows and columns of panels.

There is a column for each value of ``Figure.columned`` (a query, say), a row for each quantity, and
the same lines in every panel. Each panel has a separate value axis, since columns differ by more
than the lines in them do; rates of one row share a unit.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import product

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure as Picture

from experiments.declare import Figure
from figures import marks, panel, plot, style
from figures.cells import parted, readable_values
from figures.forms import rows
from figures.load import Results
from figures.stated import apart
from figures.table import with_predicted
from figures.view import View

_PANEL = 1.4
# Inches between the numbers of an axis and the panel left of them; and for headings.
_CLEAR, _HEADING = 0.06, 0.17


def select(results: Results, view: View) -> pd.DataFrame:
    """Return the drawn cells, in the form of ``figures.cells``."""
    table = rows.select(results, view, brackets=False)
    return with_predicted(table, results, view)


def columns_of(table: pd.DataFrame, figure: Figure) -> list[str]:
    """Return the values that have a column, in words and in order."""
    there = set(table["subject"])
    told = []
    for sweep in figure.columned:
        every = dict.fromkeys(value for values in sweep.values.values() for value in values)
        told.append(
            [figure.setting_text(sweep.setting, v) for v in sorted(every, key=sweep.sort_key)]
        )
    return [column for each in product(*told) if (column := ", ".join(each)) in there]


def draw(table: pd.DataFrame, view: View, footer: Sequence[str]) -> Picture:
    """Return the picture of `table`."""
    figure = view.figure
    looks = plot.looks_of(table, figure)
    columns = columns_of(table, figure) or [figure.subject]
    table, names = plot.placed(table, figure.x)
    table, stated = apart(table)
    curved = plot.is_curve(table, names)
    keys = [
        [plot.handle_of(look, curved) for look in looks.values()],
        marks.keys_of(pd.concat([table, stated])),
    ]
    table, predicted = parted(table)
    shown = plot.panels_of(table, view)
    footer = [*footer, *plot.notes_of(table, view), *plot.error_of(table, predicted)]
    # A figure of one column has the usual width.
    wide = style.WIDE if len(columns) > 1 else style.NARROW
    numbers = numbers_of(table, predicted, shown, columns[1:])
    grey = {line: look._replace(color=style.GREY) for line, look in looks.items()}
    # Only a single column has room for the names of joined predictions.
    joined = curved and predicted["line"].nunique() > 1 and len(columns) == 1
    right = marks.names_fit(grey, wide, _PANEL) if joined else None
    named = grey if right is not None else {}
    right = right or plot.RIGHT
    room = (wide - plot.LEFT - right - (len(columns) - 1) * numbers) / len(columns)
    names = panel.category_names(names, room)
    picture, panels = plot.canvas(
        wide, (len(shown), len(columns)), _PANEL, view.title, keys, footer,
        right=right, below=panel.below_of(names), top=_HEADING,
        between=(numbers, plot.BETWEEN_HIGH),
    )  # fmt: skip
    for place, axes in enumerate(panels):
        row, column = divmod(place, len(columns))
        labelled = row == len(shown) - 1
        panel.x_axis(axes, pd.concat([table, stated]), names, room, labelled)
        if labelled:
            axes.set_xlabel(figure.x_label, labelpad=2.0)
        kinds = (table, predicted, stated)
        _draw_panel(axes, kinds, shown[row], columns[column], looks, names, curved, named)
        if column:
            axes.set_ylabel("")
        if row == 0:
            heading = panel.heading_of(columns[column])
            axes.set_title(heading, fontsize=style.SMALL, fontweight="bold", pad=3.0)
    return picture


def numbers_of(
    table: pd.DataFrame, predicted: pd.DataFrame, shown: Sequence[str], columns: Sequence[str]
) -> float:
    """Return the inches that the widest numbers of these columns need, measured as drawn."""
    picture = Picture(figsize=(1.0, _PANEL))
    widths = [0.0]
    for name in shown:
        of_row, estimates = (each[each["panel"] == name] for each in (table, predicted))
        for column in set(columns) & set(of_row["subject"]):
            members = pd.concat([each[each["subject"] == column] for each in (of_row, estimates)])
            axes = picture.add_axes((0.0, 0.0, 1.0, 1.0))
            panel.value_axis(axes, members, scaled_with=of_row)
            widths.append(panel.numbers_of(axes))
            axes.remove()
    return max(widths) + _CLEAR


def _draw_panel(
    axes: Axes,
    kinds: tuple[pd.DataFrame, pd.DataFrame, pd.DataFrame],
    name: str,
    column: str,
    looks: Mapping[str, style.Look],
    names: Sequence[str],
    curved: bool,
    named: Mapping[str, style.Look],
) -> None:
    """Draw one panel: measured points, predictions and published values of a row and column.

    Prediction lines bear the names in `named` at their ends.
    """
    table = kinds[0]
    of_row, *others = (each[each["panel"] == name] for each in kinds)
    members, estimates, stated = (each[each["subject"] == column] for each in (of_row, *others))
    if members.empty:
        panel.nothing(axes)
        return
    panel.shade_oversubscribed(axes, table[table["subject"] == column])
    scale = panel.value_axis(axes, pd.concat([members, estimates, stated]), scaled_with=of_row)
    if names:
        slots = plot.slots_of(list(looks))
        members, estimates, stated = (
            each.assign(x=each["x"] + each["line"].map(slots))
            for each in (members, estimates, stated)
        )
    for line, look in looks.items():
        of_line = estimates[estimates["line"] == line]
        marks.predicted_marks(axes, of_line, look, scale, joined=curved)
        own = members[members["line"] == line]
        if not own.empty:
            (marks.curve if curved else marks.single)(axes, own, look, scale)
    marks.stated(axes, stated, looks, scale)
    marks.name_ends(axes, estimates, named, scale)
    marks.at_edges(axes, members, looks)
    if readable_values(members).empty:
        panel.nothing(axes)
