"""Comparators of this paper alone: gains of queries, costs, and shares of worker time.

See ``experiments.judging.comparators`` for what a comparator is.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import product
from typing import Any

from experiments.judging.lookup import Lookup
from experiments.judging.pairs import Names, Pair, combined, gain_pair, pair_of
from experiments.judging.points import Point


def near_cost(claim: Mapping[str, Any], lookup: Lookup) -> list[Pair]:
    """Pair a processing latency with the nominal cost of a tuple: calibrated matrix products."""
    found = []
    for figure in claim["figures"]:
        for variant in lookup.among(figure, claim["reads"]["variants"]):
            for at in lookup.places(claim, figure, variant):
                point = lookup.find(figure, variant, at, claim["quantity"])
                if point:
                    milliseconds = point.settings["work_us"] / 1_000
                    cost = combined([point], lambda _, own=milliseconds: own)
                    names = Names(lookup.name(variant), "its cost", lookup.told(figure, at))
                    found.append(pair_of(names, point, cost, lookup.floors, (point,)))
    return found


def more_operators(claim: Mapping[str, Any], lookup: Lookup) -> list[Pair]:
    """Pair the gain over a rival on queries of more partitioned operators with that on the others.

    ``more`` and ``fewer`` name the queries.
    """
    reads, found = claim["reads"], []
    for figure in claim["figures"]:
        for variant, rival in product(reads["variants"], reads["rivals"]):
            gains = dict(_gains(claim, lookup, figure, variant, rival))
            for (query, at), (other, place) in product(gains, gains):
                if query in reads["more"] and other in reads["fewer"] and at == place:
                    words = f"{lookup.name(variant)} over {lookup.name(rival)}"
                    where = lookup.told(figure, dict(at))
                    names = Names(f"{words}, {query}", other, where)
                    of = gains[query, at], gains[other, place]
                    found.append(gain_pair(names, *of, lookup.floors))
    return sorted(found, key=lambda pair: pair.names)


def _gains(
    claim: Mapping[str, Any], lookup: Lookup, figure: str, variant: str, rival: str
) -> Iterator[tuple[tuple[str, tuple], tuple[Point, Point]]]:
    """Yield the two points of each gain, by query and by the settings beside it."""
    for at in lookup.places(claim, figure, variant):
        point = lookup.find(figure, variant, at, claim["quantity"])
        other = lookup.find(figure, rival, at, claim["quantity"])
        if point and other:
            beside = tuple(each for each in at.items() if each[0] != "query")
            yield (at["query"], beside), (point, other)


def shares(claim: Mapping[str, Any], lookup: Lookup) -> list[Pair]:
    """Pair the share of worker time of the claim's operators between a variant and its rivals."""
    reads, found = claim["reads"], []
    for figure in claim["figures"]:
        for variant, rival in product(reads["variants"], reads["rivals"]):
            for at in lookup.places(claim, figure, variant):
                for name in reads["shares"]:
                    # A query has as many operators as it has: nothing is missing.
                    there = lookup.at_most.get((figure, variant, name), ())
                    if not any(all(p.settings[n] == v for n, v in at.items()) for p in there):
                        continue
                    point = lookup.find(figure, variant, at, name)
                    other = lookup.find(figure, rival, at, name)
                    if point and other:
                        place = f"{lookup.told(figure, at)}, operator {name.rpartition('_')[2]}"
                        names = Names(lookup.name(variant), lookup.name(rival), place)
                        found.append(pair_of(names, point, other, lookup.floors))
    return found


COMPARATORS = {
    "near-cost": near_cost,
    "more-operators": more_operators,
    "shares": shares,
}
