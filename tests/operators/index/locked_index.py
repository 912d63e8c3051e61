"""Obviously correct shared indexes, on which the test suites of the join are validated first.

``LOCKED_TREE`` is a B+-tree under one lock, taken for each call. The other is a row of entries
under one lock that merges: entries stay until a merge copies those that are still in the window.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from operators.contract import ACCEPTED, FULL
from operators.core.arena import NO_NODE
from operators.core.jit import inlined
from operators.core.layout import LINE_WORDS, aligned_words
from operators.core.spin_lock import acquire, make_spin_locks, release
from operators.index.b_plus_tree import (
    check_forest,
    delete_entry,
    find_leaf,
    insert_entry,
    scan_leaves,
)
from operators.index.family import check_window, is_asked_for, position_of, sequence_of
from operators.index.forest import Forest, make_forest, nodes_for, used_bytes
from operators.index.shared import Merges, SharedIndexOperations
from operators.index.window import NEWEST, OLDEST


class LockedTree(NamedTuple):
    """A B+-tree and the lock around it."""

    forest: Forest
    lock: np.ndarray


def make_tree(
    window: int, slack: int, key_bits: int, threads: int, fan_out: int = 32
) -> LockedTree:
    """Return an empty tree."""
    key_type = check_window(window, key_bits)
    capacity = nodes_for(window + slack, 1, fan_out, deletes=True)
    return LockedTree(make_forest(1, 1, capacity, key_type, fan_out), make_spin_locks(1))


def same_views(state: NamedTuple, threads: int) -> tuple:
    """Return the same state as the view of each thread."""
    return (state,) * threads


@inlined
def do_nothing(view):
    """Do nothing: the lock suffices."""


@inlined
def insert_into_tree(view, key, position):
    acquire(view.lock, 0)
    status = insert_entry(view.forest, 0, 0, key, sequence_of(position))
    release(view.lock, 0)
    return status


@inlined
def remove_from_tree(view, key, position):
    acquire(view.lock, 0)
    delete_entry(view.forest, 0, 0, key, sequence_of(position))
    release(view.lock, 0)


@inlined
def find_nothing(view, keys, begin, count, places):
    """Record only the keys: the tree may change before the scan, which searches again."""
    for place in range(count):
        places[place] = keys[begin + place]


@inlined
def scan_tree(view, low, high, places, at, window, out, count):
    assert places[at] == low, "scanned from another place than the one that was found"
    acquire(view.lock, 0)
    leaf = find_leaf(view.forest, 0, low)
    count = scan_leaves(view.forest, leaf, NO_NODE, low, high, window, out, count)
    release(view.lock, 0)
    return count


def one_word(state: NamedTuple) -> int:
    """Return 1: ``find`` records one word, the key."""
    return 1


LOCKED_TREE = SharedIndexOperations(
    make_state=make_tree,
    views=same_views,
    enter=do_nothing,
    leave=do_nothing,
    insert=insert_into_tree,
    remove=remove_from_tree,
    find=find_nothing,
    scan=scan_tree,
    places_of=one_word,
    footprint=lambda state: {"insert": used_bytes(state.forest)},
    check_invariants=lambda state: None,
    entries=lambda state: check_forest(state.forest, 1),
)


# --- a row that merges ----------------------------------------------------------------------------

# Words of a row: the half that is searched, the number of entries in it, and the number at which a
# merge is due; of a merge, whether one is in progress, the first position it keeps, and the number
# of entries that each piece has found.
HALF, COUNT, LIMIT, MERGING, KEPT_FROM, NEXT_COUNT, FOUND_OF = range(7)
PIECES = 2


class Row(NamedTuple):
    """Entries in insertion order, in one of two halves, and the lock around them."""

    keys: np.ndarray
    positions: np.ndarray
    words: np.ndarray
    lock: np.ndarray
    room: int


def make_row(window: int, slack: int, key_bits: int, threads: int, merge_ratio: float = 1) -> Row:
    """Return an empty row, which merges once it has `merge_ratio` windows of new entries."""
    check_window(window, key_bits)
    limit = max(round(merge_ratio * window), 1)
    room = window + limit + slack
    words = aligned_words(2 * LINE_WORDS)
    words[LIMIT] = limit
    return Row(aligned_words(2 * room), aligned_words(2 * room), words, make_spin_locks(1), room)


@inlined
def insert_into_row(view, key, position):
    acquire(view.lock, 0)
    words = view.words
    assert words[MERGING] == 0, "inserted while a merge goes on"
    count = words[COUNT]
    status = FULL
    if count < view.room:
        place = words[HALF] * view.room + count
        view.keys[place] = key
        view.positions[place] = position
        words[COUNT] = count + 1
        status = ACCEPTED
    release(view.lock, 0)
    return status


@inlined
def remove_from_row(view, key, position):
    """Do nothing: the next merge leaves the entry out."""


@inlined
def scan_row(view, low, high, places, at, window, out, count):
    assert places[at] == low, "scanned from another place than the one that was found"
    acquire(view.lock, 0)
    begin = view.words[HALF] * view.room
    for place in range(begin, begin + view.words[COUNT]):
        sequence = sequence_of(view.positions[place])
        if low <= view.keys[place] <= high and is_asked_for(
            sequence, window[OLDEST], window[NEWEST]
        ):
            out[count] = position_of(sequence, window[NEWEST])
            count += 1
    release(view.lock, 0)
    return count


@inlined
def row_is_due(view):
    acquire(view.lock, 0)
    due = view.words[COUNT] >= view.words[LIMIT] + view.words[NEXT_COUNT]
    release(view.lock, 0)
    return due


@inlined
def begin_row(view, oldest):
    words = view.words
    assert words[MERGING] == 0, "a merge begins in the middle of one"
    words[MERGING] = 1
    words[KEPT_FROM] = oldest
    return PIECES


@inlined
def share_of(view, piece):
    """Return the range of entries that belong to a piece of work."""
    begin, count = view.words[HALF] * view.room, view.words[COUNT]
    return begin + piece * count // PIECES, begin + (piece + 1) * count // PIECES


@inlined
def count_row(view, piece):
    begin, end = share_of(view, piece)
    found = 0
    for place in range(begin, end):
        found += view.positions[place] >= view.words[KEPT_FROM]
    assert view.words[FOUND_OF + piece] == 0, "a piece is counted twice"
    view.words[FOUND_OF + piece] = found


@inlined
def place_row(view):
    words = view.words
    words[NEXT_COUNT] = words[FOUND_OF] + words[FOUND_OF + 1]


@inlined
def copy_row(view, piece):
    begin, end = share_of(view, piece)
    put = (1 - view.words[HALF]) * view.room
    if piece == 1:
        put += view.words[FOUND_OF]
    for place in range(begin, end):
        if view.positions[place] >= view.words[KEPT_FROM]:
            view.keys[put] = view.keys[place]
            view.positions[put] = view.positions[place]
            put += 1


@inlined
def finish_row(view):
    view.words[MERGING] = 2


@inlined
def swap_row(view):
    words = view.words
    assert words[MERGING] == 2, "swapped before the end of a merge"
    words[MERGING] = 0
    words[HALF] = 1 - words[HALF]
    words[COUNT] = words[NEXT_COUNT]
    for piece in range(PIECES):
        words[FOUND_OF + piece] = 0


def entries_of_row(state: Row) -> list:
    """Return the entries, sorted."""
    begin = int(state.words[HALF]) * state.room
    end = begin + int(state.words[COUNT])
    positions = [int(sequence_of(each)) for each in state.positions[begin:end].tolist()]
    return sorted(zip(state.keys[begin:end].tolist(), positions, strict=True))


MERGING_ROW = SharedIndexOperations(
    make_state=make_row,
    views=same_views,
    enter=do_nothing,
    leave=do_nothing,
    insert=insert_into_row,
    remove=remove_from_row,
    find=find_nothing,
    scan=scan_row,
    places_of=one_word,
    footprint=lambda state: {"insert": 16 * int(state.words[COUNT])},
    check_invariants=lambda state: None,
    entries=entries_of_row,
    merges=Merges(row_is_due, begin_row, count_row, place_row, copy_row, finish_row, swap_row),
    cycle=lambda state: int(state.words[LIMIT]),
)
