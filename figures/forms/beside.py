"""Quantities over a swept setting for each value of another one: rows and columns of panels.

A column a value of ``Figure.beside`` (a query, say), a row a quantity, and the same lines in all of
them. Values have an axis of their own in each panel, since columns differ by more than their lines
do; rates of one row share their unit.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure as Picture

from experiments.declare import Figure
from experiments.series import meaningless
from figures import marks, panel, plot, style
from figures.forms import rows
from figures.load import Results
from figures.table import parted, readable_values, with_predicted

_PANEL = 1.4
# Inches between panels beside each other: the numbers of an axis; and for their headings.
_NUMBERS, _HEADING = 0.36, 0.17


def select(results: Results, paper: str, figure: Figure, extended: bool = False) -> pd.DataFrame:
    """Return what the figure draws, in the form of ``figures.table``.

    A column that has few places of x, where others have more, is of another figure's settings, and
    tells little by itself. So is one at a value that is not beside.
    """
    table = rows.select(results, paper, figure, extended, brackets=False)
    table = with_predicted(table, results, paper, figure, extended)
    table = table[table["subject"].isin(columns_of(table, figure))]
    # A line that x means nothing to stands at every place, whoever measured it.
    everywhere = {line for line in set(table["variant"]) if meaningless(figure, line)}
    places = table[~table["variant"].isin(everywhere)].groupby("subject")["x"].nunique()
    return table[table["subject"].isin(fuller(places))].reset_index(drop=True)


def fuller(counts: pd.Series) -> pd.Index:
    """Return the columns that have more than half of what the fullest one has, by their counts."""
    return counts.index[2 * counts > counts.max()]


def columns_of(table: pd.DataFrame, figure: Figure) -> list[str]:
    """Return the values of what is beside, in words and in their order."""
    there = set(table["subject"])
    sweep = figure.beside
    every = dict.fromkeys(value for values in sweep.values.values() for value in values)
    ordered = sorted(every, key=sweep.place_of)
    return [told for value in ordered if (told := figure.told(sweep.setting, value)) in there]


def draw(
    table: pd.DataFrame, figure: Figure, footer: Sequence[str], extended: bool = False
) -> Picture:
    """Return the picture of `table`."""
    looks = plot.looks_of(table, figure)
    columns = columns_of(table, figure) or [figure.subject]
    table, names = plot.placed(table, figure.x)
    curved = not names and not table.empty
    keys = [[plot.handle_of(look, curved) for look in looks.values()], marks.keys_of(table)]
    table, predicted = parted(table)
    shown = plot.panels_of(table, figure, extended)
    footer = [*footer, *plot.notes_of(table, figure, extended), *plot.error_of(table, predicted)]
    # One column has the width of any other figure.
    wide = style.WIDE if len(columns) > 1 else style.NARROW
    room = (wide - plot.LEFT - plot.RIGHT - (len(columns) - 1) * _NUMBERS) / len(columns)
    names = panel.category_names(names, room)
    picture, panels = plot.canvas(
        wide, (len(shown), len(columns)), _PANEL, plot.title_of(figure, extended), keys,
        footer, below=panel.below_of(names), top=_HEADING, between=(_NUMBERS, plot.BETWEEN_HIGH),
    )  # fmt: skip
    words = figure.words_of(figure.x.setting)
    for place, axes in enumerate(panels):
        row, column = divmod(place, len(columns))
        of_row, foretold = (
            each[each["panel"] == shown[row]] for each in (table, predicted)
        )  # fmt: skip
        labelled = row == len(shown) - 1
        panel.x_axis(axes, table, names, room, labelled)
        if labelled:
            axes.set_xlabel(f"{words[0].upper()}{words[1:]}", labelpad=2.0)
        _draw_panel(axes, of_row, foretold, columns[column], looks, curved)
        if column:
            axes.set_ylabel("")
        if row == 0:
            axes.set_title(columns[column], fontsize=style.SMALL, fontweight="bold", pad=3.0)
    return picture


def _draw_panel(
    axes: Axes,
    of_row: pd.DataFrame,
    foretold: pd.DataFrame,
    column: str,
    looks: Mapping[str, style.Look],
    curved: bool,
) -> None:
    """Draw one panel: the members of a row that a column has, and what is foretold of them."""
    members, foretold = (each[each["subject"] == column] for each in (of_row, foretold))
    if members.empty:
        panel.nothing(axes)
        return
    panel.crowded_places(axes, members)
    scale = panel.value_axis(axes, pd.concat([members, foretold]), beside=of_row)
    if not curved:
        slots = plot.slots_of(list(looks))
        members, foretold = (
            each.assign(x=each["x"] + each["line"].map(slots)) for each in (members, foretold)
        )
    for line, look in looks.items():
        marks.foretold(axes, foretold[foretold["line"] == line], look, scale, joined=curved)
        own = members[members["line"] == line]
        if not own.empty:
            (marks.curve if curved else marks.single)(axes, own, look, scale)
    marks.at_edges(axes, members, looks)
    if readable_values(members).empty:
        panel.nothing(axes)
