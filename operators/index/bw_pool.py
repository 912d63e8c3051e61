"""What a Bw-Tree makes nodes from: blocks and node numbers, taken, retired and taken again.

A thread keeps a few that are free for itself, the last one given back first, since it is the most
likely to be in the cache still. The others are in a ring that all threads share.

A *block* that has left the tree may still be read, so that it waits until all who are pinned
before have left (`operators.core.epochs`). Those of a thread that wait are a list, oldest first,
which is looked at when the thread has hardly any that are free, and when the list gets long: of a
thread that gives back more than it takes, the ring gets what is too much. Beyond so many, those
that wait are in a second ring, from which any thread takes that finds nothing free. So what a
thread keeps from the others, also when it never comes back, is bounded: KEPT and the length of
that list.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from operators.contract import FULL
from operators.core.backoff import wait_a_little
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
KEPT = 8
# Those that wait in a thread's own list, at most.
MOST_WAITING = 32
# A thread's words: how many it keeps; first and last of its list of those that wait, and how many
# these are.
FREE, FIRST, LAST, WAITING = 0, 1, 2, 3
# Blocks that are looked at again at a time.
LOOKED_AT = 8


class Pool(NamedTuple):
    """Numbers from 0 on, each in use, waiting, or free."""

    ring: MpmcRing  # free ones
    late: MpmcRing  # those that wait and are in no list
    kept: np.ndarray  # [threads * KEPT] a thread's own free ones
    own: np.ndarray  # [threads] lines; that thread's words
    # [numbers] of one that waits: the next of its list, and the epoch since which it is out of
    # reach. Its thread's alone, or of who takes it out of `late`.
    following: np.ndarray
    since: np.ndarray
    count: int
    most_waiting: int  # in a list


def make_pool(count: int, threads: int, most_waiting: int = MOST_WAITING) -> Pool:
    """Return a pool of so many numbers, all of them free and in the ring."""
    ring, late = make_ring(max(count, 2)), make_ring(max(count, 2))
    # As so many pushes leave it.
    cells = slice(0, count * CELL_WORDS, CELL_WORDS)
    ring.cells[WORD:][cells] = np.arange(count)
    ring.cells[TURN:][cells] = np.arange(1, count + 1)
    ring.ends[WRITTEN] = count
    own = aligned_words(threads * LINE_WORDS)
    own[FIRST::LINE_WORDS] = own[LAST::LINE_WORDS] = NONE
    waiting = aligned_words(count), aligned_words(count)
    kept = aligned_words(threads * KEPT)
    return Pool(ring, late, kept, own, *waiting, count, most_waiting)


@inlined
def put_into(ring, number):
    """Put a number into a ring, which has room for all of them."""
    rounds = 0
    # It calls itself full all the same while a thread stands between claiming a cell and emptying
    # it, if all other cells have been used since.
    while push(ring, number) == FULL:
        rounds = wait_a_little(rounds)


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
        put_into(pool.ring, number)


@inlined
def retire(pool, epochs, thread, number):
    """Let a number that has left the tree wait until nobody can look at it any more."""
    line = thread * LINE_WORDS
    pool.since[number] = advance(epochs)
    if pool.own[line + WAITING] >= pool.most_waiting:
        mark("bw_tree: a block waits for any thread")
        put_into(pool.late, number)
        return
    pool.own[line + WAITING] += 1
    pool.following[number] = NONE
    last = pool.own[line + LAST]
    if last == NONE:
        pool.own[line + FIRST] = number
    else:
        pool.following[last] = number
    pool.own[line + LAST] = number


@inlined
def is_due(pool, thread, least):
    """Whether a thread is to look at those that wait: it keeps hardly any, or many of these."""
    line = thread * LINE_WORDS
    return pool.own[line + FREE] <= least or pool.own[line + WAITING] >= LOOKED_AT * 2


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
        pool.own[line + WAITING] -= 1
        spoil(words, number * size, size)
        give_back(pool, thread, number)


@inlined
def reclaim_late(pool, epochs, thread, words, size, popped):
    """Do the same with those that are in no list: for who finds nothing free."""
    for _ in range(LOOKED_AT):
        if not pop(pool.late, popped):
            return
        number = popped[0]
        if not all_left(epochs, pool.since[number]):
            mark("bw_tree: a block of any thread is still looked at")
            put_into(pool.late, number)
            return
        mark("bw_tree: a block of any thread is used again")
        spoil(words, number * size, size)
        give_back(pool, thread, number)


# --- at rest --------------------------------------------------------------------------------------


def free_numbers(pool: Pool) -> list[int]:
    """Return those that are free, in any order: plain Python."""
    found = _in_ring(pool.ring)
    for thread in range(len(pool.own) // LINE_WORDS):
        free = int(pool.own[thread * LINE_WORDS + FREE])
        found += pool.kept[thread * KEPT : thread * KEPT + free].tolist()
    return found


def waiting_numbers(pool: Pool) -> list[int]:
    """Return those that wait, in any order: plain Python.

    Raises
    ------
    AssertionError
        When a list has another length than its thread thinks.
    """
    found = _in_ring(pool.late)
    for thread in range(len(pool.own) // LINE_WORDS):
        line = thread * LINE_WORDS
        own, number = [], int(pool.own[line + FIRST])
        while number != NONE:
            own.append(number)
            number = int(pool.following[number])
        assert len(own) == pool.own[line + WAITING] <= pool.most_waiting, "a list is counted wrong"
        found += own
    return found


def _in_ring(ring: MpmcRing) -> list[int]:
    positions = range(int(ring.ends[READ]), int(ring.ends[WRITTEN]))
    return [int(ring.cells[(each & ring.mask) * CELL_WORDS + WORD]) for each in positions]
