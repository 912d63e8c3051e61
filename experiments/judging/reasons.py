"""Verdicts in words: the reason of a statement's answer, and a one-line reading of a figure."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from math import exp, log
from typing import Any

from experiments.judging import pairs as paired
from experiments.judging import settling
from experiments.judging.badges import shortened, with_ends
from experiments.judging.claim_types import RESULT, Claim
from experiments.judging.floors import ENOUGH
from experiments.judging.lookup import figure_names
from experiments.judging.pool import (
    CANNOT_TELL,
    DIRECTIONS,
    DOES_NOT_HOLD,
    HOLDS,
    MIXED,
    NOT_MEASURED,
    Pool,
    by_themselves,
)
from experiments.records.quantities import quantity
from experiments.records.statistics import Spread

# A reason names at most this many missing points; the verdict's list has all of them.
MISSING_TOLD = 3
WHOLE = re.compile(r"figure (\w+)")
APART = "runs of different processes are paired by the numbers of process and round"
# A figure's reading names at most this many kinds of pairs, and prefers throughput.
READ = 2
READ_FIRST = "throughput_tps"
# The beginnings of a pair's other side where both sides are of the same variant.
OF_ITSELF = ("that ", "its ")
ABSOLUTE, ORDERING = "absolute", "ordering"


def reason(
    claim: Claim,
    pool: Pool,
    missing: Sequence[str],
    regime: Mapping[str, Any] | None,
    apart: bool,
) -> str:
    """Return why a statement has this answer, and which pairs were left out: a sentence."""
    if not pool.pairs:
        return f"Not measured here: {_listed(missing) or 'the points it needs'}."
    if pool.direction == NOT_MEASURED:
        return "Not judged here: the value of another machine, shown beside what is measured here."
    head = pool.direction[0].upper() + pool.direction[1:]
    if regime and regime["oversubscribed"] and pool.direction != CANNOT_TELL:
        head += f" on {regime['cores']} core{'s' if regime['cores'] > 1 else ''}"
    clauses = [f"{head}: {_result_text(claim, pool)}", *_why(claim, pool), *_notes(pool)]
    if apart:
        clauses.append(APART)
    if missing:
        clauses.append(f"not measured: {_listed(missing)}")
    return f"{'; '.join(clauses)}."


def _result_text(claim: Claim, pool: Pool) -> str:
    """Return the result: ratio, ends and signs."""
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
        number, ends = with_ends(pool.spread.value, pool.spread.low, pool.spread.high)
        kind = f" ({pool.spread.kind})" if pool.spread.kind else ""
        told.append(f"{number} times{ends}{kind}")
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
    """Return why the answer is *cannot tell* or *mixed*."""
    if pool.direction == MIXED:
        return ["the pairs do not agree", *_alone(claim, pool)]
    if pool.direction != CANNOT_TELL or pool.spread is None:
        return []
    if pool.reach is None:
        return [f"fewer than {ENOUGH} equal runs of this kind"]
    settled = settling.clauses(settling.processes_needed(pool, claim.direction, claim.tolerance))
    if pool.spread.is_interval:
        return ["that interval leaves it open", *settled, *_alone(claim, pool)]
    few = f"from {_few(pool.spread)} no interval is made"
    apart = f", and such medians of equal runs differ by up to {pool.floor:.2f} times"
    return [few + apart * (pool.floor > 1), *settled, *_alone(claim, pool)]


def _few(spread: Spread) -> str:
    """Return the sample that is too small for an interval, in words."""
    if spread.processes > 1:
        return f"{spread.processes} processes"
    return spread.kind or "one round of one process"


def _alone(claim: Claim, pool: Pool) -> list[str]:
    """Return how many of several pairs are clear by themselves."""
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
    """Return the missing points in words: whole figures together, and the first few of the rest."""
    whole = [what.removeprefix("figure ") for what in missing if WHOLE.fullmatch(what)]
    rest = [what for what in missing if not WHOLE.fullmatch(what)]
    told = [figure_names(whole)] if whole else []
    told += rest[:MISSING_TOLD]
    if len(rest) > MISSING_TOLD:
        told.append(f"and {len(rest) - MISSING_TOLD} more")
    return ", ".join(told)


def reading(verdicts: Mapping[str, Any], figure_id: str) -> str:
    """Return a one-line reading of the pairs of a figure; empty where none is judged.

    Parameters
    ----------
    verdicts : mapping
        The verdicts of the figure's paper, as ``claims.judge`` returns them.
    figure_id : str

    Returns
    -------
    str
        "TuMLSC 2.8 times MQ, 25 of 26 pairs": the geometric mean over the pairs that lie in this
        figure alone, and the number of pairs on the same side of 1. Throughput is read where a
        statement is about it; another quantity is named, with the setting if there is only one. A
        ratio in several statements counts once, and all are of one comparator: a ratio of two gains
        is no ratio of two lines.
    """
    found: dict[str, dict[frozenset[str], dict[str, Mapping[str, Any]]]] = {}
    first: dict[str, str] = {}
    # Statements that count come first, and among them orderings: a pair is read the way round that
    # the first statement has it, and a value computed from several points has the name of one.
    for claim in sorted(verdicts["claims"], key=_read_first):
        for part in claim["parts"]:
            if part["figures"] == [figure_id] and part["sign"]:
                if claim["comparator"] != first.setdefault(claim["quantity"], claim["comparator"]):
                    continue
                own = found.setdefault(claim["quantity"], {})
                kind = own.setdefault(frozenset((part["above"], part["below"])), {})
                if all(part["above"] == other["above"] for other in kind.values()):
                    kind.setdefault(part["where"], part)
    if not found:
        return ""
    name = READ_FIRST if READ_FIRST in found else next(iter(found))
    kinds = sorted(found[name].values(), key=lambda parts: -len(parts))
    # The same ratio of a variant to another point of itself and to its best adds nothing.
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


def _read_first(claim: Mapping[str, Any]) -> tuple[bool, bool]:
    return not counts(claim), claim["comparator"] != ORDERING


def _read(parts: Sequence[Mapping[str, Any]]) -> str:
    """Return the ratio of one kind of pair, and the number of pairs on the same side of 1."""
    above, below = parts[0]["above"], parts[0]["below"]
    logs = [log(part["ratio"]) for part in parts if part["ratio"] is not None]
    side = sum(logs) or 1.0
    pairs = f"{sum(part['sign'] * side > 0 for part in parts)} of {len(parts)} pairs"
    if not logs:
        return f"{above} ahead of {below} in {pairs}"
    above += ":" * above[-1].isdigit()
    times = shortened(exp(sum(logs) / len(logs)))
    # A share of a multiple: not "0.97 times 2 times that".
    ratio = f"{above} {times} {'of' if below[0].isdigit() else 'times'} {below}"
    return ratio if len(parts) == 1 else f"{ratio}, {pairs}"


def counts(claim: Mapping[str, Any]) -> bool:
    """Say whether a statement counts: a result that is judged and repeats no other.

    A value of another machine is shown and not judged.
    """
    return claim["kind"] == RESULT and not claim["repeats"] and claim["comparator"] != ABSOLUTE


def answers(verdicts: Mapping[str, Any], figure_id: str) -> str:
    """Return the number of statements on a figure with each answer, for the figure's footer.

    For example "8 statements: 5 hold here, 1 does not hold, 2 cannot be told". Repetitions of
    another statement, and statements that are no results, are left out.
    """
    own = [each for each in verdicts["claims"] if figure_id in each["figures"] and counts(each)]
    if not own:
        return "no statement is judged on it"
    found = Counter(claim["direction"] for claim in own)
    if len(own) == 1:
        return counted(found).replace("1 ", "1 statement ", 1)
    return f"{len(own)} statements: {counted(found)}"


def counted(counts: Mapping[str, int]) -> str:
    """Return numbers of answers in words, without zeros.

    Examples
    --------
    >>> counted({"holds": 7, "does not hold": 1, "mixed": 0, "cannot tell": 2})
    '7 hold here, 1 does not hold, 2 cannot be told'
    """
    one = ("holds here", "does not hold", "is mixed", "cannot be told", "is not measured here")
    more = ("hold here", "do not hold", "are mixed", "cannot be told", "are not measured here")
    words = dict(zip(DIRECTIONS, zip(one, more, strict=True), strict=True))
    told = [(counts.get(each, 0), words[each]) for each in DIRECTIONS]
    return ", ".join(f"{n} {word[n > 1]}" for n, word in told if n)
