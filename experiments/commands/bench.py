"""``millrace bench``: one point of one variant, or of several in turn with their ratios."""

from __future__ import annotations

import argparse
import itertools
import json
import os
import subprocess
import sys
from collections.abc import Mapping, Sequence
from typing import Any

from experiments.commands.output import print_columns, print_json
from experiments.commands.repetition import Spec, measure_each
from experiments.commands.settings import check, ensure_dataset, split_settings
from experiments.records import statistics
from experiments.text import si
from experiments.timing import machine
from experiments.timing.threads import check_rate, check_seconds
from operators import registry
from operators.contract import UsageError
from operators.running.interrupts import raise_as_of
from operators.running.run_threads import RunFailed

# One process says nothing about the next; from six on there is a confidence interval.
REPETITIONS_TO_COMPARE = statistics.PROCESSES_FOR_AN_INTERVAL
FLAGS = ("oversubscribed", "saturated", "noisy")


def run(options: argparse.Namespace) -> int:
    """Measure and print; return 1 if a run failed or an output was wrong."""
    spec, repeat = make_spec(options)
    try:
        repetitions = _repetitions(spec, repeat)
    except RunFailed as error:
        print(f"millrace: {error}", file=sys.stderr)
        return 1
    results = [combined([one[place] for one in repetitions]) for place in range(len(spec.variants))]
    for result in results:
        result["family"] = registry.called(result["family"])
    ratios = _ratios(results)
    if options.json:
        print_json(results[0] if len(results) == 1 else {"results": results, "ratios": ratios})
    else:
        for result in results:
            _show(result)
        _show_ratios(ratios)
    for result in results:
        if not result["valid"]:
            print(f"millrace: {result['variant']}: {result['invalid_reason']}", file=sys.stderr)
    return 0 if all(result["valid"] for result in results) else 1


def make_spec(options: argparse.Namespace) -> tuple[Spec, int]:
    """Check the options and return the points to measure and the number of repetitions.

    Raises
    ------
    UsageError
        When something is unknown or out of its limits; nothing is compiled or generated before.
    """
    variants = [registry.named(options.family, one) for one in options.variants]
    repeated = [one for one in options.variants if options.variants.count(one) > 1]
    if repeated:
        raise UsageError(f"variant {repeated[0]!r} was given twice; use --repeat N to repeat")
    family = variants[0].family
    strangers = [one.id for one in variants if one.family != family]
    if strangers:
        raise UsageError(
            f"{variants[0].id} and {strangers[0]} take other data and settings, so that nothing"
            f" compares them; with {variants[0].id} give some of:"
            f" {', '.join(one.id for one in registry.variants(family))}"
        )
    rate = "max" if check_rate(options.rate) is None else float(options.rate)
    check_seconds(options.seconds, "--seconds")
    repeat = options.repeat
    if repeat is None:
        repeat = 1 if len(variants) == 1 else REPETITIONS_TO_COMPARE
    if repeat < 1:
        raise UsageError(f"--repeat must be at least 1, received {repeat}")
    settings = split_settings(options.set, variants)
    for variant, given in zip(variants, settings, strict=True):
        check(variant, given)
    ensure_dataset(family, settings[0])
    chosen = [(one.id, given) for one, given in zip(variants, settings, strict=True)]
    return Spec(family, chosen, rate, options.seconds), repeat


def _repetitions(spec: Spec, repeat: int) -> list[list[dict[str, Any]]]:
    if repeat == 1:
        return [measure_each(spec)]
    return [_in_fresh_process(spec._replace(number=n + 1, of=repeat)) for n in range(repeat)]


def _in_fresh_process(spec: Spec) -> list[dict[str, Any]]:
    """Measure `spec` in a fresh process, which shares our stderr and the live line."""
    path = os.pathsep.join(filter(None, [str(machine.ROOT), os.environ.get("PYTHONPATH")]))
    done = subprocess.run(
        [sys.executable, "-m", "experiments.commands.repetition", json.dumps(spec._asdict())],
        stdout=subprocess.PIPE,
        env={**os.environ, "PYTHONPATH": path},
        check=False,
    )
    raise_as_of(done.returncode)
    if done.returncode != 0:
        raise RunFailed(f"repetition {spec.number} ended with status {done.returncode}")
    answer = json.loads(done.stdout)
    if "refused" in answer:
        raise UsageError(answer["refused"])
    if "failed" in answer:
        raise RunFailed(f"repetition {spec.number}: {answer['failed']}")
    for result in answer["results"]:
        result["provenance"]["argv"] = list(sys.argv)
    return answer["results"]


