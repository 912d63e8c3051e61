"""What one join compares a second more than each other one: the paper's figure 6c.

The first line of the figure is held against every other, at each place. A difference lies between
those of the ends of what is shown of the two; above 0 the first line is ahead.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import pandas as pd
from matplotlib.figure import Figure as Picture

from experiments.declare import Figure
from experiments.records.quantities import quantity
from figures import marks, panel, plot, style
from figures.forms import rows
from figures.load import Results

_PANEL = 1.5
_NOT_MEASURED = ("tied", "saturated")


def select(results: Results, paper: str, figure: Figure, extended: bool = False) -> pd.DataFrame:
    """Return what the figure draws, in the form of ``figures.table``."""
    table = rows.select(results, paper, figure, extended)
    first = table[table["variant"] == figure.lines[0]].set_index(["panel", "x"])
    found = []
    for each in table[table["variant"] != figure.lines[0]].to_dict("records"):
        place = (each["panel"], each["x"])
        if place in first.index:
            own = first.loc[place]
            each["value"], each["low"], each["high"] = (
                own["value"] - each["value"],
                own["low"] - each["high"],
                own["high"] - each["low"],
            )
            states = (each["state"].split(), own["state"].split())
            kept = dict.fromkeys(state for both in states for state in both)
            each["state"] = " ".join(state for state in kept if state not in _NOT_MEASURED)
            each["spread"] = f"ends of {each['spread']}" if each["spread"] else ""
            found.append(each)
    return pd.DataFrame(found, columns=table.columns)


def draw(
    table: pd.DataFrame, figure: Figure, footer: Sequence[str], extended: bool = False
) -> Picture:
    """Return the picture of `table`."""
    looks = plot.looks_of(table, figure)
    table, names = plot.placed(table, figure.x)
    curved = not names and not table.empty
    keys = [[plot.handle_of(look, curved) for look in looks.values()], marks.keys_of(table)]
    others = replace(figure, lines=figure.lines[1:])
    footer = [*footer, *plot.notes_of(table, others, extended)]
    picture, (axes,) = plot.canvas(
        style.NARROW, (1, 1), _PANEL, plot.title_of(figure, extended), keys, footer
    )
    axes.set_xlabel(figure.x_label, labelpad=2.0)
    if table["value"].notna().sum() == 0:
        panel.nothing(axes)
        return picture
    room = style.NARROW - plot.LEFT - plot.RIGHT
    panel.x_axis(axes, table, names, room, True, False)
    panel.crowded_places(axes, table)
    ends = table[["value", "low", "high"]].to_numpy(float)
    scale, unit = style.rate_unit(float(abs(ends[ends == ends]).max()), table["unit"].iloc[0])
    low, high = min(0.0, ends[ends == ends].min()), max(0.0, ends[ends == ends].max())
    # Where nothing differs there is no length of the axis to take a share of.
    beyond = 0.08 * (high - low) or scale
    axes.set_ylim((low - beyond) / scale, (high + beyond) / scale)
    axes.axhline(0.0, color=style.GREY, lw=0.6)
    one = quantity(figure.quantities[0]).label
    panel.label_axis(axes, f"{one}, ScaleJoin's less theirs ({unit})")
    slots = {} if curved else plot.slots_of(list(looks))
    for line, look in looks.items():
        own = table[table["line"] == line]
        own = own.assign(x=own["x"] + slots.get(line, 0.0))
        (marks.curve if curved else marks.single)(axes, own, look, scale)
    return picture
