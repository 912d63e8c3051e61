"""The reason of a verdict: what holds, what does not and what limits it, in a sentence."""

from __future__ import annotations

import re
from collections.abc import Mapping
from math import log
from typing import Any

from experiments.judging.evidence import FAILS, HOLDS, PARTLY, UNCLEAR, Part, figure_names
from experiments.records.quantities import quantity

# Of what is missing, a reason names so many points; the verdict's own list has all of them.
MISSING_TOLD = 3
WHOLE = re.compile(r"figure (\w+)")
# Of these directions, a larger value speaks for the claim.
WANTS_LARGE = ("higher", "rises", "differs", "kept")


def seen_all_the_same(claim: Mapping[str, Any], parts: list[Part]) -> str:
    """Return why a statement about threads side by side cannot be told, and what the rest shows."""
    crowded = max(parts, key=lambda part: part.threads / part.cores)
    weakest = min(parts, key=lambda part: support(claim, part))
    of = "" if len(parts) == 1 else f", the weakest of {len(parts)} comparisons"
    return (
        f"It is about threads side by side, and {crowded.threads} threads had {crowded.cores}"
        f" cores. Seen all the same{of}: {quantity(claim['quantity']).words}, {weakest.where}:"
        f" {_times(weakest)}."
    )


def support(claim: Mapping[str, Any], part: Part) -> tuple[int, float]:
    """Return how much `part` speaks for its claim: its outcome, then its value's direction."""
    rank = (FAILS, UNCLEAR, PARTLY, HOLDS).index(part.outcome)
    direction = claim.get("direction")
    if direction == "near":
        return rank, -abs(log(part.value))
    return rank, part.value if direction in WANTS_LARGE else -part.value


def reason(
    claim: Mapping[str, Any], parts: list[Part], missing: list[str], limits: list[str]
) -> str:
    """Return what holds, what does not, what could not be told and what limits it: a sentence."""
    if not parts:
        return f"Not measured here: {_listed(missing) or 'the points it needs'}."
    clauses = []
    for outcome in (HOLDS, PARTLY, FAILS, UNCLEAR):
        members = [part for part in parts if part.outcome == outcome]
        if members:
            about = "" if clauses else f" for {quantity(claim['quantity']).words}"
            clauses.append(f"{outcome}{about}{_told(claim, outcome, members, len(parts))}")
    if missing:
        clauses.append(f"not measured: {_listed(missing)}")
    sentence = "; ".join(clauses)
    if limits:
        sentence += f"; limits: {', '.join(limits)}"
    return f"{sentence[0].upper()}{sentence[1:]}."


def _listed(missing: list[str]) -> str:
    """Return what is missing in words: whole figures together, and the first few of the rest."""
    whole = [what.removeprefix("figure ") for what in missing if WHOLE.fullmatch(what)]
    rest = [what for what in missing if not WHOLE.fullmatch(what)]
    told = [figure_names(whole)] if whole else []
    told += rest[:MISSING_TOLD]
    if len(rest) > MISSING_TOLD:
        told.append(f"and {len(rest) - MISSING_TOLD} more")
    return ", ".join(told)


def _told(claim: Mapping[str, Any], outcome: str, members: list[Part], of: int) -> str:
    """Return what follows an outcome: how many parts have it, and the most telling one."""
    telling = min if outcome in (HOLDS, PARTLY) else max
    part = telling(members, key=lambda part: support(claim, part))
    told = f"{part.where} is {_times(part)}"
    if part.note:
        told += f", {part.note}"
    elif outcome == UNCLEAR:
        told += f", and up to {part.bound:.2f} could be noise"
    if of == 1:
        return f": {told}"
    which = "all" if len(members) == of else f"{len(members)} of"
    extreme = "" if len(members) == 1 else "the weakest: " if telling is min else "the nearest: "
    return f" in {which} {of} comparisons ({extreme}{told})"


def _times(part: Part) -> str:
    interval = "" if part.low is None else f" [{_short(part.low)}, {_short(part.high)}]"
    return f"{_short(part.value)} times{interval}"


def _short(value: float) -> str:
    return f"{value:.0f}" if value >= 100 else f"{value:.1f}" if value >= 10 else f"{value:.2f}"