def combined(runs: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """Return one object for the repetitions of a variant.

    Throughput and latency are geometric means; a state holds if it held in any repetition; values
    of a single run (tuples, digest, seconds) are those of the run with the median throughput.

    Parameters
    ----------
    runs : sequence of dict
        At least one, all of one variant.
    """
    invalid = [run for run in runs if not run["valid"]]
    by_rate = sorted(runs, key=lambda run: run["throughput_tps"] or 0.0)
    result = dict(invalid[0] if invalid else by_rate[(len(runs) - 1) // 2])
    result["samples"] = [sample for run in runs for sample in run["samples"]]
    result["repetitions"] = len(runs)
    if len(runs) == 1 or invalid:
        return result
    result["throughput_tps"] = _spread(result["samples"]).value
    with_latency = [run["latency_ms"] for run in runs if run["latency_ms"] is not None]
    if with_latency:
        result["latency_ms"] = {
            name: _spread([one[name] for one in with_latency]).value for name in with_latency[0]
        }
    for flag in FLAGS:
        result[flag] = any(run[flag] for run in runs)
    return result


def _ratios(results: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Return the ratio of throughputs of each pair, paired process by process."""
    return [
        {
            "variants": [above["variant"], below["variant"]],
            "throughput_tps": statistics.ratio(
                _by_process(above["samples"]), _by_process(below["samples"])
            )._asdict(),
        }
        for above, below in itertools.combinations(results, 2)
        if above["valid"] and below["valid"]
    ]


def _by_process(samples: Sequence[float]) -> dict[tuple[int, int], float]:
    """Return samples by (process, round): each process measured one sample, in one round."""
    return {(process, 1): sample for process, sample in enumerate(samples, 1)}


def _spread(samples: Sequence[float]) -> statistics.Spread:
    return statistics.spread(_by_process(samples))


def _show(result: Mapping[str, Any]) -> None:
    what = [result["family"], result["variant"]]
    what += [result["dataset"]] if result["dataset"] is not None else []
    settings = " ".join(f"{name}={value}" for name, value in sorted(result["settings"].items()))
    print(f"{' '.join(what)}, {result['threads']} threads, {settings}")
    middle = _spread(result["samples"]) if result["throughput_tps"] else None
    rate = f"{si(result['throughput_tps'])}tuples/s" if middle else "none"
    if middle and middle.low is not None:
        low, high = si(middle.low).strip(), si(middle.high).strip()
        rate += f" [{low}, {high}], {middle.kind}"
    rows = [("throughput", rate)]
    latency = result["latency_ms"]
    if latency is not None:
        shown = ", ".join(f"{name} {value:.3g}" for name, value in latency.items())
        rows.append(("latency", f"{shown} ms"))
    if result.get("speed_up"):
        # A cheap pipeline depends on it more than on anything else.
        way = result["transfer_ns"]
        told = f"{result['speed_up']:.3g} times the serial loop"
        far = "" if way is None else f"; a cache line takes {way:.0f} ns from core to core"
        rows.append(("speed-up", told + far))
    rows.append(("run", f"{result['tuples']} tuples in {result['seconds']:.3g} s,"
                        f" {result['outputs']} out, digest {result['digest']}"))  # fmt: skip
    rows += [("memory", told)] if (told := _memory(result)) else []
    states = [flag for flag in FLAGS if result[flag]]
    rows.append(("state", ", ".join(["valid" if result["valid"] else "INVALID", *states])))
    print_columns(rows)


def _memory(result: Mapping[str, Any]) -> str:
    """Return the memory of a run in words; empty where the system and the family do not tell."""
    parts = []
    if (peak := result["peak_rss_bytes"]) is not None:
        more = max(peak - result["rss_before_bytes"], 0)
        parts.append(f"peak {si(peak)}B resident, {si(more)}B of it since the run began")
    if result["state_bytes"] is not None:
        parts.append(f"state {si(result['state_bytes'])}B")
    return ", ".join(parts)


def _show_ratios(ratios: Sequence[Mapping[str, Any]]) -> None:
    for ratio in ratios:
        above, below = ratio["variants"]
        found = ratio["throughput_tps"]
        told = f"{above} / {below}: {found['value']:.3f} times the throughput"
        if found["low"] is not None:
            told += f" [{found['low']:.3f}, {found['high']:.3f}], {found['kind']}"
        print(told)
