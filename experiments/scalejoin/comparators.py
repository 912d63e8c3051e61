"""Comparators of this paper alone: growth by a power, bounds, and what lies between two joins.

A claim with ``up_to: cores`` reads the numbers of processing threads up to the cores, since the
paper's first machine has a core for each of its threads, and its second one a word of its own for
more threads than cores. See ``experiments.judging.comparators`` for what a comparator is.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import product
from typing import Any, NamedTuple

from experiments.judging.lookup import Lookup, axis_of, pairs_of
from experiments.judging.pairs import (
    Names,
    Pair,
    combined,
    halves_of,
    mean_within,
    pair_of,
)
from experiments.judging.points import Point
from experiments.records.quantities import quantity

THREADS, WINDOW = "threads", "window_s"
# What ``up_to`` may say.
CORES = "cores"


class Curve(NamedTuple):
    """Points over the axis of a claim, in its order, and where the curve stands in words."""

    place: str
    points: Mapping[Any, Point]


def growth(claim: Mapping[str, Any], lookup: Lookup) -> list[Pair]:
    """Pair what is reached at the last x with the first, times the growth of x to a power.

    ``power`` 1 is a proportion, 0.5 a square root, -0.5 one over it; 0 is no growth.
    """
    power, found = claim["reads"]["power"], []
    for figure in claim["figures"]:
        for variant in lookup.among(figure, claim["reads"]["variants"]):
            for curve in _long_curves(claim, lookup, figure, variant):
                first, last = _ends(curve)
                factor = (last / first) ** power
                least = curve.points[first]
                wanted = combined([least], lambda value, factor=factor: factor * value)
                at = _told(claim, lookup, figure, last)
                times = f"{factor:.3g} times " if power else ""
                names = Names(f"{lookup.name(variant)} at {at}", f"{times}that at {first:g}",
                              curve.place)  # fmt: skip
                of = (curve.points[last], least)
                found.append(pair_of(names, curve.points[last], wanted, lookup.floors, of))
    return found


def at_most(claim: Mapping[str, Any], lookup: Lookup) -> list[Pair]:
    """Pair the highest of all places with ``bound``: one pair, so that each place has to keep it.

    The highest is chosen by other rounds than those that judge it. A count is chosen by all of its
    values; so is a single value a place, which then speaks against the statement if anything.
    """
    places = list(_places(claim, lookup))
    if not places:
        return []
    counted = not quantity(claim["quantity"]).timed
    halves = None if counted else halves_of(point.values for _, point in places)
    every = {place for _, point in places for place in point.values}
    choose = halves.choose if halves else every
    means = [(mean_within(point.values, choose), where, point) for where, point in places]
    able = [each for each in means if each[0] is not None]
    _, where, worst = max(able, key=lambda each: each[0])
    bound = claim["reads"]["bound"]
    limit = combined([worst], lambda _: bound)
    if len(places) > 1:
        where = f"the highest of {len(places)} places, {where}"
    names = Names(lookup.name(worst.variant), f"{bound:g} {claim['unit']}", where)
    pair = pair_of(names, worst, limit, lookup.floors, (worst,))
    return [pair.within(halves.judge, halves.note) if halves and pair.ratio else pair]


def _places(claim: Mapping[str, Any], lookup: Lookup) -> Iterator[tuple[str, Point]]:
    """Yield the points of a claim, each with where it is in words."""
    several = len(claim["figures"]) > 1
    for figure in claim["figures"]:
        for variant in lookup.among(figure, claim["reads"]["variants"]):
            curves = list(_curves(claim, lookup, figure, variant))
            if not curves:
                lookup.lacks(figure, f"{lookup.name(variant)}{_up_to(claim)}")
            for curve in curves:
                for x, point in curve.points.items():
                    told = (point.subject * several, _told(claim, lookup, figure, x), curve.place)
                    yield ", ".join(filter(None, told)), point


def at_last(claim: Mapping[str, Any], lookup: Lookup) -> list[Pair]:
    """Pair a variant with each rival at the last x that both have."""
    found = []
    for figure, variant, rival in _rivals(claim, lookup):
        for place, mine, theirs in _both(claim, lookup, figure, variant, rival):
            *_, last = (x for x in mine if x in theirs)
            where = ", ".join(filter(None, [_told(claim, lookup, figure, last), place]))
            names = Names(lookup.name(variant), lookup.name(rival), where)
            found.append(pair_of(names, mine[last], theirs[last], lookup.floors))
    return found


def difference_grows(claim: Mapping[str, Any], lookup: Lookup) -> list[Pair]:
    """Pair the sums that say whether a variant is further ahead of a rival at the last x.

    It is when variant at the last and rival at the first are more together than variant at the
    first and rival at the last. A difference may be negative, which has no ratio; sums are not.
    """
    found = []
    for figure, variant, rival in _rivals(claim, lookup):
        words = lookup.figures[figure].words_of(axis_of(claim, lookup.figures[figure]))
        for place, mine, theirs in _both(claim, lookup, figure, variant, rival):
            common = [x for x in mine if x in theirs]
            if len(common) < 2:
                lookup.lacks(figure, f"a second number of {words}{_up_to(claim)}")
                continue
            first, last = common[0], common[-1]
            sums = [
                combined([mine[own], theirs[other]], lambda one, two: one + two)
                for own, other in ((last, first), (first, last))
            ]
            told = [
                f"{lookup.name(variant)} at {own} and {lookup.name(rival)} at {other}"
                for own, other in ((last, first), (first, last))
            ]
            names = Names(*told, ", ".join(filter(None, [words, place])))
            of = (mine[first], mine[last], theirs[first], theirs[last])
            found.append(pair_of(names, *sums, lookup.floors, of))
    return found


def over_highest(claim: Mapping[str, Any], lookup: Lookup) -> list[Pair]:
    """Pair the last place of the first figure with the highest that ``of`` has in the second.

    The last place is no choice. The highest is chosen by its own values, which speaks against the
    statement if anything.
    """
    reads, found = claim["reads"], []
    for upper, lower in pairs_of(claim["figures"]):
        for variant in lookup.among(upper, reads["variants"]):
            curves = list(_curves(claim, lookup, upper, variant))
            for rival in lookup.among(lower, reads["rivals"]):
                others = lookup.at_most.get((lower, rival, reads["of"]), ())
                if not curves or not others:
                    lacking, name = (lower, rival) if curves else (upper, variant)
                    lookup.lacks(lacking, lookup.name(name))
                    continue
                x, point = list(curves[-1].points.items())[-1]
                highest = max(others, key=lambda each: each.value)
                beside = {each.setting: highest.settings[each.setting]
                          for each in lookup.figures[lower].free}  # fmt: skip
                at = ", ".join(filter(None, [_told(claim, lookup, upper, x), curves[-1].place]))
                names = Names(
                    lookup.name(variant), f"the highest of {lookup.name(rival)}",
                    f"{at} and {lookup.told(lower, beside)}",
                )  # fmt: skip
                found.append(pair_of(names, point, highest, lookup.floors))
    return found


def half_window(claim: Mapping[str, Any], lookup: Lookup) -> list[Pair]:
    """Pair a latency with half of the window."""
    found = []
    for figure in claim["figures"]:
        for variant in lookup.among(figure, claim["reads"]["variants"]):
            for at in lookup.places(claim, figure, variant):
                point = lookup.find(figure, variant, at, claim["quantity"])
                if point:
                    half = 1_000 * point.settings[WINDOW] / 2
                    wanted = combined([point], lambda _, half=half: half)
                    names = Names(lookup.name(variant), "half of it", lookup.told(figure, at))
                    found.append(pair_of(names, point, wanted, lookup.floors, (point,)))
    return found


def _rivals(claim: Mapping[str, Any], lookup: Lookup) -> Iterator[tuple[str, str, str]]:
    """Yield figure, variant and rival."""
    for figure in claim["figures"]:
        both = (lookup.among(figure, claim["reads"][kind]) for kind in ("variants", "rivals"))
        for variant, rival in product(*both):
            yield figure, variant, rival


def _both(
    claim: Mapping[str, Any], lookup: Lookup, figure: str, variant: str, rival: str
) -> Iterator[tuple[str, Mapping[Any, Point], Mapping[Any, Point]]]:
    """Yield the curves of both at each place where they have an x in common."""
    mine, theirs = (dict(_curves(claim, lookup, figure, each)) for each in (variant, rival))
    there = [place for place in mine if mine[place].keys() & theirs.get(place, {}).keys()]
    if not there:
        both = f"{lookup.name(variant)} beside {lookup.name(rival)}"
        lookup.lacks(figure, f"{both}{_up_to(claim)}")
    for place in there:
        yield place, mine[place], theirs[place]


def _long_curves(
    claim: Mapping[str, Any], lookup: Lookup, figure: str, variant: str
) -> Iterator[Curve]:
    """Yield the curves of two points or more."""
    curves = list(_curves(claim, lookup, figure, variant))
    words = lookup.figures[figure].words_of(axis_of(claim, lookup.figures[figure]))
    if not curves or any(len(curve.points) < 2 for curve in curves):
        lookup.lacks(figure, f"a second number of {words}{_up_to(claim)}")
    yield from (curve for curve in curves if len(curve.points) > 1)


def _curves(claim: Mapping[str, Any], lookup: Lookup, figure: str, variant: str) -> Iterator[Curve]:
    """Yield the curves of a variant, where ``up_to: cores`` without more threads than cores."""
    declared = lookup.figures[figure]
    axis = axis_of(claim, declared)
    beside = [sweep.setting for sweep in declared.free if sweep.setting != axis]
    for points in lookup.over(claim, figure, variant):
        kept = points
        if claim["reads"].get("up_to") == CORES:
            kept = [point for point in points if point.settings[THREADS] <= point.cores]
        if kept:
            place = lookup.told(figure, {name: kept[0].settings[name] for name in beside})
            yield Curve(place, {point.settings[axis]: point for point in kept})


def _ends(curve: Curve) -> Sequence[Any]:
    """Return the first and the last x."""
    every = list(curve.points)
    return every[0], every[-1]


def _told(claim: Mapping[str, Any], lookup: Lookup, figure: str, x: Any) -> str:
    return lookup.told(figure, {axis_of(claim, lookup.figures[figure]): x})


def _up_to(claim: Mapping[str, Any]) -> str:
    return " up to the cores" if claim["reads"].get("up_to") == CORES else ""


COMPARATORS = {
    "growth": growth,
    "at-most": at_most,
    "at-last": at_last,
    "difference-grows": difference_grows,
    "over-highest": over_highest,
    "half-window": half_window,
}
