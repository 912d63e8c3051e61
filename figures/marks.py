"""Marks on the axes: lines, markers, intervals and ranges, brackets, and names at line ends.

A marker is pale where its point is weak (``style.WEAK``). A saturated latency is a caret at the
upper edge and a failed point a red cross on the axis: neither has a value, and no line joins them.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np
import pandas as pd
from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.lines import Line2D
from matplotlib.path import Path
from matplotlib.transforms import ScaledTranslation, blended_transform_factory

from experiments.records.statistics import INTERVAL
from figures import plot, style
from figures.cells import (
    BRACKET,
    FAILED,
    LEVEL,
    PREDICTED,
    having,
    off_scale,
    parted,
    readable_values,
)
from figures.stated import SOURCE, apart

# Open shapes that no variant uses as a marker: a tip pointing up, and one pointing right.
CARET = Path([(-1.0, -1.0), (0.0, 0.0), (1.0, -1.0)])
CARET_RIGHT = Path([(-1.0, -1.0), (0.0, 0.0), (-1.0, 1.0)])
CARET_SIZE, CROSS_SIZE = 5.0, 4.6
# Distance in points between edge marks that would cover each other.
APART = 6.0
# Brackets, in points: the distance from a point to the stem of the first bracket and from each
# stem to the next; the width of the caps; the distance to the frame.
ASIDE, CAPS, TO_FRAME = 5.5, 5.5, 1.5
# Width in points of the tick of one value.
TICK = 5.0
# Names at line ends, in inches: the gap to the axis, and the height of a row.
NAME_GAP, NAME_ROW = 0.09, 0.115
# The largest share of a figure's width that names at line ends may take.
MOST_FOR_NAMES = 0.3
_BRACKET = Path(
    [(-0.5, -0.6), (0.5, -0.6), (0.0, -1.0), (0.0, 1.0), (-0.5, 0.6), (0.5, 0.6)],
    [Path.MOVETO, Path.LINETO, Path.MOVETO, Path.LINETO, Path.MOVETO, Path.LINETO],
)
# The dash of a prediction, in points: length (wider than any marker) and thickness.
DASH, DASH_WIDTH = 7.0, 1.2
# Width in points of the hollow mark of a published value: larger than any measured marker.
STATED_SIZE = 7.5


def keys_of(table: pd.DataFrame) -> list[Artist]:
    """Return the entries of a key that name no variant: interval, range, bracket, prediction."""
    own, stated = apart(table)
    measured, predicted = parted(own)
    own = measured[measured["spread"] != BRACKET]
    kinds = sorted({kind for kind in own["spread"].dropna() if kind})
    found: list[Artist] = []
    if INTERVAL in kinds:
        found.append(Line2D([], [], color=style.GREY, lw=3.0, alpha=0.35, label=INTERVAL))
    found += [
        Line2D([], [], color=style.GREY, lw=0.7, marker="|", markersize=TICK, markeredgewidth=0.6,
               label=f"{kind}; ticks are values")
        for kind in _together([kind for kind in kinds if kind != INTERVAL])
    ]  # fmt: skip
    if own["near"].notna().any():
        found.append(Line2D([], [], color=style.GREY, lw=0.8, ls=(0, (1, 1)), marker="_",
                            markersize=DASH, label="cores near, and far"))  # fmt: skip
    searched = table[table["spread"] == BRACKET]["n"]
    if len(searched):
        by = "one process" if searched.max() == 1 else f"{searched.max()} processes"
        found.append(Line2D([], [], ls="", color=style.GREY, marker=_BRACKET, markersize=7.0,
                            label=f"{BRACKET}, {by}"))  # fmt: skip
    return [*found, *keys_of_predicted(predicted), *keys_of_stated(stated)]


def keys_of_predicted(predicted: pd.DataFrame) -> list[Artist]:
    """Return the entries of a key for predictions, labelled by their source."""
    kinds = dict.fromkeys(predicted["spread"])
    return [_dashes([], [], label=f"{PREDICTED}: {told}") for told in kinds]


def keys_of_stated(stated: pd.DataFrame) -> list[Artist]:
    """Return one key entry for the paper's published values, points and levels alike."""
    if stated.empty:
        return []
    level = having(stated, LEVEL)
    return [
        Line2D([], [], color=style.GREY, ls=":" if level.any() else "", lw=1.0,
               marker="" if level.all() else "o", markersize=STATED_SIZE, markerfacecolor="none",
               markeredgewidth=1.0, label=SOURCE)
    ]  # fmt: skip


