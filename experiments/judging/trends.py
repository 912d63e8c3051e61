"""Comparators of trends: a quantity over a setting or over the offered rate.

A trend is the last x against the first, and nothing else: the points between are drawn, but picking
the highest or lowest of them would flatter noise. ``comparators`` defines a comparator.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import ClassVar, Literal

import numpy as np

from experiments.judging.claim_types import Comparator, Comparison, CurveComparison, CurveReads
from experiments.judging.lookup import Lookup, axis_of, number_text
from experiments.judging.pairs import (
    NOTHING_TO_CHOOSE_BY,
    Names,
    Pair,
    backlog,
    extreme_within,
    halves_of,
    left_out,
    pair_of,
)
from experiments.judging.points import Point

# A line through two or three points says nothing about straightness.
POINTS_FOR_A_LINE = 4
PER_TUPLE = "per_tuple"
TIME_A_TUPLE = "time a tuple takes"
PAST_THE_BEST = "the best is at the most that were measured, so nothing lies past it"


@dataclass(frozen=True, kw_only=True)
class CostReads(CurveReads):
    """Curves of a quantity, or of the time that a tuple takes: one over the throughput."""

    cost: Literal["per_tuple"] | None = None


@dataclass(frozen=True, kw_only=True)
class Monotone(CurveComparison):
    """The last point of a curve over the first, and how straight it is if the paper says a line."""

    straight: bool = False
    reads: CostReads

    @property
    def compared(self) -> str:
        """The compared quantity in words: the time of a tuple, where ``cost`` is read."""
        return TIME_A_TUPLE if self.reads.cost == PER_TUPLE and not self.words else super().compared


@dataclass(frozen=True, kw_only=True)
class FallsAtFirst(Comparison):
    """The second rate of a curve over the first."""

    one_setting: ClassVar[bool] = True


def _curves(claim: CurveComparison, lookup: Lookup) -> Iterator[list[Point]]:
    """Yield the points over the x axis of each figure and variant, where there are two or more."""
    for figure, variant in lookup.lines(claim):
        for curve in lookup.over(claim, figure, variant):
            if len(curve) == 1:
                lookup.note_missing(figure, f"a second number of {_axis(claim, lookup, figure)[1]}")
            else:
                yield curve


def _axis(claim: CurveComparison, lookup: Lookup, figure: str) -> tuple[str, str]:
    """Return the setting that a trend runs over, and the words for its values."""
    declared = lookup.figures[figure]
    axis = axis_of(claim, declared)
    return axis, declared.words_of(axis)


def _at(claim: CurveComparison, point: Point, lookup: Lookup) -> str:
    """Return the position of a point on the axis of a trend, in words: "20 inputs"."""
    axis, _ = _axis(claim, lookup, point.figure)
    return lookup.settings_text(point.figure, {axis: point.settings[axis]})


def _number(claim: CurveComparison, point: Point, lookup: Lookup) -> str:
    """Return the same without the words of the axis."""
    return number_text(point.settings[_axis(claim, lookup, point.figure)[0]])


def _place(claim: CurveComparison, curve: Sequence[Point], lookup: Lookup) -> str:
    """Return the settings of a curve in words: the query, and the other swept settings."""
    first = curve[0]
    axis, _ = _axis(claim, lookup, first.figure)
    beside = [s.setting for s in lookup.figures[first.figure].free if s.setting != axis]
    told = lookup.settings_text(first.figure, {name: first.settings[name] for name in beside})
    return f"{first.subject}, {told}" if told else first.subject


def last_over_first(claim: Monotone, lookup: Lookup) -> list[Pair]:
    """Pair the last point of each curve with the first.

    With ``cost: per_tuple`` the value is the time that a tuple takes, one over the throughput.
    """
    found = []
    for curve in _curves(claim, lookup):
        first, last = curve[0], curve[-1]
        name, place = lookup.name(first.variant), _place(claim, curve, lookup)
        above = f"{name} at {_at(claim, last, lookup)}"
        names = Names(above, f"that at {_number(claim, first, lookup)}", place)
        pair = pair_of(names, last, first, lookup.floors)
        if claim.reads.cost == PER_TUPLE:
            pair = pair.inverted(names._replace(above=f"{TIME_A_TUPLE} in {above}"))
        found.append(pair)
    return found


def straight(claim: Monotone, lookup: Lookup) -> tuple[float, int] | None:
    """Return the share of the variance that a straight line explains, and the number of curves.

    The mean over the claim's curves of four points or more; None where there is none.
    """
    shares = []
    for curve in _curves(claim, lookup):
        if len(curve) >= POINTS_FOR_A_LINE:
            axis, _ = _axis(claim, lookup, curve[0].figure)
            x = np.array([point.settings[axis] for point in curve], dtype=float)
            y = np.array([point.value for point in curve])
            y = 1.0 / y if claim.reads.cost == PER_TUPLE else y
            # A line explains a constant completely.
            shares.append(float(np.corrcoef(x, y)[0, 1] ** 2) if np.ptp(y) else 1.0)
    return (sum(shares) / len(shares), len(shares)) if shares else None


def no_fall(claim: CurveComparison, lookup: Lookup) -> list[Pair]:
    """Pair the last point of each curve with the best one, chosen by other rounds.

    Where the best point is the last, nothing lies past it, and there is no answer.
    """
    found = []
    for curve in _curves(claim, lookup):
        last, name = curve[-1], lookup.name(curve[0].variant)
        above = f"{name} at {_at(claim, last, lookup)}"
        names = Names(above, "its best", _place(claim, curve, lookup))
        halves = halves_of(point.values for point in curve)
        best = halves and extreme_within(curve, lambda point: point.values, halves.choose)
        if best is None:
            found.append(left_out(names, curve, NOTHING_TO_CHOOSE_BY))
        elif best is last:
            found.append(left_out(names, curve, PAST_THE_BEST))
        else:
            names = names._replace(below=f"its best, at {_number(claim, best, lookup)}")
            pair = pair_of(names, last, best, lookup.floors)
            found.append(pair.within(halves.judge, halves.note) if pair.ratio else pair)
    return found


def falls_at_first(claim: FallsAtFirst, lookup: Lookup) -> list[Pair]:
    """Follow the offered rate: the second rate below saturation over the slowest one.

    The explosion of latency beyond the sustainable rate is no result: the backlog of an open loop
    grows as long as the run lasts, whatever was built.
    """
    found, at = [], claim.reads.at
    for figure, variant in lookup.lines(claim):
        curve = lookup.rates(figure, variant, at, claim.quantity)
        below = [point for point in curve if not backlog(point)]
        name, told = lookup.name(variant), lookup.settings_text(figure, at)
        if len(below) < 2:
            lookup.note_missing(figure, f"two rates below saturation of {name}, {told}")
            continue
        slowest, faster = below[:2]
        above, first = (f"{100 * point.rate_fraction:.0f} %" for point in (faster, slowest))
        names = Names(
            f"{name} at {above} of its rate", f"that at {first}", f"{slowest.subject}, {told}"
        )
        found.append(pair_of(names, faster, slowest, lookup.floors))
    return found


COMPARATORS = {
    "monotone": Comparator(Monotone, last_over_first),
    "no-fall": Comparator(CurveComparison, no_fall),
    "falls-at-first": Comparator(FallsAtFirst, falls_at_first),
}
