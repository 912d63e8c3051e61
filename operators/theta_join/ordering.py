"""Pairs in no order: kept in sorted runs, and merged a block at a time.

Ctrl-C therefore waits for a block, not for a sort of all pairs. All keys are in memory, 8 bytes a
pair.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np


class Runs:
    """Sorted runs of unique keys.

    Parameters
    ----------
    block : int
        Approximate number of keys of a block of the merged sequence.
    """

    def __init__(self, block: int) -> None:
        self._block = block
        self._runs: list[np.ndarray] = []

    def append(self, keys: np.ndarray) -> None:
        """Sort and keep a copy of some keys."""
        if len(keys):
            self._runs.append(np.sort(keys))

    def merged(self) -> Iterator[np.ndarray]:
        """Yield all keys in ascending order, block by block, and drop them."""
        left, self._runs = self._runs, []
        while left:
            share = max(self._block // len(left), 1)
            # The first `share` keys of each run are considered. All other keys, of any run, are
            # above the lowest of the last keys of these shares.
            highest = min(run[min(share, len(run)) - 1] for run in left)
            ends = [int(np.searchsorted(run[:share], highest, side="right")) for run in left]
            pieces = [run[:end] for run, end in zip(left, ends, strict=True)]
            yield np.sort(np.concatenate(pieces), kind="stable")
            left = [run[end:] for run, end in zip(left, ends, strict=True) if end < len(run)]
