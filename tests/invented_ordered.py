"""Invented raw results of the second paper's figures, for judge, figures and notebook."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import product
from typing import Any

from experiments import papers, series
from experiments.declare import Figure
from experiments.families.saturated_source import SPEED_UP
from experiments.records import columns, quantities
from tests.invented import row

PAPER = "ordered_processing"
DECLARED = {figure.id: figure for figure in papers.paper(PAPER).figures}
OPERATORS = {"q1": 4, "q2": 5, "q3": 3, "q4": 4, "q15": 3, "parametric": 2}


def places_of(figure: Figure, size: str = "quick") -> list[dict[str, Any]]:
    """Return the swept settings of a figure, each combination."""
    names = [sweep.setting for sweep in figure.free]
    values = product(*(sweep.values[size] for sweep in figure.free))
    return [dict(zip(names, each, strict=True)) for each in values]


def rows_at(
    figure: str | Figure,
    line: str,
    at: Mapping[str, Any],
    throughput: float = 1e6,
    latency: float = 2.0,
    serial_seconds: float = 0.15,
    repetitions: int = 1,
    **given: Any,
) -> list[dict[str, Any]]:
    """Return the rows of one setting, with all columns that the family's quantities need."""
    figure = DECLARED[figure] if isinstance(figure, str) else figure
    at = dict(at)
    x = at.pop(figure.x.setting, None) if hasattr(figure.x, "setting") else None
    known = columns.of_family(figure.family)
    seen = {
        "processing_ms_mean": latency,
        "processing_ms_p50": 0.8 * latency,
        "processing_ms_p99": 3 * latency,
        "markers": 1_000,
    }
    operators = OPERATORS.get(
        str({**figure.settings, **at, "query": at.get("query", x)}["query"]), 2
    )
    seen["operator_seconds"] = {
        f"{place} operator": 0.01 * place for place in range(1, operators + 1)
    }
    seen["ingress_seconds"] = 0.01
    seen["no_room_a_tuple"] = 0.1
    seen["turns"] = {"sent": 100, "with_a_choice": 60, "held_back": 25, "passed_over": 50}
    seen = {name: value for name, value in seen.items() if name in known}
    found = []
    for repetition in range(1, repetitions + 1):
        own = {"repetition": repetition, "throughput_tps": throughput, **seen, **given}
        found.append(row(figure, line, x, at, **own))
        if SPEED_UP in quantities.phases_of(figure):
            own |= {"phase": SPEED_UP, "serial_seconds": serial_seconds}
            found.append(row(figure, line, x, at, **own))
    return found


def of_every_figure(repetitions: int = 1, **given: Any) -> list[dict[str, Any]]:
    """Return rows of every series of every figure; equal settings have equal values."""
    found: dict[tuple, list[dict[str, Any]]] = {}
    for figure in DECLARED.values():
        for line in series.measured(figure):
            for at in places_of(figure):
                rows = rows_at(figure, line, at, repetitions=repetitions, **given)
                for each in rows:
                    variant, settings = each["variant"], tuple(sorted(each["settings"].items()))
                    place = (each["family"], variant, settings, each["phase"], each["repetition"])
                    found.setdefault(place, each)
    return list(found.values())
