"""Small programs for each family: what its variants are checked with.

A family has a module here, by its name, with ``scenarios(variant)``. What a scenario calls comes
from the variant's declaration, so that a variant of one's own is checked by being declared.
Capacities are 1 to 4, so that races meet; the programs together pass every ``mark``.
"""

from __future__ import annotations

import importlib
from importlib.util import find_spec

from operators.check.scenario import Scenario
from operators.contract import UsageError, Variant


def scenarios(variant: Variant) -> list[Scenario]:
    """Return the scenarios of a variant, the short ones first.

    Raises
    ------
    UsageError
        When there are none for its family, or none for its structure.
    """
    module = f"{__name__}.{variant.family}"
    if find_spec(module) is None:
        raise UsageError(
            f"family {variant.family!r} has no scenarios: add a module with scenarios(variant),"
            f" operators/check/scenarios/{variant.family}.py"
        )
    found = importlib.import_module(module).scenarios(variant)
    return sorted(found, key=lambda scenario: scenario.deep)
