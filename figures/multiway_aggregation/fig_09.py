"""Figure 9 of the paper: latency over the offered input rate, K-OS with 20 inputs.

Axes: offered tuples/s of all inputs together; mean latency in ms, logarithmic. A thin vertical line
marks the maximum throughput of each variant, measured with the inputs as fast as they are taken, so
that one sees where its latency should explode. The extended figure shows every measured variant,
and median and 99th percentile in place of the mean.

Claims drawn here: the latency falls with the rate and explodes at saturation
(``latency-falls-then-explodes``), and TuMLSC saturates later than MQ
(``tumlsc-over-mq-at-saturation``).

What differs here: the paper had 24 logical cores for 21 threads and the injectors; points with more
threads than cores are hollow, and the footer names machine and data.
"""

from __future__ import annotations

from collections.abc import Sequence

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from figures import plot, style
from figures.load import TABLE, Results, points_of, table_of
from figures.multiway_aggregation.by_inputs import LABELS

ID, NUMBER, QUERY = "fig_09", 9, "K-OS"
VARIANTS = ("mq", "mqlf", "tumlsc")


def select(results: Results, extended: bool = False) -> pd.DataFrame:
    """Return what the figure draws, in the form of ``figures.load``; x is in tuples/s.

    The panel ``throughput_tps`` holds the maximum throughputs, their own x.
    """
    shown = None if extended else VARIANTS
    maxima = table_of(points_of(results, ID, "throughput_tps", shown))
    maxima["x"] = maxima["value"]
    parts = [maxima]
    for quantity in _quantities(extended):
        parts.append(table_of(points_of(results, ID, quantity, shown), x="offered_tps"))
    filled = [part for part in parts if not part.empty]
    return pd.concat(filled, ignore_index=True) if filled else pd.DataFrame(columns=TABLE)


def draw(table: pd.DataFrame, footer: Sequence[str], extended: bool = False) -> Figure:
    """Return the figure of `table`."""
    title = f"Figure {NUMBER}{', extended' if extended else ''}: {QUERY} over the rate, 20 inputs"
    curves = table[table["panel"] != "throughput_tps"]
    maxima = table[table["panel"] == "throughput_tps"]
    marks = []
    if not maxima.empty:
        marks = [Line2D([], [], color=style.GREY, lw=0.7, label="maximum throughput")]
    handles = plot.handles_of(curves, marks)
    footer = [*footer, *plot.absent(curves, VARIANTS)]
    quantities = _quantities(extended)
    width, height = (style.WIDE, 2.2) if extended else (style.NARROW, 2.0)
    figure, panels = plot.canvas(width, (1, len(quantities)), height, title, handles, footer)
    for axes, quantity in zip(panels, quantities, strict=True):
        _draw_panel(axes, curves[curves["panel"] == quantity], maxima)
        axes.set_ylabel(LABELS[quantity])
    return figure


def _quantities(extended: bool) -> tuple[str, ...]:
    return ("latency_ms_p50", "latency_ms_p99") if extended else ("latency_ms_mean",)


def _draw_panel(axes: Axes, members: pd.DataFrame, maxima: pd.DataFrame) -> None:
    if members.empty:
        plot.nothing(axes)
        return
    scale, unit = plot.rate_unit(members["x"])
    plot.log_axis(axes, members[["value", "low", "high"]].to_numpy(float).ravel())
    for variant in plot.variants_of(members):
        plot.series(axes, members[members["variant"] == variant], x_scale=scale)
    for variant, value in maxima[["variant", "value"]].itertuples(index=False):
        look = style.look_of(variant)
        axes.axvline(value / scale, color=look.color, lw=0.7, ls=look.dash, alpha=0.6, zorder=0)
    axes.set_xlim(0.0, 1.06 * members["x"].max() / scale)
    axes.set_xlabel(f"Offered rate ({unit})")
