"""Pairs: the result of a comparator, one for each comparison that a statement consists of.

A pair is a ratio, taken process by process and round by round, and the side of 1 that it lies on
(the sign):

* where both rivals kept up with the usual share of their throughput, or the quantity is no
  throughput: ratio and sign;
* two throughputs whose sustained rates were searched: the ratio of these rates, each as wide as
  its bracket;
* a throughput where only one rival kept up: the sign favours this rival, and there is no ratio,
  since the other rival could not be run at its closed-loop throughput;
* neither ratio nor sign: a throughput where neither rival kept up; a latency at saturation, which
  is a backlog and grows with the run; points without a common process and round; a count of 0,
  which has no ratio. These are left out, counted and reported.

A ratio is taken between runs in one state of the machine: runs around which the cores lay equally
far apart (``points.of_one_state``), if that leaves a ratio to every process, or to six of them;
otherwise between all runs.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from math import log
from typing import Any, NamedTuple, TypeVar

from experiments.judging.floors import Floors, Noise
from experiments.judging.points import STATES, Point, Ways, of_one_state
from experiments.records import quantities, statistics
from experiments.records.statistics import Place, Spread, Values

NEITHER_KEPT_UP = "neither kept up"
ONE_KEPT_UP = "one alone kept up"
GAIN_NOT_KEPT_UP = "one of those compared did not keep up"
BACKLOG = "a latency at saturation is a backlog"
NOTHING_COMMON = "no process and round in common"
BY_SUSTAINED = "by the rates that a search found sustained"
APART = "the cores were near to each other for one and far for the other"
OF_NONE = "a value of 0 has no ratio"
NOTHING_TO_CHOOSE_BY = "a single value cannot both choose and judge"


Member = TypeVar("Member")


class Names(NamedTuple):
    """The two sides of a comparison, and the setting: "TuMLSC", "MQ", "k-OS, 20 inputs"."""

    above: str
    below: str
    place: str

    @property
    def where(self) -> str:
        """The whole comparison in words."""
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
        1 where above is higher, -1 where below is, 0 where there is no answer.
    points : tuple of Point
        The measured points.
    noise : Noise
        The noise between equal runs.
    note : str
        Why ratio or sign are left out, or how the pair was chosen; may be empty.
    """

    # Cached in the instance's dictionary, since it is read many times.
    @cached_property
    def spread(self) -> Spread | None:
        """The ratio and the spread; None where the ratio is left out."""
        return statistics.spread(self.ratio) if self.ratio else None

    @property
    def rounds(self) -> int:
        """The fewest rounds of a process in the ratio; the points may have more."""
        return min(Counter(process for process, _ in self.ratio).values(), default=1)

    @property
    def identity(self) -> tuple:
        """The key that the same comparison has in another figure."""
        return (self.names.above, self.names.below, *map(_measured, self.points))

    def inverted(self, names: Names) -> Pair:
        """Return the pair of one over the values."""
        ratio = {place: 1.0 / value for place, value in self.ratio.items()}
        return Pair(names, ratio, -self.sign, self.points, self.noise, self.note)

    def within(self, places: Iterable[Place], note: str) -> Pair:
        """Return the pair restricted to some processes and rounds."""
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
        The measured points, where `above` and `below` are computed from more of them.
    """
    points = tuple(of) or (above, below)
    noise = floors.noise(*points)
    if not of and above.sustained and below.sustained:
        return _of_sustained(names, above, below, noise)
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
    kept, noise, apart = _of_one_state(ratio, (above, below), noise)
    note = OF_NONE * (positive != values) or NOTHING_COMMON * (not ratio) or apart
    return Pair(names, kept, _side(kept), points, noise, note)


def _of_sustained(names: Names, above: Point, below: Point, noise: Noise) -> Pair:
    """Return the pair of two throughputs whose sustained rates were searched.

    # ASSUME: the sustained rates of processes differ by the same factors as their closed-loop
    throughputs: the search runs in one process only.
    """
    width = 0.0
    ratios = []
    for point in (above, below):
        low, high = point.sustained
        first = min(process for process, _ in point.values)
        own = statistics.spread({at: v for at, v in point.values.items() if at[0] == first}).value
        share = (low * high) ** 0.5 / own
        ratios.append({at: share * value for at, value in point.values.items()})
        width += log(high / low) / 2
    ratio = _ratio(*ratios)
    kept, noise, _ = _of_one_state(ratio, (above, below), noise)
    noise = noise._replace(bracket=noise.bracket + width)
    return Pair(names, kept, _side(kept), (above, below), noise, BY_SUSTAINED)


def _of_one_state(
    ratio: Values, points: Sequence[Point], noise: Noise
) -> tuple[dict[Place, float], Noise, str]:
    """Return the ratios whose runs are of one state, with their noise and a note.

    Where that would lose a process and leave too few for an interval, all ratios stay: an interval
    is as wide as the states make it. Equal runs are of one state, so that their floors do not say
    how far such ratios spread.
    """
    kept = {
        at: value
        for at, value in ratio.items()
        if of_one_state(ways for point in points for ways in _ways_at(point, at))
    }
    every, left = ({process for process, _ in each} for each in (ratio, kept))
    if left == every or len(left) >= statistics.PROCESSES_FOR_AN_INTERVAL:
        return kept, noise, ""
    note = f"{APART} in {len(ratio) - len(kept)} of {len(ratio)}"
    return dict(ratio), noise._replace(known=False), note


def _ways_at(point: Point, at: Place) -> list[Ways]:
    """Return the transfers of a process and round; of round 0, those of all rounds."""
    process, number = at
    return [
        ways
        for (own, round_number), ways in point.ways.items()
        if own == process and number in (0, round_number)
    ]


def _ratio(above: Values, below: Values) -> dict[Place, float]:
    """Return above over below, round by round.

    A process without a common round, since one point was run again in another round, contributes
    the ratio of the process's medians; the round of such a ratio is 0.
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

    The noise of the pair combines the floors of both ratios: the worst case of equal runs.
    """
    gains = [quotient(*each) for each in (upper, lower)]
    pair = pair_of(names, *gains, floors, of=(*upper, *lower))
    noise = floors.noise(*upper).combined_with(floors.noise(*lower))
    return pair._replace(noise=noise, note=pair.note or note)


def difference_pair(
    names: Names, one: tuple[Point, Point], other: tuple[Point, Point], floors: Floors
) -> Pair:
    """Return the pair of sums that shows which of two differences of points is the larger.

    ``a - b`` is larger than ``c - d`` when ``a + d`` is more than ``b + c``. A difference may be
    negative, and then has no ratio; sums do.
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
    """Return the pair of a point and the result of a formula for it.

    Parameters
    ----------
    names : Names
    point : Point
    formula : callable
        Takes a value of each of `given`, of one process and round.
    floors : Floors
    given : sequence of Point
        The inputs of the formula; `point` itself unless given.
    """
    measured = (point, *given)
    return pair_of(names, point, combined(given or measured, formula), floors, of=measured)


