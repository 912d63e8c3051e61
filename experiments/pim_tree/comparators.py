"""Comparators of this paper alone: a point of a curve against the others, spreads, the model.

See ``experiments.judging.comparators`` for the definition of a comparator.
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
    formula_pair,
    gain_pair,
    halves_of,
    left_out,
    pair_of,
)
from experiments.judging.points import Point
from experiments.pim_tree import cost_model
from experiments.records.quantities import quantity
from experiments.records.statistics import Place
from operators.contract import UsageError

# An axis of a claim: the claim's variants, in the order in which it names them.
LINES = "lines"
# The points of a curve that are read by position, not by value on the axis.
ENDS = ("first", "last")


@dataclass(frozen=True, kw_only=True)
class PointReads(CurveReads):
    """Curves, over a setting or over lines, and the one of their points that is read."""

    point: Literal["first", "last"] | float | str

    def __post_init__(self) -> None:
        """Refuse the value of a setting if the lines are the axis."""
        super().__post_init__()
        if self.over == LINES and self.is_value:
            ends = " or ".join(ENDS)
            raise UsageError(f"reads.point over {LINES} is {ends}, not {self.point!r}")

    @property
    def is_value(self) -> bool:
        """Whether the point is given by a value on the axis."""
        return self.point not in ENDS

    @property
    def settings(self) -> tuple[str, ...]:
        """The names of the settings read."""
        return tuple(self.at) if self.over == LINES else super().settings


@dataclass(frozen=True, kw_only=True)
class AgainstBest(CurveComparison):
    """One point of each curve against the best of all others."""

    reads: PointReads

    def values(self, figure: Figure) -> Iterator[tuple[str, str, Value]]:
        """Yield each value read in a figure: the field, the setting, and the value."""
        yield from super().values(figure)
        if self.reads.is_value:
            yield "reads.point", axis_of(self, figure), self.reads.point


@dataclass(frozen=True, kw_only=True)
class SpreadReads(CurveReads):
    """Curves, and the setting whose first and last values are compared."""

    beside: str

    @property
    def settings(self) -> tuple[str, ...]:
        """The names of the settings read."""
        return (*super().settings, self.beside)


@dataclass(frozen=True, kw_only=True)
class SpreadOrdering(CurveComparison):
    """The spread of curves at two values of a setting."""

    reads: SpreadReads


@dataclass(frozen=True, kw_only=True)
class AcrossFigures(RivalComparison):
    """Variants of one figure against rivals of another."""

    paired_figures: ClassVar[bool] = True


@dataclass(frozen=True, kw_only=True)
class QuantityReads(Reads):
    """Points, and the other quantity with which the claim's is compared."""

    against: str


@dataclass(frozen=True, kw_only=True)
class AgainstQuantity(Comparison):
    """A quantity against another one of the same points."""

    reads: QuantityReads

    @property
    def quantities(self) -> tuple[str, ...]:
        """The names of all quantities read."""
        return (self.quantity, self.reads.against)


def against_best(claim: AgainstBest, lookup: Lookup) -> list[Pair]:
    """Pair one point of each curve, ``point``, with the best of all others.

    ``point`` is "first", "last" or a value on the axis. The best is chosen by other rounds than
    those that judge it.
    """
    found = []
    for figure in claim.figures:
        curves = list(_curves(claim, lookup, figure))
        if claim.reads.over == LINES:
            # If only a single line has a point there is nothing to compare.
            curves = [each for each in curves if len(each[1]) > 1] or curves[:1]
        for place, curve in curves:
            point = claim.reads.point
            own = _own(curve, point, axis_of(claim, lookup.figures[figure]))
            if own is None or len(curve) < 2:
                lookup.note_missing(
                    figure, f"{point} and another beside it{f', {place}' * bool(place)}"
                )
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
    """Yield where a curve lies, in words, and its points, each with a description of its x."""
    variants = lookup.among(figure, claim.reads.variants)
    if claim.reads.over == LINES:
        by_place: dict[str, list[tuple[Any, Point]]] = {}
        for variant in variants:
            # A line without a point at a setting is not part of that curve.
            for at in lookup.places(claim, figure, variant):
                for point in lookup.points_at(figure, variant, at, claim.quantity):
                    told = lookup.settings_text(figure, at)
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
            told = lookup.settings_text(figure, beside)
            name = lookup.name(variant)
            points = [
                (f"{name} at {lookup.settings_text(figure, {axis: point.settings[axis]})}", point)
                for point in curve
            ]
            yield told, points


