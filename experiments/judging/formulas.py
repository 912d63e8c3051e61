"""Comparators of a point with a formula of one of the point's settings.

``comparators`` defines a comparator. Where the formula starts from other measured points, as a
growth does, a comparator makes the pairs itself with ``pairs.formula_pair``.
"""

from __future__ import annotations

from collections.abc import Callable

from experiments.judging.claim_types import Comparator, Comparison
from experiments.judging.lookup import Lookup, setting_read
from experiments.judging.pairs import Names, Pair, formula_pair


def against_formula(words: str, setting: str, formula: Callable[[float], float]) -> Comparator:
    """Return the comparator that pairs each point of a claim with a formula of a setting.

    Parameters
    ----------
    words : str
        The result of the formula: "its cost".
    setting : str
        The setting that the formula takes.
    formula : callable
        Takes the setting's value, and returns one in the unit of the claim's quantity.
    """

    def pairs(claim: Comparison, lookup: Lookup) -> list[Pair]:
        found = []
        for reading, point in lookup.points(claim):
            wanted = formula(setting_read(claim, point, setting))
            where = lookup.settings_text(reading.figure, reading.at)
            names = Names(lookup.name(reading.variant), words, where)
            found.append(formula_pair(names, point, lambda _, wanted=wanted: wanted, lookup.floors))
        return found

    return Comparator(Comparison, pairs)
