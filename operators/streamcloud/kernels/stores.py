"""The window of one side of a join: its tuples in the order of arrival, and chains of equal hash.

::

        first                 last         room
          |                     |            |
    .  .  a  b  c  d  e  f  g  h  .  .  .  .       words, column by column: a product scans them
             |        |     |
             b <----- e <-- g  <- heads            a chain a bucket: an equijoin walks one

Tuples lie behind `last` before they enter, so that a step copies all of its own at once. A chain is
walked from the latest tuple to the earliest and ends where a place is below `first`: so what is let
go needs no work, whatever chain it is in. When the room is used up, what is left is moved to the
front, and where that is more than half of it the room is doubled.

Invariants: (1) the live tuples are those at [first, last); (2) from the head of its bucket a live
tuple is reached before any that is none; (3) times below `purged` are gone, whether they were let
go already or, under best effort, stand behind one that stays.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from operators.core.integers import shift_right
from operators.core.jit import inlined, kernel
from operators.streamcloud.partition import hashed_with

# Words of `Store.ends`. SHIFT takes a hash to its bucket: its highest bits, since the instance was
# chosen by the lowest.
FIRST, LAST, PURGED, SHIFT = range(4)
# Words of a link: the tuple before it in its chain, and its hash.
BEFORE, HASH = range(2)
NONE = -1

_LEAST_ROOM = 1024
_WORD_BITS = 64


class Store(NamedTuple):
    """The arrays of a window.

    Attributes
    ----------
    words, doubles : int64 and float64 arrays (words, room)
        The same memory.
    flat : int64 array (words * room,)
        The same again.
    links : int64 array (room, 2)
        Of an equijoin: see above.
    heads : int64 array (buckets,)
        The last tuple of each chain; one that is not live, and there is none.
    ends : int64 array (4,)
        See above.
    """

    words: np.ndarray
    doubles: np.ndarray
    flat: np.ndarray
    links: np.ndarray
    heads: np.ndarray
    ends: np.ndarray


@inlined
def head_of(store, hashed):
    """Return the last tuple of the chain of a hash."""
    return store.heads[shift_right(hashed, int(store.ends[SHIFT]))]


@inlined
def hash_at(store, places, at):
    """Return the hash of some words of a tuple."""
    hashed = 0
    for number in range(len(places)):
        hashed = hashed_with(hashed, store.words[places[number], at])
    return hashed


@inlined
def link(store, at, hashed):
    """Put the tuple at a place behind the others of its chain."""
    bucket = shift_right(hashed, int(store.ends[SHIFT]))
    store.links[at, BEFORE] = store.heads[bucket]
    store.links[at, HASH] = hashed
    store.heads[bucket] = at


@inlined
def purge(store, before):
    """Let the tuples before a time go."""
    if before > store.ends[PURGED]:
        store.ends[PURGED] = before
    first, last, purged = store.ends[FIRST], store.ends[LAST], store.ends[PURGED]
    while first < last and store.words[0, first] < purged:
        first += 1
    store.ends[FIRST] = first


@kernel
def link_all(store, places):
    """Make the chains of the live tuples; there are none before."""
    for at in range(store.ends[FIRST], store.ends[LAST]):
        link(store, at, hash_at(store, places, at))
    return 0


class Window:
    """A store that grows.

    Parameters
    ----------
    words : int
        Of a tuple.
    places : int64 array
        Of an equijoin, the words that must agree; else none.
    """

    def __init__(self, words: int, places: np.ndarray) -> None:
        self._places = places
        self.store = self._make(words, _LEAST_ROOM)

    def _make(self, words: int, room: int) -> Store:
        chained = len(self._places) > 0
        array = np.zeros((words, room), dtype=np.int64)
        ends = np.zeros(4, dtype=np.int64)
        ends[SHIFT] = _WORD_BITS - (room.bit_length() - 1)
        links = np.zeros((room if chained else 1, 2), dtype=np.int64)
        heads = np.full(room if chained else 1, NONE, dtype=np.int64)
        return Store(array, array.view(np.float64), array.reshape(-1), links, heads, ends)

    @property
    def live(self) -> np.ndarray:
        """The tuples that are there, in the order of arrival: a view."""
        first, last = self.store.ends[[FIRST, LAST]].tolist()
        return self.store.words[:, first:last]

    def lay(self, batch: np.ndarray) -> None:
        """Lay tuples behind the last one: they have not entered."""
        count = batch.shape[1]
        self._make_room(count)
        last = int(self.store.ends[LAST])
        self.store.words[:, last : last + count] = batch

    def _make_room(self, count: int) -> None:
        store, (first, last) = self.store, self.store.ends[[FIRST, LAST]].tolist()
        words, room = store.words.shape
        if last + count <= room:
            return
        live = last - first
        while 2 * (live + count) > room:
            room *= 2
        if room > store.words.shape[1]:
            self.store = self._make(words, room)
            self.store.words[:, :live] = store.words[:, first:last]
            self.store.ends[[LAST, PURGED]] = live, store.ends[PURGED]
            self._link_all()
            return
        store.words[:, :live] = store.words[:, first:last].copy()
        store.ends[[FIRST, LAST]] = 0, live
        if len(self._places):
            store.links[:live] = store.links[first:last].copy()
            store.links[:live, BEFORE] -= first
            np.subtract(store.heads, first, out=store.heads)

    def _link_all(self) -> None:
        if len(self._places):
            link_all(self.store, self._places)

    def save(self, before: int) -> list[np.ndarray]:
        """Return the tuples that are needed: none before a time."""
        live, purged = self.live, int(self.store.ends[PURGED])
        needed = live[0] >= max(before, purged)
        return [np.array([purged], dtype=np.int64), live[:, needed]]

    def load(self, arrays: list[np.ndarray]) -> None:
        """Go on from what was saved."""
        (purged,), live = arrays
        self.store = self._make(self.store.words.shape[0], _LEAST_ROOM)
        self.lay(live)
        self.store.ends[[LAST, PURGED]] = live.shape[1], purged
        self._link_all()

    def compile(self) -> None:
        """Compile the kernel that makes chains."""
        self._link_all()
