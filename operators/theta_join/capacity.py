"""How much room a join's windows need, from when its tuples arrive."""

from __future__ import annotations

import numpy as np

from operators.index.window import most_within
from operators.theta_join.family import Extent


def most_in_window(times: np.ndarray, is_r: np.ndarray, extent: Extent, shares: int) -> int:
    """Return the most tuples of one logical stream that a thread has in its window at once.

    Parameters
    ----------
    times : int64 array
        Of all tuples, by rank.
    is_r : bool array
        By rank, whether a tuple is R's.
    extent : Extent
    shares : int
        Every thread keeps the tuples whose rank is its own number modulo so many.
    """
    span = extent.count - 1 if extent.count else extent.span
    most = 0
    for mine in (is_r, ~is_r):
        ranks = np.flatnonzero(mine)
        # What a window of count goes by is a tuple's number in its logical stream.
        stamps = np.arange(len(ranks)) if extent.count else times[ranks]
        for thread in range(shares):
            most = max(most, most_within(stamps[ranks % shares == thread], span))
    return most
