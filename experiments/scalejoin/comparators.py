"""Comparators of this paper alone: bounds, and what lies between two joins.

A claim with ``up_to: cores`` reads the numbers of processing threads up to the cores, since the
paper's first machine has a core for each of its threads, and its second one a word of its own for
more threads than cores. See ``experiments.judging.comparators`` for what a comparator is.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

from experiments.judging.claim_types import (
    Comparator,
    Comparison,
    CurveComparison,
    RivalComparison,
    RivalReads,
)
from experiments.judging.formulas import against_formula
from experiments.judging.growths import CoreReads, curves_of, lacks_second, told, up_to
from experiments.judging.lookup import Lookup, axis_of, pairs_of
from experiments.judging.pairs import (
    Names,
    Pair,
    difference_pair,
    extreme_within,
    formula_pair,
    halves_of,
    pair_of,
)
from experiments.judging.points import Point
from experiments.records.quantities import quantity


@dataclass(frozen=True, kw_only=True)
class RivalCoreReads(RivalReads, CoreReads):
    """Curves of variants and of rivals, up to the cores where asked for."""


@dataclass(frozen=True, kw_only=True)
class BoundReads(CoreReads):
    """Curves, and what none of their values is to exceed."""

    bound: float


@dataclass(frozen=True, kw_only=True)
class OtherReads(RivalCoreReads):
    """Curves of variants in one figure, and another quantity of rivals in another."""

    of: str


@dataclass(frozen=True, kw_only=True)
class AtMost(CurveComparison):
    """The highest of all values against a bound."""

    reads: BoundReads


@dataclass(frozen=True, kw_only=True)
class CoreComparison(RivalComparison):
    """Curves of variants against curves of rivals, up to the cores where asked for."""

    reads: RivalCoreReads


@dataclass(frozen=True, kw_only=True)
class OverHighest(Comparison):
    """The last value in the first of two figures against the highest in the second."""

    paired_figures: ClassVar[bool] = True

    reads: OtherReads

    @property
    def quantities(self) -> tuple[str, ...]:
        """The names of all quantities that it reads."""
        return (self.quantity, self.reads.of)


def at_most(claim: AtMost, lookup: Lookup) -> list[Pair]:
    """Pair the highest of all places with ``bound``: one pair, so that each place has to keep it.

    The highest is chosen by other rounds than those that judge it. A count is chosen by all of its
    values; so is a single value a place, which then speaks against the statement if anything.
    """
    places = list(_places(claim, lookup))
    if not places:
        return []
    counted = not quantity(claim.quantity).timed
    halves = None if counted else halves_of(point.values for _, point in places)
    every = {place for _, point in places for place in point.values}
    choose = halves.choose if halves else every
    where, worst = extreme_within(places, lambda place: place[1].values, choose)
    bound = claim.reads.bound
    if len(places) > 1:
        where = f"the highest of {len(places)} places, {where}"
    names = Names(lookup.name(worst.variant), f"{bound:g} {claim.unit}", where)
    pair = formula_pair(names, worst, lambda _: bound, lookup.floors)
    return [pair.within(halves.judge, halves.note) if halves and pair.ratio else pair]


def _places(claim: AtMost, lookup: Lookup) -> Iterator[tuple[str, Point]]:
    """Yield the points of a claim, each with where it is in words."""
    several = len(claim.figures) > 1
    for figure, variant in lookup.lines(claim):
        curves = list(curves_of(claim, lookup, figure, variant))
        if not curves:
            lookup.lacks(figure, f"{lookup.name(variant)}{up_to(claim)}")
        for curve in curves:
            for x, point in curve.points.items():
                where = (point.subject * several, told(claim, lookup, figure, x), curve.place)
                yield ", ".join(filter(None, where)), point


def at_last(claim: CoreComparison, lookup: Lookup) -> list[Pair]:
    """Pair a variant with each rival at the last x that both have."""
    found = []
    for figure, variant, rival in lookup.rivals(claim):
        for place, mine, theirs in _both(claim, lookup, figure, variant, rival):
            *_, last = (x for x in mine if x in theirs)
            where = ", ".join(filter(None, [told(claim, lookup, figure, last), place]))
            names = Names(lookup.name(variant), lookup.name(rival), where)
            found.append(pair_of(names, mine[last], theirs[last], lookup.floors))
    return found


def difference_grows(claim: CoreComparison, lookup: Lookup) -> list[Pair]:
    """Pair the sums that say whether a variant is further ahead of a rival at the last x.

    It is when variant at the last and rival at the first are more together than variant at the
    first and rival at the last.
    """
    found = []
    for figure, variant, rival in lookup.rivals(claim):
        words = lookup.figures[figure].words_of(axis_of(claim, lookup.figures[figure]))
        for place, mine, theirs in _both(claim, lookup, figure, variant, rival):
            common = [x for x in mine if x in theirs]
            if len(common) < 2:
                lacks_second(claim, lookup, figure)
                continue
            first, last = common[0], common[-1]
            places = [
                f"{lookup.name(variant)} at {own} and {lookup.name(rival)} at {other}"
                for own, other in ((last, first), (first, last))
            ]
            names = Names(*places, ", ".join(filter(None, [words, place])))
            ahead = [(mine[x], theirs[x]) for x in (last, first)]
            found.append(difference_pair(names, *ahead, lookup.floors))
    return found


def over_highest(claim: OverHighest, lookup: Lookup) -> list[Pair]:
    """Pair the last place of the first figure with the highest that ``of`` has in the second.

    The last place is no choice. The highest is chosen by its own values, which speaks against the
    statement if anything.
    """
    reads, found = claim.reads, []
    for upper, lower in pairs_of(claim.figures):
        for variant in lookup.among(upper, reads.variants):
            curves = list(curves_of(claim, lookup, upper, variant))
            for rival in lookup.among(lower, reads.rivals):
                others = lookup.at_most.get((lower, rival, reads.of), ())
                if not curves or not others:
                    lacking, name = (lower, rival) if curves else (upper, variant)
                    lookup.lacks(lacking, lookup.name(name))
                    continue
                x, point = list(curves[-1].points.items())[-1]
                highest = max(others, key=lambda each: each.value)
                beside = {each.setting: highest.settings[each.setting]
                          for each in lookup.figures[lower].free}  # fmt: skip
                at = ", ".join(filter(None, [told(claim, lookup, upper, x), curves[-1].place]))
                names = Names(
                    lookup.name(variant), f"the highest of {lookup.name(rival)}",
                    f"{at} and {lookup.told(lower, beside)}",
                )  # fmt: skip
                found.append(pair_of(names, point, highest, lookup.floors))
    return found


def _both(
    claim: CoreComparison, lookup: Lookup, figure: str, variant: str, rival: str
) -> Iterator[tuple[str, Mapping[Any, Point], Mapping[Any, Point]]]:
    """Yield the curves of both at each place where they have an x in common."""
    mine, theirs = (dict(curves_of(claim, lookup, figure, each)) for each in (variant, rival))
    there = [place for place in mine if mine[place].keys() & theirs.get(place, {}).keys()]
    if not there:
        both = f"{lookup.name(variant)} beside {lookup.name(rival)}"
        lookup.lacks(figure, f"{both}{up_to(claim)}")
    for place in there:
        yield place, mine[place], theirs[place]


COMPARATORS = {
    "at-most": Comparator(AtMost, at_most),
    "at-last": Comparator(CoreComparison, at_last),
    "difference-grows": Comparator(CoreComparison, difference_grows),
    "over-highest": Comparator(OverHighest, over_highest),
    # A latency, in ms, against half of the window.
    "half-window": against_formula("half of it", "window_s", lambda window_s: 1_000 * window_s / 2),
}
