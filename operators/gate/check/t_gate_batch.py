"""Scenarios of the T-Gate with batches: those of all gates, and one in which the reader asks.

A tuple may stay unlinked, so that no specification of a gate says when the reader must get it. The
source whose linked tuples are used up has been asked for more, and links its next tuple at once.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from operators.check.history import HistoryOperation
from operators.check.scenario import Scenario
from operators.contract import READY, Variant
from operators.gate.check import scenarios as of_gates
from operators.gate.check.programs import GateProgram, inserts, reads
from operators.gate.check.scenarios import ALONE

__all__ = ["ALONE", "scenarios"]

# Each read but the last asks the source that the next insertion belongs to. The batch is larger.
_ASKED = (
    *(*reads(1), *inserts(0, 1)),
    *(*reads(1), *inserts(1, 2)),
    *(*reads(1), *inserts(0, 3)),
    *reads(1),
)
PROGRAM = GateProgram("asked-for-more", (_ASKED,), ahead=8)


def scenarios(variant: Variant) -> list[Scenario]:
    """Return the scenarios of the T-Gate with batches."""
    return [*of_gates.scenarios(variant), _asked_for_more(variant)]


def _asked_for_more(variant: Variant) -> Scenario:
    scenario = of_gates.scenario_of(variant, PROGRAM)

    def finish(state: Any, history: Sequence[HistoryOperation]) -> None:
        got = history[-1].answer
        assert got[0] == READY, f"the source was asked for more, and the reader got {got}"
        scenario.finish(state, history)

    return replace(scenario, finish=finish)
