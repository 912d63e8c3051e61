"""The window of a processing thread: columns of numbers in a ring, and the comparison with them.

All joins of this family compare with this kernel. A window is a ring by position; each chunk of 64
tuples has its columns side by side, so that a pass over the window reads one stream of memory::

    position    0 .. 63            64 .. 127
              +--------+--------+--------+--------+--- - -
      chunks  |   x    |   y    |   x    |   y    |
              +--------+--------+--------+--------+--- - -
      rows, ranks, stamps: a word a tuple

Several tuples share a pass (`compare`), so a window larger than the caches is read once for all of
them. They arrived at different times, and each has to be compared with the window of that time: a
range of positions. The pass covers the union of the ranges; the rare matches outside a tuple's
range are masked out. A block of the window is filtered by the first number of each tuple, and
possible matches are then checked in full.

Invariants (``check_invariants``)
---------------------------------
1. ``FIRST <= NEXT <= FIRST + capacity``; positions from FIRST to NEXT are in the window.
2. Ranks and stamps ascend with positions.

A window belongs to one thread; no word is shared.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any, NamedTuple

import numpy as np

from operators.contract import UsageError
from operators.core.integers import bit_length, wrapping_add
from operators.core.jit import inlined
from operators.core.layout import LINE_BYTES, LINE_WORDS, aligned_array, aligned_words
from operators.core.prefetch import prefetch
from operators.core.vectors import peek, poke
from operators.theta_join.family import REACH
from operators.theta_join.predicates import CHUNK, Predicate

# Tuples of one side that share a pass over the window of the other. 8 read a window of 2**23 tuples
# at the speed of one in the caches; 16 were no faster.
PASS = 8
# Words of a window: the oldest position in it, and the next one.
FIRST, NEXT = 0, 1
# Words of a comparing tuple: the range of positions, and the number of chunks with matches.
BEGIN, END, FOUND = 0, 1, 2
# The tuples of a block are filtered by their first number before possible matches are checked: the
# filter has no unpredictable branch, and the check finds the block in the nearest cache. One
# thread, billion comparisons/s, two cores of an EPYC (Zen 5), windows of 2^16, 300,000 and 2^23:
# 23.7, 24.4 and 25.1, checking at once 18.0, 19.8 and 25.2, with blocks half as long 23.1, 24.8 and
# 25.1.
BLOCK = 64 * CHUNK
# All lines of a chunk are prefetched so many chunks ahead, since the filter touches only the first
# number. Without it 22.7, 23.5 and 18.5.
ASKED_AHEAD = 16


class Window(NamedTuple):
    """The tuples of one logical stream that a thread keeps."""

    chunks: np.ndarray  # (capacity * columns) of the predicate's kind
    rows: np.ndarray  # (capacity): of the tables
    ranks: np.ndarray  # (capacity)
    stamps: np.ndarray  # (capacity): the basis of purging: timestamps, or numbers in the stream
    words: np.ndarray  # FIRST, NEXT
    capacity: int  # whole chunks


class Comparing(NamedTuple):
    """The tuples of one side that are being compared: up to PASS of them."""

    ranges: np.ndarray  # (PASS * 3): BEGIN, END, FOUND
    wanted: np.ndarray  # (PASS * wanted): the predicate's bounds
    # (PASS * 2 * (chunks + 1)): for each tuple the chunks with matches, as the position of the
    # chunk's first tuple and a bit for each of the 64.
    found: np.ndarray
    stride: int  # words of `found` of a tuple
    seen: np.ndarray  # (PASS): end of `found` while it holds possible matches


def check_capacity(capacity: int) -> None:
    """Refuse a window for no tuples, or for more than a pair's key can distinguish.

    Raises
    ------
    UsageError
        When the capacity is out of these limits, which the message names.
    """
    if not 1 <= capacity < REACH:
        raise UsageError(f"a window holds 1 to {REACH - 1} tuples, received {capacity}")


def make_window(predicate: Predicate, capacity: int) -> Window:
    """Return an empty window for `capacity` tuples.

    Raises
    ------
    UsageError
        As ``check_capacity`` does.
    """
    check_capacity(capacity)
    # Purged tuples stay until the batch that is compared with them is done.
    whole = -(-(capacity + 2 * PASS) // CHUNK) * CHUNK
    return Window(
        aligned_array(whole * predicate.columns, predicate.kind),
        *(aligned_words(whole) for _ in range(3)),
        aligned_words(LINE_WORDS),
        whole,
    )


def make_comparing(predicate: Predicate, window: Window) -> Comparing:
    """Return the buffers for comparisons with a window."""
    stride = 2 * (window.capacity // CHUNK + 1)
    return Comparing(
        aligned_words(3 * PASS),
        aligned_words(PASS * predicate.wanted),
        aligned_words(PASS * stride),
        stride,
        aligned_words(PASS),
    )


@inlined
def place_of(window, position):
    """Return the ring slot of a position."""
    return position % window.capacity


class WindowSteps(NamedTuple):
    """The steps of a window under a predicate, as inlined functions.

    ``enter(window, index, tables, side, row, rank, stamp, needed)`` appends a tuple to the window;
    False when that would overwrite `needed`, the oldest position to be kept.
    ``ask(comparing, number, tables, side, row, window, index)`` notes a tuple as the number-th of a
    pass, to be compared with the window as it is now; returns the size of the window.
    ``compare(comparing, count, window, side)`` compares `count` tuples of a side with their ranges
    of the window. ``purge(window, index, horizon)`` drops tuples with stamps below the horizon.
    """

    enter: Callable[..., bool]
    ask: Callable[..., int]
    compare: Callable[..., None]
    purge: Callable[..., None]


class Matching(NamedTuple):
    """The method of finding matches in a window.

    ``make_index(predicate, tables, capacity)`` returns the index of a window for `capacity` tuples,
    ``make_steps(predicate)`` the steps.
    """

    make_index: Callable[..., Any]
    make_steps: Callable[[Predicate], WindowSteps]


@inlined
def purge(window, index, horizon):
    """Drop the oldest tuples, whose stamps are below the horizon."""
    first, last = window.words[FIRST], window.words[NEXT]
    place = place_of(window, first)
    while first < last and peek(window.stamps, place) < horizon:
        first += 1
        place = 0 if place + 1 == window.capacity else place + 1
    window.words[FIRST] = first


@inlined
def lowest_bit(mask):
    """Return the number of the lowest set bit."""
    return bit_length(mask ^ wrapping_add(mask, -1)) - 1


@inlined
def without_lowest_bit(mask):
    """Return a word without the lowest set bit."""
    return mask & wrapping_add(mask, -1)


@inlined
def bits_from(mask, number):
    """Return a word without the bits below a number, 0 to 63."""
    return mask & (-1 << number)


@inlined
def bits_up_to(mask, number):
    """Return a word without the bits from a number on, 1 to 63."""
    return mask & ~(-1 << number)


@inlined
def end_of_found(comparing, number):
    """Return the end of the chunks with matches of a tuple."""
    return number * comparing.stride + 2 * comparing.ranges[3 * number + FOUND]


@inlined
def note(comparing, number, position, mask):
    """Note the matches in the chunk at a position, masked to the tuple's range."""
    base = 3 * number
    before = comparing.ranges[base + BEGIN] - position
    if before > 0:
        mask = bits_from(mask, before) if before < CHUNK else 0
    behind = comparing.ranges[base + END] - position
    if behind < CHUNK:
        mask = bits_up_to(mask, behind) if behind > 0 else 0
    if mask != 0:
        found = comparing.ranges[base + FOUND]
        place = end_of_found(comparing, number)
        comparing.found[place] = position
        comparing.found[place + 1] = mask
        comparing.ranges[base + FOUND] = found + 1


