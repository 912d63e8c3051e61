"""Our ScaleJoins: with an index or a hash table in each thread, and with heartbeats.

Sections IV-C and VIII of "ScaleJoin: a Deterministic, Disjoint-Parallel and Skew-Resilient Stream
Join" name the first two: "appropriate data structures at the PTs", "e.g., hash tables for
equi-joins". They differ in how a thread finds possible matches in its windows:

scale-join-index
    A B+-Tree (`operators.index.b_plus_tree`) over the first number that is compared.
scale-join-hash
    Lists of the tuples of a cell: a range of the first number as wide as the band, so that matches
    lie in two cells at most, and in one for equality. A list leads from the newest tuple to older
    ones and ends at the first that has left the window, so no removal is needed.

Both return positions in no order of arrival. These are marked in a bitmap with a bit for each chunk
of the window, and the marked chunks are compared as in the other variants.

scale-join-heartbeats
    After each batch a thread publishes a heartbeat in the second gate. Otherwise a pair waits until
    every thread has found a later one, so latency grows with the number of threads.
"""

from __future__ import annotations

from functools import cache
from typing import Any, NamedTuple

import numpy as np

from operators.contract import Look, UsageError
from operators.core.integers import mix64
from operators.core.jit import inlined
from operators.core.layout import aligned_words
from operators.core.vectors import peek, poke
from operators.index import b_plus_tree
from operators.theta_join.predicates import CHUNK, HIGH, LOW, Predicate
from operators.theta_join.scale_join import make_operations, variant_of
from operators.theta_join.window import (
    BEGIN,
    END,
    FIRST,
    NEXT,
    Matching,
    WindowSteps,
    lowest_bit,
    make_window_steps,
    note,
    place_of,
    without_lowest_bit,
)

TREE = b_plus_tree.VARIANT.operations


class Marks(NamedTuple):
    """The bitmap of chunks with possible matches, and a buffer for an index's answer."""

    chunks: np.ndarray  # a bit a chunk, from the first of a tuple's range on
    found: np.ndarray  # (capacity + 1) positions


class TreeIndex(NamedTuple):
    """A B+-Tree of a window's first numbers."""

    tree: Any
    place: np.ndarray
    marks: Marks


class Cells(NamedTuple):
    """Lists of a window's tuples by the cell of their first number."""

    heads: np.ndarray  # by cell, hashed: one more than the position of the newest tuple, 0 for none
    links: np.ndarray  # (capacity): the same for the next older tuple of the list
    marks: Marks
    width: int  # of a cell