def left_out(names: Names, points: Sequence[Point], note: str) -> Pair:
    """Return a pair without ratio and sign, and the reason."""
    return Pair(names, {}, 0, tuple(points), Noise(), note)


def backlog(point: Point) -> bool:
    """Say whether a point is a latency at saturation, which depends on the length of the run."""
    return quantities.quantity(point.quantity).unit == "ms" and "saturated" in point.states


def combined(points: Sequence[Point], of: Callable[..., float]) -> Point:
    """Return the point whose values are `of` those of `points`, round by round.

    The other fields are those of the first point, with the states of all. Without a common process
    and round the point has no value.
    """
    common = sorted(set.intersection(*(set(point.values) for point in points)))
    states = {state for point in points for state in point.states}
    return replace(
        points[0],
        values={place: of(*(point.values[place] for point in points)) for place in common},
        ways={place: ways for place in common if (ways := _ways(points, place))},
        states=tuple(state for state in STATES if state in states),
        threads=max(point.threads for point in points),
        cores=min(point.cores for point in points),
    )


def _ways(points: Iterable[Point], at: Place) -> Ways | None:
    """Return the shortest and the longest transfer around some runs."""
    known = [point.ways[at] for point in points if at in point.ways]
    if not known:
        return None
    return Ways(min(each.short for each in known), max(each.long for each in known))


def quotient(above: Point, below: Point) -> Point:
    """Return the gain of `above` over `below`, as a point."""
    gain = combined([above, below], lambda one, _: one)
    found = statistics.quotients(above.values, below.values)
    return replace(gain, values={at: found[at] for at in gain.values if at in found})


class Halves(NamedTuple):
    """Processes and rounds to choose by, and others to judge by.

    The more several values scatter, the better the best of them looks. Choosing by some values and
    judging by others avoids this selection bias.
    """

    choose: frozenset[Place]
    judge: frozenset[Place]
    note: str


def halves_of(values: Iterable[Values]) -> Halves | None:
    """Return odd rounds to choose by and even ones to judge by.

    Where one of the values lacks odd or even rounds, as when most processes have a single round,
    odd processes choose and even ones judge. None where one of them lacks these, too. A round that
    all values share is not required: of many values, each may lack a different round.
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
    """Return the mean of the values at some `places`, to choose by; None where there is none.

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
    """Return the member whose values have the highest mean at some `places`, or the lowest one.

    Ties go to the first member. None where no member has a value there.
    """
    means = [(mean_within(values(member), places), member) for member in members]
    able = [each for each in means if each[0] is not None]
    choose = max if highest else min
    return choose(able, key=lambda each: each[0])[1] if able else None


def part_of(pair: Pair, agrees: bool | None) -> dict[str, Any]:
    """Return a pair as a JSON object."""
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
