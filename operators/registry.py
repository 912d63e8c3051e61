"""Finds every family and every variant: nothing is registered by hand.

A family is a folder beside this file with a ``family.py`` that ends with ``FAMILY``; a variant is a
module in such a folder that ends with ``VARIANT``, or one line of a module that ends with a table
of them, ``VARIANTS``. A structure inside an operator's package
declares itself "core", which the registry goes by. Folders elsewhere on Python's path join in: one
that holds ``operators/<family>/`` brings a family of its own (see ``operators/__init__.py``).
"""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from pathlib import Path
from types import ModuleType
from typing import Any

import operators
from operators.contract import Family, UsageError, Variant, whole

# The parameter that says on how many threads a variant runs.
THREADS = "threads"


@cache
def family_names() -> tuple[str, ...]:
    """Return the ids of the families, by name, without importing any."""
    found = {
        entry.parent.name
        for folder in operators.__path__
        for entry in Path(folder).glob("*/family.py")
    }
    return tuple(sorted(found))


@cache
def family(family_id: str) -> Family:
    """Return one family.

    Raises
    ------
    UsageError
        When it is unknown, or its declaration bears another name than its folder.
    """
    if family_id not in family_names():
        raise UsageError(f"unknown family {family_id!r}; families are: {', '.join(family_names())}")
    declared: Family = importlib.import_module(f"operators.{family_id}.family").FAMILY
    if declared.id != family_id:
        raise UsageError(f"the family in operators/{family_id} calls itself {declared.id!r}")
    return declared


def families() -> list[Family]:
    """Return every family, by name."""
    return [family(name) for name in family_names()]


def called(family_id: str) -> str:
    """Return what the command calls a family: its id, or that of the operator it is a part of."""
    declared = family(family_id)
    return declared.called or declared.id


def meant_by(name: str) -> tuple[str, ...]:
    """Return the ids of the families that a name may mean: the one of this id, and those called so.

    Raises
    ------
    UsageError
        When there is none; the message lists the names there are.
    """
    found = tuple(each for each in family_names() if name in (each, called(each)))
    if not found:
        known = ", ".join(sorted({called(each) for each in family_names()}))
        raise UsageError(f"unknown family {name!r}; families are: {known}")
    return found


Found = dict[tuple[str, str], Variant]


@cache
def _all_variants() -> tuple[Found, dict[tuple[str, str], str]]:
    """Return the variants, and who declared each, by (family, id)."""
    found: Found = {}
    where: dict[tuple[str, str], str] = {}
    for name in family_names():
        for module in modules_of(name):
            for variant in declared_by(module):
                register(found, where, variant, module.__name__)
    return found, where


def modules_of(family_id: str) -> Iterator[ModuleType]:
    """Import the modules right in the folder of a family and yield those that declare variants.

    What else stands there, as the function over arrays does, is no part of what a family is asked
    for, unless one of them imports it.
    """
    package = importlib.import_module(f"operators.{family_id}")
    for module_info in pkgutil.iter_modules(package.__path__):
        if not module_info.ispkg:
            module = importlib.import_module(f"operators.{family_id}.{module_info.name}")
            if declared_by(module):
                yield module


def declared_in(family_id: str) -> list[Variant]:
    """Return the variants that the folder of a family declares as its own, by id.

    For a family that is built on all variants of another: unlike ``variants`` it may be asked while
    those of other families are being found.
    """
    declared = (variant for module in modules_of(family_id) for variant in declared_by(module))
    return sorted((each for each in declared if each.family == family_id), key=lambda v: v.id)


def declared_by(module: ModuleType) -> tuple[Variant, ...]:
    """Return the variants that a module declares: one, a table of them, or none."""
    one = getattr(module, "VARIANT", None)
    return (*(() if one is None else (one,)), *getattr(module, "VARIANTS", ()))


def register(
    found: Found, where: dict[tuple[str, str], str], variant: Variant, module: str
) -> None:
    """Add `variant` of `module` to `found`, remembering in `where` who declared it.

    Raises
    ------
    UsageError
        When its family is unknown, its operations are not those of its family, or another module
        has declared the same id in the same family, or in one that is called by the same name.
    """
    declared = family(variant.family)
    if not isinstance(variant.operations, declared.operations):
        raise UsageError(
            f"variant {variant.id!r} of family {variant.family!r} ({module}): its operations are"
            f" {type(variant.operations).__name__}, not {declared.operations.__name__}"
        )
    place = (variant.family, variant.id)
    if place in found:
        raise UsageError(
            f"variant {variant.id!r} of family {variant.family!r} is declared by both"
            f" {where[place]} and {module}: rename one"
        )
    for other, variant_id in found:
        if variant_id == variant.id and (name := _name_of_both(other, variant.family)):
            raise UsageError(
                f"variant {variant.id!r} is declared by both {where[other, variant_id]} in family"
                f" {other!r} and {module} in family {variant.family!r}, which are both called"
                f" {name!r}: rename one"
            )
    found[place] = variant
    where[place] = module


