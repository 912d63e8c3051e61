"""Comparators of points with the oracle, or with two bounds at once.

``comparators`` defines a comparator.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from statistics import fmean
from typing import ClassVar

from experiments.judging.badges import in_unit
from experiments.judging.claim_types import Claim, Comparator, Reads
from experiments.judging.lookup import Lookup
from experiments.judging.pairs import (
    NOTHING_TO_CHOOSE_BY,
    Names,
    Pair,
    combined,
    extreme_within,
    halves_of,
    left_out,
    pair_of,
)
from experiments.judging.points import Point
from experiments.judging.pool import Direction
from experiments.records.quantities import quantity

# Replaces a share of 0, to which there is no ratio.
LEAST_SHARE = 1e-9


@dataclass(frozen=True, kw_only=True)
class AllRight(Claim):
    """Runs whose output is the oracle's, over all runs."""

    direction: ClassVar[Direction] = "kept"
    # Not one may differ: the tolerance is far below one run in a thousand.
    tolerance: ClassVar[float] = 1 + 1e-6


@dataclass(frozen=True, kw_only=True)
class BoundsReads(Reads):
    """Points, and the bound that each of several quantities has to reach or to stay below."""

    bounds: Mapping[str, float]


@dataclass(frozen=True, kw_only=True)
class Reached(Claim):
    """Several bounds that are kept at once, at one setting at least."""

    direction: ClassVar[Direction] = "higher"
    tolerance: ClassVar[None] = None

    reads: BoundsReads

    @property
    def quantities(self) -> tuple[str, ...]:
        """The names of all quantities that are read."""
        return (self.quantity, *self.reads.bounds)


def all_right(claim: AllRight, lookup: Lookup) -> list[Pair]:
    """Pair the runs of a variant in a figure whose output was the oracle's with all of them."""
    found = []
    for figure, variant in lookup.lines(claim):
        places = lookup.places(claim, figure, variant)
        each = (lookup.points_at(figure, variant, at, claim.quantity) for at in places)
        points = [point for own in each for point in own]
        if points:
            found.append(_share(points, lookup))
        else:
            lookup.note_missing(figure, lookup.name(variant))
    return found


def _share(points: list[Point], lookup: Lookup) -> Pair:
    runs: dict[int, list[float]] = {}
    for point in points:
        for (process, _), right in point.values.items():
            runs.setdefault(process, []).append(right)
    right, of = (sum(map(each, runs.values())) for each in (sum, len))
    names = Names(lookup.name(points[0].variant), "the oracle", points[0].subject)
    share = {(process, 0): max(fmean(own), LEAST_SHARE) for process, own in runs.items()}
    sign = 1 if right == of else -1
    noise = lookup.floors.noise(*points)
    return Pair(names, share, sign, tuple(points), noise, f"{right:.0f} of {of} runs")


def reached(claim: Reached, lookup: Lookup) -> list[Pair]:
    """Pair the margin of the best setting with 1: one pair.

    The margin of a setting is the least of the margins to the bounds. The best of several settings
    is chosen by other processes or rounds than those that judge it.
    """
    found = list(_margins(claim, lookup))
    if not found:
        return []
    bounds = " and ".join(
        in_unit(bound, quantity(name).unit) for name, bound in claim.reads.bounds.items()
    )
    named = [Names(lookup.name(p.variant), f"the bounds {bounds}", where) for where, p, _ in found]
    if len(found) == 1:
        return [_within(named[0], *found[0][1:], lookup)]
    halves = halves_of(margin.values for _, margin, _ in found)
    if halves is None:
        points = [point for *_, members in found for point in members]
        return [left_out(named[0]._replace(place="the best of all"), points, NOTHING_TO_CHOOSE_BY)]
    places = range(len(found))
    best = extreme_within(places, lambda place: found[place][1].values, halves.choose)
    names = named[best]
    names = names._replace(place=f"the best of {len(found)}, {names.place}")
    return [_within(names, *found[best][1:], lookup).within(halves.judge, halves.note)]


def _margins(claim: Reached, lookup: Lookup) -> Iterator[tuple[str, Point, list[Point]]]:
    """Yield each setting: in words, with the least margin as a point and the measured points."""
    bounds = claim.reads.bounds
    signs = [1 if quantity(name).better == "higher" else -1 for name in bounds]

    def least(*values: float) -> float:
        of = zip(values, bounds.values(), signs, strict=True)
        return min((value / bound) ** sign for value, bound, sign in of)

    for reading in lookup.each(claim):
        at = (reading.figure, reading.variant, reading.at)
        points = [lookup.find(*at, name) for name in bounds]
        if None not in points:
            where = f"{points[0].subject}, {lookup.settings_text(reading.figure, reading.at)}"
            yield where, combined(points, least), points


def _within(names: Names, margin: Point, points: list[Point], lookup: Lookup) -> Pair:
    wanted = replace(margin, values=dict.fromkeys(margin.values, 1.0))
    return pair_of(names, margin, wanted, lookup.floors, of=points)


COMPARATORS = {
    "all-right": Comparator(AllRight, all_right),
    "reached": Comparator(Reached, reached),
}
