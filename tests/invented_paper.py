"""Invented results in which every published statement of multiway_aggregation holds."""

from __future__ import annotations

from tests.invented import points_by_inputs, points_by_rate, points_of_durations

INPUTS = (1, 8, 14, 20)
# Throughput of a query over that of k.
SCALES = {
    "fig_13": 1.0,
    "fig_14": 0.3,
    "fig_15": 1.2,
    "fig_16": 0.5,
    "fig_18": 1.0,
    "fig_19": 0.55,
    "fig_20": 1.2,
    "fig_21": 0.6,
    "fig_23": 0.28,
    "fig_25": 0.3,
    "fig_26": 0.15,
}
# What each number of update threads gains.
SCALING = {1: 1.0, 4: 1.6, 8: 2.4, 12: 2.37}
SCALING_WELL = {1: 1.0, 4: 2.2, 8: 5.4, 12: 5.35}
RATES = {0.1: 20.0, 0.3: 12.0, 0.7: 6.0, 0.9: 7.0, 1.1: 400.0}


def paper_rows(cores: int = 64, repetitions: int = 3, **given) -> list[dict]:
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
        *points_by_inputs("fig_07", "t-gate", gate, **given),
        *points_by_inputs("fig_07", "skip-list", skip_list, **given),
    ]


def _durations_and_rates(given: dict) -> list[dict]:
    rows = []
    durations = {"mq": (400.0, 5000.0), "mqlf": (200.0, 2500.0), "tumlsc": (800.0, 1100.0)}
    for variant, pair in durations.items():
        rows += points_of_durations("fig_08", variant, pair, **given)
    for variant, pair in (durations | {"wiml": (3000.0, 400.0)}).items():
        if variant != "tumlsc":
            rows += points_of_durations("fig_10", variant, pair, **given)
    low = {share: ms / 5 for share, ms in RATES.items()}
    for variant, maximum, curve in (("mq", 2e5, RATES), ("mqlf", 4e5, RATES), ("tumlsc", 9e5, low)):
        rows += points_by_rate(variant, maximum, curve, **given)
    for variant, maximum, curve in (("mq", 2.5e5, RATES), ("mqlf", 5e5, RATES), ("wiml", 2e6, low)):
        rows += points_by_rate(variant, maximum, curve, figure="fig_11", **given)
    return rows


def _by_inputs(given: dict) -> list[dict]:
    rows = []
    for figure, scale in SCALES.items():
        sensitive = figure in ("fig_13", "fig_14", "fig_18", "fig_19", "fig_23")
        best = {n: (2.3e6 * scale, 3 / scale) for n in INPUTS}
        if not sensitive:
            best = {n: ((2.45 + 0.06 * n) * 1e6 * scale, 2.5 / scale) for n in INPUTS}
        series = {
            "mq": {n: ((2.0 - 0.09 * n) * 1e6 * scale, (1 + n) * 2 / scale) for n in INPUTS},
            "mqlf": {n: ((2.4 - 0.10 * n) * 1e6 * scale, (1 + n) * 1.5 / scale) for n in INPUTS},
            "tumlsc" if sensitive else "wiml": best,
        }
        for variant, by_inputs in series.items():
            rows += points_by_inputs(figure, variant, by_inputs, **given)
    # A dear function leaves little to gain.
    close = {
        "mq": {n: ((1.0 - 0.007 * n) * 3e4, 200.0 + 4 * n) for n in INPUTS},
        "mqlf": {n: ((0.95 - 0.004 * n) * 3e4, 190.0 + 3 * n) for n in INPUTS},
        "tumlsc": {n: (3e4, 160.0) for n in INPUTS},
    }
    for variant, by_inputs in close.items():
        rows += points_by_inputs("fig_24", variant, by_inputs, **given)
    return rows


def _update_threads(given: dict) -> list[dict]:
    rows = []
    for figure in ("fig_28", "fig_29", "fig_30", "fig_31", "fig_32", "fig_33"):
        scaling = SCALING if figure in ("fig_28", "fig_30", "fig_31") else SCALING_WELL
        for threads, gain in scaling.items():
            by_inputs = {n: (2e5 * gain, 40.0 / gain) for n in (2, 20)}
            rows += points_by_inputs(figure, "tumlmc", by_inputs, update_threads=threads, **given)
    return rows
