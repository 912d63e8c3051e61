"""Programs from a table of dimensions: few of them, in which every pair of values occurs.

A program that somebody writes shows a fault that somebody thought of. A family therefore also gives
the dimensions in which its programs differ, each with its values, and a function that makes a
program of a case: a value for each dimension. The cases are a pairwise cover (`pairwise`). Values
that a variant cannot have are left out, with a reason, which ``millrace check`` prints.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence
from typing import Any

from operators.check.pairwise import Case, cover

Dimensions = Mapping[str, Sequence[Hashable]]
# Takes a dimension and a value; returns why a variant cannot have the value, or nothing.
Missing = Callable[[str, Any], str]


def cases(dimensions: Dimensions, missing: Missing, seed: int = 3) -> list[Case]:
    """Return a pairwise cover of the values that are not missing.

    Parameters
    ----------
    dimensions : mapping of str to sequence
        At least two.
    missing : callable
    seed : int
    """
    values = {
        name: [value for value in given if not missing(name, value)]
        for name, given in dimensions.items()
    }
    return cover(values, seed=seed)


def name_of(case: Case) -> str:
    """Return the values of a case in a row: the name of its program."""
    return "-".join(str(value) for value in case.values())


def uncovered(dimensions: Dimensions, missing: Missing) -> list[str]:
    """Return the values that no program of a variant has, each with the reason."""
    return [
        f"{name} {value}: {reason}"
        for name, given in dimensions.items()
        for value in given
        if (reason := missing(name, value))
    ]
