"""What a claim is judged by: points indexed by their place, and comparisons between them.

Differences must exceed a bound, a factor stated with every verdict:

* from three repetitions on, 1.05 for throughput and 1.10 for latency, and the 95 % interval of the
  ratio must lie on one side of 1;
* with fewer there is no interval to lean on: 1.30 for throughput and 2.0 for latency;
* other quantities as they are declared (``Quantity.bound``);
* never less than what two runs of the same variant differ by (A/A), where that was measured;
* twice as far out (the square) when a point is marked noisy;
* twice as far out for a gain against a gain, which is made of two comparisons;
* 1.01 for counts, which are no measurement of time.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import groupby, product
from typing import Any, NamedTuple

from experiments.declare import Figure, Sweep, order_of
from experiments.judging.points import STATES, Point, at_maximum
from experiments.records import quantities, statistics
from operators.contract import UsageError

HOLDS, PARTLY, FAILS, UNCLEAR = "holds", "holds partly", "fails", "unclear"

REPETITIONS_FOR_AN_INTERVAL = 3
BACKLOG = "a backlog and no latency, since a point is saturated"
CROWDED = "and threads that share cores say nothing against a trend"
# What a claim may read at instead of a value: every one, and every one from 2 on.
ALL, MANY = "all", "many"


class Part(NamedTuple):
    """One comparison of a claim.

    Attributes
    ----------
    where : str
        What is compared with what, and where.
    value : float
        A ratio, unless the comparator says otherwise.
    low, high : float or None
        Its 95 % interval; None from one repetition.
    bound : float
        The factor that a difference had to exceed.
    outcome : str
    repetitions, threads, cores : int
        The fewest repetitions, most threads and fewest cores of its points.
    states : tuple of str
        States that any of its points is in.
    note : str
        What limits it, a clause; may be empty.
    """

    where: str
    value: float
    low: float | None
    high: float | None
    bound: float
    outcome: str
    repetitions: int
    threads: int
    cores: int
    states: tuple[str, ...]
    note: str = ""


@dataclass
class Evidence:
    """Points to judge by, and what was looked for in vain.

    Attributes
    ----------
    points : list of Point
        Those of a rate axis, at each of their rates.
    at_most : list of Point
        One a setting: of several rates the highest below the maximum.
    names : mapping of str to str
        Variant id to the paper's name.
    floor : float or None
        What two runs of the same variant differ by (A/A).
    figures : mapping of str to Figure
        What the paper shows, by id.
    missing : list of str
    """

    points: list[Point]
    at_most: list[Point]
    names: Mapping[str, str]
    floor: float | None = None
    figures: Mapping[str, Figure] = field(default_factory=dict)
    missing: list[str] = field(default_factory=list)

    @classmethod
    def of(
        cls,
        points: Iterable[Point],
        names: Mapping[str, str],
        floor: float | None,
        figures: Iterable[Figure],
    ) -> Evidence:
        """Take the points that speak of these figures, with one a setting beside them."""
        points = list(points)
        by_id = {figure.id: figure for figure in figures}
        return cls(points, at_maximum(points), names, floor, by_id)

    def _among(self, points: list[Point], figure: str, variant: str, quantity: str) -> list[Point]:
        wanted = (figure, variant, quantity)
        return [p for p in points if (p.figure, p.variant, p.quantity) == wanted]

    def find(self, figure: str, variant: str, at: Mapping[str, Any], quantity: str) -> Point | None:
        """Return the one point of a setting, or None after noting that it is missing."""
        found = [p for p in self._among(self.at_most, figure, variant, quantity) if _is_at(p, at)]
        if len(found) != 1:
            self.lacks(figure, f"{self.name(variant)} at {self.told(figure, at)}")
            return None
        return found[0]

    def lacks(self, figure: str, what: str) -> None:
        """Note that `what` is missing in `figure`; the whole figure, where it has no point."""
        there = any(point.figure == figure for point in self.points)
        self.note_missing(f"{what} in {figure_name(figure)}" if there else figure_name(figure))

    def note_missing(self, what: str) -> None:
        """Remember, once, that `what` was looked for in vain."""
        if what not in self.missing:
            self.missing.append(what)

    def among(self, figure: str, variants: Iterable[str]) -> list[str]:
        """Return those of `variants` that the paper shows in `figure`."""
        return [each for each in variants if each in self.figures[figure].lines]

    def places(self, claim: Mapping[str, Any], figure: str, variant: str) -> list[dict[str, Any]]:
        """Return the settings that `claim` is read at, ascending: name to value."""
        wanted = claim["reads"]["at"]
        points = self._among(self.at_most, figure, variant, claim["quantity"])
        choices = []
        for name, value in wanted.items():
            if value not in (ALL, MANY):
                choices.append([value])
                continue
            found = {p.settings[name] for p in points if name in p.settings}
            if not found:
                self.lacks(figure, self.name(variant))
            if value == MANY and any(isinstance(each, str) for each in found):
                raise UsageError(
                    f"claim {claim['id']!r} reads at {MANY} of {name}, whose values are words:"
                    f" name one of them, or {ALL}"
                )
            found = [each for each in found if value == ALL or each > 1]
            choices.append(sorted(found, key=self._order(figure, name)))
        return [dict(zip(wanted, values, strict=True)) for values in product(*choices)]

    def over(self, claim: Mapping[str, Any], figure: str, variant: str) -> list[list[Point]]:
        """Return the points over the claim's x axis, a list a curve, each in the order of x.

        There is a curve for each value of what is swept beside x.
        """
        axis = axis_of(claim, self.figures[figure])
        places = self.places(claim, figure, variant)
        points = [
            p
            for p in self._among(self.at_most, figure, variant, claim["quantity"])
            if any(_is_at(p, at) for at in places)
        ]

        free, along = self.figures[figure].free, self._order(figure, axis)

        def beside(point: Point) -> list:
            return [s.place_of(point.settings[s.setting]) for s in free if s.setting != axis]

        points.sort(key=lambda point: (beside(point), along(point.settings[axis])))
        return [list(members) for _, members in groupby(points, key=beside)]

    def _order(self, figure: str, setting: str) -> Callable[[Any], Any]:
        """Return what values of a setting are sorted by: as a figure's sweep has them."""
        swept = {sweep.setting: sweep.place_of for sweep in self.figures[figure].free}
        return swept.get(setting, lambda value: value)

    def rates(self, figure: str, variant: str, at: Mapping[str, Any], quantity: str) -> list[Point]:
        """Return the points of a rate axis, slowest first."""
        return sorted(
            (
                point
                for point in self._among(self.points, figure, variant, quantity)
                if _is_at(point, at) and point.rate_fraction is not None
            ),
            key=lambda point: point.rate_fraction,
        )

    def name(self, variant: str) -> str:
        """Return the paper's name of `variant`."""
        return self.names.get(variant, variant)

    def told(self, figure: str, at: Mapping[str, Any]) -> str:
        """Return settings in words: "20 inputs"."""
        return ", ".join(self.figures[figure].told(name, at[name]) for name in at)

    def bound(self, *points: Point, comparisons: int = 1) -> float:
        """Return the factor that a difference between `points` must exceed to be believed."""
        return bound_of(points, self.floor) ** comparisons


