"""Quantities over a swept setting, a panel each: throughput above, latencies below.

From three values of x on, x is logarithmic and the points of a line are joined; words, and fewer
numbers, are categories with dots. A latency is measured at a fixed share of each variant's
throughput (the notes give the share), unless the panel says that all have a common rate.

Where the extended form has series that were measured at few values of x, it is a dot plot of all
series at these values (``figures.forms.rows``); otherwise it is the same form, but wide, with the
extended quantities.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure as Picture

from experiments.declare import Figure
from experiments.records.quantities import quantity
from figures import marks, panel, plot, style
from figures.cells import BRACKET, SATURATED, having, parted, readable_values
from figures.forms import rows
from figures.load import Results
from figures.stated import apart
from figures.table import bracket_panel, with_predicted
from figures.view import View

_PANEL, _WIDE_PANEL = 1.4, 1.9


def select(results: Results, view: View) -> pd.DataFrame:
    """Return the drawn cells, in the form of ``figures.cells``."""
    table = rows.select(results, view)
    if view.extended and _few_places(table, view.figure):
        table = rows.at_ends(table, view.figure)
    return with_predicted(table, results, view)


def _few_places(table: pd.DataFrame, figure: Figure) -> bool:
    """Return whether the table has series that the paper's figure lacks."""
    return not set(table["line"][table["variant"].isin(figure.lines)]) >= set(table["line"])


def draw(table: pd.DataFrame, view: View, footer: Sequence[str]) -> Picture:
    """Return the picture of `table`."""
    figure = view.figure
    if view.extended and _few_places(table, figure):
        return rows.draw(table, view, footer)
    looks = plot.looks_of(table, figure)
    table, names = plot.placed(table, figure.x)
    return over(table, view, footer, looks, names, figure.x_label)


def over(
    table: pd.DataFrame,
    view: View,
    footer: Sequence[str],
    looks: Mapping[str, style.Look],
    names: Sequence[str],
    label: str,
    free: bool = False,
) -> Picture:
    """Return the picture of `table` over its numeric x.

    Parameters
    ----------
    table, view, footer
        As in ``draw``.
    looks : mapping of str to Look
        By line.
    names : sequence of str
        Of the categories that x counts; empty where x is logarithmic.
    label : str
        Of the x axis.
    free : bool
        Whether x was not chosen: then round numbers are labelled instead of the measured ones,
        and rates that span more than a decade have a logarithmic axis too.
    """
    keys = [marks.keys_of(table)]
    table, stated = apart(table)
    table, predicted = parted(table)
    shown = plot.panels_of(table, view)
    footer = [*footer, *plot.notes_of(table, view), *plot.error_of(table, predicted)]
    width, shape, height = style.NARROW, (len(shown), 1), _PANEL
    if view.extended:
        width, shape, height = style.WIDE, (1, len(shown)), _WIDE_PANEL
    curved = not table.empty if free else plot.is_curve(table, names)
    right = marks.names_fit(looks, width / shape[1], height) if curved else None
    named = right is not None
    if right is None:
        right = plot.RIGHT
        keys.insert(0, [plot.handle_of(look, curved) for look in looks.values()])
    between = (plot.BETWEEN_WIDE + right - plot.RIGHT, plot.BETWEEN_HIGH)
    room = (width - plot.LEFT - right - (shape[1] - 1) * between[0]) / shape[1]
    names = panel.category_names(names, room)
    picture, panels = plot.canvas(width, shape, height, view.title, keys, footer, right=right,
                                  below=panel.below_of(names), between=between)  # fmt: skip
    for place, (axes, name) in enumerate(zip(panels, shown, strict=True)):
        labelled = view.extended or place == len(panels) - 1
        # Panels in one column share their x values; a panel that stands alone has separate ones.
        here, own, told = (
            _own_places(table, predicted, names, name)
            if view.extended
            else (table, predicted, names)
        )
        panel.x_axis(axes, pd.concat([here, stated]), told, room, labelled, free)
        if curved:
            marks.room_for_brackets(axes, here[here["spread"] == BRACKET])
        if labelled:
            axes.set_xlabel(label, labelpad=2.0)
        if not (table["panel"] == name).any():
            panel.nothing(axes)
            panel.label_axis(axes, quantity(name).label)
            continue
        own = own[own["panel"] == name]
        logarithmic = view.extended or free or view.figure.logarithmic
        beside = stated[stated["panel"] == name]
        _draw_panel(axes, here, own, beside, name, looks, names, curved, named, logarithmic)
        if view.extended and place:
            panel.label_nearer(axes)
    return picture


def _own_places(
    table: pd.DataFrame, predicted: pd.DataFrame, names: Sequence[str], name: str
) -> tuple[pd.DataFrame, pd.DataFrame, list[str]]:
    """Return rows and category names of only those x at which a panel has rows."""
    there = table["panel"].isin((name, bracket_panel(name)))
    places = sorted(set(table["x"][there]))
    table, predicted = (each[each["x"].isin(places)] for each in (table, predicted))
    if not names or not places:
        return table, predicted, list(names)
    new = {x: float(place) for place, x in enumerate(places)}
    table, predicted = (each.assign(x=each["x"].map(new)) for each in (table, predicted))
    return table, predicted, [names[int(x)] for x in places]


def _draw_panel(
    axes: Axes,
    table: pd.DataFrame,
    predicted: pd.DataFrame,
    stated: pd.DataFrame,
    name: str,
    looks: Mapping[str, style.Look],
    names: Sequence[str],
    curved: bool,
    named: bool,
    logarithmic: bool,
) -> None:
    members = table[table["panel"] == name]
    brackets = table[table["panel"] == bracket_panel(name)]
    panel.shade_oversubscribed(axes, pd.concat([table, stated]))
    every = pd.concat([members, brackets, predicted, stated])
    scale = panel.value_axis(axes, every, logarithmic)
    if names:
        slots = plot.slots_of(list(looks))
        members, brackets, predicted, stated = (
            each.assign(x=each["x"] + each["line"].map(slots))
            for each in (members, brackets, predicted, stated)
        )
    for line, look in looks.items():
        marks.predicted_marks(
            axes, predicted[predicted["line"] == line], look, scale, joined=curved
        )
        own = members[members["line"] == line]
        if not own.empty:
            (marks.curve if curved else marks.single)(axes, own, look, scale)
    marks.brackets(axes, brackets, looks, scale)
    marks.stated(axes, stated, looks, scale)
    marks.at_edges(axes, members, looks)
    if readable_values(members).empty:
        saturated = having(members, SATURATED).any()
        panel.nothing(axes, "all saturated" if saturated else "no valid run")
    if named:
        marks.name_ends(axes, members, looks, scale)
