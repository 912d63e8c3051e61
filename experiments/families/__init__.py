"""The families that can be measured: a folder each, found by name.

The folder of ``operators/<family>`` is ``experiments/families/<family>``, with

===============  ================================================================================
``bench.py``     ends with ``BENCH``, which runs and times a variant of the family, and
                 ``SOAKED``, the names of the variants that ``make soak`` runs
``columns.py``   optional: ``COLUMNS`` and ``QUANTITIES`` of the raw results besides the common
                 ones; ``PHASES`` and ``OVERHEAD``, how often kinds of run are made, in how many
                 processes, and how long they take
===============  ================================================================================

``experiments.discovery`` finds them, here and in folders elsewhere on Python's path.
"""

from __future__ import annotations

from pkgutil import extend_path
from typing import Any

from experiments.discovery import benched, family_module
from operators import registry
from operators.contract import UsageError, Variant

__path__ = extend_path(__path__, __name__)


def make(variant: Variant) -> Any:
    """Return the bench of a variant, see ``experiments.timing.bench``; nothing is checked yet.

    Raises
    ------
    UsageError
        When the family, or this variant, is not benched.
    """
    if not variant.bench or variant.family not in benched():
        raise UsageError(
            f"{variant.family} {variant.id} is not benched; families are: {', '.join(benched())}"
        )
    return family_module(variant.family, "bench").BENCH(variant)


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
