"""Comparators of trends: what a quantity does over a setting or the rate.

See ``comparators`` for what a comparator is. No trend fails on oversubscribed points.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from experiments.judging.evidence import (
    FAILS,
    HOLDS,
    PARTLY,
    UNCLEAR,
    Evidence,
    Part,
    alike,
    axis_of,
    combined,
    kept,
    ordered,
    part_of,
    ratio,
    trend_part,
)
from experiments.judging.points import Point

# A line through two or three points says nothing about straightness.
POINTS_FOR_A_LINE = 4


def _curves(claim: Mapping[str, Any], evidence: Evidence) -> Iterator[list[Point]]:
    """Yield the points over the x axis of each figure and variant, where there are two or more."""
    for figure in claim["figures"]:
        for variant in evidence.among(figure, claim["reads"]["variants"]):
            for curve in evidence.over(claim, figure, variant):
                if len(curve) == 1:
                    words = _axis(claim, evidence, figure)[1]
                    evidence.lacks(figure, f"a second number of {words}")
                elif claim["reads"].get("cost") == "per_tuple":
                    yield [combined([point], lambda tps: 1 / tps) for point in curve]
                else:
                    yield curve


def _axis(claim: Mapping[str, Any], evidence: Evidence, figure: str) -> tuple[str, str]:
    """Return the setting that a trend runs over, and the words for its values."""
    declared = evidence.figures[figure]
    axis = axis_of(claim, declared)
    return axis, declared.words_of(axis)


def _of(claim: Mapping[str, Any], curve: Sequence[Point], evidence: Evidence) -> str:
    """Return the words that say where a curve stands, up to the variant's name."""
    first = curve[0]
    axis, _ = _axis(claim, evidence, first.figure)
    place = first.subject
    beside = [s.setting for s in evidence.figures[first.figure].free if s.setting != axis]
    if beside:
        at = {name: first.settings[name] for name in beside}
        place += f", {evidence.told(first.figure, at)}"
    cost = "time a tuple takes in " if claim["reads"].get("cost") else ""
    return f"{place}: {cost}"


def _ends(claim: Mapping[str, Any], curve: Sequence[Point], evidence: Evidence) -> str:
    axis, words = _axis(claim, evidence, curve[0].figure)
    first, last = (point.settings[axis] for point in (curve[0], curve[-1]))
    name = evidence.name(curve[0].variant)
    return f"{_of(claim, curve, evidence)}{name} at {last} {words} over {first}"


def _monotone(claim: Mapping[str, Any], curve: Sequence[Point], evidence: Evidence) -> Part:
    direction = claim["direction"]
    axis, words = _axis(claim, evidence, curve[0].figure)
    against = {"rises": "falls", "falls": "rises"}[direction]

    def goes(way: str, above: Point, below: Point) -> tuple:
        return ordered(above, below, way, evidence.bound(above, below))

    value, low, high, outcome, note = goes(direction, curve[-1], curve[0])
    steps = list(zip(curve, curve[1:], strict=False))
    back = [b.settings[axis] for a, b in steps if goes(against, b, a)[3] == HOLDS]
    forth = [b for a, b in steps if goes(direction, b, a)[3] == HOLDS]
    if back and outcome != FAILS:
        # Up and down again without a net change speaks neither for the statement nor against.
        outcome = PARTLY if outcome == HOLDS else UNCLEAR if forth else FAILS
        note = f"it {against} on the way, at {', '.join(map(str, back))} {words}"
    judged = (value, low, high, outcome, note)
    return trend_part(_ends(claim, curve, evidence), curve, evidence.bound(*curve), judged)


def monotone(claim: Mapping[str, Any], evidence: Evidence) -> list[Part]:
    """Compare the last point with the first; a step the other way makes it partly."""
    return [_monotone(claim, curve, evidence) for curve in _curves(claim, evidence)]


