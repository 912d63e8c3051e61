"""Figures over the inputs have one form: throughput above, mean latency below.

The figure's own module says which query and which variants; what is selected and how it is drawn
stands here once. The extended form has every measured variant, the throughput on a logarithmic axis
where it spans more than a decade, and the median and the 99th percentile of the latency in place of
the mean. A latency is that at one share of each variant's own throughput (the profile's
``open_fraction``; the footer says which), not at one rate for all.

*Ideal* is predicted and not measured: the best throughput at the fewest inputs, times the cores
that the threads of x inputs can use, over the cores that they could use there. On two cores it is
level; with a core for every thread it rises with the inputs.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from experiments.harness.points import Point, at_maximum
from figures import plot, style
from figures.load import Results, comparable, frame, joined, points_of, table_of, with_ties

LABELS = {
    "latency_ms_mean": "Mean latency (ms)",
    "latency_ms_p50": "Median latency (ms)",
    "latency_ms_p99": "99th percentile (ms)",
}
# From so large a ratio on, an extended figure has its throughputs on a logarithmic axis.
LOGARITHMIC_FROM = 10.0


@dataclass(frozen=True)
class ByInputs:
    """One figure of this form.

    Attributes
    ----------
    id : str
    number : int
        In the paper.
    query : str
        Empty for the gates.
    variants : tuple of str
        Those of the paper; a variant without results is left out.
    """

    id: str
    number: int
    query: str
    variants: tuple[str, ...]

    def select(self, results: Results, extended: bool = False) -> pd.DataFrame:
        """Return what the figure draws, in the form of ``figures.load``."""
        shown = None if extended else self.variants
        throughputs = points_of(results, self.id, "throughput_tps", shown)
        parts = [with_ties(table_of(throughputs), results.floor), ideal_of(throughputs)]
        for quantity in latencies(extended):
            points = at_maximum(points_of(results, self.id, quantity, shown))
            parts.append(with_ties(table_of(points), results.floor))
        return joined(parts)

    def draw(self, table: pd.DataFrame, footer: Sequence[str], extended: bool = False) -> Figure:
        """Return the figure of `table`."""
        name = f"{self.query or 'sorting alone'} over inputs"
        title = f"Figure {self.number}{', extended' if extended else ''}: {name}"
        handles = plot.handles_of(table)
        footer = [*footer, *plot.absent(table, self.variants)]
        figure, panels = canvas(title, handles, footer, extended)
        looks = {variant: style.look_of(variant) for variant in plot.variants_of(table)}
        draw_throughput(panels[0], table, looks, logarithmic=extended)
        for axes, quantity in zip(panels[1:], latencies(extended), strict=True):
            draw_latency(axes, table[table["panel"] == quantity], looks, LABELS[quantity])
        label_counts(panels, table, "Inputs", extended)
        return figure


def latencies(extended: bool) -> tuple[str, ...]:
    """Return the quantities of the latency panels."""
    return ("latency_ms_p50", "latency_ms_p99") if extended else ("latency_ms_mean",)


def canvas(title: str, handles: Sequence, footer: Sequence[str], extended: bool):
    """Return a figure and its panels: one above the other, or three side by side."""
    if extended:
        return plot.canvas(style.WIDE, (1, 3), 2.5, title, handles, footer)
    return plot.canvas(style.NARROW, (2, 1), 1.45, title, handles, footer)


def label_counts(
    panels: Sequence[Axes], table: pd.DataFrame, label: str, extended: bool = False
) -> None:
    """Label the x axes; of panels above each other the lowest one alone."""
    margin = 0.17 if plot.alone_of(table) else 0.05
    for place, axes in enumerate(panels):
        plot.count_ticks(axes, [int(x) for x in table["x"]], margin)
        if extended or place == len(panels) - 1:
            axes.set_xlabel(label)
        else:
            axes.tick_params(labelbottom=False)


def ideal_of(points: Sequence[Point], x: str = "inputs") -> pd.DataFrame:
    """Return the ideal throughput over `x`, an attribute of a point, as rows of a table."""
    points = [point for point in points if comparable(point.variant)]
    if not points:
        return frame([])
    fewest = min(getattr(point, x) for point in points)
    first = max((p for p in points if getattr(p, x) == fewest), key=lambda p: p.middle[0])
    threads = {getattr(point, x): point.threads for point in points}
    rows = []
    for place, count in sorted(threads.items()):
        usable = min(count, first.cores) / min(first.threads, first.cores)
        about = (first.figure, first.quantity, first.query, plot.IDEAL)
        inputs = place if x == "inputs" else first.inputs
        value = first.middle[0] * usable
        rows.append((*about, inputs, place, value, None, None, 0, "predicted", "t/s"))
    return frame(rows)


def draw_throughput(
    axes: Axes, table: pd.DataFrame, looks: dict[str, style.Look], logarithmic: bool = False
) -> None:
    """Draw the throughput of each series on an axis from zero, with the ideal lines.

    Parameters
    ----------
    axes : Axes
    table : DataFrame
        Its column ``variant`` has the keys of `looks`, and ``plot.IDEAL``.
    looks : dict of str to Look
    logarithmic : bool
        Whether the axis is a logarithmic one where the values span more than a decade.
    """
    members = table[table["panel"] == "throughput_tps"]
    measured = members[members["variant"] != plot.IDEAL]
    axes.set_ylabel("Throughput")
    if measured.empty:
        plot.nothing(axes)
        return
    scale, unit = plot.rate_unit(measured["value"])
    values = measured[["value", "low", "high"]] / scale
    smallest, largest = measured["value"].min(), measured["value"].max()
    if logarithmic and largest > LOGARITHMIC_FROM * smallest:
        plot.log_axis(axes, values.to_numpy(float).ravel())
    else:
        plot.zero_based(axes, values[["value", "high"]].max().max())
    _draw_series(axes, measured, looks, scale)
    ideal = members[members["variant"] == plot.IDEAL]
    lines = [ideal] if ideal["x"].is_unique else [own for _, own in ideal.groupby("inputs")]
    for line in lines:
        plot.ideal(axes, line, scale)
    axes.set_ylabel(f"Throughput ({unit})")


def draw_latency(
    axes: Axes, members: pd.DataFrame, looks: dict[str, style.Look], label: str
) -> None:
    """Draw one latency of each series on a log axis."""
    axes.set_ylabel(label)
    if members.empty:
        plot.nothing(axes)
        return
    plot.log_axis(axes, members[["value", "low", "high"]].to_numpy(float).ravel())
    _draw_series(axes, members, looks, 1.0)


def _draw_series(
    axes: Axes, members: pd.DataFrame, looks: dict[str, style.Look], scale: float
) -> None:
    alone = plot.alone_of(members)
    for variant in [each for each in looks if each in set(members["variant"])]:
        own = members[members["variant"] == variant]
        plot.series(axes, own, y_scale=scale, look=looks[variant], right=alone.get(variant))
