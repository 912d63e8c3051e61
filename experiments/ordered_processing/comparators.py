"""Comparators of this paper alone: gains of queries, costs, shares of worker time, whole sends.

See ``experiments.judging.comparators`` for the definition of a comparator.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import product

from experiments.declare import Figure
from experiments.judging.claim_types import Comparator, RivalComparison, RivalReads, Value
from experiments.judging.formulas import against_formula
from experiments.judging.lookup import Lookup
from experiments.judging.pairs import Names, Pair, gain_pair, left_out, pair_of
from experiments.judging.points import Point
from operators.contract import UsageError

QUERY = "query"
NO_ROOM = "no_room_a_tuple"
# Outputs sent in more than two parts, on average, are not one long send.
MOST_WITHOUT_ROOM = 1.0
SENT_IN_PARTS = (
    "since outputs found no room downstream more than once a tuple: they went on in parts, between"
    " which the sender left, so that nobody waited for a long send"
)


@dataclass(frozen=True, kw_only=True)
class QueryReads(RivalReads):
    """Variants and rivals, on queries with more partitioned operators and on those with fewer."""

    more: tuple[str, ...]
    fewer: tuple[str, ...]

    def __post_init__(self) -> None:
        """Refuse a claim that reads no query."""
        super().__post_init__()
        if QUERY not in self.at:
            raise UsageError(f"reads.at lacks {QUERY}")


@dataclass(frozen=True, kw_only=True)
class MoreOperators(RivalComparison):
    """A gain over a rival on some queries, compared with that on others."""

    reads: QueryReads

    def values(self, figure: Figure) -> Iterator[tuple[str, str, Value]]:
        """Yield each value read in a figure: the field, the setting, and the value."""
        yield from super().values(figure)
        for field in ("more", "fewer"):
            for query in getattr(self.reads, field):
                yield f"reads.{field}", QUERY, query


@dataclass(frozen=True, kw_only=True)
class ShareReads(RivalReads):
    """Variants and rivals, and the quantities in which they are compared."""

    shares: tuple[str, ...]


@dataclass(frozen=True, kw_only=True)
class Shares(RivalComparison):
    """The shares of worker time that operators have."""

    reads: ShareReads

    @property
    def quantities(self) -> tuple[str, ...]:
        """The names of all quantities read."""
        return (self.quantity, *self.reads.shares)


@dataclass(frozen=True, kw_only=True)
class WholeSends(RivalComparison):
    """Variants against rivals, where outputs find room downstream."""

    @property
    def quantities(self) -> tuple[str, ...]:
        """The names of all quantities read."""
        return (self.quantity, NO_ROOM)


def more_operators(claim: MoreOperators, lookup: Lookup) -> list[Pair]:
    """Pair the gain over a rival on queries with more partitioned operators with that on others.

    ``more`` and ``fewer`` name the queries.
    """
    reads, found = claim.reads, []
    for figure, variant, rival in lookup.rivals(claim):
        gains = _gains(claim, lookup, figure, variant, rival)
        for (query, at), (other, place) in product(gains, gains):
            if query in reads.more and other in reads.fewer and at == place:
                words = f"{lookup.name(variant)} over {lookup.name(rival)}"
                where = lookup.settings_text(figure, dict(at))
                names = Names(f"{words}, {query}", other, where)
                of = gains[query, at], gains[other, place]
                found.append(gain_pair(names, *of, lookup.floors))
    return sorted(found, key=lambda pair: pair.names)


def _gains(
    claim: MoreOperators, lookup: Lookup, figure: str, variant: str, rival: str
) -> dict[tuple[str, tuple], tuple[Point, Point]]:
    """Return the two points of each gain, by query and by the other settings."""
    found = {}
    here = [(figure, figure)]
    for reading, *points in lookup.against(claim, [rival], figures=here, variants=[variant]):
        beside = tuple(each for each in reading.at.items() if each[0] != QUERY)
        found[reading.at[QUERY], beside] = tuple(points)
    return found


def shares(claim: Shares, lookup: Lookup) -> list[Pair]:
    """Pair the share of worker time of the claim's operators between a variant and its rivals."""
    reads, found = claim.reads, []
    for figure, variant, rival in lookup.rivals(claim):
        for at in lookup.places(claim, figure, variant):
            for name in reads.shares:
                # Queries differ in the number of operators: an absent operator is not missing.
                if not lookup.points_at(figure, variant, at, name):
                    continue
                point = lookup.find(figure, variant, at, name)
                other = lookup.find(figure, rival, at, name)
                if point and other:
                    place = (
                        f"{lookup.settings_text(figure, at)}, operator {name.rpartition('_')[2]}"
                    )
                    names = Names(lookup.name(variant), lookup.name(rival), place)
                    found.append(pair_of(names, point, other, lookup.floors))
    return found


def whole_sends(claim: WholeSends, lookup: Lookup) -> list[Pair]:
    """Pair each variant with each rival, where both send the outputs of a tuple in one go.

    A sender that finds no room downstream leaves, gives up the flag or the lock, and others get in
    between: figure 3's wait for a long send cannot be observed there. Only figures that note the
    number of such sends are checked: in figure 12 nothing is downstream.
    """
    found = []
    for reading, *points in lookup.against(claim, claim.reads.rivals):
        where = f"{points[0].subject}, {lookup.settings_text(reading.figure, reading.at)}"
        names = Names(*(lookup.name(point.variant) for point in points), where)
        counts = []
        if NO_ROOM in lookup.figures[reading.figure].noted:
            counts = [lookup.find(reading.figure, p.variant, reading.at, NO_ROOM) for p in points]
        if None in counts:
            continue
        if any(count.value > MOST_WITHOUT_ROOM for count in counts):
            found.append(left_out(names, points, SENT_IN_PARTS))
        else:
            found.append(pair_of(names, *points, lookup.floors))
    return found


COMPARATORS = {
    # A processing latency, against calibrated matrix products of `work_us` microseconds per tuple.
    "near-cost": against_formula("its cost", "work_us", lambda work_us: work_us / 1_000),
    "more-operators": Comparator(MoreOperators, more_operators),
    "shares": Comparator(Shares, shares),
    "whole-sends": Comparator(WholeSends, whole_sends),
}
