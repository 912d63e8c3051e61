"""Medians with intervals, ratios with theirs, and the smallest difference worth a word.

The unit of repetition is the process: a sample is what one process measured. The intervals are
percentile bootstraps of the median with a fixed seed, so that equal samples give equal intervals.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

RESAMPLES = 10_000
CONFIDENCE = 0.95
SEED = 20140623


class Interval(NamedTuple):
    """A median and the interval around it, in the unit of the samples.

    Attributes
    ----------
    median : float
    low, high : float
        Both equal to the median when there is one sample: such an interval says nothing.
    count : int
        Samples.
    """

    median: float
    low: float
    high: float
    count: int


def interval(samples: Sequence[float], confidence: float = CONFIDENCE) -> Interval:
    """Return the median of `samples` with its bootstrap interval.

    Raises
    ------
    ValueError
        When there is no sample.
    """
    values = _checked(samples)
    generator = np.random.default_rng(SEED)
    draws = values[generator.integers(0, values.size, (RESAMPLES, values.size))]
    return _percentiles(float(np.median(values)), np.median(draws, axis=1), confidence, values.size)


def ratio(
    numerator: Sequence[float], denominator: Sequence[float], confidence: float = CONFIDENCE
) -> Interval:
    """Return the ratio of two medians with its bootstrap interval.

    Samples that were taken in the same processes are passed in the same order: they are resampled
    together, so that what both have in common (a slow hour of the machine) cancels.

    Raises
    ------
    ValueError
        When either has no sample, or the denominator holds a value that is not positive.
    """
    above, below = _checked(numerator), _checked(denominator)
    if (below <= 0).any():
        raise ValueError("a ratio needs a positive denominator")
    generator = np.random.default_rng(SEED)
    places = generator.integers(0, above.size, (RESAMPLES, above.size))
    other = places
    if above.size != below.size:
        other = generator.integers(0, below.size, (RESAMPLES, below.size))
    draws = np.median(above[places], axis=1) / np.median(below[other], axis=1)
    median = float(np.median(above) / np.median(below))
    return _percentiles(median, draws, confidence, min(above.size, below.size))


def smallest_detectable_difference(
    pairs: Sequence[tuple[float, float]], confidence: float = CONFIDENCE
) -> float | None:
    """Return the relative difference that two runs of the same thing stay below.

    Parameters
    ----------
    pairs : sequence of (float, float)
        Results of A/A runs: the same variant at the same setting, twice in one process.
    confidence : float
        Share of such pairs that the difference covers.

    Returns
    -------
    float or None
        For example 0.05: two medians that differ by less than 5 % may be equal. The quantile of
        the absolute log ratios, the largest of them when there are too few for the quantile.
        None without pairs.
    """
    if not pairs:
        return None
    values = np.asarray(pairs, dtype=float)
    if (values <= 0).any():
        raise ValueError("A/A results must be positive")
    distances = np.abs(np.log(values[:, 0] / values[:, 1]))
    return float(np.expm1(np.quantile(distances, confidence, method="higher")))


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
    spread = float((centred**2).sum())
    slope = float((centred * (y - y.mean())).sum() / spread)
    rest = y - y.mean() - slope * centred
    error = float(np.sqrt((rest**2).sum() / (x.size - 2) / spread))
    return Trend(slope, slope - STANDARD_ERRORS * error, slope + STANDARD_ERRORS * error)


def _checked(samples: Sequence[float]) -> np.ndarray:
    values = np.asarray(samples, dtype=float)
    if values.size == 0:
        raise ValueError("no samples")
    return values


def _percentiles(median: float, draws: np.ndarray, confidence: float, count: int) -> Interval:
    tail = (1 - confidence) / 2
    low, high = np.quantile(draws, [tail, 1 - tail])
    return Interval(median, float(low), float(high), count)
