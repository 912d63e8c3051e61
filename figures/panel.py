"""The axes of a panel: contents, limits, labels and background.

Nothing here depends on a paper or changes global settings.
"""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from itertools import pairwise

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.ticker import (
    FixedFormatter,
    FixedLocator,
    FuncFormatter,
    MaxNLocator,
    NullLocator,
)

from experiments.records.quantities import quantity
from figures import style
from figures.cells import OVERSUBSCRIBED, having, readable_values
from figures.table import RATE_UNITS

# Rates of many variants use a logarithmic axis from this ratio on.
LOGARITHMIC_FROM = 10.0
# Inches that a decade of a logarithmic axis needs for three labels, for two and for one.
_DECADE = {"y": (0.4, 0.28, 0.14), "x": (1.0, 0.65, 0.36)}
MOST_LABELS = 7
# Numbers are so narrow that two lines of a label fit beside them: small ones have an exponent, and
# long ones end in a letter. The second limit of each pair is for axes from zero, on which all
# numbers are written alike: the first of these of the largest value, the other of the axis' end.
LEAST_PLAIN, LEAST_PLAIN_FROM_ZERO = 1e-4, 2e-3
LEAST_SHORT, LEAST_SHORT_FROM_ZERO = 1e4, 1e5
_LETTERS = ((1e12, "T"), (1e9, "G"), (1e6, "M"), (1e3, "k"))
# Powers of two are written with exponents from here on: the first limit if all values on the axis
# are such powers, the second in a heading.
LEAST_POWER, LEAST_POWER_ALONE = 256, 1024
# Inches from the left end of an x axis to the left end of the label of its y axis.
TO_LABEL = 0.68
# Height in inches of a line of that label.
_LABEL_LINE = 0.125
# A tick and the gap between it and its number.
_TICK = 7.0 / 72
# Inches between two numbers of an x axis, and between a number and the edge of the figure.
_APART, _EDGE = 0.05, 0.01


def value_axis(
    axes: Axes,
    members: pd.DataFrame,
    logarithmic: bool = False,
    along: str = "y",
    from_zero: bool = False,
    scaled_with: pd.DataFrame | None = None,
) -> float:
    """Prepare and label the value axis of one panel; return the divisor of the values.

    Rates and other quantities that are not times begin at zero, unless they span more than a
    decade and `logarithmic` is set; times use a logarithmic axis.

    Parameters
    ----------
    axes : Axes
    members : DataFrame
        Rows of panels that share a unit, not empty; the axis has the first row's label.
    logarithmic : bool
    along : str
        "y" or "x".
    from_zero : bool
        Whether times begin at zero too.
    scaled_with : DataFrame, optional
        Rows of all panels of this quantity, which share a unit.
    """
    one = quantity(members["panel"].iloc[0])
    shown = readable_values(members)
    scale, label = 1.0, one.label
    if one.unit in RATE_UNITS:
        largest = (shown if scaled_with is None else readable_values(scaled_with))["value"].max()
        scale, unit = style.rate_unit(largest if largest == largest else 0.0, one.unit)
        label = f"{label} ({unit})"
    values = shown[["value", "low", "high", "near", "far"]].to_numpy(float).ravel() / scale
    values = values[np.isfinite(values)]
    wide = len(values) and values.max() > LOGARITHMIC_FROM * values.min() > 0
    if (one.unit in ("ms", "us", "ns") and not from_zero) or (logarithmic and wide):
        log_axis(axes, values, along)
    else:
        zero_based(axes, values.max(initial=0.0), along)
    label_axis(axes, label, along)
    return scale


def label_nearer(axes: Axes) -> None:
    """Move the label of a y axis next to the numbers, away from the panel to the left."""
    lines = axes.get_ylabel().count("\n") + 1
    aside = min(numbers_of(axes) + _LABEL_LINE * lines + 0.03, TO_LABEL)
    axes.yaxis.set_label_coords(-aside / inches_of(axes, "x"), 0.5)


