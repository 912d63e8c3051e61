"""Invented raw results in the form of ``experiments.records.columns``, for judge and figures.

A row belongs to no figure: figures that show the same setting share it. So rows invented for one
figure appear in the others too, and ``once`` refuses rows that contradict each other.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from datasets import catalog
from experiments import papers, plan, series
from experiments.declare import LINES, OFFERED_RATE, SIZES, Figure, Series, Sweep
from experiments.judging import claims, fields
from experiments.judging.floors import ENOUGH, Floors
from experiments.judging.points import Point, gather
from experiments.judging.published import Published, claim_of
from experiments.records import columns, results
from operators import registry
from tests.quiet import floors

PAPER = "multiway_aggregation"
DECLARED = {figure.id: figure for figure in papers.paper(PAPER).figures}
PROVENANCE = {
    "id": "0123456789abcdef",
    "cpu_model": "Invented Processor 9000 @ 2.40GHz",
    "cores": 2,
    "kernel": "Linux 6.1 x86_64",
    "settings": {"profile": "quick"},
}
MACHINE, KEY = "invented9000", "ab" * 8
# The fraction of the throughput at which the profile compares latencies.
USUAL = 0.7


def with_every_line(figure: Figure) -> Figure:
    """Return a figure extended to every variant that takes its query, if it shows several."""
    if len(figure.lines) == 1:
        return figure
    family, query = registry.family(figure.family), figure.settings.get("query")
    taken = [
        variant.id
        for variant in registry.variants(figure.family)
        if query is None or family.accepts(variant, str(query)) is None
    ]
    return replace(figure, lines=tuple(dict.fromkeys((*figure.lines, *taken))))


EVERY = {figure.id: with_every_line(figure) for figure in DECLARED.values()}


def row(
    figure: str | Figure,
    line: str,
    x: Any = None,
    at: Mapping[str, Any] | None = None,
    **given: Any,
) -> dict[str, Any]:
    """Return one valid closed row.

    Parameters
    ----------
    figure : str or Figure
        A figure that shows the row.
    line : str
        A series.
    x : int or str, optional
        Value of the figure's swept setting, if there is one.
    at : mapping, optional
        Other settings, by name.
    **given
        Columns that replace the usual ones.
    """
    figure = DECLARED[figure] if isinstance(figure, str) else figure
    line = Series(line)
    swept = {figure.x.setting: x} if isinstance(figure.x, Sweep) else {}
    settings = series.resolved(figure, line, {**swept, **(at or {})})
    role = registry.family(figure.family).role_of(settings)
    cores = given.get("cores", 32)
    inputs = settings.get("inputs", settings.get("sources", 1))
    threads = settings.get("workers", inputs + 1 + settings.get("update_threads", 0))
    started = 1_700_000_000_000_000_000
    filled = {
        "machine": MACHINE,
        "key": KEY,
        "profile": "quick",
        # The smallest size at which the figure has this setting.
        "size": next((size for size in SIZES if figure.declares(settings, size)), "quick"),
        "group": plan.group_name(figure, settings),
        "family": figure.family,
        "variant": line.variant,
        "settings": settings,
        "dataset": role and catalog.generated_for(role),
        "dataset_source": role and "generated",
        "dataset_digest": role and "ab" * 8,
        "phase": "closed",
        "usual_fraction": USUAL,
        "repetition": 1,
        "round": 1,
        "in_flight_tuples": 1_024 * inputs,
        "throughput_tps": 1e6,
        "whole_tps": 0.9e6,
        "tuples": 100_000,
        "seconds": 0.1,
        "outputs": 2_400 if str(settings.get("query")).startswith("k") else 157_000,
        "digest": "5eed",
        "oracle_digest": "5eed",
        "valid": True,
        "invalid_reason": None,
        "steady": True,
        "saturated": False,
        "oversubscribed": threads > cores,
        "noisy": False,
        "threads": threads,
        "cores": cores,
        "pinned": False,
        "sentinel_ns": 1_000_000,
        "sentinel_drift": 0.0,
        "transfer_ns": 60.0,
        "peak_rss_bytes": (300 + inputs) << 20,
        "rss_before_bytes": 300 << 20,
        "state_bytes": inputs << 18,
        "blocked_seconds": 0.0,
        "started_at": started,
        "ended_at": started + 200_000_000,
        "started_monotonic": 0,
        "ended_monotonic": 200_000_000,
        "provenance": PROVENANCE["id"],
    }
    known = columns.of_family(figure.family).values()
    filled |= {c.name: None for c in known if c.absent and c.name not in filled}
    return columns.validate(filled | given)


def open_row(
    figure: str | Figure,
    line: str,
    x: Any,
    latency_ms: float,
    at: Mapping[str, Any] | None = None,
    **given: Any,
) -> dict[str, Any]:
    """Return one valid open row with that mean latency, by default at the usual rate."""
    fraction = given.get("rate_fraction", USUAL)
    latency = {
        "latency_ms_mean": latency_ms,
        "latency_ms_p50": latency_ms * 0.8,
        "latency_ms_p90": latency_ms * 1.6,
        "latency_ms_p99": latency_ms * 3.0,
        "latency_ms_max": latency_ms * 5.0,
        "latency_samples": 50,
    }
    offered = {"phase": "open", "offered_tps": 1e6 * (fraction or 0.5), "rate_fraction": fraction}
    return row(figure, line, x, at, **latency, **(offered | given))


def points_at(
    figure: str | Figure,
    line: str,
    x: Any,
    throughput: float,
    latencies: Mapping[float, float],
    repetitions: int = 3,
    at: Mapping[str, Any] | None = None,
    **given: Any,
) -> list[dict[str, Any]]:
    """Return all runs of one setting: closed, and open at {rate fraction: latency}.

    Each repetition is 1 % off the previous one.
    """
    found = []
    for repetition in range(1, repetitions + 1):
        drift = 1.0 + 0.01 * (repetition - 1)
        common, tps = {"repetition": repetition} | given, throughput * drift
        found.append(row(figure, line, x, at, **common, throughput_tps=tps))
        for fraction, latency in latencies.items():
            offered = {"rate_fraction": fraction, "offered_tps": fraction * tps}
            told = {"saturated": fraction >= 1.0, "throughput_tps": min(fraction, 1.0) * tps}
            found.append(
                open_row(figure, line, x, latency * drift, at, **(offered | told | common))
            )
    return found


def points_over(
    figure: str | Figure,
    line: str,
    by_x: Mapping[Any, tuple[float, float]],
    repetitions: int = 3,
    at: Mapping[str, Any] | None = None,
    **given: Any,
) -> list[dict[str, Any]]:
    """Return closed and open rows from {x: (throughput, latency at the usual rate)}."""
    return [
        each
        for x, (throughput, latency) in by_x.items()
        for each in points_at(
            figure, line, x, throughput, {USUAL: latency}, repetitions, at, **given
        )
    ]


def points_by_rate(
    line: str,
    maximum: float,
    latencies: Mapping[float, float],
    repetitions: int = 3,
    figure: str | Figure = "9",
    **given: Any,
) -> list[dict[str, Any]]:
    """Return the rows of a figure over the rate from {rate fraction: latency}."""
    return points_at(figure, line, None, maximum, latencies, repetitions, **given)


def points_of_durations(
    figure: str,
    line: str,
    durations: tuple[float, float],
    repetitions: int = 3,
    throughput: float | None = None,
    **given: Any,
) -> list[dict[str, Any]]:
    """Return closed and durations rows at 20 inputs from ns of an input and the output thread."""
    tps = 0.9e9 / durations[1] if throughput is None else throughput
    found = points_at(figure, line, None, tps, {}, repetitions, **given)
    for repetition in range(1, repetitions + 1):
        drift = 1.0 + 0.01 * (repetition - 1)
        measured = {"input_ns": durations[0] * drift, "output_ns": durations[1] * drift}
        measured |= {"phase": "durations", "throughput_tps": 0.8 * tps * drift}
        found.append(row(figure, line, **(measured | {"repetition": repetition} | given)))
    return found


def once(rows: Iterable[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return rows without duplicates; rows of one setting must not contradict each other."""
    found: dict[tuple, dict[str, Any]] = {}
    for each in rows:
        place = (*results.row_identity(each), each["key"], each["group"])
        assert found.setdefault(place, each) == each, f"invented twice and differently: {place}"
    return list(found.values())


