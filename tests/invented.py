"""Invented raw results in the form of ``experiments.records.columns``, for judge and figures."""

from __future__ import annotations

import json
from pathlib import Path

from experiments.judging import claims
from experiments.judging.points import gather
from experiments.multiway_aggregation.figures import FIGURES
from experiments.records import columns

DECLARED = {figure.id: figure for figure in FIGURES}
PROVENANCE = {
    "id": "0123456789abcdef",
    "cpu_model": "Invented Processor 9000 @ 2.40GHz",
    "cores": 2,
    "kernel": "Linux 6.1 x86_64",
    "settings": {"profile": "quick"},
}


def row(figure: str, variant: str, inputs: int, **given) -> dict:
    """Return one valid closed row; `given` replaces columns."""
    query = DECLARED[figure].query
    gate = not query
    keys = "smart_meter" if DECLARED[figure].role == "meters" else "soundcloud"
    cores = given.get("cores", 32)
    threads = inputs + 1 + (given.get("update_threads") or 0)
    started = 1_700_000_000_000_000_000
    filled = {
        "paper": "multiway_aggregation",
        "figure": figure,
        "profile": "quick",
        "family": DECLARED[figure].family,
        "variant": variant,
        "query": None if gate else query,
        "dataset": None if gate else keys,
        "dataset_source": None if gate else "generated",
        "dataset_digest": None if gate else "ab" * 8,
        "inputs": inputs,
        "ahead": 1024,
        "parameters": "",
        "phase": "closed",
        "repetition": 1,
        "seed": 1,
        "throughput_tps": 1e6,
        "tuples": 100_000,
        "seconds": 0.1,
        "outputs": 2_400 if query.startswith("k") else 157_000,
        "winsets": 50,
        "digest": "5eed",
        "oracle_digest": "5eed",
        "valid": True,
        "invalid_reason": None,
        "steady": True,
        "saturated": False,
        "oversubscribed": threads > cores,
        "noisy": False,
        "coarse": False,
        "threads": threads,
        "cores": cores,
        "pinned": False,
        "sentinel_drift": 0.0,
        "blocked_seconds": 0.0,
        "started_at": started,
        "ended_at": started + 200_000_000,
        "started_monotonic": 0,
        "ended_monotonic": 200_000_000,
        "provenance": PROVENANCE["id"],
    }
    filled |= {c.name: None for c in columns.COLUMNS if c.absent and c.name not in filled}
    merged = filled | given
    return columns.validate({"series": merged["variant"], **merged})


def open_row(figure: str, variant: str, inputs: int, latency_ms: float, **given) -> dict:
    """Return one valid open row at 0.7 of the maximum throughput with that mean latency."""
    fraction = given.get("rate_fraction", 0.7)
    latency = {
        "latency_ms_mean": latency_ms,
        "latency_ms_p50": latency_ms * 0.8,
        "latency_ms_p90": latency_ms * 1.6,
        "latency_ms_p99": latency_ms * 3.0,
        "latency_ms_max": latency_ms * 5.0,
        "latency_samples": 50,
    }
    offered = {"phase": "open", "offered_tps": 1e6 * fraction, "rate_fraction": fraction}
    return row(figure, variant, inputs, **latency, **(offered | given))


def points_by_inputs(
    figure: str, variant: str, by_inputs: dict[int, tuple[float, float]], repetitions=3, **given
) -> list[dict]:
    """Return closed and open rows from {inputs: (throughput, latency)}, 1 % apart a repetition."""
    found = []
    for repetition in range(1, repetitions + 1):
        drift = 1.0 + 0.01 * (repetition - 1)
        for inputs, (throughput, latency) in by_inputs.items():
            common = {"repetition": repetition} | given
            tps = throughput * drift
            found.append(row(figure, variant, inputs, **common, throughput_tps=tps))
            offered = {"offered_tps": 0.7 * tps, "throughput_tps": 0.7 * tps}
            found.append(open_row(figure, variant, inputs, latency * drift, **common, **offered))
    return found


def points_by_rate(
    variant: str,
    maximum: float,
    latencies: dict[float, float],
    repetitions=3,
    figure="fig_09",
    **given,
) -> list[dict]:
    """Return the rows of a figure over the rate from {rate fraction: latency}."""
    found = []
    for repetition in range(1, repetitions + 1):
        common = {"repetition": repetition} | given
        found.append(row(figure, variant, 20, **common, throughput_tps=maximum))
        for fraction, latency in latencies.items():
            offered = {"offered_tps": fraction * maximum, "rate_fraction": fraction}
            drift = 1.0 + 0.01 * (repetition - 1)
            beyond = {"saturated": fraction >= 1.0}
            found.append(
                open_row(figure, variant, 20, latency * drift, **(offered | beyond | common))
            )
    return found


def points_of_durations(
    figure: str, variant: str, durations: tuple[float, float], repetitions=3, **given
) -> list[dict]:
    """Return closed and durations rows at 20 inputs from ns of an input and the output thread."""
    found = []
    for repetition in range(1, repetitions + 1):
        drift = 1.0 + 0.01 * (repetition - 1)
        common = {"repetition": repetition} | given
        tps = 0.9e9 / durations[1] * drift
        found.append(row(figure, variant, 20, **common, throughput_tps=tps))
        measured = {"input_ns": durations[0] * drift, "output_ns": durations[1] * drift}
        measured |= {"phase": "durations", "throughput_tps": 0.8 * tps}
        found.append(row(figure, variant, 20, **(measured | common)))
    return found