def label_axis(axes: Axes, label: str, along: str = "y") -> None:
    """Label an axis; the unit goes on a second line where the axis is too short for both."""
    if along == "x":
        axes.set_xlabel("\n".join(_label_lines(label, inches_of(axes, "x"))), linespacing=1.05)
        return
    room = inches_of(axes, "y")
    lines = _label_lines(label, room)
    parts = [part for part in label.replace(" (", "|(").split("|") if part]
    if len(lines) > 1 and all(style.width_of(part, style.FONT_SIZE) <= room for part in parts):
        lines = parts
    axes.set_ylabel("\n".join(lines), linespacing=1.05)
    # The same position in all panels, whatever their numbers.
    axes.yaxis.set_label_coords(-TO_LABEL / inches_of(axes, "x"), 0.5)
    axes.yaxis.label.set(va="top")


def _label_lines(label: str, room: float) -> list[str]:
    """Return a label in lines that fit, with the unit unbroken where it fits on one line."""
    lines = style.wrapped(label, room, style.FONT_SIZE)
    name, _, unit = label.rpartition(" (")
    if not name or any(f"({unit}" in line for line in lines):
        return lines
    apart = [*style.wrapped(name, room, style.FONT_SIZE), f"({unit}"]
    return apart if style.width_of(apart[-1], style.FONT_SIZE) <= room else lines


def more_lines(names: Sequence[str], room: float) -> float:
    """Return the inches that the longest of these x labels needs beyond one line.

    Parameters
    ----------
    names : sequence of str
        Of quantities.
    room : float
        Length of an axis in inches.
    """
    # Assume the longest unit that a rate may have.
    units = {name: quantity(name).unit for name in names}
    longest = {
        name: f" ({style.rate_unit(1e3, unit)[1]})" if unit in RATE_UNITS else ""
        for name, unit in units.items()
    }
    lines = [len(_label_lines(quantity(name).label + longest[name], room)) for name in names]
    return _LABEL_LINE * (max(lines, default=1) - 1)


def zero_based(axes: Axes, largest: float, along: str = "y") -> None:
    """Let an axis begin at zero and end a little above `largest`."""
    end = largest * 1.12 if largest > 0 else 1.0
    (axes.set_ylim if along == "y" else axes.set_xlim)(0.0, end)
    own = axes.yaxis if along == "y" else axes.xaxis
    if 0 < largest < LEAST_PLAIN_FROM_ZERO:
        own.set_major_locator(MaxNLocator("auto", steps=[1, 2, 5, 10]))
        own.set_major_formatter(_small_numbers(largest))
    elif end >= LEAST_SHORT_FROM_ZERO:
        size, letter = next(each for each in _LETTERS if end >= each[0])
        told = FuncFormatter(lambda value, _: f"{value / size:,.10g}{letter}" if value else "0")
        own.set_major_formatter(told)
    elif end >= 1_000:
        own.set_major_formatter(FuncFormatter(lambda value, _: f"{value:,.10g}"))
    axes.grid(axis=along, color=style.FAINT, lw=0.4)


def _small_numbers(largest: float) -> FuncFormatter:
    """Return a formatter that writes 0.00002 as 2·10⁻⁵, with one exponent for a whole axis.

    The largest number is 5 to 49 times that power, so that round steps are whole multiples of it.
    """
    exponent = math.floor(math.log10(largest / 5))
    size, told = 10.0**exponent, style.power(10, exponent)
    return FuncFormatter(lambda value, _: f"{value / size:.3g}·{told}" if value else "0")


