"""Comparators of this paper alone: bounds, and trends over the offered rate.

In a figure over the rate each line has different rates, shares of the line's throughput. A claim
therefore reads each line at a named rate, and never compares two lines at one rate:

=============  ==========================================================
``slowest``    the lowest offered rate
``below``      the highest one below saturation
``saturated``  the lowest one above the line's throughput
``past``       the highest one, if above the line's throughput
=============  ==========================================================

See ``experiments.judging.comparators`` for the definition of a comparator.

# ASSUME: a queue of less than one tuple is read as one tuple, so that an empty one has a ratio.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Literal

from experiments.judging.badges import in_unit
from experiments.judging.claim_types import Comparator, Comparison, Reads, RivalReads
from experiments.judging.growths import CoreReads, lacks_second, within_cores
from experiments.judging.lookup import Lookup, axis_of
from experiments.judging.pairs import Names, Pair, combined, difference_pair, formula_pair, pair_of
from experiments.judging.points import Point
from experiments.records.quantities import quantity

Rate = Literal["slowest", "below", "saturated", "past"]
# For messages: "2 instances past saturation".
TOLD = {
    "slowest": "at the lowest rate",
    "below": "below saturation",
    "saturated": "at saturation",
    "past": "past saturation",
}
LEAST_QUEUE = 1.0


@dataclass(frozen=True, kw_only=True)
class BoundReads(Reads):
    """Points, at a named rate if the figure is over the rate, and the bound for them."""

    bound: float
    rate: Rate | None = None


@dataclass(frozen=True, kw_only=True)
class TrendReads(Reads):
    """Lines over the rate, and the two named rates that are compared."""

    rate: Rate
    against: Rate


@dataclass(frozen=True, kw_only=True)
class RateCoreReads(CoreReads):
    """Lines over the rate, each at the same named rate, over a setting."""

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
    """Lines over the rate at one named rate against another one."""

    reads: TrendReads


@dataclass(frozen=True, kw_only=True)
class RateGrowth(Comparison):
    """The last line over the rate against the first, each at the same named rate."""

    reads: RateCoreReads


@dataclass(frozen=True, kw_only=True)
class LargerDifference(Comparison):
    """The lead of a variant over a rival, against that in another quantity."""

    reads: OtherReads

    @property
    def quantities(self) -> tuple[str, ...]:
        """The names of all quantities read."""
        return (self.quantity, self.reads.of)


def against_bound(claim: AgainstBound, lookup: Lookup) -> list[Pair]:
    """Pair each value with ``bound``."""
    bound, found = claim.reads.bound, []
    for figure, variant in lookup.lines(claim):
        for place, point in _points(claim, lookup, figure, variant):
            names = Names(lookup.name(variant), f"the bound of {in_unit(bound, claim.unit)}", place)
            found.append(formula_pair(names, point, lambda _: bound, lookup.floors))
    return found


def _points(
    claim: AgainstBound, lookup: Lookup, figure: str, variant: str
) -> Iterator[tuple[str, Point]]:
    """Yield the points of a variant, each with a description of where it lies."""
    if claim.reads.rate is not None:
        yield from _at_rates(claim, lookup, figure, variant, claim.reads.rate)
        return
    for reading in lookup.each(claim, figures=[figure], variants=[variant]):
        if reading.point:
            yield (
                f"{reading.point.subject}, {lookup.settings_text(figure, reading.at)}",
                reading.point,
            )


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
            above, below = (
                lookup.settings_text(figure, {axis: p.settings[axis]}) for p in (last, first)
            )
            names = Names(above, below, f"{last.subject}, {TOLD[rate]}")
            found.append(pair_of(names, last, first, lookup.floors))
    return found


def larger_difference(claim: LargerDifference, lookup: Lookup) -> list[Pair]:
    """Pair the sums that decide whether one difference between two lines is larger than another.

    It is if the variant's quantity plus the rival's ``of`` exceed the rival's quantity plus the
    variant's ``of``.
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
        where = (
            f"over {lookup.name(rival.variant)}, {lookup.settings_text(reading.figure, reading.at)}"
        )
        names = Names(above, below, where)
        found.append(difference_pair(names, (point, rival), tuple(others), lookup.floors))
    return found


# --- over the rate -------------------------------------------------------------------------------


def _ends(
    claim: RateTrend, lookup: Lookup, figure: str, variant: str
) -> Iterator[tuple[str, Point, Point]]:
    """Yield each line of a variant that has both rates: where it lies, and the two points."""
    upper, lower = (
        dict(_at_rates(claim, lookup, figure, variant, rate))
        for rate in (claim.reads.rate, claim.reads.against)
    )
    for at, point in upper.items():
        # Both names may mean the same rate, with nothing to compare.
        if at in lower and point.rate_fraction != lower[at].rate_fraction:
            yield at, point, lower[at]


def _at_rates(
    claim: Comparison, lookup: Lookup, figure: str, variant: str, rate: Rate
) -> Iterator[tuple[str, Point]]:
    """Yield the point at a named rate of each line of a claim, with where the line lies in words.

    A line without such a rate is noted as missing.
    """
    beside = _beside(lookup, figure)
    for at in lookup.places(claim, figure, variant):
        curve = lookup.rates(figure, variant, at, claim.quantity)
        if not curve:
            lookup.note_missing(
                figure, f"{lookup.name(variant)} at {lookup.settings_text(figure, at)}"
            )
        for own in _grouped(curve, beside):
            settings = {name: own[0].settings[name] for name in beside}
            told = f"{own[0].subject}, {lookup.settings_text(figure, settings)}"
            point = _chosen(own, rate)
            if point is None:
                lookup.note_missing(figure, f"a rate {TOLD[rate]} of {told}")
            else:
                yield told, point


def _chosen(curve: Sequence[Point], rate: Rate) -> Point | None:
    """Return the point of a line at a named rate, None if there is none; rates ascend."""
    saturated = [point for point in curve if "saturated" in point.states]
    kept_up = [point for point in curve if point not in saturated]
    chosen = {
        "slowest": curve[:1],
        "below": kept_up[-1:],
        "saturated": saturated[:1],
        "past": saturated[-1:],
    }[rate]
    return _with_ratio(chosen[0]) if chosen else None


def _with_ratio(point: Point) -> Point:
    """Return a point whose values have a ratio: an empty queue counts as one tuple."""
    if quantity(point.quantity).unit != "tuples":
        return point
    return combined([point], lambda value: max(value, LEAST_QUEUE))


def _beside(lookup: Lookup, figure: str, without: str = "") -> list[str]:
    """Return the settings that distinguish the lines of a figure."""
    return [sweep.setting for sweep in lookup.figures[figure].free if sweep.setting != without]


def _grouped(points: Sequence[Point], names: Sequence[str]) -> Iterator[list[Point]]:
    """Yield the points of equal settings together, in order."""

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
