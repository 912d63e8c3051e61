"""The three-step procedure of one thread: tuples come in rank order, and meet the kept tuples.

Section II of "ScaleJoin: a Deterministic, Disjoint-Parallel and Skew-Resilient Stream Join", after
Kang, Naughton and Viglas, 2003. For each tuple t::

      opposite purge: tuples older than t - WS leave the other window
    1. compare t with the other window
    2. t enters the window of its stream, if it is this thread's turn to keep t
    3. own purge: tuples older than t - WS leave the window of t's stream, whichever thread keeps t

A thread takes the ready tuples as a batch, up to PASS of each side, and does steps 2 and 3 at once.
The comparisons of step 1 follow for all of them in one pass a window, each tuple with the window as
of its arrival. Pairs are then given out tuple by tuple, by the rank of the partner.

Invariant: from ``begin_batch`` until the last pair is given out, a window keeps the positions from
NEEDED on, though they may have been purged meanwhile.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any, NamedTuple

import numpy as np

from operators.contract import ACCEPTED
from operators.core.jit import inlined
from operators.core.layout import LINE_WORDS, aligned_words
from operators.core.vectors import peek
from operators.theta_join import window as windows
from operators.theta_join.family import (
    REACH,
    REACH_BITS,
    WINDOW_FULL,
    Extent,
    R,
    S,
)
from operators.theta_join.predicates import Predicate
from operators.theta_join.window import (
    FIRST,
    FOUND,
    PASS,
    SCAN,
    Comparing,
    Matching,
    Window,
    lowest_bit,
    make_comparing,
    make_window,
    place_of,
    without_lowest_bit,
)

# Words of a thread. SEEN, ASKED and NEEDED are by side: the tuples seen, the tuples compared in
# this batch, and the oldest position that the windows keep for it.
RANK = 0  # of the next tuple; the paper's counter
TURN = 1  # RANK modulo the threads: the thread that keeps the next tuple
COMPARISONS = 2
BATCH = 3  # tuples of the batch
GIVEN = 4  # tuples of the batch with all pairs given out
GIVEN_CHUNK = 5  # chunks of the next one given out
SEEN = 6
ASKED = 8
NEEDED = 10
JOINING_WORDS = 2 * LINE_WORDS
# Words of a tuple of the batch.
SIDE, NUMBER, TUPLE_RANK, TIMESTAMP, ROW = range(5)
TUPLE_WORDS = 5
NO_PAIR = -1


class Joining(NamedTuple):
    """A thread's windows of both streams, and the current batch."""

    r: Window
    s: Window
    asking_r: Comparing  # tuples of R, which are compared with the window of S
    asking_s: Comparing
    batch: np.ndarray  # (2 * PASS * TUPLE_WORDS)
    words: np.ndarray
    tables: Any
    index_r: Any  # the indexes of the windows
    index_s: Any
    number: int  # of the thread
    threads: int
    span: int
    count: int
    opposite: int


def make_joining(
    predicate: Predicate,
    tables: Any,
    extent: Extent,
    capacity: int,
    number: int,
    threads: int,
    matching: Matching = SCAN,
) -> Joining:
    """Return a thread with empty windows, which keeps tuples of rank `number` modulo `threads`."""
    r, s = (make_window(predicate, capacity) for _ in "rs")
    return Joining(
        r,
        s,
        make_comparing(predicate, s),
        make_comparing(predicate, r),
        aligned_words(2 * PASS * TUPLE_WORDS),
        aligned_words(JOINING_WORDS),
        tables,
        *(matching.make_index(predicate, tables, each.capacity) for each in (r, s)),
        number,
        threads,
        *extent,
    )


@inlined
def begin_batch(own):
    """Begin another batch: all pairs of the last one were given out."""
    words = own.words
    words[BATCH], words[GIVEN], words[GIVEN_CHUNK] = 0, 0, 0
    words[ASKED + R], words[ASKED + S] = 0, 0
    words[NEEDED + R], words[NEEDED + S] = own.r.words[FIRST], own.s.words[FIRST]


@inlined
def has_room(own):
    """Whether a tuple of either side can be taken into the batch."""
    return own.words[ASKED + R] < PASS and own.words[ASKED + S] < PASS


@inlined
def front_pair(own):
    """Return the position of the next pair's partner, or NO_PAIR when all were given out."""
    words = own.words
    while words[GIVEN] < words[BATCH]:
        at = TUPLE_WORDS * words[GIVEN]
        asking = own.asking_r if own.batch[at + SIDE] == R else own.asking_s
        number = own.batch[at + NUMBER]
        if words[GIVEN_CHUNK] == asking.ranges[3 * number + FOUND]:
            words[GIVEN] += 1
            words[GIVEN_CHUNK] = 0
            continue
        place = number * asking.stride + 2 * words[GIVEN_CHUNK]
        mask = asking.found[place + 1]
        if mask != 0:
            return asking.found[place] + lowest_bit(mask)
        words[GIVEN_CHUNK] += 1
    return NO_PAIR


