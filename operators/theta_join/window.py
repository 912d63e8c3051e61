"""The window of a processing thread: columns of numbers in a ring, and the comparison with them.

All joins of this family compare with this kernel. A window is a ring by position; each chunk of 64
tuples has its columns side by side, so that a pass over the window reads one stream of memory::

    position    0 .. 63            64 .. 127
              +--------+--------+--------+--------+--- - -
      chunks  |   x    |   y    |   x    |   y    |
              +--------+--------+--------+--------+--- - -
      rows, ranks, stamps: a word a tuple

Several tuples share a pass (`compare`): a window beyond the caches is then read once for all of
them. They arrived at different times, and each has seen the window as it was; so each has a range
of positions of its own, and the pass goes over all that any of them is to see. What a pass finds
outside a tuple's range is taken out where it is found, which is seldom. A block of the window is
looked at by the first number of each tuple, and then again where that may match.

Invariants (``check_invariants``)
---------------------------------
1. ``FIRST <= NEXT <= FIRST + capacity``; positions from FIRST to NEXT are in the window.
2. Ranks and stamps ascend with positions.

One thread has a window for itself; nothing here is shared.
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
# Words of what a tuple compares: the range of positions, and how many chunks have matches.
BEGIN, END, FOUND = 0, 1, 2
# So many tuples are looked at by their first number before those that may match are looked at
# again: the first look has no branch that nobody can foretell, and the second finds them in the
# nearest cache. One thread, billion comparisons/s, two cores of an EPYC (Zen 5), windows of 2^16,
# 300,000 and 2^23: 23.7, 24.4 and 25.1, looking again at once 18.0, 19.8 and 25.2, with blocks half
# as long 23.1, 24.8 and 25.1.
BLOCK = 64 * CHUNK
# So many chunks before they are looked at all of their lines are asked for, since the first look
# touches the first number alone. Without it 22.7, 23.5 and 18.5.
ASKED_AHEAD = 16


class Window(NamedTuple):
    """The tuples of one logical stream that a thread keeps."""

    chunks: np.ndarray  # (capacity * columns) of the predicate's kind
    rows: np.ndarray  # (capacity): of the tables
    ranks: np.ndarray  # (capacity)
    stamps: np.ndarray  # (capacity): what purging goes by: timestamps, or numbers in the stream
    words: np.ndarray  # FIRST, NEXT
    capacity: int  # whole chunks


class Comparing(NamedTuple):
    """The tuples of one side that are being compared: up to PASS of them."""

    ranges: np.ndarray  # (PASS * 3): BEGIN, END, FOUND
    wanted: np.ndarray  # (PASS * wanted): what the predicate looks for
    # (PASS * 2 * (chunks + 1)): of each tuple the chunks with matches, as the position of a chunk's
    # first tuple and a bit for each of its 64.
    found: np.ndarray
    stride: int  # words of `found` of a tuple
    seen: np.ndarray  # (PASS): where `found` ends while it holds chunks that may match


def check_capacity(capacity: int) -> None:
    """Refuse a window for no tuples, or for more than a pair's key can tell apart.

    Raises
    ------
    UsageError
        Naming the limits.
    """
    if not 1 <= capacity < REACH:
        raise UsageError(f"a window holds 1 to {REACH - 1} tuples, received {capacity}")


def make_window(predicate: Predicate, capacity: int) -> Window:
    """Return an empty window for so many tuples.

    Raises
    ------
    UsageError
        When it would have none, or more than a pair's key can tell apart.
    """
    check_capacity(capacity)
    # Those that leave while others are still to be compared with them stay a little longer.
    whole = -(-(capacity + 2 * PASS) // CHUNK) * CHUNK
    return Window(
        aligned_array(whole * predicate.columns, predicate.kind),
        *(aligned_words(whole) for _ in range(3)),
        aligned_words(LINE_WORDS),
        whole,
    )


def make_comparing(predicate: Predicate, window: Window) -> Comparing:
    """Return room for comparisons with a window."""
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
    """Return where a position is in the ring."""
    return position % window.capacity


class WindowSteps(NamedTuple):
    """The steps of a window under a predicate, as inlined functions.

    ``enter(window, index, tables, side, row, rank, stamp, needed)`` puts a tuple at the window's
    end; False when there is no room beside what is `needed`, the oldest position to be kept.
    ``ask(comparing, number, tables, side, row, window, index)`` notes the tuple that is compared as
    the number-th of its pass, with the window as it is now; returns how many tuples that has.
    ``compare(comparing, count, window, side)`` compares `count` tuples of a side with their ranges
    of the window. ``purge(window, index, horizon)`` lets go of what has a stamp below the horizon.
    """

    enter: Callable[..., bool]
    ask: Callable[..., int]
    compare: Callable[..., None]
    purge: Callable[..., None]


class Matching(NamedTuple):
    """How matches are found in a window.

    ``make_index(predicate, tables, capacity)`` returns what a window has beside its columns for so
    many tuples, ``make_steps(predicate)`` the steps.
    """

    make_index: Callable[..., Any]
    make_steps: Callable[[Predicate], WindowSteps]


@inlined
def purge(window, index, horizon):
    """Let go of the oldest tuples, whose stamps are below the horizon."""
    first, last = window.words[FIRST], window.words[NEXT]
    place = place_of(window, first)
    while first < last and peek(window.stamps, place) < horizon:
        first += 1
        place = 0 if place + 1 == window.capacity else place + 1
    window.words[FIRST] = first


@inlined
def lowest_bit(mask):
    """Return the number of the lowest bit that is set."""
    return bit_length(mask ^ wrapping_add(mask, -1)) - 1


@inlined
def without_lowest_bit(mask):
    """Return a word without its lowest bit that is set."""
    return mask & wrapping_add(mask, -1)


@inlined
def bits_from(mask, number):
    """Return a word without its bits below a number, 0 to 63."""
    return mask & (-1 << number)


@inlined
def bits_up_to(mask, number):
    """Return a word without its bits from a number on, 1 to 63."""
    return mask & ~(-1 << number)


@inlined
def end_of_found(comparing, number):
    """Return where the chunks end in which something matches a tuple."""
    return number * comparing.stride + 2 * comparing.ranges[3 * number + FOUND]


@inlined
def note(comparing, number, position, mask):
    """Note what matches in the chunk at a position, as far as it lies in the tuple's range."""
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
    """Return ``compare`` of the steps of a window; see ``WindowSteps``."""
    columns, words = predicate.columns, predicate.wanted
    match_64, narrow_64 = predicate.match_64, predicate.narrow_64
    line = LINE_BYTES // np.dtype(predicate.kind).itemsize

    @inlined
    def look_again(comparing, number, window, side):
        """Keep of the chunks of a block that may match those that do."""
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
            # Later tuples see later windows.
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
                    # Written over by the next chunk where nothing matches.
                    comparing.seen[number] = seen + 2 * (mask != 0)
                position += CHUNK
                place = 0 if place + CHUNK == window.capacity else place + CHUNK
            for number in range(count):
                look_again(comparing, number, window, side)

    return compare


@cache
def make_window_steps(predicate: Predicate) -> WindowSteps:
    """Return the steps of windows that are compared tuple by tuple."""
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
    """Check a window at rest.

    Raises
    ------
    AssertionError
        Naming the invariant that does not hold.
    """
    first, last = int(window.words[FIRST]), int(window.words[NEXT])
    assert 0 <= first <= last <= first + window.capacity, f"invariant 1: {first} to {last}"
    places = np.arange(first, last) % window.capacity
    assert (np.diff(window.ranks[places]) > 0).all(), "invariant 2: ranks"
    assert (np.diff(window.stamps[places]) >= 0).all(), "invariant 2: stamps"