def write_raw(
    folder: Path, rows: Iterable[dict[str, Any]], provenance: Mapping[str, Any] = PROVENANCE
) -> list[Path]:
    """Write rows as the harness does, a file for each group, key and repetition; name the files."""
    files: dict[Path, list[dict[str, Any]]] = {}
    for each in once(rows):
        path = folder / each["group"] / each["key"] / f"repetition-{each['repetition']}.jsonl"
        files.setdefault(path, [{"provenance": provenance}]).append(each)
    for path, lines in files.items():
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")
    return sorted(files)


# Latency over the rate, relative to the latency at the usual rate.
CURVE = {0.1: 10 / 3, 0.3: 2.0, USUAL: 1.0, 0.9: 1.2, 1.1: 70.0}


def curve(latency: float, shape: Mapping[float, float] = CURVE) -> dict[float, float]:
    """Return {rate fraction: latency} that has `latency` at the usual rate."""
    return {fraction: latency * times for fraction, times in shape.items()}


def as_in_the_paper(cores: int = 32, repetitions: int = 3, **given: Any) -> list[dict[str, Any]]:
    """Return rows in which every statement about MQ, MQLF and TuMLSC holds."""
    given = {"cores": cores, "repetitions": repetitions} | given
    inputs = (1, 8, 14, 20)
    rows = []
    for figure, scale in (("13", 1.0), ("14", 0.3), ("15", 1.2), ("16", 0.5)):
        falling = {n: ((2.0 - 0.09 * n) * 1e6 * scale, (1 + n) * 2 / scale) for n in inputs}
        faster = {n: ((2.4 - 0.10 * n) * 1e6 * scale, (1 + n) * 1.5 / scale) for n in inputs}
        level = {n: (2.3e6 * scale, 3 / scale) for n in inputs}
        for line, by_x in {"mq": falling, "mqlf": faster, "tumlsc": level}.items():
            rows += points_over(figure, line, by_x, **given)
            if figure == "14":
                throughput, latency = by_x[20]
                rows += points_by_rate(line, throughput, curve(latency), **given)
    return rows