@inlined
def drop_pair(own):
    """Go on to the pair after the one that ``front_pair`` has returned."""
    words = own.words
    at = TUPLE_WORDS * words[GIVEN]
    asking = own.asking_r if own.batch[at + SIDE] == R else own.asking_s
    place = own.batch[at + NUMBER] * asking.stride + 2 * words[GIVEN_CHUNK]
    asking.found[place + 1] = without_lowest_bit(asking.found[place + 1])


@inlined
def key_of(later, earlier):
    """Return the sort key of a pair; -1 when the tuples are too far apart."""
    if later - earlier >= REACH:
        return -1
    return (later << REACH_BITS) | (REACH - (later - earlier))


@inlined
def rank_of(key):
    """Return the rank of a pair's later tuple."""
    return key >> REACH_BITS


@inlined
def partner_of(key):
    """Return the rank of a pair's earlier tuple."""
    return (key >> REACH_BITS) - (REACH - (key & (REACH - 1)))


class Steps(NamedTuple):
    """The steps of a thread under a predicate, as inlined functions.

    ``accept(own, side, timestamp, row, asking)``: processes an arriving tuple; with `asking` it is
    added to the batch. ACCEPTED or WINDOW_FULL. ``compare(own)``: makes the comparisons of the
    batch. ``write_pair(own, position, out, place)``: writes the record of the front pair and
    returns the key; -1 when the two are too far apart.
    """

    accept: Callable[..., int]
    compare: Callable[..., None]
    write_pair: Callable[..., int]


@cache
def make_steps(predicate: Predicate, matching: Matching = SCAN) -> Steps:
    """Return the steps of a thread under a predicate."""
    enter, ask, compare_with, purge = matching.make_steps(predicate)
    combine = predicate.combine

    @inlined
    def accept_on(
        own, mine, other, index_mine, index_other, asking_mine, side, timestamp, row, asking
    ):
        words = own.words
        rank, seen = words[RANK], words[SEEN + side]
        words[RANK] = rank + 1
        words[SEEN + side] = seen + 1
        keeps = words[TURN] == own.number
        words[TURN] = 0 if words[TURN] + 1 == own.threads else words[TURN] + 1
        if own.opposite != 0:
            purge(other, index_other, timestamp - own.span)
        if asking:
            number = words[ASKED + side]
            words[COMPARISONS] += ask(
                asking_mine, number, own.tables, side, row, other, index_other
            )
            words[ASKED + side] = number + 1
            at = TUPLE_WORDS * words[BATCH]
            own.batch[at + SIDE], own.batch[at + NUMBER] = side, number
            own.batch[at + TUPLE_RANK], own.batch[at + TIMESTAMP] = rank, timestamp
            own.batch[at + ROW] = row
            words[BATCH] += 1
        if keeps:
            needed = words[NEEDED + side] if asking else mine.words[FIRST]
            stamp = seen if own.count > 0 else timestamp
            if not enter(mine, index_mine, own.tables, side, row, rank, stamp, needed):
                return WINDOW_FULL
        # With the opposite purge this only makes room: no later tuple is compared with these.
        horizon = seen + 1 - own.count if own.count > 0 else timestamp - own.span
        purge(mine, index_mine, horizon)
        return ACCEPTED

    @inlined
    def accept(own, side, timestamp, row, asking):
        if side == R:
            return accept_on(
                own, own.r, own.s, own.index_r, own.index_s, own.asking_r, R, timestamp, row, asking
            )
        return accept_on(
            own, own.s, own.r, own.index_s, own.index_r, own.asking_s, S, timestamp, row, asking
        )

    @inlined
    def compare(own):
        words = own.words
        if words[ASKED + R] > 0:
            compare_with(own.asking_r, words[ASKED + R], own.s, R)
        if words[ASKED + S] > 0:
            compare_with(own.asking_s, words[ASKED + S], own.r, S)

    @inlined
    def write_pair(own, position, out, place):
        at = TUPLE_WORDS * own.words[GIVEN]
        side, row, timestamp = own.batch[at + SIDE], own.batch[at + ROW], own.batch[at + TIMESTAMP]
        kept = own.s if side == R else own.r
        partner = place_of(kept, position)
        key = key_of(own.batch[at + TUPLE_RANK], peek(kept.ranks, partner))
        other = peek(kept.rows, partner)
        r_row, s_row = (row, other) if side == R else (other, row)
        combine(own.tables, timestamp, r_row, s_row, out, place)
        return key

    return Steps(accept, compare, write_pair)


def check_invariants(own: Joining) -> None:
    """Check the windows of a thread in a quiescent state.

    Raises
    ------
    AssertionError
        When an invariant does not hold; the message names it and the thread.
    """
    for name, each in (("R", own.r), ("S", own.s)):
        try:
            windows.check_invariants(each)
        except AssertionError as error:
            raise AssertionError(f"thread {own.number}, window of {name}: {error}") from None
    for each in (own.r, own.s):
        mine = each.ranks[: int(each.words[windows.NEXT])]
        assert all(int(rank) % own.threads == own.number for rank in mine), "another's turn"
