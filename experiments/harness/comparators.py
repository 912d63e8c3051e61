"""How a published statement is held against measured points: one function a comparator.

A comparator takes the claim and the evidence and returns *parts*, one for each comparison that the
statement consists of ("TuMLSC over MQ on K-OS at 20 inputs"). A part holds, holds partly, fails, or
is unclear, when the difference is smaller than this run can tell (``evidence`` says how small that
is). The verdict over all parts is made in ``claims``.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from experiments.harness.evidence import (
    FAILS,
    HOLDS,
    PARTLY,
    UNCLEAR,
    Evidence,
    Part,
    bound_of,
    figure_name,
    ordered,
    part_of,
    ratio,
    saturated_latency,
)
from experiments.harness.points import Point

# A line through two or three points says nothing about straightness.
POINTS_FOR_A_LINE = 4
CROWDED = "and threads that share cores say nothing against a trend"


def ordering(claim: Mapping[str, Any], evidence: Evidence) -> list[Part]:
    """Compare each variant with each rival, at one number of inputs or at every one from 2 on."""
    reads, quantity, parts = claim["reads"], claim["quantity"], []
    for figure in claim["figures"]:
        for variant in reads["variants"]:
            counts = _counts(claim, evidence, figure, variant)
            for inputs in counts:
                point = evidence.find(figure, variant, inputs, quantity)
                for rival in reads["rivals"]:
                    other = evidence.find(figure, rival, inputs, quantity)
                    if point is None or other is None:
                        continue
                    where = (
                        f"{point.query}, {inputs} inputs:"
                        f" {evidence.name(variant)} over {evidence.name(rival)}"
                    )
                    judged = ordered(point, other, claim["direction"], evidence)
                    parts.append(part_of(where, [point, other], evidence, judged))
    return parts


def _counts(claim: Mapping[str, Any], evidence: Evidence, figure: str, variant: str) -> list[int]:
    """Return the numbers of inputs that a claim reads."""
    wanted = claim["reads"]["inputs"]
    if isinstance(wanted, int):
        return [wanted]
    found = evidence.inputs(figure, variant, claim["quantity"])
    if not found:
        evidence.note_missing(f"{evidence.name(variant)} in {figure_name(figure)}")
    return [count for count in found if wanted == "all" or count > 1]


def _series(claim: Mapping[str, Any], evidence: Evidence) -> list[list[Point]]:
    """Return the points over the inputs of each figure and variant, where there are two or more."""
    found = []
    for figure in claim["figures"]:
        for variant in claim["reads"]["variants"]:
            counts = _counts(claim, evidence, figure, variant)
            if len(counts) == 1:
                evidence.note_missing(f"a second number of inputs in {figure_name(figure)}")
            elif counts:
                places = [(figure, variant, count, claim["quantity"], None) for count in counts]
                found.append([evidence.points[place] for place in places])
    return found


def _trend(where: str, series: Sequence[Point], evidence: Evidence, judged: tuple) -> Part:
    """Return the part of a trend over the inputs; oversubscribed points cannot make it fail.

    Their threads share the cores among more and more, which can bend any trend; an order between
    variants is another matter, since both sides of it are equally crowded.
    """
    part = part_of(where, series, evidence, judged)
    crowded = part.outcome == FAILS and "oversubscribed" in part.states
    return _with(part, UNCLEAR, CROWDED) if crowded else part


def _over(series: Sequence[Point], evidence: Evidence) -> str:
    """Return the words that say what a series is."""
    first, last = series[0], series[-1]
    return (
        f"{first.query}: {evidence.name(first.variant)} at {last.inputs} over {first.inputs} inputs"
    )


def monotone(claim: Mapping[str, Any], evidence: Evidence) -> list[Part]:
    """Compare the last point with the first; a step the other way makes it partly."""
    direction, parts = claim["direction"], []
    against = {"rises": "falls", "falls": "rises"}[direction]
    for series in _series(claim, evidence):
        value, low, high, outcome, note = ordered(series[-1], series[0], direction, evidence)
        steps = list(zip(series, series[1:], strict=False))
        back = [b.inputs for a, b in steps if ordered(b, a, against, evidence)[3] == HOLDS]
        forth = [b.inputs for a, b in steps if ordered(b, a, direction, evidence)[3] == HOLDS]
        if back and outcome != FAILS:
            # Up and down again without a net change speaks neither for the statement nor against.
            outcome = PARTLY if outcome == HOLDS else UNCLEAR if forth else FAILS
            note = f"it {against} on the way, at {', '.join(map(str, back))} inputs"
        judged = (value, low, high, outcome, note)
        parts.append(_trend(_over(series, evidence), series, evidence, judged))
    return parts


def linear(claim: Mapping[str, Any], evidence: Evidence) -> list[Part]:
    """Ask for monotone, and for a straight line that explains ``tolerance`` of the variance."""
    parts = []
    for series, part in zip(_series(claim, evidence), monotone(claim, evidence), strict=True):
        if part.outcome == HOLDS:
            x = np.array([point.inputs for point in series], dtype=float)
            y = np.array([point.middle[0] for point in series])
            share = float(np.corrcoef(x, y)[0, 1] ** 2)
            if len(series) < POINTS_FOR_A_LINE:
                note = f"{len(series)} input counts cannot show a straight line"
                part = _with(part, PARTLY, note)
            elif share < claim["tolerance"]:
                part = _with(part, PARTLY, f"a straight line explains {share:.2f} of the variance")
        parts.append(part)
    return parts


def _with(part: Part, outcome: str, note: str) -> Part:
    return part._replace(outcome=outcome, note=note)


def level(claim: Mapping[str, Any], evidence: Evidence) -> list[Part]:
    """Hold the highest point over the lowest, which is the value, against ``tolerance``."""
    parts = []
    for series in _series(claim, evidence):
        by_size = sorted(series, key=lambda point: point.middle[0])
        value, low, high = ratio(by_size[-1], by_size[0])
        most = claim["tolerance"]
        outcome = UNCLEAR
        if not saturated_latency(*series):
            if value <= most:
                outcome = HOLDS
            elif value > most * bound_of(series, evidence.floor) and (low is None or low > most):
                outcome = FAILS
        name = evidence.name(series[0].variant)
        where = (
            f"{series[0].query}: highest over lowest of {name},"
            f" {series[0].inputs} to {series[-1].inputs} inputs"
        )
        parts.append(_trend(where, series, evidence, (value, low, high, outcome)))
    return parts


def falls_then_rises(claim: Mapping[str, Any], evidence: Evidence) -> list[Part]:
    """Follow the offered rate: lower than at the slowest, then ``tolerance`` times the lowest.

    Two parts a variant. The value of the first is the lowest point over the slowest one, of the
    second the highest saturated point over the lowest one that is not. The second never fails: a
    backlog grows with the length of the run, so too small a rise may be too short a run.
    """
    parts, reads = [], claim["reads"]
    for figure in claim["figures"]:
        for variant in reads["variants"]:
            series = evidence.rates(figure, variant, reads["inputs"], claim["quantity"])
            below = [point for point in series if "saturated" not in point.states]
            beyond = [point for point in series if "saturated" in point.states]
            name = f"{evidence.name(variant)}, {reads['inputs']} inputs"
            if len(below) < 2:
                evidence.note_missing(f"two rates below saturation of {name}")
                continue
            lowest = min(below[1:], key=lambda point: point.middle[0])
            judged = ordered(lowest, below[0], "falls", evidence)
            where = f"{series[0].query}: lowest latency over that at the slowest rate, {name}"
            parts.append(part_of(where, [below[0], lowest], evidence, judged))
            if not beyond:
                evidence.note_missing(f"a rate that saturates {name}")
                continue
            lowest = min(below, key=lambda point: point.middle[0])
            highest = max(beyond, key=lambda point: point.middle[0])
            value, low, high = ratio(highest, lowest)
            enough = value >= claim["tolerance"] and (low is None or low > 1.0)
            outcome = (HOLDS,) if enough else (UNCLEAR, "a backlog that a longer run raises")
            where = f"{series[0].query}: latency at saturation over the lowest, {name}"
            judged = (value, low, high, *outcome)
            parts.append(part_of(where, [highest, lowest], evidence, judged))
    return parts


def figure_ordering(claim: Mapping[str, Any], evidence: Evidence) -> list[Part]:
    """Compare the first figure with the second, for equal variant and number of inputs."""
    upper, lower = claim["figures"]
    quantity, parts = claim["quantity"], []
    for variant in claim["reads"]["variants"]:
        for inputs in _counts(claim, evidence, upper, variant):
            point = evidence.find(upper, variant, inputs, quantity)
            other = evidence.find(lower, variant, inputs, quantity)
            if point is None or other is None:
                continue
            judged = ordered(point, other, claim["direction"], evidence)
            where = f"{evidence.name(variant)}, {inputs} inputs: {point.query} over {other.query}"
            parts.append(part_of(where, [point, other], evidence, judged))
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
        return [_with(best, UNCLEAR, "and what is not measured may be better") if failed else best]
    if gain < claim["value"] / claim["tolerance"]:
        return [_with(best, PARTLY, f"better, and {gain:.1f} times is less than the paper's")]
    evidence.missing.clear()
    if gain > claim["value"] * claim["tolerance"]:
        return [_with(best, HOLDS, f"{gain:.0f} times is more than the paper's")]
    return [best]


def _left_out(claim: Mapping[str, Any], evidence: Evidence) -> list[str]:
    """Return the variants without a ratio in any figure, and the figures without any ratio."""
    reads = claim["reads"]
    compared = {
        (figure, variant)
        for figure in claim["figures"]
        for variant in reads["variants"]
        for inputs in _counts(claim, evidence, figure, variant)
        if all(
            (figure, one, inputs, claim["quantity"], None) in evidence.points
            for one in (variant, *reads["rivals"])
        )
    }
    variants = {variant for _, variant in compared}
    figures = {figure for figure, _ in compared}
    return [
        *(evidence.name(one) for one in reads["variants"] if one not in variants),
        *(figure_name(one) for one in claim["figures"] if one not in figures),
    ]


def awaits(claim: Mapping[str, Any], evidence: Evidence) -> list[Part]:
    """Say nothing: another figure must be measured first."""
    return []


COMPARATORS: dict[str, Callable[[Mapping[str, Any], Evidence], list[Part]]] = {
    "ordering": ordering,
    "monotone": monotone,
    "linear": linear,
    "level": level,
    "falls-then-rises": falls_then_rises,
    "figure-ordering": figure_ordering,
    "best-ratio": best_ratio,
    "awaits": awaits,
}
