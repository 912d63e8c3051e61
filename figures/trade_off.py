"""Throughput against latency at a rate common to all designs, with the Pareto front.

A design is on the front when no other one has both a higher throughput and a lower latency. The
99th percentile is given where ten latencies or more lie beyond it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from html import escape
from math import log
from typing import NamedTuple

from experiments.declare import Figure, Series
from experiments.judging.badges import in_unit
from experiments.judging.points import Point
from figures import page
from figures.load import comparable, points_of
from figures.page_data import PageData
from figures.settings_table import words_of
from figures.style import look_of
from figures.table import PERCENTILES, THROUGHPUT
from figures.view import View

MEAN, P99 = "common_latency_ms_mean", "common_latency_ms_p99"
# Width and height of a picture, and the space around the points, in pixels.
WIDE, HIGH, MARGIN = 300, 190, 26
LEGEND = (
    "Each picture is one setting: throughput to the right, mean latency upwards, both logarithmic,"
    " the latency at a rate that is the same for all designs. The line joins the Pareto front:"
    " designs that no other one surpasses in both. Numbers refer to the table below a picture."
)


class Choice(NamedTuple):
    """A design at a setting.

    Attributes
    ----------
    design : Series
    title : str
    throughput : float
        Tuples a second.
    mean : float
        Mean latency at the common rate, ms.
    p99 : float or None
        The 99th percentile of the same, ms; None with too few latencies.
    """

    design: Series
    title: str
    throughput: float
    mean: float
    p99: float | None


def section(data: PageData) -> str:
    """Return the section with a picture a setting; empty where no common rate was measured."""
    cards = [card for figure in data.drawn for card in _cards(data, figure)]
    if not cards:
        return ""
    content = f'<p class="soft">{escape(LEGEND)}</p><div class="gallery">{"".join(cards)}</div>'
    folded = page.details(f"{len(cards)} settings", content)
    title = "Throughput against latency at a common rate"
    return page.section(f"trade-off-{data.paper.id}", title, folded)


def front_of(choices: Sequence[Choice]) -> list[Choice]:
    """Return the designs on the Pareto front, the highest throughput first."""
    found: list[Choice] = []
    for each in sorted(choices, key=lambda choice: (-choice.throughput, choice.mean)):
        if not found or each.mean < found[-1].mean:
            found.append(each)
    return found


def _cards(data: PageData, figure: Figure) -> list[str]:
    cards = []
    for words, choices in choices_of(data, figure).items():
        if len(choices) > 1:
            cards.append(_card(data, figure, words, choices))
    return cards


def choices_of(data: PageData, figure: Figure) -> dict[tuple[str, ...], list[Choice]]:
    """Return the designs with a throughput and a latency at the common rate, by setting."""
    view = View(figure, extended=True)
    by_name: dict[str, dict[tuple, Point]] = {}
    for name in (THROUGHPUT, MEAN, P99):
        for point in points_of(data.results, view, name):
            if comparable(figure.family, point.variant):
                key = (point.variant, words_of(figure, point))
                by_name.setdefault(name, {})[key] = point
    found: dict[tuple[str, ...], list[Choice]] = {}
    for (design, words), point in by_name.get(MEAN, {}).items():
        rate = by_name.get(THROUGHPUT, {}).get((design, words))
        if rate is not None and "saturated" not in point.states:
            tail = by_name.get(P99, {}).get((design, words))
            enough = tail is not None and (tail.samples or 0) >= PERCENTILES["p99"]
            found.setdefault(words, []).append(
                Choice(
                    design,
                    look_of(figure.family, design).title,
                    rate.spread.value,
                    point.spread.value,
                    tail.spread.value if enough else None,
                )
            )
    return found


def _card(data: PageData, figure: Figure, words: Sequence[str], choices: Sequence[Choice]) -> str:
    ordered = sorted(choices, key=lambda choice: -choice.throughput)
    front = front_of(choices)
    rows = [
        (number, each.title, in_unit(each.throughput, "t/s"), in_unit(each.mean, "ms"),
         "–" if each.p99 is None else in_unit(each.p99, "ms"), "front" if each in front else "")
        for number, each in enumerate(ordered, start=1)
    ]  # fmt: skip
    head = ("", "design", "throughput", "mean", "p99", "Pareto")
    title = ", ".join(words)
    link = escape(f"#{data.anchor(figure.id)}")
    return (
        f'<div data-setting="{escape("|".join(words))}"><h3><a href="{link}">{escape(title)}</a>'
        f"</h3>{_picture(ordered, front, title)}{page.table(head, rows)}</div>"
    )


def _picture(ordered: Sequence[Choice], front: Sequence[Choice], title: str) -> str:
    """Return the scatter plot of one setting; the points bear the numbers of the table."""
    across = _scale([each.throughput for each in ordered], MARGIN, WIDE - MARGIN)
    along = _scale([each.mean for each in ordered], HIGH - MARGIN, MARGIN)
    places = {each: (across(each.throughput), along(each.mean)) for each in ordered}
    path = " ".join(f"{x:.1f},{y:.1f}" for x, y in (places[each] for each in front))
    points = "".join(
        f'<circle class="point" cx="{x:.1f}" cy="{y:.1f}" r="8"/><text class="on" x="{x:.1f}"'
        f' y="{y + 4:.1f}" text-anchor="middle">{number}</text>'
        for number, (x, y) in enumerate(places.values(), start=1)
    )
    return (
        f'<svg class="scatter" viewBox="0 0 {WIDE} {HIGH}" role="img"'
        f' aria-label="{escape(title)}: throughput and mean latency, as in the table below">'
        f'<polyline class="front" points="{path}"/>{points}'
        f'<text x="{WIDE - 4}" y="{HIGH - 4}" text-anchor="end">throughput →</text>'
        '<text x="4" y="12">↑ mean latency</text></svg>'
    )


def _scale(values: Sequence[float], low: float, high: float) -> Callable[[float], float]:
    """Return the function that places a value between `low` and `high`, logarithmically."""
    least, most = min(values), max(values)
    span = log(most / least) or 1.0

    def place(value: float) -> float:
        return low + (high - low) * log(value / least) / span

    return place
