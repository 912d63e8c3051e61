"""What every figure is made of: a canvas with legend and footer, series of points, and two axes.

Nothing here knows a paper, and nothing changes global settings: callers draw inside
``style.PARAMETERS`` (``draw`` sees to it).
"""

from __future__ import annotations

import math
import textwrap
from collections.abc import Mapping, Sequence

import numpy as np
import pandas as pd
from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.figure import Figure as Picture
from matplotlib.lines import Line2D
from matplotlib.patches import Patch
from matplotlib.ticker import FixedLocator, FuncFormatter, NullLocator
from matplotlib.transforms import ScaledTranslation

from experiments.declare import Figure, Sweep
from figures import style

IDEAL = "ideal"
# A variant measured at fewer places than others, and at fewer than these, is drawn as markers: a
# line would tell of what lies between.
POINTS_FOR_A_LINE = 3
# Points (1/72 inch) between the markers of such variants at one x, so that none covers another.
_APART = 3.2

# Inches.
_LEFT, _RIGHT, _BETWEEN_WIDE, _BETWEEN_HIGH = 0.62, 0.08, 0.7, 0.16
_TITLE, _LEGEND_ROW, _FOOTER_ROW, _AXIS_LABEL = 0.24, 0.128, 0.098, 0.42
_MARGIN = 0.07
_CHARACTERS_PER_INCH = 21.5


def canvas(
    width: float,
    shape: tuple[int, int],
    panel_height: float,
    title: str,
    handles: Sequence[Artist],
    footer: Sequence[str],
) -> tuple[Picture, list[Axes]]:
    """Return a figure with `shape` (rows, columns) of panels, a legend above and a footer below.

    Parameters
    ----------
    width, panel_height : float
        Inches; the height of the figure follows from what it has to hold.
    title : str
    handles : sequence of Artist
        Legend entries in their order.
    footer : sequence of str
        Statements about the measurement, wrapped to the width.
    """
    columns = max(1, int((width - 0.1) / 1.6))
    legend_rows = math.ceil(len(handles) / columns)
    lines = [
        line for given in footer for line in textwrap.wrap(given, int(width * _CHARACTERS_PER_INCH))
    ]
    rows, across = shape
    below = len(lines) * _FOOTER_ROW + 0.07
    above = _TITLE + legend_rows * _LEGEND_ROW + 0.1
    height = above + rows * panel_height + (rows - 1) * _BETWEEN_HIGH + _AXIS_LABEL + below
    figure = Picture(figsize=(width, height))
    figure.text(_MARGIN / width, 1 - 0.05 / height, title, va="top", ha="left", fontweight="bold")
    if handles:
        figure.legend(
            handles=list(handles),
            loc="upper left",
            ncols=columns,
            frameon=False,
            bbox_to_anchor=((_MARGIN - 0.02) / width, 1 - (_TITLE - 0.06) / height),
            borderaxespad=0.0,
            borderpad=0.2,
            labelspacing=0.25,
            handlelength=2.4,
            columnspacing=1.0,
            handletextpad=0.6,
        )
    for number, line in enumerate(reversed(lines)):
        y = (0.05 + number * _FOOTER_ROW) / height
        figure.text(_MARGIN / width, y, line, va="bottom", fontsize=style.SMALL, color=style.GREY)
    gaps = (across - 1) * _BETWEEN_WIDE
    panel_width = (width - _LEFT - _RIGHT - gaps) / across
    panels = []
    for place in range(rows * across):
        row, column = divmod(place, across)
        x = _LEFT + column * (panel_width + _BETWEEN_WIDE)
        y = below + _AXIS_LABEL + (rows - 1 - row) * (panel_height + _BETWEEN_HIGH)
        box = (x / width, y / height, panel_width / width, panel_height / height)
        panels.append(figure.add_axes(box))
    return figure, panels


def looks_of(table: pd.DataFrame, figure: Figure) -> dict[str, style.Look]:
    """Return the look of each line of a table, in the order of the legend.

    Lines that are series look as these do everywhere, the paper's first. Lines that are values of a
    swept setting look by their order.
    """
    found = list(dict.fromkeys(table[table["variant"] != IDEAL]["line"]))
    if figure.sweeps:
        return {line: style.swept_look(place, line) for place, line in enumerate(found)}
    papers = [line for line in figure.lines if line in found]
    ours = [line for line in found if line not in papers]
    return {line: style.look_of(figure.family, line) for line in (*papers, *ours)}


def handles_of(
    table: pd.DataFrame, looks: Mapping[str, style.Look], extra: Sequence[Artist] = ()
) -> list[Artist]:
    """Return legend entries for each line, `extra`, and each state that a point is in."""
    alone = alone_of(table)
    handles = [handle_of(look, line not in alone) for line, look in looks.items()]
    return [*handles, *notes_of(table, extra)]


