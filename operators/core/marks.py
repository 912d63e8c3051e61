"""Marks: names on the rare branches, so that a test can show it has been there.

``mark("name")`` compiles to nothing. Interpreted, it counts: a test that claims to exercise a lost
race or a full ring looks the count up. ``spoil`` and ``enter_alone`` likewise exist in the
interpreted form only.
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


def enter_alone(words: np.ndarray, place: int) -> None:
    """Fail where another thread is between here and ``leave_alone`` (interpreted), or do nothing.

    For what one thread at a time may do, as a rule of others lets it: `words[place]` is 1 while one
    is at it.
    """
    assert words[place] == 0, "two threads are where one at a time may be"
    words[place] = 1


def leave_alone(words: np.ndarray, place: int) -> None:
    """End what ``enter_alone`` began (interpreted), or do nothing."""
    words[place] = 0


@compiled_as(mark)
def _mark(typing_context, name):
    return types.void(name), _nothing


@compiled_as(spoil)
def _spoil(typing_context, words, first, count):
    return types.void(words, first, count), _nothing


@compiled_as(enter_alone)
def _enter_alone(typing_context, words, place):
    return types.void(words, place), _nothing


@compiled_as(leave_alone)
def _leave_alone(typing_context, words, place):
    return types.void(words, place), _nothing


def _nothing(context, builder, signature, args):
    return context.get_dummy_value()
