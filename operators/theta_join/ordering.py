"""Pairs that come out in no order: kept in sorted pieces, and merged a block at a time.

So Ctrl-C waits for a block and not for all of them to be sorted. All keys are in memory, 8 bytes a
pair.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np


class Runs:
    """Sorted pieces of keys; no key comes twice.

    Parameters
    ----------
    block : int
        Keys of a block of the merged sequence, about.
    """

    def __init__(self, block: int) -> None:
        self._block = block
        self._runs: list[np.ndarray] = []

    def append(self, keys: np.ndarray) -> None:
        """Keep some keys, which the caller may change afterwards."""
        if len(keys):
            self._runs.append(np.sort(keys))

    def merged(self) -> Iterator[np.ndarray]:
        """Yield all keys in ascending order, block by block, and let go of them."""
        left, self._runs = self._runs, []
        while left:
            share = max(self._block // len(left), 1)
            # Of each run a share is looked at. What lies behind it is above the share's last key,
            # and so are all keys that are still to come above the lowest of these.
            highest = min(run[min(share, len(run)) - 1] for run in left)
            ends = [int(np.searchsorted(run[:share], highest, side="right")) for run in left]
            pieces = [run[:end] for run, end in zip(left, ends, strict=True)]
            yield np.sort(np.concatenate(pieces), kind="stable")
            left = [run[end:] for run, end in zip(left, ends, strict=True) if end < len(run)]
