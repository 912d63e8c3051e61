"""Comparators of this paper alone: bounds, and what happens over the offered rate.

Lines of a figure over the rate have rates of their own, shares of what each takes. So a claim reads
a line at a rate that has a name, and never two lines at one rate:

=============  ==========================================================
``slowest``    the lowest rate that was offered
``below``      the highest one below saturation
``saturated``  the lowest one that was more than the line takes
``past``       the highest one, where that was more than the line takes
=============  ==========================================================

See ``experiments.judging.comparators`` for what a comparator is.

# ASSUME: a queue of less than a tuple is read as one of a tuple, so that an empty one has a ratio.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Literal

from experiments.judging.claim_types import Comparator, Comparison, Reads, RivalReads
from experiments.judging.growths import CoreReads, lacks_second, within_cores
from experiments.judging.lookup import Lookup, axis_of
from experiments.judging.pairs import Names, Pair, combined, difference_pair, formula_pair, pair_of
from experiments.judging.points import Point
from experiments.records.quantities import quantity

Rate = Literal["slowest", "below", "saturated", "past"]
# In a sentence: "2 instances past saturation".
TOLD = {
    "slowest": "at the lowest rate",
    "below": "below saturation",
    "saturated": "at saturation",
    "past": "past saturation",
}
LEAST_QUEUE = 1.0


@dataclass(frozen=True, kw_only=True)
class BoundReads(Reads):
    """Points, at a rate where the figure is over the rate, and what they are held against."""

    bound: float
    rate: Rate | None = None


@dataclass(frozen=True, kw_only=True)
class TrendReads(Reads):
    """Lines over the rate at one rate, and at the one that this is held against."""

    rate: Rate
    against: Rate


@dataclass(frozen=True, kw_only=True)
class RateCoreReads(CoreReads):
    """Lines over the rate, each at such a rate of its own, over a setting."""

    rate: Rate


@dataclass(frozen=True, kw_only=True)
class OtherReads(RivalReads):
    """Variants and rivals, in the claim's quantity and in another one."""

    of: str


@dataclass(frozen=True, kw_only=True)
class AgainstBound(Comparison):
    """Values against a bound."""

    reads: BoundReads


@dataclass(frozen=True, kw_only=True)
class RateTrend(Comparison):
    """Lines over the rate at one rate against another one."""

    reads: TrendReads


@dataclass(frozen=True, kw_only=True)
class RateGrowth(Comparison):
    """The last line over the rate against the first, each at such a rate of its own."""

    reads: RateCoreReads


@dataclass(frozen=True, kw_only=True)
class LargerDifference(Comparison):
    """What a variant has more than a rival, against what it has more of another quantity."""

    reads: OtherReads

    @property
    def quantities(self) -> tuple[str, ...]:
        """The names of all quantities that it reads."""
        return (self.quantity, self.reads.of)


def against_bound(claim: AgainstBound, lookup: Lookup) -> list[Pair]:
    """Pair each value with ``bound``."""
    bound, found = claim.reads.bound, []
    for figure, variant in lookup.lines(claim):
        for place, point in _points(claim, lookup, figure, variant):
            names = Names(lookup.name(variant), f"{bound:g} {claim.unit}", place)
            found.append(formula_pair(names, point, lambda _: bound, lookup.floors))
    return found


def _points(
    claim: AgainstBound, lookup: Lookup, figure: str, variant: str
) -> Iterator[tuple[str, Point]]:
    """Yield the points of a variant, each with where it is in words."""
    if claim.reads.rate is not None:
        yield from _at_rates(claim, lookup, figure, variant, claim.reads.rate)
        return
    for reading in lookup.each(claim, figures=[figure], variants=[variant]):
        if reading.point:
            yield f"{reading.point.subject}, {lookup.told(figure, reading.at)}", reading.point


def rate_trend(claim: RateTrend, lookup: Lookup) -> list[Pair]:
    """Pair a line at ``rate`` with itself at ``against``."""
    found = []
    for figure, variant in lookup.lines(claim):
        for at, upper, lower in _ends(claim, lookup, figure, variant):
            name = lookup.name(variant)
            names = Names(f"{name} {TOLD[claim.reads.rate]}", TOLD[claim.reads.against], at)
            found.append(pair_of(names, upper, lower, lookup.floors))
    return found


