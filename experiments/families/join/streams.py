"""The keys that joins run on, and the half width of a band that gives a match rate."""

from __future__ import annotations

from functools import lru_cache
from pathlib import Path
from typing import NamedTuple

import numpy as np

from datasets import read
from datasets.band_join_keys.keys import MOST_KEY, drifting_keys, saturated
from operators.contract import UsageError

# A match rate is counted over this many probes, spread over as many windows as that allows.
PROBES = 1 << 17
# ASSUME: the paper names the match rate but not how exactly it is met.
TOLERANCE = 0.02


class Keys(NamedTuple):
    """Two streams of keys, in arrival order: row n of R comes before row n of S.

    Attributes
    ----------
    r, s : int32 arrays (rows,)
        The same array twice for a self join.
    """

    r: np.ndarray
    s: np.ndarray


@lru_cache(maxsize=8)
def keys_of(folder: Path, distribution: str, drift: float, sigma: float) -> Keys:
    """Return the keys of a distribution; raises as ``datasets.read.read_table`` does."""
    if distribution == "drift":
        table = read.read_table(folder, "drift")
        keys = drifting_keys(table["normal"], table["shift"], drift, sigma)
        return Keys(keys, keys)
    table = read.read_table(folder, distribution.replace("-", "_"))
    return Keys(*(np.ascontiguousarray(table[side], dtype=np.int32) for side in ("r", "s")))


@lru_cache(maxsize=256)
def half_width_for(
    folder: Path, distribution: str, drift: float, sigma: float, window: int, rate: float
) -> int:
    """Return the half width at which a tuple has `rate` partners on average.

    Counted on the first windows of the data: each has `window` tuples, and is probed with the
    tuples that follow it.

    Raises
    ------
    UsageError
        When there are fewer rows than a window needs, or no half width comes within ``TOLERANCE``
        of the rate: the keys are too dense.
    """
    keys = keys_of(folder, distribution, drift, sigma)
    if rate == 0:
        return 0
    last = len(keys.s) - window
    if last < 0:
        raise UsageError(
            f"a window of {window} tuples needs more rows than the {len(keys.s)} of"
            f" {distribution}; generate a larger set (the profile laptop or paper), or give a"
            " smaller window"
        )
    windows = max(min(PROBES // window, last // window, 64), 1)
    begins = (np.arange(windows) * (last // windows)).astype(np.int64)
    held = [np.sort(keys.s[begin : begin + window]) for begin in begins]
    share = max(PROBES // windows, 1)
    probes = [keys.r[begin + window : begin + window + share] for begin in begins]
    # No rows may follow the last window: its probes then start from the beginning of the data.
    # Sorted probes are faster to search.
    probes = [np.sort(each if len(each) else keys.r[:share]).astype(np.int64) for each in probes]

    def met(half: int) -> float:
        pairs = sum(
            int(np.searchsorted(own, saturated(some + half), "right").sum())
            - int(np.searchsorted(own, saturated(some - half), "left").sum())
            for own, some in zip(held, probes, strict=True)
        )
        return pairs / sum(map(len, probes))

    least, most = 0, MOST_KEY
    while least < most:
        half = (least + most) // 2
        least, most = (half + 1, most) if met(half) < rate else (least, half)
    best = min((max(least - 1, 0), least), key=lambda half: abs(met(half) - rate))
    if abs(met(best) / rate - 1) > TOLERANCE:
        raise UsageError(
            f"no half width gives a match rate of {rate:g} in a window of {window} {distribution}"
            f" keys: {best} gives {met(best):.3g}; give another match_rate, or a larger window"
        )
    return best
