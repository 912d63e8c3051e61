"""Parts of a whole: a stacked bar a line, a part a quantity.

There is a block of bars for each value of the other swept setting, all on one scale: to 1 where the
parts are shares, to the highest bar where they have a unit.

Parts differ by shade and by the number inside, so that they are readable in grey. A bar
is the mean over processes and rounds; the spread is in the CSV. A prediction is a grey dash at the
height of the whole bar; the parts of the prediction are in the CSV.
"""

from __future__ import annotations

from collections.abc import Sequence

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure as Picture
from matplotlib.patches import Patch

from experiments.judging.points import UsageError
from experiments.records.quantities import quantity
from figures import marks, panel, plot, style
from figures.cells import parted
from figures.forms import rows, side_by_side
from figures.load import Results
from figures.table import with_predicted
from figures.view import View

_PANEL, _HEADING, _BETWEEN = 1.35, 0.17, 0.1
_WIDTH, _DASH = 0.72, 0.96
# From dark to pale; the letters on the first ones are white.
SHADES = ("#08306b", "#2a6fb0", "#6aaed6", "#a9cfe5", "#d3e3f2", "#eaf1f9", "#f5f9fd", "#ffffff")
_WHITE_LETTERS = 2
# The smallest share of the axis that leaves room for a part's number.
_LEAST_NUMBERED = 0.09


def select(results: Results, view: View) -> pd.DataFrame:
    """Return the drawn cells, in the form of ``figures.cells``."""
    # The best value of a single part means nothing, so parts are not tied.
    table = rows.select(results, view, ties=False, brackets=False)
    return with_predicted(table, results, view)


def draw(table: pd.DataFrame, view: View, footer: Sequence[str]) -> Picture:
    """Return the picture of `table`."""
    figure = view.figure
    looks = plot.looks_of(table, figure)
    measured, predicted = parted(table)
    there = set(measured["panel"])
    shown = [name for name in plot.panels_of(measured, view) if name in there]
    columns = side_by_side.columns_of(table, figure) or [figure.subject]
    keys = [
        # The unit is on the axis.
        Patch(facecolor=shade, edgecolor=style.GREY, lw=0.4,
              label=quantity(name).label.partition(" (")[0])
        for name, shade in zip(shown, SHADES, strict=False)
    ]  # fmt: skip
    keys += marks.keys_of_predicted(predicted)
    own = measured[measured["panel"].isin(shown)]
    bars, estimates = (wholes_of(each, columns) for each in (own, predicted))
    footer = [*footer, *plot.notes_of(measured, view)]
    footer += plot.error_of(bars, estimates, "bar")
    room = (style.WIDE - plot.LEFT - plot.RIGHT - (len(columns) - 1) * _BETWEEN) / len(columns)
    names = panel.category_names([look.title for look in looks.values()], room)
    picture, panels = plot.canvas(
        style.WIDE, (1, len(columns)), _PANEL, view.title, [keys], footer,
        below=panel.below_of(names, label=False), top=_HEADING, between=(_BETWEEN, 0.0),
    )  # fmt: skip
    if len(shown) > len(SHADES):
        raise UsageError(
            f"figure {figure.id} stacks {len(shown)} parts; at most {len(SHADES)} can be told apart"
        )
    first = quantity(shown[0]) if shown else None
    shares = first is None or not first.unit
    highest = 1.0 / 1.12 if shares else pd.concat([bars["value"], estimates["value"]]).max()
    for place, (axes, column) in enumerate(zip(panels, columns, strict=True)):
        panel.categories(axes, names)
        axes.set_title(panel.heading_of(column), fontsize=style.SMALL, fontweight="bold", pad=3.0)
        panel.zero_based(axes, highest)
        _draw_panel(axes, measured[measured["subject"] == column], list(looks), shown)
        for row in estimates[estimates["subject"] == column].itertuples():
            marks.predicted_mark_of_bar(axes, list(looks).index(row.line), row.value, _DASH)
        if place:
            axes.tick_params(labelleft=False)
        else:
            panel.label_axis(axes, first.total_label if first else "")
    return picture


def wholes_of(table: pd.DataFrame, columns: Sequence[str]) -> pd.DataFrame:
    """Return the bars of some columns, a row each, with the sum of the parts as value."""
    own = table[table["subject"].isin(columns)]
    bars = own.groupby(["subject", "line", "x"], sort=False)
    wholes = bars["value"].sum(min_count=1).to_frame()
    return wholes.assign(panel="whole", states=bars["states"].first()).reset_index()


def _draw_panel(
    axes: Axes, members: pd.DataFrame, lines: Sequence[str], shown: Sequence[str]
) -> None:
    if members["value"].notna().sum() == 0:
        panel.nothing(axes)
        return
    tried, there = set(members["line"]), set(members["line"][members["value"].notna()])
    for line in [each for each in lines if each not in there]:
        # A line of ours may be measured at only some of the values of the other swept setting.
        told = "no valid run" if line in tried else "not measured"
        middle = axes.get_ylim()[1] / 2
        axes.text(lines.index(line), middle, told, rotation=90, ha="center", va="center",
                  fontsize=style.SMALL, color=style.GREY)  # fmt: skip
    at = dict.fromkeys(lines, 0.0)
    for number, name in enumerate(shown):
        own = members[(members["panel"] == name) & members["value"].notna()]
        for row in own.itertuples():
            told = quantity(name).short_label
            at[row.line] = part(axes, lines.index(row.line), at[row.line], row.value, number, told)


def part(axes: Axes, x: int, low: float, size: float, number: int, told: str) -> float:
    """Draw the `number`-th part of a bar, from `low` on, with a name inside; return the upper end.

    The limits of the axes must already be set.
    """
    axes.bar(x, size, _WIDTH, low, color=SHADES[number], edgecolor=style.GREY, lw=0.4)
    if size >= _LEAST_NUMBERED * axes.get_ylim()[1]:
        color = "white" if number < _WHITE_LETTERS else "black"
        axes.text(x, low + size / 2, told, color=color, ha="center", va="center",
                  fontsize=style.SMALL)  # fmt: skip
    return low + size
