"""Findings: what a reader asks, answered from the statements that stand under each question.

A finding holds when all of its statements that were told hold, does not hold when none of them
does, is mixed when they differ or one of them is mixed, and cannot tell when none was told. Only
results count, no values of another machine, and what repeats another statement does not count
again. A question under which no result stands is answered from what does, and stays out of the
headline.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from experiments.judging.claim_types import RESULT
from experiments.judging.pool import CANNOT_TELL, DIRECTIONS, MIXED
from experiments.judging.published import Finding
from experiments.judging.reasons import counted, counts

# What a finding shows of its leading statement, the first one that was told.
LEADING = ("ratio", "interval", "interval_kind", "pairs", "regime", "evidence")


def answer_of(directions: Iterable[str]) -> str:
    """Return the answer of several statements together.

    Examples
    --------
    >>> answer_of(["holds", "cannot tell", "holds"])
    'holds'
    >>> answer_of(["holds", "does not hold"])
    'mixed'
    """
    told = {each for each in directions if each != CANNOT_TELL}
    if not told:
        return CANNOT_TELL
    return told.pop() if len(told) == 1 else MIXED


def findings_of(
    paper: str, asked: Sequence[Finding], claims: Sequence[Mapping[str, Any]]
) -> list[dict[str, Any]]:
    """Return the findings of a paper with their answers.

    Parameters
    ----------
    paper : str
    asked : sequence of Finding
        ``findings`` of its published.yaml.
    claims : sequence of mapping
        Its judged claims.

    Returns
    -------
    list of dict
        Of each ``id``, ``paper``, ``finding`` (the question), ``kind``, ``direction``,
        ``statements`` (ids), ``counted`` (those that count), ``size`` (the first there is) and what
        is shown of the leading statement: ``ratio``, ``interval``, ``interval_kind``, ``pairs``,
        ``regime``, ``evidence``, ``leading`` (its id).
    """
    by_id = {claim["id"]: claim for claim in claims}
    found = []
    for finding in asked:
        members = [by_id[name] for name in finding.statements]
        counting = [claim for claim in members if counts(claim)]
        kind = RESULT if counting else members[0]["kind"]
        counting = counting or members
        told = [claim for claim in counting if claim["direction"] != CANNOT_TELL]
        leading = (told or counting)[0]
        sizes = [claim["size"] for claim in (*counting, *members) if claim["size"]]
        found.append(
            {
                "id": finding.id,
                "paper": paper,
                "finding": finding.question,
                "kind": kind,
                "direction": answer_of(claim["direction"] for claim in counting),
                **{name: leading[name] for name in LEADING},
                "size": sizes[0] if sizes else None,
                "leading": leading["id"],
                "counted": [claim["id"] for claim in members if counts(claim)],
                "statements": list(finding.statements),
            }
        )
    return found


def tally(findings: Iterable[Mapping[str, Any]]) -> dict[str, int]:
    """Return how many findings have which answer, those that are about results."""
    found = Counter(each["direction"] for each in findings if each["kind"] == RESULT)
    return {direction: found[direction] for direction in DIRECTIONS}


def headline(counts_of: Mapping[str, int]) -> str:
    """Return numbers of answers as a headline.

    Examples
    --------
    >>> headline({"holds": 7, "does not hold": 3, "mixed": 0, "cannot tell": 2})
    '12 findings: 7 hold here, 3 do not, 2 cannot tell'
    """
    count = sum(counts_of.values())
    return f"{count} finding{'' if count == 1 else 's'}: {counted(counts_of) or 'none'}"
