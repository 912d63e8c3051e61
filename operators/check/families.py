"""What a family brings to be checked, found by name in its folder: scenarios, mutants, a share.

*Scenarios* are small programs: ``scenarios(variant)`` returns them. What they call comes from the
variant's declaration, so that a variant of one's own is checked by being declared. Capacities are
1 to 4, so that races meet; the programs together pass every ``mark``. Of a variant that
``operators.<package>.<stem>`` declares they are looked for in two places:

1. ``operators.<package>.check.<stem>``: of this structure alone, as it has calls of its own;
2. ``operators.<family>.check.scenarios``: of any variant of the family.

*Mutants* stand as ``MUTANTS`` in ``operators.<family>.check.mutants``, and in the modules beside it
whose names end with ``_mutants``. They are apart from scenarios, since a fault has to be put into a
module before anything imports it, and scenarios import what they check.

A *share* stands as ``SHARE`` in ``operators.<family>.check``, where a family's programs are to have
other numbers of schedules than those of others in each run of the tests: fields of
`operators.check.suite.Size`.
"""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Iterable, Mapping
from functools import cache

from operators import registry
from operators.check.mutants import Mutant, spec_of
from operators.check.scenario import Scenario, cannot_begin
from operators.contract import UsageError, Variant

# --- scenarios -----------------------------------------------------------------------------------


def scenarios(variant: Variant) -> list[Scenario]:
    """Return the scenarios of a variant, the short ones first.

    Raises
    ------
    UsageError
        When it is not registered, or nobody has written any for it.
    Failure
        When they raise as they are made: the structure cannot begin.
    """
    places = _places(variant)
    try:
        found = sorted(_made(variant, places), key=lambda scenario: scenario.deep)
    except Exception as error:
        raise cannot_begin(error) from error
    if not found or found[0].deep:
        raise UsageError(
            f"{variant.family}/{variant.id} has no scenarios, or deep ones only: write"
            f" scenarios(variant) in {' or '.join(map(_file_name, places))}"
        )
    return found


def share_of(variant: Variant) -> Mapping[str, int]:
    """Return the share of a variant's family; empty where it has none."""
    name = f"operators.{variant.family}.check"
    return {} if spec_of(name) is None else getattr(importlib.import_module(name), "SHARE", {})


def _places(variant: Variant) -> tuple[str, str]:
    """Return the modules in which the scenarios of a variant are looked for, in this order."""
    package, _, stem = registry.module_of(variant).rpartition(".")
    return f"{package}.check.{stem}", f"operators.{variant.family}.check.scenarios"


def _made(variant: Variant, places: Iterable[str]) -> list[Scenario]:
    for name in places:
        if spec_of(name) is not None:
            make = getattr(importlib.import_module(name), "scenarios", None)
            if make is not None:
                return make(variant)
    return []


def _file_name(module: str) -> str:
    return f"{module.replace('.', '/')}.py"


# --- mutants -------------------------------------------------------------------------------------


@cache
def mutants() -> tuple[Mutant, ...]:
    """Return every mutant: by family, then by module, then as they stand there.

    No module that a mutant changes is imported.

    Raises
    ------
    UsageError
        When two have one name, or a module of mutants has none.
    """
    found: dict[str, Mutant] = {}
    where: dict[str, str] = {}
    for module in mutant_modules():
        declared = getattr(importlib.import_module(module), "MUTANTS", None)
        if declared is None:
            raise UsageError(f"{module} has no MUTANTS: write them, or give it another name")
        for mutant in declared:
            if mutant.name in found:
                raise UsageError(
                    f"mutant {mutant.name!r} is declared by both {where[mutant.name]} and {module}:"
                    " rename one"
                )
            found[mutant.name], where[mutant.name] = mutant, module
    return tuple(found.values())


def mutant_modules() -> list[str]:
    """Return the names of the modules that have mutants, by family and name."""
    folders = [f"operators.{family}.check" for family in registry.family_names()]
    return [
        f"{folder}.{name}"
        for folder in folders
        if spec_of(folder) is not None
        for name in sorted(m.name for m in pkgutil.iter_modules(_path_of(folder)))
        if name == "mutants" or name.endswith("_mutants")
    ]


def _path_of(package: str) -> Iterable[str]:
    return importlib.import_module(package).__path__


def mutant_named(name: str) -> Mutant:
    """Return the mutant `name`.

    Raises
    ------
    UsageError
        When there is none; the message lists those there are.
    """
    there = {mutant.name: mutant for mutant in mutants()}
    if name not in there:
        raise UsageError(f"unknown mutant {name!r}; there are: {', '.join(there)}")
    return there[name]
