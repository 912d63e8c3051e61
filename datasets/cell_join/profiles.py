"""The rates of the physical streams in the case studies of figure 8, as a table.

"ScaleJoin: a Deterministic, Disjoint-Parallel and Skew-Resilient Stream Join", section VI,
"Skew-resilience evaluation". The resulting load for a window of `WINDOW_S` seconds, in millions of
comparisons per second and thread (section II: each tuple of one side is compared with the other
side's window, that is ``rate_r * window_s + rate_s * window_r``):

    constant  10 threads  64.8            the paper: "approximately 65"
    sinusoid  12 threads  18.5 to 55.0    the paper: "from a minimum of 18.5 to a maximum of 55"
    peaks     14 threads  30.6 to 65.6    the paper gives none

A study is periodic: after the last second it begins again. Shared by the generator, a loader and
the tests. Does not import Spark.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

SECONDS = 300
"""The length of a study. Figure 8a shows "a period of 5 minutes"."""

# ASSUME: the window of the studies is lost. Of the paper's 5, 10 and 15 minutes, only 5 give, at
# 1,200 and 900 tuples per second, 65 million comparisons per second for each of 10 threads.
WINDOW_S = 300

# ASSUME: the paper has "sudden peaks" and gives neither their height nor their length.
PEAK_FACTOR, PEAK_SECONDS = 5, 5


class Stream(NamedTuple):
    """One physical stream of a study; see `tuples` for the formula.

    Attributes
    ----------
    profile
        The study: constant, sinusoid or peaks.
    side
        The logical stream: r or s.
    number
        Number among the streams of the same side, from 0.
    base
        Tuples per second, without swing and peaks.
    amplitude
        Amplitude of the swing about `base`, in tuples per second.
    period
        Period of the swing, in seconds.
    phase
        Phase of the swing at second 0, in degrees.
    peaks
        The first seconds of the peaks.
    """

    profile: str
    side: str
    number: int
    base: int
    amplitude: int = 0
    period: int = SECONDS
    phase: int = 0
    peaks: tuple[int, ...] = ()


# The numbers of streams per side are the paper's. ASSUME in `constant`: 1,200 and 900 are the sums
# of the sides (four streams of 900 each would be four times the comparisons of figure 8a), and the
# four shares of the 900 are ours, since figure 8a's curves are lost.
#
# ASSUME in `sinusoid`: all numbers, since the text has lost figure 8b's curves. Each period divides
# the window, which therefore always has the same number of tuples, 258,000 of either side, and only
# the momentary rates swing. A period longer than the window would change the window's content, too.
# Bases and amplitudes are such that comparisons swing as the paper says. Half of each amplitude is
# an integer: no rate lies midway between two integers, where the last bit of a library function
# would decide.
#
# ASSUME in `peaks`: all numbers, since the text has lost figure 8c's curves. No two streams peak at
# the same time, and the highest stays below the 1.4 thousand million comparisons a second that the
# paper's system S2 manages with 16 threads.
STREAMS = (
    Stream("constant", "r", 0, base=1_200),
    Stream("constant", "s", 0, base=360),
    Stream("constant", "s", 1, base=270),
    Stream("constant", "s", 2, base=180),
    Stream("constant", "s", 3, base=90),
    Stream("sinusoid", "r", 0, base=420, amplitude=320, period=150, phase=30),
    Stream("sinusoid", "r", 1, base=290, amplitude=140, period=100, phase=120),
    Stream("sinusoid", "r", 2, base=150, amplitude=120, period=60, phase=120),
    Stream("sinusoid", "s", 0, base=500, amplitude=360, period=75, phase=180),
    Stream("sinusoid", "s", 1, base=360, amplitude=300, period=50, phase=180),
    Stream("peaks", "r", 0, base=330, peaks=(40, 205)),
    Stream("peaks", "r", 1, base=260, peaks=(115, 250)),
    Stream("peaks", "r", 2, base=180, peaks=(15, 160)),
    Stream("peaks", "r", 3, base=130, peaks=(85, 290)),
    Stream("peaks", "s", 0, base=400, peaks=(65, 225)),
    Stream("peaks", "s", 1, base=300, peaks=(135, 270)),
)
"""By study, side and number."""


def tuples(stream: Stream) -> np.ndarray:
    """Return the number of tuples that a stream delivers.

    Parameters
    ----------
    stream

    Returns
    -------
    ndarray of int64, (SECONDS,)
        Tuples in each second: ``base + amplitude * sin(2 pi second / period + phase)``, rounded,
        and `PEAK_FACTOR` times as many in the `PEAK_SECONDS` seconds of a peak.

    Examples
    --------
    >>> tuples(Stream("sinusoid", "r", 0, base=10, amplitude=4, period=4, peaks=(2,)))[:8].tolist()
    [10, 14, 50, 30, 50, 70, 50, 6]
    """
    second = np.arange(SECONDS)
    turn = second / stream.period + stream.phase / 360
    rate = np.rint(stream.base + stream.amplitude * np.sin(2 * np.pi * turn))
    for first in stream.peaks:
        rate[first : first + PEAK_SECONDS] *= PEAK_FACTOR
    return rate.astype(np.int64)