def log_axis(axes: Axes, values: np.ndarray, along: str = "y") -> None:
    """Give an axis a log scale whose labels stay few and plain over any range of `values`."""
    values = values[np.isfinite(values) & (values > 0)]
    if values.size == 0:
        values = np.array([1.0])
    low, high = math.log10(values.min() / 1.4), math.log10(values.max() * 1.6)
    if high - low < 1.0:
        middle = (low + high) / 2
        low, high = middle - 0.5, middle + 0.5
    axis = axes.yaxis if along == "y" else axes.xaxis
    (axes.set_yscale if along == "y" else axes.set_xscale)("log")
    (axes.set_ylim if along == "y" else axes.set_xlim)(10**low, 10**high)
    ticks = _log_ticks(low, high, inches_of(axes, along), along)
    axis.set_major_locator(FixedLocator(ticks))
    axis.set_minor_locator(NullLocator())
    # Thousands are written alike along one axis.
    short = max(ticks, default=0.0) >= LEAST_SHORT
    axis.set_major_formatter(FuncFormatter(lambda value, _: plain(value, short)))
    axes.grid(axis=along, color=style.FAINT, lw=0.4)


def _log_ticks(low: float, high: float, room: float, along: str) -> list[float]:
    """Return the labelled ticks between two powers of ten: at least two numbers, and few."""
    decades = high - low
    three, two, one = _DECADE[along]
    every = max(1, math.ceil(one * decades / room), math.ceil(decades / MOST_LABELS))
    choices: list[tuple[tuple[int, ...], int]] = [((1,), every), ((1, 3), 1), ((1, 2, 5), 1)]
    if room / decades >= three and 3 * decades <= MOST_LABELS:
        choices = choices[2:]
    elif room / decades >= two and 2 * decades <= MOST_LABELS:
        choices = choices[1:]
    ticks: list[float] = []
    for steps, each in choices:
        exponents = range(math.floor(low), math.ceil(high) + 1)
        ticks = [s * 10.0**e for e in exponents if e % each == 0 for s in steps]
        ticks = [tick for tick in ticks if low <= math.log10(tick) <= high]
        if len(ticks) > 1:
            break
    return ticks


def numbers_of(axes: Axes) -> float:
    """Return the inches left of a panel that the numbers of its y axis need, ticks included."""
    low, high = axes.get_ylim()
    ticks = [tick for tick in axes.yaxis.get_majorticklocs() if low <= tick <= high]
    told = axes.yaxis.get_major_formatter().format_ticks(ticks)
    return _TICK + max((style.width_of(each, style.SMALL) for each in told), default=0.0)


def space_numbers(axes: Axes) -> None:
    """Leave out numbers of an x axis that touch another one, or reach beyond the figure.

    Call it when nothing changes the axis' limits any more. Names of categories stay as they are.
    """
    if isinstance(axes.xaxis.get_major_formatter(), FixedFormatter):
        return
    low, high = axes.get_xlim()
    ticks = [tick for tick in axes.xaxis.get_majorticklocs() if low <= tick <= high]
    if not ticks:
        return
    told = axes.xaxis.get_major_formatter().format_ticks(ticks)
    box, width = axes.get_position(), axes.get_figure().get_figwidth()
    to_panel = axes.get_xaxis_transform() - axes.transAxes
    ends = to_panel.transform([(tick, 0.0) for tick in ticks])[:, 0]
    middles = [(box.x0 + box.width * end) * width for end in ends]
    halves = [style.width_of(each, style.SMALL) / 2 for each in told]
    for every in range(1, len(ticks) + 1):
        kept = range(0, len(ticks), every)
        if all(middles[b] - middles[a] > halves[a] + halves[b] + _APART
               for a, b in pairwise(kept)):  # fmt: skip
            break
    there = {n for n in kept if middles[n] + halves[n] < width - _EDGE}
    axes.xaxis.set_major_locator(FixedLocator(ticks))
    names = [name if n in there else "" for n, name in enumerate(told)]
    axes.xaxis.set_major_formatter(FixedFormatter(names))


