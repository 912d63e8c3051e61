"""Looking up the points that comparators read, and recording the missing ones."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import groupby, product
from typing import Any, NamedTuple, TypeVar

from experiments.declare import Figure, Sweep, order_of
from experiments.judging.claim_types import (
    ALL,
    MANY,
    Claim,
    CurveReads,
    From,
    Reads,
    RivalReads,
)
from experiments.judging.floors import Floors
from experiments.judging.points import Point, at_maximum
from operators.contract import UsageError

Kind = TypeVar("Kind", bound=Reads)
Index = Mapping[tuple[str, str, str], list[Point]]


class Reading(NamedTuple):
    """A point that a claim reads (None where it was not measured) and the key of the lookup."""

    figure: str
    variant: str
    at: Mapping[str, Any]
    point: Point | None


@dataclass
class Lookup:
    """The points of a paper, indexed by figure, variant and quantity.

    Attributes
    ----------
    by_rate : mapping
        Points by figure, variant and quantity; for a rate axis, one at each rate.
    at_most : mapping
        The same with one a setting: of several rates the highest below the maximum.
    names : mapping of str to str
        Variant id to the paper's name.
    floors : Floors
        The noise between equal runs.
    figures : mapping of str to Figure
        The figures of the paper, by id.
    missing : list of str
        The points that were looked up and not found.
    oversubscribed : mapping
        Oversubscribed points, which are not read; empty where a claim reads those too.
    lacking_cores : list of str
        Of the points looked up, the numbers of threads that would need a core each.
    """

    by_rate: Index
    at_most: Index
    names: Mapping[str, str]
    floors: Floors
    figures: Mapping[str, Figure]
    missing: list[str] = field(default_factory=list)
    oversubscribed: Index = field(default_factory=dict)
    lacking_cores: list[str] = field(default_factory=list)

    @classmethod
    def of_points(
        cls,
        points: Iterable[Point],
        names: Mapping[str, str],
        figures: Iterable[Figure],
        floors: Floors | None = None,
    ) -> Lookup:
        """Make the lookup of the points of these figures."""
        points = list(points)
        by_id = {figure.id: figure for figure in figures}
        indices = _indexed(points), _indexed(at_maximum(points))
        return cls(*indices, names, floors or Floors({}), by_id)

    def fresh(self) -> Lookup:
        """Return a copy with nothing missing yet, for the next claim."""
        return replace(self, missing=[], lacking_cores=[])

    def roomy(self) -> Lookup:
        """Return a copy without oversubscribed points (more threads than cores)."""
        by_rate, at_most = (
            {
                place: [point for point in own if not point.oversubscribed]
                for place, own in index.items()
            }
            for index in (self.by_rate, self.at_most)
        )
        oversubscribed = {
            place: [point for point in own if point.oversubscribed]
            for place, own in self.at_most.items()
        }
        return replace(self, by_rate=by_rate, at_most=at_most, oversubscribed=oversubscribed)

    def find(self, figure: str, variant: str, at: Mapping[str, Any], quantity: str) -> Point | None:
        """Return the one point of a setting, or None after noting that it is missing."""
        found = self.points_at(figure, variant, at, quantity)
        if len(found) != 1:
            self._misses(figure, variant, at, quantity)
            return None
        return found[0]

    def _misses(self, figure: str, variant: str, at: Mapping[str, Any], quantity: str) -> None:
        """Note a missing point: as one of too many threads, or as not measured."""
        if not self._lacks_cores(figure, variant, at, quantity):
            self.note_missing(figure, f"{self.name(variant)} at {self.settings_text(figure, at)}")

    def points_at(
        self, figure: str, variant: str, at: Mapping[str, Any], quantity: str
    ) -> list[Point]:
        """Return the points that have some settings; a missing one is not noted."""
        own = self.at_most.get((figure, variant, quantity), ())
        return [point for point in own if _is_at(point, at)]

    def note_missing(self, figure: str, what: str) -> None:
        """Note that `what` is missing in `figure`; the whole figure, where it has no point."""
        there = any(place[0] == figure for place in self.by_rate)
        told = f"{what} in {figure_name(figure)}" if there else figure_name(figure)
        if told not in self.missing:
            self.missing.append(told)

    def _lacks_cores(self, figure: str, variant: str, at: Mapping[str, Any], quantity: str) -> bool:
        """Note the oversubscribed points, which are not read; say whether there are any."""
        found = [
            point
            for point in self.oversubscribed.get((figure, variant, quantity), ())
            if _is_at(point, at)
        ]
        for threads in sorted({point.threads for point in found}):
            told = f"a core for each of {threads} threads in {figure_name(figure)}"
            if told not in self.lacking_cores:
                self.lacking_cores.append(told)
        return bool(found)

    def among(self, figure: str, variants: Iterable[str]) -> list[str]:
        """Return those of `variants` that the paper shows in `figure`."""
        return [each for each in variants if each in self.figures[figure].lines]

    def lines(
        self,
        claim: Claim,
        figures: Sequence[str] | None = None,
        variants: Sequence[str] | None = None,
    ) -> Iterator[tuple[str, str]]:
        """Yield each figure of a claim with each variant of the claim that the paper shows there.

        `figures` and `variants` are those of `claim` unless given.
        """
        for figure in figures or claim.figures:
            for variant in self.among(figure, variants or claim.reads.variants):
                yield figure, variant

    def rivals(self, claim: Claim) -> Iterator[tuple[str, str, str]]:
        """Yield each figure of a claim with each variant of it and each rival shown there."""
        rivals = reads_as(RivalReads, claim).rivals
        for figure, variant in self.lines(claim):
            for rival in self.among(figure, rivals):
                yield figure, variant, rival

    def each(
        self,
        claim: Claim,
        *,
        figures: Sequence[str] | None = None,
        variants: Sequence[str] | None = None,
        quantity: str | None = None,
    ) -> Iterator[Reading]:
        """Yield each reading of a claim, including those without a point.

        Parameters
        ----------
        claim : Claim
        figures, variants : sequence of str, optional
            Those of `claim` unless given.
        quantity : str, optional
            Read instead of the claim's quantity.
        """
        for figure, variant in self.lines(claim, figures, variants):
            for at in self.places(claim, figure, variant):
                point = self.find(figure, variant, at, quantity or claim.quantity)
                yield Reading(figure, variant, at, point)

    def points(self, claim: Claim) -> Iterator[tuple[Reading, Point]]:
        """Yield each reading of a claim that has a point, and the point."""
        for reading in self.each(claim):
            if reading.point:
                yield reading, reading.point

    def against(
        self,
        claim: Claim,
        rivals: Iterable[str],
        *,
        figures: Iterable[tuple[str, str]] | None = None,
        variants: Sequence[str] | None = None,
    ) -> Iterator[tuple[Reading, Point, Point]]:
        """Yield each reading of a claim, the point, and that of each rival at equal settings.

        Readings where either was not measured are skipped.

        Parameters
        ----------
        claim : Claim
        rivals : iterable of str
        figures : iterable of (str, str), optional
            The figure of the variants and that of the rivals; both are each of the claim's figures
            unless given.
        variants : sequence of str, optional
            Those of `claim` unless given.
        """
        for upper, lower in figures or zip(claim.figures, claim.figures, strict=True):
            for reading in self.each(claim, figures=[upper], variants=variants):
                for rival in self.among(lower, rivals):
                    other = self.find(lower, rival, reading.at, claim.quantity)
                    if reading.point and other:
                        yield reading, reading.point, other

    def places(self, claim: Claim, figure: str, variant: str) -> list[dict[str, Any]]:
        """Return the settings that `claim` is read at: name to value.

        A claim names a value, a list of them, ``ALL``, ``MANY``, or a minimum to read ``From``.
        """
        wanted = claim.reads.at
        points = self.at_most.get((figure, variant, claim.quantity), ())
        choices = []
        for name, value in wanted.items():
            if isinstance(value, tuple):
                choices.append(value)
                continue
            if isinstance(value, From):
                choices.append([_roomiest(points, name, value.from_)])
                continue
            if value not in (ALL, MANY):
                choices.append([value])
                continue
            found = {p.settings[name] for p in points if name in p.settings}
            if not found and not self._lacks_cores(figure, variant, {}, claim.quantity):
                self.note_missing(figure, self.name(variant))
            if value == MANY and any(isinstance(each, str) for each in found):
                raise UsageError(
                    f"claim {claim.id!r} reads at {MANY} of {name}, whose values are words:"
                    f" name one of them, or {ALL}"
                )
            found = [each for each in found if value == ALL or each > 1]
            choices.append(sorted(found, key=self._order(figure, name)))
        return [dict(zip(wanted, values, strict=True)) for values in product(*choices)]

    def over(self, claim: Claim, figure: str, variant: str) -> list[list[Point]]:
        """Return the points over the claim's x axis, a list a curve, each in the order of x.

        There is a curve for each combination of the other swept settings. A value that the claim
        names and that no point has is noted as missing.
        """
        axis = axis_of(claim, self.figures[figure])
        places = self.places(claim, figure, variant)
        there = self.at_most.get((figure, variant, claim.quantity), ())
        points = [point for point in there if any(_is_at(point, at) for at in places)]
        # At all values of a setting, not every combination with another setting's values exists.
        named = [name for name, value in claim.reads.at.items() if value not in (ALL, MANY)]
        for at in ({name: place[name] for name in named} for place in places if named):
            if not any(_is_at(point, at) for point in points):
                self._misses(figure, variant, at, claim.quantity)
        free, along = self.figures[figure].free, self._order(figure, axis)

        def curve_of(point: Point) -> list:
            return [s.sort_key(point.settings[s.setting]) for s in free if s.setting != axis]

        points.sort(key=lambda point: (curve_of(point), along(setting_read(claim, point, axis))))
        return [list(members) for _, members in groupby(points, key=curve_of)]

    def _order(self, figure: str, setting: str) -> Callable[[Any], Any]:
        """Return the sort key for values of a setting: the order of the figure's sweep."""
        swept = {sweep.setting: sweep.sort_key for sweep in self.figures[figure].free}
        return swept.get(setting, lambda value: value)

    def rates(self, figure: str, variant: str, at: Mapping[str, Any], quantity: str) -> list[Point]:
        """Return the points of a rate axis, slowest first."""
        found = self.by_rate.get((figure, variant, quantity), ())
        own = [p for p in found if _is_at(p, at) and p.rate_fraction is not None]
        return sorted(own, key=lambda point: point.rate_fraction)

    def name(self, variant: str) -> str:
        """Return the paper's name of `variant`."""
        return self.names.get(variant, variant)

    def settings_text(self, figure: str, at: Mapping[str, Any]) -> str:
        """Return settings in words: "20 inputs"."""
        return ", ".join(self.figures[figure].setting_text(name, at[name]) for name in at)

    def in_several_groups(self, points: Iterable[Point]) -> bool:
        """Say whether points were measured in different processes.

        A process measures a group: the settings of a family on one query, unless a figure names
        another. Processes and rounds of two groups are matched by number only.
        """
        found = set()
        for point in points:
            figure = self.figures[point.figure]
            found.add(figure.measured_with or (figure.family, point.settings.get("query")))
        return len(found) > 1


