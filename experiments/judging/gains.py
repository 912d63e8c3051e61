"""Comparators of gains, which are computed from several points.

``comparators`` defines a comparator. A gain is the ratio of two points: a variant over a rival, or
a value of a swept setting over the lowest.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import product
from typing import Any, ClassVar, Literal, NamedTuple

from experiments.judging.claim_types import (
    Comparator,
    Comparison,
    CurveReads,
    RivalComparison,
    RivalCurveComparison,
    RivalReads,
)
from experiments.judging.floors import Noise
from experiments.judging.lookup import Lookup, axis_of, number_text, pairs_of
from experiments.judging.pairs import (
    NOTHING_TO_CHOOSE_BY,
    Names,
    Pair,
    extreme_within,
    gain_pair,
    halves_of,
    left_out,
    quotient,
)
from experiments.judging.points import Point
from experiments.records import statistics
from operators.contract import UsageError


@dataclass(frozen=True, kw_only=True)
class BaselineReads(RivalReads):
    """Variants and rivals, and the baselines that both gain over."""

    baselines: tuple[str, ...]

    @property
    def lines(self) -> tuple[str, ...]:
        """The lines of figures that are read."""
        return (*self.variants, *self.rivals, *self.baselines)


@dataclass(frozen=True, kw_only=True)
class GainReads(CurveReads):
    """Gains over rivals, over baselines, or, of a curve, over the lowest value."""

    rivals: tuple[str, ...] = ()
    baselines: tuple[str, ...] = ()
    threads: Literal["most", "every"] | None = None

    def __post_init__(self) -> None:
        """Refuse gains of several sorts at once, and of none."""
        super().__post_init__()
        if bool(self.rivals) == (self.over is not None):
            raise UsageError("reads gains over either reads.rivals or a setting, reads.over")
        if self.baselines and not self.rivals:
            raise UsageError("reads.baselines are what reads.variants and reads.rivals gain over")
        if (self.threads is None) != (self.over is None):
            raise UsageError("reads.threads says which values of reads.over gain: most or every")

    @property
    def lines(self) -> tuple[str, ...]:
        """The lines of figures that are read."""
        return (*self.variants, *self.rivals, *self.baselines)


@dataclass(frozen=True, kw_only=True)
class GainComparison(Comparison):
    """Gains in the first figure of each two against those in the second."""

    paired_figures: ClassVar[bool] = True

    reads: GainReads


@dataclass(frozen=True, kw_only=True)
class GainSpread(RivalComparison):
    """How far gains over the same baselines vary among figures."""

    reads: BaselineReads


class Gain(NamedTuple):
    """The two points of a ratio, with words for the ratio and for the setting."""

    of: tuple[Point, Point]
    words: str
    where: str

    @property
    def values(self) -> statistics.Values:
        """The ratio round by round; empty where it cannot be trusted."""
        if any({"unsustained", "saturated"} & set(point.states) for point in self.of):
            return {}
        return quotient(*self.of).values


def _over_rivals(
    claim: GainComparison | GainSpread,
    lookup: Lookup,
    figure: str,
    variants: Sequence[str],
    rivals: Sequence[str],
) -> dict[tuple[Any, ...], Gain]:
    """Return the gain of each variant over each rival, by setting and rival."""
    found = {}
    here = [(figure, figure)]
    for reading, *points in lookup.against(claim, rivals, figures=here, variants=variants):
        words = " over ".join(lookup.name(point.variant) for point in points)
        gain = Gain(tuple(points), words, lookup.settings_text(figure, reading.at))
        found[tuple(reading.at.items()), points[1].variant] = gain
    return found


def _over_lowest(claim: GainComparison, lookup: Lookup, figure: str) -> dict[tuple[Any, ...], Gain]:
    """Return the gain of each value of the claim's axis over the lowest, by setting and x."""
    reads, found = claim.reads, {}
    axis = axis_of(claim, lookup.figures[figure])
    words = lookup.figures[figure].words_of(axis)
    for variant in lookup.among(figure, reads.variants):
        for first, *rest in lookup.over(claim, figure, variant):
            if not rest:
                lookup.note_missing(figure, f"a second number of {words}")
            at = {name: first.settings[name] for name in reads.at}
            for point in rest[-1:] if reads.threads == "most" else rest:
                place = point.settings[axis], first.settings[axis]
                at_last = lookup.settings_text(figure, {axis: place[0]})
                told = f"{lookup.name(variant)} at {at_last} over {number_text(place[1])}"
                there = lookup.settings_text(figure, at)
                found[tuple(at.items()), *place] = Gain((point, first), told, there)
    return found


