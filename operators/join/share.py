"""A core's share of a sliding window: every n-th tuple of a stream, and an index over them.

Of C cores the one with number c keeps the tuples at positions c, c + C, c + 2 C, ... ::

    position   0    1    2    3    4    5    6    7    8        window of 5 behind tuple 8
               left left left left [------ window ------]       C = 3, c = 1: keeps 1, 4 and 7,
                    ^              ^              ^             of which 1 has left: FIRST is 1

Every core is told of every tuple, in one order, so that all of them know what has left: in a window
of tuples by counting, in a window of time by the time of the tuple that is processed.

Invariant (``check_invariants``): the index holds exactly the tuples that are kept here and have not
left.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from operators.contract import ACCEPTED
from operators.core.jit import inlined
from operators.core.layout import aligned_array, aligned_words
from operators.core.vectors import peek, poke
from operators.index.family import IndexOperations
from operators.index.window import SIZE
from operators.join.index_join import behind, high_of, low_of

# Words of a share.
SEEN = 0  # tuples of the stream that this core has processed
FIRST = 1  # tuples that were kept here and have left
NEXT_PLACE, FIRST_PLACE = 2, 3  # in the rings
WORDS = 4


class Share(NamedTuple):
    """One stream's window as far as one core keeps it."""

    index: Any
    keys: np.ndarray  # a ring, the oldest first
    times: np.ndarray  # of a window of time the same, else one word that nobody reads
    words: np.ndarray  # see above
    number: int  # of the core
    cores: int
    window: int
    span: int  # ticks of a window of time, else 0


def make_share(
    index: IndexOperations, window: int, span: int, number: int, cores: int, key_bits: int
) -> Share:
    """Return an empty share."""
    room = -(-window // cores)
    times = aligned_words(room if span else 1)
    keys = aligned_array(room, np.int32 if key_bits == 32 else np.int64)
    state = index.make_state(room, key_bits)
    return Share(state, keys, times, aligned_words(WORDS), number, cores, window, span)


@inlined
def kept_of(share, seen):
    """Return how many of the first `seen` tuples of a stream are kept here."""
    return (seen + share.cores - 1 - share.number) // share.cores


class ShareSteps(NamedTuple):
    """What a core does with its shares, as inlined functions over one index.

    ``search(core, share, key)`` writes the positions of partners into ``core.out`` and returns
    their number. ``expire(share, time)`` lets go of what a window of time has left behind.
    ``keep(share, key, time)`` lets the next tuple into the window, at its home alone into the
    index: ACCEPTED, or FULL where that had no room.
    """

    search: Callable[..., int]
    expire: Callable[..., None]
    keep: Callable[..., int]


def make_share_steps(index: IndexOperations) -> ShareSteps:
    """Return the steps over an index."""
    find, scan, insert, remove = index.find, index.scan, index.insert, index.remove

    @inlined
    def search(core, share, key):
        find(share.index, low_of(core, key), core.place)
        count = scan(share.index, low_of(core, key), high_of(core, key), core.place, core.out)
        for at in range(count):
            poke(core.out, at, peek(core.out, at) * share.cores + share.number)
        return count

    @inlined
    def remove_oldest(share):
        words = share.words
        place = words[FIRST_PLACE]
        words[FIRST_PLACE] = behind(place, len(share.keys))
        remove(share.index, peek(share.keys, place), words[FIRST])
        words[FIRST] += 1

    @inlined
    def expire(share, time):
        words = share.words
        while words[FIRST] < kept_of(share, words[SEEN]):
            if peek(share.times, words[FIRST_PLACE]) >= time - share.span:
                break
            remove_oldest(share)

    @inlined
    def keep(share, key, time):
        words = share.words
        position = words[SEEN]
        leaves = position - share.window
        if share.span == 0 and leaves >= 0 and leaves % share.cores == share.number:
            remove_oldest(share)
        words[SEEN] = position + 1
        if position % share.cores != share.number:
            return ACCEPTED
        place = words[NEXT_PLACE]
        words[NEXT_PLACE] = behind(place, len(share.keys))
        poke(share.keys, place, key)
        if share.span > 0:
            poke(share.times, place, time)
        return insert(share.index, key, position // share.cores)

    return ShareSteps(search, expire, keep)


def check_invariants(share: Share, seen: int) -> None:
    """Check a share at rest that should have seen so many tuples.

    Raises
    ------
    AssertionError
        Naming the core.
    """
    core, first = f"core {share.number}", int(share.words[FIRST])
    assert int(share.words[SEEN]) == seen, f"{core} is behind"
    if not share.span:
        left = kept_of(share, max(0, seen - share.window))
        assert first == left, f"{core}: {first} of {left} tuples have left"
    mine = kept_of(share, seen) - first
    assert mine <= len(share.keys), f"{core} keeps too many"
    size = int(share.index.words[SIZE])
    assert size == mine, f"{core}: {size} of {mine}"
