"""How a published statement is compared with measured points: the comparators.

A comparator is the type of the claims (``claim_types``) and a function that takes a claim and the
lookup and returns *pairs* (``pairs``), one for each comparison that the statement consists of
("TuMLSC over MQ on K-OS at 20 inputs"). It judges nothing: ``pool`` has the joint answer of the
pairs. The lookup notes which points are missing.

This module has the orders. ``trends`` and ``growths`` have trends; ``gains`` has values computed
from several points; ``formulas`` compares a point with a formula, ``bounds`` with bounds and with
the oracle. A paper may have more comparators in the paper's folder.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from math import exp, log
from typing import ClassVar

from experiments import papers
from experiments.judging import bounds, gains, growths, trends
from experiments.judging.claim_types import Claim, Comparator, Comparison, RivalComparison
from experiments.judging.fields import fields_of
from experiments.judging.lookup import Lookup, figure_name, pairs_of
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
from operators.contract import UsageError


@dataclass(frozen=True, kw_only=True)
class Absolute(Claim):
    """A value of which the paper gives the size."""

    # All pairs of such a claim are left out, so that the direction does not matter.
    direction: ClassVar[Direction] = "higher"
    tolerance: ClassVar[None] = None

    value: float


@dataclass(frozen=True, kw_only=True)
class EveryRate(RivalComparison):
    """Variants against rivals over the offered rate."""

    one_setting: ClassVar[bool] = True


@dataclass(frozen=True, kw_only=True)
class FigureComparison(Comparison):
    """The first figure of each two against the second."""

    paired_figures: ClassVar[bool] = True


def ordering(claim: RivalComparison, lookup: Lookup) -> list[Pair]:
    """Pair each variant with each rival, at one setting or at several."""
    found = []
    for reading, point, other in lookup.against(claim, claim.reads.rivals):
        where = f"{point.subject}, {lookup.settings_text(reading.figure, reading.at)}"
        names = Names(lookup.name(point.variant), lookup.name(other.variant), where)
        found.append(pair_of(names, point, other, lookup.floors))
    return found


def absolute(claim: Absolute, lookup: Lookup) -> list[Pair]:
    """Find a value of which the paper gives the size: another machine's, so nothing is judged."""
    found = []
    for reading, point in lookup.points(claim):
        where = f"{point.subject}, {lookup.settings_text(reading.figure, reading.at)}"
        names = Names(lookup.name(point.variant), "the paper's", where)
        found.append(left_out(names, [point], SHOWN))
    return found


SHOWN = "a value of another machine is shown and not judged"


def every_rate(claim: EveryRate, lookup: Lookup) -> list[Pair]:
    """Pair each variant with each rival at the rival's rates below saturation.

    The variant's value is interpolated between the variant's rates, as a straight line on
    logarithmic axes; a rate outside of them gives no pair.
    """
    found = []
    for figure, variant, rival in lookup.rivals(claim):
        before, both = len(found), (lookup.name(variant), lookup.name(rival))
        mine, theirs = (
            _below_saturation(lookup.rates(figure, line, claim.reads.at, claim.quantity))
            for line in (variant, rival)
        )
        for other in theirs:
            near, point = _at_rate(mine, other.offered_tps)
            if point:
                rate = f"{other.subject}, {other.offered_tps / 1e6:.3g} M t/s"
                names, of = Names(*both, rate), (*near, other)
                found.append(pair_of(names, point, other, lookup.floors, of))
        if len(found) == before:
            told = " over ".join(both)
            lookup.note_missing(figure, f"a rate below saturation of both for {told}")
    return found


def _below_saturation(curve: Sequence[Point]) -> list[Point]:
    return [point for point in curve if "saturated" not in point.states]


