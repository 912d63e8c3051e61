"""The judge: each published statement, and each finding, against what was measured here.

A verdict answers several questions apart and never mixes them:

* **direction**: does the statement hold here? *holds*, *does not hold*, *mixed* or *cannot tell*,
  from the pooled log ratio of its pairs, with the count of their signs beside it. The rule is in
  ``pool``, what a pair is in ``pairs``;
* **size**: how large it is here and in the paper, where the paper gives a number. It changes no
  direction, and neither do the badges;
* **regime**, a badge: threads on cores, here and in the paper. A trend that fails with more threads
  than cores does not hold on these cores;
* **evidence**, a badge: processes, noise, and how many settings kept up;
* **kind**: only results count. What the paper expects, defines or says to be its purpose is judged
  and shown, and so is what our own generators make true.

Statements stand under ``findings``, the questions of a reader; the headline counts these. Numbers
that the paper's text has lost are judged by their order alone.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from experiments import papers
from experiments.declare import Figure
from experiments.judging import badges, findings, trends
from experiments.judging.claim_types import REQUIRED, Claim
from experiments.judging.comparators import comparators_of
from experiments.judging.floors import Floors, floors_of
from experiments.judging.lookup import Lookup
from experiments.judging.pairs import part_of
from experiments.judging.points import Point, points_of_paper
from experiments.judging.pool import pooled
from experiments.judging.published import Published, read_published
from experiments.judging.reasons import reason
from experiments.records import results
from experiments.records.quantities import quantity
from operators.contract import UsageError

NOT_JUDGED = "Not judged yet: run `make figures`."


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
        What was written: ``paper``, ``title``, ``headline``, ``answers`` (how many findings have
        which), ``profiles``, ``processes``, ``machine``, ``processor``, ``cores``, ``floors`` (what
        equal runs differ by: ``of`` throughput or latency, ``crowded`` or not, ``factor``,
        ``pairs``), ``raw_files``, ``findings`` (see ``findings.findings_of``) and ``claims`` (see
        ``judge_claim``).

    Raises
    ------
    UsageError
        When a file is missing or is not what it should be, or files are of different machines.
    """
    raw_files = sorted(map(Path, raw_files))
    raw = results.read_all(raw_files)
    results.one_machine(raw)
    claims = judge_paper(paper, raw.rows)
    found = findings.findings_of(paper, read_published(paper).findings, claims)
    answers = findings.tally(found)
    verdicts = {
        "paper": paper,
        "title": papers.paper(paper).title,
        "headline": findings.headline(answers),
        "answers": answers,
        "profiles": sorted({row["profile"] for row in raw.rows}),
        "processes": len({row["repetition"] for row in raw.valid}),
        "machine": next(iter(raw.machines), None),
        "processor": next((p.get("cpu_model") for p in raw.provenances.values()), None),
        "cores": min((row["cores"] for row in raw.rows), default=None),
        "floors": _floors_told(floors_of(raw.rows)),
        # From the folder of the verdicts, so that a folder of results can be moved.
        "raw_files": [os.path.relpath(file, Path(output).parent) for file in raw_files],
        "findings": found,
        "claims": claims,
    }
    text = json.dumps(verdicts, indent=1, ensure_ascii=False, allow_nan=False)
    results.write_whole(output, f"{text}\n".encode())
    return verdicts


def _floors_told(floors: Floors) -> list[dict[str, Any]]:
    return [
        {"of": kind, "crowded": crowded, **floor._asdict()}
        for (kind, crowded), floor in sorted(floors.floors.items())
    ]


