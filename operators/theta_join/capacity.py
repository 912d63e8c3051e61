"""The capacity that a join's windows need, given the arrival times of the tuples."""

from __future__ import annotations

import numpy as np

from operators.index.window import most_within
from operators.theta_join.family import Extent


def most_in_window(times: np.ndarray, is_r: np.ndarray, extent: Extent, shares: int) -> int:
    """Return the most tuples of one logical stream that a thread has in its window at once.

    Parameters
    ----------
    times : int64 array
        The times of all tuples, by rank.
    is_r : bool array
        By rank, whether a tuple is R's.
    extent : Extent
    shares : int
        Each thread keeps the tuples whose rank modulo `shares` is the thread's number.
    """
    span = extent.count - 1 if extent.count else extent.span
    most = 0
    for mine in (is_r, ~is_r):
        ranks = np.flatnonzero(mine)
        # Count windows purge by a tuple's number in the logical stream.
        stamps = np.arange(len(ranks)) if extent.count else times[ranks]
        for thread in range(shares):
            most = max(most, most_within(stamps[ranks % shares == thread], span))
    return most
