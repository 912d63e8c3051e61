"""The designs that were measured together, and the ones that are ahead.

Designs are compared within one figure and at one number of inputs, where all did the same work.
*Few* inputs is the lowest number at which our variants were measured too, if that is below the
highest; otherwise it is the lowest of all. Two designs count as different when the judge would say
so of the pair (``experiments.judging.pool``, with the same noise floor); otherwise they are alike.
A throughput that the design did not sustain is left out.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from experiments import papers
from experiments.judging.floors import Floors
from experiments.judging.pairs import Names, pair_of
from experiments.judging.points import Point, at_maximum
from experiments.judging.pool import HOLDS, pooled
from experiments.multiway_aggregation.figures import BY_INPUTS, BY_SOURCES, FROM_TWO_INPUTS
from experiments.records import statistics
from experiments.records.statistics import Spread
from figures import style
from figures.load import Results, comparable, points_of
from figures.view import View

PAPER = "multiway_aggregation"
FEW, MANY = "few", "many"
# The axes over which designs are compared.
SWEPT = (BY_INPUTS, FROM_TWO_INPUTS, BY_SOURCES)
KINDS = {
    "": "sorting alone",
    "OS": "order-sensitive queries (OS)",
    "OI": "order-insensitive queries (OI)",
}


@dataclass(frozen=True)
class Choice:
    """The designs of one figure at one number of inputs.

    Attributes
    ----------
    figure, query, kind : str
        `query` is empty for sorting alone, `kind` is a key of ``KINDS``.
    place : str
        FEW or MANY.
    inputs : int
    paper : tuple of Point
        Throughputs of the paper's designs at this number of inputs, highest first; never empty.
    all : tuple of Point
        Throughputs of all designs, ours included.
    latencies : tuple of Point
        Mean latencies of points that are not saturated, lowest first.
    floors : Floors
        The noise floors.
    """

    figure: str
    query: str
    kind: str
    place: str
    inputs: int
    paper: tuple[Point, ...]
    all: tuple[Point, ...]
    latencies: tuple[Point, ...]
    floors: Floors

    def winners(self, points: Sequence[Point]) -> list[str]:
        """Return the series with the highest throughput, and the series alike to it."""
        best = points[0]
        return [best.variant, *(p.variant for p in points[1:] if not self.ahead(best, p))]

    def ahead(self, one: Point, other: Point) -> bool:
        """Return whether the judge finds `one` higher than `other`."""
        pair = pair_of(Names(one.variant, other.variant, self.query), one, other, self.floors)
        return pooled([pair], "higher").direction == HOLDS


def choices(results: Results) -> list[Choice]:
    """Return the choices offered by the figures over inputs, by figure and number of inputs."""
    found = []
    for figure in papers.paper(PAPER).figures:
        view = View(figure, extended=True)
        points = points_of(results, view, "throughput_tps")
        points = [p for p in points if comparable(figure.family, p.variant)]
        points = [p for p in points if "unsustained" not in p.states]
        if figure.x not in SWEPT or not points:
            continue
        slow = at_maximum(points_of(results, view, "latency_ms_mean"))
        query = str(figure.settings.get("query", ""))
        kind = query.rpartition("-")[2]
        for place, inputs in _places(points).items():
            there = [point for point in points if inputs_of(point) == inputs]
            there.sort(key=value_of, reverse=True)
            of_paper = tuple(p for p in there if p.variant in figure.lines)
            quick = [p for p in slow if inputs_of(p) == inputs and "saturated" not in p.states]
            quick = [p for p in quick if comparable(figure.family, p.variant)]
            quick.sort(key=value_of)
            if of_paper:
                about = (figure.id, query, kind, place, inputs)
                found.append(Choice(*about, of_paper, tuple(there), tuple(quick), results.floors))
    return found


def inputs_of(point: Point) -> int:
    """Return the number of inputs of a point; for a gate, the number of sources."""
    return point.settings.get("inputs", point.settings.get("sources"))


def title_of(choice: Choice, variant: str) -> str:
    """Return the name of a series as figures show it."""
    return named(variant, "aggregation" if choice.query else "gate")


def named(variant: str, family: str) -> str:
    """Return the name of a series as figures show it."""
    return style.look_of(family, variant).title


def _places(points: Sequence[Point]) -> dict[str, int]:
    series = Counter(inputs_of(point) for point in points)
    most = max(series)
    lower = [count for count in sorted(series) if count < most]
    if not lower:
        return {MANY: most}
    # Of counts with equally many series the first wins: the lowest number of inputs.
    return {FEW: max(lower, key=lambda count: series[count]), MANY: most}


def value_of(point: Point) -> float:
    """Return the value of a point, to sort by."""
    return point.value


def ratio_of(above: Point, below: Point) -> Spread:
    """Return the ratio round by round, or of the values if the points share no round."""
    found = statistics.ratio(above.values, below.values)
    return found or Spread(above.value / below.value, None, None, "", 0, 0)
