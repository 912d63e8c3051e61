"""The rates of a paper's designs at each setting: for the matrix, and for a box a design.

A setting is a figure with one value of each swept setting. Only designs that do the same work are
compared: series of one family that a figure declares as rivals. The best of a setting is the best
of all that were measured there, whatever a reader has selected.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import cached_property
from math import exp, log
from typing import NamedTuple

from experiments.declare import Figure, Series, Sweep
from experiments.judging.points import Point
from experiments.records.quantities import quantity
from figures.load import comparable, points_of
from figures.page_data import PageData
from figures.style import look_of
from figures.table import RATE_UNITS
from figures.view import View

# The state of a point whose rate nobody could live with: it is shown, and in no ratio.
FELL_BEHIND = "unsustained"


class Setting(NamedTuple):
    """One setting with the points of the designs that were measured at it.

    Attributes
    ----------
    figure : Figure
        The figure that shows it.
    words : tuple of str
        The subject of the figure and each swept setting in words: "K-OS", "4 inputs".
    points : mapping of Series to Point
    """

    figure: Figure
    words: tuple[str, ...]
    points: Mapping[Series, Point]

    @property
    def title(self) -> str:
        """The words as one text."""
        return ", ".join(self.words)

    def share(self, design: Series) -> float | None:
        """Return the rate of a design over the best one, at most 1; None where it has no ratio."""
        point = self.points.get(design)
        if point is None or FELL_BEHIND in point.states:
            return None
        rates = [p.spread.value for p in self.points.values() if FELL_BEHIND not in p.states]
        return point.spread.value / max(rates)


class Ranking(NamedTuple):
    """A design over all settings of a table.

    Attributes
    ----------
    design : Series
    title : str
    shares : tuple of float
        The rate over the best, of each setting at which it was measured, sorted.
    missing : tuple of str
        The settings at which others were measured and it was not, or fell behind.
    """

    design: Series
    title: str
    shares: tuple[float, ...]
    missing: tuple[str, ...]

    @property
    def mean(self) -> float:
        """The geometric mean of the shares."""
        return exp(sum(map(log, self.shares)) / len(self.shares))


class SettingsTable:
    """The settings of one family and quantity in a paper.

    Attributes
    ----------
    family, quantity : str
    settings : list of Setting
        In the order of the figures.
    """

    def __init__(self, family: str, quantity_name: str, settings: list[Setting]) -> None:
        self.family = family
        self.quantity = quantity_name
        self.settings = settings

    @cached_property
    def titles(self) -> dict[Series, str]:
        """The title of each design, those of the papers first."""
        designs = dict.fromkeys(each for setting in self.settings for each in setting.points)
        looks = {design: look_of(self.family, design) for design in designs}
        ordered = sorted(designs, key=lambda design: looks[design].ours)
        return {design: looks[design].title for design in ordered}

    def ranking(self) -> list[Ranking]:
        """Return the designs with a ratio anywhere, the best geometric mean first."""
        found = []
        for design, title in self.titles.items():
            shares = {setting.title: setting.share(design) for setting in self.settings}
            known = sorted(each for each in shares.values() if each is not None)
            missing = tuple(name for name, share in shares.items() if share is None)
            if known:
                found.append(Ranking(design, title, tuple(known), missing))
        return sorted(found, key=lambda each: -each.mean)


def tables_of(data: PageData) -> list[SettingsTable]:
    """Return the tables of a paper's drawn figures: one for each family and rate with rivals."""
    found: dict[tuple[str, str], dict[tuple[str, ...], Setting]] = {}
    for figure in data.drawn:
        name = rate_of(figure)
        if name is not None and isinstance(figure.x, Sweep):
            own = found.setdefault((figure.family, name), {})
            for setting in _settings(data, figure, name):
                # A setting that two figures show counts once.
                own.setdefault(setting.words, setting)
    return [SettingsTable(*key, list(own.values())) for key, own in found.items() if own]


def rate_of(figure: Figure) -> str | None:
    """Return the first quantity of a figure that is a measured rate; None without one."""
    for name in figure.quantities:
        one = quantity(name)
        if one.unit in RATE_UNITS and one.timed and one.better == "higher":
            return name
    return None


def words_of(figure: Figure, point: Point) -> tuple[str, ...]:
    """Return the subject of a figure, and each swept setting of a point, in words."""
    swept = [
        figure.setting_text(each.setting, point.settings[each.setting]) for each in figure.free
    ]
    return tuple(dict.fromkeys([figure.subject, *swept]))


def _settings(data: PageData, figure: Figure, name: str) -> Iterator[Setting]:
    """Yield the settings of a figure at which two designs or more were measured."""
    found: dict[tuple[str, ...], dict[Series, Point]] = {}
    places: dict[tuple[str, ...], tuple] = {}
    for point in points_of(data.results, View(figure, extended=True), name):
        if comparable(figure.family, point.variant):
            words = words_of(figure, point)
            found.setdefault(words, {})[point.variant] = point
            places[words] = tuple(
                sweep.sort_key(point.settings[sweep.setting]) for sweep in figure.free
            )
    for words in sorted(found, key=lambda each: places[each]):
        if len(found[words]) > 1:
            yield Setting(figure, words, found[words])
