"""Figures over the offered input rate have one form: mean latency, logarithmic.

A thin vertical line marks the maximum throughput of each variant, measured with the inputs as fast
as they are taken, so that one sees where its latency should explode. The extended form shows every
measured variant, and median and 99th percentile in place of the mean.

Curves are compared by where they explode, and not point by point: no two variants were offered the
same rates. So it is the maxima that may be tied, and those lines are grey.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from figures import plot, style
from figures.load import Results, joined, points_of, table_of, with_ties
from figures.multiway_aggregation.by_inputs import LABELS, latencies


@dataclass(frozen=True)
class ByRate:
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
        """Return what the figure draws, in the form of ``figures.load``; x is in tuples/s.

        The panel ``throughput_tps`` holds the maximum throughputs, their own x.
        """
        shown = None if extended else self.variants
        maxima = table_of(points_of(results, self.id, "throughput_tps", shown))
        maxima["x"] = maxima["value"]
        parts = [with_ties(maxima, results.floor)]
        for quantity in latencies(extended):
            points = points_of(results, self.id, quantity, shown)
            parts.append(table_of(points, x="offered_tps"))
        return joined(parts)

    def draw(self, table: pd.DataFrame, footer: Sequence[str], extended: bool = False) -> Figure:
        """Return the figure of `table`."""
        curves = table[table["panel"] != "throughput_tps"]
        maxima = table[table["panel"] == "throughput_tps"]
        inputs = ", ".join(f"{count} inputs" for count in sorted(table["inputs"].unique()))
        name = f"{self.query} over the rate{', ' if inputs else ''}{inputs}"
        title = f"Figure {self.number}{', extended' if extended else ''}: {name}"
        footer = [*footer, *plot.absent(curves, self.variants)]
        shown = latencies(extended)
        width, height = (style.WIDE, 2.2) if extended else (style.NARROW, 2.0)
        handles = [plot.handle_of(style.look_of(each)) for each in plot.variants_of(curves)]
        handles += plot.notes_of(curves, _marks(maxima))
        figure, panels = plot.canvas(width, (1, len(shown)), height, title, handles, footer)
        for axes, quantity in zip(panels, shown, strict=True):
            _draw_panel(axes, curves[curves["panel"] == quantity], maxima)
            axes.set_ylabel(LABELS[quantity])
        return figure


def _marks(maxima: pd.DataFrame) -> list[Line2D]:
    """Return the legend entries of the vertical lines."""
    tied = maxima["state"].str.contains("tied")
    marks = []
    if not tied.all():
        marks.append(Line2D([], [], color=style.BLACK, lw=0.7, label="maximum throughput"))
    if tied.any():
        marks.append(Line2D([], [], color=style.GREY, lw=0.7, label="maxima that are tied"))
    return marks


def _draw_panel(axes: Axes, members: pd.DataFrame, maxima: pd.DataFrame) -> None:
    if members.empty:
        plot.nothing(axes)
        return
    scale, unit = plot.rate_unit(members["x"])
    plot.log_axis(axes, members[["value", "low", "high"]].to_numpy(float).ravel())
    for variant in plot.variants_of(members):
        plot.series(axes, members[members["variant"] == variant], x_scale=scale)
    for variant, value, state in maxima[["variant", "value", "state"]].itertuples(index=False):
        look = style.look_of(variant)
        color = style.GREY if "tied" in state else look.color
        axes.axvline(value / scale, color=color, lw=0.7, ls=look.dash, alpha=0.6, zorder=0)
    axes.set_xlim(0.0, 1.06 * members["x"].max() / scale)
    axes.set_xlabel(f"Offered rate ({unit})")
