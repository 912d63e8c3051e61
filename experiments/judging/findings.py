"""Findings: a reader's questions, each answered part by part from the statements under it.

Each statement that counts is a *part* of the answer, and none is dropped: statements with the
answer *cannot tell* or *not measured here* are parts too. Where the question asks for more than a
direction ("ten times", "everywhere"), published.yaml says so in ``asks``, and the part is judged by
that. The finding is

* *mixed* when parts with a clear answer differ;
* that answer where they agree and are at least half of the parts;
* *not measured here* when no part was measured, and else *cannot tell*: a minority never answers.

Only results count; values of another machine and repetitions of a statement do not. A question
without results is answered from the other statements and stays out of the headline, as do questions
that are not measured.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from experiments.judging.badges import DOWNWARDS, shortened
from experiments.judging.claim_types import RESULT
from experiments.judging.pool import (
    CANNOT_TELL,
    DIRECTIONS,
    DOES_NOT_HOLD,
    HOLDS,
    MIXED,
    NOT_MEASURED,
)
from experiments.judging.published import Asked, Because, Finding
from experiments.judging.reasons import counted, counts

# The fields that a finding takes from the leading statement.
LEADING = ("ratio", "interval", "interval_kind", "pairs", "size", "regime", "evidence")
# The clear answers of a part.
TOLD = (HOLDS, DOES_NOT_HOLD, MIXED)


def answer_of(directions: Iterable[str]) -> str:
    """Return the joint answer of several parts.

    Examples
    --------
    >>> answer_of(["holds", "cannot tell", "holds"])
    'holds'
    >>> answer_of(["holds", "cannot tell", "not measured here"])
    'cannot tell'
    >>> answer_of(["holds", "does not hold", "cannot tell"])
    'mixed'
    """
    found = Counter(directions)
    if found.total() == found[NOT_MEASURED]:
        return NOT_MEASURED
    told = [each for each in TOLD if found[each]]
    if len(told) > 1:
        return MIXED
    return told[0] if told and 2 * found[told[0]] >= found.total() else CANNOT_TELL


def findings_of(
    paper: str,
    asked: Sequence[Finding],
    claims: Sequence[Mapping[str, Any]],
    scaling: Callable[[Finding], list[str]] = lambda finding: [],
) -> list[dict[str, Any]]:
    """Return the findings of a paper with their answers.

    Parameters
    ----------
    paper : str
    asked : sequence of Finding
        ``findings`` of the paper's published.yaml.
    claims : sequence of mapping
        The judged claims of the paper.
    scaling : callable
        Returns the sentences of `experiments.judging.scaling` about a finding; none by default.

    Returns
    -------
    list of dict
        Of each ``id``, ``paper``, ``finding`` (the question), ``kind``, ``direction``,
        ``statements`` (ids), ``counted`` (those that count), ``parts`` (the statements behind the
        answer, see ``part_of``), ``leading`` (the id of the leading statement: the first part with
        the finding's answer) and the leading statement's ``ratio``, ``interval``,
        ``interval_kind``, ``pairs``, ``size``, ``regime``, ``evidence``; ``because``, sentences
        that explain why it fails here, empty where it does not or the rows do not support them; and
        ``scaling``, sentences about what its series gain.
    """
    by_id = {claim["id"]: claim for claim in claims}
    found = []
    for finding in asked:
        members = [by_id[name] for name in finding.statements]
        counting = [claim for claim in members if counts(claim)]
        kind = RESULT if counting else members[0]["kind"]
        asks = {each.statement: each for each in finding.asks}
        parts = [part_of(claim, asks.get(claim["id"])) for claim in counting or members]
        direction = answer_of(part["direction"] for part in parts)
        leading = by_id[_leading(parts, direction)]
        found.append(
            {
                "id": finding.id,
                "paper": paper,
                "finding": finding.question,
                "kind": kind,
                "direction": direction,
                **{name: leading[name] for name in LEADING},
                "leading": leading["id"],
                "counted": [claim["id"] for claim in counting],
                "parts": parts,
                "because": explained(finding.because, direction, by_id),
                "scaling": scaling(finding),
                "statements": list(finding.statements),
            }
        )
    return found


def _leading(parts: Sequence[Mapping[str, Any]], direction: str) -> str:
    """Return the first part with the finding's answer, else the first with a clear answer."""
    wanted = [part for part in parts if part["direction"] == direction]
    told = [part for part in parts if part["direction"] in TOLD]
    return (wanted or told or parts)[0]["id"]


def explained(
    reasons: Iterable[Because], direction: str, claims: Mapping[str, Mapping[str, Any]]
) -> list[str]:
    """Return the explanations of an answer that fails: those that the measured sizes support."""
    if direction not in (DOES_NOT_HOLD, MIXED):
        return []
    told = []
    for each in reasons:
        size = claims[each.statement]["size"]
        if size and (each.least or 0.0) <= size["here"] <= (each.most or float("inf")):
            told.append(f"{each.text} ({size['text']})")
    return told


def part_of(claim: Mapping[str, Any], asked: Asked | None) -> dict[str, Any]:
    """Return the contribution of a statement to a finding.

    Returns
    -------
    dict
        ``id``, ``direction`` (that of the statement, unless it falls short of the demands) and
        ``asked``: "asked: 10 times or more, 5.4 here", or empty.
    """
    direction, told = claim["direction"], []
    if asked is not None and direction == HOLDS:
        if asked.every:
            agree, signs = claim["pairs"]["for"], claim["pairs"]["of"]
            direction = HOLDS if agree == signs else MIXED
            told.append(f"in every pair, {agree} of {signs} here")
        if asked.least is not None or asked.most is not None:
            sized = _sized(claim, asked)
            direction = direction if sized == HOLDS else sized
            told.append(_sizes_text(claim, asked))
    return {"id": claim["id"], "direction": direction, "asked": _joined(told)}


def _joined(told: Sequence[str]) -> str:
    return f"asked: {'; '.join(told)}" if told else ""


def _sized(claim: Mapping[str, Any], asked: Asked) -> str:
    """Return whether the reach of the ratio lies between the sizes that are asked for."""
    if claim["reach"] is None:
        return CANNOT_TELL
    low, high = claim["reach"]
    if claim["wanted"] in DOWNWARDS:
        low, high = 1.0 / high, 1.0 / low
    least, most = asked.least or 0.0, asked.most or float("inf")
    if least <= low and high <= most:
        return HOLDS
    return DOES_NOT_HOLD if high < least or low > most else CANNOT_TELL


def _sizes_text(claim: Mapping[str, Any], asked: Asked) -> str:
    ends = [f"{asked.least:g} times or more"] if asked.least is not None else []
    ends += [f"{asked.most:g} at most"] if asked.most is not None else []
    here = claim["ratio"]
    here = 1.0 / here if claim["wanted"] in DOWNWARDS else here
    return f"{', '.join(ends)}, {shortened(here)} here"


def parts_text(parts: Iterable[Mapping[str, Any]]) -> str:
    """Return the number of parts of a finding with each answer, in words.

    Examples
    --------
    >>> parts_text([{"direction": "holds"}, {"direction": "cannot tell"}])
    '1 of 2 holds here, 1 cannot be told'
    """
    found = Counter(part["direction"] for part in parts)
    words = counted(found)
    return words.replace(" ", f" of {found.total()} ", 1)


def tally(findings: Iterable[Mapping[str, Any]]) -> dict[str, int]:
    """Return the number of findings about results with each answer."""
    found = Counter(each["direction"] for each in findings if each["kind"] == RESULT)
    return {direction: found[direction] for direction in DIRECTIONS}


def headline(counts_of: Mapping[str, int]) -> str:
    """Return numbers of answers as a headline about the measured findings.

    Examples
    --------
    >>> headline({"holds": 7, "does not hold": 3, "cannot tell": 2, "not measured here": 1})
    '12 findings: 7 hold here, 3 do not hold, 2 cannot be told; 1 more is not measured here'
    """
    measured = {each: n for each, n in counts_of.items() if each != NOT_MEASURED}
    count, others = sum(measured.values()), counts_of.get(NOT_MEASURED, 0)
    told = f"{count} finding{'' if count == 1 else 's'}: {counted(measured) or 'none'}"
    if not others:
        return told
    verb = "is" if others == 1 else "are"
    if not count:
        return f"No finding is measured here, of {others}"
    return f"{told}; {others} more {verb} not measured here"
