"""How a published statement is held against measured points: one function a comparator.

A comparator takes the claim and the evidence and returns *parts*, one for each comparison that the
statement consists of ("TuMLSC over MQ on K-OS at 20 inputs"). A part holds, holds partly, fails, or
is unclear, when the difference is smaller than this run can tell (``evidence`` says how small that
is). The verdict over all parts is made in ``claims``.

Here are the orders; trends are in ``trends`` and what is computed from several points in ``gains``.
A paper may have comparators of its own, in its folder.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from itertools import pairwise
from math import exp, log
from typing import Any

from experiments import papers
from experiments.judging import gains, trends
from experiments.judging.evidence import (
    FAILS,
    HOLDS,
    PARTLY,
    UNCLEAR,
    Evidence,
    Part,
    alike,
    combined,
    figure_name,
    ordered,
    pairs_of,
    part_of,
)
from experiments.judging.points import Point
from operators.contract import UsageError


def _pairs(claim: Mapping[str, Any], evidence: Evidence) -> list[tuple[str, Point, Point]]:
    """Return each variant with each rival, and where, at the settings that are read."""
    reads, quantity, found = claim["reads"], claim["quantity"], []
    for figure in claim["figures"]:
        for variant in evidence.among(figure, reads["variants"]):
            for at in evidence.places(claim, figure, variant):
                point = evidence.find(figure, variant, at, quantity)
                for rival in evidence.among(figure, reads["rivals"]):
                    other = evidence.find(figure, rival, at, quantity)
                    if point and other:
                        where = (
                            f"{point.subject}, {evidence.told(figure, at)}:"
                            f" {evidence.name(variant)} over {evidence.name(rival)}"
                        )
                        found.append((where, point, other))
    return found


def ordering(claim: Mapping[str, Any], evidence: Evidence) -> list[Part]:
    """Compare each variant with each rival, at one setting or at several."""
    parts = []
    for where, point, other in _pairs(claim, evidence):
        bound = evidence.bound(point, other)
        judged = ordered(point, other, claim["direction"], bound)
        parts.append(part_of(where, [point, other], bound, judged))
    return parts


def times(claim: Mapping[str, Any], evidence: Evidence) -> list[Part]:
    """Compare as ``ordering`` does, and hold the ratio against ``value`` within ``tolerance``.

    The right order with another ratio holds partly. With the direction "near" no order is claimed:
    the two are alike within ``tolerance``.
    """
    parts = []
    for where, point, other in _pairs(claim, evidence):
        bound = evidence.bound(point, other)
        if claim["direction"] == "near":
            judged = alike(point, other, claim["tolerance"], bound)
            parts.append(part_of(where, [point, other], bound, judged))
            continue
        part = part_of(
            where, [point, other], bound, ordered(point, other, claim["direction"], bound)
        )
        gain = 1 / part.value if claim["direction"] == "lower" else part.value
        off = gain / claim["value"]
        if part.outcome == HOLDS and not 1 / claim["tolerance"] <= off <= claim["tolerance"]:
            note = f"{'more' if off > 1 else 'less'} than the paper's {claim['value']} times"
            part = part._replace(outcome=PARTLY, note=note)
        parts.append(part)
    return parts


def absolute(claim: Mapping[str, Any], evidence: Evidence) -> list[Part]:
    """Show a value over the paper's; it is judged no further, since the machine is another."""
    parts, at = [], claim["reads"]["at"]
    for figure in claim["figures"]:
        for variant in evidence.among(figure, claim["reads"]["variants"]):
            point = evidence.find(figure, variant, at, claim["quantity"])
            if point:
                share = combined([point], lambda here: here / claim["value"])
                low, high = share.middle[1:]
                name = evidence.name(variant)
                place = f"{point.subject}, {evidence.told(figure, at)}"
                where = f"{place}: {name} here over the paper's"
                note = "and a value from another machine is shown, not judged"
                judged = (share.middle[0], low, high, UNCLEAR, note)
                parts.append(part_of(where, [point], evidence.bound(point), judged))
    return parts


def every_rate(claim: Mapping[str, Any], evidence: Evidence) -> list[Part]:
    """Compare each variant with each rival at the rival's rates below saturation.

    The variant's value there is interpolated between its own rates, as a straight line on
    logarithmic axes; a rate outside of them gives no comparison.
    """
    reads, parts = claim["reads"], []
    place = (reads["at"], claim["quantity"])
    for figure in claim["figures"]:
        for variant in evidence.among(figure, reads["variants"]):
            mine = _below_saturation(evidence.rates(figure, variant, *place))
            for rival in evidence.among(figure, reads["rivals"]):
                names = f"{evidence.name(variant)} over {evidence.name(rival)}"
                before = len(parts)
                for other in _below_saturation(evidence.rates(figure, rival, *place)):
                    point = _at_rate(mine, other.offered_tps)
                    if point:
                        bound = evidence.bound(point, other)
                        judged = ordered(point, other, claim["direction"], bound)
                        where = f"{other.subject}, {other.offered_tps / 1e6:.3g} M t/s: {names}"
                        parts.append(part_of(where, [point, other], bound, judged))
                if len(parts) == before:
                    evidence.lacks(figure, f"a rate below saturation of both for {names}")
    return parts


