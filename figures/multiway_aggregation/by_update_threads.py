"""TuMLMC's figures have one form: throughput above, mean latency below, over its update threads.

One series for few inputs and one for many. The extended form has the median and the 99th percentile
of the latency in place of the mean. *Ideal* is predicted and not measured, as in ``by_inputs``: the
throughput with the fewest update threads, times the cores that all threads can use with more.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import pandas as pd
from matplotlib.figure import Figure

from experiments.harness.points import Point, at_maximum
from figures import plot, style
from figures.load import Results, joined, points_of, table_of
from figures.multiway_aggregation.by_inputs import (
    LABELS,
    canvas,
    draw_latency,
    draw_throughput,
    ideal_of,
    label_counts,
    latencies,
)

VARIANT = "tumlmc"
X = "update_threads"


@dataclass(frozen=True)
class ByUpdateThreads:
    """One figure of this form.

    Attributes
    ----------
    id : str
    number : int
        In the paper.
    query : str
    """

    id: str
    number: int
    query: str

    @property
    def variants(self) -> tuple[str, ...]:
        """Those of the paper."""
        return (VARIANT,)

    def select(self, results: Results, extended: bool = False) -> pd.DataFrame:
        """Return what the figure draws, in the form of ``figures.load``; x: update threads."""
        shown = None if extended else self.variants
        throughputs = points_of(results, self.id, "throughput_tps", shown)
        parts = [table_of(throughputs, X)]
        parts += [ideal_of(own, X) for own in _by_inputs(throughputs)]
        for quantity in latencies(extended):
            points = at_maximum(points_of(results, self.id, quantity, shown))
            parts.append(table_of(points, X))
        return joined(parts)

    def draw(self, table: pd.DataFrame, footer: Sequence[str], extended: bool = False) -> Figure:
        """Return the figure of `table`."""
        name = f"TuMLMC, {self.query} over threads"
        title = f"Figure {self.number}{', extended' if extended else ''}: {name}"
        looks, keyed = _looks(table)
        handles = [plot.handle_of(look) for look in looks.values()]
        handles += plot.notes_of(table)
        footer = [*footer, *plot.absent(table, self.variants)]
        figure, panels = canvas(title, handles, footer, extended)
        draw_throughput(panels[0], keyed, looks)
        for axes, quantity in zip(panels[1:], latencies(extended), strict=True):
            draw_latency(axes, keyed[keyed["panel"] == quantity], looks, LABELS[quantity])
        label_counts(panels, table, "Update threads", extended)
        return figure


def _by_inputs(points: Sequence[Point]) -> list[list[Point]]:
    counts = sorted({point.inputs for point in points})
    return [[point for point in points if point.inputs == count] for count in counts]


def _looks(table: pd.DataFrame) -> tuple[dict[str, style.Look], pd.DataFrame]:
    """Return a look for each number of inputs, and the table with these as its variants."""
    measured = table[table["variant"] != plot.IDEAL]
    counts = [int(count) for count in sorted(measured["inputs"].unique())]
    kinds = [style.MANY_INPUTS] if len(counts) == 1 else [style.FEW_INPUTS, style.MANY_INPUTS]
    names = [f"{count} inputs" for count in counts]
    looks = {name: style.Look(name, *kinds[min(n, 1)]) for n, name in enumerate(names)}
    named = dict(zip(counts, names, strict=True))
    keyed = table["inputs"].map(named).where(table["variant"] != plot.IDEAL, plot.IDEAL)
    return looks, table.assign(variant=keyed)