def write_raw(folder: Path, rows: list[dict], provenance: dict | None = None) -> list[Path]:
    """Write rows as the harness does, a file for each figure and repetition, and name the files."""
    written = []
    for figure, repetition in sorted({(r["figure"], r["repetition"]) for r in rows}):
        profile = rows[0]["profile"]
        path = folder / profile / "multiway_aggregation" / figure / f"repetition-{repetition}.jsonl"
        path.parent.mkdir(parents=True, exist_ok=True)
        members = [r for r in rows if (r["figure"], r["repetition"]) == (figure, repetition)]
        lines = [{"provenance": provenance or PROVENANCE}, *members]
        path.write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")
        written.append(path)
    return written


def as_in_the_paper(cores: int = 32, repetitions: int = 3, **given) -> list[dict]:
    """Return rows in which every statement about MQ, MQLF and TuMLSC holds."""
    given = {"cores": cores} | given
    inputs = (1, 8, 14, 20)
    rows = []
    for figure, scale in (("fig_13", 1.0), ("fig_14", 0.3), ("fig_15", 1.2), ("fig_16", 0.5)):
        falling = {n: ((2.0 - 0.09 * n) * 1e6 * scale, (1 + n) * 2 / scale) for n in inputs}
        faster = {n: ((2.4 - 0.10 * n) * 1e6 * scale, (1 + n) * 1.5 / scale) for n in inputs}
        level = {n: (2.3e6 * scale, 3 / scale) for n in inputs}
        series = {"mq": falling, "mqlf": faster, "tumlsc": level}
        for variant, by_inputs in series.items():
            rows += points_by_inputs(figure, variant, by_inputs, repetitions, **given)
    curve = {0.1: 20.0, 0.3: 12.0, 0.7: 6.0, 0.9: 7.0, 1.1: 400.0}
    for variant, maximum in (("mq", 2e5), ("mqlf", 4e5), ("tumlsc", 9e5)):
        rows += points_by_rate(variant, maximum, curve, repetitions, **given)
    return rows


def of_every_figure(
    cores: int = 32, repetitions: int = 3, figures: tuple[str, ...] = (), **given
) -> list[dict]:
    """Return rows of every series of `figures`, of all when none is named.

    Each series has a throughput of its own, the first one the lowest.
    """
    given = {"cores": cores} | given
    curve = {0.1: 20.0, 0.7: 6.0, 1.1: 400.0}
    rows = []
    for figure in (DECLARED[name] for name in figures or DECLARED):
        for place, series in enumerate(figure.measured):
            own = {"series": series, "variant": series.partition(":")[0]} | given
            variant = own.pop("variant")
            tps, ms = (1.0 + 0.7 * place) * 1e6, 12.0 / (1 + place)
            if figure.axis == "durations":
                ns = (100.0 * (place + 1), 3000.0 / (place + 1))
                rows += points_of_durations(figure.id, variant, ns, repetitions, **own)
            elif figure.axis == "rate":
                rows += points_by_rate(variant, tps, curve, repetitions, figure.id, **own)
            elif figure.axis == "inputs":
                counts = (1, 4, 20) if series in figure.variants else (20,)
                values = {n: (tps * (1 - 0.02 * n * (place == 0)), ms * n) for n in counts}
                rows += points_by_inputs(figure.id, variant, values, repetitions, **own)
            else:
                for threads, inputs in ((t, i) for t in (1, 4, 12) for i in figure.inputs):
                    values = {inputs: (tps * (1 + threads) / inputs, 40.0 / threads)}
                    own["update_threads"] = threads
                    rows += points_by_inputs(figure.id, variant, values, repetitions, **own)
    return rows


PUBLISHED = {
    "paper": "multiway_aggregation",
    "variants": {
        "mq": "MQ",
        "mqlf": "MQLF",
        "tumlsc": "TuMLSC",
        "tumlmc": "TuMLMC",
        "wiml": "WiML",
    },
    "hardware": {"cpu_model": "Xeon", "logical_cores": 24},
    # Every figure shows every variant.
    "figures": {},
}


def claim_about(**given) -> dict:
    """Return a claim about k-OS, throughput higher at 20 inputs; `given` replaces fields."""
    return {
        "id": "a-claim",
        "quote": "words",
        "section": "7",
        "figures": ["fig_13"],
        "quantity": "throughput_tps",
        "unit": "times",
        "value": None,
        "comparator": "ordering",
        "direction": "higher",
        "reads": {"variants": ["tumlsc"], "rivals": ["mq"], "inputs": 20},
    } | given


def judged(rows: list[dict], floor: float | None = None, **claim) -> dict:
    """Return the verdict on ``claim_about(**claim)``."""
    return claims.judge_claim(claim_about(**claim), gather(rows), PUBLISHED, floor)


def two(mq=1e6, tumlsc=2e6, **given):
    """Return MQ and TuMLSC at 20 inputs with these throughputs and a latency of 5 ms."""
    return points_by_inputs("fig_13", "mq", {20: (mq, 5.0)}, **given) + points_by_inputs(
        "fig_13", "tumlsc", {20: (tumlsc, 5.0)}, **given
    )
