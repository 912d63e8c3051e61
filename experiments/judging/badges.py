"""The parts of a verdict that never change the direction: size, regime, evidence."""

from __future__ import annotations

from collections.abc import Iterable
from math import floor, isfinite, log10
from typing import Any

from experiments.judging.claim_types import LOST, SHARE, TIMES, Claim
from experiments.judging.pairs import Pair, backlog, places_of
from experiments.judging.points import Point
from experiments.judging.pool import Pool
from experiments.records import statistics
from experiments.records.quantities import quantity

SIDE_BY_SIDE = "about threads side by side"


# Units of a rate, and of a time in milliseconds: a value is shown in the largest that it reaches.
_RATES = ((1e9, "G "), (1e6, "M "), (1e3, "k "), (1.0, ""))
_TIMES = ((60_000.0, "min"), (1e3, "s"), (1.0, "ms"), (1e-3, "µs"))
# The ends of an interval get up to so many more digits until they differ.
MORE_DIGITS = 2
# Directions whose ratio is below 1: lower values are shown as so many times less.
DOWNWARDS = ("lower", "falls")


def shortened(value: float, more: int = 0) -> str:
    """Return a ratio with two or three digits, or `more`: 0.0042, 1.04, 2.8, 23, 7,620."""
    if 0.0 < value < 0.0995:
        return f"{value:.{1 - floor(log10(value)) + more}f}"
    digits = 2 if value < 1.995 else 1 if value < 9.95 else 0
    return f"{value:,.{digits + more}f}"


def with_ends(value: float, low: float | None, high: float | None) -> tuple[str, str]:
    """Return a ratio, and the ends of an interval in brackets; no brackets where there are no ends.

    An interval that is narrower than the rounding gets more digits, and the ratio with it: two
    equal ends would look like certainty.

    Examples
    --------
    >>> with_ends(2.93, 2.5, 3.3), with_ends(2.93, 2.92, 2.94), with_ends(2.93, None, None)
    (('2.9', ' [2.5, 3.3]'), ('2.93', ' [2.92, 2.94]'), ('2.9', ''))
    """
    if low is None or high is None or not (isfinite(low) and isfinite(high)):
        return shortened(value), ""
    narrow = MORE_DIGITS if low < high else 0
    for more in range(narrow + 1):
        told, least, most = (shortened(each, more) for each in (value, low, high))
        if least != most:
            break
    return told, f" [{least}, {most}]"


def size_of(claim: Claim, pool: Pool) -> dict[str, Any] | None:
    """Return the size here and in the paper; None where the paper's text says no size.

    Returns
    -------
    dict or None
        ``here``, ``paper`` (null where the number is lost), ``unit`` and ``text``, such as
        "2.8 times here, 1.5 in the paper". A lower value is written as so many times less, "2.8
        times less here, 10 in the paper", and one that is higher instead, as so many times more.
    """
    value, unit = claim.value, claim.unit
    if value is None or (value == LOST and unit != TIMES):
        return None
    if unit == TIMES:
        if pool.spread is None:
            return None
        here = pool.spread.value
        if claim.direction in DOWNWARDS:
            here = 1.0 / here
        text = _times(here, value, claim.direction in DOWNWARDS)
    else:
        values = [point.values for pair in pool.pairs for point in pair.points]
        if not values:
            return None
        here = statistics.pooled(values, added=quantity(claim.quantity).is_added).value
        text = f"{in_unit(here, unit)} here, {in_unit(value, unit)} in the paper"
    return {"here": here, "paper": None if value == LOST else value, "unit": unit, "text": text}


def _times(here: float, there: float | str, less: bool) -> str:
    """Return a ratio here and in the paper in words; a lower one as so many times less."""
    if less and here < 1.0:
        told, beside = f"{shortened(1.0 / here)} times more here", " times less"
    else:
        told, beside = f"{shortened(here)} times{' less' if less else ''} here", ""
    if there == LOST:
        return f"{told}; the text lost its own"
    return f"{told}, {there:g}{beside} in the paper"


def straight_size(share: float, curves: int) -> dict[str, Any]:
    """Return the size of a claim of linearity: how straight the curves are here."""
    many = "" if curves == 1 else f", the mean of {curves} curves"
    text = f"a straight line explains {share:.2f} of the variance here{many}"
    return {"here": share, "paper": None, "unit": "share of variance", "text": text}


def in_unit(value: float, unit: str) -> str:
    """Return a value with its unit, in the multiple that reads best.

    Examples
    --------
    >>> in_unit(7.62e9, "c/s"), in_unit(2000.0, "ms"), in_unit(0.77, "share"), in_unit(243.0, "B")
    ('7.62 G c/s', '2 s', '0.77', '243 B')
    """
    if unit.endswith("/s") or unit == "ms":
        scale = _TIMES if unit == "ms" else _RATES
        size, word = next((each for each in scale if abs(value) >= each[0]), scale[-1])
        value, unit = value / size, word if unit == "ms" else f"{word}{unit}"
    number = in_digits(value)
    return f"{number} {unit}" if unit not in ("", SHARE) else number


def in_digits(value: float, digits: int = 3) -> str:
    """Return a number with some digits and without an exponent: 0.00412, 7.62, 23, 1,024."""
    if not isfinite(value):
        return str(value)
    places = max(digits - 1 - floor(log10(abs(value))), 0) if value else 0
    text = f"{value:,.{places}f}"
    return text.rstrip("0").rstrip(".") if "." in text else text


def regime_of(claim: Claim, points: Iterable[Point], cores_there: int) -> dict[str, Any] | None:
    """Return threads and cores, here and there; None of a count, which does not depend on them.

    Returns
    -------
    dict or None
        ``threads`` (the most of any point), ``cores``, ``paper_cores``, ``oversubscribed`` (more
        threads than cores) and ``text``: "21 threads on 2 cores; the paper's machine has 24". The
        paper's threads are not given: they went up to other numbers than here.
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
        "oversubscribed": threads > cores,
        "text": text,
    }


def evidence_of(pairs: Iterable[Pair]) -> dict[str, Any] | None:
    """Return the amount of evidence for a statement; None where nothing was measured.

    Returns
    -------
    dict or None
        ``processes``, ``rounds`` (the most of a process), ``points`` (measured ones, each once),
        ``noisy`` and ``kept_up`` (shares of them) and ``text``. To keep up only means that falling
        behind was not observed, so the text gives the points that fell behind.
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
    text += f", {count - kept} of {count} fell behind" if kept < count else ", none fell behind"
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
