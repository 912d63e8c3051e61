"""Pairs: what a comparator returns, one for each comparison that a statement consists of.

A pair is a ratio, taken process by process and round by round, and the side of 1 that it lies on.
Which pairs have what:

* where both rivals kept up with the usual share of their own throughput, or it is no throughput
  that is compared: ratio and sign;
* a throughput of which one rival alone kept up: the sign is its, and there is no ratio, since the
  other's closed-loop throughput is none that it could be run at;
* a throughput of which neither kept up, a latency at saturation, which is a backlog and grows with
  the run, points without a process and round in common, and a count of 0, which has no ratio:
  neither. They are left out, counted and said.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from math import log
from typing import Any, NamedTuple, TypeVar

from experiments.judging.floors import Floors, Noise
from experiments.judging.points import STATES, Point
from experiments.records import quantities, statistics
from experiments.records.statistics import Place, Spread, Values

NEITHER_KEPT_UP = "neither kept up"
ONE_KEPT_UP = "one alone kept up"
GAIN_NOT_KEPT_UP = "one of those compared did not keep up"
BACKLOG = "a latency at saturation is a backlog"
NOTHING_COMMON = "no process and round in common"
OF_NONE = "a value of 0 has no ratio"
NOTHING_TO_CHOOSE_BY = "a single value cannot both choose and judge"


Member = TypeVar("Member")


class Names(NamedTuple):
    """What is held against what, and where: "TuMLSC", "MQ", "k-OS, 20 inputs"."""

    above: str
    below: str
    place: str

    @property
    def where(self) -> str:
        """The whole of it."""
        return f"{self.place}: {self.above} over {self.below}"


class _Pair(NamedTuple):
    names: Names
    ratio: Values
    sign: int
    points: tuple[Point, ...]
    noise: Noise
    note: str = ""


class Pair(_Pair):
    """One comparison.

    Attributes
    ----------
    names : Names
    ratio : mapping of (int, int) to float
        Process and round to above over below; empty where it is left out.
    sign : int
        1 where above is higher, -1 where below is, 0 where nothing is told.
    points : tuple of Point
        Those that were measured.
    noise : Noise
        What equal runs differ by.
    note : str
        Why ratio or sign are left out, or how the pair was chosen; may be empty.
    """

    # Kept in the instance's dictionary, since it is asked for again and again.
    @cached_property
    def spread(self) -> Spread | None:
        """The ratio and how far it spreads; None where it is left out."""
        return statistics.spread(self.ratio) if self.ratio else None

    @property
    def rounds(self) -> float:
        """How many rounds a process the ratio has, which may be fewer than its points have."""
        return len(self.ratio) / max(len({process for process, _ in self.ratio}), 1)

    @property
    def identity(self) -> tuple:
        """What it shares with the same comparison in another figure."""
        return (self.names.above, self.names.below, *map(_measured, self.points))

    def inverted(self, names: Names) -> Pair:
        """Return the pair of one over its values."""
        ratio = {place: 1.0 / value for place, value in self.ratio.items()}
        return Pair(names, ratio, -self.sign, self.points, self.noise, self.note)

    def within(self, places: Iterable[Place], note: str) -> Pair:
        """Return the pair at some of its processes and rounds."""
        ratio = {place: self.ratio[place] for place in places if place in self.ratio}
        told = note if ratio else NOTHING_COMMON
        return Pair(self.names, ratio, _side(ratio), self.points, self.noise, told)


def _measured(point: Point) -> tuple:
    settings = tuple(sorted(point.settings.items(), key=lambda each: each[0]))
    return (point.machine, point.variant, settings, point.quantity, point.rate_fraction)


def _side(ratio: Values) -> int:
    middle = log(statistics.spread(ratio).value) if ratio else 0.0
    return (middle > 0) - (middle < 0)


def pair_of(
    names: Names, above: Point, below: Point, floors: Floors, of: Sequence[Point] = ()
) -> Pair:
    """Return the pair of two points.

    Parameters
    ----------
    names : Names
    above, below : Point
    floors : Floors
    of : sequence of Point
        The points that were measured, where `above` and `below` are computed from more of them.
    """
    points = tuple(of) or (above, below)
    noise = floors.noise(*points)
    if any(backlog(point) for point in points):
        return Pair(names, {}, 0, points, noise, BACKLOG)
    behind = ["unsustained" in point.states for point in (above, below)]
    if any(behind):
        if all(behind) or of:
            note = GAIN_NOT_KEPT_UP if of else NEITHER_KEPT_UP
            return Pair(names, {}, 0, points, noise, note)
        higher_is_better = quantities.quantity(above.quantity).better == "higher"
        sign = -1 if behind[0] == higher_is_better else 1
        return Pair(names, {}, sign, points, noise, ONE_KEPT_UP)
    values = [above.values, below.values]
    positive = [{at: value for at, value in each.items() if value > 0} for each in values]
    ratio = _ratio(*positive)
    note = OF_NONE * (positive != values) or NOTHING_COMMON * (not ratio)
    return Pair(names, ratio, _side(ratio), points, noise, note)


def _ratio(above: Values, below: Values) -> dict[Place, float]:
    """Return above over below, round by round.

    A process of which they have no round in common, since one was run again in another round, is
    held against itself by its means; the round of such a ratio is 0.
    """
    found = statistics.quotients(above, below)
    processes = [{process for process, _ in each} for each in (above, below, found)]
    for process in sorted(processes[0] & processes[1] - processes[2]):
        one, other = (
            statistics.spread({at: value for at, value in each.items() if at[0] == process}).value
            for each in (above, below)
        )
        found[process, 0] = one / other
    return found


def gain_pair(
    names: Names,
    upper: tuple[Point, Point],
    lower: tuple[Point, Point],
    floors: Floors,
    note: str = "",
) -> Pair:
    """Return the pair of two gains, each the ratio of two points.

    Equal runs would set it apart by the floors of both ratios, at worst.
    """
    gains = [quotient(*each) for each in (upper, lower)]
    pair = pair_of(names, *gains, floors, of=(*upper, *lower))
    noise = floors.noise(*upper).beside(floors.noise(*lower))
    return pair._replace(noise=noise, note=pair.note or note)


def difference_pair(
    names: Names, one: tuple[Point, Point], other: tuple[Point, Point], floors: Floors
) -> Pair:
    """Return the pair of the sums that say whether one difference of two points is the larger.

    ``a - b`` is larger than ``c - d`` when ``a + d`` is more than ``b + c``. A difference may be
    negative, which has no ratio; sums are not.
    """
    (a, b), (c, d) = one, other
    sums = [combined(both, lambda one, two: one + two) for both in ((a, d), (b, c))]
    return pair_of(names, *sums, floors, of=(*one, *other))


def formula_pair(
    names: Names,
    point: Point,
    formula: Callable[..., float],
    floors: Floors,
    given: Sequence[Point] = (),
) -> Pair:
    """Return the pair of a point and what a formula gives for it.

    Parameters
    ----------
    names : Names
    point : Point
    formula : callable
        Takes a value of each of `given`, of one process and round.
    floors : Floors
    given : sequence of Point
        The points that the formula starts from; `point` itself unless given.
    """
    measured = (point, *given)
    return pair_of(names, point, combined(given or measured, formula), floors, of=measured)


def left_out(names: Names, points: Sequence[Point], note: str) -> Pair:
    """Return a pair that tells nothing, and why."""
    return Pair(names, {}, 0, tuple(points), Noise(), note)


def backlog(point: Point) -> bool:
    """Say whether a point is a latency at saturation, which tells the length of the run."""
    return quantities.quantity(point.quantity).unit == "ms" and "saturated" in point.states


def combined(points: Sequence[Point], of: Callable[..., float]) -> Point:
    """Return the point whose values are `of` those of `points`, round by round.

    It is like the first of them, with the states of all. Where they have no process and round in
    common it has no value.
    """
    common = sorted(set.intersection(*(set(point.values) for point in points)))
    states = {state for point in points for state in point.states}
    return replace(
        points[0],
        values={place: of(*(point.values[place] for point in points)) for place in common},
        states=tuple(state for state in STATES if state in states),
        threads=max(point.threads for point in points),
        cores=min(point.cores for point in points),
    )


def quotient(above: Point, below: Point) -> Point:
    """Return what `above` gains over `below`, as a point."""
    gain = combined([above, below], lambda one, _: one)
    return replace(gain, values=statistics.quotients(above.values, below.values))


class Halves(NamedTuple):
    """Processes and rounds to choose by, and others to judge by.

    The best of several is the better the more they scatter. What is chosen by some values and
    judged by others is not flattered.
    """

    choose: frozenset[Place]
    judge: frozenset[Place]
    note: str


def halves_of(values: Iterable[Values]) -> Halves | None:
    """Return odd rounds to choose by and even ones to judge by.

    Where one of the values has not both, as when most processes have a single round, odd processes
    choose and even ones judge. None where one of them has neither. That all have a place in common
    is not asked for: of many values some lack this round, some that one.
    """
    every = [set(each) for each in values if each]
    places = set().union(*every)
    for by, word in ((1, "rounds"), (0, "processes")):
        if every and all(len({place[by] % 2 for place in each}) == 2 for each in every):
            odd = frozenset(place for place in places if place[by] % 2)
            note = f"chosen on odd {word}, judged on even ones"
            return Halves(odd, frozenset(places - odd), note)
    return None


def mean_within(values: Values, places: Iterable[Place]) -> float | None:
    """Return the mean of the values at some places, to choose by; None where there is none.

    It is geometric unless one of them is 0.
    """
    own = {place: values[place] for place in places if place in values}
    return statistics.spread(own, added=min(own.values()) <= 0).value if own else None


def extreme_within(
    members: Iterable[Member],
    values: Callable[[Member], Values],
    places: Iterable[Place],
    *,
    highest: bool = True,
) -> Member | None:
    """Return the member whose values have the highest mean at some places, or the lowest one.

    Of equal ones it is the first. None where no member has a value there.
    """
    means = [(mean_within(values(member), places), member) for member in members]
    able = [each for each in means if each[0] is not None]
    choose = max if highest else min
    return choose(able, key=lambda each: each[0])[1] if able else None


def part_of(pair: Pair, agrees: bool | None) -> dict[str, Any]:
    """Return a pair as it is written down."""
    spread = pair.spread
    return {
        "where": pair.names.where,
        "above": pair.names.above,
        "below": pair.names.below,
        "figures": sorted({point.figure for point in pair.points}),
        "ratio": spread and spread.value,
        "low": spread and spread.low,
        "high": spread and spread.high,
        "sign": pair.sign,
        "agrees": agrees,
        "states": [s for s in STATES if any(s in point.states for point in pair.points)],
        "note": pair.note,
    }


def places_of(pairs: Iterable[Pair]) -> Mapping[int, set[int]]:
    """Return the rounds behind the ratios of some pairs, by process."""
    found: dict[int, set[int]] = {}
    for pair in pairs:
        for process, round_number in pair.ratio:
            found.setdefault(process, set()).add(round_number)
    return found
