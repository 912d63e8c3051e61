"""Tuples that have to be sorted before they go on: they wait until a floor passes them.

The output of a join with the smaller of the two times, or of a map that sets the time, may still be
followed by an earlier tuple. So a tuple waits until the operator's floor is above the tuple's time.
"""

from __future__ import annotations

import numpy as np

from operators.streamcloud.rows import as_batch, empty_batch


class Reorder:
    """Tuples at or above a floor.

    Parameters
    ----------
    words, width : int
        Of a tuple, and of an order key.
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
        # The last key of lexsort is the primary one.
        order = np.lexsort(batch[: self._width][::-1])
        return as_batch(batch[:, order])

    def save(self) -> np.ndarray:
        """Return the waiting tuples, in order."""
        return self._sorted(self._waiting)

    def load(self, waiting: np.ndarray) -> None:
        """Continue from waiting tuples."""
        self._waiting = waiting