def inches_of(axes: Axes, along: str) -> float:
    """Return the length of an axis in inches."""
    box, picture = axes.get_position(), axes.get_figure()
    return box.height * picture.get_figheight() if along == "y" else (
        box.width * picture.get_figwidth()
    )  # fmt: skip


def plain(value: float, short: bool = False) -> str:
    """Return a number, never long: 2·10⁻⁵, 0.05, 2, 300, 2,000, 20k or 3M.

    Next to longer numbers pass `short` to abbreviate alike: 2k.
    """
    if value < LEAST_PLAIN * (1 - 1e-9):
        exponent = math.floor(math.log10(value) + 1e-9)
        return f"{value / 10.0**exponent:.0f}·{style.power(10, exponent)}"
    if value < 1:
        return f"{value:.10f}".rstrip("0").rstrip(".")
    for size, letter in _LETTERS:
        if value >= size and (short or value >= LEAST_SHORT):
            return f"{value / size:,.0f}{letter}"
    return f"{value:,.0f}"


def log_places(axes: Axes, places: Sequence[float], room: float, labelled: bool = True) -> None:
    """Give the x axis a log scale with the measured values labelled, as far as there is room.

    Parameters
    ----------
    axes : Axes
    places : sequence of float
        Not empty, above zero.
    room : float
        Length of the axis in inches.
    labelled : bool
        Whether the ticks have numbers.
    """
    places = sorted(set(places))
    low, high = math.log(places[0]), math.log(places[-1])
    # Leave as much room right of the last value as a bracket takes.
    margin = 0.08 * (high - low) or 0.5
    axes.set_xscale("log")
    axes.set_xlim(math.exp(low - margin), math.exp(high + margin))
    inch = room / (high - low + 2 * margin)
    shown: list[float] = []
    told = tick_labels(places)
    widths = {place: style.width_of(told[place], style.SMALL) / 2 for place in places}
    # From both ends inwards: comparisons refer to the ends.
    for place in [places[-1], *places[:-1]]:
        if all(abs(math.log(place / other)) * inch > widths[place] + widths[other] + 0.05
               for other in shown):  # fmt: skip
            shown.append(place)
    axes.xaxis.set_major_locator(FixedLocator(sorted(shown)))
    axes.xaxis.set_minor_locator(FixedLocator(places))
    axes.xaxis.set_minor_formatter(FuncFormatter(lambda *_: ""))
    axes.xaxis.set_major_formatter(FuncFormatter(lambda value, _: told.get(value, "")))
    axes.tick_params(labelbottom=labelled)


def tick_labels(places: Sequence[float]) -> dict[float, str]:
    """Return the label of each value: 20, 2,000, 0.5; powers of two as 2²⁰, or as 1/64 up to 1."""
    if all(math.log2(place).is_integer() for place in places):
        if min(places) >= LEAST_POWER:
            return {place: style.power(2, math.log2(place)) for place in places}
        if max(places) <= 1:
            return {place: "1" if place == 1 else f"1/{1 / place:.0f}" for place in places}
    return {place: f"{place:,g}" if place < 1e6 else f"{place:,.0f}" for place in places}


def heading_of(told: str) -> str:
    """Return a setting as text for a heading, powers of two written as on an axis.

    Examples
    --------
    >>> heading_of("1,048,576 tuples"), heading_of("1,000 tuples"), heading_of("query q15")
    ('2²⁰ tuples', '1,000 tuples', 'query q15')
    """

    def number(found: re.Match) -> str:
        exponent = math.log2(int(found[0].replace(",", "")) or 1)
        alone = exponent.is_integer() and exponent >= math.log2(LEAST_POWER_ALONE)
        return style.power(2, exponent) if alone else found[0]

    return re.sub(r"\b\d+(,\d{3})*\b(?!\.\d)", number, told)


