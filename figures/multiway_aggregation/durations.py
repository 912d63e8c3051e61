"""Durations of operations, and the rates they foretell: the form of figures 8 and 10.

Above: the mean processor time of an input thread's operation and of the output thread's, both per
input tuple, one column a variant with two dots. They come from a run of its own that reads clocks
around blocks of operations; waiting is not counted.

Below: the throughput measured without clocks, and the one expected from the bottleneck
(``experiments.multiway_aggregation.expected``), which is predicted and drawn as a grey dash.
"""

from __future__ import annotations

from collections.abc import Sequence

import pandas as pd
from matplotlib.figure import Figure as Picture
from matplotlib.lines import Line2D

from experiments.declare import Figure
from experiments.families.aggregation.columns import INPUT, OUTPUT
from experiments.judging.points import Point
from experiments.multiway_aggregation.expected import expected_tps
from figures import plot, style
from figures.forms import dots
from figures.forms.curves import RATE_UNIT, panels_of
from figures.load import Results, frame, joined, line_of, place_of, points_of

EXPECTED = "expected_tps"


def select(results: Results, paper: str, figure: Figure, extended: bool = False) -> pd.DataFrame:
    """Return what the figure draws, in the form of ``figures.load``."""
    sides = (points_of(results, paper, figure, name, extended) for name in (INPUT, OUTPUT))
    return joined([dots.select(results, paper, figure, extended), _expected(*sides, figure)])


def draw(
    table: pd.DataFrame, figure: Figure, footer: Sequence[str], extended: bool = False
) -> Picture:
    """Return the picture of `table`."""
    looks = plot.looks_of(table, figure)
    expected = table[table["panel"] == EXPECTED]
    handles = [plot.handle_of(look, line=False) for look in looks.values()]
    predicted = _expected_mark([], [])
    predicted.set_label("predicted: by the bottleneck")
    handles += plot.notes_of(table, [] if expected.empty else [predicted])
    footer = [*footer, *plot.absent(table, figure)]
    size = style.WIDE if extended else style.NARROW
    title = plot.title_of(figure, extended)
    picture, panels = plot.canvas(size, (2, 1), 1.45, title, handles, footer)
    for axes, names in zip(panels, dots.by_unit(panels_of(figure, extended)), strict=True):
        scale = dots.draw_panel(axes, table, looks, names)
    largest = pd.concat([table[table["unit"] == RATE_UNIT][name] for name in ("value", "high")])
    if len(largest):
        plot.zero_based(axes, largest.max() / scale)
    for column, line in enumerate(looks):
        foretold = expected[expected["line"] == line]["value"] / scale
        axes.add_line(_expected_mark([column] * len(foretold), foretold.to_list()))
    dots.name_columns(axes, looks)
    return picture


def _expected(
    input_points: Sequence[Point], output_points: Sequence[Point], figure: Figure
) -> pd.DataFrame:
    """Return the throughputs to expect from the medians of both threads, as rows of a table."""
    outputs = {line_of(point, figure): point for point in output_points}
    rows = []
    for own in input_points:
        other = outputs.get(line_of(own, figure))
        if other is not None:
            inputs = own.settings["inputs"]
            value = expected_tps(own.middle[0], other.middle[0], inputs, own.cores)
            paper, name, _, *rest = place_of(own, figure)
            rows.append((paper, name, EXPECTED, *rest, 0, value, None, None, 0, "predicted",
                         RATE_UNIT))  # fmt: skip
    return frame(rows)


def _expected_mark(x: Sequence[float], y: Sequence[float]) -> Line2D:
    return Line2D(
        x, y, color=style.GREY, ls="", marker="_", markersize=14.0, markeredgewidth=1.2, zorder=2
    )
