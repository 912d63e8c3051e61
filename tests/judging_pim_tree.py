"""The judge on invented rows of the fourth paper."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from experiments import papers
from experiments.judging.claim_types import Claim
from experiments.judging.claims import judge_claim
from experiments.judging.points import gather
from experiments.judging.published import read_published
from tests.invented import floors
from tests.invented_pim_tree import PAPER

PUBLISHED = read_published(PAPER)


def judged(claim: Claim, rows: Iterable[Mapping[str, Any]]) -> dict[str, Any]:
    """Return the verdict on a statement from rows of six rounds each; equal runs are equal."""
    rounds = [{**row, "round": number} for row in rows for number in range(1, 7)]
    declared = papers.paper(PAPER)
    shown = [figure for figure in declared.figures if figure.id in claim.figures]
    points = [point for figure in shown for point in gather(rounds, figure)]
    return judge_claim(claim, points, PUBLISHED, declared.figures, floors())
