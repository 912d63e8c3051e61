"""Figures of durations have one form: dots over the variants, and below them what they foretell.

Above: the mean processor time of an input thread's operation and of the output thread's, both per
input tuple, on a logarithmic axis, one column a variant with two dots. Dots and not bars, because a
bar on a logarithmic axis has no length that means anything. They come from a run of its own that
reads clocks around blocks of operations; waiting is not counted.

Below: the throughput measured without clocks, and the one expected from the bottleneck
(``experiments.harness.expected``), which is predicted and drawn as a grey dash.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.ticker import FixedLocator, NullLocator

from experiments.harness.expected import expected_tps
from experiments.harness.points import DURATIONS, Point
from figures import plot, style
from figures.load import Results, frame, joined, points_of, table_of, with_ties

SIDES = {"input_ns": "in", "output_ns": "out"}
EXPECTED = "expected_tps"
# From so many columns on, only the legend names the variants: there is no room below them.
MOST_NAMES = 6
# Of a column's width: how far the two dots stand from its middle.
_ASIDE = 0.2


@dataclass(frozen=True)
class Durations:
    """One figure of this form.

    Attributes
    ----------
    id : str
    number : int
        In the paper.
    query : str
    variants : tuple of str
        Those of the paper; a variant without results is left out.
    """

    id: str
    number: int
    query: str
    variants: tuple[str, ...]

    def select(self, results: Results, extended: bool = False) -> pd.DataFrame:
        """Return what the figure draws, in the form of ``figures.load``; x: the inputs."""
        shown = None if extended else self.variants
        found = {name: points_of(results, self.id, name, shown) for name in DURATIONS}
        throughputs = points_of(results, self.id, "throughput_tps", shown)
        return joined(
            [
                *(table_of(points) for points in found.values()),
                with_ties(table_of(throughputs), results.floor),
                _expected(*found.values()),
            ]
        )

    def draw(self, table: pd.DataFrame, footer: Sequence[str], extended: bool = False) -> Figure:
        """Return the figure of `table`."""
        inputs = ", ".join(f"{count} inputs" for count in sorted(table["inputs"].unique()))
        name = f"{self.query}, operations{', ' if inputs else ''}{inputs}"
        title = f"Figure {self.number}{', extended' if extended else ''}: {name}"
        columns = plot.variants_of(table)
        dots = [plot.handle_of(style.look_of(each), line=False) for each in columns]
        predicted = _expected_mark([], [])
        predicted.set_label("predicted: by the bottleneck")
        notes = plot.notes_of(table, [predicted] if EXPECTED in set(table["panel"]) else [])
        footer = [*footer, *plot.absent(table, self.variants)]
        size = style.WIDE if extended else style.NARROW
        figure, panels = plot.canvas(size, (2, 1), 1.45, title, [*dots, *notes], footer)
        _draw_durations(panels[0], table, columns)
        _draw_throughputs(panels[1], table, columns)
        return figure


def _expected(input_points: Sequence[Point], output_points: Sequence[Point]) -> pd.DataFrame:
    """Return the throughputs to expect from the medians of both threads, as rows of a table."""
    outputs = {(point.variant, point.inputs): point for point in output_points}
    rows = []
    for own in input_points:
        other = outputs.get((own.variant, own.inputs))
        if other is not None:
            value = expected_tps(own.middle[0], other.middle[0], own.inputs, own.cores)
            place = (own.figure, EXPECTED, own.query, own.variant, own.inputs, own.inputs)
            rows.append((*place, value, None, None, 0, "predicted", "t/s"))
    return frame(rows)


def _draw_durations(axes: Axes, table: pd.DataFrame, columns: Sequence[str]) -> None:
    axes.set_ylabel("Time (ns a tuple)")
    members = table[table["panel"].isin(DURATIONS)]
    if members.empty:
        plot.nothing(axes)
        return
    plot.log_axis(axes, members[["value", "low", "high"]].to_numpy(float).ravel())
    ticks, labels = [], []
    for place, variant in enumerate(columns):
        for quantity, side in zip(DURATIONS, (-_ASIDE, _ASIDE), strict=True):
            own = members[(members["variant"] == variant) & (members["panel"] == quantity)]
            if not own.empty:
                plot.series(axes, own.assign(x=place + side), right=0.0)
                ticks.append(place + side)
                labels.append(SIDES[quantity])
    _columns(axes, columns)
    axes.set_xticks(ticks, labels, fontsize=style.SMALL)


def _draw_throughputs(axes: Axes, table: pd.DataFrame, columns: Sequence[str]) -> None:
    axes.set_ylabel("Throughput")
    measured = table[table["panel"] == "throughput_tps"]
    if measured.empty:
        plot.nothing(axes)
        return
    expected = table[table["panel"] == EXPECTED]
    scale, unit = plot.rate_unit(measured["value"])
    for place, variant in enumerate(columns):
        own = measured[measured["variant"] == variant]
        if not own.empty:
            plot.series(axes, own.assign(x=place), y_scale=scale, right=0.0)
        foretold = expected[expected["variant"] == variant]["value"] / scale
        axes.add_line(_expected_mark([place] * len(foretold), foretold.to_list()))
    largest = pd.concat([measured["value"], measured["high"], expected["value"]]).max()
    plot.zero_based(axes, largest / scale)
    axes.set_ylabel(f"Throughput ({unit})")
    _columns(axes, columns)
    named = len(columns) <= MOST_NAMES
    names = [style.look_of(variant).title for variant in columns] if named else []
    axes.set_xticks(range(len(names)), names)


def _columns(axes: Axes, columns: Sequence[str]) -> None:
    axes.set_xlim(-0.5, len(columns) - 0.5)
    axes.xaxis.set_major_locator(FixedLocator([]))
    axes.xaxis.set_minor_locator(NullLocator())
    axes.tick_params(axis="x", length=0)
    for place in range(1, len(columns)):
        axes.axvline(place - 0.5, color=style.FAINT, lw=0.4, zorder=0)


def _expected_mark(x: Sequence[float], y: Sequence[float]) -> Line2D:
    return Line2D(
        x, y, color=style.GREY, ls="", marker="_", markersize=14.0, markeredgewidth=1.2, zorder=2
    )
