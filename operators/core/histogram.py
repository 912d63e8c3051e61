"""A log-linear histogram of durations, as HdrHistogram lays it out (Gil Tene, hdrhistogram.org).

A latency of a nanosecond and one of an hour fit in one array with the same relative error: each
value below 2048 has a separate counter, and from there on every power of two is divided into 1024
equal parts::

    value     0 1 2 ... 2047 | 2048 2050 ... 4094 | 4096 4100 ... 8188 | 8192 ...
    counter   0 1 2 ... 2047 | 2048 2049 ... 3071 | 3072 3073 ... 4095 | 4096 ...

Two values that share a counter differ by less than 1 part in 1024, which keeps three significant
digits. Count, sum, smallest and largest value are kept exactly, so that the mean is exact.

One thread records into a histogram; ``merge`` adds those of several threads once they are done.
The sum is an int64: enough for 2.5 million values of an hour each, or 9 * 10**12 of a millisecond.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from operators.contract import UsageError
from operators.core.integers import bit_length
from operators.core.jit import inlined
from operators.core.layout import LINE_WORDS, aligned_words
from operators.core.marks import mark

# 10 bits are three significant digits: not measured, but the precision promised above.
HALF_BITS = 10
HALF = 1 << HALF_BITS
# One hour in nanoseconds: the largest latency; longer ones are cut off.
LARGEST_NS = 3_600_000_000_000

COUNT = 0
SUM = 1
SMALLEST = 2
LARGEST = 3
CUT_OFF = 4  # values that were below 0 or above LARGEST_NS, and were counted as that bound


@inlined
def counter_of(value):
    """Return the counter of `value`, which is 0 or more."""
    halvings = max(bit_length(value) - HALF_BITS - 1, 0)
    return (halvings << HALF_BITS) + (value >> halvings)


COUNTERS = counter_of(LARGEST_NS) + 1


class Histogram(NamedTuple):
    """One histogram. All words belong to the recording thread."""

    # (LINE_WORDS): COUNT, SUM, SMALLEST, LARGEST, CUT_OFF.
    summary: np.ndarray
    # (COUNTERS): how many values fell into each counter.
    counters: np.ndarray


def make_histogram() -> Histogram:
    """Return an empty histogram."""
    histogram = Histogram(aligned_words(LINE_WORDS), aligned_words(COUNTERS))
    histogram.summary[SMALLEST] = LARGEST_NS
    return histogram


@inlined
def record(histogram, value, count):
    """Count `value`, in nanoseconds, `count` times.

    A value below 0 or above an hour is counted as 0 or an hour, and as cut off.
    """
    summary = histogram.summary
    kept = min(max(value, 0), LARGEST_NS)
    if kept != value:
        mark("histogram: cut off")
        summary[CUT_OFF] += count
    summary[COUNT] += count
    summary[SUM] += kept * count
    summary[SMALLEST] = min(summary[SMALLEST], kept)
    summary[LARGEST] = max(summary[LARGEST], kept)
    histogram.counters[counter_of(kept)] += count


def forget(histogram: Histogram) -> None:
    """Empty a histogram; the recording thread must be idle meanwhile."""
    histogram.summary[:] = 0
    histogram.summary[SMALLEST] = LARGEST_NS
    histogram.counters[:] = 0


def merge(histograms: Sequence[Histogram]) -> Histogram:
    """Return a new histogram of all values of `histograms`, whose threads no longer record."""
    merged = make_histogram()
    for histogram in histograms:
        merged.counters[:] += histogram.counters
        for word in (COUNT, SUM, CUT_OFF):
            merged.summary[word] += histogram.summary[word]
        merged.summary[SMALLEST] = min(merged.summary[SMALLEST], histogram.summary[SMALLEST])
        merged.summary[LARGEST] = max(merged.summary[LARGEST], histogram.summary[LARGEST])
    return merged


def count(histogram: Histogram) -> int:
    """Return how many values were recorded."""
    return int(histogram.summary[COUNT])


def mean(histogram: Histogram) -> float:
    """Return the exact mean in nanoseconds; NaN when nothing was recorded."""
    recorded = count(histogram)
    return int(histogram.summary[SUM]) / recorded if recorded else float("nan")


def largest(histogram: Histogram) -> int:
    """Return the largest value in nanoseconds, exactly; 0 when nothing was recorded."""
    return int(histogram.summary[LARGEST])


def smallest(histogram: Histogram) -> int:
    """Return the smallest value in nanoseconds, exactly; 0 when nothing was recorded."""
    return int(histogram.summary[SMALLEST]) if count(histogram) else 0


def percentile(histogram: Histogram, percent: float) -> int:
    """Return the value that `percent` of the recorded values do not exceed.

    Parameters
    ----------
    histogram : Histogram
    percent : float
        0 to 100.

    Returns
    -------
    int
        Nanoseconds: the largest value that shares a counter with the exact one, but never more
        than the largest recorded value. 0 when nothing was recorded.

    Raises
    ------
    UsageError
        When `percent` is not between 0 and 100.
    """
    if not 0 <= percent <= 100:
        raise UsageError(f"a percentile lies between 0 and 100, received {percent}")
    recorded = count(histogram)
    if not recorded:
        return 0
    # Rounded as HdrHistogram does: half a value more decides.
    rank = max(int(percent * recorded / 100 + 0.5), 1)
    counter = int(np.searchsorted(np.cumsum(histogram.counters), rank))
    return min(last_value_of(counter), largest(histogram))


def last_value_of(counter: int) -> int:
    """Return the largest value that `counter` counts."""
    halvings = max((counter >> HALF_BITS) - 1, 0)
    first = (counter - (halvings << HALF_BITS)) << halvings
    return first + (1 << halvings) - 1


def check_invariants(histogram: Histogram) -> None:
    """Check that the summary and the counters agree.

    Raises
    ------
    AssertionError
        The message names the difference.
    """
    recorded = count(histogram)
    assert int(histogram.counters.sum()) == recorded, "the counters do not add up to the count"
    if recorded:
        taken = histogram.counters.nonzero()[0]
        assert counter_of(smallest(histogram)) == taken[0], "the smallest value has no counter"
        assert counter_of(largest(histogram)) == taken[-1], "the largest value has no counter"
