"""Finds every family and every variant; nothing is registered by hand.

A family is a folder next to this file with a ``family.py`` that ends with ``FAMILY``. A variant is
a module in such a folder that ends with ``VARIANT``, or one entry of a module's table ``VARIANTS``.
A structure inside an operator's package declares the family "core", and the registry goes by the
declared family. Folders elsewhere on Python's path are searched too: one that holds
``operators/<family>/`` adds a family, or variants to a family that exists (see
``operators/__init__.py``).

A request for one family does not import the others, unless the path has such folders elsewhere.
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
from operators.declaring import declares

# The parameter that sets the number of threads of a variant.
THREADS = "threads"
# The family whose variants may also lie in other families' folders.
CORE = "core"


@cache
def family_names() -> tuple[str, ...]:
    """Return the ids of the families in alphabetical order, without importing any."""
    found = {
        entry.parent.name
        for folder in operators.__path__
        for entry in Path(folder).glob("*/family.py")
        if declares(entry, "FAMILY")
    }
    return tuple(sorted(found))


@cache
def family(family_id: str) -> Family:
    """Return one family.

    Raises
    ------
    UsageError
        When the family is unknown, or declares an id other than the name of the folder.
    """
    if family_id not in family_names():
        raise UsageError(f"unknown family {family_id!r}; families are: {', '.join(family_names())}")
    declared: Family = importlib.import_module(f"operators.{family_id}.family").FAMILY
    if declared.id != family_id:
        raise UsageError(f"the family in operators/{family_id} calls itself {declared.id!r}")
    return declared


def families() -> list[Family]:
    """Return every family in alphabetical order."""
    return [family(name) for name in family_names()]


def called(family_id: str) -> str:
    """Return a family's name in commands: the id, or the operator that the family is a part of."""
    declared = family(family_id)
    return declared.called or declared.id


def meant_by(name: str) -> tuple[str, ...]:
    """Return the ids of all families that a name may mean: by id, or by name in commands.

    Raises
    ------
    UsageError
        When there is none; the message lists the known names.
    """
    found = tuple(each for each in family_names() if name in (each, called(each)))
    if not found:
        known = ", ".join(sorted({called(each) for each in family_names()}))
        raise UsageError(f"unknown family {name!r}; families are: {known}")
    return found


Found = dict[tuple[str, str], Variant]
Where = dict[tuple[str, str], str]


@cache
def _seen() -> tuple[Found, Where, set[str]]:
    """Return the cache: variants found so far, their modules, and the searched folders."""
    return {}, {}, set()


def _look_into(name: str) -> None:
    """Register all variants that a family's folder declares; after an error, none of them."""
    found, where, folders = _seen()
    if name in folders:
        return
    all_found, all_where = dict(found), dict(where)
    for module in modules_of(name):
        for variant in declared_by(module):
            register(all_found, all_where, variant, module.__name__)
    found.update(all_found)
    where.update(all_where)
    folders.add(name)


@cache
def _all_variants() -> tuple[Found, Where]:
    """Return all variants, and the modules that declare them, by (family, id)."""
    for name in family_names():
        _look_into(name)
    found, where, _ = _seen()
    return found, where


def _variants_of(family_id: str) -> Found:
    """Return variants by (family, id), those of one family among them.

    The family's folder has all of them, unless there are folders from elsewhere, which may declare
    a variant in another folder or reuse an id; then all folders are searched.
    """
    if family_id == CORE or family_id not in family_names() or len(operators.__path__) > 1:
        return _all_variants()[0]
    _look_into(family_id)
    return _seen()[0]


def modules_of(family_id: str) -> Iterator[ModuleType]:
    """Import the modules directly in a family's folder and yield those that declare variants.

    Other modules there, such as the function over arrays, do not belong to the family's interface,
    unless a variant imports them.
    """
    package = importlib.import_module(f"operators.{family_id}")
    _join_folders(package, family_id)
    for module_info in pkgutil.iter_modules(package.__path__):
        if not module_info.ispkg:
            module = importlib.import_module(f"operators.{family_id}.{module_info.name}")
            if declared_by(module):
                yield module


