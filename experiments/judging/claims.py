"""The judge: each published statement, and each finding, against the results measured here.

A verdict answers several questions separately:

* **direction**: does the statement hold here? *holds*, *does not hold*, *mixed* or *cannot tell*,
  from the pooled log ratio of the statement's pairs, with the count of their signs; *not measured
  here* where there is no pair. ``pool`` has the rule, ``pairs`` defines a pair;
* **size**: the size here and in the paper, where the paper gives a number. It changes no direction,
  and neither do the badges;
* **regime**, a badge: threads on cores, here and in the paper. A trend that fails when
  oversubscribed does not hold on these cores;
* **evidence**, a badge: processes, noise, and how many settings kept up;
* **kind**: only results count. A paper's expectations, definitions and purposes are judged and
  shown without counting, and so are statements that our generators make true.

Statements stand under ``findings``, the questions of a reader; the headline counts these. Where the
paper's text has lost a number, the statement is judged by direction alone.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterable
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

from experiments import papers
from experiments.declare import Figure
from experiments.judging import badges, findings, settling, trends
from experiments.judging.claim_types import REQUIRED, Claim
from experiments.judging.comparators import Absolute, comparators_of
from experiments.judging.floors import Floors, floors_of
from experiments.judging.lookup import Lookup
from experiments.judging.pairs import part_of
from experiments.judging.points import Point, points_of_paper
from experiments.judging.pool import CANNOT_TELL, NOT_MEASURED, Pool, pooled
from experiments.judging.published import Finding, Published, read_published
from experiments.judging.reasons import reason
from experiments.judging.scaling import scaling_sentences
from experiments.records import results
from experiments.records.files import write_file
from experiments.records.quantities import quantity
from operators.contract import UsageError

NOT_JUDGED = "Not judged yet: run `make figures`."


def judge(
    paper: str,
    raw_files: Iterable[str | Path],
    output: str | Path,
    machine_files: Iterable[str | Path] | None = None,
) -> dict[str, Any]:
    """Judge every claim of a paper by `raw_files` and write the verdicts to `output`.

    Parameters
    ----------
    paper : str
    raw_files : iterable of path
        Finished raw results of one machine.
    output : path
        The JSON file to write. It is replaced as a whole.
    machine_files : iterable of path, optional
        Raw results of all papers, whose equal runs give the noise floors; `raw_files` unless given.

    Returns
    -------
    dict
        The written verdicts: ``paper``, ``title``, ``headline``, ``answers`` (the number of
        findings with each answer), ``first_screen`` (the ``figure`` and the ``statements`` with
        which the page opens, or null), ``profiles``, ``processes``, ``machine``, ``processor``,
        ``cores``, ``floors`` (the noise between equal runs: ``of`` throughput or latency,
        ``oversubscribed`` or not, ``factor``, ``pairs``, ``medians``: the factors of medians of two
        rounds, of three, and so on), ``raw_files``, ``findings`` (see ``findings.findings_of``) and
        ``claims`` (see ``judge_claim``).

    Raises
    ------
    UsageError
        When a file is missing or has unexpected content, or files are of different machines.
    """
    raw_files = sorted(map(Path, raw_files))
    raw = results.read_all(raw_files)
    results.one_machine(raw)
    floors = floors_of(raw.rows if machine_files is None else _every_row(machine_files))
    claims = judge_paper(paper, raw.rows, floors)
    published = read_published(paper)
    points = points_of_paper(raw.rows, papers.paper(paper))

    def scaling(finding: Finding) -> list[str]:
        return scaling_sentences(finding.scaling, points, published.hardware.physical_cores)

    found = findings.findings_of(paper, published.findings, claims, scaling)
    answers = findings.tally(found)
    verdicts = {
        "paper": paper,
        "title": papers.paper(paper).title,
        "headline": findings.headline(answers),
        "answers": answers,
        "first_screen": published.first_screen and asdict(published.first_screen),
        "profiles": sorted({row["profile"] for row in raw.rows}),
        "processes": len({row["repetition"] for row in raw.valid}),
        "machine": next(iter(raw.machines), None),
        "processor": next((p.get("cpu_model") for p in raw.provenances.values()), None),
        "cores": min((row["cores"] for row in raw.rows), default=None),
        "floors": floors.records(),
        # Relative to the verdicts' folder, so that a folder of results can be moved.
        "raw_files": [os.path.relpath(file, Path(output).parent) for file in raw_files],
        "findings": found,
        "claims": claims,
    }
    text = json.dumps(verdicts, indent=1, ensure_ascii=False, allow_nan=False)
    write_file(output, f"{text}\n".encode())
    return verdicts


def _every_row(machine_files: Iterable[str | Path]) -> list[dict[str, Any]]:
    """Return the rows of all papers; two papers may have measured the same setting."""
    each = [results.read(file) for file in sorted(map(Path, machine_files))]
    rows = [row for raw in each for row in raw.rows]
    results.one_machine(results.Raw(rows))
    return rows


def judge_paper(
    paper: str, rows: list[dict[str, Any]], floors: Floors | None = None
) -> list[dict[str, Any]]:
    """Return the judged claims of a paper, in the order of its published.yaml.

    Where `floors` is not given, it is computed from `rows`.
    """
    published, declared = read_published(paper), papers.paper(paper)
    # A variant that the paper does not show is drawn in the extended figure only, and not judged.
    lines = {figure.id: figure.lines for figure in declared.figures}
    points = [
        point for point in points_of_paper(rows, declared) if point.variant in lines[point.figure]
    ]
    floors = floors_of(rows) if floors is None else floors
    lookup = Lookup.of_points(points, published.variants, declared.figures, floors)
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
        The paper's statements, with the variants' names and the hardware.
    figures : iterable of Figure
        The figures of the paper.
    floors : Floors or None
        The noise between equal runs.

    Returns
    -------
    dict
        The fields that identify the claim, and ``direction``, ``reason``, ``ratio`` with
        ``interval`` (both ends, or null) and ``interval_kind``, ``reach`` (the range that the ratio
        is believed to lie in and that decided the answer, or null), ``floor`` (the factor that the
        ratio had to exceed with fewer than six processes, null where unknown), ``pairs`` (``for``
        it, ``of`` those with a sign, ``left_out``), ``size``, ``regime``, ``evidence`` (see
        ``badges``), ``parts`` (the pairs one by one, see ``pairs.part_of``), ``missing`` and
        ``processes_needed`` (how many processes would settle an open statement, or null).
    """
    return _judged(claim, Lookup.of_points(points, published.variants, figures, floors), published)


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
        # The figures do not exist yet: no points are looked up.
        lookup.missing.append(f"it needs {published.needs[claim.needs]}")
        found = []
    missing = [*lookup.lacking_cores, *lookup.missing]
    pool = pooled(found, claim.direction, claim.tolerance, quantity(claim.quantity).timed)
    if isinstance(claim, Absolute):
        # Shown next to the paper's value, but not judged.
        pool = replace(pool, direction=NOT_MEASURED)
    points = [point for pair in pool.pairs for point in pair.points]
    regime = badges.regime_of(claim, points, hardware.cores)
    apart = any(lookup.in_several_groups(pair.points) for pair in pool.ratios)
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
        "reach": list(pool.reach) if pool.reach else None,
        "floor": pool.floor,
        "pairs": {"for": agree, "of": signs, "left_out": len(pool.pairs) - signs},
        "size": badges.size_of(claim, pool) or _straight(claim, lookup),
        "regime": regime,
        "evidence": badges.evidence_of(pool.pairs),
        "parts": [part_of(*each) for each in zip(pool.pairs, pool.agreeing, strict=True)],
        "missing": missing,
        "processes_needed": _needed(claim, pool),
    }


