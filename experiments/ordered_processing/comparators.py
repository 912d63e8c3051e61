"""Comparators of this paper alone: gains of queries, costs, and shares of worker time.

See ``experiments.judging.comparators`` for what a comparator is.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import product

from experiments.declare import Figure
from experiments.judging.claim_types import Comparator, RivalComparison, RivalReads, Value
from experiments.judging.formulas import against_formula
from experiments.judging.lookup import Lookup
from experiments.judging.pairs import Names, Pair, gain_pair, pair_of
from experiments.judging.points import Point
from operators.contract import UsageError

QUERY = "query"


@dataclass(frozen=True, kw_only=True)
class QueryReads(RivalReads):
    """Variants and rivals, on queries of more partitioned operators and on those of fewer."""

    more: tuple[str, ...]
    fewer: tuple[str, ...]

    def __post_init__(self) -> None:
        """Refuse what is read at no query."""
        super().__post_init__()
        if QUERY not in self.at:
            raise UsageError(f"reads.at lacks {QUERY}")


@dataclass(frozen=True, kw_only=True)
class MoreOperators(RivalComparison):
    """A gain over a rival on some queries against that on others."""

    reads: QueryReads

    def values(self, figure: Figure) -> Iterator[tuple[str, str, Value]]:
        """Yield each value that it reads in a figure: the field, the setting, and the value."""
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
        """The names of all quantities that it reads."""
        return (self.quantity, *self.reads.shares)


def more_operators(claim: MoreOperators, lookup: Lookup) -> list[Pair]:
    """Pair the gain over a rival on queries of more partitioned operators with that on the others.

    ``more`` and ``fewer`` name the queries.
    """
    reads, found = claim.reads, []
    for figure, variant, rival in lookup.rivals(claim):
        gains = _gains(claim, lookup, figure, variant, rival)
        for (query, at), (other, place) in product(gains, gains):
            if query in reads.more and other in reads.fewer and at == place:
                words = f"{lookup.name(variant)} over {lookup.name(rival)}"
                where = lookup.told(figure, dict(at))
                names = Names(f"{words}, {query}", other, where)
                of = gains[query, at], gains[other, place]
                found.append(gain_pair(names, *of, lookup.floors))
    return sorted(found, key=lambda pair: pair.names)


def _gains(
    claim: MoreOperators, lookup: Lookup, figure: str, variant: str, rival: str
) -> dict[tuple[str, tuple], tuple[Point, Point]]:
    """Return the two points of each gain, by query and by the settings beside it."""
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
                # A query has as many operators as it has: nothing is missing.
                if not lookup.points_at(figure, variant, at, name):
                    continue
                point = lookup.find(figure, variant, at, name)
                other = lookup.find(figure, rival, at, name)
                if point and other:
                    place = f"{lookup.told(figure, at)}, operator {name.rpartition('_')[2]}"
                    names = Names(lookup.name(variant), lookup.name(rival), place)
                    found.append(pair_of(names, point, other, lookup.floors))
    return found


COMPARATORS = {
    # A processing latency, against calibrated matrix products of so many microseconds a tuple.
    "near-cost": against_formula("its cost", "work_us", lambda work_us: work_us / 1_000),
    "more-operators": Comparator(MoreOperators, more_operators),
    "shares": Comparator(Shares, shares),
}
