"""Figures 13 to 16 have one form: throughput above, mean latency below, over the inputs.

The figure's own module says which query and which variants; what is selected and how it is drawn
stands here once. The extended form has every measured variant, and the median and the 99th
percentile of the latency in place of the mean. A latency is that at one share of each variant's own
throughput (the profile's ``open_fraction``; the footer says which), not at one rate for all.

*Ideal* is predicted and not measured: the best throughput at the fewest inputs, times the cores
that the threads of x inputs and the output thread can use, over the cores that they could use
there. On two cores it is level; with a core for every thread it rises with the inputs.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from experiments.harness.points import at_maximum
from figures import plot, style
from figures.load import TABLE, Results, points_of, table_of, with_ties

LABELS = {
    "latency_ms_mean": "Mean latency (ms)",
    "latency_ms_p50": "Median latency (ms)",
    "latency_ms_p99": "99th percentile (ms)",
}


@dataclass(frozen=True)
class ByInputs:
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
        """Return what the figure draws, in the form of ``figures.load``."""
        latencies = ["latency_ms_p50", "latency_ms_p99"] if extended else ["latency_ms_mean"]
        shown = None if extended else self.variants
        throughputs = points_of(results, self.id, "throughput_tps", shown)
        parts = [with_ties(table_of(throughputs), results.floor), ideal_of(throughputs)]
        for quantity in latencies:
            parts.append(table_of(at_maximum(points_of(results, self.id, quantity, shown))))
        filled = [part for part in parts if not part.empty]
        return pd.concat(filled, ignore_index=True) if filled else pd.DataFrame(columns=TABLE)

    def draw(self, table: pd.DataFrame, footer: Sequence[str], extended: bool = False) -> Figure:
        """Return the figure of `table`."""
        quantities = ["latency_ms_p50", "latency_ms_p99"] if extended else ["latency_ms_mean"]
        title = f"Figure {self.number}{', extended' if extended else ''}: {self.query} over inputs"
        handles = plot.handles_of(table)
        footer = [*footer, *plot.absent(table, self.variants)]
        if extended:
            figure, panels = plot.canvas(style.WIDE, (1, 3), 2.0, title, handles, footer)
        else:
            figure, panels = plot.canvas(style.NARROW, (2, 1), 1.45, title, handles, footer)
        draw_throughput(panels[0], table)
        for axes, quantity in zip(panels[1:], quantities, strict=True):
            draw_latency(axes, table[table["panel"] == quantity], LABELS[quantity])
        for place, axes in enumerate(panels):
            plot.input_ticks(axes, [int(x) for x in table["x"]])
            if extended or place == len(panels) - 1:
                axes.set_xlabel("Inputs")
            else:
                axes.tick_params(labelbottom=False)
        return figure


def ideal_of(points: Sequence) -> pd.DataFrame:
    """Return the ideal throughput over the inputs, as rows of a figure's table."""
    if not points:
        return pd.DataFrame(columns=TABLE)
    fewest = min(point.inputs for point in points)
    first = max((p for p in points if p.inputs == fewest), key=lambda p: p.middle[0])
    rows = []
    for inputs in sorted({point.inputs for point in points}):
        usable = min(inputs + 1, first.cores) / min(fewest + 1, first.cores)
        place = (first.figure, first.quantity, first.query, plot.IDEAL, inputs)
        rows.append((*place, first.middle[0] * usable, None, None, 0, "predicted", "t/s"))
    return pd.DataFrame(rows, columns=TABLE).astype({"low": float, "high": float})


def draw_throughput(axes: Axes, table: pd.DataFrame) -> None:
    """Draw the throughput of each variant on an axis from zero, with the ideal line."""
    members = table[table["panel"] == "throughput_tps"]
    measured = members[members["variant"] != plot.IDEAL]
    axes.set_ylabel("Throughput")
    if measured.empty:
        plot.nothing(axes)
        return
    scale, unit = plot.rate_unit(measured["value"])
    for variant in plot.variants_of(measured):
        plot.series(axes, measured[measured["variant"] == variant], y_scale=scale)
    plot.ideal(axes, members[members["variant"] == plot.IDEAL], scale)
    plot.zero_based(axes, measured[["value", "high"]].max().max() / scale)
    axes.set_ylabel(f"Throughput ({unit})")


def draw_latency(axes: Axes, members: pd.DataFrame, label: str) -> None:
    """Draw one latency of each variant on a log axis."""
    axes.set_ylabel(label)
    if members.empty:
        plot.nothing(axes)
        return
    plot.log_axis(axes, members[["value", "low", "high"]].to_numpy(float).ravel())
    for variant in plot.variants_of(members):
        plot.series(axes, members[members["variant"] == variant])
