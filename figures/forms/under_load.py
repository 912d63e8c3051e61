"""Quantities over the offered rate, from zero to beyond saturation: a row of panels a quantity.

Unlike latencies (``over_rate``), rates, shares and queue lengths have a meaningful value beyond
saturation, which is drawn. There is a column for each value of ``Figure.columned``, with a separate
rate axis: the rates of columns may differ by more than those of their lines. Rates and queues have
linear axes from zero, where a proportion is a straight line.

A thin upright line marks the closed-loop throughput of each line; the offered rates are shares of
it. Where tuples/s are shown, a grey line through zero marks the offered rate.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure as Picture
from matplotlib.lines import Line2D

from experiments.records.columns import CLOSED
from experiments.records.quantities import quantity
from figures import marks, panel, plot, style
from figures.cells import OVERSUBSCRIBED, SATURATED, having, joined, readable_values
from figures.forms import rows, side_by_side
from figures.load import Results
from figures.table import RATE_UNIT, RATE_UNITS, panel_of
from figures.view import View

_PANEL, _HEADING = 1.3, 0.17
# If the rates of columns differ by more than this factor, each column has a separate unit.
_ONE_UNIT = 100.0


def select(results: Results, view: View) -> pd.DataFrame:
    """Return the drawn cells, in the form of ``figures.cells``; x is in tuples/s.

    The panel of the closed-loop throughput holds the maxima, with the maximum as x.
    """
    # Lines are offered different rates: only their maxima are compared.
    return joined(panel_of(results, view, name, ties=_is_maximum(name)) for name in view.quantities)


def _is_maximum(name: str) -> bool:
    return quantity(name).phase == CLOSED


def draw(table: pd.DataFrame, view: View, footer: Sequence[str]) -> Picture:
    """Return the picture of `table`."""
    looks = plot.looks_of(table, view.figure)
    shown = [name for name in plot.panels_of(table, view) if not _is_maximum(name)]
    columns = side_by_side.columns_of(table, view.figure) or [view.figure.subject]
    maxima, curves = table[table["panel"].map(_is_maximum)], table[table["panel"].isin(shown)]
    keys = [[plot.handle_of(look) for look in looks.values()]]
    keys.append([*marks.keys_of(curves), *_aids(maxima, curves)])
    wide = view.extended or len(columns) > 1
    width = style.WIDE if wide else style.NARROW
    of_rows = {name: curves[curves["panel"] == name] for name in shown}
    own_units = [name for name in shown if _differ(of_rows[name])]
    between = plot.BETWEEN_WIDE
    if not own_units:
        between = side_by_side.numbers_of(curves, curves.iloc[:0], shown, columns[1:])
    picture, panels = plot.canvas(
        width, (len(shown), len(columns)), _PANEL, view.title, keys,
        [*footer, *_notes(table, view, looks)], top=_HEADING if view.figure.columned else 0.0,
        right=rows.RIGHT, between=(between, plot.BETWEEN_HIGH),
    )  # fmt: skip
    for place, axes in enumerate(panels):
        row, column = divmod(place, len(columns))
        here, tops = (each[each["subject"] == columns[column]] for each in (curves, maxima))
        scale = _rate_axis(axes, here, tops, labelled=row == len(shown) - 1)
        own = of_rows[shown[row]]
        alone = shown[row] in own_units
        _draw_panel(axes, own, columns[column], looks, scale, alone)
        _draw_maxima(axes, tops, looks, scale)
        if column and alone:
            panel.label_nearer(axes)
        elif column:
            axes.set_ylabel("")
        if row == 0 and view.figure.columned:
            heading = panel.heading_of(columns[column])
            axes.set_title(heading, fontsize=style.SMALL, fontweight="bold", pad=3.0)
    return picture


def _differ(of_row: pd.DataFrame) -> bool:
    """Return whether the rates of a row of panels differ too much for one unit."""
    if of_row.empty or of_row["unit"].iloc[0] not in RATE_UNITS:
        return False
    largest = readable_values(of_row).groupby("subject")["value"].max()
    return bool(largest.max() > _ONE_UNIT * largest.min())


def _aids(maxima: pd.DataFrame, curves: pd.DataFrame) -> list[Line2D]:
    """Return the key entries of the upright lines, and of the line of the offered rate."""
    found = []
    if maxima["value"].notna().any():
        found.append(Line2D([], [], color=style.BLACK, lw=0.7, label="closed-loop throughput"))
    if (readable_values(curves)["unit"] == RATE_UNIT).any():
        found.append(Line2D([], [], color=style.FAINT, lw=1.2, label="all that is offered"))
    return found


def _notes(table: pd.DataFrame, view: View, looks: Mapping[str, style.Look]) -> list[str]:
    """Return the notes on the points.

    Where only some lines are oversubscribed, the background cannot show it, so the notes name them.
    A saturated point has a value like any other, unless it is a latency.
    """
    oversubscribed = having(table, OVERSUBSCRIBED)
    told = []
    if oversubscribed.any() and not oversubscribed.all():
        lines = dict.fromkeys(table["line"][oversubscribed])
        told.append(f"more threads than cores: {', '.join(looks[each].title for each in lines)}")
    without = {SATURATED} if not (table["unit"] == "ms").any() else set()
    without |= {OVERSUBSCRIBED} if told else set()
    states = table["states"].map(lambda own: tuple(s for s in own if s not in without))
    return [*told, *plot.notes_of(table.assign(states=states), view)]


def _rate_axis(axes: Axes, here: pd.DataFrame, tops: pd.DataFrame, labelled: bool) -> float:
    """Prepare the axis of a column's offered rates; return the divisor of the rates."""
    rates = pd.concat([here["x"], tops["value"]]).dropna().astype(float)
    scale, unit = style.rate_unit(rates.max() if len(rates) else 0.0)
    panel.zero_based(axes, rates.max() / scale if len(rates) else 0.0, along="x")
    axes.grid(visible=False, axis="x")
    axes.tick_params(labelbottom=labelled)
    if labelled:
        axes.set_xlabel(f"Offered rate ({unit})", labelpad=2.0)
    if len(here) and having(here, OVERSUBSCRIBED).all():
        axes.set_facecolor(style.CROWDED)
    return scale