@cache
def _compare_of(predicate: Predicate) -> Callable[..., None]:
    """Return ``compare`` for the steps of a window; see ``WindowSteps``."""
    columns, words = predicate.columns, predicate.wanted
    match_64, narrow_64 = predicate.match_64, predicate.narrow_64
    line = LINE_BYTES // np.dtype(predicate.kind).itemsize

    @inlined
    def look_again(comparing, number, window, side):
        """Check the possible matches of a block in full, and keep the matches."""
        at = end_of_found(comparing, number)
        while at < comparing.seen[number]:
            position, mask = comparing.found[at], comparing.found[at + 1]
            chunk = place_of(window, position) * columns
            mask = narrow_64(window.chunks, chunk, comparing.wanted, number * words, side, mask)
            if mask != 0:
                note(comparing, number, position, mask)
            at += 2

    @inlined
    def compare(comparing, count, window, side):
        begin, end = comparing.ranges[BEGIN], comparing.ranges[END]
        for number in range(1, count):
            # Later tuples have later windows.
            end = max(end, comparing.ranges[3 * number + END])
        position = begin - begin % CHUNK
        place = place_of(window, position)
        while position < end:
            stop = min(position + BLOCK, end)
            for number in range(count):
                comparing.seen[number] = end_of_found(comparing, number)
            while position < stop:
                at = place * columns
                for lines in range(0, columns * CHUNK, line):
                    prefetch(window.chunks, at + ASKED_AHEAD * columns * CHUNK + lines)
                for number in range(count):
                    mask = match_64(window.chunks, at, comparing.wanted, number * words, side)
                    seen = comparing.seen[number]
                    comparing.found[seen] = position
                    comparing.found[seen + 1] = mask
                    # Overwritten by the next chunk if there is no match.
                    comparing.seen[number] = seen + 2 * (mask != 0)
                position += CHUNK
                place = 0 if place + CHUNK == window.capacity else place + CHUNK
            for number in range(count):
                look_again(comparing, number, window, side)

    return compare