def handle_of(look: style.Look, line: bool = True) -> Artist:
    """Return the legend entry of a look."""
    return Line2D(
        [],
        [],
        color=look.color,
        marker=look.marker,
        ls=look.dash if line else "",
        lw=_width(look),
        markersize=style.MARKER_SIZE,
        label=look.title,
    )


def alone_of(table: pd.DataFrame) -> dict[str, float]:
    """Return the lines drawn as markers alone, and how far right of their x, in points."""
    measured = table[table["variant"] != IDEAL]
    counts = measured.groupby("line", sort=False)["x"].nunique()
    few = min(counts.max(), POINTS_FOR_A_LINE) if len(counts) else 0
    found = [line for line in counts.index if counts[line] < few]
    return {line: _APART * (n - (len(found) - 1) / 2) for n, line in enumerate(found)}


def notes_of(table: pd.DataFrame, extra: Sequence[Artist] = ()) -> list[Artist]:
    """Return the legend entries that name no variant: `extra`, interval, states, prediction."""
    handles: list[Artist] = []
    if IDEAL in set(table["variant"]):
        handles.append(_ideal_line([], [], label="predicted: ideal here"))
    handles.extend(extra)
    if table["low"].notna().any():
        handles.append(Patch(color=style.GREY, alpha=0.2, lw=0, label="95 % interval"))
    present = {state for states in table["state"] for state in states.split()}
    handles.extend(_state_handle(state) for state in style.STATE_TITLES if state in present)
    return handles


def _ideal_line(x: Sequence[float], y: Sequence[float], **given: str) -> Line2D:
    return Line2D(x, y, color=style.GREY, ls=(0, (1, 2)), lw=1.0, **given)


def _state_handle(state: str) -> Artist:
    coarse = state == "coarse"
    overlay = style.OVERLAYS.get(state)
    label = style.STATE_TITLES[state]
    if overlay:
        return Line2D(
            [], [], ls="", marker=overlay[0], markersize=overlay[1], color=overlay[4], label=label
        )
    return Line2D(
        [],
        [],
        color=style.GREY,
        marker="o",
        label=label,
        markersize=style.COARSE_MARKER_SIZE if coarse else style.MARKER_SIZE,
        lw=style.COARSE_LINE_WIDTH if coarse else 0.0,
        markerfacecolor="white" if state == "oversubscribed" else style.GREY,
    )


def _width(look: style.Look) -> float:
    return style.OURS_LINE_WIDTH if look.ours else style.LINE_WIDTH


def series(
    axes: Axes,
    members: pd.DataFrame,
    look: style.Look,
    x_scale: float = 1.0,
    y_scale: float = 1.0,
    right: float | None = None,
) -> None:
    """Draw the points of one line in one panel: line, interval, markers, states.

    Parameters
    ----------
    axes : Axes
    members : DataFrame
        Rows of a figure's table, of one line and one panel; x is a number.
    look : Look
    x_scale, y_scale : float
        What the values are divided by, to the unit of the axis.
    right : float or None
        Draw markers without a line, so many points right of their x.
    """
    members = members.sort_values("x", kind="stable")
    x, y = members["x"].to_numpy(float) / x_scale, members["value"].to_numpy(float) / y_scale
    states = [set(text.split()) for text in members["state"]]
    coarse = any("coarse" in found for found in states)
    told = members["low"].notna().to_numpy()
    low = members["low"].to_numpy(float)[told] / y_scale
    high = members["high"].to_numpy(float)[told] / y_scale
    if right is None:
        width = min(_width(look), style.COARSE_LINE_WIDTH if coarse else style.LINE_WIDTH)
        axes.plot(x, y, color=look.color, ls=look.dash, lw=width, zorder=2)
        axes.fill_between(x[told], low, high, color=look.color, alpha=0.2, lw=0, zorder=1)
    else:
        moved = axes.transData + _aside(axes, right, 0.0)
        axes.vlines(x[told], low, high, color=look.color, alpha=0.4, lw=2.0, zorder=1,
                    transform=moved)  # fmt: skip
    for place, found in enumerate(states):
        size = style.COARSE_MARKER_SIZE if "coarse" in found else style.MARKER_SIZE
        hollow = "oversubscribed" in found
        axes.plot(
            x[place],
            y[place],
            ls="",
            marker=look.marker,
            markersize=size,
            color=look.color,
            markerfacecolor="white" if hollow else look.color,
            markeredgewidth=1.0,
            zorder=3,
            clip_on=False,
            transform=axes.transData + _aside(axes, right or 0.0, 0.0),
        )
        for state, (marker, marker_size, across, up, color) in style.OVERLAYS.items():
            if state in found:
                axes.plot(
                    x[place],
                    y[place],
                    ls="",
                    marker=marker,
                    markersize=marker_size,
                    color=color,
                    markeredgewidth=0.6,
                    zorder=4,
                    clip_on=False,
                    transform=axes.transData + _aside(axes, (right or 0.0) + across, up),
                )


