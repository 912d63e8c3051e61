"""What a Bw-Tree makes nodes from: blocks and node numbers, taken, retired and taken again.

A thread keeps some that are free for itself, the last one given back first, since it is the most
likely to be in the cache still. The others are in a ring that all threads share. Of a thread that
only gives back, or only takes, the ring evens that out.

A *block* that has left the tree may still be read, so that it waits until all who are pinned
before have left (`operators.core.epochs`). Those of a thread that wait are a list, oldest first.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from operators.core.epochs import advance, all_left
from operators.core.jit import inlined
from operators.core.layout import LINE_WORDS, aligned_words
from operators.core.marks import mark, spoil
from operators.core.mpmc_ring import (
    CELL_WORDS,
    READ,
    TURN,
    WORD,
    WRITTEN,
    MpmcRing,
    make_ring,
    pop,
    push,
)

NONE = -1
# Free ones that a thread keeps, at most.
KEPT = 32
# A thread's words: how many it keeps; first and last of its list of those that wait.
FREE, FIRST, LAST = 0, 1, 2
# Blocks that are looked at again whenever one is needed.
LOOKED_AT = 8


class Pool(NamedTuple):
    """Numbers from 0 on, each in use, waiting, or free."""

    ring: MpmcRing
    kept: np.ndarray  # [threads * KEPT] a thread's own free ones
    own: np.ndarray  # [threads] lines; that thread's words
    # [numbers] of one that waits: the next of its list, and the epoch since which it is out of
    # reach. Its thread's alone.
    following: np.ndarray
    since: np.ndarray
    count: int


def make_pool(count: int, threads: int) -> Pool:
    """Return a pool of so many numbers, all of them free and in the ring."""
    ring = make_ring(max(count, 2))
    # As so many pushes leave it.
    cells = slice(0, count * CELL_WORDS, CELL_WORDS)
    ring.cells[WORD:][cells] = np.arange(count)
    ring.cells[TURN:][cells] = np.arange(1, count + 1)
    ring.ends[WRITTEN] = count
    own = aligned_words(threads * LINE_WORDS)
    own[FIRST::LINE_WORDS] = own[LAST::LINE_WORDS] = NONE
    waiting = aligned_words(count), aligned_words(count)
    return Pool(ring, aligned_words(threads * KEPT), own, *waiting, count)


@inlined
def take(pool, thread, least, popped):
    """Return a number that is free, or NONE; a thread keeps `least` for another occasion."""
    line = thread * LINE_WORDS
    free = pool.own[line + FREE]
    if free > least:
        pool.own[line + FREE] = free - 1
        return pool.kept[thread * KEPT + free - 1]
    if pop(pool.ring, popped):
        return popped[0]
    mark("bw_tree: nothing is free")
    return NONE


@inlined
def give_back(pool, thread, number):
    """Make a number free that nobody knows."""
    line = thread * LINE_WORDS
    free = pool.own[line + FREE]
    if free < KEPT:
        pool.kept[thread * KEPT + free] = number
        pool.own[line + FREE] = free + 1
    else:
        # There is room for all of them.
        push(pool.ring, number)


@inlined
def retire(pool, epochs, thread, number):
    """Let a number that has left the tree wait until nobody can look at it any more."""
    line = thread * LINE_WORDS
    pool.since[number] = advance(epochs)
    pool.following[number] = NONE
    last = pool.own[line + LAST]
    if last == NONE:
        pool.own[line + FIRST] = number
    else:
        pool.following[last] = number
    pool.own[line + LAST] = number


@inlined
def reclaim(pool, epochs, thread, words, size):
    """Make those free that nobody looks at any more; `words` are theirs, `size` a number."""
    line = thread * LINE_WORDS
    for _ in range(LOOKED_AT):
        number = pool.own[line + FIRST]
        if number == NONE:
            return
        if not all_left(epochs, pool.since[number]):
            mark("bw_tree: a block is still looked at")
            return
        mark("bw_tree: a block is used again")
        pool.own[line + FIRST] = pool.following[number]
        if pool.own[line + FIRST] == NONE:
            pool.own[line + LAST] = NONE
        spoil(words, number * size, size)
        give_back(pool, thread, number)


def idle_numbers(pool: Pool) -> list[int]:
    """Return those that are free or wait, in any order: plain Python, at rest."""
    found = []
    ring = pool.ring
    for position in range(int(ring.ends[READ]), int(ring.ends[WRITTEN])):
        found.append(int(ring.cells[(position & ring.mask) * CELL_WORDS + WORD]))
    for thread in range(len(pool.own) // LINE_WORDS):
        line = thread * LINE_WORDS
        free = int(pool.own[line + FREE])
        found += pool.kept[thread * KEPT : thread * KEPT + free].tolist()
        number = int(pool.own[line + FIRST])
        while number != NONE:
            found.append(number)
            number = int(pool.following[number])
    return found
