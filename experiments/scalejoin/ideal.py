"""The ideal scaling to n threads, from one thread (section VI, "Bounds of expected results").

One thread makes C_max comparisons a second, so that n make n * C_max. A window holds the tuples
that arrive in its length, and each new tuple meets all of them, so that comparisons grow as the
square of the rate: n threads sustain sqrt(n) * T_max tuples/s.

Threads beyond the machine's cores compare no more. The threads that deliver tuples and take pairs
need cores too, which the bounds leave out, here as in the paper.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

from experiments.declare import Figure
from experiments.judging.points import Point
from experiments.predictions import Prediction, Predictions

# Growth with the number of threads, relative to one thread.
GROWTH: dict[str, Callable[[int], float]] = {
    "comparisons_ps": float,
    "highest_tps": math.sqrt,
}
WORDS = {"comparisons_ps": "n × C_max", "highest_tps": "√n × T_max"}


def predict(measured: Callable[[str], Sequence[Point]], figure: Figure) -> Predictions:
    """Return the bounds of a figure over processing threads.

    Parameters
    ----------
    measured : callable
        ``measured(id)``: the points of a figure of the paper.
    figure : Figure
    """
    (name,) = figure.quantities
    points = [point for point in measured(figure.id) if point.quantity == name]
    alone = {_without_threads(each): each for each in points if each.settings["threads"] == 1}
    found = []
    for point in points:
        one = alone.get(_without_threads(point))
        if one is None:
            continue
        threads = point.settings["threads"]
        best = GROWTH[name](min(threads, point.cores)) * one.value
        found.append(Prediction(point.variant, point.settings, name, best, fitted=threads == 1))
    told = f"{WORDS[name]} of one thread, n up to the cores"
    return Predictions(told, tuple(found), "" if found else "one thread was not measured")


def _without_threads(point: Point) -> tuple:
    others = {name: value for name, value in point.settings.items() if name != "threads"}
    return (point.variant, *sorted(others.items()))