def stated(
    axes: Axes, members: pd.DataFrame, looks: Mapping[str, style.Look], scale: float
) -> None:
    """Draw the paper's published values in one panel: large and hollow, a level as a dotted line.

    A mark has the shape and the colour of the line, and is not joined to measured points.
    """
    level = having(members, LEVEL)
    for row in members[~level].itertuples():
        look = looks[row.line]
        axes.plot(row.x, row.value / scale, ls="", marker=look.marker, color=look.color,
                  markersize=STATED_SIZE, markerfacecolor="none", markeredgewidth=1.0, zorder=3.5,
                  clip_on=False)  # fmt: skip
    for value in sorted(set(members["value"][level])):
        axes.axhline(value / scale, color=style.GREY, ls=":", lw=1.0, zorder=1.4)


def _together(kinds: Sequence[str]) -> list[str]:
    """Return kinds of ranges; merge kinds that differ only in their number.

    Examples
    --------
    >>> _together([f"{count} rounds of one process" for count in (2, 4, 5)] + ["range of 3"])
    ['2, 4 or 5 rounds of one process', 'range of 3']
    """
    found: dict[str, list[str]] = {}
    for kind in kinds:
        found.setdefault(re.sub(r"\d+", "#", kind), []).append(re.search(r"\d+", kind)[0])
    ordered = {kind: sorted(own, key=int) for kind, own in found.items()}
    return [
        kind.replace("#", " or ".join([", ".join(own[:-1]), own[-1]] if own[1:] else own))
        for kind, own in ordered.items()
    ]


def is_weak(states: Sequence[str]) -> bool:
    """Return whether a point in these states is drawn pale."""
    return not style.WEAK.keys().isdisjoint(states)


def shifted(axes: Axes, right: float, up: float = 0.0) -> ScaledTranslation:
    """Return a shift by `right` and `up` points."""
    return ScaledTranslation(right / 72, up / 72, axes.figure.dpi_scale_trans)


def dot(
    axes: Axes, x: float, y: float, look: style.Look, states: Sequence[str], right: float = 0.0
) -> None:
    """Draw one marker, pale where its point is weak."""
    weak = is_weak(states)
    axes.plot(
        x,
        y,
        ls="",
        marker=look.marker,
        markersize=style.MARKER_SIZE,
        markerfacecolor=style.mixed(look.color, style.PALE_FACE if weak else 0.0),
        markeredgecolor=style.mixed(look.color, style.PALE_EDGE) if weak else look.color,
        markeredgewidth=0.7,
        color=look.color,
        zorder=3,
        clip_on=False,
        transform=axes.transData + shifted(axes, right),
    )


def curve(axes: Axes, members: pd.DataFrame, look: style.Look, scale: float) -> None:
    """Draw one line of one panel: join neighbours that have values, and draw all markers.

    Parameters
    ----------
    axes : Axes
    members : DataFrame
        Rows of a table, of one line and one panel; x is a number.
    look : Look
    scale : float
        Divisor of the values.
    """
    members = members.sort_values("x", kind="stable")
    shown = readable_values(members)
    gaps = (~members.index.isin(shown.index)).cumsum()
    for _, part in shown.groupby(gaps[members.index.isin(shown.index)]):
        x, y = part["x"].to_numpy(float), part["value"].to_numpy(float) / scale
        axes.plot(x, y, color=look.color, ls=look.dash, lw=plot.width_of_line(look), zorder=2)
        sure = part[part["spread"] == INTERVAL]
        if len(sure) > 1:
            low, high = (sure[end].to_numpy(float) / scale for end in ("low", "high"))
            axes.fill_between(sure["x"].to_numpy(float), low, high, color=look.color, alpha=0.2,
                              lw=0, zorder=1)  # fmt: skip
        for row in part.itertuples():
            # A band needs at least two points.
            if row.spread != INTERVAL or len(sure) == 1:
                whisker(axes, row, look, scale)
            dot(axes, row.x, row.value / scale, look, row.states)
    states(axes, shown, look, scale)


