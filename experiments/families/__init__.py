"""The families that can be measured: a folder each, found by name.

Beside ``operators/<family>`` stands ``experiments/families/<family>`` with

===============  ================================================================================
``bench.py``     ends with ``BENCH``: how a variant of the family is run and timed
``columns.py``   optional: ``COLUMNS`` and ``QUANTITIES`` of its raw results beside the common ones
``replay.py``    optional, or a package: ``add_arguments(parser)`` and ``run(options)``
===============  ================================================================================

Imports are made when something is asked for: a list of names costs nothing.
"""

from __future__ import annotations

import importlib
from importlib.util import find_spec
from pathlib import Path
from pkgutil import extend_path
from types import ModuleType
from typing import Any

from operators import registry
from operators.contract import UsageError, Variant

__path__ = extend_path(__path__, __name__)


def _with(module: str) -> list[str]:
    """Return the families that have a module of that name, by name."""
    found = {
        entry.name
        for folder in __path__
        for entry in Path(folder).iterdir()
        if (entry / f"{module}.py").is_file() or (entry / module / "__init__.py").is_file()
    }
    return sorted(found)


def benched() -> list[str]:
    """Return the families that ``millrace bench`` takes."""
    return _with("bench")


def replayed() -> list[str]:
    """Return the families that ``millrace replay`` takes."""
    return _with("replay")


def own_module(family: str, name: str) -> ModuleType | None:
    """Return a module of a family's folder, None where the family has none of that name."""
    full = f"{__name__}.{family}.{name}"
    if find_spec(f"{__name__}.{family}") is None or find_spec(full) is None:
        return None
    return importlib.import_module(full)


def make(variant: Variant) -> Any:
    """Return the bench of a variant, see ``experiments.timing.bench``; nothing is checked yet.

    Raises
    ------
    UsageError
        When its family, or this variant, is not benched.
    """
    if not variant.bench or variant.family not in benched():
        raise UsageError(
            f"{variant.family} {variant.id} is not benched; families are: {', '.join(benched())}"
        )
    return own_module(variant.family, "bench").BENCH(variant)


def ready(family: str, variant_id: str, settings: dict[str, Any]) -> Any:
    """Return the bench of a variant at these settings, checked and loaded.

    Raises
    ------
    UsageError
        When the variant is unknown or not benched, a setting is unknown or out of its limits.
    """
    bench = make(registry.variant(family, variant_id))
    bench.check(settings)
    bench.load()
    return bench