def rate_growth(claim: RateGrowth, lookup: Lookup) -> list[Pair]:
    """Pair the line of the last value of ``over`` with that of the first, each at ``rate``."""
    found, rate = [], claim.reads.rate
    for figure, variant in lookup.lines(claim):
        axis = axis_of(claim, lookup.figures[figure])
        members = [point for _, point in _at_rates(claim, lookup, figure, variant, rate)]
        members = within_cores(claim, members)
        for own in _grouped(members, _beside(lookup, figure, without=axis)):
            own.sort(key=lambda point: point.settings[axis])
            if len(own) < 2:
                lacks_second(claim, lookup, figure)
                continue
            first, last = own[0], own[-1]
            above, below = (lookup.told(figure, {axis: p.settings[axis]}) for p in (last, first))
            names = Names(above, below, f"{last.subject}, {TOLD[rate]}")
            found.append(pair_of(names, last, first, lookup.floors))
    return found


def larger_difference(claim: LargerDifference, lookup: Lookup) -> list[Pair]:
    """Pair the sums that say whether one difference between two lines is larger than another.

    It is when the variant's quantity and the rival's ``of`` are more together than the rival's
    quantity and the variant's ``of``.
    """
    found, of = [], claim.reads.of
    for reading, point, rival in lookup.against(claim, claim.reads.rivals):
        others = [
            lookup.find(reading.figure, each.variant, reading.at, of) for each in (point, rival)
        ]
        if None in others:
            continue
        words = [quantity(each).words for each in (claim.quantity, of)]
        above, below = (f"{lookup.name(point.variant)} by {word}" for word in words)
        where = f"over {lookup.name(rival.variant)}, {lookup.told(reading.figure, reading.at)}"
        names = Names(above, below, where)
        found.append(difference_pair(names, (point, rival), tuple(others), lookup.floors))
    return found


# --- over the rate -------------------------------------------------------------------------------


def _ends(
    claim: RateTrend, lookup: Lookup, figure: str, variant: str
) -> Iterator[tuple[str, Point, Point]]:
    """Yield each line of a variant that has both rates: where it is, and its two points."""
    upper, lower = (
        dict(_at_rates(claim, lookup, figure, variant, rate))
        for rate in (claim.reads.rate, claim.reads.against)
    )
    for at, point in upper.items():
        # Both may be one rate, of which there is nothing to say.
        if at in lower and point.rate_fraction != lower[at].rate_fraction:
            yield at, point, lower[at]


def _at_rates(
    claim: Comparison, lookup: Lookup, figure: str, variant: str, rate: Rate
) -> Iterator[tuple[str, Point]]:
    """Yield the point at a rate of each line that a claim reads, with where the line is in words.

    A line without such a rate is noted as missing.
    """
    beside = _beside(lookup, figure)
    for at in lookup.places(claim, figure, variant):
        curve = lookup.rates(figure, variant, at, claim.quantity)
        if not curve:
            lookup.lacks(figure, f"{lookup.name(variant)} at {lookup.told(figure, at)}")
        for own in _grouped(curve, beside):
            settings = {name: own[0].settings[name] for name in beside}
            told = f"{own[0].subject}, {lookup.told(figure, settings)}"
            point = _chosen(own, rate)
            if point is None:
                lookup.lacks(figure, f"a rate {TOLD[rate]} of {told}")
            else:
                yield told, point


def _chosen(curve: Sequence[Point], rate: Rate) -> Point | None:
    """Return the point of a line at a rate, None where it has none; rates ascend."""
    saturated = [point for point in curve if "saturated" in point.states]
    kept_up = [point for point in curve if point not in saturated]
    chosen = {
        "slowest": curve[:1],
        "below": kept_up[-1:],
        "saturated": saturated[:1],
        "past": saturated[-1:],
    }[rate]
    return _told_apart(chosen[0]) if chosen else None


def _told_apart(point: Point) -> Point:
    """Return a point whose values have a ratio: a queue of no tuple is one of a tuple."""
    if quantity(point.quantity).unit != "tuples":
        return point
    return combined([point], lambda value: max(value, LEAST_QUEUE))


def _beside(lookup: Lookup, figure: str, without: str = "") -> list[str]:
    """Return the settings that tell the lines of a figure apart."""
    return [sweep.setting for sweep in lookup.figures[figure].free if sweep.setting != without]


def _grouped(points: Sequence[Point], names: Sequence[str]) -> Iterator[list[Point]]:
    """Yield the points of equal settings together, as they are ordered."""

    def place(point: Point) -> tuple:
        return tuple(str(point.settings[name]) for name in names)

    for _, members in groupby(sorted(points, key=place), key=place):
        yield list(members)


COMPARATORS = {
    "against-bound": Comparator(AgainstBound, against_bound),
    "rate-trend": Comparator(RateTrend, rate_trend),
    "rate-growth": Comparator(RateGrowth, rate_growth),
    "larger-difference": Comparator(LargerDifference, larger_difference),
}
