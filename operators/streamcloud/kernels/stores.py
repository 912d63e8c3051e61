"""The window of one side of a join: tuples in the order of arrival, and chains of equal hash.

::

        first                 last         room
          |                     |            |
    .  .  a  b  c  d  e  f  g  h  .  .  .  .       words, column by column: a product scans them
             |        |     |
             b <----- e <-- g  <- heads            a chain a bucket: an equijoin walks one

Tuples lie behind `last` before they enter, so that a step copies all tuples at once. A chain is
walked from the latest tuple to the earliest and ends at a position below `first`: so removal needs
no work on the chains. When the room is used up, the remaining tuples are moved to the front, and if
they take more than half of the room, it is doubled.

Invariants: (1) the live tuples are those at [first, last); (2) from the head of a bucket, live
tuples are reached before all others; (3) tuples with times below `purged` are gone, either removed
already or, under best effort, still behind one that stays.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from operators.core.integers import shift_right
from operators.core.jit import inlined, kernel
from operators.streamcloud.partition import hashed_with
from operators.streamcloud.saved import Log, Saved

# Words of `Store.ends`. SHIFT maps a hash to a bucket by the highest bits, since the lowest ones
# chose the instance.
FIRST, LAST, PURGED, SHIFT = range(4)
# Words of a link: the tuple before it in the chain, and the hash.
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
        The same memory again.
    links : int64 array (room, 2)
        Of an equijoin, as described above.
    heads : int64 array (buckets,)
        The last tuple of each chain; a chain is empty if that is not live.
    ends : int64 array (4,)
        As described above.
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
    """Append the tuple at a position to the chain of a hash."""
    bucket = shift_right(hashed, int(store.ends[SHIFT]))
    store.links[at, BEFORE] = store.heads[bucket]
    store.links[at, HASH] = hashed
    store.heads[bucket] = at


@inlined
def purge(store, before):
    """Remove the tuples before a time."""
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
        Of an equijoin, the words that must be equal; else none.
    """

    def __init__(self, words: int, places: np.ndarray) -> None:
        self._places = places
        self.store = self._make(words, _LEAST_ROOM)
        # Tuples that were removed, and whose memory has been reused.
        self._before = 0

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
        """The live tuples, in the order of arrival: a view."""
        first, last = self.store.ends[[FIRST, LAST]].tolist()
        return self.store.words[:, first:last]

    def lay(self, batch: np.ndarray) -> None:
        """Copy tuples behind the last one, where they have not entered."""
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
        self._before += first
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

    def save(self, before: int) -> list[np.ndarray | Log]:
        """Return the tuples from the first needed one on: one that is not before a time.

        Under best effort there may be others behind it. They are removed when they are the first.
        """
        live, (_, last, purged, _) = self.live, self.store.ends.tolist()
        needed = live[0] >= max(before, purged)
        if not needed.any():
            live = live[:, :0]
        else:
            live = live[:, int(needed.argmax()) :]
        position = self._before + last - live.shape[1]
        return [np.array([purged], dtype=np.int64), Log(position, live)]

    def load(self, saved: Saved) -> None:
        """Continue from a saved state."""
        (purged,), (position, live) = saved
        self.store = self._make(self.store.words.shape[0], _LEAST_ROOM)
        self.lay(live)
        self._before = position
        self.store.ends[[LAST, PURGED]] = live.shape[1], purged
        self._link_all()
