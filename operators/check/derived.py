"""Programs from a table of dimensions: few of them, in which every pair of values occurs.

A program that somebody writes shows a fault that somebody thought of. A family therefore also gives
the dimensions in which its programs differ, each with its values, and a function that makes a
program of a case: a value for each dimension. The cases are a pairwise cover (`pairwise`). Values
that a variant cannot have are left out, with a reason, which ``millrace check`` prints.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence
from itertools import combinations, product
from typing import Any

from operators.check.pairwise import Case, cover

Dimensions = Mapping[str, Sequence[Hashable]]
# Takes a dimension and a value; returns why a variant cannot have the value, or nothing.
Missing = Callable[[str, Any], str]
# Takes the values of some dimensions; returns why no program has all of them, or nothing.
Apart = Callable[[Mapping[str, Any]], str]


def all_there(name: str, value: Any) -> str:
    """Return nothing: a variant can have every value."""
    return ""


def _together(case: Mapping[str, Any]) -> str:
    return ""


def cases(
    dimensions: Dimensions, missing: Missing = all_there, apart: Apart = _together, seed: int = 3
) -> list[Case]:
    """Return a pairwise cover of the values that are not missing.

    Parameters
    ----------
    dimensions : mapping of str to sequence
        At least two.
    missing, apart : callable
    seed : int
    """
    values = {
        name: [value for value in given if not missing(name, value)]
        for name, given in dimensions.items()
    }
    return cover(values, lambda case: not apart(case), seed)


def name_of(case: Case) -> str:
    """Return the values of a case in a row: the name of its program."""
    return "-".join(str(value) for value in case.values())


def uncovered(
    dimensions: Dimensions, missing: Missing = all_there, apart: Apart = _together
) -> list[str]:
    """Return the values and pairs of values that no program has, each with the reason."""
    values, found = {}, []
    for name, given in dimensions.items():
        reasons = {value: missing(name, value) for value in given}
        values[name] = [value for value in given if not reasons[value]]
        found += [f"{name} {value}: {reason}" for value, reason in reasons.items() if reason]
    for a, b in combinations(values, 2):
        for x, y in product(values[a], values[b]):
            reason = apart({a: x, b: y})
            found += [f"{a} {x} with {b} {y}: {reason}"] if reason else []
    return found