def whisker(
    axes: Axes, row: NamedTuple, look: style.Look, scale: float, right: float = 0.0
) -> None:
    """Draw the spread of a point's values, upright.

    An interval is thick and pale; a range is thin, with a tick at each value.
    """
    if row.low != row.low:
        return
    sure, moved = row.spread == INTERVAL, axes.transData + shifted(axes, right)
    # An interval may reach below zero although no value does; the axis, whose limits are set, ends.
    low = max(row.low / scale, axes.get_ylim()[0])
    axes.vlines(row.x, low, row.high / scale, color=look.color, zorder=1.5,
                lw=3.0 if sure else 0.7, alpha=0.35 if sure else 1.0, transform=moved)  # fmt: skip
    if not sure:
        ticks = [value / scale for value in row.values]
        axes.plot([row.x] * len(ticks), ticks, ls="", marker="_", markersize=TICK, zorder=1.6,
                  color=look.color, markeredgewidth=0.6, transform=moved)  # fmt: skip


def states(axes: Axes, members: pd.DataFrame, look: style.Look, scale: float) -> None:
    """Draw two ticks for each two-state point: its means with near cores and with far cores.

    These are points whose overall mean belongs to neither state.
    """
    for row in members[members["near"].notna()].itertuples():
        both = [row.near / scale, row.far / scale]
        axes.plot([row.x, row.x], both, color=look.color, marker="_", markersize=DASH, lw=0.8,
                  markeredgewidth=1.0, ls=(0, (1, 1)), zorder=2.5)  # fmt: skip


def single(axes: Axes, members: pd.DataFrame, look: style.Look, scale: float) -> None:
    """Draw the points of one line without joining them."""
    for row in readable_values(members).itertuples():
        whisker(axes, row, look, scale)
        dot(axes, row.x, row.value / scale, look, row.states)
    states(axes, readable_values(members), look, scale)


def predicted_marks(
    axes: Axes, members: pd.DataFrame, look: style.Look, scale: float, joined: bool = False
) -> None:
    """Draw the predictions for one line: grey dashes behind the measured points.

    Where the line is a curve, the dashes are `joined` thinly in the line's dash style to show
    which line they belong to.
    """
    if members.empty:
        return
    members = members.sort_values("x", kind="stable")
    x, y = members["x"].to_numpy(float), members["value"].to_numpy(float) / scale
    axes.add_line(_dashes(x, y))
    if joined:
        axes.plot(x, y, color=style.mixed(style.GREY, 0.4), ls=look.dash, lw=0.6, zorder=1.2)


def predicted_mark_of_bar(axes: Axes, x: float, y: float, wide: float) -> None:
    """Draw the prediction for a bar: a grey dash behind it that reaches over both edges."""
    axes.plot([x - wide / 2, x + wide / 2], [y, y], color=style.GREY, lw=DASH_WIDTH, zorder=0.9,
              solid_capstyle="butt")  # fmt: skip


def _dashes(x: Sequence[float], y: Sequence[float], label: str = "") -> Line2D:
    return Line2D(x, y, color=style.GREY, ls="", marker="_", markersize=DASH,
                  markeredgewidth=DASH_WIDTH, zorder=1.8, label=label)  # fmt: skip


