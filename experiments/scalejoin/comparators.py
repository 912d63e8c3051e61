"""Comparators of this paper alone: bounds, and differences between two joins.

A claim with ``up_to: cores`` reads the numbers of processing threads up to the cores, since the
paper's first machine has a core for each thread, and the paper treats the second machine's
oversubscription separately. See ``experiments.judging.comparators`` for the definition of a
comparator.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

from experiments.judging.badges import in_unit
from experiments.judging.claim_types import (
    Comparator,
    Comparison,
    CurveComparison,
    RivalComparison,
    RivalReads,
)
from experiments.judging.formulas import against_formula
from experiments.judging.growths import CoreReads, curves_of, lacks_second, up_to, x_text
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
    """Curves of variants and of rivals, optionally up to the cores."""


@dataclass(frozen=True, kw_only=True)
class BoundReads(CoreReads):
    """Curves, and a bound that none of their values should exceed."""

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
    """Curves of variants against curves of rivals, optionally up to the cores."""

    reads: RivalCoreReads


@dataclass(frozen=True, kw_only=True)
class OverHighest(Comparison):
    """The last value in the first of two figures against the highest in the second."""

    paired_figures: ClassVar[bool] = True

    reads: OtherReads

    @property
    def quantities(self) -> tuple[str, ...]:
        """The names of all quantities read."""
        return (self.quantity, self.reads.of)


def at_most(claim: AtMost, lookup: Lookup) -> list[Pair]:
    """Pair the highest of all values with ``bound``: one pair, since every value has to keep it.

    The highest is chosen by other rounds than those that judge it. A counted value is chosen by all
    its samples; so is a point with a single sample, which biases against the statement if at all.
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
    names = Names(lookup.name(worst.variant), f"the bound of {in_unit(bound, claim.unit)}", where)
    pair = formula_pair(names, worst, lambda _: bound, lookup.floors)
    return [pair.within(halves.judge, halves.note) if halves and pair.ratio else pair]


def _places(claim: AtMost, lookup: Lookup) -> Iterator[tuple[str, Point]]:
    """Yield the points of a claim, each with a description of where it lies."""
    several = len(claim.figures) > 1
    for figure, variant in lookup.lines(claim):
        curves = list(curves_of(claim, lookup, figure, variant))
        if not curves:
            lookup.note_missing(figure, f"{lookup.name(variant)}{up_to(claim)}")
        for curve in curves:
            for x, point in curve.points.items():
                where = (point.subject * several, x_text(claim, lookup, figure, x), curve.place)
                yield ", ".join(filter(None, where)), point


def at_last(claim: CoreComparison, lookup: Lookup) -> list[Pair]:
    """Pair a variant with each rival at the last x that both have."""
    found = []
    for figure, variant, rival in lookup.rivals(claim):
        for place, mine, theirs in _both(claim, lookup, figure, variant, rival):
            *_, last = (x for x in mine if x in theirs)
            where = ", ".join(filter(None, [x_text(claim, lookup, figure, last), place]))
            names = Names(lookup.name(variant), lookup.name(rival), where)
            found.append(pair_of(names, mine[last], theirs[last], lookup.floors))
    return found


def difference_grows(claim: CoreComparison, lookup: Lookup) -> list[Pair]:
    """Pair the sums that decide whether a variant's lead over a rival is larger at the last x.

    It is if the variant at the last x plus the rival at the first exceed the variant at the first
    plus the rival at the last.
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
    """Pair the last point of the first figure with the highest that ``of`` has in the second.

    The last point involves no choice. The highest is chosen by the same values that judge it, which
    biases against the statement if at all.
    """
    reads, found = claim.reads, []
    for upper, lower in pairs_of(claim.figures):
        for variant in lookup.among(upper, reads.variants):
            curves = list(curves_of(claim, lookup, upper, variant))
            for rival in lookup.among(lower, reads.rivals):
                others = lookup.at_most.get((lower, rival, reads.of), ())
                if not curves or not others:
                    lacking, name = (lower, rival) if curves else (upper, variant)
                    lookup.note_missing(lacking, lookup.name(name))
                    continue
                x, point = list(curves[-1].points.items())[-1]
                highest = max(others, key=lambda each: each.value)
                beside = {each.setting: highest.settings[each.setting]
                          for each in lookup.figures[lower].free}  # fmt: skip
                at = ", ".join(filter(None, [x_text(claim, lookup, upper, x), curves[-1].place]))
                names = Names(
                    lookup.name(variant), f"the highest of {lookup.name(rival)}",
                    f"{at} and {lookup.settings_text(lower, beside)}",
                )  # fmt: skip
                found.append(pair_of(names, point, highest, lookup.floors))
    return found


def _both(
    claim: CoreComparison, lookup: Lookup, figure: str, variant: str, rival: str
) -> Iterator[tuple[str, Mapping[Any, Point], Mapping[Any, Point]]]:
    """Yield both curves for each setting at which they have an x in common."""
    mine, theirs = (dict(curves_of(claim, lookup, figure, each)) for each in (variant, rival))
    there = [place for place in mine if mine[place].keys() & theirs.get(place, {}).keys()]
    if not there:
        both = f"{lookup.name(variant)} beside {lookup.name(rival)}"
        lookup.note_missing(figure, f"{both}{up_to(claim)}")
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
