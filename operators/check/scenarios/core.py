"""The structures that operators are built from, each with scenarios of its own."""

from __future__ import annotations

from operators.check.scenario import Scenario
from operators.check.scenarios import core_hive, core_mutex, core_owned, core_queues
from operators.contract import UsageError, Variant

_MAKERS = {
    "arena": core_owned.of_arena,
    "hash-table": core_owned.of_hash_table,
    "michael-scott-queue": core_queues.of_michael_scott_queue,
    "mutex": core_mutex.of_mutex,
    "shared-winsets": core_hive.of_shared_winsets,
    "spsc-ring": core_queues.of_spsc_ring,
    "w-hive": core_hive.of_w_hive,
    "winsets": core_owned.of_winsets,
}


def scenarios(variant: Variant) -> list[Scenario]:
    """Return the scenarios of a structure.

    Raises
    ------
    UsageError
        When there are none: each structure of the core has calls of its own.
    """
    if variant.id not in _MAKERS:
        raise UsageError(
            f"core {variant.id} has no scenarios: write them in operators/check/scenarios/core.py;"
            f" there are some for: {', '.join(sorted(_MAKERS))}"
        )
    return _MAKERS[variant.id](variant)
