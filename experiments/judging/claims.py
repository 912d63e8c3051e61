"""The judge: each published statement against what was measured here.

A verdict is one of four words. The rules, in order:

1. **not testable here**, when no comparison of the statement could be made, since what it needs is
   not measured, or when too many differences are smaller than this run can tell (the bounds are in
   ``evidence``): all of them, or more than half while the others fail; a latency at saturation is a
   backlog and tells nothing, and an absolute value of another machine is shown and not judged. A
   statement marked ``core_per_thread`` is about threads side by side, such as a throughput that
   rises with the number of threads: only points with a core for every thread speak for it or
   against it. What the others show is told in the reason, and is no verdict.
2. **contradicted**, when half of the comparisons or more fail and none holds.
3. **reproduced**, when every comparison holds and nothing limits what that means.
4. **partial**, in every other case: some comparisons hold and others fail, are missing or cannot be
   told; or all hold, and there is a limit. The limits are:

   * *oversubscribed* points (more threads than cores). They time the work of all threads together
     and not what the threads gain side by side. An order seen there is the part of the statement
     that can be tested: it may hold or fail, and holding is never more than partial. So no
     statement about 20 inputs is reproduced on a machine with fewer cores than 21 threads. A trend
     over the inputs or the update threads (monotone, linear, level, no-fall and the like) compares
     points that are crowded differently: with oversubscribed ones it may hold, partial at most, and
     it never fails but is unclear;
   * *noisy* or *saturated* points (saturation is no limit where the statement is about it), and
     points with no steady state;
   * *coarse* points and fewer than three repetitions: no interval stands behind them;
   * a statement of which these figures hold a part (``part_of``).

Numbers that the paper's text has lost are judged by their order alone. Counts are no measurement
of time: no state of the machine limits them, and one repetition is enough.

The measured value of a claim is that of its weakest comparison, the one that speaks least for it.
"""

from __future__ import annotations

import json
import os
from collections import Counter
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import yaml

from experiments import papers
from experiments.declare import Figure
from experiments.judging.comparators import comparators_of
from experiments.judging.evidence import (
    FAILS,
    HOLDS,
    UNCLEAR,
    Evidence,
    Part,
)
from experiments.judging.points import Point, noise_floor, points_of_paper
from experiments.judging.reasons import reason, seen_all_the_same, support
from experiments.records import results
from experiments.records.quantities import quantity
from operators.contract import UsageError

VERDICTS = ("reproduced", "partial", "contradicted", "not testable here")
REPRODUCED, PARTIAL, CONTRADICTED, NOT_TESTABLE = VERDICTS

REPETITIONS_TO_REPRODUCE = 3

# What published.yaml must say, of the paper and of each claim; more is up to its comparator.
SAID = ("paper", "hardware", "variants", "claims")
CLAIMED = (
    "id", "quote", "section", "figures", "quantity", "unit", "value", "comparator", "reads",
)  # fmt: skip


def read_published(paper: str) -> dict[str, Any]:
    """Return the published.yaml of a paper.

    Raises
    ------
    UsageError
        When it cannot be read, lacks something, is another paper's, or a claim names a figure,
        comparator or quantity that is not there.
    """
    path = papers.published_file(paper)
    try:
        published = yaml.safe_load(path.read_text(encoding="utf-8"))
    except (OSError, yaml.YAMLError) as error:
        raise UsageError(f"cannot read published statements {path}: {error}") from error
    _require(path, published, SAID)
    if published["paper"] != paper:
        raise UsageError(f"{path} says that it is of {published['paper']!r}, not of {paper!r}")
    known = comparators_of(paper)
    for place, claim in enumerate(published["claims"], 1):
        _require(f"{path}, claim {place}", claim, CLAIMED)
        try:
            if claim["comparator"] not in known:
                there = ", ".join(sorted(known))
                raise UsageError(f"unknown comparator {claim['comparator']!r}; there are: {there}")
            quantity(claim["quantity"])
            for figure in claim["figures"]:
                papers.figure(paper, figure)
        except UsageError as error:
            raise UsageError(f"{path}, claim {claim['id']!r}: {error}") from error
    return published


