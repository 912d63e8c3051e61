"""Durations of operations, and the predicted throughputs: the form of figures 8 and 10.

Above: the mean processor time of an input thread's operation and of the output thread's, both per
input tuple, one column a variant with two dots. They come from a separate run that reads clocks
around blocks of operations; waiting is not counted, nor is a thread that sleeps in a mutex.

Below: the throughput measured without clocks, and the throughput that the processor times above
predict for the bottleneck (``experiments.multiway_aggregation.expected``), drawn as a grey dash.
"""

from __future__ import annotations

from collections.abc import Sequence

import pandas as pd
from matplotlib.figure import Figure as Picture
from matplotlib.lines import Line2D

from experiments.families.aggregation.columns import INPUT, OUTPUT
from experiments.multiway_aggregation.expected import expected_tps
from figures import marks, plot, style
from figures.cells import PREDICTED, Cell, with_cells
from figures.forms import dots, rows
from figures.load import Results, points_of
from figures.table import THROUGHPUT, cell_at, line_of
from figures.view import View

EXPECTED = "expected_tps"
ASLEEP = "processor time: who waits, or sleeps in a mutex, uses none"


def select(results: Results, view: View) -> pd.DataFrame:
    """Return the drawn cells, in the form of ``figures.cells``."""
    measured = dots.without_brackets(rows.select(results, view), as_rows=False)
    return with_cells(measured, _expected(results, view))


def draw(table: pd.DataFrame, view: View, footer: Sequence[str]) -> Picture:
    """Return the picture of `table`."""
    expected = table[table["panel"] == EXPECTED]
    measured = table[table["panel"] != EXPECTED]
    looks = plot.looks_of(table, view.figure)
    if len(looks) > dots.MOST_COLUMNS:
        return rows.draw(measured, view, [*footer, ASLEEP])
    keys = marks.keys_of(measured)
    if not expected.empty:
        keys.append(_expected_mark([], [], label="predicted: by the bottleneck"))
    footer = [*footer, *plot.notes_of(measured, view), ASLEEP]
    shown = dots.by_unit(plot.panels_of(measured, view))
    picture, panels = dots.columns(view, looks, len(shown), keys, footer)
    for axes, names in zip(panels, shown, strict=True):
        # The axis must cover the predictions, which may exceed the measurements.
        estimate = expected["value"].max() if THROUGHPUT in names else 0.0
        scale = dots.draw_panel(axes, measured, looks, names, at_least=estimate)
        if THROUGHPUT in names:
            for column, line in enumerate(looks):
                own = expected[expected["line"] == line]["value"] / scale
                axes.add_line(_expected_mark([column] * len(own), own.to_list()))
    return picture


def _expected(results: Results, view: View) -> list[Cell]:
    """Return the predicted throughputs from the means of both threads, a cell a line."""
    figure = view.figure
    inputs, outputs = (points_of(results, view, name) for name in (INPUT, OUTPUT))
    other = {line_of(p.variant, p.settings, figure): p for p in outputs}
    return [
        cell_at(
            figure,
            THROUGHPUT,
            own.variant,
            own.settings,
            panel=EXPECTED,
            value=expected_tps(own.value, other[line].value, own.settings["inputs"], own.cores),
            states=(PREDICTED,),
        )
        for own in inputs
        if (line := line_of(own.variant, own.settings, figure)) in other
    ]


def _expected_mark(x: Sequence[float], y: Sequence[float], label: str = "") -> Line2D:
    return Line2D(x, y, color=style.GREY, ls="", marker="_", markersize=14.0, markeredgewidth=1.2,
                  zorder=2, label=label)  # fmt: skip