def _below_saturation(curve: Sequence[Point]) -> list[Point]:
    return [point for point in curve if "saturated" not in point.states]


def _at_rate(curve: Sequence[Point], rate: float) -> Point | None:
    """Return the point at an offered rate, interpolated; None outside of the curve."""
    for one, next_one in pairwise(curve):
        if one.offered_tps <= rate <= next_one.offered_tps:
            span = log(next_one.offered_tps / one.offered_tps)
            share = log(rate / one.offered_tps) / span if span else 0.0

            def between(low: float, high: float, share: float = share) -> float:
                return exp((1 - share) * log(low) + share * log(high))

            return combined([one, next_one], between)
    return None


def figure_ordering(claim: Mapping[str, Any], evidence: Evidence) -> list[Part]:
    """Compare the first figure of each pair with the second, for equal variant and setting."""
    quantity, parts = claim["quantity"], []
    for upper, lower in pairs_of(claim["figures"]):
        for variant in evidence.among(upper, claim["reads"]["variants"]):
            for at in evidence.places(claim, upper, variant):
                point = evidence.find(upper, variant, at, quantity)
                other = evidence.find(lower, variant, at, quantity)
                if point and other:
                    bound = evidence.bound(point, other)
                    judged = ordered(point, other, claim["direction"], bound)
                    name = evidence.name(variant)
                    told = evidence.told(upper, at)
                    where = f"{name}, {told}: {point.subject} over {other.subject}"
                    parts.append(part_of(where, [point, other], bound, judged))
    return parts


def best_ratio(claim: Mapping[str, Any], evidence: Evidence) -> list[Part]:
    """Hold the best of all ratios over a rival against ``value``, give or take ``tolerance``.

    One part, of the best ratio. A better one holds too, with a note; a smaller one that is still
    an improvement holds partly. What is not measured could only raise the best: with a variant or
    a figure missing, a best that holds does hold, and one that does not is unclear.
    """
    found = ordering(claim, evidence)
    if not found:
        return []
    # Not every variant belongs on every figure: what counts is a variant or a figure left out.
    evidence.missing[:] = _left_out(claim, evidence)
    lower = claim["direction"] == "lower"
    best = min(found, key=lambda part: part.value if lower else -part.value)
    gain = 1.0 / best.value if lower else best.value
    if best.outcome != HOLDS:
        failed = best.outcome == FAILS and evidence.missing
        return [
            best._replace(outcome=UNCLEAR, note="and what is not measured may be better")
            if failed
            else best
        ]
    if gain < claim["value"] / claim["tolerance"]:
        return [
            best._replace(
                outcome=PARTLY, note=f"better, and {gain:.1f} times is less than the paper's"
            )
        ]
    evidence.missing.clear()
    if gain > claim["value"] * claim["tolerance"]:
        return [best._replace(outcome=HOLDS, note=f"{gain:.0f} times is more than the paper's")]
    return [best]


def _left_out(claim: Mapping[str, Any], evidence: Evidence) -> list[str]:
    """Return the variants without a ratio in any figure, and the figures without any ratio."""
    variants, figures = set(), set()
    for _, point, _ in _pairs(claim, evidence):
        variants.add(point.variant)
        figures.add(point.figure)
    return [
        *(evidence.name(one) for one in claim["reads"]["variants"] if one not in variants),
        *(figure_name(one) for one in claim["figures"] if one not in figures),
    ]


Comparator = Callable[[Mapping[str, Any], Evidence], list[Part]]

COMPARATORS: dict[str, Comparator] = {
    "ordering": ordering,
    "times": times,
    "absolute": absolute,
    "every-rate": every_rate,
    "figure-ordering": figure_ordering,
    "best-ratio": best_ratio,
    "monotone": trends.monotone,
    "linear": trends.linear,
    "level": trends.level,
    "no-fall": trends.no_fall,
    "falls-then-rises": trends.falls_then_rises,
    "gain-ordering": gains.gain_ordering,
    "gain-spread": gains.gain_spread,
}


def comparators_of(paper: str) -> dict[str, Comparator]:
    """Return the comparators that a paper's claims may name: these, and its own.

    Raises
    ------
    UsageError
        When a paper declares one of a name that is taken.
    """
    own = papers.own_module(paper, "comparators")
    added = {} if own is None else own.COMPARATORS
    taken = COMPARATORS.keys() & added.keys()
    if taken:
        raise UsageError(f"{paper} declares the comparator {min(taken)!r}, which is there already")
    return {**COMPARATORS, **added}
