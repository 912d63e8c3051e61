"""What a claim is judged by: points indexed by their place, and comparisons between them.

Differences must exceed a bound, a factor stated with every verdict:

* from three repetitions on, 1.05 for throughput and 1.10 for latency, and the 95 % interval of the
  ratio must lie on one side of 1;
* with fewer there is no interval to lean on: 1.30 for throughput and 2.0 for latency;
* never less than what two runs of the same variant differ by (A/A), where that was measured;
* twice as far out (the square) when a point is marked noisy;
* 1.01 for counts, which are no measurement of time.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from experiments.harness import statistics
from experiments.harness.points import STATES, Point, at_maximum

HOLDS, PARTLY, FAILS, UNCLEAR = "holds", "holds partly", "fails", "unclear"

REPETITIONS_FOR_AN_INTERVAL = 3
# ASSUME: factors below which a difference is not believed; the text of the module says why two.
BOUNDS = {"throughput_tps": (1.30, 1.05), "outputs_per_tuple": (1.01, 1.01)}
LATENCY_BOUNDS = (2.0, 1.10)


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
        (figure, variant, inputs, quantity, rate fraction or None) to point.
    names : mapping of str to str
        Variant id to the paper's name.
    floor : float or None
        What two runs of the same variant differ by (A/A).
    missing : list of str
    """

    points: dict[tuple, Point]
    names: Mapping[str, str]
    floor: float | None = None
    missing: list[str] = field(default_factory=list)

    @classmethod
    def of(cls, points: Iterable[Point], names: Mapping[str, str], floor: float | None) -> Evidence:
        """Index `points`: those of a rate axis by their rate, and one a setting without it."""
        points = list(points)
        index = {_place(point, point.rate_fraction): point for point in points}
        index |= {_place(point, None): point for point in at_maximum(points)}
        return cls(index, names, floor)

    def find(self, figure: str, variant: str, inputs: int, quantity: str) -> Point | None:
        """Return the point of a setting, or None after noting that it is missing."""
        point = self.points.get((figure, variant, inputs, quantity, None))
        if point is None:
            self.note_missing(f"{self.name(variant)} at {inputs} inputs in {figure_name(figure)}")
        return point

    def note_missing(self, what: str) -> None:
        """Remember, once, that `what` was looked for in vain."""
        if what not in self.missing:
            self.missing.append(what)

    def inputs(self, figure: str, variant: str, quantity: str) -> list[int]:
        """Return the measured numbers of inputs, ascending."""
        return sorted(
            place[2]
            for place in self.points
            if (place[0], place[1], place[3], place[4]) == (figure, variant, quantity, None)
        )

    def rates(self, figure: str, variant: str, inputs: int, quantity: str) -> list[Point]:
        """Return the points of a rate axis, slowest first."""
        return sorted(
            (
                point
                for place, point in self.points.items()
                if place[:4] == (figure, variant, inputs, quantity) and place[4] is not None
            ),
            key=lambda point: point.rate_fraction,
        )

    def name(self, variant: str) -> str:
        """Return the paper's name of `variant`."""
        return self.names.get(variant, variant)


def _place(point: Point, fraction: float | None) -> tuple:
    return (point.figure, point.variant, point.inputs, point.quantity, fraction)


def figure_name(figure: str) -> str:
    """Return "figure 9" for "fig_09"."""
    return f"figure {figure.removeprefix('fig_').lstrip('0')}"


def bound_of(points: Sequence[Point], floor: float | None) -> float:
    """Return the factor that a difference between `points` must exceed to be believed."""
    few, many = BOUNDS.get(points[0].quantity, LATENCY_BOUNDS)
    if points[0].quantity == "outputs_per_tuple":
        return many
    repeated = min(len(point.values) for point in points) >= REPETITIONS_FOR_AN_INTERVAL
    bound = max(many if repeated else few, floor or 1.0)
    return bound**2 if any("noisy" in point.states for point in points) else bound


def part_of(where: str, points: Sequence[Point], evidence: Evidence, judged: tuple) -> Part:
    """Return the part that compares `points`; `judged` is value, low, high, outcome and a note."""
    value, low, high, outcome, *note = judged
    return Part(
        where=where,
        value=value,
        low=low,
        high=high,
        bound=bound_of(points, evidence.floor),
        outcome=outcome,
        repetitions=min(len(point.values) for point in points),
        threads=max(point.threads for point in points),
        cores=min(point.cores for point in points),
        states=tuple(s for s in STATES if any(s in point.states for point in points)),
        note=note[0] if note else "",
    )


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


def ordered(above: Point, below: Point, direction: str, evidence: Evidence) -> tuple:
    """Return ratio, interval, outcome and note of `above` against `below`."""
    value, low, high = ratio(above, below)
    if saturated_latency(above, below):
        return value, low, high, UNCLEAR, "a backlog and no latency, since a point is saturated"
    side = _side(value, low, high, bound_of([above, below], evidence.floor))
    if direction == "differs":
        return value, low, high, UNCLEAR if side == "near" else HOLDS, ""
    wanted = {"higher": "above", "rises": "above", "lower": "below", "falls": "below"}[direction]
    outcome = UNCLEAR if side == "near" else HOLDS if side == wanted else FAILS
    return value, low, high, outcome, ""


def saturated_latency(*points: Point) -> bool:
    """Return whether a latency among `points` grew with the backlog: it tells the run's length."""
    return any(p.quantity.startswith("latency") and "saturated" in p.states for p in points)