def at_edges(axes: Axes, members: pd.DataFrame, looks: Mapping[str, style.Look]) -> None:
    """Draw points without a value: a caret at the upper edge if saturated, a cross if failed.

    Marks at the same x stand side by side.
    """
    saturated, failed = off_scale(members), having(members, FAILED)
    for chosen, up in ((members[saturated & ~failed], 1.0), (members[failed], 0.0)):
        for x, own in chosen.groupby("x"):
            for place, line in enumerate(own["line"]):
                right = APART * (place - (len(own) - 1) / 2)
                transform = blended_transform_factory(axes.transData, axes.transAxes)
                edge_mark(axes, x, up, looks[line], bool(up), transform + shifted(axes, right))


def edge_mark(
    axes: Axes,
    x: float,
    y: float,
    look: style.Look,
    saturated: bool,
    transform: object,
    caret: Path = CARET,
) -> None:
    """Draw one caret or cross."""
    color = look.color if saturated else style.RED
    axes.plot(x, y, ls="", marker=caret if saturated else "x", color=color,
              markersize=CARET_SIZE if saturated else CROSS_SIZE, markerfacecolor="none",
              markeredgewidth=1.2, zorder=5, clip_on=False, transform=transform)  # fmt: skip


def room_for_brackets(axes: Axes, members: pd.DataFrame) -> None:
    """Widen a logarithmic x axis so that brackets right of the last points fit the frame."""
    if members.empty:
        return
    box = axes.get_position()
    wide = 72 * box.width * axes.figure.get_figwidth()
    low, high = np.log(axes.get_xlim())
    for x, slot in zip(members["x"], _slots(members), strict=True):
        needed = ASIDE * slot + CAPS / 2 + TO_FRAME
        high = max(high, low + (np.log(x) - low) * wide / (wide - needed))
    axes.set_xlim(np.exp(low), np.exp(high))


def _slots(members: pd.DataFrame) -> list[int]:
    """Return the slot of each bracket right of its point: 1, or more where a slot is taken."""
    taken: dict[tuple, list[tuple[float, float]]] = {}
    found = []
    for row in members.itertuples():
        high = row.high if row.high == row.high else np.inf
        slot = 1
        while any(row.low <= top and low <= high
                  for low, top in taken.get((row.panel, row.x, slot), ())):  # fmt: skip
            slot += 1
        taken.setdefault((row.panel, row.x, slot), []).append((row.low, high))
        found.append(slot)
    return found


def brackets(
    axes: Axes, members: pd.DataFrame, looks: Mapping[str, style.Look], scale: float
) -> None:
    """Draw the bracket of each rate search right of its point, open above where no rate failed.

    Brackets at one x that would cover each other stand side by side.
    """
    top = axes.get_ylim()[1]
    for row, slot in zip(members.itertuples(), _slots(members), strict=True):
        look, moved = looks[row.line], axes.transData + shifted(axes, ASIDE * slot)
        high = row.high / scale if row.high == row.high else top
        axes.vlines(row.x, row.low / scale, high, color=look.color, lw=0.8, zorder=2.5,
                    transform=moved)  # fmt: skip
        ends = [row.low / scale, *([high] if row.high == row.high else [])]
        # The stem extends beyond the caps; otherwise a narrow bracket would look like a dash.
        axes.plot([row.x] * len(ends), ends, ls="", marker="+", markersize=CAPS, color=look.color,
                  markeredgewidth=0.8, zorder=2.5, transform=moved)  # fmt: skip


# --- names at line ends --------------------------------------------------------------------------


def names_fit(looks: Mapping[str, style.Look], width: float, height: float) -> float | None:
    """Return the inches that names at line ends need right of a panel; None where they do not fit.

    Parameters
    ----------
    looks : mapping of str to Look
    width, height : float
        Width of the figure and height of a panel, in inches.
    """
    needed = max((style.width_of(look.title, style.SMALL) for look in looks.values()), default=0.0)
    fits = needed <= MOST_FOR_NAMES * width and len(looks) * NAME_ROW <= height
    return needed + NAME_GAP + 0.05 if fits else None


