"""Values of several processes and rounds: their mean, how far they spread, and equal runs.

A value has a *place*: the process that measured it and its round in there, each from 1. The unit of
repetition is the process, since where memory comes to lie is decided once a process; its rounds are
averaged first. Rates, durations and their ratios are multiplied and not added, so means are
geometric; counts and shares may be none at all, and are added. What may be called an interval is
decided here and nowhere else:

* six processes or more: Student's t over the processes' mean logarithms, at 95 %;
* two to five: their smallest and largest, a range;
* one process: the smallest and largest of its rounds, which say nothing about another process.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cache
from typing import NamedTuple

import numpy as np

CONFIDENCE = 0.95
# From so many processes on, an interval is called one.
PROCESSES_FOR_AN_INTERVAL = 6
INTERVAL = "95 % interval"

Place = tuple[int, int]
Values = Mapping[Place, float]


class Spread(NamedTuple):
    """A mean, geometric unless told, and how far the values behind it lie apart.

    Attributes
    ----------
    value : float
        In the unit of the values.
    low, high : float or None
        The interval or range that `kind` names; None where one value is all there is.
    kind : str
        "95 % interval", "range of 3" (processes), "5 rounds of one process", or empty.
    processes : int
    rounds : int
        Values, of all processes together.
    values : tuple of float
        What `low` and `high` are of: a value a process, or a round of a single one.
    """

    value: float
    low: float | None
    high: float | None
    kind: str
    processes: int
    rounds: int
    values: tuple[float, ...] = ()

    @property
    def is_interval(self) -> bool:
        """Whether it may be called an interval."""
        return self.processes >= PROCESSES_FOR_AN_INTERVAL


def spread(values: Values, *, added: bool = False) -> Spread:
    """Return mean and spread of values by place.

    Parameters
    ----------
    values : mapping
    added : bool
        Whether the mean is arithmetic: of counts and shares, which may be 0.

    Raises
    ------
    ValueError
        When there is no value, or one that is not positive where they are multiplied.

    Examples
    --------
    >>> spread({(1, 1): 2.0, (1, 2): 8.0}).kind
    '2 rounds of one process'
    >>> spread({(1, 1): 4.0, (2, 1): 9.0}).kind
    'range of 2'
    >>> spread({(1, 1): 0.0, (1, 2): 0.5}, added=True).value
    0.25
    """
    return pooled([values], added=added)


def ratio(above: Values, below: Values) -> Spread | None:
    """Return the spread of a ratio, taken round by round; None where the two share no place."""
    both = quotients(above, below)
    return spread(both) if both else None


def quotients(above: Values, below: Values) -> dict[Place, float]:
    """Return above over below at the places where both are positive: of none there is no ratio."""
    return {
        place: above[place] / below[place]
        for place in sorted(above.keys() & below.keys())
        if above[place] > 0 and below[place] > 0
    }


def difference(above: Values, below: Values) -> Spread | None:
    """Return the spread of a difference, taken round by round; None where they share no place.

    Examples
    --------
    >>> difference({(1, 1): 3.0, (2, 1): 9.0}, {(1, 1): 2.0, (2, 1): 4.0})[:4]
    (3.0, 1.0, 5.0, 'range of 2')
    """
    apart = {place: above[place] - below[place] for place in sorted(above.keys() & below.keys())}
    return spread(apart, added=True) if apart else None


def pooled(members: Sequence[Values], *, added: bool = False) -> Spread:
    """Return the mean of several values or ratios together, each weighing the same.

    Parameters
    ----------
    members : sequence of mapping
        One mapping a pair or setting, place to value.
    added : bool
        As in `spread`.

    Raises
    ------
    ValueError
        When there is no value, or one that is not positive where they are multiplied.
    """
    to, back = (float, float) if added else (math.log, math.exp)
    logs = [dict(each) if added else _logarithms(each) for each in members if each]
    if not logs:
        raise ValueError("no values")
    if len(members) == len(members[0]) == 1:
        (single,) = members[0].values()
        return Spread(single, None, None, "", 1, 1, (single,))
    # What a member contributes is its own mean, so that one that lacks a process still counts.
    value = back(float(np.mean([np.mean(_by_process(each)) for each in logs])))
    processes = sorted({process for each in logs for process, _ in each})
    rounds = max(len(each) for each in logs)
    found = Spread(value, None, None, "", len(processes), rounds)
    if len(processes) == 1:
        return _within_one(found, logs, to, back)
    centres = np.array([_centre(logs, process) for process in processes]) + to(value)
    found = found._replace(values=tuple(back(centre) for centre in centres))
    if not found.is_interval:
        low, high = min(found.values), max(found.values)
        return found._replace(low=low, high=high, kind=f"range of {len(processes)}")
    reach = student_t(centres.size - 1) * float(centres.std(ddof=1)) / math.sqrt(centres.size)
    low, high = back(to(value) - reach), back(to(value) + reach)
    return found._replace(low=low, high=high, kind=INTERVAL)


def _logarithms(values: Values) -> dict[Place, float]:
    if min(values.values()) <= 0:
        raise ValueError("values must be positive")
    return {place: math.log(value) for place, value in values.items()}


def _by_process(logs: Mapping[Place, float]) -> list[float]:
    """Return the mean of each process."""
    processes = {process for process, _ in logs}
    return [np.mean([v for (own, _), v in logs.items() if own == each]) for each in processes]


def _centre(members: Iterable[Mapping[Place, float]], process: int) -> float:
    """Return how far a process lies from each member's own mean, on average.

    From their own means, so that a process that lacks the largest member is no smaller for it.
    """
    found = []
    for logs in members:
        own = [v for (each, _), v in logs.items() if each == process]
        if own:
            found.append(np.mean(own) - np.mean(_by_process(logs)))
    return float(np.mean(found))


def _within_one(
    found: Spread,
    members: Sequence[Mapping[Place, float]],
    to: Callable[[float], float],
    back: Callable[[float], float],
) -> Spread:
    rounds = sorted({place for logs in members for place in logs})
    if len(rounds) == 1:
        return found._replace(values=(found.value,))
    apart = [[logs[r] - np.mean(list(logs.values())) for logs in members if r in logs]
             for r in rounds]  # fmt: skip
    means = [back(to(found.value) + float(np.mean(each))) for each in apart]
    kind = f"{len(rounds)} rounds of one process"
    return found._replace(low=min(means), high=max(means), kind=kind, values=tuple(means))


@cache
def student_t(freedom: int) -> float:
    """Return the two-sided quantile of Student's t at 95 %, by bisection of its distribution.

    The distribution has a closed form for whole degrees of freedom (Abramowitz and Stegun, 26.7.3
    and 26.7.4).

    Examples
    --------
    >>> round(student_t(5), 3), round(student_t(1), 2), round(student_t(30), 3)
    (2.571, 12.71, 2.042)
    """
    low, high = 0.0, 1e6
    for _ in range(200):
        middle = (low + high) / 2
        inside = _within(middle, freedom)
        low, high = (middle, high) if inside < CONFIDENCE else (low, middle)
    return high


def _within(t: float, freedom: int) -> float:
    """Return the probability that Student's t lies between -t and t."""
    angle = math.atan(t / math.sqrt(freedom))
    cosine = math.cos(angle) ** 2
    if freedom % 2:
        term, total = math.cos(angle), 0.0
        for k in range(3, freedom + 1, 2):
            total += term
            term *= cosine * (k - 1) / k
        return 2 / math.pi * (angle + math.sin(angle) * total)
    term, total = 1.0, 0.0
    for k in range(2, freedom + 1, 2):
        total += term
        term *= cosine * (k - 1) / k
    return math.sin(angle) * total