def number_text(value: Any) -> str:
    """Return a value of a setting as a bare number: "4,096", "0.0625", "1"."""
    if isinstance(value, float):
        value = int(value) if value.is_integer() else f"{value:g}"
    return f"{value:,}" if isinstance(value, int) else str(value)


def _indexed(points: Iterable[Point]) -> Index:
    found: dict[tuple[str, str, str], list[Point]] = defaultdict(list)
    for point in points:
        found[point.figure, point.variant, point.quantity].append(point)
    return dict(found)


def _is_at(point: Point, at: Mapping[str, Any]) -> bool:
    return all(point.settings.get(name) == value for name, value in at.items())


def _roomiest(points: Iterable[Point], name: str, least: int) -> int:
    """Return the most threads, from `least` on, that had a core each; `least` where none had."""
    own = (point.settings[name] for point in points if not point.oversubscribed)
    return max((value for value in own if value >= least), default=least)


def reads_as(kind: type[Kind], claim: Claim) -> Kind:
    """Return the reads of a claim as the record type that the comparator needs.

    Raises
    ------
    UsageError
        When the comparator was declared with another type of claim.
    """
    if not isinstance(claim.reads, kind):
        raise UsageError(
            f"claim {claim.id!r}: comparator {claim.comparator!r} asks for {kind.__name__}, and its"
            f" type of claim, {type(claim).__name__}, has {type(claim.reads).__name__}"
        )
    return claim.reads


def axis_of(claim: Claim, figure: Figure) -> str:
    """Return the setting on the x axis of a claim's curves.

    That is the one that the claim names, else the figure's x axis, else the first in ``reads.at``.
    """
    over = reads_as(CurveReads, claim).over
    if over is not None:
        return over
    if isinstance(figure.x, Sweep):
        return figure.x.setting
    if not claim.reads.at:
        raise UsageError(
            f"claim {claim.id!r}: x of figure {figure.id} is no setting, so that reads.over or"
            " reads.at has to name one"
        )
    return next(iter(claim.reads.at))


def setting_read(claim: Claim, point: Point, name: str) -> Any:
    """Return a setting of a point that a claim reads.

    Raises
    ------
    UsageError
        When the point does not have it, such as a line of another family in one of the figures.
    """
    if name not in point.settings:
        raise UsageError(
            f"claim {claim.id!r} reads {name}, which {point.variant} of figure {point.figure} does"
            " not have"
        )
    return point.settings[name]


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
