"""A tiny operator that records every step: one stream through a queue of four."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from operators.contract import ACCEPTED, END, FULL, NOT_READY, OUT_OF_ORDER, READY
from operators.core.atomics import ACQUIRE, RELEASE, load, now, store
from operators.core.jit import inlined
from operators.core.layout import LINE_WORDS, aligned_words
from operators.running.drivers import Feed

CAPACITY = 4
MOST = 4_096
TAKEN, GIVEN, CLOSED = 0, LINE_WORDS, 2 * LINE_WORDS


class Recorder(NamedTuple):
    """One stream through a queue of four, and the arrival time of each tuple."""

    words: np.ndarray
    seen: np.ndarray  # [MOST * 4]: timestamp, key, value, when
    last: np.ndarray


def recorder() -> Recorder:
    return Recorder(aligned_words(3 * LINE_WORDS), aligned_words(4 * MOST), aligned_words(1))


@inlined
def add(state, stream, timestamp, key, value):
    taken = load(state.words, TAKEN, ACQUIRE)
    if taken - load(state.words, GIVEN, ACQUIRE) == CAPACITY:
        return FULL
    if timestamp < state.last[0]:
        return OUT_OF_ORDER
    state.last[0] = timestamp
    state.seen[4 * taken] = timestamp
    state.seen[4 * taken + 1] = key
    state.seen[4 * taken + 2] = value
    state.seen[4 * taken + 3] = now()
    store(state.words, TAKEN, taken + 1, RELEASE)
    return ACCEPTED


@inlined
def close(state, stream):
    store(state.words, CLOSED, 1, RELEASE)
    return ACCEPTED


@inlined
def process(state):
    closed = load(state.words, CLOSED, ACQUIRE)
    given = load(state.words, GIVEN, ACQUIRE)
    if given == load(state.words, TAKEN, ACQUIRE):
        return END if closed == 1 else NOT_READY
    store(state.words, GIVEN, given + 1, RELEASE)
    return READY


def feed_of(timestamps, span=100):
    count = len(timestamps)
    return Feed(
        np.array(timestamps, dtype=np.int64),
        np.arange(count, dtype=np.int64) + 10,
        np.arange(count, dtype=np.int64) + 20,
        np.arange(count, dtype=np.int64),
        count,
        span,
    )


def seen(state):
    return state.seen.reshape(-1, 4)[: state.words[TAKEN]]
