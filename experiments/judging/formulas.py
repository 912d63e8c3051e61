"""Comparators of a point against a formula: what one of its settings says it should be.

See ``comparators`` for what a comparator is. A formula that starts from other measured points, as a
growth does, is held against with ``pairs.formula_pair``.
"""

from __future__ import annotations

from collections.abc import Callable

from experiments.judging.kinds import Comparator, Comparison
from experiments.judging.lookup import Lookup
from experiments.judging.pairs import Names, Pair, formula_pair
from operators.contract import UsageError


def against_formula(words: str, setting: str, formula: Callable[[float], float]) -> Comparator:
    """Return the comparator that pairs each point of a claim with a formula of a setting.

    Parameters
    ----------
    words : str
        What the formula gives: "its cost".
    setting : str
        The setting that the formula takes.
    formula : callable
        Takes the setting's value, and returns one in the unit of the claim's quantity.
    """

    def pairs(claim: Comparison, lookup: Lookup) -> list[Pair]:
        found = []
        for place, point in lookup.points(claim):
            if setting not in point.settings:
                raise UsageError(
                    f"claim {claim.id!r} is {claim.comparator!r}, which takes {setting} of its"
                    f" points: those of figure {place.figure} have none"
                )
            wanted = formula(point.settings[setting])
            where = lookup.told(place.figure, place.at)
            names = Names(lookup.name(place.variant), words, where)
            found.append(formula_pair(names, point, lambda _, wanted=wanted: wanted, lookup.floors))
        return found

    return Comparator(Comparison, pairs)
