"""Comparators of this paper alone: a place on a curve against the others, spreads, quantities.

See ``experiments.judging.comparators`` for what a comparator is.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Literal

from experiments.declare import Figure
from experiments.judging.claim_types import (
    Comparator,
    Comparison,
    CurveComparison,
    CurveReads,
    Reads,
    RivalComparison,
    Value,
)
from experiments.judging.lookup import Lookup, axis_of, pairs_of, setting_read
from experiments.judging.pairs import (
    NOTHING_TO_CHOOSE_BY,
    Names,
    Pair,
    extreme_within,
    gain_pair,
    halves_of,
    left_out,
    pair_of,
)
from experiments.judging.points import Point
from experiments.records.quantities import quantity
from experiments.records.statistics import Place
from operators.contract import UsageError

# An axis of a claim: its own variants, in the order in which it names them.
LINES = "lines"
# The points of a curve that are read by where they stand and not by their value on the axis.
ENDS = ("first", "last")


@dataclass(frozen=True, kw_only=True)
class PointReads(CurveReads):
    """Curves, over a setting or over lines, and the one of their points that is read."""

    point: Literal["first", "last"] | float | str

    def __post_init__(self) -> None:
        """Refuse the value of a setting where the lines are the axis."""
        super().__post_init__()
        if self.over == LINES and self.is_value:
            ends = " or ".join(ENDS)
            raise UsageError(f"reads.point over {LINES} is {ends}, not {self.point!r}")

    @property
    def is_value(self) -> bool:
        """Whether the point is the one at a value of the axis."""
        return self.point not in ENDS

    @property
    def settings(self) -> tuple[str, ...]:
        """The settings that it names."""
        return tuple(self.at) if self.over == LINES else super().settings


@dataclass(frozen=True, kw_only=True)
class AgainstBest(CurveComparison):
    """One point of each curve against the best of all others."""

    reads: PointReads

    def values(self, figure: Figure) -> Iterator[tuple[str, str, Value]]:
        """Yield each value that it reads in a figure: the field, the setting, and the value."""
        yield from super().values(figure)
        if self.reads.is_value:
            yield "reads.point", axis_of(self, figure), self.reads.point


@dataclass(frozen=True, kw_only=True)
class SpreadReads(CurveReads):
    """Curves, and the setting whose first value and last are compared."""

    beside: str

    @property
    def settings(self) -> tuple[str, ...]:
        """The settings that it names."""
        return (*super().settings, self.beside)


@dataclass(frozen=True, kw_only=True)
class SpreadOrdering(CurveComparison):
    """How far curves spread."""

    reads: SpreadReads


@dataclass(frozen=True, kw_only=True)
class AcrossFigures(RivalComparison):
    """Variants of one figure against rivals of another."""

    paired_figures: ClassVar[bool] = True


@dataclass(frozen=True, kw_only=True)
class QuantityReads(Reads):
    """Points, and the other quantity of theirs that the claim's is held against."""

    against: str


@dataclass(frozen=True, kw_only=True)
class AgainstQuantity(Comparison):
    """A quantity against another one of the same points."""

    reads: QuantityReads

    @property
    def quantities(self) -> tuple[str, ...]:
        """The names of all quantities that it reads."""
        return (self.quantity, self.reads.against)


def against_best(claim: AgainstBest, lookup: Lookup) -> list[Pair]:
    """Pair one place of each curve, ``point``, with the best of all others.

    ``point`` is "first", "last" or a value on the axis. The best is chosen by other rounds than
    those that judge it.
    """
    found = []
    for figure in claim.figures:
        curves = list(_curves(claim, lookup, figure))
        if claim.reads.over == LINES:
            # Where a single line has a point there is nothing to compare.
            curves = [each for each in curves if len(each[1]) > 1] or curves[:1]
        for place, curve in curves:
            point = claim.reads.point
            own = _own(curve, point, axis_of(claim, lookup.figures[figure]))
            if own is None or len(curve) < 2:
                lookup.lacks(figure, f"{point} and another beside it{f', {place}' * bool(place)}")
                continue
            others = [(at, point) for at, point in curve if point is not own[1]]
            found.append(_against(own, others, place, lookup))
    return found


def _against(
    own: tuple[Any, Point], others: Sequence[tuple[Any, Point]], place: str, lookup: Lookup
) -> Pair:
    points = [own[1], *(point for _, point in others)]
    halves = halves_of(point.values for point in points)
    if len(others) == 1:
        ((at, other),) = others
        return pair_of(Names(str(own[0]), str(at), place), own[1], other, lookup.floors)
    best = halves and _extreme(others, halves.choose, highest=True)
    if best is None:
        return left_out(Names(str(own[0]), "the best of the others", place), points,
                        NOTHING_TO_CHOOSE_BY)  # fmt: skip
    names = Names(str(own[0]), f"the best of the others, {best[0]}", place)
    pair = pair_of(names, own[1], best[1], lookup.floors)
    return pair.within(halves.judge, halves.note) if pair.ratio else pair