class Floor(NamedTuple):
    """What equal runs differ by: a factor that `CONFIDENCE` of the pairs stay below."""

    factor: float
    pairs: int


def floor_of(pairs: Sequence[tuple[float, float]]) -> Floor | None:
    """Return the floor of noise that pairs of equal runs show; None without pairs.

    With fewer than twenty pairs it is the largest of them.

    Raises
    ------
    ValueError
        When a value is not positive.
    """
    if not pairs:
        return None
    values = np.asarray(pairs, dtype=float)
    if (values <= 0).any():
        raise ValueError("results of equal runs must be positive")
    distances = np.abs(np.log(values[:, 0] / values[:, 1]))
    reached = float(np.quantile(distances, CONFIDENCE, method="higher"))
    return Floor(math.exp(reached), len(pairs))


def weighted_quantiles(
    values: np.ndarray, weights: np.ndarray, levels: Sequence[float]
) -> list[float]:
    """Return the smallest value at or below which each share of the total weight lies.

    Parameters
    ----------
    values : ndarray of shape (n,), n > 0
    weights : ndarray of shape (n,)
        Not negative, not all zero.
    levels : sequence of float
        Shares from 0 to 1.
    """
    order = np.argsort(values, kind="stable")
    reached = np.cumsum(weights[order])
    places = np.searchsorted(reached, np.asarray(levels) * reached[-1], side="left")
    return [float(v) for v in values[order][np.minimum(places, values.size - 1)]]


class Trend(NamedTuple):
    """A fitted line: its slope and the two-sided confidence bounds of the slope."""

    slope: float
    lower: float
    upper: float


# Samples of a queue that follow each other are alike, so the independent error is too small; twice
# the usual two standard errors is a simple allowance for it.
STANDARD_ERRORS = 4.0


def trend(x: np.ndarray, y: np.ndarray) -> Trend | None:
    """Return the least-squares slope of `y` over `x`, or None with fewer than five points."""
    if x.size < 5 or np.ptp(x) == 0:
        return None
    centred = x - x.mean()
    squares = float((centred**2).sum())
    slope = float((centred * (y - y.mean())).sum() / squares)
    rest = y - y.mean() - slope * centred
    error = float(np.sqrt((rest**2).sum() / (x.size - 2) / squares))
    return Trend(slope, slope - STANDARD_ERRORS * error, slope + STANDARD_ERRORS * error)
