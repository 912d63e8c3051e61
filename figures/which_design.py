"""Which design for which job: the questions of all papers, answered from the rows of one set.

A paper declares questions in ``figures/<paper>/questions.py``; only their words are written down
in advance. The answer, the factor, its cost, and in how many settings it is so are computed, with
the judge's own comparison of two points, so that another machine may give the opposite answer.
``figures.answers`` shows them.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from math import log
from typing import Any

from experiments.declare import Figure, Series
from experiments.judging.floors import Floors
from experiments.judging.pairs import Names, pair_of
from experiments.judging.points import Point, at_maximum
from experiments.judging.pool import HOLDS, Pool, pooled
from experiments.records.quantities import quantity
from figures.load import comparable
from figures.page_data import PageData
from figures.settings_table import rate_of

# Values of the axis that a question is about: the lowest above 1, or the highest.
FEW, MANY = "few", "many"


@dataclass(frozen=True)
class Question:
    """A question about designs.

    Attributes
    ----------
    id : str
        Of the row on the page, unique within the paper.
    words : str
        The job; ``{at}`` is the value of the axis: "Order matters, {at} inputs".
    figures : tuple of str
        Ids of figures, of one family.
    quantity : str
    setting : str
        The setting of the axis that `at` selects; empty for every setting of the figures.
    at : str or int
        FEW, MANY or a value.
    lines : tuple of str
        The designs that are compared; those of the figure where there are none. Of two, the second
        is what the first is compared with, and the answer says whether it is worth having.
    caveat : str
        What the paper or its notes say against believing the answer elsewhere.
    asked : str
        The question as a newcomer asks it, where it is one of those that the front page answers.
    meaning : mapping of str to str
        By series, the words before it where it is ahead of the others: "Yes: ".
    """

    id: str
    words: str
    figures: tuple[str, ...]
    quantity: str = "throughput_tps"
    setting: str = ""
    at: str | int = MANY
    lines: tuple[str, ...] = ()
    caveat: str = ""
    asked: str = ""
    meaning: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Answer:
    """The answer to a question.

    Attributes
    ----------
    at : int or str or None
        The value of the axis.
    best : str
        The series that leads most settings; empty where nothing was measured.
    alike : tuple of str
        Series that the judge cannot tell from it, over all settings.
    over_all : tuple of str
        Series that lead fewer settings, and are ahead over all of them taken together.
    next : str
        The series that comes nearest; empty without another one.
    pool : Pool or None
        Of the best over the next one; None without another one.
    leads, of : int
        In how many settings the best one leads or is alike, and of how many.
    places : list of dict
        The points of each setting by series, the best first.
    cost : str
        The quantity that a rate is paid with, a mean latency, or the rate that a latency is paid
        with; empty where the figures have none.
    paid : Pool or None
        Of the best over the next one in that quantity; None where not both were measured.
    fractions : tuple of float
        The offered rates of `paid`, as shares of the throughput of each design.
    ours : str
        A series of no paper that is further ahead of the best one than any other; may be empty.
    ours_pool : Pool or None
        Of that series over the best one.
    """

    at: Any = None
    best: str = ""
    alike: tuple[str, ...] = ()
    over_all: tuple[str, ...] = ()
    next: str = ""
    pool: Pool | None = None
    leads: int = 0
    of: int = 0
    places: list[Mapping[Series, Point]] = field(default_factory=list)
    cost: str = ""
    paid: Pool | None = None
    fractions: tuple[float, ...] = ()
    ours: str = ""
    ours_pool: Pool | None = None


def answer_of(question: Question, data: PageData, at: Any = None) -> Answer:
    """Return the answer to a question from the points of a set.

    A throughput that a design did not sustain and a latency at saturation are left out.

    Parameters
    ----------
    question : Question
    data : PageData
    at : optional
        A value of the axis other than the question's.
    """
    figures = [figure for figure in data.paper.figures if figure.id in question.figures]
    better, floors = quantity(question.quantity).better, data.results.floors
    every = _by_setting(question.quantity, figures, data, better)
    own = {place: _of_lines(there, question, figures) for place, there in every.items()}
    own = {place: there for place, there in own.items() if len(there) > 1}
    at = _value_of_axis(question, own.values()) if at is None else at
    if question.setting:
        own = {place: there for place, there in own.items() if _at(question, there) == at}
    places = list(own.values())
    wins = Counter(each for there in places for each in _winners(there, better, floors))
    if not wins:
        return Answer(at)
    ranks = {line: _rank(line, places) for line in wins}
    best = max(wins, key=lambda line: (wins[line], -ranks[line]))
    pools = {}
    for line in sorted({line for there in places for line in there} - {best}):
        pools[line] = _pool(best, line, places, better, floors)
    known = {line: pool for line, pool in pools.items() if pool.spread is not None}
    # "Not higher" may mean practically equal: only the opposite statement tells which is ahead.
    level = [line for line, pool in known.items() if pool.direction != HOLDS]
    opposite = "lower" if better == "higher" else "higher"
    over_all = [line for line in level if pooled(known[line].pairs, opposite).direction == HOLDS]
    alike = [line for line in level if line not in over_all]
    nearest = min(known, key=lambda line: gain(known[line].spread.value, better), default="")
    cost, paid, fractions = _paid(question.quantity, best, nearest, own, figures, data)
    ours, ours_pool = _ours(
        question, figures, best, [every[place] for place in own], better, floors
    )
    return Answer(
        at, best, tuple(alike), tuple(over_all), nearest, known.get(nearest), wins[best],
        len(places), places, cost, paid, fractions, ours, ours_pool,
    )  # fmt: skip


def nearest_value(question: Question, data: PageData) -> Any:
    """Return the measured value of the axis that is nearest to the asked one; None without any.

    Of two as near the larger one is taken: one input is no case of merging.
    """
    figures = [figure for figure in data.paper.figures if figure.id in question.figures]
    better = quantity(question.quantity).better
    there = [
        _at(question, own)
        for own in _by_setting(question.quantity, figures, data, better).values()
        if len(_of_lines(own, question, figures)) > 1
    ]
    known = sorted({value for value in there if isinstance(value, int | float) and value > 0})
    if not isinstance(question.at, int) or not known:
        return None
    return min(known, key=lambda value: (abs(log(value / question.at)), -value))


def gain(ratio: float, better: str) -> float:
    """Return by which factor the first side of a ratio is better."""
    return ratio if better == "higher" else 1 / ratio


def _by_setting(
    name: str, figures: Sequence[Figure], data: PageData, better: str
) -> dict[tuple, dict[Series, Point]]:
    """Return the points of a quantity by figure and setting, and by series, the best first."""
    found: dict[tuple, dict[Series, Point]] = {}
    for figure in figures:
        points = [p for p in data.results.points(figure) if p.quantity == name]
        points = at_maximum(points) if quantity(name).unit == "ms" else points
        for point in points:
            if not {"unsustained", "saturated"} & set(point.states):
                swept = (str(point.settings.get(each.setting)) for each in figure.free)
                found.setdefault((figure.id, *swept), {})[point.variant] = point
    for place, own in found.items():
        ordered = sorted(own.values(), key=lambda p: p.value, reverse=better == "higher")
        found[place] = {point.variant: point for point in ordered}
    return found


def _of_lines(
    there: Mapping[Series, Point], question: Question, figures: Sequence[Figure]
) -> dict[Series, Point]:
    """Return the points of the designs that a question compares."""
    lines = {figure.id: question.lines or figure.lines for figure in figures}
    return {line: point for line, point in there.items() if line in lines[point.figure]}


def _at(question: Question, there: Mapping[Series, Point]) -> Any:
    return next((point.settings.get(question.setting) for point in there.values()), None)


def _value_of_axis(question: Question, places: Iterable[Mapping[Series, Point]]) -> Any:
    """Return the value of the axis that a question is about; None where it was not measured."""
    there = [_at(question, own) for own in places]
    known = sorted({value for value in there if isinstance(value, int | float)})
    if not known:
        return None
    if question.at == MANY:
        return known[-1]
    if question.at == FEW:
        return next((value for value in known if value > 1), known[0])
    return question.at if question.at in known else None


def _winners(there: Mapping[Series, Point], better: str, floors: Floors) -> list[Series]:
    """Return the series with the best value at a setting, and those alike to it."""
    best, *others = there.values()
    alike = [p for p in others if _pool_of([(best, p)], better, floors).direction != HOLDS]
    return [best.variant, *(p.variant for p in alike)]


def _rank(line: Series, places: Sequence[Mapping[Series, Point]]) -> float:
    """Return the mean rank of a series over the settings that have it."""
    ranks = [number for there in places for number, own in enumerate(there) if own == line]
    return sum(ranks) / len(ranks)


def _pool(
    one: Series, other: Series, places: Iterable[Mapping[Series, Point]], better: str,
    floors: Floors,
) -> Pool:  # fmt: skip
    both = [(own[one], own[other]) for own in places if one in own and other in own]
    return _pool_of(both, better, floors)


def _pool_of(both: Sequence[tuple[Point, Point]], better: str, floors: Floors) -> Pool:
    pairs = [
        pair_of(Names(one.variant, other.variant, one.subject), one, other, floors)
        for one, other in both
    ]
    return pooled(pairs, "higher" if better == "higher" else "lower")


def _paid(
    name: str, best: Series, other: Series, places: Iterable[tuple], figures: Sequence[Figure],
    data: PageData,
) -> tuple[str, Pool | None, tuple[float, ...]]:  # fmt: skip
    """Return the quantity that an answer is paid with, the pool over the next, and the rates."""
    cost = _cost_of(name, figures)
    if not cost or not other:
        return cost, None, ()
    better = quantity(cost).better
    there = _by_setting(cost, figures, data, better)
    own = [there[place] for place in places if place in there]
    pool = _pool(best, other, own, better, data.results.floors)
    shares = {p.rate_fraction for pair in pool.ratios for p in pair.points} - {None}
    return cost, pool if pool.spread else None, tuple(sorted(shares))


def _cost_of(name: str, figures: Sequence[Figure]) -> str:
    """Return the mean latency that figures have beside a rate, or the rate beside a latency."""
    if quantity(name).unit == "ms":
        return next(filter(None, map(rate_of, figures)), "")
    for figure in figures:
        for each in (*figure.quantities, *figure.extended_quantities):
            if quantity(each).unit == "ms" and each.endswith("_mean"):
                return each
    return ""


def _ours(
    question: Question, figures: Sequence[Figure], best: Series,
    places: Sequence[Mapping[Series, Point]], better: str, floors: Floors,
) -> tuple[str, Pool | None]:  # fmt: skip
    """Return the series of no figure of the paper that is furthest ahead, and its pool."""
    if question.lines:
        return "", None
    of_paper = {line for figure in figures for line in figure.lines}
    others = {line for there in places for line in there} - of_paper
    ahead = {}
    for line in sorted(others):
        if comparable(figures[0].family, line):
            pool = _pool(line, best, places, better, floors)
            if pool.direction == HOLDS and pool.spread:
                ahead[line] = pool
    ours = max(ahead, key=lambda line: gain(ahead[line].spread.value, better), default="")
    return ours, ahead.get(ours)
