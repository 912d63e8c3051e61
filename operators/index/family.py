"""The family of window indexes: their operations, and the conventions that all share.

An index has the tuples of one window, which enter in the order of their positions in the stream and
leave in the same order. For each tuple it keeps the key and the *sequence number*, the position
modulo 2**32 (section 5: "4 bytes for the key and 4 bytes for the sliding window reference").
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from operators.contract import Family, Parameter, UsageError
from operators.core.jit import inlined

MOST_WINDOW = 1 << 25
# An index had no room for a key, which does not happen within the window size.
NO_ROOM_FOR_KEY = -3
LEAST_FAN_OUT, MOST_FAN_OUT = 4, 64
MASK_32 = (1 << 32) - 1
# Bit of a difference of two sequences: set if the first is the earlier one.
EARLIER = 1 << 31
KEY_BITS = {32: np.int32, 64: np.int64}

FAN_OUT = Parameter("fan_out", 32, LEAST_FAN_OUT, MOST_FAN_OUT, "entries", "entries of a node")
FAN_OUT_RATIO = Parameter(
    "fan_out_ratio", 1, 1, 8, "", "entries of an immutable node for each of another node"
)
MERGE_RATIO = Parameter(
    "merge_ratio", 0.125, 0.001, 1, "", "of the window: new tuples until a merge", decimals=6
)
CHAIN_LENGTH = Parameter("chain_length", 2, 2, 1024, "subindexes", "subindexes of the chain")


def every_tuple(state: Any) -> int:
    """Return 1: the index does the same work for each tuple."""
    return 1


def no_subindexes(state: Any) -> np.ndarray:
    """Return an empty array: the index has no subindexes by range."""
    return np.zeros(0, dtype=np.int64)


def one_view(state: Any, threads: int) -> tuple:
    """Return the state itself as the only view: the index belongs to one thread.

    Raises
    ------
    UsageError
        When several threads ask for views.
    """
    if threads != 1:
        raise UsageError(f"the index is for one thread, received {threads}")
    return (state,)


class IndexOperations(NamedTuple):
    """The operations of an index of a sliding window.

    ``make_state(window, key_bits, **parameters)`` returns a NamedTuple of arrays for at most
    `window` tuples at once, with keys of 32 or 64 bits. The field ``words`` describes the current
    window (`operators.index.window`).

    ``insert(state, key, position)`` indexes the newest tuple: ACCEPTED, or FULL if there was no
    room, which does not happen within a window of `window` tuples.

    ``remove(state, key, position)`` reports that the oldest tuple has left the window. The index
    may delete the entry at once or together with many others; no search returns it any more.

    ``find(state, low, place)`` descends to where `low` belongs and notes the result in the array
    `place` (``places(state)`` words); ``scan(state, low, high, place, out)`` continues from there,
    writes the positions of all keys from `low` to `high` into ``out[0:count]``, in no order, and
    returns their count. No other call is allowed between the two. `out` is an array from
    ``window.make_answer``.

    ``views(state, threads)`` returns a view of the index for each of so many threads, with which a
    thread calls the operations above; it raises UsageError if the index does not support them. The
    view of an index for one thread is the state.

    ``merge_ns(state)`` is the total time of the merges so far, 0 for an index without merges.

    ``footprint(state)`` returns the bytes in use by name of component: plain Python.

    ``inserted(state)`` returns the number of tuples inserted into each subindex, as counted by
    merges: an int64 array, empty for an index without subindexes.

    ``cycle(state)`` returns the number of inserts after which the work repeats: those between two
    merges, or until the next subindex; 1 if all inserts are alike.

    ``shared`` are the operations of an index that several threads use at once
    (`operators.index.shared.SharedIndexOperations`), None for an index of one thread.

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
    """Return whether a sequence is that of `oldest` or of a later tuple, also across wrap-around.

    Correct as long as a window is shorter than 2**31 tuples.
    """
    return (sequence - oldest) & EARLIER == 0


@inlined
def is_asked_for(sequence, oldest, newest):
    """Return whether a sequence lies from `oldest` to that of the position `newest`, inclusive."""
    return ((newest - sequence) & MASK_32) < ((newest + 1 - oldest) & MASK_32)


@inlined
def sequence_of(position):
    """Return the low 32 bits of a position, which an entry keeps, as a signed int64."""
    return (position + EARLIER) % (1 << 32) - EARLIER


@inlined
def position_of(sequence, latest):
    """Return the position of a live sequence, where `latest` is the newest position."""
    return latest - ((latest - sequence) & MASK_32)


def check_window(window: int, key_bits: int) -> type:
    """Return the type of keys, and refuse a window out of the limits.

    Raises
    ------
    UsageError
        Naming the received value and the limit.
    """
    if not 1 <= window <= MOST_WINDOW:
        raise UsageError(f"a window has between 1 and {MOST_WINDOW} tuples, received {window}")
    if key_bits not in KEY_BITS:
        raise UsageError(f"keys have 32 or 64 bits, received {key_bits}")
    return KEY_BITS[key_bits]
