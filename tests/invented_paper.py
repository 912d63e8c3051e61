"""Invented results in which every published statement of multiway_aggregation holds."""

from __future__ import annotations

from typing import Any

from tests.invented import CURVE, curve, points_by_rate, points_of_durations, points_over

INPUTS = (1, 8, 14, 20)
# Throughput of a query relative to that of k.
SCALES = {
    "13": 1.0,
    "14": 0.3,
    "15": 1.2,
    "16": 0.5,
    "18": 1.0,
    "19": 0.55,
    "20": 1.2,
    "21": 0.6,
    "23": 0.28,
    "25": 0.3,
    "26": 0.15,
}
SENSITIVE = ("13", "14", "18", "19", "23")
# The speed-up of each number of update threads.
SCALING = {1: 1.0, 4: 1.6, 8: 2.4, 12: 2.37}
SCALING_WELL = {1: 1.0, 4: 2.2, 8: 5.4, 12: 5.35}
# Time of a tuple in an input thread, in ns; the output thread's follows from the throughput.
INPUT_NS = {"mq": 400.0, "mqlf": 200.0, "tumlsc": 800.0, "wiml": 3000.0}
# Includes a rate so low that the fastest variant is offered less than the slowest one takes.
RATES = {0.005: 4.0, **CURVE}


def paper_rows(cores: int = 64, repetitions: int = 3, **given: Any) -> list[dict[str, Any]]:
    """Return rows of all figures; the absolute values of figure 7 are the paper's."""
    given = {"repetitions": repetitions, "cores": cores} | given
    return [
        *_sorting(given),
        *_durations_and_rates(given),
        *_by_inputs(given),
        *_update_threads(given),
    ]


def _sorting(given: dict) -> list[dict]:
    gate = {n: ((1.8 + 0.02 * n) * 1e6, 1.0) for n in INPUTS}
    skip_list = {n: (1e6 / (0.6 + n / 300), 1.6) for n in INPUTS}
    return [
        *points_over("7", "t-gate", gate, **given),
        *points_over("7", "skip-list", skip_list, **given),
    ]


def _lines(figure: str) -> dict[str, dict[int, tuple[float, float]]]:
    """Return throughput and latency of each line of a figure over inputs, by inputs."""
    scale, sensitive = SCALES[figure], figure in SENSITIVE
    best = {n: (2.3e6 * scale, 3 / scale) for n in INPUTS}
    if not sensitive:
        best = {n: ((2.45 + 0.06 * n) * 1e6 * scale, 2.5 / scale) for n in INPUTS}
    return {
        "mq": {n: ((2.0 - 0.09 * n) * 1e6 * scale, (1 + n) * 2 / scale) for n in INPUTS},
        "mqlf": {n: ((2.4 - 0.10 * n) * 1e6 * scale, (1 + n) * 1.5 / scale) for n in INPUTS},
        "tumlsc" if sensitive else "wiml": best,
    }


def _durations_and_rates(given: dict) -> list[dict]:
    """Return the rows of figures 8 to 11 that are not shared with figures 14 and 16."""
    rows = []
    for durations, rates, shared in (("8", "9", "14"), ("10", "11", "16")):
        for line, by_inputs in _lines(shared).items():
            throughput, latency = by_inputs[20]
            pair = (INPUT_NS[line], 1e9 / throughput)
            rows += points_of_durations(durations, line, pair, throughput=throughput, **given)
            rows += points_by_rate(line, throughput, curve(latency, RATES), figure=rates, **given)
    return rows


def _by_inputs(given: dict) -> list[dict]:
    rows = []
    for figure in SCALES:
        for line, by_inputs in _lines(figure).items():
            rows += points_over(figure, line, by_inputs, **given)
    # An expensive function leaves little to gain.
    close = {
        "mq": {n: ((1.0 - 0.007 * n) * 3e4, 200.0 + 4 * n) for n in INPUTS},
        "mqlf": {n: ((0.95 - 0.004 * n) * 3e4, 190.0 + 3 * n) for n in INPUTS},
        "tumlsc": {n: (3e4, 160.0) for n in INPUTS},
    }
    for line, by_inputs in close.items():
        rows += points_over("24", line, by_inputs, **given)
    return rows


def _update_threads(given: dict) -> list[dict]:
    rows = []
    for figure in ("28", "29", "30", "31", "32", "33"):
        scaling = SCALING if figure in ("28", "30", "31") else SCALING_WELL
        by_threads = {t: (2e5 * gain, 40.0 / gain) for t, gain in scaling.items()}
        for inputs in (2, 20):
            rows += points_over(figure, "tumlmc", by_threads, at={"inputs": inputs}, **given)
    return rows
