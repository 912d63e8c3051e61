"""What stands beside the direction of a statement and never changes it: size, regime, evidence."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from math import isfinite
from typing import Any

from experiments.judging.claim_types import LOST, TIMES, Claim
from experiments.judging.pairs import Pair, backlog, places_of
from experiments.judging.points import Point
from experiments.judging.pool import Pool
from experiments.records import statistics
from experiments.records.quantities import quantity

SIDE_BY_SIDE = "about threads side by side"


def shortened(value: float) -> str:
    """Return a ratio with two or three digits: 1.04, 2.8, 23."""
    digits = 2 if value < 1.995 else 1 if value < 9.95 else 0
    return f"{value:.{digits}f}"


def size_of(claim: Claim, pool: Pool) -> dict[str, Any] | None:
    """Return how large it is here and in the paper; None where the paper's text says no size.

    Returns
    -------
    dict or None
        ``here``, ``paper`` (null where the number is lost), ``unit`` and ``text``, such as
        "2.8 times here, 1.5 in the paper". What is lower is told as so many times less.
    """
    value, unit = claim.value, claim.unit
    if value is None or (value == LOST and unit != TIMES):
        return None
    if unit == TIMES:
        if pool.spread is None:
            return None
        here = pool.spread.value
        if claim.direction in ("lower", "falls"):
            here = 1.0 / here
    else:
        values = [point.values for pair in pool.pairs for point in pair.points]
        if not values:
            return None
        here = statistics.pooled(values, added=quantity(claim.quantity).is_added).value
    told = f"{_told(here)} {unit} here"
    if value == LOST:
        return {"here": here, "paper": None, "unit": unit, "text": f"{told}; the text lost its own"}
    text = f"{told}, {_told(value, '{:g}'.format)} in the paper"
    return {"here": here, "paper": value, "unit": unit, "text": text}


def straight_size(share: float, curves: int) -> dict[str, Any]:
    """Return the size of what the paper calls linear: how straight it is here."""
    many = "" if curves == 1 else f", the mean of {curves} curves"
    text = f"a straight line explains {share:.2f} of the variance here{many}"
    return {"here": share, "paper": None, "unit": "share of variance", "text": text}


def _told(value: float, small: Callable[[float], str] = shortened) -> str:
    """Return a number with two or three digits: 1.04, 2.8, 23, 1.5 M."""
    for unit, word in ((1e6, " M"), (1e3, " k")):
        if value >= unit:
            return f"{value / unit:.3g}{word}"
    return small(value)


def regime_of(claim: Claim, points: Iterable[Point], cores_there: int) -> dict[str, Any] | None:
    """Return threads and cores, here and there; None of a count, which none of it touches.

    Returns
    -------
    dict or None
        ``threads`` (the most of any point), ``cores``, ``paper_cores``, ``crowded`` (more threads
        than cores) and ``text``: "21 threads on 2 cores; the paper's machine has 24". How many
        threads the paper had at its places is not told: it went up to other numbers than here.
    """
    points = list(points)
    if not points or not quantity(claim.quantity).timed:
        return None
    threads, cores = max(p.threads for p in points), min(p.cores for p in points)
    upto = "up to " if len({point.threads for point in points}) > 1 else ""
    text = f"{upto}{_many(threads, 'thread')} on {_many(cores, 'core')}"
    text += f"; the paper's machine has {cores_there}"
    if claim.core_per_thread:
        text += f"; {SIDE_BY_SIDE}"
    return {
        "threads": threads,
        "cores": cores,
        "paper_cores": cores_there,
        "crowded": threads > cores,
        "text": text,
    }


def evidence_of(pairs: Iterable[Pair]) -> dict[str, Any] | None:
    """Return how much stands behind a statement; None where nothing was measured.

    Returns
    -------
    dict or None
        ``processes``, ``rounds`` (the most of a process), ``points`` (measured ones, each once),
        ``noisy`` and ``kept_up`` (shares of them) and ``text``.
    """
    pairs = list(pairs)
    points = list({id(point): point for pair in pairs for point in pair.points}.values())
    if not points:
        return None
    by_process = places_of(pairs) or {p: {r} for point in points for p, r in point.values}
    rounds = max(map(len, by_process.values()))
    noisy = sum("noisy" in point.states for point in points)
    kept = sum(not ("unsustained" in point.states or backlog(point)) for point in points)
    count = len(points)
    text = _many(len(by_process), "process", "es")
    text += f" of {_many(rounds, 'round')}" if rounds > 1 else ""
    text += f", {noisy} of {count} points noisy" if noisy else ", none noisy"
    text += f", {kept} of {count} kept up" if kept < count else ", all kept up"
    return {
        "processes": len(by_process),
        "rounds": rounds,
        "points": count,
        "noisy": noisy / count,
        "kept_up": kept / count,
        "text": text,
    }


def _many(count: int, word: str, ending: str = "s") -> str:
    return f"{count} {word}{'' if count == 1 else ending}"


def told_interval(low: float | None, high: float | None) -> str:
    """Return " [2.1, 3.6]", and nothing where there are no ends."""
    if low is None or high is None or not (isfinite(low) and isfinite(high)):
        return ""
    return f" [{shortened(low)}, {shortened(high)}]"
