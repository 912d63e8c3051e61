"""Timestamps of sorted streams, of the kinds on which entry points for arrays are tested."""

from __future__ import annotations

import numpy as np


def sorted_streams(kind: str, seed: int = 1) -> list[np.ndarray]:
    """Return the timestamps of each stream.

    Parameters
    ----------
    kind : str
        random, tied (few times, many tuples each), empty (two of three streams), nothing (all of
        them) or skewed (one stream has nearly all tuples).
    seed : int
    """
    random = np.random.default_rng(seed)
    rows, last = {
        "random": ((40, 55, 25), 1_000),
        "tied": ((40, 40, 40), 4),
        "empty": ((0, 30, 0), 50),
        "nothing": ((0, 0), 1),
        "skewed": ((2, 150, 1), 100),
    }[kind]
    return [np.sort(random.integers(0, last, count)) for count in rows]


KINDS = ("random", "tied", "empty", "nothing", "skewed")
