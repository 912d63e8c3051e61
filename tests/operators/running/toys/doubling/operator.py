"""Doubling: values go through a ring to another thread, which keeps the double of each."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from operators.contract import ACCEPTED, END, NOT_READY, READY
from operators.core.atomics import ACQUIRE, RELEASE, load, store
from operators.core.jit import inlined
from operators.core.layout import LINE_WORDS, aligned_words
from operators.core.spsc_ring import Rings, make_rings, pop, push


class Doubling(NamedTuple):
    """The ring between the two threads, and the results of the second thread."""

    rings: Rings
    closed: np.ndarray  # one word: 1 once no more values come
    taken: np.ndarray  # private to the second thread: the value it took, and the number of values
    results: np.ndarray  # private to the second thread


def make_state(slots: int, most: int) -> Doubling:
    """Return a doubling with a ring of `slots` slots, and room for `most` results."""
    return Doubling(
        make_rings(1, slots), aligned_words(LINE_WORDS), aligned_words(2), aligned_words(most)
    )


@inlined
def add(state, stream, timestamp, key, value):
    """Take a value: ACCEPTED or FULL."""
    return push(state.rings, 0, value)


@inlined
def close(state, stream):
    """Close the input: ACCEPTED."""
    # RELEASE keeps the last push before the flag; pairs with the load in double.
    store(state.closed, 0, 1, RELEASE)
    return ACCEPTED


@inlined
def double(state):
    """Double the oldest value: READY, NOT_READY or END."""
    # ACQUIRE keeps the look into the ring after the load: pushes before the flag are visible.
    closed = load(state.closed, 0, ACQUIRE)
    if not pop(state.rings, 0, state.taken):
        return END if closed else NOT_READY
    state.results[state.taken[1]] = 2 * state.taken[0]
    state.taken[1] += 1
    return READY