def name_ends(axes: Axes, members: pd.DataFrame, looks: Mapping[str, style.Look],
              scale: float) -> None:  # fmt: skip
    """Write the name of each line right of the last point, without overlaps."""
    height = axes.get_position().height * axes.figure.get_figheight()
    wide = axes.get_position().width * axes.figure.get_figwidth()
    ends = []
    for line, look in looks.items():
        own = members[members["line"] == line].sort_values("x", kind="stable")
        shown = readable_values(own)
        if own.empty:
            continue
        saturated = off_scale(own).iloc[-1]
        if saturated or shown.empty:
            failed = not saturated
            ends.append((0.0 if failed else height, line, look, None))
        else:
            last = shown.iloc[-1]
            place = _across(axes, last["x"], last["value"] / scale)
            ends.append((place[1] * height, line, look, place))
    ends.sort(key=lambda end: (end[0], end[1]))
    tops = spread_out([end[0] for end in ends], NAME_ROW, height)
    for top, (wanted, _, look, place) in zip(tops, ends, strict=True):
        axes.text(1 + NAME_GAP / wide, top / height, look.title, transform=axes.transAxes,
                  va="center", ha="left", fontsize=style.SMALL,
                  color=style.readable(look.color))  # fmt: skip
        if place is not None and (abs(top - wanted) > 0.03 or place[0] < 0.9):
            axes.plot([place[0], 1 + (NAME_GAP - 0.02) / wide], [place[1], top / height],
                      color=look.color, lw=0.4, alpha=0.6, transform=axes.transAxes,
                      clip_on=False, zorder=0.5)  # fmt: skip


def _across(axes: Axes, x: float, y: float) -> tuple[float, float]:
    """Return a data position as fractions of the panel."""
    place = axes.transData.transform((x, y))
    return tuple(axes.transAxes.inverted().transform(place))


def side_by_side(wanted: Sequence[float], widths: Sequence[float], room: float) -> list[float]:
    """Return the centres of texts of these widths, in order, near the `wanted` centres.

    The texts do not overlap and stay within the `room`, which must be large enough for them.

    Examples
    --------
    >>> side_by_side([1.0, 1.2], [1.0, 1.0], 3.0)
    [0.6, 1.6]
    """
    # After subtracting the preceding widths, each position only has to be no less than the last.
    before = np.concatenate([[0.0], np.cumsum(widths)[:-1]]) + np.asarray(widths) / 2
    free = spread_out([at - own for at, own in zip(wanted, before, strict=True)], 0.0,
                      room - sum(widths))  # fmt: skip
    return [float(round(each + own, 6)) for each, own in zip(free, before, strict=True)]


def spread_out(wanted: Sequence[float], apart: float, room: float) -> list[float]:
    """Return positions near the `wanted` ones, in order, at least `apart` and within `room`.

    Examples
    --------
    >>> spread_out([1.0, 1.0, 3.0], 0.5, 4.0)
    [0.75, 1.25, 3.0]
    """
    # Groups of names that touch, each centred on the mean of its members' wanted positions.
    groups: list[tuple[float, int]] = []
    for place in wanted:
        groups.append((place, 1))
        while len(groups) > 1:
            (one, many), (other, more) = groups[-2:]
            if other - one >= apart * (many + more) / 2:
                break
            together = many + more
            groups[-2:] = [((one * many + other * more) / together, together)]
        # Clamp to the room.
        middle, count = groups[-1]
        half = apart * (count - 1) / 2
        middle = min(max(middle, half), max(room - half, half))
        groups[-1] = (middle, count)
    found = [m + apart * (n - (count - 1) / 2) for m, count in groups for n in range(count)]
    for n in range(len(found) - 2, -1, -1):
        found[n] = min(found[n], found[n + 1] - apart)
    return [float(each) for each in np.round(found, 6)]
