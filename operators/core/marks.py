"""Marks: names on the rare branches, so that a test can show it has been there.

``mark("name")`` compiles to nothing. Interpreted, it counts: a test that claims to exercise a lost
race or a full ring looks the count up. ``spoil`` likewise exists in the interpreted form only.
"""

from __future__ import annotations

from collections import Counter

import numpy as np
from numba import types

from operators.core.jit import compiled_as

# No timestamp, key, index or packed word: below every sentinel the structures use.
POISON = -(1 << 62) - 0xDEAD

hits: Counter[str] = Counter()


def mark(name: str) -> None:
    """Count a passage through the branch `name` (interpreted), or do nothing (compiled)."""
    hits[name] += 1


def spoil(words: np.ndarray, first: int, count: int) -> None:
    """Fill `count` words that nobody may read any more with POISON (interpreted), or do nothing."""
    words[first : first + count] = POISON


@compiled_as(mark)
def _mark(typing_context, name):
    return types.void(name), _nothing


@compiled_as(spoil)
def _spoil(typing_context, words, first, count):
    return types.void(words, first, count), _nothing


def _nothing(context, builder, signature, args):
    return context.get_dummy_value()