def x_axis(
    axes: Axes,
    table: pd.DataFrame,
    names: Sequence[str],
    room: float,
    labelled: bool = True,
    free: bool = False,
) -> None:
    """Prepare the x axis of a table: categories, measured values, or arbitrary numbers.

    Parameters
    ----------
    axes : Axes
    table : DataFrame
        With numbers for x.
    names : sequence of str
        Of the categories; empty where x is logarithmic.
    room : float
        Length of the axis in inches.
    labelled : bool
    free : bool
        Whether x was not chosen: then round numbers are labelled instead of the measured ones.
    """
    if names:
        categories(axes, names, labelled)
    elif table.empty:
        axes.set_xticks([])
    elif free:
        log_axis(axes, table["x"].to_numpy(float), along="x")
        axes.grid(visible=False, axis="x")
        axes.tick_params(labelbottom=labelled)
    else:
        log_places(axes, list(table["x"]), room, labelled)


def category_names(names: Sequence[str], room: float) -> list[str]:
    """Return names broken into lines that fit below their categories.

    Parameters
    ----------
    names : sequence of str
    room : float
        Length of the axis in inches.
    """
    own = room / max(len(names), 1) - 0.06
    return ["\n".join(_evenly(name, own)) for name in names]


def _evenly(name: str, room: float) -> list[str]:
    """Return a name in as few lines as possible, and these as short as possible."""
    lines = style.wrapped(name, room, style.SMALL)
    parts = style.parts_of(name)
    widths = sorted(
        style.width_of("".join(parts[first:last]).rstrip(), style.SMALL)
        for first in range(len(parts))
        for last in range(first + 1, len(parts) + 1)
    )
    even = (style.wrapped(name, width, style.SMALL) for width in widths if width <= room)
    return next((own for own in even if len(own) == len(lines)), lines)


def below_of(names: Sequence[str], label: bool = True) -> float:
    """Return the inches that names below an axis need, with or without a label of the axis."""
    lines = max((name.count("\n") + 1 for name in names), default=1)
    return 0.08 + 0.115 * lines + (0.17 if label else 0.0)


def categories(axes: Axes, names: Sequence[str], labelled: bool = True) -> None:
    """Divide the x axis into categories 0, 1, ..., with their names below."""
    axes.set_xlim(-0.5, max(len(names), 1) - 0.5)
    axes.xaxis.set_major_locator(FixedLocator(range(len(names))))
    axes.xaxis.set_major_formatter(FixedFormatter(list(names) if labelled else []))
    axes.xaxis.set_minor_locator(NullLocator())
    axes.tick_params(axis="x", length=0, labelbottom=labelled)
    for place in range(1, len(names)):
        axes.axvline(place - 0.5, color="white", lw=1.6, zorder=0.2)
        axes.axvline(place - 0.5, color=style.FAINT, lw=0.5, zorder=0.3)


def shade_oversubscribed(axes: Axes, table: pd.DataFrame) -> None:
    """Shade the ranges of the x axis in which a point was oversubscribed: more threads than cores.

    `table` has the rows of all panels along the axis, so that a panel without a point there is
    shaded like the others.
    """
    grey, every = set(table["x"][having(table, OVERSUBSCRIBED)]), sorted(set(table["x"]))
    log = axes.get_xscale() == "log"
    ends = axes.get_xlim()
    for place, x in enumerate(every):
        if x in grey:
            low = _middle(every[place - 1], x, log) if place else ends[0]
            high = _middle(x, every[place + 1], log) if place + 1 < len(every) else ends[1]
            axes.axvspan(low, high, color=style.CROWDED, lw=0, zorder=0)


def _middle(one: float, other: float, log: bool) -> float:
    return math.sqrt(one * other) if log else (one + other) / 2


def nothing(axes: Axes, told: str = "no valid run") -> None:
    """Write that there is nothing to draw."""
    axes.set_yticks([])
    axes.text(0.5, 0.5, told, transform=axes.transAxes, ha="center", va="center",
              color=style.GREY)  # fmt: skip