def _marks(capacity: int) -> Marks:
    return Marks(aligned_words(capacity // CHUNK // CHUNK + 2), aligned_words(capacity + 1))


def _cell(predicate: Predicate, tables: Any) -> int:
    width = predicate.cell_of(tables)
    if width == 0:
        raise UsageError("a condition of any kind has no range to look up; use scale-join")
    return width


def _make_tree(predicate: Predicate, tables: Any, capacity: int) -> TreeIndex:
    _cell(predicate, tables)
    tree = TREE.make_state(capacity, 8 * np.dtype(predicate.kind).itemsize)
    return TreeIndex(tree, aligned_words(TREE.places(tree)), _marks(capacity))


def _make_cells(predicate: Predicate, tables: Any, capacity: int) -> Cells:
    width = _cell(predicate, tables)
    heads = 1 << (capacity - 1).bit_length()
    return Cells(aligned_words(heads), aligned_words(capacity), _marks(capacity), width)


@inlined
def mark_chunk(marks, begin, position):
    """Mark the chunk of a position, counted from the first chunk of the range."""
    chunk = (position - begin) // CHUNK
    marks.chunks[chunk // CHUNK] |= 1 << (chunk % CHUNK)


@inlined
def first_number(window, columns, position):
    """Return the first kept number of a tuple."""
    place = place_of(window, position)
    lane = place % CHUNK
    return peek(window.chunks, (place - lane) * columns + lane)


@cache
def make_marked_steps(predicate: Predicate, find, enter_index, leave_index) -> WindowSteps:
    """Return the steps of windows with an index of possible matches.

    Parameters
    ----------
    predicate : Predicate
    find : callable
        ``find(index, window, low, high, begin)``: marks the chunks that may have matches.
    enter_index, leave_index : callable
        ``(index, number, position)``: a tuple enters the window, or leaves it.
    """
    columns, words = predicate.columns, predicate.wanted
    match_64, narrow_64 = predicate.match_64, predicate.narrow_64
    enter_window, ask_window, _, _ = make_window_steps(predicate)

    @inlined
    def enter(window, index, tables, side, row, rank, stamp, needed):
        position = window.words[NEXT]
        if not enter_window(window, (), tables, side, row, rank, stamp, needed):
            return False
        enter_index(index, window, first_number(window, columns, position), position)
        return True

    @inlined
    def purge(window, index, horizon):
        first, last = window.words[FIRST], window.words[NEXT]
        while first < last and peek(window.stamps, place_of(window, first)) < horizon:
            leave_index(index, first_number(window, columns, first), first)
            first += 1
        window.words[FIRST] = first

    @inlined
    def ask(comparing, number, tables, side, row, window, index):
        size = ask_window(comparing, number, tables, side, row, window, ())
        base = 3 * number
        begin, end = comparing.ranges[base + BEGIN], comparing.ranges[base + END]
        if size == 0:
            return 0
        begin -= begin % CHUNK
        low, high = comparing.wanted[number * words + LOW], comparing.wanted[number * words + HIGH]
        find(index, window, low, high, begin)
        for word in range((end - begin) // CHUNK // CHUNK + 1):
            marked = index.marks.chunks[word]
            index.marks.chunks[word] = 0
            while marked != 0:
                position = begin + (word * CHUNK + lowest_bit(marked)) * CHUNK
                at = place_of(window, position) * columns
                place = window.chunks, at, comparing.wanted, number * words, side
                mask = match_64(*place)
                if mask != 0:
                    mask = narrow_64(*place, mask)
                if mask != 0:
                    note(comparing, number, position, mask)
                marked = without_lowest_bit(marked)
        return size

    @inlined
    def compare(comparing, count, window, side):
        """Do nothing: ``ask`` has compared the tuples, with the index of that time."""

    return WindowSteps(enter, ask, compare, purge)


# --- a tree ---------------------------------------------------------------------------------------

_tree_insert, _tree_remove = TREE.insert, TREE.remove
_tree_find, _tree_scan = TREE.find, TREE.scan


@inlined
def _find_in_tree(index, window, low, high, begin):
    _tree_find(index.tree, low, index.place)
    count = _tree_scan(index.tree, low, high, index.place, index.marks.found)
    for at in range(count):
        mark_chunk(index.marks, begin, index.marks.found[at])


@inlined
def _enter_tree(index, window, number, position):
    _tree_insert(index.tree, number, position)


@inlined
def _leave_tree(index, number, position):
    _tree_remove(index.tree, number, position)


def _tree_steps(predicate: Predicate) -> WindowSteps:
    return make_marked_steps(predicate, _find_in_tree, _enter_tree, _leave_tree)


# --- cells ----------------------------------------------------------------------------------------


@cache
def _cells_steps(predicate: Predicate) -> WindowSteps:
    @inlined
    def head_of(index, cell):
        return mix64(cell) & (len(index.heads) - 1)

    @inlined
    def find(index, window, low, high, begin):
        for cell in range(low // index.width, high // index.width + 1):
            follows = index.heads[head_of(index, cell)]
            while follows > window.words[FIRST]:
                mark_chunk(index.marks, begin, follows - 1)
                follows = index.links[place_of(window, follows - 1)]

    @inlined
    def enter(index, window, number, position):
        head = head_of(index, number // index.width)
        poke(index.links, place_of(window, position), index.heads[head])
        index.heads[head] = position + 1

    @inlined
    def leave(index, number, position):
        """Do nothing: lists end where the window begins."""

    return make_marked_steps(predicate, find, enter, leave)


INDEXED = Matching(_make_tree, _tree_steps)
HASHED = Matching(_make_cells, _cells_steps)

_SHOWN = {"scalejoin": ("6a",)}
VARIANTS = (
    variant_of(
        "scale-join-index",
        "ScaleJoin, B+-Tree in each thread",
        section="IV-C and VIII",
        operations=make_operations(matching=INDEXED),
        look=Look("sky", "v"),
        extended=True,
        extends=_SHOWN,
    ),
    variant_of(
        "scale-join-hash",
        "ScaleJoin, hash table in each thread",
        section="IV-C",
        operations=make_operations(matching=HASHED),
        look=Look("purple", "P"),
        extended=True,
        extends=_SHOWN,
    ),
    variant_of(
        "scale-join-heartbeats",
        "ScaleJoin with heartbeats",
        section="ours",
        operations=make_operations(heartbeats=True),
        look=Look("orange", "X"),
        extended=True,
        extends={"scalejoin": ("7x",)},
    ),
)