def _draw_panel(
    axes: Axes,
    of_row: pd.DataFrame,
    column: str,
    looks: Mapping[str, style.Look],
    across: float,
    alone: bool,
) -> None:
    """Draw one panel: the points of a row of panels that belong to one column.

    The values share the unit of the whole row unless the panel stands `alone`.
    """
    members = of_row[of_row["subject"] == column]
    if members.empty:
        panel.nothing(axes)
        return
    scale = panel.value_axis(axes, members, scaled_with=members if alone else of_row)
    members = members.assign(x=members["x"].astype(float) / across)
    if members["unit"].iloc[0] == RATE_UNIT and not readable_values(members).empty:
        # Up to the edge of the panel.
        most = min(members["x"].max(), axes.get_ylim()[1] * scale / across)
        axes.plot([0.0, most], [0.0, most * across / scale], color=style.FAINT, lw=1.2, zorder=0.6,
                  scaley=False, scalex=False)  # fmt: skip
    for line, look in looks.items():
        own = members[members["line"] == line]
        if not own.empty:
            marks.curve(axes, own, look, scale)
    marks.at_edges(axes, members, looks)
    if readable_values(members).empty:
        saturated = having(members, SATURATED).any()
        panel.nothing(axes, "all saturated" if saturated else "no valid run")


def _draw_maxima(
    axes: Axes, tops: pd.DataFrame, looks: Mapping[str, style.Look], across: float
) -> None:
    for row in tops[tops["value"].notna()].itertuples():
        look = looks[row.line]
        axes.axvline(row.value / across, color=look.color, lw=0.7, ls=look.dash, alpha=0.8,
                     zorder=0.5)  # fmt: skip
