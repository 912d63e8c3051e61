"""The pools of a Bw-Tree: blocks and node numbers, taken, retired and reused.

Each thread keeps a few free ones in a private stack: the one freed last is the most likely to be
still in the cache. The others are in a ring that all threads share.

A *block* that has left the tree may still be read, so it waits until all threads that were pinned
then have left (epoch-based reclamation, `operators.core.epochs`). A thread's waiting blocks form a
list, oldest first. The thread examines the list when it has hardly any free blocks, and when the
list gets long: a thread that frees more than it takes passes the surplus to the ring. Beyond a
limit, waiting blocks go to a second ring, from which any thread takes that finds nothing free. So
the number of blocks that a thread keeps from the others, even if it never comes back, is bounded:
`keeps` and the length of the list.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from operators.contract import FULL
from operators.core.backoff import wait_a_little
from operators.core.epochs import advance, all_left
from operators.core.jit import inlined
from operators.core.layout import LINE_WORDS, aligned_words
from operators.core.marks import mark, poison
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
# The most free ones that a thread keeps, unless a tree asks for fewer.
KEPT = 8
# The longest list of waiting ones of a thread.
MOST_WAITING = 32
# Words of a thread: number of free ones; first and last of the list of waiting ones, and the length
# of the list.
FREE, FIRST, LAST, WAITING = 0, 1, 2, 3
# Waiting blocks examined at a time, unless a tree asks for fewer.
LOOKED_AT = 8


class Pool(NamedTuple):
    """Numbers from 0 on, each in use, waiting, or free."""

    ring: MpmcRing  # free ones
    late: MpmcRing  # waiting ones that are in no list
    kept: np.ndarray  # [threads * keeps] free ones of each thread
    own: np.ndarray  # [threads] lines; words of each thread
    # [numbers] of a waiting one: the next of the list, and the epoch since which it is unreachable.
    # Private to the thread of the list, or to the thread that takes it out of `late`.
    following: np.ndarray
    since: np.ndarray
    count: int
    most_waiting: int  # in a list
    keeps: int  # the most free ones that a thread keeps
    looked_at: int  # waiting ones examined at a time


def make_pool(
    count: int,
    threads: int,
    most_waiting: int = MOST_WAITING,
    keeps: int = KEPT,
    looked_at: int = LOOKED_AT,
) -> Pool:
    """Return a pool of `count` numbers, all of them free and in the ring."""
    ring, late = make_ring(max(count, 2)), make_ring(max(count, 2))
    # The state after `count` pushes.
    cells = slice(0, count * CELL_WORDS, CELL_WORDS)
    ring.cells[WORD:][cells] = np.arange(count)
    ring.cells[TURN:][cells] = np.arange(1, count + 1)
    ring.ends[WRITTEN] = count
    own = aligned_words(threads * LINE_WORDS)
    own[FIRST::LINE_WORDS] = own[LAST::LINE_WORDS] = NONE
    waiting = aligned_words(count), aligned_words(count)
    kept = aligned_words(threads * keeps)
    return Pool(ring, late, kept, own, *waiting, count, most_waiting, keeps, looked_at)


@inlined
def put_into(ring, number):
    """Put a number into a ring, which has room for all of them."""
    rounds = 0
    # A ring may answer FULL nevertheless: while a thread stands between claiming a cell and
    # emptying it, if all other cells have been used since.
    while push(ring, number) == FULL:
        rounds = wait_a_little(rounds)


@inlined
def take(pool, thread, least, popped):
    """Return a free number, or NONE; `least` of the thread's free ones stay in reserve."""
    line = thread * LINE_WORDS
    free = pool.own[line + FREE]
    if free > least:
        pool.own[line + FREE] = free - 1
        return pool.kept[thread * pool.keeps + free - 1]
    if pop(pool.ring, popped):
        return popped[0]
    mark("bw_tree: nothing is free")
    return NONE


@inlined
def give_back(pool, thread, number):
    """Free a number that no other thread knows."""
    line = thread * LINE_WORDS
    free = pool.own[line + FREE]
    if free < pool.keeps:
        pool.kept[thread * pool.keeps + free] = number
        pool.own[line + FREE] = free + 1
    else:
        mark("bw_tree: a thread keeps no more free ones")
        put_into(pool.ring, number)


@inlined
def retire(pool, epochs, thread, number):
    """Let a number that has left the tree wait until no thread can read it any more."""
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
    """Return whether a thread is to examine waiting ones: few free ones are left, or many wait."""
    line = thread * LINE_WORDS
    return pool.own[line + FREE] <= least or pool.own[line + WAITING] >= pool.looked_at * 2


@inlined
def reclaim(pool, epochs, thread, words, size):
    """Free the waiting ones that no thread reads any more; each has `size` of `words`."""
    line = thread * LINE_WORDS
    for _ in range(pool.looked_at):
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
        poison(words, number * size, size)
        give_back(pool, thread, number)


@inlined
def reclaim_late(pool, epochs, thread, words, size, popped):
    """Free waiting ones from `late` likewise, for a thread that finds nothing free."""
    for _ in range(pool.looked_at):
        if not pop(pool.late, popped):
            return
        number = popped[0]
        if not all_left(epochs, pool.since[number]):
            mark("bw_tree: a block of any thread is still looked at")
            put_into(pool.late, number)
            return
        mark("bw_tree: a block of any thread is used again")
        poison(words, number * size, size)
        give_back(pool, thread, number)


# --- at rest --------------------------------------------------------------------------------------


def free_numbers(pool: Pool) -> list[int]:
    """Return the free numbers, in any order: plain Python."""
    found = _in_ring(pool.ring)
    for thread in range(len(pool.own) // LINE_WORDS):
        free = int(pool.own[thread * LINE_WORDS + FREE])
        found += pool.kept[thread * pool.keeps : thread * pool.keeps + free].tolist()
    return found


def waiting_numbers(pool: Pool) -> list[int]:
    """Return the waiting numbers, in any order: plain Python.

    Raises
    ------
    AssertionError
        When the length of a list differs from the thread's count.
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