def _require(what: object, said: object, names: Iterable[str]) -> None:
    """Raise when `said` lacks one of `names`."""
    lacking = [name for name in names if not isinstance(said, Mapping) or name not in said]
    if lacking:
        raise UsageError(f"{what}: lacks {', '.join(lacking)}")


def judge(paper: str, raw_files: Iterable[str | Path], output: str | Path) -> dict[str, Any]:
    """Judge every claim of a paper by `raw_files` and write the verdicts to `output`.

    Parameters
    ----------
    paper : str
    raw_files : iterable of path
        Finished raw results of one machine.
    output : path
        The verdicts to write, JSON. The file is replaced as a whole.

    Returns
    -------
    dict
        What was written: ``paper``, ``title``, ``verdicts`` (their counts), ``profiles``,
        ``repetitions``, ``machine``, ``processor``, ``cores``, ``noise_floor`` (the ratio that two
        runs of the same thing stay below, or null), ``raw_files`` and ``claims``, each with
        ``verdict``, ``reason``, ``limits``, ``measured``, ``interval``, ``states`` and ``parts``.

    Raises
    ------
    UsageError
        When a file is missing or is not what it should be, or files are of different machines.
    """
    raw_files = sorted(map(Path, raw_files))
    raw = results.read_all(raw_files)
    results.one_machine(raw)
    claims = judge_paper(paper, raw.rows)
    found = Counter(claim["verdict"] for claim in claims)
    verdicts = {
        "paper": paper,
        "title": papers.paper(paper).title,
        "verdicts": {verdict: found[verdict] for verdict in VERDICTS},
        "profiles": sorted({row["profile"] for row in raw.rows}),
        "repetitions": len({row["repetition"] for row in raw.valid}),
        "machine": next(iter(raw.machines), None),
        "processor": next((p.get("cpu_model") for p in raw.provenances.values()), None),
        "cores": min((row["cores"] for row in raw.rows), default=None),
        "noise_floor": noise_floor(raw.rows),
        # From the folder of the verdicts, so that a folder of results can be moved.
        "raw_files": [os.path.relpath(file, Path(output).parent) for file in raw_files],
        "claims": claims,
    }
    text = json.dumps(verdicts, indent=1, ensure_ascii=False, allow_nan=False)
    results.write_whole(output, f"{text}\n".encode())
    return verdicts


