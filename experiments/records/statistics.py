"""Values of several processes and rounds: mean, spread and confidence interval, and equal runs.

A value is identified by a ``Place``: the process that measured it and the round in that process,
each from 1. The unit of repetition is the process, started or forked, since memory addresses are
decided once a process. The median of the rounds represents a process, since one delayed round does
not move it. Rates, durations and ratios of them are multiplied and not added, so means over
processes are geometric. Counts and shares may be 0, so they are added, and the mean of the rounds
represents a process. Only this module decides when a range may be called an interval:

* six processes or more: a confidence interval of 95 %, by Student's t over the processes' mean
  logarithms;
* two to five: the smallest and largest process, a range;
* one process: the smallest and largest round, which say nothing about another process.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cache
from statistics import fmean, median
from typing import NamedTuple

import numpy as np

CONFIDENCE = 0.95
# From this many processes on, the range may be called an interval.
PROCESSES_FOR_AN_INTERVAL = 6
INTERVAL = "95 % interval"

Place = tuple[int, int]
Values = Mapping[Place, float]
Middle = Callable[[Sequence[float]], float]


class Spread(NamedTuple):
    """A mean of processes, geometric unless added, and the spread of the values behind it.

    Attributes
    ----------
    value : float
        In the unit of the values.
    low, high : float or None
        The interval or range that `kind` names; None for a single value.
    kind : str
        "95 % interval", "range of 3" (processes), "5 rounds of one process", or empty.
    processes : int
    rounds : int
        Values, of all processes together.
    values : tuple of float
        The values that `low` and `high` describe: one a process, or one a round of one process.
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
    """Return mean and spread of values by process and round.

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
    """Return the spread of a ratio, taken round by round; None without a common round."""
    both = quotients(above, below)
    return spread(both) if both else None


def quotients(above: Values, below: Values) -> dict[Place, float]:
    """Return above over below, round by round, where both are positive: 0 has no ratio."""
    return {
        place: above[place] / below[place]
        for place in sorted(above.keys() & below.keys())
        if above[place] > 0 and below[place] > 0
    }


def difference(above: Values, below: Values) -> Spread | None:
    """Return the spread of a difference, taken round by round; None without a common round.

    Examples
    --------
    >>> difference({(1, 1): 3.0, (2, 1): 9.0}, {(1, 1): 2.0, (2, 1): 4.0})[:4]
    (3.0, 1.0, 5.0, 'range of 2')
    """
    apart = {place: above[place] - below[place] for place in sorted(above.keys() & below.keys())}
    return spread(apart, added=True) if apart else None


def pooled(members: Sequence[Values], *, added: bool = False) -> Spread:
    """Return the joint mean of several values or ratios, each weighing the same.

    Parameters
    ----------
    members : sequence of mapping
        One mapping a pair or setting, from process and round to value.
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
    # A member contributes its mean, so that a member without some process still counts.
    middle = fmean if added else median
    value = back(float(np.mean([_mean(each, middle) for each in logs])))
    processes = sorted({process for each in logs for process, _ in each})
    rounds = max(len(each) for each in logs)
    found = Spread(value, None, None, "", len(processes), rounds)
    if len(processes) == 1:
        return _within_one(found, logs, to, back, middle)
    centres = np.array([_centre(logs, process, middle) for process in processes]) + to(value)
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


def by_process(values: Values, middle: Middle = median) -> dict[int, float]:
    """Return the median of the rounds of each process; of an even number the mean of two.

    For added quantities `middle` is the mean: only means of shares add up to that of the whole.

    Examples
    --------
    >>> by_process({(1, 1): 1.0, (1, 2): 9.0, (1, 3): 2.0, (2, 1): 4.0})
    {1: 2.0, 2: 4.0}
    """
    rounds: dict[int, list[float]] = {}
    for (process, _), value in values.items():
        rounds.setdefault(process, []).append(value)
    return {process: middle(own) for process, own in sorted(rounds.items())}