def linear(claim: Mapping[str, Any], evidence: Evidence) -> list[Part]:
    """Ask for monotone, and for a straight line that explains ``tolerance`` of the variance."""
    parts = []
    for curve in _curves(claim, evidence):
        part = _monotone(claim, curve, evidence)
        if part.outcome == HOLDS:
            axis, words = _axis(claim, evidence, curve[0].figure)
            x = np.array([point.settings[axis] for point in curve], dtype=float)
            y = np.array([point.middle[0] for point in curve])
            share = float(np.corrcoef(x, y)[0, 1] ** 2)
            if len(curve) < POINTS_FOR_A_LINE:
                note = f"{len(curve)} numbers of {words} cannot show a straight line"
                part = part._replace(outcome=PARTLY, note=note)
            elif share < claim["tolerance"]:
                note = f"a straight line explains {share:.2f} of the variance"
                part = part._replace(outcome=PARTLY, note=note)
        parts.append(part)
    return parts


def level(claim: Mapping[str, Any], evidence: Evidence) -> list[Part]:
    """Hold the highest point over the lowest, which is the value, against ``tolerance``."""
    parts = []
    for curve in _curves(claim, evidence):
        axis, words = _axis(claim, evidence, curve[0].figure)
        by_size = sorted(curve, key=lambda point: point.middle[0])
        bound = evidence.bound(*curve)
        judged = alike(by_size[-1], by_size[0], claim["tolerance"], bound)
        first, last = (point.settings[axis] for point in (curve[0], curve[-1]))
        where = (
            f"{_of(claim, curve, evidence)}highest over lowest of"
            f" {evidence.name(curve[0].variant)}, {first} to {last} {words}"
        )
        parts.append(trend_part(where, curve, bound, judged))
    return parts


def no_fall(claim: Mapping[str, Any], evidence: Evidence) -> list[Part]:
    """Hold the lowest point past the best one against the best, within ``tolerance``.

    Where the best point is the last, nothing lies past it: unclear.
    """
    parts = []
    for curve in _curves(claim, evidence):
        axis, words = _axis(claim, evidence, curve[0].figure)
        best = max(curve, key=lambda point: point.middle[0])
        past = curve[curve.index(best) + 1 :]
        lowest = min(past, key=lambda point: point.middle[0], default=best)
        bound = evidence.bound(best, lowest)
        judged = kept(lowest, best, claim["tolerance"], bound)
        if not past:
            note = "the best is at the most that were measured, so nothing lies past it"
            judged = (*judged[:3], UNCLEAR, note)
        where = (
            f"{_of(claim, curve, evidence)}{evidence.name(best.variant)} at"
            f" {lowest.settings[axis]} {words} over its best, at {best.settings[axis]}"
        )
        parts.append(trend_part(where, curve, bound, judged))
    return parts


def falls_then_rises(claim: Mapping[str, Any], evidence: Evidence) -> list[Part]:
    """Follow the offered rate: lower than at the slowest, then ``tolerance`` times the lowest.

    Two parts a variant. The value of the first is the lowest point over the slowest one, of the
    second the highest saturated point over the lowest one that is not. The second never fails: a
    backlog grows with the length of the run, so too small a rise may be too short a run.
    """
    parts, reads = [], claim["reads"]
    for figure in claim["figures"]:
        for variant in evidence.among(figure, reads["variants"]):
            curve = evidence.rates(figure, variant, reads["at"], claim["quantity"])
            below = [point for point in curve if "saturated" not in point.states]
            beyond = [point for point in curve if "saturated" in point.states]
            name = f"{evidence.name(variant)}, {evidence.told(figure, reads['at'])}"
            if len(below) < 2:
                evidence.lacks(figure, f"two rates below saturation of {name}")
                continue
            lowest = min(below[1:], key=lambda point: point.middle[0])
            bound = evidence.bound(lowest, below[0])
            judged = ordered(lowest, below[0], "falls", bound)
            where = f"{lowest.subject}: lowest latency over that at the slowest rate, {name}"
            parts.append(part_of(where, [below[0], lowest], bound, judged))
            if not beyond:
                evidence.lacks(figure, f"a rate that saturates {name}")
                continue
            lowest = min(below, key=lambda point: point.middle[0])
            highest = max(beyond, key=lambda point: point.middle[0])
            value, low, high = ratio(highest, lowest)
            enough = value >= claim["tolerance"] and (low is None or low > 1.0)
            outcome = (HOLDS,) if enough else (UNCLEAR, "a backlog that a longer run raises")
            where = f"{lowest.subject}: latency at saturation over the lowest, {name}"
            bound = evidence.bound(highest, lowest)
            parts.append(part_of(where, [highest, lowest], bound, (value, low, high, *outcome)))
    return parts