def _aside(axes: Axes, right: float, up: float) -> ScaledTranslation:
    """Return a shift by so many points."""
    return ScaledTranslation(right / 72, up / 72, axes.figure.dpi_scale_trans)


def ideal(axes: Axes, members: pd.DataFrame, y_scale: float) -> None:
    """Draw a predicted series; it never looks like a measured one and never widens the axis."""
    members = members.sort_values("x", kind="stable")
    axes.add_line(_ideal_line(members["x"].to_list(), (members["value"] / y_scale).to_list()))


def rate_unit(values: pd.Series) -> tuple[float, str]:
    """Return the unit in which tuple rates are drawn: its size and its name."""
    largest = values.max()
    if largest >= 1e6:
        return 1e6, "million t/s"
    return (1e3, "thousand t/s") if largest >= 1e3 else (1.0, "t/s")


def zero_based(axes: Axes, largest: float) -> None:
    """Let the y axis begin at zero and end a little above `largest`."""
    axes.set_ylim(0.0, largest * 1.12 if largest > 0 else 1.0)
    axes.grid(axis="y", color=style.FAINT, lw=0.4)


def log_axis(axes: Axes, values: np.ndarray) -> None:
    """Give the y axis a log scale whose labels stay few and plain over any range of `values`."""
    values = values[np.isfinite(values) & (values > 0)]
    if values.size == 0:
        values = np.array([1.0])
    axes.set_yscale("log")
    low, high = math.log10(values.min() / 1.4), math.log10(values.max() * 1.6)
    if high - low < 1.0:
        middle = (low + high) / 2
        low, high = middle - 0.5, middle + 0.5
    axes.set_ylim(10**low, 10**high)
    steps = (1, 2, 5) if high - low < 2.2 else (1, 3) if high - low < 3.2 else (1,)
    exponents = range(math.floor(low), math.ceil(high) + 1)
    every = max(1, math.ceil((high - low) / 6)) if steps == (1,) else 1
    ticks = [s * 10.0**e for e in exponents if e % every == 0 for s in steps]
    axes.yaxis.set_major_locator(FixedLocator([t for t in ticks if low <= math.log10(t) <= high]))
    axes.yaxis.set_minor_locator(NullLocator())
    axes.yaxis.set_major_formatter(FuncFormatter(lambda value, _: _plain(value)))
    axes.grid(axis="y", color=style.FAINT, lw=0.4)


def _plain(value: float) -> str:
    """Return 0.05, 2, 300, 20 000: a number without exponent."""
    return f"{value:.10f}".rstrip("0").rstrip(".") if value < 1 else f"{value:,.0f}"


def count_ticks(axes: Axes, counts: Sequence[int], margin: float = 0.05) -> None:
    """Label the measured counts, leaving out those too near their neighbour.

    Parameters
    ----------
    axes : Axes
    counts : sequence of int
        Of inputs or threads: the axis begins at 1.
    margin : float
        Share of the axis to keep free at both ends.
    """
    counts = sorted(set(counts)) or [1]
    span = max(counts[-1] - 1, 1)
    axes.set_xlim(1 - margin * span, counts[-1] + margin * span)
    labelled: list[int] = [counts[-1]]
    for count in counts[:-1]:
        before = [kept for kept in labelled if abs(kept - count) < 0.045 * span]
        if not before:
            labelled.append(count)
    axes.xaxis.set_major_locator(FixedLocator(sorted(labelled)))
    axes.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
    axes.xaxis.set_minor_locator(FixedLocator(counts))


def label_words(axes: Axes, words: Sequence[str]) -> None:
    """Label places 0, 1, ... with words, which a category axis has instead of numbers."""
    axes.set_xlim(-0.5, len(words) - 0.5)
    axes.set_xticks(range(len(words)), list(words))
    axes.xaxis.set_minor_locator(NullLocator())


def placed(table: pd.DataFrame, sweep: Sweep) -> tuple[pd.DataFrame, list[str]]:
    """Return `table` with numbers for x, and the words they stand for where x had words."""
    words = sorted({x for x in table["x"] if isinstance(x, str)}, key=sweep.place_of)
    if not words:
        return table, []
    return table.assign(x=table["x"].map({word: place for place, word in enumerate(words)})), words


def absent(table: pd.DataFrame, figure: Figure) -> list[str]:
    """Return the statement that some of the paper's lines have no points, if so."""
    missing = [line for line in figure.lines if line not in set(table["variant"])]
    names = [style.look_of(figure.family, line).title for line in missing]
    return [f"not measured: {', '.join(names)}"] if names else []


def title_of(figure: Figure, extended: bool) -> str:
    """Return what stands above a figure."""
    return f"Figure {figure.id}{', extended' if extended else ''}: {figure.caption}"


def nothing(axes: Axes) -> None:
    """Say that there is nothing to draw."""
    axes.text(
        0.5,
        0.5,
        "no valid run",
        transform=axes.transAxes,
        ha="center",
        va="center",
        color=style.GREY,
    )
