"""Invented raw results of the third paper's figures, for judge, figures and notebook."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import product
from typing import Any

from experiments import papers, series
from experiments.declare import Figure, Series, Sweep
from experiments.families.theta_join.columns import HIGHEST, REAL_TIME
from experiments.records import quantities
from tests.invented import row

PAPER = "scalejoin"
DECLARED = {figure.id: figure for figure in papers.paper(PAPER).figures}
PARTS = 6


def places_of(figure: Figure, size: str = "quick") -> list[dict[str, Any]]:
    """Return the swept settings of a figure, each combination."""
    names = [sweep.setting for sweep in figure.free]
    values = product(*(sweep.values[size] for sweep in figure.free))
    return [dict(zip(names, each, strict=True)) for each in values]


def over_time_of(threads: int, scale: float) -> dict[str, Any]:
    """Return a run in its parts."""
    parts = range(PARTS)
    return {
        "seconds": [0.5 + part for part in parts],
        "rates": {name: [scale * (n + 2) * (100 + part) for part in parts]
                  for n, name in enumerate(("R 0", "S 0", "S 1"))},
        "mean": [scale * (5e7 + 1e6 * part) / threads for part in parts],
        "deviation": [scale * (0.05 + 0.01 * part) for part in parts],
        "event_mean": [scale * 5e7 / threads for part in parts],
        "event_deviation": [scale * 0.01 for part in parts],
    }  # fmt: skip


def rows_at(
    figure: str | Figure,
    line: str,
    at: Mapping[str, Any],
    throughput: float = 1e4,
    latency_ms: float = 5.0,
    repetitions: int = 1,
    **given: Any,
) -> list[dict[str, Any]]:
    """Return the rows of one setting, with all columns that the family's quantities need."""
    figure = DECLARED[figure] if isinstance(figure, str) else figure
    at = dict(at)
    x = at.pop(figure.x.setting, None) if isinstance(figure.x, Sweep) else None
    if figure.family == "gate":
        return [
            row(figure, line, x, at, repetition=n, throughput_tps=throughput, **given)
            for n in range(1, repetitions + 1)
        ]
    settings = series.resolved(figure, Series(line), {**at, **({figure.x.setting: x} if x else {})})
    threads = settings["threads"]
    each = 30_000 // threads
    seen = {
        "threads": threads + 3,
        "in_flight_tuples": 2_048,
        "tuples": 1_000,
        "comparisons": 300_000_000,
        "thread_comparisons": {str(n): 1000 * (each + n % 2) for n in range(threads)},
        "compared_ps": None,
        "sort_peak": 0,
        "over_time": None,
        "tried": None,
        "highest_tps": None,
        "highest_ms_mean": None,
        "real_time_ms_mean": None,
        "real_time_ms_p99": None,
    }
    phases = quantities.phases_of(figure)
    found = []
    for repetition in range(1, repetitions + 1):
        own = {"repetition": repetition, "throughput_tps": throughput, **seen, **given}
        found.append(row(figure, line, x, at, **own))
        if HIGHEST in phases:
            highest = {"highest_tps": throughput, "highest_ms_mean": latency_ms}
            highest |= {"bracket_low_tps": throughput, "bracket_high_tps": 1.1 * throughput}
            found.append(row(figure, line, x, at, **{**own, "phase": HIGHEST, **highest}))
        if REAL_TIME in phases and repetition == 1:
            real = {"real_time_ms_mean": latency_ms, "real_time_ms_p99": 3 * latency_ms}
            real["over_time"] = over_time_of(threads, latency_ms)
            found.append(row(figure, line, x, at, **{**own, "phase": REAL_TIME, **real}))
    return found


def of_every_figure(repetitions: int = 1, **given: Any) -> list[dict[str, Any]]:
    """Return rows of every series of every figure; equal settings have equal values."""
    found: dict[tuple, dict[str, Any]] = {}
    for figure in DECLARED.values():
        for line in series.measured(figure):
            for at in places_of(figure):
                for each in rows_at(figure, line, at, repetitions=repetitions, **given):
                    settings = tuple(sorted(each["settings"].items()))
                    place = (each["variant"], settings, each["phase"], each["repetition"])
                    found.setdefault(place, each)
    return list(found.values())