@cache
def make_window_steps(predicate: Predicate) -> WindowSteps:
    """Return the steps of windows without an index."""
    columns, words = predicate.columns, predicate.wanted
    keep, prepare = predicate.keep, predicate.prepare

    @inlined
    def enter(window, index, tables, side, row, rank, stamp, needed):
        position = window.words[NEXT]
        if position - needed >= window.capacity:
            return False
        place = place_of(window, position)
        lane = place % CHUNK
        chunk = (place - lane) * columns + lane
        for column in range(columns):
            poke(window.chunks, chunk + column * CHUNK, keep(tables, side, row, column))
        poke(window.rows, place, row)
        poke(window.ranks, place, rank)
        poke(window.stamps, place, stamp)
        window.words[NEXT] = position + 1
        return True

    @inlined
    def ask(comparing, number, tables, side, row, window, index):
        prepare(tables, side, row, comparing.wanted, number * words)
        base = 3 * number
        comparing.ranges[base + BEGIN] = window.words[FIRST]
        comparing.ranges[base + END] = window.words[NEXT]
        comparing.ranges[base + FOUND] = 0
        return window.words[NEXT] - window.words[FIRST]

    return WindowSteps(enter, ask, _compare_of(predicate), purge)


def _no_index(predicate: Predicate, tables: Any, capacity: int) -> tuple[()]:
    return ()


SCAN = Matching(_no_index, make_window_steps)


def check_invariants(window: Window) -> None:
    """Check a window in a quiescent state.

    Raises
    ------
    AssertionError
        When an invariant does not hold; the message names it.
    """
    first, last = int(window.words[FIRST]), int(window.words[NEXT])
    assert 0 <= first <= last <= first + window.capacity, f"invariant 1: {first} to {last}"
    places = np.arange(first, last) % window.capacity
    assert (np.diff(window.ranks[places]) > 0).all(), "invariant 2: ranks"
    assert (np.diff(window.stamps[places]) >= 0).all(), "invariant 2: stamps"
