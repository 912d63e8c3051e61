"""Which design for which job: the questions of all papers, answered from the rows of one set.

A paper declares questions in ``figures/<paper>/questions.py``; only their words are written down
in advance. The answer, the factor, and in how many settings it is so are computed, with the judge's
own comparison of two points, so that another machine may give the opposite answer.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from html import escape
from typing import Any

from experiments.declare import Figure, Series
from experiments.judging.badges import with_ends
from experiments.judging.floors import Floors
from experiments.judging.pairs import Names, pair_of
from experiments.judging.points import Point, at_maximum
from experiments.judging.pool import HOLDS, Pool, pooled
from experiments.records.quantities import quantity
from figures import page
from figures.page_data import PageData, questions_of
from figures.statements import joined_words
from figures.style import look_of

PLACE, TITLE = "which-design", "Which design for what, on this machine"
INTRODUCTION = (
    "Answers are of this set's rows: of the designs that the figures named at the end of the row"
    " compare, the one with the best value in most settings. A paper's page has designs of ours"
    " beside them, some of which are faster. Two designs are alike where they cannot be told apart."
    " The factor is the answer over the next best one, pooled over the settings, in brackets its"
    " interval or range."
)
HEAD = ("the job", "pick", "factor", "in", "how far to believe it", "figures")
# Values of the axis that a question is about: the lowest above 1, or the highest.
FEW, MANY = "few", "many"
# Fewer processes give no interval.
ENOUGH = 6


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
    """

    id: str
    words: str
    figures: tuple[str, ...]
    quantity: str = "throughput_tps"
    setting: str = ""
    at: str | int = MANY
    lines: tuple[str, ...] = ()
    caveat: str = ""


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
    pool : Pool or None
        Of the best over the next one; None without another one.
    leads, of : int
        In how many settings the best one leads or is alike, and of how many.
    places : list of list of Point
        The points of each setting, the best first.
    """

    at: Any = None
    best: str = ""
    alike: tuple[str, ...] = ()
    over_all: tuple[str, ...] = ()
    pool: Pool | None = None
    leads: int = 0
    of: int = 0
    places: list[list[Point]] = field(default_factory=list)


def section(pages: Sequence[PageData]) -> str:
    """Return the section with the questions of all papers of a set; empty where none has any."""
    rows = [row for data in pages for row in _rows(data)]
    if not rows:
        return ""
    head = "".join(f'<th scope="col">{escape(name)}</th>' for name in HEAD)
    table = (
        f'<div class="scroll" tabindex="0"><table class="answers"><thead><tr>{head}</tr></thead>'
        f"<tbody>{''.join(rows)}</tbody></table></div>"
    )
    return page.section(PLACE, TITLE, f"<p>{escape(INTRODUCTION)}</p>{table}")


def answer_of(question: Question, data: PageData) -> Answer:
    """Return the answer to a question from the points of a set.

    A throughput that a design did not sustain and a latency at saturation are left out.
    """
    figures = [figure for figure in data.paper.figures if figure.id in question.figures]
    points = [p for figure in figures for p in _points(question, figure, data)]
    better = quantity(question.quantity).better
    places = list(_places(points, figures, better))
    at = _value_of_axis(question, [there[0] for there in places])
    if question.setting:
        places = [each for each in places if each[0].settings.get(question.setting) == at]
    wins = Counter(
        each for there in places for each in _winners(there, better, data.results.floors)
    )
    if not wins:
        return Answer(at)
    ranks = {line: _rank(line, places) for line in wins}
    best = max(wins, key=lambda line: (wins[line], -ranks[line]))
    pools = {}
    for line in sorted({p.variant for there in places for p in there} - {best}):
        pools[line] = _pool(best, line, places, better, data.results.floors)
    known = {line: pool for line, pool in pools.items() if pool.spread is not None}
    # "Not higher" may mean practically equal: only the opposite statement tells which is ahead.
    level = [line for line, pool in known.items() if pool.direction != HOLDS]
    opposite = "lower" if better == "higher" else "higher"
    over_all = [line for line in level if pooled(known[line].pairs, opposite).direction == HOLDS]
    alike = [line for line in level if line not in over_all]
    nearest = min(known.values(), key=lambda pool: _gain(pool, better), default=None)
    return Answer(at, best, tuple(alike), tuple(over_all), nearest, wins[best], len(places), places)


def _points(question: Question, figure: Figure, data: PageData) -> Iterable[Point]:
    lines = question.lines or figure.lines
    points = [
        point
        for point in data.results.points(figure)
        if point.quantity == question.quantity and point.variant in lines
    ]
    points = at_maximum(points) if quantity(question.quantity).unit == "ms" else points
    return [p for p in points if not {"unsustained", "saturated"} & set(p.states)]


def _value_of_axis(question: Question, points: Sequence[Point]) -> Any:
    """Return the value of the axis that a question is about; None where it was not measured."""
    there = [p.settings.get(question.setting) for p in points]
    known = sorted({value for value in there if isinstance(value, int | float)})
    if not known:
        return None
    if question.at == MANY:
        return known[-1]
    if question.at == FEW:
        return next((value for value in known if value > 1), known[0])
    return question.at if question.at in known else None


def _places(
    points: Iterable[Point], figures: Sequence[Figure], better: str
) -> Iterable[list[Point]]:
    """Yield the points of each setting with two designs or more, the best first."""
    swept = {figure.id: [each.setting for each in figure.free] for figure in figures}
    found: dict[tuple, dict[Series, Point]] = {}
    for point in points:
        where = tuple(str(point.settings.get(name)) for name in swept[point.figure])
        found.setdefault((point.figure, *where), {})[point.variant] = point
    for there in found.values():
        if len(there) > 1:
            yield sorted(there.values(), key=lambda p: p.value, reverse=better == "higher")


def _winners(there: Sequence[Point], better: str, floors: Floors) -> list[Series]:
    """Return the series with the best value at a setting, and those alike to it."""
    best, *others = there
    alike = [p for p in others if _pool_of([(best, p)], better, floors).direction != HOLDS]
    return [best.variant, *(p.variant for p in alike)]


def _rank(line: Series, places: Sequence[Sequence[Point]]) -> float:
    """Return the mean rank of a series over the settings that have it."""
    ranks = [number for there in places for number, p in enumerate(there) if p.variant == line]
    return sum(ranks) / len(ranks)


def _pool(
    best: Series, other: Series, places: Sequence[Sequence[Point]], better: str, floors: Floors
) -> Pool:
    by_series = [{p.variant: p for p in there} for there in places]
    both = [(own[best], own[other]) for own in by_series if best in own and other in own]
    return _pool_of(both, better, floors)


def _pool_of(both: Sequence[tuple[Point, Point]], better: str, floors: Floors) -> Pool:
    pairs = [
        pair_of(Names(one.variant, other.variant, one.subject), one, other, floors)
        for one, other in both
    ]
    return pooled(pairs, "higher" if better == "higher" else "lower")


def _gain(pool: Pool, better: str) -> float:
    """Return by which factor the first side of a pool is better."""
    ratio = pool.spread.value if pool.spread else 1.0
    return ratio if better == "higher" else 1 / ratio


def _rows(data: PageData) -> Iterable[str]:
    for question in questions_of(data.paper.id):
        answer = answer_of(question, data)
        family = next(f.family for f in data.paper.figures if f.id in question.figures)
        at = f"{answer.at:,}" if isinstance(answer.at, int | float) else "…"
        cells = [
            escape(question.words.format(at=at)),
            _pick(answer, family),
            escape(_factor(question, answer)),
            f"{answer.leads} of {answer.of} settings" if answer.best else "",
            escape(_trust(question, answer)),
            _links(question, data),
        ]
        ident = f"{PLACE}-{data.paper.id}-{question.id}"
        yield (
            f'<tr id="{escape(ident)}" data-paper="{escape(data.paper.id)}">'
            f"{''.join(f'<td>{cell}</td>' for cell in cells)}</tr>"
        )


def _pick(answer: Answer, family: str) -> str:
    if not answer.best:
        return "not measured in this set"
    best = escape(look_of(family, answer.best).title)
    alike = [escape(look_of(family, line).title) for line in answer.alike]
    over_all = [escape(look_of(family, line).title) for line in answer.over_all]
    told = f"<b>{best}</b>"
    told += f", alike with {joined_words(alike)}" if alike else ""
    told += f"; over all settings together {joined_words(over_all)}" if over_all else ""
    return told


def _factor(question: Question, answer: Answer) -> str:
    if answer.pool is None or answer.pool.spread is None:
        return ""
    spread, better = answer.pool.spread, quantity(question.quantity).better
    words = quantity(question.quantity).words
    if better == "higher":
        return f"{words}: {' times'.join(with_ends(spread.value, spread.low, spread.high))}"
    low, high = (None if end is None else 1 / end for end in (spread.high, spread.low))
    return f"{words}: {' times lower'.join(with_ends(1 / spread.value, low, high))}"


def _trust(question: Question, answer: Answer) -> str:
    """Return the number of processes, the share of oversubscribed settings, and the caveat."""
    points = [point for there in answer.places for point in there]
    told = []
    if points:
        fewest = min(len({process for process, _ in p.values}) for p in points)
        told.append(
            f"{fewest} processes"
            if fewest >= ENOUGH
            else f"{fewest} of {ENOUGH} processes that an interval needs"
        )
        crowded = sum(any(p.threads > p.cores for p in there) for there in answer.places)
        if crowded:
            told.append(f"more threads than cores in {crowded} of {len(answer.places)}")
    if question.caveat:
        told.append(question.caveat)
    return "; ".join(told)


def _links(question: Question, data: PageData) -> str:
    drawn = {figure.id for figure in data.drawn}
    file = escape(f"{data.paper.id}.html")
    return " ".join(
        f'<a href="{file}#{escape(data.anchor(name))}">{escape(name)}</a>'
        if name in drawn
        else escape(name)
        for name in question.figures
    )
