"""Marks: names on the rare branches, so that a test can show it has been there.

``mark("name")`` compiles to nothing. Interpreted, it counts: a test that claims to exercise a lost
race or a full ring looks the count up. ``spoil`` likewise exists in the interpreted form only.
"""

from __future__ import annotations

from collections import Counter

import numpy as np
from numba.extending import overload

from operators.core.jit import PART_OF_A_KERNEL

# No timestamp, key, index or packed word: below every sentinel the structures use.
POISON = -(1 << 62) - 0xDEAD

hits: Counter[str] = Counter()


def mark(name: str) -> None:
    """Count a passage through the branch `name` (interpreted), or do nothing (compiled)."""
    hits[name] += 1


def spoil(words: np.ndarray, first: int, count: int) -> None:
    """Fill `count` words that nobody may read any more with POISON (interpreted), or do nothing."""
    words[first : first + count] = POISON


@overload(mark, jit_options=PART_OF_A_KERNEL)
def _overload_mark(name):
    return lambda name: None


@overload(spoil, jit_options=PART_OF_A_KERNEL)
def _overload_spoil(words, first, count):
    return lambda words, first, count: None
