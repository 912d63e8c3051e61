"""What a paper states: its published.yaml, read and checked.

Beside its statements the file has *findings*, the questions that a reader has, each with the ids of
the statements that answer it. A statement that no finding names is a finding of its own, asked in
its own words.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Any

import yaml

from experiments import papers
from experiments.judging.comparators import comparators_of
from experiments.judging.pool import DIFFERS, REGIONS
from experiments.records.quantities import quantity
from operators.contract import UsageError

RESULT = "result"
# What a statement is. Only results count: an expectation, a purpose or a definition is judged and
# shown, and says in ``kind_why`` why it is no result.
KINDS = (RESULT, "expectation", "purpose", "definition")

# What published.yaml must say, of the paper, of each claim and of each finding; more is up to a
# claim's comparator.
SAID = ("paper", "hardware", "variants", "claims")
CLAIMED = (
    "id", "quote", "section", "figures", "kind", "quantity", "unit", "value", "comparator", "reads",
)  # fmt: skip
FOUND = ("id", "question", "statements")


def read_published(paper: str) -> dict[str, Any]:
    """Return the published.yaml of a paper, with ``findings`` that name every claim once.

    Raises
    ------
    UsageError
        When it cannot be read, lacks something, is another paper's, names a figure, comparator,
        quantity, kind or claim that is not there, or a claim stands under two findings.
    """
    path = papers.published_file(paper)
    try:
        published = yaml.safe_load(path.read_text(encoding="utf-8"))
    except (OSError, yaml.YAMLError) as error:
        raise UsageError(f"cannot read published statements {path}: {error}") from error
    _require(path, published, SAID)
    if published["paper"] != paper:
        raise UsageError(f"{path} says that it is of {published['paper']!r}, not of {paper!r}")
    for place, claim in enumerate(published["claims"], 1):
        _require(f"{path}, claim {place}", claim, CLAIMED)
    claims = {claim["id"]: claim for claim in published["claims"]}
    for claim in published["claims"]:
        try:
            _check(paper, claim, claims, published.get("needs", {}))
        except UsageError as error:
            raise UsageError(f"{path}, claim {claim['id']!r}: {error}") from error
    return {**published, "findings": _findings(path, published, claims)}


def _require(what: object, said: object, names: Iterable[str]) -> None:
    """Raise when `said` lacks one of `names`."""
    lacking = [name for name in names if not isinstance(said, Mapping) or name not in said]
    if lacking:
        raise UsageError(f"{what}: lacks {', '.join(lacking)}")


def _check(
    paper: str, claim: Mapping[str, Any], claims: Mapping[str, Any], needs: Mapping[str, str]
) -> None:
    """Raise when a claim names something that is not there.

    What needs something that is not built names figures that will be there.
    """
    _one_of("comparator", claim["comparator"], sorted(comparators_of(paper)))
    _one_of("kind", claim["kind"], KINDS)
    if claim.get("direction") is not None:
        _one_of("direction", claim["direction"], (*REGIONS, DIFFERS))
    quantity(claim["quantity"])
    if claim.get("needs"):
        _one_of("need", claim["needs"], needs)
    else:
        for figure in claim["figures"]:
            papers.figure(paper, figure)
    if claim["kind"] != RESULT and not claim.get("kind_why"):
        raise UsageError(f"a {claim['kind']} needs a kind_why, which says why it is no result")
    repeated = claim.get("repeats")
    if repeated is not None and (repeated not in claims or claims[repeated].get("repeats")):
        raise UsageError(f"repeats {repeated!r}, which is no claim that stands by itself")


def _one_of(what: str, said: str, known: Iterable[str]) -> None:
    if said not in known:
        raise UsageError(f"unknown {what} {said!r}; there are: {', '.join(known)}")


def _findings(
    path: object, published: Mapping[str, Any], claims: Mapping[str, Any]
) -> list[dict[str, Any]]:
    """Return the findings of a paper, and one more for each claim that stands under none."""
    found = [dict(finding) for finding in published.get("findings") or []]
    for place, finding in enumerate(found, 1):
        _require(f"{path}, finding {place}", finding, FOUND)
    named = Counter(name for finding in found for name in finding["statements"])
    for name, times in named.items():
        if name not in claims:
            raise UsageError(f"{path}: a finding names {name!r}, which is no claim")
        if times > 1:
            raise UsageError(f"{path}: claim {name!r} stands under {times} findings")
    alone = [claim for name, claim in claims.items() if name not in named]
    asked = ((claim["id"], claim["quote"], [claim["id"]]) for claim in alone)
    return found + [dict(zip(FOUND, each, strict=True)) for each in asked]
