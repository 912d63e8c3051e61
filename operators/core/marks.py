"""Marks: names of rare branches, by which a test can show that it reached them.

``mark("name")`` compiles to nothing. Interpreted, it counts: a test that claims to exercise a lost
race or a full ring checks the count. ``poison``, ``take_over`` and ``enter_alone`` likewise exist
only in the interpreted form.
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


def poison(words: np.ndarray, first: int, count: int) -> None:
    """Fill `count` words that no thread may read any more with POISON (interpreted only)."""
    words[first : first + count] = POISON


def take_over(words: np.ndarray, first: int, count: int) -> None:
    """Declare that some words change hands: the caller writes them from now on (interpreted only).

    For words that are reached by atomics and are used again, the slots of a ring say. On the
    proving ground every earlier access of another thread must happen before the call; no race
    would show otherwise, since no access is plain.
    """


def enter_alone(words: np.ndarray, place: int) -> None:
    """Fail when another thread is between here and ``leave_alone`` (interpreted only).

    For sections that other rules restrict to one thread at a time: `words[place]` is 1 while a
    thread is inside.
    """
    assert words[place] == 0, "two threads are where one at a time may be"
    words[place] = 1


def leave_alone(words: np.ndarray, place: int) -> None:
    """End the section that ``enter_alone`` began (interpreted only)."""
    words[place] = 0


@compiled_as(mark)
def _mark(typing_context, name):
    return types.void(name), _nothing


@compiled_as(poison)
def _poison(typing_context, words, first, count):
    return types.void(words, first, count), _nothing


@compiled_as(take_over)
def _take_over(typing_context, words, first, count):
    return types.void(words, first, count), _nothing


@compiled_as(enter_alone)
def _enter_alone(typing_context, words, place):
    return types.void(words, place), _nothing


@compiled_as(leave_alone)
def _leave_alone(typing_context, words, place):
    return types.void(words, place), _nothing


def _nothing(context, builder, signature, args):
    return context.get_dummy_value()
