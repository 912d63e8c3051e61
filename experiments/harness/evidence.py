"""What a claim is judged by: points indexed by their place, and comparisons between them.

Differences must exceed a bound, a factor stated with every verdict:

* from three repetitions on, 1.05 for throughput and 1.10 for latency, and the 95 % interval of the
  ratio must lie on one side of 1;
* with fewer there is no interval to lean on: 1.30 for throughput and 2.0 for latency;
* durations of operations as throughput;
* never less than what two runs of the same variant differ by (A/A), where that was measured;
* twice as far out (the square) when a point is marked noisy;
* twice as far out for a gain against a gain, which is made of two comparisons;
* 1.01 for counts, which are no measurement of time.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

from experiments.harness import statistics
from experiments.harness.points import STATES, Point, at_maximum

HOLDS, PARTLY, FAILS, UNCLEAR = "holds", "holds partly", "fails", "unclear"

REPETITIONS_FOR_AN_INTERVAL = 3
# ASSUME: factors below which a difference is not believed; the text of the module says why two.
BOUNDS = {
    "throughput_tps": (1.30, 1.05),
    "input_ns": (1.30, 1.05),
    "output_ns": (1.30, 1.05),
    "outputs_per_tuple": (1.01, 1.01),
}
LATENCY_BOUNDS = (2.0, 1.10)
BACKLOG = "a backlog and no latency, since a point is saturated"
CROWDED = "and threads that share cores say nothing against a trend"


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
    points : dict
        (figure, variant, inputs, update threads or None, quantity, rate fraction or None) to point.
    names : mapping of str to str
        Variant id to the paper's name.
    floor : float or None
        What two runs of the same variant differ by (A/A).
    shown : mapping of str to sequence of str
        Figure to the variants that the paper shows on it; a figure that is not there shows all.
    missing : list of str
    """

    points: dict[tuple, Point]
    names: Mapping[str, str]
    floor: float | None = None
    shown: Mapping[str, Sequence[str]] = field(default_factory=dict)
    missing: list[str] = field(default_factory=list)

    @classmethod
    def of(
        cls,
        points: Iterable[Point],
        names: Mapping[str, str],
        floor: float | None,
        shown: Mapping[str, Sequence[str]],
    ) -> Evidence:
        """Index `points`: those of a rate axis by their rate, and one a setting without it."""
        points = list(points)
        index = {_place(point, point.rate_fraction): point for point in points}
        index |= {_place(point, None): point for point in at_maximum(points)}
        return cls(index, names, floor, shown)

    def find(self, figure: str, variant: str, inputs: int, quantity: str) -> Point | None:
        """Return the point of a setting, or None after noting that it is missing."""
        point = self.points.get((figure, variant, inputs, None, quantity, None))
        if point is None:
            self.lacks(figure, f"{self.name(variant)} at {inputs_told(inputs)}")
        return point

    def lacks(self, figure: str, what: str) -> None:
        """Note that `what` is missing in `figure`; the whole figure, where it has no point."""
        there = any(place[0] == figure for place in self.points)
        self.note_missing(f"{what} in {figure_name(figure)}" if there else figure_name(figure))

    def note_missing(self, what: str) -> None:
        """Remember, once, that `what` was looked for in vain."""
        if what not in self.missing:
            self.missing.append(what)

    def among(self, figure: str, variants: Iterable[str]) -> list[str]:
        """Return those of `variants` that the paper shows in `figure`."""
        return [each for each in variants if each in self.shown.get(figure, (each,))]

    def counts(self, claim: Mapping[str, Any], figure: str, variant: str) -> list[int]:
        """Return the numbers of inputs that `claim` reads, ascending."""
        wanted = claim["reads"]["inputs"]
        if isinstance(wanted, int):
            return [wanted]
        place = (figure, variant, claim["quantity"])
        found = sorted({p[2] for p in self.points if (p[0], p[1], p[4]) == place and p[5] is None})
        if not found:
            self.lacks(figure, self.name(variant))
        return [count for count in found if wanted == "all" or count > 1]

    def over(self, claim: Mapping[str, Any], figure: str, variant: str) -> list[list[Point]]:
        """Return the points over the claim's x axis, a list a curve, each in the order of x.

        The x axis is the number of inputs, or that of update threads: then there is a curve for
        each number of inputs.
        """
        counts = self.counts(claim, figure, variant)
        axis = axis_of(claim)
        curves: dict[int, list[Point]] = {}
        for place, point in self.points.items():
            if (*place[:2], *place[4:]) == (figure, variant, claim["quantity"], None):
                if point.inputs in counts:
                    curves.setdefault(0 if axis == "inputs" else point.inputs, []).append(point)
        return [
            sorted(curves[each], key=lambda point: getattr(point, axis)) for each in sorted(curves)
        ]

    def rates(self, figure: str, variant: str, inputs: int, quantity: str) -> list[Point]:
        """Return the points of a rate axis, slowest first."""
        return sorted(
            (
                point
                for place, point in self.points.items()
                if place[:5] == (figure, variant, inputs, None, quantity) and place[5] is not None
            ),
            key=lambda point: point.rate_fraction,
        )

    def name(self, variant: str) -> str:
        """Return the paper's name of `variant`."""
        return self.names.get(variant, variant)

    def bound(self, *points: Point, comparisons: int = 1) -> float:
        """Return the factor that a difference between `points` must exceed to be believed."""
        return bound_of(points, self.floor) ** comparisons


def _place(point: Point, fraction: float | None) -> tuple:
    setting = (point.figure, point.variant, point.inputs, point.update_threads)
    return (*setting, point.quantity, fraction)


def axis_of(claim: Mapping[str, Any]) -> str:
    """Return what the trend of a claim runs over: ``inputs`` or ``update_threads``."""
    return claim["reads"].get("over", "inputs")


def inputs_told(count: int) -> str:
    """Return "1 input" or "20 inputs"."""
    return f"{count} input{'' if count == 1 else 's'}"


def pairs_of(figures: Sequence[str]) -> list[tuple[str, str]]:
    """Return the first figure with the second, the third with the fourth, and so on."""
    return list(zip(figures[::2], figures[1::2], strict=True))


def figure_name(figure: str) -> str:
    """Return "figure 9" for "fig_09"."""
    return f"figure {figure.removeprefix('fig_').lstrip('0')}"


def figure_names(figures: Iterable[str]) -> str:
    """Return "figures 7, 13 to 16 and 18" for these figures, in any order.

    Examples
    --------
    >>> figure_names(["fig_18", "fig_14", "fig_13", "fig_15", "fig_07"])
    'figures 7, 13 to 15 and 18'
    """
    numbers = sorted({int(figure.removeprefix("fig_")) for figure in figures})
    spans: list[list[int]] = []
    for number in numbers:
        if spans and spans[-1][-1] == number - 1:
            spans[-1].append(number)
        else:
            spans.append([number])
    told = []
    for span in spans:
        # Two neighbours read better one by one.
        told += [f"{span[0]} to {span[-1]}"] if len(span) > 2 else map(str, span)
    if len(numbers) == 1:
        return f"figure {told[0]}"
    return f"figures {', '.join(told[:-1])} and {told[-1]}" if told[1:] else f"figures {told[0]}"


def bound_of(points: Sequence[Point], floor: float | None) -> float:
    """Return the factor that a difference between `points` must exceed to be believed."""
    few, many = BOUNDS.get(points[0].quantity, LATENCY_BOUNDS)
    if points[0].quantity == "outputs_per_tuple":
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
