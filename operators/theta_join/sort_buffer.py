"""A buffer that gives out records by their first word, lowest first: a binary heap.

The external buffer that sorts a handshake join's pairs (section VI, "Relation with Handshake
join"). It belongs to one thread.

Invariant: the key at index i is no higher than those at 2 i + 1 and 2 i + 2.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from operators.contract import UsageError
from operators.core.jit import inlined
from operators.core.layout import LINE_WORDS, aligned_words
from operators.core.vectors import peek, poke

HELD, PEAK = 0, 1


class SortBuffer(NamedTuple):
    """Keys with the slots of their records, followed by the free slots."""

    keys: np.ndarray  # (capacity)
    slots: np.ndarray  # (capacity): a permutation; those from HELD on are free
    records: np.ndarray  # (capacity * record)
    words: np.ndarray  # HELD, PEAK
    record: int


def make_sort_buffer(capacity: int, record: int) -> SortBuffer:
    """Return an empty buffer for `capacity` records of `record` words.

    Raises
    ------
    UsageError
        When the capacity is below one.
    """
    if capacity < 1:
        raise UsageError(f"a sort buffer holds at least 1 pair, received {capacity}")
    slots = aligned_words(capacity)
    slots[:] = np.arange(capacity)
    keys, records = aligned_words(capacity), aligned_words(capacity * record)
    return SortBuffer(keys, slots, records, aligned_words(LINE_WORDS), record)


@inlined
def is_full(buffer):
    """Whether there is no room for another record."""
    return buffer.words[HELD] == len(buffer.keys)


@inlined
def lowest(buffer):
    """Return the lowest key; there must be one."""
    return buffer.keys[0]


@inlined
def swap(buffer, one, other):
    """Exchange two entries of the heap."""
    key, slot = peek(buffer.keys, one), peek(buffer.slots, one)
    poke(buffer.keys, one, peek(buffer.keys, other))
    poke(buffer.slots, one, peek(buffer.slots, other))
    poke(buffer.keys, other, key)
    poke(buffer.slots, other, slot)


@inlined
def put(buffer, source, place):
    """Put the record that begins at index `place` of `source`."""
    at = buffer.words[HELD]
    slot = peek(buffer.slots, at)
    for word in range(buffer.record):
        poke(buffer.records, slot * buffer.record + word, peek(source, place + word))
    poke(buffer.keys, at, peek(source, place))
    buffer.words[HELD] = at + 1
    buffer.words[PEAK] = max(buffer.words[PEAK], at + 1)
    while at > 0 and peek(buffer.keys, (at - 1) >> 1) > peek(buffer.keys, at):
        swap(buffer, at, (at - 1) >> 1)
        at = (at - 1) >> 1


@inlined
def take_lowest(buffer, out, words):
    """Take the record with the lowest key into ``out[0:words]``; there must be one."""
    slot = peek(buffer.slots, 0)
    for word in range(words):
        out[word] = peek(buffer.records, slot * buffer.record + word)
    last = buffer.words[HELD] - 1
    buffer.words[HELD] = last
    swap(buffer, 0, last)
    at = 0
    while 2 * at + 1 < last:
        below = 2 * at + 1
        if below + 1 < last and peek(buffer.keys, below + 1) < peek(buffer.keys, below):
            below += 1
        if peek(buffer.keys, at) <= peek(buffer.keys, below):
            break
        swap(buffer, at, below)
        at = below


def check_invariants(buffer: SortBuffer) -> None:
    """Check a buffer in a quiescent state.

    Raises
    ------
    AssertionError
        When a key is higher than a child's, or a slot is there twice.
    """
    held = int(buffer.words[HELD])
    for place in range(1, held):
        assert buffer.keys[(place - 1) // 2] <= buffer.keys[place], f"place {place} of the heap"
    assert len(set(buffer.slots.tolist())) == len(buffer.slots), "a slot is there twice"
