"""Shared indexes under one lock: by them the tests of shared indexes are tested.

LOCKED deletes; MERGING keeps what is new beside the rest until a merge puts both together.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from operators.contract import ACCEPTED, FULL
from operators.core.jit import inlined
from operators.core.layout import LINE_WORDS, aligned_words
from operators.core.spin_lock import acquire, make_spin_locks, release
from operators.index.family import (
    MASK_32,
    check_window,
    is_asked_for,
    is_live,
    sequence_of,
)
from operators.index.shared import Merges, SharedIndexOperations
from operators.index.window import NEWEST, OLDEST

# Words of a list: how many entries it has.
KEPT, NEW, MADE, FROM, SLOT = range(5)
PIECE = 7  # entries of a piece of a merge


class Locked(NamedTuple):
    """Entries in no order: two lists that take turns, and what is new."""

    keys: np.ndarray  # the first list, the second, what is new
    sequences: np.ndarray
    words: np.ndarray
    lock: np.ndarray
    counts: np.ndarray  # of a merge, by piece: what it keeps, then where that goes
    room: int  # of each of the three
    limit: int  # of what is new


def make_state(window, slack, key_bits=32, threads=1, merge_ratio=1.0):
    """Return an empty index."""
    check_window(window, key_bits)
    room = window + 2 * slack
    return Locked(
        aligned_words(3 * room),
        aligned_words(3 * room),
        aligned_words(LINE_WORDS),
        make_spin_locks(1),
        aligned_words(2 * room // PIECE + 2),
        room,
        max(round(merge_ratio * window), 1),
    )


def views(state, threads):
    return (state,) * threads


@inlined
def enter(view):
    pass


@inlined
def leave(view):
    pass


@inlined
def insert(view, key, position):
    status = FULL
    acquire(view.lock, 0)
    new = view.words[NEW]
    if new < view.room:
        view.keys[2 * view.room + new] = key
        view.sequences[2 * view.room + new] = sequence_of(position)
        view.words[NEW] = new + 1
        status = ACCEPTED
    release(view.lock, 0)
    return status


@inlined
def remove(view, key, position):
    begin = 2 * view.room
    acquire(view.lock, 0)
    last = begin + view.words[NEW] - 1
    for at in range(begin, last + 1):
        if view.keys[at] == key and view.sequences[at] == sequence_of(position):
            view.keys[at], view.sequences[at] = view.keys[last], view.sequences[last]
            view.words[NEW] -= 1
            break
    release(view.lock, 0)


@inlined
def keep(view, key, position):
    pass


@inlined
def find(view, keys, begin, count, places):
    for at in range(count):
        places[at] = keys[begin + at]


@inlined
def scan(view, low, high, places, at, window, out, count):
    acquire(view.lock, 0)
    begin = view.words[SLOT] * view.room
    for first, size in ((begin, view.words[KEPT]), (2 * view.room, view.words[NEW])):
        for entry in range(first, first + size):
            sequence = view.sequences[entry]
            if low <= view.keys[entry] <= high and is_asked_for(
                sequence, window[OLDEST], window[NEWEST]
            ):
                out[count] = window[NEWEST] - ((window[NEWEST] - sequence) & MASK_32)
                count += 1
    release(view.lock, 0)
    return count


@inlined
def is_due(view):
    acquire(view.lock, 0)
    due = view.words[NEW] >= view.limit
    release(view.lock, 0)
    return due


@inlined
def begin(view, oldest):
    view.words[FROM] = sequence_of(oldest)
    return (view.words[KEPT] + view.words[NEW] + PIECE - 1) // PIECE


@inlined
def move(view, piece, put):
    """Copy what a piece keeps to the other list from `put` on, or only count it."""
    other = (1 - view.words[SLOT]) * view.room
    kept = view.words[KEPT]
    moved = 0
    for at in range(piece * PIECE, min((piece + 1) * PIECE, kept + view.words[NEW])):
        entry = view.words[SLOT] * view.room + at if at < kept else 2 * view.room + at - kept
        if is_live(view.sequences[entry], view.words[FROM]):
            if put >= 0:
                view.keys[other + put + moved] = view.keys[entry]
                view.sequences[other + put + moved] = view.sequences[entry]
            moved += 1
    return moved


@inlined
def count(view, piece):
    view.counts[piece] = move(view, piece, -1)


@inlined
def place(view):
    put = 0
    for piece in range((view.words[KEPT] + view.words[NEW] + PIECE - 1) // PIECE):
        moved = view.counts[piece]
        view.counts[piece] = put
        put += moved
    view.words[MADE] = put


@inlined
def copy(view, piece):
    move(view, piece, view.counts[piece])


@inlined
def finish(view):
    pass


@inlined
def swap(view):
    view.words[SLOT] = 1 - view.words[SLOT]
    view.words[KEPT] = view.words[MADE]
    view.words[NEW] = 0


def places_of(state):
    return 1


def footprint(state):
    return {"search": 16 * int(state.words[KEPT] + state.words[NEW])}


def check_invariants(state):
    assert state.lock[0] == 0, "the lock is taken"


def entries(state):
    slot, room = int(state.words[SLOT]), state.room
    return sorted(
        (int(state.keys[at]), int(state.sequences[at]))
        for begin, size in ((slot * room, state.words[KEPT]), (2 * room, state.words[NEW]))
        for at in range(begin, begin + int(size))
    )


LOCKED = SharedIndexOperations(
    make_state, views, enter, leave, insert, remove, find, scan, places_of, footprint,
    check_invariants, entries,
)  # fmt: skip
MERGING = LOCKED._replace(
    remove=keep, merges=Merges(is_due, begin, count, place, copy, finish, swap)
)
