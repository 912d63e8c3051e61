"""The family of window indexes: what each provides, and what all of them agree on.

An index has the tuples of one window, which enter in the order of their positions in the stream and
leave in it. For each it keeps the key and the *sequence*, the position modulo 2**32 (section 5:
"4 bytes for the key and 4 bytes for the sliding window reference").
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from operators.contract import Family, Parameter, UsageError
from operators.core.jit import inlined

MOST_WINDOW = 1 << 25
# An index had no room for a key, which a window of its size never sees.
NO_ROOM_FOR_KEY = -3
LEAST_FAN_OUT, MOST_FAN_OUT = 4, 64
MASK_32 = (1 << 32) - 1
# Of a difference of two sequences: set where the first is the earlier one.
EARLIER = 1 << 31
KEY_BITS = {32: np.int32, 64: np.int64}

FAN_OUT = Parameter("fan_out", 32, LEAST_FAN_OUT, MOST_FAN_OUT, "entries", "entries of a node")
MERGE_RATIO = Parameter(
    "merge_ratio", 0.125, 0.001, 1, "", "of the window: new tuples until a merge", decimals=6
)
CHAIN_LENGTH = Parameter("chain_length", 2, 2, 1024, "subindexes", "subindexes of the chain")


def every_tuple(state: Any) -> int:
    """Return 1: the index does the same for each tuple."""
    return 1


def no_subindexes(state: Any) -> np.ndarray:
    """Return an empty array: the index has no subindexes by range."""
    return np.zeros(0, dtype=np.int64)


def one_view(state: Any, threads: int) -> tuple:
    """Return the state itself: the index belongs to one thread.

    Raises
    ------
    UsageError
        When more threads ask for it.
    """
    if threads != 1:
        raise UsageError(f"the index is for one thread, received {threads}")
    return (state,)


class IndexOperations(NamedTuple):
    """What an index of a sliding window provides.

    ``make_state(window, key_bits, **parameters)`` returns a NamedTuple of arrays for at most
    `window` tuples at once, with keys of 32 or 64 bits. Its ``words`` say which tuples are in the
    window (`operators.index.window`).

    ``insert(state, key, position)`` indexes the newest tuple: ACCEPTED, or FULL where it had no
    room, which a window of `window` tuples never sees.

    ``remove(state, key, position)`` says that the oldest tuple has left the window. Whether its
    entry goes at once or with many others is the index's own affair; no search finds it any more.

    ``find(state, low, place)`` descends to where `low` belongs and notes that in the array `place`
    (``places(state)`` words); ``scan(state, low, high, place, out)`` goes on from there and writes
    the positions of all keys from `low` to `high` into ``out[0:count]``, in no order, and returns
    their count. Between the two nothing else may be called. `out` is one of ``window.make_answer``.

    ``views(state, threads)`` returns a view of the index for each of so many threads, with which a
    thread calls the operations above; it raises UsageError where the index does not take them.
    That of an index of one thread is its state.

    ``merge_ns(state)`` is the time that merges have taken so far, 0 where there are none.

    ``footprint(state)`` returns the bytes in use by name of component: plain Python.

    ``inserted(state)`` returns how many tuples were inserted into each subindex, as merges found
    them: an int64 array, empty for an index that has none.

    ``cycle(state)`` returns after how many inserts the work repeats: those between two merges, or
    until the next subindex; 1 where each is like the others.

    ``shared`` are the operations of an index that several threads use at once
    (`operators.index.shared.SharedIndexOperations`), None of one that belongs to one thread.

    ``check_invariants(state)`` is plain Python and raises AssertionError.
    """

    make_state: Callable[..., Any]
    insert: Callable[..., int]
    remove: Callable[..., None]
    find: Callable[..., None]
    scan: Callable[..., int]
    merge_ns: Callable[..., int]
    places: Callable[..., int]
    footprint: Callable[..., dict[str, int]]
    check_invariants: Callable[..., None]
    inserted: Callable[..., np.ndarray] = no_subindexes
    cycle: Callable[..., int] = every_tuple
    views: Callable[..., tuple] = one_view
    shared: Any = None


FAMILY = Family(
    id="index",
    title="tuples of a sliding window, found by a range of keys",
    operations=IndexOperations,
    failures={NO_ROOM_FOR_KEY: "the index had no room for a key of its window"},
)


@inlined
def is_live(sequence, oldest):
    """Whether a sequence is that of `oldest` or of a later tuple, also across the wrap.

    Right as long as a window is shorter than 2**31 tuples.
    """
    return (sequence - oldest) & EARLIER == 0


@inlined
def is_asked_for(sequence, oldest, newest):
    """Whether a sequence lies from the sequence `oldest` to that of the position `newest`."""
    return ((newest - sequence) & MASK_32) < ((newest + 1 - oldest) & MASK_32)


@inlined
def sequence_of(position):
    """Return the 32 bits of a position that an entry keeps, as an int64 with a sign."""
    return (position + EARLIER) % (1 << 32) - EARLIER


@inlined
def position_of(sequence, latest):
    """Return the position of a live sequence, where `latest` is the newest position."""
    return latest - ((latest - sequence) & MASK_32)


def check_window(window: int, key_bits: int) -> type:
    """Return the type of keys, and refuse a window that no index has.

    Raises
    ------
    UsageError
        Naming what was received and the limit.
    """
    if not 1 <= window <= MOST_WINDOW:
        raise UsageError(f"a window has between 1 and {MOST_WINDOW} tuples, received {window}")
    if key_bits not in KEY_BITS:
        raise UsageError(f"keys have 32 or 64 bits, received {key_bits}")
    return KEY_BITS[key_bits]