def judge_paper(paper: str, rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return the judged claims of a paper, in the order of its published.yaml."""
    published, declared = read_published(paper), papers.paper(paper)
    # A variant that the paper does not show in a figure is drawn in its extended form, not judged.
    lines = {figure.id: figure.lines for figure in declared.figures}
    points = [
        point for point in points_of_paper(rows, declared) if point.variant in lines[point.figure]
    ]
    lookup = Lookup.of(points, published.variants, declared.figures, floors_of(rows))
    return [_judged(claim, lookup.fresh(), published) for claim in published.claims]


def judge_claim(
    claim: Claim,
    points: list[Point],
    published: Published,
    figures: Iterable[Figure],
    floors: Floors | None = None,
) -> dict[str, Any]:
    """Return a claim with its verdict.

    Parameters
    ----------
    claim : Claim
        One of `published`, or one like those.
    points : list of Point
        All points of the paper.
    published : Published
        What the paper states: the variants' names, the hardware.
    figures : iterable of Figure
        What the paper shows.
    floors : Floors or None
        What equal runs differ by.

    Returns
    -------
    dict
        What identifies the claim, and ``direction``, ``reason``, ``ratio`` with ``interval`` (its
        ends, or null) and ``interval_kind``, ``floor`` (what the ratio had to exceed with fewer
        than six processes), ``pairs`` (``for`` it, ``of`` those with a sign, ``left_out``),
        ``size``, ``regime``, ``evidence`` (see ``badges``), ``parts`` (the pairs one by one, see
        ``pairs.part_of``) and ``missing``.
    """
    return _judged(claim, Lookup.of(points, published.variants, figures, floors), published)


def _judged(claim: Claim, lookup: Lookup, published: Published) -> dict[str, Any]:
    hardware = published.hardware
    if claim.needs is None:
        comparator = comparators_of(published.paper)[claim.comparator]
        if claim.core_per_thread == REQUIRED:
            lookup = lookup.roomy()
        try:
            found = comparator.pairs(claim, lookup)
        except UsageError as error:
            raise UsageError(f"{published.paper}: {error}") from error
    else:
        # Its figures are not there: nothing is looked for.
        lookup.missing.append(f"it needs {published.needs[claim.needs]}")
        found = []
    missing = [*lookup.lacking_cores, *lookup.missing]
    pool = pooled(found, claim.direction, claim.tolerance, quantity(claim.quantity).timed)
    points = [point for pair in pool.pairs for point in pair.points]
    regime = badges.regime_of(claim, points, hardware.cores)
    apart = any(lookup.apart(pair.points) for pair in pool.ratios)
    agree, signs = pool.signs
    spread = pool.spread
    bounded = spread is not None and spread.low is not None
    return {
        **_identified(published.paper, claim),
        "kind_why": claim.kind_why,
        "assumed": claim.assumed,
        "paper_hardware": f"{hardware.cpu_model}, {hardware.cores} {hardware.core_kind} cores",
        "direction": pool.direction,
        "reason": reason(claim, pool, missing, regime, apart),
        "ratio": spread and spread.value,
        "interval": [spread.low, spread.high] if bounded else None,
        "interval_kind": spread.kind if bounded else None,
        "floor": pool.floor,
        "pairs": {"for": agree, "of": signs, "left_out": len(pool.pairs) - signs},
        "size": badges.size_of(claim, pool) or _straight(claim, lookup),
        "regime": regime,
        "evidence": badges.evidence_of(pool.pairs),
        "parts": [part_of(*each) for each in zip(pool.pairs, pool.agreeing, strict=True)],
        "missing": missing,
    }


def _straight(claim: Claim, lookup: Lookup) -> dict[str, Any] | None:
    """Return how straight a line is that the paper calls one; None where it does not."""
    if not isinstance(claim, trends.Monotone) or not claim.straight or claim.needs is not None:
        return None
    found = trends.straight(claim, lookup)
    return found and badges.straight_size(*found)


def _identified(paper: str, claim: Claim) -> dict[str, Any]:
    return {
        "paper": paper,
        "id": claim.id,
        "section": claim.section,
        "figures": list(claim.figures),
        "quote": claim.quote,
        "kind": claim.kind,
        "comparator": claim.comparator,
        "quantity": claim.quantity,
        "unit": claim.unit,
        "value": claim.value,
        "repeats": claim.repeats,
    }


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
    """Return every published claim with its verdict, for ``millrace list claims``.

    Parameters
    ----------
    folder : path or None
        Of verdicts, one file a paper. Where there is none of a paper yet, its claims come with
        ``direction`` null and a reason that says how to get one.

    Returns
    -------
    list of dict
        At least ``id``, ``paper``, ``section``, ``figures``, ``quote``, ``kind``, ``direction`` and
        ``reason``, each the same as in the verdicts.
    """
    return [claim for each in _told(folder) for claim in each["claims"]]


def list_findings(folder: str | Path | None) -> list[dict[str, Any]]:
    """Return every finding with its statements, for ``millrace claims``.

    Parameters
    ----------
    folder : path or None
        As for ``list_claims``.

    Returns
    -------
    list of dict
        At least ``id``, ``paper``, ``finding``, ``kind``, ``direction``, ``ratio``, ``interval``,
        ``pairs``, ``size``, ``regime``, ``evidence`` and ``statements``, the last as
        ``list_claims`` has them.
    """
    found = []
    for each in _told(folder):
        claims = {claim["id"]: claim for claim in each["claims"]}
        for finding in each["findings"]:
            members = [claims[name] for name in finding["statements"]]
            found.append({**finding, "statements": members})
    return found


def _told(folder: str | Path | None) -> list[dict[str, Any]]:
    """Return findings and claims of every paper, judged or not."""
    told = []
    for paper in papers.paper_names():
        file = None if folder is None else Path(folder) / f"{paper}.json"
        judged = file is not None and file.exists()
        told.append(read_verdicts(file) if judged else _not_judged(paper))
    return told


def _not_judged(paper: str) -> dict[str, Any]:
    published = read_published(paper)
    names = ("direction", "ratio", "interval", "interval_kind", "size", "regime", "evidence")
    unknown = dict.fromkeys(names) | {"pairs": {"for": 0, "of": 0, "left_out": 0}}
    claims = [
        {**_identified(paper, claim), **unknown, "reason": NOT_JUDGED} for claim in published.claims
    ]
    asked = findings.findings_of(paper, published.findings, claims)
    return {"claims": claims, "findings": [{**one, "direction": None} for one in asked]}
