"""Scenarios of the skip list: those of all gates, and one in which a source stops in an insertion.

The source has counted a tuple as delivered, and its timestamp is still that of the tuple before,
which the new one ties with. Only the count then tells the reader that the tuple is on all levels. A
reader that marks an old link of the node marks nothing, and a search that has come to the node
before links behind it, where no other search finds the new node.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from operators.check.scenario import Call, Scenario
from operators.contract import Variant
from operators.gate.check import scenarios as of_gates
from operators.gate.check.programs import GateProgram, inserts, reads
from operators.gate.check.scenarios import ALONE, uncovered
from operators.gate.skip_list import insert_tuple_link

__all__ = ["ALONE", "scenarios", "uncovered"]

# The first tuple of source 0, and the second one of source 1, are tall, as is the one of source 0
# after so many.
_SHORT = 24
_TIE = inserts(1, 5)[0]
PROGRAM = GateProgram(
    "counted-tie",
    ((_TIE, *inserts(0, 91)), reads(1)),
    (*inserts(0, 0), *inserts(1, 5), *reads(1), *inserts(0, *[90] * _SHORT), *reads(1)),
    ahead=_SHORT + 4,
    levels=2,
    schedules=200,
)


def scenarios(variant: Variant) -> list[Scenario]:
    """Return the scenarios of the skip list."""
    return [*of_gates.scenarios(variant), _counted_tie(variant)]


def _counted_tie(variant: Variant) -> Scenario:
    scenario = of_gates.scenario_of(variant, PROGRAM)

    def perform(state: Any, call: Call) -> Any:
        if call == _TIE:
            return int(insert_tuple_link(state, *call.arguments))
        return scenario.perform(state, call)

    return replace(scenario, perform=perform, before_finish=True)
