"""Short live runs of a notebook: a dot a variant, in columns whose variants are compared."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from figures import marks, panel, plot, style
from figures.pictures import Picture


class Dot(NamedTuple):
    """One run.

    Attributes
    ----------
    variant : str
        Id of a series.
    column : int
        Number of threads or instances.
    rate : float
    valid, oversubscribed : bool
        Whether the output was right; whether there were more threads than cores.
    """

    variant: str
    column: int
    rate: float
    valid: bool
    oversubscribed: bool


def by_column(
    family: str, dots: Sequence[Dot], unit: str, title: str, quantity: str, columns: str
) -> Picture:
    """Return the rates of variants, a column a number of threads or instances.

    Parameters
    ----------
    family : str
    dots : sequence of Dot
    unit : str
        Of the rates: "t/s" or "c/s".
    title, quantity, columns : str
        Title above the picture and labels of the axes.
    """
    looks = {dot.variant: style.look_of(family, dot.variant) for dot in dots}
    numbers = sorted({dot.column for dot in dots})
    keys = [plot.handle_of(look, line=False) for look in looks.values()]
    lines = [f"{len(dots)} runs of an instant", *left_out(dots)]
    if any(dot.oversubscribed for dot in dots):
        lines.append("grey: more threads than cores")
    figure, (axes,) = plot.canvas(style.NARROW, (1, 1), 1.8, title, [keys], [plot.as_one(lines)])
    panel.categories(axes, [str(each) for each in numbers])
    for place, number in enumerate(numbers):
        if any(dot.oversubscribed for dot in dots if dot.column == number):
            axes.axvspan(place - 0.5, place + 0.5, color=style.CROWDED, lw=0, zorder=0)
    valid = [dot for dot in dots if dot.valid]
    largest = max([dot.rate for dot in valid] or [1.0])
    scale, name = style.rate_unit(largest, unit)
    panel.zero_based(axes, largest / scale)
    panel.label_axis(axes, f"{quantity} ({name})")
    panel.label_axis(axes, columns, along="x")
    slots = plot.slots_of(list(looks))
    for dot in valid:
        x = numbers.index(dot.column) + slots[dot.variant]
        marks.dot(axes, x, dot.rate / scale, looks[dot.variant], "")
    return Picture(figure)


def left_out(runs: Sequence) -> list[str]:
    """Return the footer's statement on runs with a wrong output: each run has ``valid``."""
    wrong = sum(not run.valid for run in runs)
    return [f"{wrong} of {len(runs)} runs are invalid and not drawn"] if wrong else []