def _mean(logs: Mapping[Place, float], middle: Middle) -> float:
    """Return the mean over processes."""
    return float(np.mean(list(by_process(logs, middle).values())))


def _centre(members: Iterable[Mapping[Place, float]], process: int, middle: Middle) -> float:
    """Return how far a process lies from each member's mean, on average.

    A process that lacks the largest member is compared with the means of the others only, and so
    does not look smaller.
    """
    found = []
    for logs in members:
        own = by_process(logs, middle)
        if process in own:
            found.append(own[process] - _mean(logs, middle))
    return float(np.mean(found))


def _within_one(
    found: Spread,
    members: Sequence[Mapping[Place, float]],
    to: Callable[[float], float],
    back: Callable[[float], float],
    middle: Middle,
) -> Spread:
    rounds = sorted({place for logs in members for place in logs})
    if len(rounds) == 1:
        return found._replace(values=(found.value,))
    apart = [[logs[r] - _mean(logs, middle) for logs in members if r in logs] for r in rounds]
    means = [back(to(found.value) + float(np.mean(each))) for each in apart]
    kind = f"{len(rounds)} rounds of one process"
    return found._replace(low=min(means), high=max(means), kind=kind, values=tuple(means))


@cache
def student_t(freedom: int, confidence: float = CONFIDENCE) -> float:
    """Return the two-sided quantile of Student's t, by bisection of its distribution.

    The distribution has a closed form for whole degrees of freedom (Abramowitz and Stegun, 26.7.3
    and 26.7.4).

    Examples
    --------
    >>> round(student_t(5), 3), round(student_t(1), 2), round(student_t(5, 0.9), 3)
    (2.571, 12.71, 2.015)
    """
    low, high = 0.0, 1e6
    for _ in range(200):
        middle = (low + high) / 2
        inside = _within(middle, freedom)
        low, high = (middle, high) if inside < confidence else (low, middle)
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
    """The noise floor: a factor that `CONFIDENCE` of the pairs of equal runs stay below.

    Attributes
    ----------
    factor : float
        Of single runs.
    pairs : int
        Number of pairs behind it.
    medians : tuple of float
        The same factor of medians of two rounds, of three, and so on.
    """

    factor: float
    pairs: int
    medians: tuple[float, ...] = ()

    def of_median(self, rounds: int) -> float:
        """Return the factor of medians of `rounds` rounds, extrapolated by the square root.

        Examples
        --------
        >>> Floor(1.5, 100, (1.4, 1.2)).of_median(3)
        1.2
        """
        known = (self.factor, *self.medians)
        most = min(rounds, len(known))
        return known[most - 1] ** (most / rounds) ** 0.5


# Floors of medians are sampled: so many medians, of as many rounds as a profile has, and more.
DRAWS = 4_000
MOST_ROUNDS = 9


def floor_of(pairs: Sequence[tuple[float, float]]) -> Floor | None:
    """Return the noise floor of pairs of equal runs; None without pairs.

    The spread of medians of several rounds does not follow from that of single runs: rare but long
    delays hardly affect medians. So medians are sampled from the pairs, either way round, by a
    fixed seed.

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
    apart = np.abs(np.log(values[:, 0] / values[:, 1]))
    both = np.concatenate((apart, -apart))
    random = np.random.default_rng(1)
    medians = (
        np.abs(np.median(random.choice(both, (DRAWS, rounds)), axis=1))
        for rounds in range(2, MOST_ROUNDS + 1)
    )
    factor, *others = (
        math.exp(float(np.quantile(each, CONFIDENCE, method="higher")))
        for each in (apart, *medians)
    )
    return Floor(factor, len(pairs), tuple(others))


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


# Consecutive samples of a queue are correlated, so the error for independent samples is too small;
# twice the usual two standard errors is a simple allowance.
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
