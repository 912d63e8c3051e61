"""Comparators of growth along a curve, and the curves that they and those of papers read.

A claim with ``up_to: cores`` reads the numbers of threads up to the cores of the machine at hand.
The setting that counts threads has another name in each family: ``WORKERS``.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple

from experiments.judging.claim_types import Comparator, Comparison, CurveComparison, CurveReads
from experiments.judging.lookup import Lookup, axis_of, number_text, setting_read
from experiments.judging.pairs import Names, Pair, formula_pair
from experiments.judging.points import Point

# Settings that count threads which do the work; a family has one of them.
WORKERS = ("threads", "instances")


@dataclass(frozen=True, kw_only=True)
class CoreReads(CurveReads):
    """Curves, restricted to at most a thread a core where asked for."""

    up_to: Literal["cores"] | None = None


@dataclass(frozen=True, kw_only=True)
class PowerReads(CoreReads):
    """Curves, and the power of x that they are to grow by."""

    power: float


@dataclass(frozen=True, kw_only=True)
class Growth(CurveComparison):
    """The last value of a curve against a power of the growth of x."""

    reads: PowerReads


class Curve(NamedTuple):
    """Points by x, in the order of x, and the other settings of the curve in words."""

    place: str
    points: Mapping[Any, Point]

    @property
    def ends(self) -> tuple[Any, Any]:
        """The first and the last x."""
        every = list(self.points)
        return every[0], every[-1]


def growth(claim: Growth, lookup: Lookup) -> list[Pair]:
    """Pair the value at the last x with the value at the first, times the growth of x to a power.

    ``power`` 1 is a proportion, 0.5 a square root, -0.5 one over it; 0 is no growth.
    """
    power, found = claim.reads.power, []
    for figure, variant in lookup.lines(claim):
        for curve in long_curves_of(claim, lookup, figure, variant):
            first, last = curve.ends
            factor = (last / first) ** power

            def grown(value: float, factor: float = factor) -> float:
                return factor * value

            at = x_text(claim, lookup, figure, last)
            times = f"{factor:.3g} times " if power else ""
            above, below = f"{lookup.name(variant)} at {at}", f"{times}that at {number_text(first)}"
            names, given = Names(above, below, curve.place), (curve.points[first],)
            reached = curve.points[last]
            found.append(formula_pair(names, reached, grown, lookup.floors, given))
    return found


def long_curves_of(claim: Comparison, lookup: Lookup, figure: str, variant: str) -> Iterator[Curve]:
    """Yield the curves of two points or more."""
    curves = list(curves_of(claim, lookup, figure, variant))
    if not curves or any(len(curve.points) < 2 for curve in curves):
        lacks_second(claim, lookup, figure)
    yield from (curve for curve in curves if len(curve.points) > 1)


def curves_of(claim: Comparison, lookup: Lookup, figure: str, variant: str) -> Iterator[Curve]:
    """Yield the curves of a variant, with ``up_to: cores`` only up to a thread a core."""
    declared = lookup.figures[figure]
    axis = axis_of(claim, declared)
    beside = [sweep.setting for sweep in declared.free if sweep.setting != axis]
    for points in lookup.over(claim, figure, variant):
        kept = within_cores(claim, points)
        if kept:
            place = lookup.settings_text(figure, {name: kept[0].settings[name] for name in beside})
            yield Curve(place, {point.settings[axis]: point for point in kept})


def within_cores(claim: Comparison, points: Sequence[Point]) -> list[Point]:
    """Return the points of a claim; with ``up_to: cores`` only those with a core for each thread.

    Raises
    ------
    UsageError
        When one of them has no setting that counts threads.
    """
    if claim.reads.up_to is None:
        return list(points)
    kept = []
    for point in points:
        counted = next((name for name in WORKERS if name in point.settings), WORKERS[0])
        if setting_read(claim, point, counted) <= point.cores:
            kept.append(point)
    return kept


def lacks_second(claim: Comparison, lookup: Lookup, figure: str) -> None:
    """Note that a curve has only one x."""
    words = lookup.figures[figure].words_of(axis_of(claim, lookup.figures[figure]))
    lookup.note_missing(figure, f"a second number of {words}{up_to(claim)}")


def x_text(claim: Comparison, lookup: Lookup, figure: str, x: Any) -> str:
    """Return a value on the x axis of a claim in words."""
    return lookup.settings_text(figure, {axis_of(claim, lookup.figures[figure]): x})


def up_to(claim: Comparison) -> str:
    """Return the words for a search that ended at the number of cores."""
    return " up to the cores" if claim.reads.up_to is not None else ""


COMPARATORS = {"growth": Comparator(Growth, growth)}
