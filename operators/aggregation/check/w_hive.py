"""Scenarios of the W-Hive: WiML's, whose inputs are the hive's threads with nothing else in it."""

from __future__ import annotations

from dataclasses import replace

from operators.aggregation import wiml
from operators.aggregation.check.scenarios import scenarios as scenarios_of_aggregate
from operators.aggregation.wiml import WiMLState
from operators.check.scenario import ITSELF, Scenario
from operators.contract import Variant

ALONE = dict.fromkeys(("pass_all", "output_next_winset"), ITSELF)


def scenarios(variant: Variant) -> list[Scenario]:
    """Return WiML's scenarios: its inputs are the hive's threads, and nothing else is in it."""

    def invariants(state: WiMLState) -> None:
        variant.operations.check_invariants(state.windows)

    return [replace(s, invariants=invariants) for s in scenarios_of_aggregate(wiml.VARIANT)]
