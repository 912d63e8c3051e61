"""The judge on invented rows of the fourth paper."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from experiments import papers
from experiments.judging.claim_types import Claim
from experiments.judging.claims import judge_claim
from experiments.judging.floors import floors_of
from experiments.judging.points import gather
from experiments.judging.published import read_published
from tests.invented_pim_tree import PAPER

PUBLISHED = read_published(PAPER)


def judged(claim: Claim, rows: Iterable[Mapping[str, Any]]) -> dict[str, Any]:
    """Return the verdict on a statement from rows of six rounds each, equal runs beside them."""
    rounds = [{**row, "round": number} for row in rows for number in range(1, 7)]
    equal = [{**row, "phase": "equal"} for row in rounds if row["phase"] == "closed"]
    declared = papers.paper(PAPER)
    shown = [figure for figure in declared.figures if figure.id in claim.figures]
    points = [point for figure in shown for point in gather([*rounds, *equal], figure)]
    floors = floors_of([*rounds, *equal])
    return judge_claim(claim, points, PUBLISHED, declared.figures, floors)
