"""The families that can be measured: a folder each, found by name.

Beside ``operators/<family>`` stands ``experiments/families/<family>`` with

===============  ================================================================================
``bench.py``     ends with ``BENCH``, how a variant of the family is run and timed, and
                 ``SOAKED``, the names of those that ``make soak`` runs
``columns.py``   optional: ``COLUMNS`` and ``QUANTITIES`` of its raw results beside the common ones;
                 ``PHASES`` and ``BESIDE``, how often kinds of run are made, in how many
                 processes, and what they cost
===============  ================================================================================

``experiments.finding`` finds them, here and in folders elsewhere on Python's path.
"""

from __future__ import annotations

from pkgutil import extend_path
from typing import Any

from experiments.finding import benched, family_module
from operators import registry
from operators.contract import UsageError, Variant

__path__ = extend_path(__path__, __name__)


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