def _curves(
    claim: AgainstBest, lookup: Lookup, figure: str
) -> Iterator[tuple[str, list[tuple[Any, Point]]]]:
    """Yield where a curve stands, and its points, each with its place on the axis in words."""
    variants = lookup.among(figure, claim.reads.variants)
    if claim.reads.over == LINES:
        by_place: dict[str, list[tuple[Any, Point]]] = {}
        for variant in variants:
            # A line without a point there is none of the curve.
            for at in lookup.places(claim, figure, variant):
                for point in lookup.points_at(figure, variant, at, claim.quantity):
                    told = lookup.told(figure, at)
                    by_place.setdefault(told, []).append((lookup.name(variant), point))
        yield from by_place.items()
        return
    declared = lookup.figures[figure]
    axis = axis_of(claim, declared)
    for variant in variants:
        for curve in lookup.over(claim, figure, variant):
            beside = {
                s.setting: curve[0].settings[s.setting]
                for s in declared.free
                if s.setting != axis
            }  # fmt: skip
            told = lookup.told(figure, beside)
            name = lookup.name(variant)
            points = [
                (f"{name} at {lookup.told(figure, {axis: point.settings[axis]})}", point)
                for point in curve
            ]
            yield told, points


def _own(curve: Sequence[tuple[Any, Point]], point: Any, axis: str) -> tuple[Any, Point] | None:
    """Return the first or the last point of a curve, or that at a value of its axis."""
    if point in ENDS:
        return curve[0 if point == "first" else -1]
    return next((each for each in curve if each[1].settings.get(axis) == point), None)


def _extreme(
    curve: Sequence[tuple[Any, Point]], places: frozenset[Place], *, highest: bool
) -> tuple[Any, Point] | None:
    """Return the highest or the lowest point by some processes and rounds."""
    return extreme_within(curve, lambda each: each[1].values, places, highest=highest)


def across_figures(claim: AcrossFigures, lookup: Lookup) -> list[Pair]:
    """Pair each variant of the first of two figures with each rival of the second."""
    found = []
    figures = pairs_of(claim.figures)
    for reading, point, other in lookup.against(claim, claim.reads.rivals, figures=figures):
        both = lookup.name(point.variant), lookup.name(other.variant)
        names = Names(*both, lookup.told(reading.figure, reading.at))
        found.append(pair_of(names, point, other, lookup.floors))
    return found


def spread_ordering(claim: SpreadOrdering, lookup: Lookup) -> list[Pair]:
    """Pair how far a curve spreads, highest over lowest, at the first value of ``beside`` and last.

    Highest and lowest are chosen by other rounds than those that judge.
    """
    found, beside = [], claim.reads.beside
    for figure, variant in lookup.lines(claim):
        axis = axis_of(claim, lookup.figures[figure])
        curves = lookup.over(claim, figure, variant)
        if len(curves) < 2:
            lookup.lacks(figure, f"a second {lookup.figures[figure].words_of(beside)}")
            continue
        ends = curves[0], curves[-1]
        common = {point.settings[axis] for point in ends[0]}
        common &= {point.settings[axis] for point in ends[1]}
        both = [[(None, p) for p in end if p.settings[axis] in common] for end in ends]
        values = [setting_read(claim, end[0], beside) for end in ends]
        told = [lookup.told(figure, {beside: value}) for value in values]
        names = Names(f"its range at {told[0]}", f"that at {told[1]}", lookup.name(variant))
        points = [point for end in both for _, point in end]
        halves = halves_of(point.values for point in points)
        if halves is None:
            found.append(left_out(names, points, NOTHING_TO_CHOOSE_BY))
            continue
        ranges = [
            tuple(_extreme(end, halves.choose, highest=highest)[1] for highest in (True, False))
            for end in both
        ]
        pair = gain_pair(names, *ranges, lookup.floors)
        found.append(pair.within(halves.judge, halves.note) if pair.ratio else pair)
    return found


def against_quantity(claim: AgainstQuantity, lookup: Lookup) -> list[Pair]:
    """Pair the claim's quantity of each point with another one of the same runs."""
    found = []
    words = [quantity(name).words for name in claim.quantities]
    for reading, point in lookup.points(claim):
        figure, variant, at, _ = reading
        other = lookup.find(figure, variant, at, claim.reads.against)
        if other:
            where = f"{lookup.name(variant)}, {lookup.told(figure, at)}"
            found.append(pair_of(Names(*words, where), point, other, lookup.floors))
    return found


COMPARATORS = {
    "against-best": Comparator(AgainstBest, against_best),
    "across-figures": Comparator(AcrossFigures, across_figures),
    "spread-ordering": Comparator(SpreadOrdering, spread_ordering),
    "against-quantity": Comparator(AgainstQuantity, against_quantity),
}