def _at_rate(curve: Sequence[Point], rate: float) -> tuple[Sequence[Point], Point | None]:
    """Return two neighbours and the point between them at a rate; None outside of the curve."""
    for one, next_one in pairwise(curve):
        if one.offered_tps <= rate <= next_one.offered_tps:
            span = log(next_one.offered_tps / one.offered_tps)
            share = log(rate / one.offered_tps) / span if span else 0.0

            def between(low: float, high: float, share: float = share) -> float:
                return exp((1 - share) * log(low) + share * log(high))

            return (one, next_one), combined([one, next_one], between)
    return (), None


def figure_ordering(claim: FigureComparison, lookup: Lookup) -> list[Pair]:
    """Pair the first figure of each two with the second, for equal variant and setting."""
    found = []
    for upper, lower in pairs_of(claim.figures):
        for _, variant, at, point in lookup.each(claim, figures=[upper]):
            other = lookup.find(lower, variant, at, claim.quantity)
            if point and other:
                where = f"{lookup.name(variant)}, {lookup.settings_text(upper, at)}"
                names = Names(point.subject, other.subject, where)
                found.append(pair_of(names, point, other, lookup.floors))
    return found


def best_ratio(claim: RivalComparison, lookup: Lookup) -> list[Pair]:
    """Choose the best of all ratios over a rival by some rounds, and judge it by the others.

    One pair. An unmeasured ratio might be better still, so a variant or a figure without any ratio
    is missing; not every variant belongs on every figure.
    """
    found = [pair for pair in ordering(claim, lookup) if pair.ratio]
    seen = [point for pair in found for point in pair.points]
    variants, figures = {p.variant for p in seen}, {p.figure for p in seen}
    lookup.missing[:] = [
        *(lookup.name(one) for one in claim.reads.variants if one not in variants),
        *(figure_name(one) for one in claim.figures if one not in figures),
    ]
    if not found:
        if lookup.lacking_cores:
            # It was measured with more threads than cores, which ``lacking_cores`` says already.
            lookup.missing.clear()
        return []
    halves = halves_of(pair.ratio for pair in found)
    if halves is None:
        names = found[0].names._replace(place="the best of all")
        return [left_out(names, found[0].points, NOTHING_TO_CHOOSE_BY)]
    highest = claim.direction != "lower"
    best = extreme_within(found, lambda pair: pair.ratio, halves.choose, highest=highest)
    judged = best.within(halves.judge, halves.note)
    best_of = f"the best of {len(found)}, {best.names.place}"
    return [judged._replace(names=best.names._replace(place=best_of))]


# The judging parameters of every claim: fields, or constants of a type.
JUDGED_BY = ("direction", "tolerance")

COMPARATORS = {
    "ordering": Comparator(RivalComparison, ordering),
    "absolute": Comparator(Absolute, absolute),
    "every-rate": Comparator(EveryRate, every_rate),
    "figure-ordering": Comparator(FigureComparison, figure_ordering),
    "best-ratio": Comparator(RivalComparison, best_ratio),
    **trends.COMPARATORS,
    **gains.COMPARATORS,
    **growths.COMPARATORS,
    **bounds.COMPARATORS,
}


def comparators_of(paper: str) -> dict[str, Comparator]:
    """Return the comparators that a paper's claims may name: these, and those of the paper.

    Raises
    ------
    UsageError
        When a paper declares one of a name that is taken, or of claims without a direction.
    """
    own = papers.own_module(paper, "comparators")
    added = {} if own is None else own.COMPARATORS
    taken = COMPARATORS.keys() & added.keys()
    if taken:
        raise UsageError(f"{paper} declares the comparator {min(taken)!r}, which is there already")
    for name, comparator in added.items():
        kind = comparator.claim
        if not all(hasattr(kind, each) or each in fields_of(kind) for each in JUDGED_BY):
            raise UsageError(
                f"{paper} declares the comparator {name!r} with claims of type {kind.__name__},"
                f" which lacks {' or '.join(JUDGED_BY)}: derive it from Comparison, or give it both"
            )
    return {**COMPARATORS, **added}