def of_every_figure(
    cores: int = 32, repetitions: int = 3, figures: tuple[str, ...] = (), **given: Any
) -> list[dict[str, Any]]:
    """Return rows of every series of `figures`, or of all figures when none is named.

    The series have different throughputs, the first one the lowest.
    """
    given = {"cores": cores, "repetitions": repetitions} | given
    rows = []
    for figure in (DECLARED[name] for name in figures or DECLARED):
        for place, line in enumerate(series.measured(figure)):
            values = {n: _invented(place, n) for n in (1, 4, 20)}
            throughput, latency = values[20]
            if figure.form == "in_flight":
                rows += _in_flight(figure, line, place, **given)
            elif figure.x == LINES:
                ns = (100.0 * (place + 1), 3000.0 / (place + 1))
                rows += points_of_durations(figure.id, line, ns, throughput=throughput, **given)
            elif figure.x == OFFERED_RATE:
                shares = {each: CURVE[each] for each in (0.1, USUAL, 1.1)}
                rates = curve(latency, shares)
                rows += points_by_rate(line, throughput, rates, figure=figure.id, **given)
            elif figure.sweeps:
                for inputs in (2, 20):
                    values = {t: ((1e6 + 1e6 * t) / inputs, 40.0 / t) for t in (1, 4, 12)}
                    rows += points_over(figure.id, line, values, at={"inputs": inputs}, **given)
            else:
                shown = values if line in figure.lines else {20: values[20]}
                rows += points_over(figure.id, line, shown, **given)
                rows += at_common_rate(figure.id, line, 20, 1.2 * latency, **given)
    return rows


def at_common_rate(
    figure: str | Figure, line: str, x: Any, latency: float, repetitions: int = 3, **given: Any
) -> list[dict[str, Any]]:
    """Return the runs of one setting at the rate common to its rivals, half a million tuples/s."""
    return [
        open_row(
            figure, line, x, latency, repetition=repetition, phase="common", rate_fraction=None,
            offered_tps=5e5, **given,
        )
        for repetition in range(1, repetitions + 1)
    ]  # fmt: skip