def add_folder(folder: Path) -> None:
    """Let a folder bring families and variants, as one on Python's path does from the start.

    Parameters
    ----------
    folder : Path
        Contains ``operators/<family>/``, which may have no module yet.
    """
    inside = str(Path(folder, "operators").resolve())
    if inside not in operators.__path__:
        operators.__path__.append(inside)
    importlib.invalidate_caches()
    for found in (family_names, family, _seen, _all_variants):
        found.cache_clear()


def _join_folders(package: ModuleType, family_id: str) -> None:
    """Let folders of this name elsewhere on Python's path add variants to a family.

    Only ``operators`` itself extends its path: were each family to do so, every new one would have
    to remember it.
    """
    there = [Path(folder, family_id) for folder in operators.__path__]
    package.__path__ = [str(folder) for folder in there if folder.is_dir()]


def declared_in(family_id: str) -> list[Variant]:
    """Return the variants of a family that the family's folder declares, by id.

    For a family built on all variants of another one: unlike ``variants``, it may be called while
    those of other families are being found.
    """
    declared = (variant for module in modules_of(family_id) for variant in declared_by(module))
    return sorted((each for each in declared if each.family == family_id), key=lambda v: v.id)


def declared_by(module: ModuleType) -> tuple[Variant, ...]:
    """Return the variants that a module declares: one, a table, or none."""
    one = getattr(module, "VARIANT", None)
    return (*(() if one is None else (one,)), *getattr(module, "VARIANTS", ()))


def register(found: Found, where: Where, variant: Variant, module: str) -> None:
    """Add `variant` of `module` to `found`, and the declaring module to `where`.

    Raises
    ------
    UsageError
        When the family is unknown, the operations have another type than the family's, or another
        module has declared the same id in the same family, or in one with the same name in
        commands.
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
    """Return a name by which a user may mean either of two families, or None."""
    return next(iter(sorted({one, called(one)} & {other, called(other)})), None)


def variants(family_id: str | None = None) -> list[Variant]:
    """Return the variants of a family (of every family if None), sorted by family and id.

    Raises
    ------
    UsageError
        When the family is unknown.
    """
    if family_id is not None:
        family(family_id)
    found = _all_variants()[0] if family_id is None else _variants_of(family_id)
    return [found[place] for place in sorted(found) if family_id in (None, place[0])]


def variant(family_id: str, variant_id: str) -> Variant:
    """Return one variant.

    Raises
    ------
    UsageError
        When the family or the id is unknown; the message lists the known ones.
    """
    found = _variants_of(family_id)
    if (family_id, variant_id) not in found:
        # Search all folders before reporting that there is none.
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
    """Return names as an enumeration in a sentence.

    Examples
    --------
    >>> listed(["a", "b", "c"])
    'a, b and c'
    """
    return " and ".join([*filter(None, [", ".join(names[:-1])]), *names[-1:]]) or "none"


def form_for(chosen: Variant, given: Mapping[str, Any], threads: object = None) -> Variant:
    """Return a variant, or the variant's multi-threaded form where the request needs that.

    Parameters
    ----------
    chosen : Variant
    given : mapping
        Parameters; one that only the other form has requests that form.
    threads : int, optional
        Any number other than 1 requests the multi-threaded form.

    Raises
    ------
    UsageError
        When `threads` is not a whole number.
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
    """Return the parameters of a variant for a number of threads.

    Parameters
    ----------
    chosen : Variant
        Its parameter ``threads`` sets the number of threads; a variant without that parameter has
        one.
    given : mapping
        The other parameters.
    threads : int, optional
        The variant's default if None. A variant of one thread accepts 1.

    Returns
    -------
    dict
        All parameters, checked, with ``threads`` if the variant has that parameter.

    Raises
    ------
    UsageError
        When the variant rejects a parameter. For `threads`, the message names the variants that
        accept it.
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
    """Return the variant that a user means by a family's name in commands and an id.

    Families with the same name are one operator to users; no two of their variants share an id.

    Raises
    ------
    UsageError
        When the name or the id is unknown; the message lists the known ones.
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
        When the variant is not registered.
    """
    _variants_of(variant.family)
    where = _seen()[1]
    place = (variant.family, variant.id)
    if place not in where:
        raise UsageError(f"no module declares {variant.family}/{variant.id}")
    return where[place]
