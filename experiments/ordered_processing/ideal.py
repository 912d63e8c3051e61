"""The ideal speed-up of n workers: n times one thread without queues and buffers.

Workers beyond the machine's cores add nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from experiments.declare import Figure
from experiments.families.saturated_source import SPEED_UPS
from experiments.judging.points import Point
from experiments.predictions import Prediction, Predictions

SOURCE = "a serial run a worker, up to the cores"


def predict(measured: Callable[[str], Sequence[Point]], figure: Figure) -> Predictions:
    """Return the ideal speed-up at each point of a figure over workers, once for all lines.

    Parameters
    ----------
    measured : callable
        ``measured(id)``: the points of a figure of the paper.
    figure : Figure
    """
    found = {}
    for point in measured(figure.id):
        if point.quantity == SPEED_UPS.name:
            place = tuple(point.settings[sweep.setting] for sweep in figure.free)
            best = float(min(point.settings["workers"], point.cores))
            given = (figure.lines[0], point.settings, SPEED_UPS.name, best)
            found.setdefault(place, Prediction(*given))
    return Predictions(SOURCE, tuple(found.values()))
