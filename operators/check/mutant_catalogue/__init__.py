"""The mutants, a module a family."""

from __future__ import annotations

from operators.check.mutant_catalogue import aggregation, core, gate
from operators.check.mutants import Mutant
from operators.contract import UsageError

MUTANTS = (*core.MUTANTS, *gate.MUTANTS, *aggregation.MUTANTS)


def mutant_named(name: str) -> Mutant:
    """Return the mutant `name`.

    Raises
    ------
    UsageError
        When there is none; the message lists those there are.
    """
    for mutant in MUTANTS:
        if mutant.name == name:
            return mutant
    raise UsageError(
        f"unknown mutant {name!r}; there are: {', '.join(mutant.name for mutant in MUTANTS)}"
    )