def _own(curve: Sequence[tuple[Any, Point]], point: Any, axis: str) -> tuple[Any, Point] | None:
    """Return the first or the last point of a curve, or the one at a value of the axis."""
    if point in ENDS:
        return curve[0 if point == "first" else -1]
    return next((each for each in curve if each[1].settings.get(axis) == point), None)


def _extreme(
    curve: Sequence[tuple[Any, Point]], places: frozenset[Place], *, highest: bool
) -> tuple[Any, Point] | None:
    """Return the highest or the lowest point according to the given processes and rounds."""
    return extreme_within(curve, lambda each: each[1].values, places, highest=highest)


def across_figures(claim: AcrossFigures, lookup: Lookup) -> list[Pair]:
    """Pair each variant of the first of two figures with each rival of the second."""
    found = []
    figures = pairs_of(claim.figures)
    for reading, point, other in lookup.against(claim, claim.reads.rivals, figures=figures):
        both = lookup.name(point.variant), lookup.name(other.variant)
        names = Names(*both, lookup.settings_text(reading.figure, reading.at))
        found.append(pair_of(names, point, other, lookup.floors))
    return found


def spread_ordering(claim: SpreadOrdering, lookup: Lookup) -> list[Pair]:
    """Pair a curve's spread, highest over lowest, at the first value of ``beside`` and at the last.

    Highest and lowest are chosen by other rounds than those that judge.
    """
    found, beside = [], claim.reads.beside
    for figure, variant in lookup.lines(claim):
        axis = axis_of(claim, lookup.figures[figure])
        curves = lookup.over(claim, figure, variant)
        if len(curves) < 2:
            lookup.note_missing(figure, f"a second {lookup.figures[figure].words_of(beside)}")
            continue
        ends = curves[0], curves[-1]
        common = {point.settings[axis] for point in ends[0]}
        common &= {point.settings[axis] for point in ends[1]}
        both = [[(None, p) for p in end if p.settings[axis] in common] for end in ends]
        values = [setting_read(claim, end[0], beside) for end in ends]
        told = [lookup.settings_text(figure, {beside: value}) for value in values]
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
            where = f"{lookup.name(variant)}, {lookup.settings_text(figure, at)}"
            found.append(pair_of(Names(*words, where), point, other, lookup.floors))
    return found


def as_predicted(claim: Comparison, lookup: Lookup) -> list[Pair]:
    """Pair each point with the prediction of the paper's cost model (``cost_model``).

    Points to which the model was fitted are left out: there it predicts nothing.
    """

    def measured(figure: str) -> list[Point]:
        return [p for place, own in lookup.by_rate.items() if place[0] == figure for p in own]

    found = []
    for figure in claim.figures:
        said = cost_model.predict(measured, lookup.figures[figure])
        if said.lacking and not said.values:
            lookup.note_missing(figure, f"a model, as {said.lacking}")
        for each in said.values:
            if each.variant not in claim.reads.variants or each.quantity != claim.quantity:
                continue
            for point in lookup.points_at(figure, each.variant, each.settings, each.quantity):
                swept = {
                    s.setting: point.settings[s.setting]
                    for s in lookup.figures[figure].free
                    if s.setting in point.settings
                }
                names = Names(
                    lookup.name(each.variant), "the model", lookup.settings_text(figure, swept)
                )
                wanted = each.value
                pair = formula_pair(names, point, lambda _, wanted=wanted: wanted, lookup.floors)
                found += [] if each.fitted else [pair]
    return found


COMPARATORS = {
    "as-predicted": Comparator(Comparison, as_predicted),
    "against-best": Comparator(AgainstBest, against_best),
    "across-figures": Comparator(AcrossFigures, across_figures),
    "spread-ordering": Comparator(SpreadOrdering, spread_ordering),
    "against-quantity": Comparator(AgainstQuantity, against_quantity),
}
