"""Comparators of gains, which are computed from several points.

See ``comparators`` for what a comparator is. A gain is the ratio of two points: a variant over a
rival, or a value of a swept setting over the lowest.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from experiments.judging.evidence import (
    Evidence,
    Part,
    alike,
    axis_of,
    kept,
    ordered,
    pairs_of,
    part_of,
    quotient,
    trend_part,
)
from experiments.judging.points import Point


class Gain(NamedTuple):
    """A ratio of two points as a point, the two points, what it is in words, and where."""

    point: Point
    of: tuple[Point, Point]
    words: str
    where: str


def _over_rivals(
    claim: Mapping[str, Any],
    evidence: Evidence,
    figure: str,
    variants: Sequence[str],
    rivals: Sequence[str],
) -> dict[tuple[Any, ...], Gain]:
    """Return the gain of each variant over each rival, by setting and rival."""
    found = {}
    for variant in evidence.among(figure, variants):
        for at in evidence.places(claim, figure, variant):
            point = evidence.find(figure, variant, at, claim["quantity"])
            for rival in evidence.among(figure, rivals):
                other = evidence.find(figure, rival, at, claim["quantity"])
                if point and other:
                    words = f"{evidence.name(variant)} over {evidence.name(rival)}"
                    place = (tuple(at.items()), rival)
                    told = evidence.told(figure, at)
                    found[place] = Gain(quotient(point, other), (point, other), words, told)
    return found


def _over_lowest(
    claim: Mapping[str, Any], evidence: Evidence, figure: str
) -> dict[tuple[Any, ...], Gain]:
    """Return the gain of each value of the claim's axis over the lowest, by place."""
    reads, found = claim["reads"], {}
    axis = axis_of(claim, evidence.figures[figure])
    words = evidence.figures[figure].words_of(axis)
    for variant in evidence.among(figure, reads["variants"]):
        for first, *rest in evidence.over(claim, figure, variant):
            if not rest:
                evidence.lacks(figure, f"a second number of {words}")
            at = {name: first.settings[name] for name in reads["at"]}
            for point in rest[-1:] if reads["threads"] == "most" else rest:
                place = point.settings[axis], first.settings[axis]
                told = f"{evidence.name(variant)} at {place[0]} {words} over {place[1]}"
                there = evidence.told(figure, at)
                found[tuple(at.items()), *place] = Gain(
                    quotient(point, first), (point, first), told, there
                )
    return found


def gain_ordering(claim: Mapping[str, Any], evidence: Evidence) -> list[Part]:
    """Compare the gains of the first figure of each pair with those of the second.

    They are gains over the rivals. With ``baselines`` they are gains over those: the variants' in
    the first figure, the rivals' in the second. ``direction`` is higher or lower, or, within
    ``tolerance``, near or kept (not lower).
    """
    reads, parts = claim["reads"], []
    over_lowest = "over" in reads
    for upper, lower in pairs_of(claim["figures"]):
        if over_lowest:
            above, below = (_over_lowest(claim, evidence, each) for each in (upper, lower))
        else:
            over = reads.get("baselines", reads["rivals"])
            held = reads["rivals"] if "baselines" in reads else reads["variants"]
            above = _over_rivals(claim, evidence, upper, reads["variants"], over)
            below = _over_rivals(claim, evidence, lower, held, over)
        for place in above.keys() & below.keys():
            gain, other = above[place], below[place]
            bound = evidence.bound(*gain.of, *other.of, comparisons=2)
            if claim["direction"] in ("near", "kept"):
                compare = {"near": alike, "kept": kept}[claim["direction"]]
                judged = compare(gain.point, other.point, claim["tolerance"], bound)
            else:
                judged = ordered(gain.point, other.point, claim["direction"], bound)
            against = f"{other.words}, " if gain.words != other.words else ""
            words = f"{gain.words}, {gain.point.subject} against {against}{other.point.subject}"
            part = trend_part if over_lowest else part_of
            where = f"{gain.where}: {words}"
            parts.append(part(where, [*gain.of, *other.of], bound, judged))
    return sorted(parts, key=lambda part: part.where)


def gain_spread(claim: Mapping[str, Any], evidence: Evidence) -> list[Part]:
    """Compare how far the gain of a variant varies among the figures with how far a rival's does.

    How far is the largest gain over the smallest one. One part for each setting and each of
    ``baselines``, the variants that both gain over.
    """
    parts = []
    for variant in claim["reads"]["variants"]:
        for rival in claim["reads"]["rivals"]:
            spreads, others = (_spreads(claim, evidence, each) for each in (variant, rival))
            for place in sorted(spreads.keys() & others.keys()):
                (spread, points), (other, more) = spreads[place], others[place]
                bound = evidence.bound(*points, *more, comparisons=2)
                judged = ordered(spread, other, claim["direction"], bound)
                at, baseline = place
                there = evidence.told(claim["figures"][0], dict(at))
                where = (
                    f"{there}, over {evidence.name(baseline)}: largest over"
                    f" smallest gain of {evidence.name(variant)} against {evidence.name(rival)}"
                )
                parts.append(part_of(where, [*points, *more], bound, judged))
    return parts


def _spreads(
    claim: Mapping[str, Any], evidence: Evidence, variant: str
) -> dict[tuple[Any, ...], tuple[Point, list[Point]]]:
    """Return the largest over the smallest gain and the points both are made of, by place."""
    gains: dict[tuple[Any, ...], list[Gain]] = {}
    for figure in claim["figures"]:
        found = _over_rivals(claim, evidence, figure, [variant], claim["reads"]["baselines"])
        for place, gain in found.items():
            gains.setdefault(place, []).append(gain)
    spreads = {}
    for place, members in gains.items():
        members.sort(key=lambda gain: gain.point.middle[0])
        low, high = members[0], members[-1]
        if low is not high:
            spreads[place] = quotient(high.point, low.point), [*high.of, *low.of]
    return spreads