def _name_of_both(one: str, other: str) -> str | None:
    """Return a name by which a user may mean either of two families, None where there is none."""
    return next(iter(sorted({one, called(one)} & {other, called(other)})), None)


def variants(family_id: str | None = None) -> list[Variant]:
    """Return the variants of a family (of every family when None), by family and id.

    Raises
    ------
    UsageError
        When the family is unknown.
    """
    if family_id is not None:
        family(family_id)
    found, _ = _all_variants()
    return [found[place] for place in sorted(found) if family_id in (None, place[0])]


def variant(family_id: str, variant_id: str) -> Variant:
    """Return one variant.

    Raises
    ------
    UsageError
        When family or id is unknown; the message lists what there is.
    """
    found, _ = _all_variants()
    if (family_id, variant_id) not in found:
        there = ", ".join(each.id for each in variants(family_id))
        raise UsageError(
            f"unknown variant {variant_id!r} of family {family_id!r}; there are: {there or 'none'}"
        )
    return found[family_id, variant_id]


def takers_of(family_id: str, parameter: str) -> list[str]:
    """Return the ids of the variants of a family that have a parameter of this name."""
    return [
        each.id
        for each in variants(family_id)
        if parameter in (own.name for own in each.parameters)
    ]


def listed(names: Sequence[str]) -> str:
    """Return names as a sentence lists them.

    Examples
    --------
    >>> listed(["a", "b", "c"])
    'a, b and c'
    """
    return " and ".join([*filter(None, [", ".join(names[:-1])]), *names[-1:]]) or "none"


def form_for(chosen: Variant, given: Mapping[str, Any], threads: object = None) -> Variant:
    """Return a variant, or that form of it which several threads share, where that is asked for.

    Parameters
    ----------
    chosen : Variant
    given : mapping
        Parameters; those that only the other form has ask for it.
    threads : int, optional
        Another number than 1 asks for it.

    Raises
    ------
    UsageError
        When `threads` is no whole number.
    """
    if not chosen.threaded:
        return chosen
    shared = variant(chosen.family, chosen.threaded)
    own, others = ({each.name for each in form.parameters} for form in (chosen, shared))
    alone = threads is None or whole(THREADS, threads) == 1
    return chosen if alone and not set(given) & (others - own) else shared


def settings_for_threads(
    chosen: Variant, given: Mapping[str, Any], threads: object = None
) -> dict[str, Any]:
    """Return the parameters of a variant that shall run on so many threads.

    Parameters
    ----------
    chosen : Variant
        Its number of threads is its parameter ``threads``; without that it has one thread.
    given : mapping
        Its other parameters.
    threads : int, optional
        As many as the variant has by default, where none are given. A variant of one thread accepts
        1.

    Returns
    -------
    dict
        All parameters, checked; ``threads`` among them where the variant has it.

    Raises
    ------
    UsageError
        When the variant does not take what is given. Of threads it names the variants that do.
    """
    if threads is None:
        return chosen.settings(given)
    takers = takers_of(chosen.family, THREADS)
    if chosen.id in takers:
        return chosen.settings({**given, THREADS: threads})
    if whole(THREADS, threads) != 1:
        also = [each.id for each in variants(chosen.family) if each.threaded]
        raise UsageError(
            f"{chosen.id} has one thread, received threads={threads};"
            f" more are for {listed(sorted(takers + also))}"
        )
    return chosen.settings(given)


def named(name: str, variant_id: str) -> Variant:
    """Return the variant that a user means by the name of a family, as it is called, and an id.

    Families of one name are one operator to users, and no two of their variants have one id.

    Raises
    ------
    UsageError
        When name or id is unknown; the message lists what there is.
    """
    there = {v.id: v for family_id in meant_by(name) for v in variants(family_id)}
    if variant_id not in there:
        raise UsageError(
            f"unknown variant {variant_id!r} of family {name!r}; there are:"
            f" {', '.join(sorted(there)) or 'none'}"
        )
    return there[variant_id]


def module_of(variant: Variant) -> str:
    """Return the name of the module that declares a variant.

    Raises
    ------
    UsageError
        When it is not registered.
    """
    _, where = _all_variants()
    place = (variant.family, variant.id)
    if place not in where:
        raise UsageError(f"no module declares {variant.family}/{variant.id}")
    return where[place]
