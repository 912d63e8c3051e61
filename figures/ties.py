"""Ties: the points of a quantity that cannot be told apart from the best of their rivals.

The judge's rule for a single pair decides, so that a figure ties the points that a verdict could
not tell apart: from six processes on by the confidence interval of the paired ratio, with fewer by
all paired ratios and the noise floor (``experiments.judging.pool``). The best point is never tied.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence

from experiments.judging.floors import Floors
from experiments.judging.pairs import Names, backlog, pair_of
from experiments.judging.points import Point
from experiments.judging.pool import DIFFERS, pooled
from experiments.records.quantities import quantity

_NAMES = Names("a line", "the best", "one place")


def tied(
    points: Sequence[Point], floors: Floors, place_of: Callable[[Point], Hashable | None]
) -> list[bool]:
    """Return, for each point, whether it is tied with the best one.

    Parameters
    ----------
    points : sequence of Point
        Of one quantity. Counts have no noise, and are never tied.
    floors : Floors
    place_of : callable
        The key shared by rivals; None for a point without rivals.
    """
    rivals: dict[Hashable, list[int]] = {}
    for number, point in enumerate(points):
        place = place_of(point)
        if place is not None and quantity(point.quantity).timed and not backlog(point):
            rivals.setdefault(place, []).append(number)
    found = [False] * len(points)
    for own in rivals.values():
        best = _best_of(points, own)
        for number in own:
            found[number] = number != best and _alike(points[number], points[best], floors)
    return found


def _best_of(points: Sequence[Point], own: Sequence[int]) -> int:
    lower = quantity(points[own[0]].quantity).better == "lower"
    return (min if lower else max)(own, key=lambda number: points[number].value)


def _alike(one: Point, best: Point, floors: Floors) -> bool:
    """Return whether the reach of the points' ratio includes 1; False without a ratio."""
    reach = pooled([pair_of(_NAMES, one, best, floors)], DIFFERS).reach
    return reach is not None and reach[0] <= 1.0 <= reach[1]
