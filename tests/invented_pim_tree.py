"""Invented raw results of the fourth paper's figures, for judge, figures and notebook."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import product
from typing import Any

from datasets.band_join_keys.keys import PHASES
from experiments import papers, series
from experiments.declare import Figure, Series
from experiments.families.join.bench import FILLED, PARTS_A_WINDOW
from experiments.families.join.columns import (
    ALONG,
    STEP_NAMES,
    STEPS,
    TASK_RANKS,
    TASK_TIMES,
    TASKS,
)
from experiments.records import quantities
from tests.invented import row

PAPER, SUBINDEXES = "pim_tree", 64
# Cores of the machine of the invented rows.
CORES = 32
DECLARED = {figure.id: figure for figure in papers.paper(PAPER).figures}


def places_of(figure: Figure, size: str = "quick") -> list[dict[str, Any]]:
    """Return the swept settings of a figure, each combination."""
    names = [sweep.setting for sweep in figure.free]
    values = product(*(sweep.values[size] for sweep in figure.free))
    return [dict(zip(names, each, strict=True)) for each in values]


def insert_shares(drift: float) -> list[float]:
    """Return shares of 64 subindexes: equal without a drift, all in one of them at r = 1."""
    equal = [(1 - drift) / SUBINDEXES] * SUBINDEXES
    equal[SUBINDEXES // 2] += drift
    return equal


def along_stream(drift: float, throughput: float) -> dict[str, list[float]]:
    """Return the throughput of each part: it falls with r while keys drift, and recovers."""
    begin, end = PHASES[0], PHASES[0] + PHASES[1]
    parts = (sum(PHASES) - FILLED) * PARTS_A_WINDOW
    place = [FILLED + (part + 0.5) / PARTS_A_WINDOW for part in range(parts)]
    share = [1 - 0.8 * drift if begin < each < end else 1.0 for each in place]
    return {"place": place, "tps": [throughput * each for each in share]}


def rows_at(
    figure: str | Figure,
    line: str,
    at: Mapping[str, Any],
    throughput: float = 1e6,
    step_ns: float = 100.0,
    repetitions: int = 1,
    **given: Any,
) -> list[dict[str, Any]]:
    """Return the rows of one setting, with all columns that the family's quantities need."""
    figure = DECLARED[figure] if isinstance(figure, str) else figure
    at = dict(at)
    x = at.pop(figure.x.setting, None) if hasattr(figure.x, "setting") else None
    window, merged = at.get("window", x), "im-tree" in line
    named = {**at, **({figure.x.setting: x} if hasattr(figure.x, "setting") else {})}
    threads = series.resolved(figure, Series(line), named).get("threads", 1)
    drifts = figure.settings.get("keys") == "drift"
    footprint = {"search": 0, "insert": 14 * window, "buffer": 0, "window": 8 * window}
    if merged:
        footprint |= {"search": 9 * window, "buffer": 9 * window}
    seen = {
        "threads": threads,
        "oversubscribed": threads > given.get("cores", CORES),
        "in_flight_tuples": None,
        "half_width": 2_147,
        "footprint": footprint,
        "merge_seconds": 0.01 if merged else 0.0,
        "inserts": {"shares": insert_shares(x)} if drifts else None,
        "busiest_share": 0.3 if drifts else None,
        "idle_share": 0.1 if drifts else None,
    }
    found = []
    for repetition in range(1, repetitions + 1):
        own = {"repetition": repetition, "throughput_tps": throughput, **seen, **given}
        found.append(row(figure, line, x, at, **own))
        if STEPS in quantities.phases_of(figure):
            seconds = {name: n * step_ns / 1e6 for n, name in enumerate(STEP_NAMES, start=1)}
            own |= {"phase": STEPS, "step_seconds": seconds, "stamped": 1_000}
            found.append(row(figure, line, x, at, **own))
        if TASKS in quantities.phases_of(figure):
            ranks = {"mean": 1.0, "p50": 0.8, "p99": 4.0}
            times = {
                f"{name}_us_{rank}": n * ranks[rank] * step_ns * named["task_size"] / 1e3
                for n, name in enumerate(TASK_TIMES, start=1)
                for rank in TASK_RANKS
            }
            found.append(
                row(
                    figure,
                    line,
                    x,
                    at,
                    **{**own, "phase": TASKS, **times},
                )
            )
        if ALONG in quantities.phases_of(figure):
            along = {"phase": ALONG, "along_stream": along_stream(x, throughput)}
            found.append(row(figure, line, x, at, **{**own, **along}))
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