def _is_at(point: Point, at: Mapping[str, Any]) -> bool:
    return all(point.settings.get(name) == value for name, value in at.items())


def axis_of(claim: Mapping[str, Any], figure: Figure) -> str:
    """Return the setting that the trend of a claim runs over: the x axis, unless it names one."""
    default = figure.x.setting if isinstance(figure.x, Sweep) else next(iter(claim["reads"]["at"]))
    return claim["reads"].get("over", default)


def pairs_of(figures: Sequence[str]) -> list[tuple[str, str]]:
    """Return the first figure with the second, the third with the fourth, and so on."""
    return list(zip(figures[::2], figures[1::2], strict=True))


def figure_name(figure: str) -> str:
    """Return "figure 9" for "9"."""
    return f"figure {figure}"


def figure_names(figures: Iterable[str]) -> str:
    """Return "figures 7, 13 to 16 and 18" for these figures, in any order.

    Examples
    --------
    >>> figure_names(["18", "14", "13", "15", "7"])
    'figures 7, 13 to 15 and 18'
    >>> figure_names(["8b", "8a"])
    'figures 8a and 8b'
    """
    spans: list[list[str]] = []
    for figure in sorted(set(figures), key=order_of):
        if spans and _follows(spans[-1][-1], figure):
            spans[-1].append(figure)
        else:
            spans.append([figure])
    told = []
    for span in spans:
        # Two neighbours read better one by one.
        told += [f"{span[0]} to {span[-1]}"] if len(span) > 2 else span
    if sum(map(len, spans)) == 1:
        return f"figure {told[0]}"
    return f"figures {', '.join(told[:-1])} and {told[-1]}" if told[1:] else f"figures {told[0]}"


def _follows(one: str, other: str) -> bool:
    """Say whether two whole figures have neighbouring numbers."""
    return one.isdigit() and other.isdigit() and int(other) == int(one) + 1


def bound_of(points: Sequence[Point], floor: float | None) -> float:
    """Return the factor that a difference between `points` must exceed to be believed."""
    quantity = quantities.quantity(points[0].quantity)
    few, many = quantity.bound
    if not quantity.timed:
        return many
    repeated = min(len(point.values) for point in points) >= REPETITIONS_FOR_AN_INTERVAL
    bound = max(many if repeated else few, floor or 1.0)
    return bound**2 if any("noisy" in point.states for point in points) else bound


