"""Comparators of what is computed from several points: gains, and rates from durations.

See ``comparators`` for what a comparator is. A gain is the ratio of two points: a variant over a
rival, or a number of update threads over the fewest.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from experiments.harness.evidence import (
    Evidence,
    Part,
    alike,
    combined,
    inputs_told,
    kept,
    ordered,
    pairs_of,
    part_of,
    quotient,
    trend_part,
)
from experiments.harness.expected import expected_tps
from experiments.harness.points import Point


class Gain(NamedTuple):
    """A ratio of two points as a point, the two points, and what it is in words."""

    point: Point
    of: tuple[Point, Point]
    words: str


def _over_rivals(
    claim: Mapping[str, Any],
    evidence: Evidence,
    figure: str,
    variants: Sequence[str],
    rivals: Sequence[str],
) -> dict[tuple[Any, ...], Gain]:
    """Return the gain of each variant over each rival, by number of inputs and rival."""
    found = {}
    for variant in evidence.among(figure, variants):
        for inputs in evidence.counts(claim, figure, variant):
            point = evidence.find(figure, variant, inputs, claim["quantity"])
            for rival in evidence.among(figure, rivals):
                other = evidence.find(figure, rival, inputs, claim["quantity"])
                if point and other:
                    words = f"{evidence.name(variant)} over {evidence.name(rival)}"
                    found[inputs, rival] = Gain(quotient(point, other), (point, other), words)
    return found


def _over_threads(
    claim: Mapping[str, Any], evidence: Evidence, figure: str
) -> dict[tuple[Any, ...], Gain]:
    reads, found = claim["reads"], {}
    for variant in evidence.among(figure, reads["variants"]):
        for first, *rest in evidence.over(claim, figure, variant):
            if not rest:
                evidence.lacks(figure, "a second number of update threads")
            for point in rest[-1:] if reads["threads"] == "most" else rest:
                words = (
                    f"{evidence.name(variant)} at {point.update_threads} update threads over"
                    f" {first.update_threads}"
                )
                gain = Gain(quotient(point, first), (point, first), words)
                found[point.inputs, point.update_threads, first.update_threads] = gain
    return found


def gain_ordering(claim: Mapping[str, Any], evidence: Evidence) -> list[Part]:
    """Compare the gains of the first figure of each pair with those of the second.

    They are gains over the rivals. With ``baselines`` they are gains over those: the variants' in
    the first figure, the rivals' in the second. ``direction`` is higher or lower, or, within
    ``tolerance``, near or kept (not lower).
    """
    reads, parts = claim["reads"], []
    over_threads = "over" in reads
    for upper, lower in pairs_of(claim["figures"]):
        if over_threads:
            above, below = (_over_threads(claim, evidence, each) for each in (upper, lower))
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
            words = f"{gain.words}, {gain.point.query} against {against}{other.point.query}"
            part = trend_part if over_threads else part_of
            where = f"{inputs_told(place[0])}: {words}"
            parts.append(part(where, [*gain.of, *other.of], bound, judged))
    return sorted(parts, key=lambda part: part.where)


def gain_spread(claim: Mapping[str, Any], evidence: Evidence) -> list[Part]:
    """Compare how far the gain of a variant varies among the figures with how far a rival's does.

    How far is the largest gain over the smallest one. One part for each number of inputs and each
    of ``baselines``, the variants that both gain over.
    """
    parts = []
    for variant in claim["reads"]["variants"]:
        for rival in claim["reads"]["rivals"]:
            spreads, others = (_spreads(claim, evidence, each) for each in (variant, rival))
            for place in sorted(spreads.keys() & others.keys()):
                (spread, points), (other, more) = spreads[place], others[place]
                bound = evidence.bound(*points, *more, comparisons=2)
                judged = ordered(spread, other, claim["direction"], bound)
                inputs, baseline = place
                where = (
                    f"{inputs_told(inputs)}, over {evidence.name(baseline)}: largest over"
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


def bottleneck(claim: Mapping[str, Any], evidence: Evidence) -> list[Part]:
    """Compare the output thread's time a tuple with that of all input threads together.

    They share the tuples, so theirs is the time of one of them over their number.
    """
    parts, inputs = [], claim["reads"]["inputs"]
    for figure in claim["figures"]:
        for variant in evidence.among(figure, claim["reads"]["variants"]):
            output = evidence.find(figure, variant, inputs, "output_ns")
            one = evidence.find(figure, variant, inputs, "input_ns")
            if output and one:
                shared = combined([one], lambda ns: ns / inputs)
                bound = evidence.bound(output, one)
                judged = ordered(output, shared, claim["direction"], bound)
                where = (
                    f"{output.query}, {evidence.name(variant)}: output thread over {inputs} input"
                    " threads together"
                )
                parts.append(part_of(where, [output, one], bound, judged))
    return parts


def as_expected(claim: Mapping[str, Any], evidence: Evidence) -> list[Part]:
    """Hold the throughput of the second figure against that expected from the first's durations.

    What is expected is said in ``expected``: the figures draw the same.
    """
    durations, rates = claim["figures"]
    parts, inputs = [], claim["reads"]["inputs"]
    for variant in evidence.among(rates, claim["reads"]["variants"]):
        output = evidence.find(durations, variant, inputs, "output_ns")
        one = evidence.find(durations, variant, inputs, "input_ns")
        measured = evidence.find(rates, variant, inputs, claim["quantity"])
        if output and one and measured:

            def rate(output_ns: float, input_ns: float, cores: int = measured.cores) -> float:
                return expected_tps(input_ns, output_ns, inputs, cores)

            bound = evidence.bound(measured, output, one)
            judged = alike(measured, combined([output, one], rate), claim["tolerance"], bound)
            where = f"{measured.query}, {evidence.name(variant)}: measured over expected rate"
            parts.append(trend_part(where, [measured, output, one], bound, judged))
    return parts