def gain_ordering(claim: GainComparison, lookup: Lookup) -> list[Pair]:
    """Pair the gains of the first figure of each two with those of the second.

    They are gains over the rivals. With ``baselines`` the variants in the first figure and the
    rivals in the second both gain over the baselines.
    """
    reads, found = claim.reads, []
    for upper, lower in pairs_of(claim.figures):
        if reads.over is not None:
            above, below = (_over_lowest(claim, lookup, each) for each in (upper, lower))
        else:
            of_rivals = (reads.rivals, reads.baselines)
            held, over = of_rivals if reads.baselines else (reads.variants, reads.rivals)
            above = _over_rivals(claim, lookup, upper, reads.variants, over)
            below = _over_rivals(claim, lookup, lower, held, over)
        for place in above.keys() & below.keys():
            gain, other = above[place], below[place]
            against = other.of[0].subject
            if gain.words != other.words:
                against = f"{other.words}, {against}"
            names = Names(f"{gain.words}, {gain.of[0].subject}", against, gain.where)
            found.append(gain_pair(names, gain.of, other.of, lookup.floors))
    return sorted(found, key=lambda pair: pair.names)


def gain_spread(claim: GainSpread, lookup: Lookup) -> list[Pair]:
    """Pair the variation of a variant's gain among the figures with that of a rival's gain.

    The variation is the largest gain over the smallest one, both chosen by some rounds and judged
    by others. One pair for each setting and each of ``baselines``, which both gain over.
    """
    found = []
    for variant, rival in product(claim.reads.variants, claim.reads.rivals):
        mine, others = (_by_place(claim, lookup, each) for each in (variant, rival))
        for place in sorted(mine.keys() & others.keys()):
            at, baseline = place
            there = lookup.settings_text(claim.figures[0], dict(at))
            where = f"{there}, over {lookup.name(baseline)}, largest over smallest gain"
            names = Names(lookup.name(variant), lookup.name(rival), where)
            found.append(_spread_pair(names, mine[place], others[place], lookup))
    return found


def _by_place(claim: GainSpread, lookup: Lookup, variant: str) -> dict[tuple[Any, ...], list[Gain]]:
    """Return the gains of a variant by setting and baseline, where two or more figures have one."""
    gains: dict[tuple[Any, ...], list[Gain]] = {}
    for figure in claim.figures:
        found = _over_rivals(claim, lookup, figure, [variant], claim.reads.baselines)
        for place, gain in found.items():
            gains.setdefault(place, []).append(gain)
    return {place: members for place, members in gains.items() if len(members) > 1}


def _spread_pair(
    names: Names, mine: Sequence[Gain], others: Sequence[Gain], lookup: Lookup
) -> Pair:
    points = [point for gain in (*mine, *others) for point in gain.of]
    halves = halves_of(gain.values for gain in (*mine, *others))
    if halves is None:
        return left_out(names, points, NOTHING_TO_CHOOSE_BY)
    ends, noise, behind = [], Noise(), False
    for members in (mine, others):
        able = [gain for gain in members if not halves.choose.isdisjoint(gain.values)]
        behind = behind or len(able) < 2
        if not behind:
            low, high = (
                extreme_within(able, lambda gain: gain.values, halves.choose, highest=highest)
                for highest in (False, True)
            )
            ends.append(statistics.quotients(high.values, low.values))
            for gain in (high, low):
                noise = noise.combined_with(lookup.floors.noise(*gain.of))
    if behind:
        return left_out(names, points, "fewer than two gains that can be judged")
    whole = Pair(names, statistics.quotients(*ends), 0, tuple(points), noise)
    return whole.within(halves.judge, halves.note)


def steeper(claim: RivalCurveComparison, lookup: Lookup) -> list[Pair]:
    """Pair the gain of a variant from the first to the last value of x with that of a rival.

    The values are the first and the last that both have. One pair a curve: for each query, say.
    """
    found = []
    for figure, variant, rival in lookup.rivals(claim):
        axis = axis_of(claim, lookup.figures[figure])
        mine, others = (_curves_of(claim, lookup, figure, each) for each in (variant, rival))
        for place in sorted(mine.keys() | others.keys()):
            curves = mine.get(place, {}), others.get(place, {})
            common = [x for x in curves[0] if x in curves[1]]
            told = f"{lookup.name(variant)} over {lookup.name(rival)}"
            if len(common) < 2:
                words = lookup.figures[figure].words_of(axis)
                lookup.note_missing(figure, f"{told} between two equal values of {words}")
                continue
            first, last = common[0], common[-1]
            at = lookup.settings_text(figure, {axis: last})
            where = ", ".join(filter(None, [f"{at} over {number_text(first)}", place]))
            names = Names(lookup.name(variant), lookup.name(rival), where)
            of = [(curve[last], curve[first]) for curve in curves]
            found.append(gain_pair(names, *of, lookup.floors))
    return sorted(found, key=lambda pair: pair.names)


def _curves_of(
    claim: RivalCurveComparison, lookup: Lookup, figure: str, variant: str
) -> dict[str, dict[Any, Point]]:
    """Return the points of each curve of a variant, by the settings in words and then by x."""
    axis = axis_of(claim, lookup.figures[figure])
    found = {}
    for curve in lookup.over(claim, figure, variant):
        at = {name: curve[0].settings[name] for name in claim.reads.at if name != axis}
        found[lookup.settings_text(figure, at)] = {point.settings[axis]: point for point in curve}
    return found


COMPARATORS = {
    "gain-ordering": Comparator(GainComparison, gain_ordering),
    "gain-spread": Comparator(GainSpread, gain_spread),
    "steeper": Comparator(RivalCurveComparison, steeper),
}
