"""A small set of cases in which every pair of values occurs: most faults need no more than two.

Greedy and seeded, after Cohen, Dalal, Fredman and Patton, "The AETG System" (IEEE TSE 1997): each
case begins with a pair that has not occurred, and takes for each further dimension the value that
adds the most new pairs; of a few such cases the best is kept.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Hashable, Mapping, Sequence
from itertools import combinations, product
from typing import Any

Case = dict[str, Any]
# (dimension, value, dimension, value), with the dimensions in declared order.
Pair = tuple[str, Hashable, str, Hashable]

CANDIDATES = 4


def pairs_of(case: Mapping[str, Any], names: Sequence[str]) -> list[Pair]:
    """Return the pairs of values in a whole case."""
    return [(a, case[a], b, case[b]) for a, b in combinations(names, 2)]


def cover(
    dimensions: Mapping[str, Sequence[Any]],
    allowed: Callable[[Mapping[str, Any]], bool] = lambda case: True,
    seed: int = 0,
) -> list[Case]:
    """Return cases in which every pair occurs that an allowed case can have.

    Parameters
    ----------
    dimensions : mapping of str to sequence
        At least two; values are hashable.
    allowed : callable
        Takes the values of some dimensions, and returns False when no case may have all of them.
        It may be asked about the same values again.
    seed : int

    Examples
    --------
    >>> len(cover({"a": [0, 1], "b": [0, 1], "c": [0, 1]}))
    4
    """
    names = list(dimensions)
    chance = random.Random(seed)
    # A dict keeps the order in which its keys were set, so that a seed gives one result.
    missing: dict[Pair, None] = {
        (a, x, b, y): None
        for a, b in combinations(names, 2)
        for x, y in product(dimensions[a], dimensions[b])
        if allowed({a: x, b: y})
    }
    cases = []
    while missing:
        (a, x, b, y), *_ = missing
        tried = [_completed({a: x, b: y}, dimensions, allowed, missing, chance)
                 for _ in range(CANDIDATES)]  # fmt: skip
        whole = [case for case in tried if case is not None]
        if not whole:
            del missing[a, x, b, y]
            continue
        best = max(whole, key=lambda case: sum(pair in missing for pair in pairs_of(case, names)))
        cases.append({name: best[name] for name in names})
        for pair in pairs_of(best, names):
            missing.pop(pair, None)
    return cases


def _completed(
    case: Case,
    dimensions: Mapping[str, Sequence[Any]],
    allowed: Callable[[Mapping[str, Any]], bool],
    missing: Mapping[Pair, None],
    chance: random.Random,
) -> Case | None:
    """Return an allowed whole case around `case`, or None where there is none."""
    open_names = [name for name in dimensions if name not in case]
    if not open_names:
        return case
    place = {name: at for at, name in enumerate(dimensions)}
    name = chance.choice(open_names)
    before = [(other, case[other]) for other in case if place[other] < place[name]]
    after = [(other, case[other]) for other in case if place[other] > place[name]]

    def new_pairs(value: Any) -> int:
        return sum((*other, name, value) in missing for other in before) + sum(
            (name, value, *other) in missing for other in after
        )

    values = list(dimensions[name])
    chance.shuffle(values)
    for value in sorted(values, key=new_pairs, reverse=True):
        extended = {**case, name: value}
        if allowed(extended):
            found = _completed(extended, dimensions, allowed, missing, chance)
            if found is not None:
                return found
    return None