def _needed(claim: Claim, pool: Pool) -> int | None:
    """Return how many processes would settle an open statement; None for any other."""
    if pool.direction != CANNOT_TELL:
        return None
    return settling.processes_needed(pool, claim.direction, claim.tolerance)


def _straight(claim: Claim, lookup: Lookup) -> dict[str, Any] | None:
    """Return how straight a line is that the paper calls straight; None for other claims."""
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
        "compared": claim.compared,
        "unit": claim.unit,
        "wanted": claim.direction,
        "value": claim.value,
        "repeats": claim.repeats,
    }


def read_verdicts(path: str | Path) -> dict[str, Any]:
    """Return the verdicts that ``judge`` wrote to `path`.

    Raises
    ------
    UsageError
        When there are none, or an earlier version wrote them.
    """
    path = Path(path)
    try:
        verdicts = json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError as error:
        raise UsageError(f"no verdicts at {path}: measure and judge with `make figures`") from error
    except (OSError, ValueError) as error:
        raise UsageError(f"cannot read verdicts {path} ({error}): judge again") from error
    if "floors" not in verdicts:
        # Findings of that version have no parts, either.
        raise UsageError(
            f"{path} has verdicts of an earlier version: judge again with `make plots`"
        )
    return verdicts


def list_claims(folder: str | Path | None) -> list[dict[str, Any]]:
    """Return every published claim with its verdict, for ``millrace list claims``.

    Parameters
    ----------
    folder : path or None
        Of verdicts, one file a paper. Claims of a paper without verdicts come with ``direction``
        null and a reason that says how to get them.

    Returns
    -------
    list of dict
        At least ``id``, ``paper``, ``section``, ``figures``, ``quote``, ``kind``, ``direction`` and
        ``reason``, each the same as in the verdicts.
    """
    return [claim for each in _verdicts_of(folder) for claim in each["claims"]]


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
        ``pairs``, ``size``, ``regime``, ``evidence`` and ``statements``, which are claims as
        ``list_claims`` returns them.
    """
    found = []
    for each in _verdicts_of(folder):
        claims = {claim["id"]: claim for claim in each["claims"]}
        for finding in each["findings"]:
            members = [claims[name] for name in finding["statements"]]
            found.append({**finding, "statements": members})
    return found


def _verdicts_of(folder: str | Path | None) -> list[dict[str, Any]]:
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
