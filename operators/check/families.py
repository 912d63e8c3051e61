"""Scenarios, mutants and shares of a family, found by name in the family's folder.

*Scenarios* are small programs that ``scenarios(variant)`` returns. They call the operations of the
variant's declaration, so a new variant is checked once it is declared. Capacities are 1 to 4, to
provoke races; the programs together pass every ``mark``. For a variant declared in
``operators.<package>.<stem>`` two modules are searched, in this order:

1. ``operators.<package>.check.<stem>``, for a structure with operations that no other has;
2. ``operators.<family>.check.scenarios``, for any variant of the family.

Where programs come from a table of dimensions, ``uncovered(variant)`` of the same module returns a
line for each value that the variant's programs leave out, with the reason.

*Mutants* are listed as ``MUTANTS`` in ``operators.<family>.check.mutants``, and in the sibling
modules whose names end with ``_mutants``. They are separate from scenarios, since a fault has to be
put into a module before anything imports it, and scenarios import the checked modules.

A *share* is an optional ``SHARE`` in ``operators.<family>.check``: fields of
`operators.check.suite.Size` that replace the default numbers of schedules in each run of the tests.
"""

from __future__ import annotations

import hashlib
import importlib
import pkgutil
from collections.abc import Iterable, Mapping
from functools import cache
from pathlib import Path
from typing import Any

from operators import registry
from operators.check.apart import apart
from operators.check.mutants import Mutant, spec_of
from operators.check.scenario import Scenario, cannot_begin
from operators.contract import UsageError, Variant
from operators.core.sources import import_closure

DIGEST_LETTERS = 8

# --- scenarios -----------------------------------------------------------------------------------


def checked() -> list[Variant]:
    """Return the variants that can be checked: those whose threads share memory."""
    return list(filter(_is_checked, registry.variants()))


def _is_checked(variant: Variant) -> bool:
    return registry.family(variant.family).interleaved


def scenarios(variant: Variant) -> list[Scenario]:
    """Return the scenarios of a variant, the deep ones last.

    Raises
    ------
    UsageError
        When the variant is not registered or has no scenarios.
    Failure
        When making the scenarios raises: the structure cannot begin.
    """
    places = _places(variant)
    try:
        with apart("the making of the programs"):
            found = sorted(_made(variant, places), key=lambda scenario: scenario.deep)
    except Exception as error:
        raise cannot_begin(error) from error
    if not found or found[0].deep:
        raise UsageError(
            f"{variant.family}/{variant.id} has no scenarios, or deep ones only: write"
            f" scenarios(variant) in {' or '.join(map(_file_name, places))}"
        )
    return found


def scenario_modules(variant: Variant) -> list[str]:
    """Return the modules that are searched for the scenarios of a variant and exist."""
    return [name for name in _places(variant) if spec_of(name) is not None]


def bounds_of(variant: Variant, size: str) -> Mapping[str, float]:
    """Return the bounds that a variant's family has of its own for a size, such as ``PLAIN``."""
    name = f"operators.{variant.family}.check"
    return {} if spec_of(name) is None else getattr(importlib.import_module(name), size, {})


def uncovered(variant: Variant) -> list[str]:
    """Return the values of a family's dimensions that no program of a variant has, with reasons."""
    found: list[str] = []
    for name in _places(variant):
        if spec_of(name) is not None:
            say = getattr(importlib.import_module(name), "uncovered", None)
            found += say(variant) if say is not None else []
    return found


def declared_for(variant: Variant, name: str) -> Mapping[str, str]:
    """Return what the modules with the scenarios of a variant declare as `name`, the nearest first.

    Of ``operators.<package>.check.<stem>`` alone if that module makes the scenarios; of the
    family's otherwise.
    """
    for place in _places(variant):
        if spec_of(place) is not None:
            module = importlib.import_module(place)
            if hasattr(module, "scenarios"):
                return getattr(module, name, {})
    return {}


def declared_in(module: str, name: str) -> dict[str, Any]:
    """Return what ``operators.<family>.check.<module>`` declares as `name`, of all families."""
    found: dict[str, Any] = {}
    for family in registry.family_names():
        path = f"operators.{family}.check.{module}"
        if spec_of(path) is not None:
            found |= getattr(importlib.import_module(path), name)
    return found


def source_digest(variant: Variant, changed: str = "") -> str:
    """Return a short digest of everything a schedule of a variant depends on.

    Parameters
    ----------
    variant : Variant
    changed : str
        The text of a module that is run instead of the one in the file.
    """
    modules = [registry.module_of(variant), *_places(variant)]
    specs = (spec_of(module) for module in modules)
    files = {f for spec in specs if spec is not None for f in import_closure(Path(spec.origin))}
    digest = hashlib.sha256(changed.encode())
    for file in sorted(files):
        digest.update(file.read_bytes())
    return digest.hexdigest()[:DIGEST_LETTERS]


def _places(variant: Variant) -> tuple[str, str]:
    """Return the modules to search for the scenarios of a variant, in this order."""
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


def chosen(text: str | None) -> list[Variant]:
    """Return the variants that an argument names: an id, ``family/id``, or None for all.

    Raises
    ------
    UsageError
        When no variant has the name, or the variant has nothing to check.
    """
    if text is None:
        return checked()
    family, _, name = text.rpartition("/")
    if family:
        # Imports no other family: the process of a mutant would take half of its time for that.
        found = [registry.named(family, name)]
    else:
        found = [variant for variant in registry.variants() if variant.id == text]
    if not found:
        known = ", ".join(map(name_of, checked()))
        raise UsageError(f"unknown variant {text!r}; there are: {known}")
    if not _is_checked(found[0]):
        raise UsageError(
            f"{name_of(found[0])} shares no memory between threads of ours: there is nothing to"
            " check"
        )
    return found


def name_of(variant: Variant) -> str:
    """Return the name of a variant on the command line."""
    return f"{registry.called(variant.family)}/{variant.id}"


# --- mutants -------------------------------------------------------------------------------------


@cache
def mutants() -> tuple[Mutant, ...]:
    """Return every mutant: by family, then by module, then in the order of declaration.

    No module that a mutant changes is imported.

    Raises
    ------
    UsageError
        When two have the same name, or a module of mutants has none.
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
        When the name is unknown; the message lists the known ones.
    """
    there = {mutant.name: mutant for mutant in mutants()}
    if name not in there:
        raise UsageError(f"unknown mutant {name!r}; there are: {', '.join(there)}")
    return there[name]
