"""Tuples that come out in another order than they shall go on: they wait until they are whole.

What a join puts out with the smaller of its two times, or a map that sets the time, may still be
followed by a tuple that comes before it. So it waits until its time is below the operator's floor.
"""

from __future__ import annotations

import numpy as np

from operators.streamcloud.rows import as_batch, empty_batch


class Reorder:
    """Tuples at or above a floor.

    Parameters
    ----------
    words, width : int
        Of a tuple, and of its order key.
    """

    def __init__(self, words: int, width: int) -> None:
        self._words, self._width = words, width
        self._waiting = empty_batch(words)

    def put(self, batch: np.ndarray, floor: int) -> np.ndarray:
        """Take tuples, and return those below a floor, in the order of their keys."""
        both = np.concatenate([self._waiting, batch], axis=1)
        ready = both[0] < floor
        self._waiting = as_batch(both[:, ~ready])
        return self._sorted(both[:, ready])

    def _sorted(self, batch: np.ndarray) -> np.ndarray:
        # The last key of lexsort is the first that counts.
        order = np.lexsort(batch[: self._width][::-1])
        return as_batch(batch[:, order])

    def save(self) -> np.ndarray:
        """Return what waits, in order."""
        return self._sorted(self._waiting)

    def load(self, waiting: np.ndarray) -> None:
        """Go on from what waits."""
        self._waiting = waiting
