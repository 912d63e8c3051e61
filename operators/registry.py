"""Finds every variant: a module of a family that ends with ``VARIANT``.

Nothing is registered by hand. A family is a package beside this file, a variant a module in it. A
structure inside an operator's package declares itself "core", which the registry goes by.
"""

from __future__ import annotations

import importlib
import pkgutil
from functools import cache

from operators.contract import FAMILIES, UsageError, Variant


@cache
def _all_variants() -> dict[tuple[str, str], Variant]:
    found: dict[tuple[str, str], Variant] = {}
    where: dict[tuple[str, str], str] = {}
    for family in FAMILIES:
        package = importlib.import_module(f"operators.{family}")
        for module_info in pkgutil.iter_modules(package.__path__):
            module = importlib.import_module(f"operators.{family}.{module_info.name}")
            variant = getattr(module, "VARIANT", None)
            if variant is None:
                continue
            register(found, where, variant, module.__name__)
    return found


def register(
    found: dict[tuple[str, str], Variant],
    where: dict[tuple[str, str], str],
    variant: Variant,
    module: str,
) -> None:
    """Add `variant` of `module` to `found`, remembering in `where` who declared it.

    Raises
    ------
    UsageError
        When another module has declared the same id in the same family.
    """
    place = (variant.family, variant.id)
    if place in found:
        raise UsageError(
            f"variant {variant.id!r} of family {variant.family!r} is declared by both"
            f" {where[place]} and {module}: rename one"
        )
    found[place] = variant
    where[place] = module


def variants(family: str | None = None) -> list[Variant]:
    """Return the variants of `family` (of every family when None), by family and id.

    Raises
    ------
    UsageError
        When the family is unknown.
    """
    if family is not None and family not in FAMILIES:
        raise UsageError(f"unknown family {family!r}; families are: {', '.join(FAMILIES)}")
    found = _all_variants()
    return [found[place] for place in sorted(found) if family in (None, place[0])]


def variant(family: str, variant_id: str) -> Variant:
    """Return one variant.

    Raises
    ------
    UsageError
        When family or id is unknown; the message lists what there is.
    """
    there = {v.id: v for v in variants(family)}
    if variant_id not in there:
        raise UsageError(
            f"unknown variant {variant_id!r} of family {family!r}; there are:"
            f" {', '.join(sorted(there)) or 'none'}"
        )
    return there[variant_id]
