"""The families that can be benched, and the bench of each."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from experiments.harness import bench
from experiments.harness.aggregation_bench import AggregationBench
from experiments.harness.bench import Bench
from experiments.harness.gate_bench import GateBench
from operators import registry
from operators.contract import UsageError, Variant

BENCHES = {"aggregation": AggregationBench, "gate": GateBench}


def make(family: str, variant_id: str, settings: Mapping[str, Any]) -> Bench:
    """Return the bench of a variant at these settings, everything checked.

    Raises
    ------
    UsageError
        When the variant is unknown or not benched, a setting is unknown or out of its limits.
    """
    variant = registry.variant(family, variant_id)
    if not variant.bench or family not in BENCHES:
        raise UsageError(f"{family} {variant_id} is not benched; families are: {_families()}")
    return BENCHES[family](variant, settings)


def setting_names(variant: Variant) -> list[str]:
    """Return every name that ``--set`` takes for a variant."""
    return bench.setting_names(variant, BENCHES[variant.family].NAMES)


def _families() -> str:
    return ", ".join(sorted(BENCHES))
