"""The window of one side of a join: its tuples in the order of arrival, and chains of equal hash.

::

        first                 last         room
          |                     |            |
    .  .  a  b  c  d  e  f  g  h  .  .  .  .       words, column by column: a product scans them
             |        |     |
    heads -> b -----> e --> g  <- tails            a chain a bucket: an equijoin walks one

What is let go is always the first one, which is also the first of its chain. So chains need no
search, and pairs come out in the order of their earlier tuple. When the room is used up, what is
left is moved to the front, and where that is more than half of it the room is doubled.

Invariants: (1) the live tuples are those at [first, last); (2) a chain is in the order of arrival,
begins at its bucket's head and has exactly the live tuples of that bucket; (3) times below `purged`
are gone, whether they were let go already or, under best effort, stand behind one that stays.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import NamedTuple

import numpy as np

from operators.core.integers import shift_right
from operators.core.jit import inlined, kernel

# Words of `Store.ends`. SHIFT takes a hash to its bucket: its highest bits, since the instance was
# chosen by the lowest.
FIRST, LAST, PURGED, SHIFT = range(4)
NONE = -1

_LEAST_ROOM = 1024
_WORD_BITS = 64


class Store(NamedTuple):
    """The arrays of a window.

    Attributes
    ----------
    words, doubles : int64 and float64 arrays (words, room)
        The same memory.
    following, buckets : int64 arrays (room,)
        The next tuple of the same chain, or ``NONE``; which chain that is.
    heads, tails : int64 arrays (buckets,)
        The first and last tuple of each chain, or ``NONE``.
    ends : int64 array (4,)
        See above.
    """

    words: np.ndarray
    doubles: np.ndarray
    following: np.ndarray
    buckets: np.ndarray
    heads: np.ndarray
    tails: np.ndarray
    ends: np.ndarray


@inlined
def bucket_of(store, hashed):
    """Return the chain of a hash."""
    return shift_right(hashed, int(store.ends[SHIFT]))


@inlined
def link(store, at, hashed):
    """Put the tuple at a place behind the others of its chain."""
    bucket = bucket_of(store, hashed)
    tail = store.tails[bucket]
    store.following[at] = NONE
    store.buckets[at] = bucket
    if tail == NONE:
        store.heads[bucket] = at
    else:
        store.following[tail] = at
    store.tails[bucket] = at


@inlined
def drop_first(store, chained):
    """Let the first tuple go."""
    first = store.ends[FIRST]
    if chained:
        bucket = store.buckets[first]
        following = store.following[first]
        store.heads[bucket] = following
        if following == NONE:
            store.tails[bucket] = NONE
    store.ends[FIRST] = first + 1


@inlined
def purge(store, before, chained):
    """Let the tuples before a time go."""
    if before > store.ends[PURGED]:
        store.ends[PURGED] = before
    while (
        store.ends[FIRST] < store.ends[LAST]
        and store.words[0, store.ends[FIRST]] < store.ends[PURGED]
    ):
        drop_first(store, chained)


@cache
def make_relink(hash_words: Callable) -> Callable:
    """Return the kernel that makes the chains of a store anew.

    Parameters
    ----------
    hash_words : callable
        Returns the hash of a tuple.
    """

    @kernel
    def relink(store):
        """Make the chains of the live tuples; there are none before."""
        for at in range(store.ends[FIRST], store.ends[LAST]):
            link(store, at, hash_words(store.words, at))
        return 0

    return relink


class Window:
    """A store that grows.

    Parameters
    ----------
    words : int
        Of a tuple.
    relink : callable or None
        Of an equijoin, what `make_relink` returns.
    """

    def __init__(self, words: int, relink: Callable | None) -> None:
        self._relink = relink
        self.store = self._make(words, _LEAST_ROOM)
        self._link_again()

    def _make(self, words: int, room: int) -> Store:
        chains = room if self._relink else 1
        array = np.zeros((words, room), dtype=np.int64)
        ends = np.zeros(4, dtype=np.int64)
        ends[SHIFT] = _WORD_BITS - (room.bit_length() - 1)
        rows = [np.full(chains, NONE, dtype=np.int64) for _ in range(4)]
        return Store(array, array.view(np.float64), *rows, ends)

    @property
    def live(self) -> np.ndarray:
        """The tuples that are there, in the order of arrival: a view."""
        first, last = self.store.ends[[FIRST, LAST]].tolist()
        return self.store.words[:, first:last]

    def make_room(self, count: int) -> None:
        """Make room for so many tuples more."""
        store, (first, last) = self.store, self.store.ends[[FIRST, LAST]].tolist()
        words, room = store.words.shape
        if last + count <= room:
            return
        live = last - first
        while 2 * (live + count) > room:
            room *= 2
        kept = store.words[:, first:last]
        if room > store.words.shape[1]:
            self.store = self._make(words, room)
            self.store.ends[PURGED] = store.ends[PURGED]
        else:
            kept = kept.copy()
        self.store.words[:, :live] = kept
        self.store.ends[[FIRST, LAST]] = 0, live
        self._link_again()

    def _link_again(self) -> None:
        if self._relink:
            self.store.heads.fill(NONE)
            self.store.tails.fill(NONE)
            self._relink(self.store)

    def save(self, before: int) -> list[np.ndarray]:
        """Return the tuples that are needed: none before a time."""
        live, purged = self.live, int(self.store.ends[PURGED])
        needed = live[0] >= max(before, purged)
        return [np.array([purged], dtype=np.int64), live[:, needed]]

    def load(self, arrays: list[np.ndarray]) -> None:
        """Go on from what was saved."""
        (purged,), live = arrays
        self.store = self._make(self.store.words.shape[0], _LEAST_ROOM)
        self.make_room(live.shape[1])
        self.store.words[:, : live.shape[1]] = live
        self.store.ends[[FIRST, LAST, PURGED]] = 0, live.shape[1], purged
        self._link_again()