def judge_paper(paper: str, rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return the judged claims of a paper, in the order of its published.yaml."""
    published, declared = read_published(paper), papers.paper(paper)
    # A variant that the paper does not show in a figure is drawn in its extended form, not judged.
    lines = {figure.id: figure.lines for figure in declared.figures}
    points = [
        point for point in points_of_paper(rows, declared) if point.variant in lines[point.figure]
    ]
    floor = noise_floor(rows)
    return [
        judge_claim(claim, points, published, declared.figures, floor)
        for claim in published["claims"]
    ]


def judge_claim(
    claim: Mapping[str, Any],
    points: list[Point],
    published: Mapping[str, Any],
    figures: Iterable[Figure],
    floor: float | None = None,
) -> dict[str, Any]:
    """Return `claim` with its verdict.

    Parameters
    ----------
    claim : mapping
        One entry of ``claims`` in `published`.
    points : list of Point
        All points of the paper.
    published : mapping
        The whole published.yaml: the variants' names, the hardware.
    figures : iterable of Figure
        What the paper shows.
    floor : float or None
        The ratio that two runs of the same thing stay below.
    """
    compare = comparators_of(published["paper"])[claim["comparator"]]
    evidence = Evidence.of(points, published["variants"], floor, figures)
    parts, cause = compare(claim, evidence), None
    if claim.get("core_per_thread") and parts:
        alone = [point for point in points if point.threads <= point.cores]
        side_by_side = Evidence.of(alone, published["variants"], floor, figures)
        told = compare(claim, side_by_side)
        if told:
            parts, evidence = told, side_by_side
        else:
            cause = seen_all_the_same(claim, parts)
    missing = evidence.missing
    limits = _limits(claim, parts)
    verdict = NOT_TESTABLE if cause else _verdict(parts, missing, limits)
    weakest = min(parts, key=lambda part: support(claim, part), default=None)
    cores = published["hardware"]["logical_cores"]
    return {
        "id": claim["id"],
        "paper": published["paper"],
        "section": claim["section"],
        "figures": claim["figures"],
        "quote": claim["quote"],
        "assumed": claim.get("assumed"),
        "comparator": claim["comparator"],
        "quantity": claim["quantity"],
        "unit": claim["unit"],
        "value": claim["value"],
        "paper_hardware": f"{published['hardware']['cpu_model']}, {cores} logical cores",
        "verdict": verdict,
        "reason": cause or reason(claim, parts, missing, limits),
        "limits": limits,
        "measured": weakest and weakest.value,
        "measured_what": weakest and weakest.where,
        "interval": [weakest.low, weakest.high] if weakest and weakest.low is not None else None,
        "repetitions": weakest and weakest.repetitions,
        "bound": weakest and weakest.bound,
        "states": sorted({state for part in parts for state in part.states}),
        "parts": [part._asdict() for part in parts],
        "missing": missing,
    }


def _limits(claim: Mapping[str, Any], parts: list[Part]) -> list[str]:
    """Return what keeps a claim whose every comparison holds from being reproduced."""
    limits = []
    if quantity(claim["quantity"]).timed and parts:
        states = {state for part in parts for state in part.states}
        crowded = max(parts, key=lambda part: part.threads / part.cores)
        fewest = min(part.repetitions for part in parts)
        if "oversubscribed" in states:
            limits.append(f"up to {crowded.threads} threads on {crowded.cores} cores")
        if "saturated" in states and claim["comparator"] != "falls-then-rises":
            limits.append("saturated points")
        if "noisy" in states:
            limits.append("noise")
        if "unsteady" in states:
            limits.append("no steady state")
        if "coarse" in states:
            limits.append("coarse points")
        if fewest < REPETITIONS_TO_REPRODUCE:
            limits.append(f"{fewest} repetition{'s' if fewest > 1 else ''}")
    if claim.get("part_of"):
        limits.append(claim["part_of"])
    return limits


def _verdict(parts: list[Part], missing: list[str], limits: list[str]) -> str:
    outcomes = Counter(part.outcome for part in parts)
    told = len(parts) - outcomes[UNCLEAR]
    if told == 0:
        return NOT_TESTABLE
    if outcomes[FAILS] == told:
        return CONTRADICTED if 2 * told >= len(parts) else NOT_TESTABLE
    if outcomes[HOLDS] == len(parts) and not missing and not limits:
        return REPRODUCED
    return PARTIAL


def read_verdicts(path: str | Path) -> dict[str, Any]:
    """Return the verdicts that ``judge`` wrote to `path`.

    Raises
    ------
    UsageError
        When there are none.
    """
    path = Path(path)
    try:
        return json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError as error:
        raise UsageError(f"no verdicts at {path}: measure and judge with `make figures`") from error
    except (OSError, ValueError) as error:
        raise UsageError(f"cannot read verdicts {path} ({error}): judge again") from error


def list_claims(folder: str | Path | None) -> list[dict[str, Any]]:
    """Return every published claim with its verdict, for ``millrace claims`` and ``list claims``.

    Parameters
    ----------
    folder : path or None
        Of verdicts, one file a paper. Where there is none of a paper yet, its claims come with
        ``verdict`` null and a reason that says how to get one.

    Returns
    -------
    list of dict
        At least ``id``, ``paper``, ``section``, ``figures``, ``quote``, ``verdict`` and
        ``reason``, each the same as in the verdicts.
    """
    found = []
    for paper in papers.paper_names():
        file = None if folder is None else Path(folder) / f"{paper}.json"
        if file is not None and file.exists():
            found += read_verdicts(file)["claims"]
        else:
            found += _not_judged(paper)
    return found


def _not_judged(paper: str) -> list[dict[str, Any]]:
    told = ("id", "section", "figures", "quote", "comparator", "quantity", "unit", "value")
    return [
        {
            "paper": paper,
            **{name: claim[name] for name in told},
            "verdict": None,
            "reason": "Not judged yet: run `make figures`.",
        }
        for claim in read_published(paper)["claims"]
    ]