def _in_flight(figure: Figure, line: str, place: int, **given: Any) -> list[dict[str, Any]]:
    """Return rows of a series over tuples in flight, equal to those of other figures."""
    query = figure.settings["query"]
    sharing = (each for each in DECLARED.values() if each.settings.get("query") == query)
    known = series.measured(max(sharing, key=lambda each: isinstance(each.x, Sweep)))
    place = known.index(line) if line in known else len(known) + place
    throughput, latency = _invented(place, 20)
    return points_at(figure, line, None, throughput, {USUAL: latency}, **given)


def _invented(place: int, inputs: int) -> tuple[float, float]:
    """Return throughput and latency of the `place`-th series at a number of inputs."""
    falling = 1 - 0.02 * inputs * (place == 0)
    return (1.0 + 0.7 * place) * 1e6 * falling, 12.0 / (1 + place) * inputs


PUBLISHED = {
    "paper": PAPER,
    "variants": dict(mq="MQ", mqlf="MQLF", tumlsc="TuMLSC", tumlmc="TuMLMC", wiml="WiML"),
    "hardware": {"cpu_model": "Xeon", "logical_cores": 24},
}


def claim_about(**given: Any) -> dict[str, Any]:
    """Return a claim about k-OS, throughput higher at 20 inputs, as a file has it.

    `given` replaces fields; a field given as None is left out, except the value.
    """
    said = {
        "id": "a-claim",
        "quote": "words",
        "section": "7",
        "figures": ["13"],
        "kind": "result",
        "quantity": "throughput_tps",
        "unit": "times",
        "value": None,
        "comparator": "ordering",
        "direction": "higher",
        "reads": {"variants": ["tumlsc"], "rivals": ["mq"], "at": {"inputs": 20}},
    } | given
    return {name: each for name, each in said.items() if each is not None or name == "value"}


def points_in(figure: str | Figure, rows: Iterable[dict[str, Any]]) -> list[Point]:
    """Return the points of a figure that shows every variant."""
    return gather(once(rows), EVERY[figure] if isinstance(figure, str) else figure)


def equal_runs(times: float = 1.0, latency: float = 1.0, **given: Any) -> list[dict[str, Any]]:
    """Return as many equal runs as noise floors need, of a setting that no figure shows.

    The throughputs of successive rounds differ by `times`, the latencies by `latency`; processes
    do not differ. With two cores, the runs with 20 inputs are oversubscribed.
    """
    at, rows = {"ahead": 64}, []
    for number in range(1, ENOUGH + 2):
        own, odd = {"repetition": 1, "round": number} | given, number % 2
        for inputs in (1, 20):
            slow = 1e6 / times**odd
            rows.append(row("13", "mq", inputs, at, throughput_tps=slow, **own))
            rows.append(open_row("13", "mq", inputs, 5.0 * latency**odd, at, **own))
    rows += [
        row("13", "mq", 1, at, phase="reference", group=f"group-{n}", **given) for n in range(7)
    ]
    return rows


def judged(rows: list[dict[str, Any]], floor: Floors | None = None, **claim: Any) -> dict[str, Any]:
    """Return the verdict on ``claim_about(**claim)``, where each figure shows every variant.

    By default equal runs are equal: the noise floor is 1.
    """
    asked = claim_about(**claim)
    points = [point for figure in asked["figures"] for point in points_in(figure, rows)]
    said = claim_of(PAPER, asked)
    floor = floors() if floor is None else floor
    return claims.judge_claim(said, points, invented_published(), EVERY.values(), floor)


def invented_published() -> Published:
    """Return ``PUBLISHED`` without a claim."""
    return fields.read(Published, PUBLISHED | {"claims": []})


def two(mq: float = 1e6, tumlsc: float = 2e6, **given: Any) -> list[dict[str, Any]]:
    """Return MQ and TuMLSC at 20 inputs with these throughputs and a latency of 5 ms."""
    return points_over("13", "mq", {20: (mq, 5.0)}, **given) + points_over(
        "13", "tumlsc", {20: (tumlsc, 5.0)}, **given
    )