def part_of(where: str, points: Sequence[Point], bound: float, judged: tuple) -> Part:
    """Return the part that compares `points`; `judged` is value, low, high, outcome and a note."""
    value, low, high, outcome, *note = judged
    return Part(
        where=where,
        value=value,
        low=low,
        high=high,
        bound=bound,
        outcome=outcome,
        repetitions=min(len(point.values) for point in points),
        threads=max(point.threads for point in points),
        cores=min(point.cores for point in points),
        states=_states(points),
        note=note[0] if note else "",
    )


def trend_part(where: str, points: Sequence[Point], bound: float, judged: tuple) -> Part:
    """Return the part of a trend; oversubscribed points cannot make it fail.

    Their threads share the cores among more and more, which can bend any trend; an order between
    variants is another matter, since both sides of it are equally crowded.
    """
    part = part_of(where, points, bound, judged)
    crowded = part.outcome == FAILS and "oversubscribed" in part.states
    return part._replace(outcome=UNCLEAR, note=CROWDED) if crowded else part


def _states(points: Sequence[Point]) -> tuple[str, ...]:
    return tuple(state for state in STATES if any(state in point.states for point in points))


def combined(points: Sequence[Point], of: Callable[..., float]) -> Point:
    """Return the point whose values are `of` those of `points`, repetition by repetition.

    It is like the first of them, with the states of all. Where they have no repetition in common
    it has one value, of the medians.
    """
    common = sorted(set.intersection(*(set(point.values) for point in points)))
    values = {each: of(*(point.values[each] for point in points)) for each in common}
    if not common:
        values = {0: of(*(point.middle[0] for point in points))}
    return replace(
        points[0],
        values=values,
        states=_states(points),
        threads=max(point.threads for point in points),
        cores=min(point.cores for point in points),
    )


def quotient(above: Point, below: Point) -> Point:
    """Return what `above` gains over `below`, as a point."""
    return combined([above, below], lambda one, other: one / other)


def ratio(above: Point, below: Point) -> tuple[float, float | None, float | None]:
    """Return the ratio of two points and its interval, over the repetitions both have."""
    common = sorted(set(above.values) & set(below.values))
    pairs = [above.values[r] for r in common], [below.values[r] for r in common]
    if not common:
        pairs = list(above.values.values()), list(below.values.values())
    found = statistics.ratio(*pairs)
    return (found.median, *((found.low, found.high) if found.count > 1 else (None, None)))


def _side(value: float, low: float | None, high: float | None, bound: float) -> str:
    """Return whether a ratio is above 1, below 1, or too near to tell."""
    if value > bound and (low is None or low > 1.0):
        return "above"
    if value < 1.0 / bound and (high is None or high < 1.0):
        return "below"
    return "near"


def ordered(above: Point, below: Point, direction: str, bound: float) -> tuple:
    """Return ratio, interval, outcome and note of `above` against `below`."""
    value, low, high = ratio(above, below)
    if saturated_latency(above, below):
        return value, low, high, UNCLEAR, BACKLOG
    side = _side(value, low, high, bound)
    if direction == "differs":
        return value, low, high, UNCLEAR if side == "near" else HOLDS, ""
    wanted = {"higher": "above", "rises": "above", "lower": "below", "falls": "below"}[direction]
    outcome = UNCLEAR if side == "near" else HOLDS if side == wanted else FAILS
    return value, low, high, outcome, ""


def alike(above: Point, below: Point, tolerance: float, bound: float) -> tuple:
    """Return what ``ordered`` does: holds within a factor of `tolerance`, fails `bound` beyond."""
    value, low, high = ratio(above, below)
    if saturated_latency(above, below):
        return value, low, high, UNCLEAR, BACKLOG
    if 1 / tolerance <= value <= tolerance:
        return value, low, high, HOLDS, ""
    over = value > tolerance * bound and (low is None or low > tolerance)
    under = value * tolerance * bound < 1 and (high is None or high * tolerance < 1)
    if over or under:
        return value, low, high, FAILS, ""
    return value, low, high, UNCLEAR, f"past {tolerance:g} times by no more than noise"


def kept(above: Point, below: Point, tolerance: float, bound: float) -> tuple:
    """Return what ``alike`` does, except that any `above` greater than `below` holds."""
    judged = alike(above, below, tolerance, bound)
    return (*judged[:3], HOLDS, "") if judged[0] >= 1 and judged[4] != BACKLOG else judged


def saturated_latency(*points: Point) -> bool:
    """Return whether a latency among `points` grew with the backlog: it tells the run's length."""
    return any(p.quantity.startswith("latency") and "saturated" in p.states for p in points)
