"""Verdicts in words: the reason of a statement's answer, and what a figure shows, in a line."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from math import exp, log
from typing import Any

from experiments.judging import pairs as paired
from experiments.judging.badges import shortened, told_interval
from experiments.judging.claim_types import RESULT, Claim
from experiments.judging.lookup import figure_names
from experiments.judging.pool import (
    CANNOT_TELL,
    DIRECTIONS,
    DOES_NOT_HOLD,
    HOLDS,
    MIXED,
    Pool,
    by_themselves,
)
from experiments.records.quantities import quantity

# Of what is missing, a reason names so many points; the verdict's own list has all of them.
MISSING_TOLD = 3
WHOLE = re.compile(r"figure (\w+)")
APART = "runs of different processes are paired by the numbers of process and round"
# A figure's reading names so many kinds of pairs, and throughput where there is any.
READ = 2
READ_FIRST = "throughput_tps"
# How the other side of a pair begins where it is of the same variant.
OF_ITSELF = ("that ", "its ")
ABSOLUTE = "absolute"


def reason(
    claim: Claim,
    pool: Pool,
    missing: Sequence[str],
    regime: Mapping[str, Any] | None,
    apart: bool,
) -> str:
    """Return why a statement has its answer, and what was left out: a sentence."""
    if not pool.pairs:
        return f"Not measured here: {_listed(missing) or 'the points it needs'}."
    head = pool.direction[0].upper() + pool.direction[1:]
    if regime and regime["crowded"] and pool.direction != CANNOT_TELL:
        head += f" on {regime['cores']} core{'s' if regime['cores'] > 1 else ''}"
    clauses = [f"{head}: {_told(claim, pool)}", *_why(claim, pool), *_notes(pool)]
    if apart:
        clauses.append(APART)
    if missing:
        clauses.append(f"not measured: {_listed(missing)}")
    return f"{'; '.join(clauses)}."


def _told(claim: Claim, pool: Pool) -> str:
    """Return what was found: ratio, ends and signs."""
    words = claim.compared
    if len(pool.pairs) == 1:
        words = f"{words}, {pool.pairs[0].names.where}"
    agree, signs = pool.signs
    if not signs:
        return f"{words}, nothing to go by"
    told = []
    if len(pool.pairs) > 1:
        told.append(f"{words} is {_wanted(claim)} in {agree} of {signs} pairs")
    if pool.spread is not None:
        ends = told_interval(pool.spread.low, pool.spread.high)
        kind = f" ({pool.spread.kind})" if pool.spread.kind else ""
        told.append(f"{shortened(pool.spread.value)} times{ends}{kind}")
    if len(pool.pairs) > 1:
        return ", ".join(told)
    return f"{words}: {told[0] if told else 'a sign and no ratio'}"


def _wanted(claim: Claim) -> str:
    match claim.direction:
        case "higher" | "rises":
            return "higher"
        case "lower" | "falls":
            return "lower"
        case "near":
            return f"alike within {claim.tolerance:g} times"
        case "kept":
            return f"not lower by more than {claim.tolerance:g} times"
    return "different to the same side"


def _why(claim: Claim, pool: Pool) -> list[str]:
    """Return why it cannot be told, or is mixed."""
    if pool.direction == MIXED:
        return ["the pairs do not agree", *_alone(claim, pool)]
    if pool.direction != CANNOT_TELL or pool.spread is None:
        return []
    if pool.reach is None:
        return ["one round of one process, and no equal runs to hold it against"]
    if pool.spread.is_interval:
        return ["that interval leaves it open", *_alone(claim, pool)]
    few = f"from {pool.spread.kind or 'one round of one process'} no interval is made"
    apart = f", and such means of equal runs differ by up to {pool.floor:.2f} times"
    return [few + apart * (pool.floor > 1), *_alone(claim, pool)]


def _alone(claim: Claim, pool: Pool) -> list[str]:
    """Return how many of several pairs have an answer by themselves."""
    if len(pool.ratios) < 2:
        return []
    timed = quantity(claim.quantity).timed
    found = by_themselves(pool.ratios, claim.direction, claim.tolerance, timed)
    return [f"clear by themselves: {found[HOLDS]} for it, {found[DOES_NOT_HOLD]} against"]


def _notes(pool: Pool) -> list[str]:
    """Return how many pairs were left out and why, and how others were chosen."""
    told = []
    for note, count in Counter(pair.note for pair in pool.pairs if pair.note).items():
        pairs = f"{count} pair{'s' if count > 1 else ''}"
        if note == paired.ONE_KEPT_UP:
            told.append(f"{note} in {pairs}, whose sign is its")
        elif any(pair.ratio for pair in pool.pairs if pair.note == note):
            told.append(note)
        else:
            told.append(f"{pairs} left out, {note}")
    return told


def _listed(missing: Sequence[str]) -> str:
    """Return what is missing in words: whole figures together, and the first few of the rest."""
    whole = [what.removeprefix("figure ") for what in missing if WHOLE.fullmatch(what)]
    rest = [what for what in missing if not WHOLE.fullmatch(what)]
    told = [figure_names(whole)] if whole else []
    told += rest[:MISSING_TOLD]
    if len(rest) > MISSING_TOLD:
        told.append(f"and {len(rest) - MISSING_TOLD} more")
    return ", ".join(told)


def reading(verdicts: Mapping[str, Any], figure_id: str) -> str:
    """Return what the pairs of a figure show, in a line; empty where none is judged.

    Parameters
    ----------
    verdicts : mapping
        What ``claims.judge`` wrote of the figure's paper.
    figure_id : str

    Returns
    -------
    str
        "TuMLSC 2.8 times MQ, 25 of 26 pairs": the geometric mean over the pairs of the figure's
        own points, and in how many of them its side is seen. Throughput is read where a statement
        is about it; what else is read is named, with the place if it is one. One ratio may be in
        several statements and counts once.
    """
    found: dict[str, dict[frozenset[str], dict[str, Mapping[str, Any]]]] = {}
    # What counts goes first: a pair is read the way round that the first statement has it.
    for claim in sorted(verdicts["claims"], key=lambda claim: not counts(claim)):
        for part in claim["parts"]:
            if part["figures"] == [figure_id] and part["sign"]:
                own = found.setdefault(claim["quantity"], {})
                kind = own.setdefault(frozenset((part["above"], part["below"])), {})
                if all(part["above"] == other["above"] for other in kind.values()):
                    kind.setdefault(part["where"], part)
    if not found:
        return ""
    name = READ_FIRST if READ_FIRST in found else next(iter(found))
    kinds = sorted(found[name].values(), key=lambda parts: -len(parts))
    # The same ratio of a variant to itself elsewhere and to its best says nothing more.
    told: dict[str, str] = {}
    for parts in (list(kind.values()) for kind in kinds):
        below, read = parts[0]["below"], _read(parts)
        told.setdefault(read.replace(below, "") if below.startswith(OF_ITSELF) else read, read)
    pairs = "; ".join(list(told.values())[:READ])
    if name == READ_FIRST:
        return pairs
    places = {part["where"].rpartition(":")[0] for kind in kinds[:READ] for part in kind.values()}
    place = f", {places.pop()}" if len(places) == 1 else ""
    return f"{quantity(name).words}{place}: {pairs}"


def _read(parts: Sequence[Mapping[str, Any]]) -> str:
    """Return the ratio of one kind of pair, and in how many pairs its side is seen."""
    above, below = parts[0]["above"], parts[0]["below"]
    logs = [log(part["ratio"]) for part in parts if part["ratio"] is not None]
    side = sum(logs) or 1.0
    pairs = f"{sum(part['sign'] * side > 0 for part in parts)} of {len(parts)} pairs"
    if not logs:
        return f"{above} ahead of {below} in {pairs}"
    ratio = f"{above} {shortened(exp(sum(logs) / len(logs)))} times {below}"
    return ratio if len(parts) == 1 else f"{ratio}, {pairs}"


def counts(claim: Mapping[str, Any]) -> bool:
    """Say whether a statement counts: a result that is judged and repeats no other.

    The size of something on another machine is shown and not judged.
    """
    return claim["kind"] == RESULT and not claim["repeats"] and claim["comparator"] != ABSOLUTE


def answers(verdicts: Mapping[str, Any], figure_id: str) -> str:
    """Return how many statements on a figure have which answer, for its footer.

    For example "statements: 5 hold here, 1 does not, 2 cannot tell". What repeats
    another statement, and what is no result, is left out.
    """
    own = [each for each in verdicts["claims"] if figure_id in each["figures"] and counts(each)]
    found = Counter(claim["direction"] for claim in own)
    return f"statements: {counted(found) or 'none'}"


def counted(counts: Mapping[str, int]) -> str:
    """Return numbers of answers in words, those of none left out.

    Examples
    --------
    >>> counted({"holds": 7, "does not hold": 1, "mixed": 0, "cannot tell": 2})
    '7 hold here, 1 does not, 2 cannot tell'
    """
    one = ("holds here", "does not", "is mixed", "cannot tell")
    more = ("hold here", "do not", "are mixed", "cannot tell")
    words = dict(zip(DIRECTIONS, zip(one, more, strict=True), strict=True))
    told = [(counts.get(each, 0), words[each]) for each in DIRECTIONS]
    return ", ".join(f"{n} {word[n > 1]}" for n, word in told if n)
