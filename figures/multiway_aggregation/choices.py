"""The designs that were measured beside each other, and which of them are ahead.

Designs are compared inside one figure and at one number of inputs, where all did the same work.
*Few* inputs is the lowest number at which our own variants were measured too, if there is one below
the highest; else the lowest of all. Two designs count as different when the judge would say so of
the two (``experiments.judging.pool``, with the same floor of noise); else they are alike. A
throughput that its design did not keep up with leads nowhere: it is left out.
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
from experiments.multiway_aggregation.figures import BY_INPUTS, BY_SOURCES
from experiments.records import statistics
from experiments.records.statistics import Spread
from figures import style
from figures.load import Results, comparable, points_of
from figures.view import View

PAPER = "multiway_aggregation"
FEW, MANY = "few", "many"
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
        Throughputs of the paper's designs there, highest first; never empty.
    all : tuple of Point
        Those of ours too.
    latencies : tuple of Point
        Mean latencies that are no backlog, lowest first.
    floors : Floors
        What equal runs differ by.
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
        """Return the series of the highest throughput, and those that are alike with it."""
        best = points[0]
        return [best.variant, *(p.variant for p in points[1:] if not self.ahead(best, p))]

    def ahead(self, one: Point, other: Point) -> bool:
        """Say whether `one` is believed to be higher than `other`."""
        pair = pair_of(Names(one.variant, other.variant, self.query), one, other, self.floors)
        return pooled([pair], "higher").direction == HOLDS


def choices(results: Results) -> list[Choice]:
    """Return the choices that the figures over inputs show, by figure and number of inputs."""
    found = []
    for figure in papers.paper(PAPER).figures:
        view = View(figure, extended=True)
        points = points_of(results, view, "throughput_tps")
        points = [p for p in points if comparable(figure.family, p.variant)]
        points = [p for p in points if "unsustained" not in p.states]
        if figure.x not in (BY_INPUTS, BY_SOURCES) or not points:
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
    """Return the number of inputs of a point; those of a gate are its sources."""
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
    # Of equal numbers of series the first, which is the lowest number of inputs.
    return {FEW: max(lower, key=lambda count: series[count]), MANY: most}


def value_of(point: Point) -> float:
    """Return the value of a point, to sort by."""
    return point.value


def ratio_of(above: Point, below: Point) -> Spread:
    """Return a ratio round by round; of points without a round in common, that of their values."""
    found = statistics.ratio(above.values, below.values)
    return found or Spread(above.value / below.value, None, None, "", 0, 0)
