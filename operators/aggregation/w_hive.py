"""W-Hive: the winsets that are still being updated, in a list that knows when one no longer is.

Algorithm 5 of "Efficient data streaming multiway aggregation" (sections 4 and 5.6). Threads update
the windows of their tuples side by side; the output thread takes the winsets in order of time, each
once every thread has passed it::

    level 1   [F]------------->[w2]------------->[w4]         F   front, before all winsets
    level 0   [F]---->[w1]---->[w2]---->[w3]---->[w4]         wN  winset N, a hash table a node
               ^        ^                 ^        ^
               insert   read head         |        written of thread 1
               head                       written of thread 0: its last tuple began in w3

A thread publishes the first winset of its tuple in ``written`` before it updates. A winset before
all threads' ``written`` gets no tuple any more, since each thread's tuples come in order of time:
w2 may be taken, w3 not yet. Two heads, because a search needs a node of full height to begin at:
the *insertion head* follows the *read head* only to such nodes.

Invariants
----------
1. Level 0 holds every winset that was made and not let go, each number once, ascending; each higher
   level holds a subset of the one below. Links lead forward only.
2. A node is on all its levels before its maker passes it, hence before the read head does.
3. The insertion head is of full height and not behind the read head.
4. Nodes before the insertion head are used again only when no thread searches that began before the
   head moved there; their winsets have been put out.
5. A winset is made only when its number is less than ``reach`` above the slowest thread's
   ``written``. Those before it wait for the output thread only, and at most TALL_EVERY lie between
   the heads: so the slowest thread gets the places it needs, be it after the output thread.

Linearization points are the paper's: among updates the CAS on level 0 for one that makes a winset,
else the find or insertion of the window in it; between an update and ``get_next_winset`` the store
to ``written`` and the output thread's load of it.

Progress: an update retries only when another thread linked a node or took a place: lock-free. FULL
is the answer when the slowest thread is too far behind, or when places are not let go yet: by the
output thread, or because a thread was stopped in the middle of a search, which pins them.

Departures from the paper
-------------------------
# ASSUME: Algorithm 5 looks at the first node and then at ``written``. Between the two another
# thread could make an earlier winset and pass it, and that one would be lost: ``written`` is read
# first here, and the list after it.
# ASSUME: each thread remembers the winsets of its last tuple (the paper's ``update`` array keeps
# one node a level): until the time moves on, the next tuple finds them without a search.
# ASSUME: the paper bounds nothing and leaves memory to Java's garbage collector. Here winsets lie
# in a number of places; a thread that is too far ahead of the slowest one waits (5).
# ASSUME: a node is of full height when no other has been for TALL_EVERY winsets, so that the
# insertion head follows; else its height is random, with a share of 1/2.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from operators.aggregation import shared_winsets
from operators.aggregation.plan import (
    AggregationPlan,
    Text,
    check_plan,
    check_text,
    windows_per_tuple,
)
from operators.aggregation.shared_winsets import NOT_FOUND, find, home_row, insert, output_rows
from operators.aggregation.sink import Sink, make_sink, room_for_winset
from operators.aggregation.through_time import windows_at
from operators.aggregation.winsets import BITMAP_BITS
from operators.contract import ACCEPTED, END, FULL, NOT_READY, READY, Parameter, UsageError, Variant
from operators.core import epochs
from operators.core.atomics import ACQ_REL, ACQUIRE, RELAXED, RELEASE, cas, load, store
from operators.core.epochs import Epochs, make_epochs
from operators.core.family import CoreOperations
from operators.core.integers import random_height
from operators.core.jit import inlined
from operators.core.layout import LINE_WORDS, aligned_words, line_at, whole_lines
from operators.core.marks import mark, spoil

NIL = -1
NOT_BEGUN = -1  # `written` of a thread that has reported nothing yet
PASSED_ALL = (1 << 63) - 1  # `written` of a thread that has ended; beyond the end of any winset
FRONT_WINSET = -1  # number of the node before all winsets

# A node of the list, one a place, and the front.
NUMBER, GENERATION, HEIGHT, USED = 0, 1, 2, 3
LINKS = 4  # level l is word LINKS + l

# What an updating thread alone touches.
EARLIEST = 0  # number of the first winset that its last tuple contributes to
COUNT = 1  # how many it contributes to
LOCATED = 2  # how many of them, from the first one on, stand in the list below
NEXT_CHANGE = 3  # earliest timestamp with other winsets than the last tuple's
LAST_TIMESTAMP = 4
FINGERS = LINE_WORDS  # the last search's node before the place, a word a level

# What the output thread alone touches.
READ_HEAD, OLDEST, BOUNDARY, BOUNDARY_EPOCH = range(4)

MOST_THREADS = 4096
# A node in the full height at least every so many winsets: what lies between the two heads. 1, 2
# and 4 were not told apart (WiML, K-OI, 20 inputs: 6.2 to 8.4 million tuples/s).
TALL_EVERY = 2
# Else a node goes one level higher with probability 1/2: a dozen or two winsets need no rarer tall
# nodes. With 1/4 WiML made 0.82 [0.53, 1.05] times as many tuples/s on K-OI with 2 inputs, and 0.98
# [0.60, 1.55] with 20 (three pairs in turns, two cores of an EPYC): not told apart.
HEIGHT_BITS = 1

# Each one more is a place, with tables for all keys. 2 and 6 made 1.02 [0.60, 1.71] and 1.13 [0.94,
# 1.62] times as many tuples/s with 2 inputs, 0.78 [0.71, 0.95] and 0.78 [0.56, 1.18] with 20; of
# levels 1, 2 and 6 made 1.24, 1.18 and 1.18 with 2 inputs, where equal runs lie as far apart, and
# 1.00 [0.87, 1.16], 1.16 [1.01, 1.41] and 1.08 [1.00, 1.16] with 20 (measured as above).
_OWN = "a thread's newest winset before the slowest thread's"
WINSETS_AHEAD = Parameter("winsets_ahead", 3, 1, 1024, "winsets", _OWN, bounds_flight=True)
LEVELS = Parameter("levels", 3, 1, 16, "levels", "height of the tallest node (max_levels)")


class WHiveState(NamedTuple):
    """The words of a W-Hive, grouped by who writes them."""

    nodes: np.ndarray  # [places + 1] nodes; a node is filled by its maker before the CAS links it
    winsets: shared_winsets.SharedWinsets  # their tables, by the updating threads
    written: np.ndarray  # [threads] lines; a thread writes, all read: its EARLIEST
    searches: Epochs  # of the threads; the output thread advances them and looks at their pins
    private: np.ndarray  # [threads] blocks of private_words; that thread alone
    insert_head: np.ndarray  # [1]; output thread writes, updating threads read
    reading: np.ndarray  # [1 line]; output thread alone
    found: np.ndarray  # [2 * BITMAP_BITS]; output thread alone, for output_rows
    sink: Sink  # output thread alone
    text_offsets: np.ndarray
    text_bytes: np.ndarray
    function: int
    window_size: int
    window_advance: int
    keys: int
    threads: int
    places: int
    levels: int
    reach: int  # winsets from the slowest thread's first one that may exist
    stride: int  # words of a node
    private_words: int
    window_words: int  # of each of a thread's lists: places, generations, the key's windows


def make_w_hive(
    plan: AggregationPlan, threads: int, text: Text | None, levels: int, winsets_ahead: int
) -> WHiveState:
    """Return a hive without winsets.

    Parameters
    ----------
    plan : AggregationPlan
    threads : int
        Threads that update windows.
    text : Text or None
        For the text functions.
    levels, winsets_ahead : int
        The parameters LEVELS and WINSETS_AHEAD.

    Raises
    ------
    UsageError
        When a number is out of its limits, or the winsets need more memory than the limit.
    """
    plan = check_plan(plan)
    texts = check_text(plan, text)
    if not 1 <= threads <= MOST_THREADS:
        raise UsageError(
            f"w-hive: updating threads must be between 1 and {MOST_THREADS}, received {threads}"
        )
    for parameter, value in ((LEVELS, levels), (WINSETS_AHEAD, winsets_ahead)):
        parameter.check(value)
    windows = windows_per_tuple(plan)
    reach = windows + winsets_ahead
    # Beside the winsets in reach: those between the two heads, the read head's own place, and one
    # that is let go while a thread looks for room (invariant 5).
    places = reach + TALL_EVERY + 1
    stride = whole_lines(LINKS + levels)
    private_words = whole_lines(FINGERS + levels) + whole_lines(3 * windows)
    front = places
    hive = WHiveState(
        nodes=aligned_words((places + 1) * stride),
        winsets=shared_winsets.make_shared_winsets(plan, places, threads),
        written=aligned_words(threads * LINE_WORDS),
        searches=make_epochs(threads),
        private=aligned_words(threads * private_words),
        insert_head=aligned_words(LINE_WORDS),
        reading=aligned_words(LINE_WORDS),
        found=aligned_words(2 * BITMAP_BITS),
        sink=make_sink(plan.rows_capacity, plan.winsets_capacity),
        text_offsets=texts.offsets,
        text_bytes=texts.text_bytes,
        function=plan.function,
        window_size=plan.window_size,
        window_advance=plan.window_advance,
        keys=plan.keys,
        threads=threads,
        places=places,
        levels=levels,
        reach=reach,
        stride=stride,
        private_words=private_words,
        window_words=windows,
    )
    words = hive.nodes[node_at(hive, front) :]
    words[NUMBER], words[HEIGHT], words[USED] = FRONT_WINSET, levels, 1
    words[LINKS : LINKS + levels] = NIL
    hive.written[:] = NOT_BEGUN
    hive.insert_head[0] = front
    hive.reading[[READ_HEAD, OLDEST, BOUNDARY]] = front, front, NIL
    return hive


# --- where things lie ----------------------------------------------------------------------------


@inlined
def node_at(hive, place):
    """Return the first word of a node."""
    return place * hive.stride


@inlined
def link_at(hive, place, level):
    """Return the word that links a node on `level`."""
    return place * hive.stride + LINKS + level


@inlined
def own_at(hive, thread):
    """Return the first of the words that an updating thread alone touches."""
    return thread * hive.private_words


@inlined
def finger_at(hive, thread, level):
    """Return the word that remembers the last node before the place of a thread's last search."""
    return thread * hive.private_words + FINGERS + level


@inlined
def located_at(hive, thread):
    """Return where a thread's lists begin: the places of its winsets, their generations, windows.

    ``window_words`` of each, from the first winset of its tuple on.
    """
    return (thread + 1) * hive.private_words - 3 * hive.window_words


# --- updateWindows -------------------------------------------------------------------------------


def make_update_windows(process_tuple: Callable[..., None]) -> Callable[..., int]:
    """Return ``update_windows(hive, thread, key, value)`` for one kind of window.

    `process_tuple(hive, at, value)` is the paper's: it adds a tuple to the window at `at`.
    ``update_windows`` (Algorithm 5, L59 to L88, after ``turn_to``) answers ACCEPTED, or FULL when a
    winset of the tuple cannot be made now: then no window has been updated.
    """

    @inlined
    def update_windows(hive, thread, key, value):
        private = hive.private
        own = own_at(hive, thread)
        if not locate(hive, thread):
            return FULL
        winsets = hive.winsets
        row = home_row(winsets, key)
        place_at = located_at(hive, thread)
        generation_at = place_at + hive.window_words
        window_at = generation_at + hive.window_words
        # All found before the first is updated: misses overlap, but none passes an atomic step.
        for window in range(private[own + COUNT]):
            place = private[place_at + window]
            generation = private[generation_at + window]
            at = find(winsets, row, place, generation, key)
            if at == NOT_FOUND:
                at = insert(winsets, row, place, generation, key)
            private[window_at + window] = at
        for window in range(private[own + COUNT]):
            process_tuple(hive, private[window_at + window], value)
        return ACCEPTED

    return update_windows


@inlined
def has_moved_on(hive, thread, timestamp):
    """Say whether a tuple contributes to other winsets than the thread's last one."""
    return timestamp >= hive.private[own_at(hive, thread) + NEXT_CHANGE]


@inlined
def turn_to(hive, thread, timestamp):
    """Turn to the winsets that the thread's next tuple contributes to (L59), if `has_moved_on`."""
    earliest, latest, change = windows_at(timestamp, hive.window_size, hive.window_advance)
    turn_to_winsets(hive, thread, earliest, latest, change)


@inlined
def turn_to_winsets(hive, thread, earliest, latest, change):
    """Publish the first winset of the thread's next tuple, and forget those it is past.

    What it does not contribute to any more may be put out from here on. `change` is the earliest
    time with other winsets.
    """
    private = hive.private
    own = own_at(hive, thread)
    gone = earliest - private[own + EARLIEST]
    kept = max(private[own + LOCATED] - gone, 0)
    place_at = located_at(hive, thread)
    generation_at = place_at + hive.window_words
    for window in range(kept):
        private[place_at + window] = private[place_at + window + gone]
        private[generation_at + window] = private[generation_at + window + gone]
    private[own + LOCATED] = kept
    private[own + EARLIEST] = earliest
    private[own + COUNT] = latest - earliest + 1
    private[own + NEXT_CHANGE] = change
    # RELEASE keeps the updates of earlier winsets before it; pairs with the loads in slowest.
    # Linearizes updates with respect to get_next_winset.
    store(hive.written, line_at(thread), earliest, RELEASE)


@inlined
def pass_all(hive, thread):
    """Say that the thread updates nothing any more."""
    store(hive.written, line_at(thread), PASSED_ALL, RELEASE)  # as in turn_to_winsets


@inlined
def locate(hive, thread):
    """Find or make the winsets of the tuple in hand, once; False when one cannot be made now."""
    private = hive.private
    own = own_at(hive, thread)
    if private[own + LOCATED] == private[own + COUNT]:
        return True
    epochs.pin(hive.searches, thread)
    room = True
    while room and private[own + LOCATED] < private[own + COUNT]:
        window = private[own + LOCATED]
        number = private[own + EARLIEST] + window
        place = search(hive, thread, number)
        if place == NIL:
            place = make_winset(hive, thread, number)
        room = place != NIL
        if room:
            at = located_at(hive, thread) + window
            private[at] = place
            private[at + hive.window_words] = hive.nodes[node_at(hive, place) + GENERATION]
            private[own + LOCATED] = window + 1
    epochs.unpin(hive.searches, thread)
    return room


@inlined
def search(hive, thread, number):
    """Return the place of a winset, or NIL; FINGERS then hold the last node before it by level."""
    # ACQUIRE pairs with step_past: what the head leads to is filled in.
    node = load(hive.insert_head, 0, ACQUIRE)
    found = NIL
    for level in range(hive.levels - 1, -1, -1):
        while True:
            # Pairs with the CAS that linked the node: what it holds is filled in.
            found = load(hive.nodes, link_at(hive, node, level), ACQUIRE)
            if found == NIL or hive.nodes[node_at(hive, found) + NUMBER] >= number:
                break
            node = found
        hive.private[finger_at(hive, thread, level)] = node
    if found != NIL and hive.nodes[node_at(hive, found) + NUMBER] == number:
        return found
    return NIL


@inlined
def make_winset(hive, thread, number):
    """Make a winset after a search for it (L81 to L88): its place, or NIL when there is no room.

    When another thread makes it first, the place is given back and the other's is returned.
    """
    if number >= slowest(hive) + hive.reach:
        mark("w_hive: out of reach")
        return NIL
    place = claim_place(hive, number)
    if place == NIL:
        mark("w_hive: no place")
        return NIL
    node = node_at(hive, place)
    tallest_before = hive.private[finger_at(hive, thread, hive.levels - 1)]
    height = node_height(hive, number, tallest_before)
    hive.nodes[node + NUMBER] = number
    hive.nodes[node + GENERATION] += 1
    hive.nodes[node + HEIGHT] = height
    there = level_insert(hive, 0, hive.private[finger_at(hive, thread, 0)], place, number)
    if there != place:
        mark("w_hive: another thread made it first")
        # RELEASE keeps what was filled in before the place's next claim; pairs with claim_place.
        store(hive.nodes, node + USED, 0, RELEASE)
        return there
    for level in range(1, height):
        level_insert(hive, level, hive.private[finger_at(hive, thread, level)], place, number)
    return place


@inlined
def node_height(hive, number, tallest_before):
    """Return full height where the last node of full height is too far back, else a random one."""
    if number - hive.nodes[node_at(hive, tallest_before) + NUMBER] >= TALL_EVERY:
        return hive.levels
    return random_height(number, hive.levels, HEIGHT_BITS)


@inlined
def slowest(hive):
    """Return the first winset that the slowest thread contributes to."""
    # ACQUIRE: what the threads did to winsets before it is seen; pairs with turn_to_winsets.
    least = load(hive.written, 0, ACQUIRE)
    for thread in range(1, hive.threads):
        least = min(least, load(hive.written, line_at(thread), ACQUIRE))
    return least


@inlined
def claim_place(hive, number):
    """Return a place taken for the winset, near those of its neighbours, or NIL."""
    place = number % hive.places
    for _ in range(hive.places):
        used = node_at(hive, place) + USED
        # ACQUIRE keeps the new winset's words behind the store that freed the place.
        if load(hive.nodes, used, RELAXED) == 0 and cas(hive.nodes, used, 0, 1, ACQ_REL):
            return place
        place += 1
        if place == hive.places:
            place = 0
    return NIL


@inlined
def level_insert(hive, level, before, place, number):
    """Link a node on one level behind `before` or what has come between; return its place.

    On level 0 that of the other node is returned where there is one with the same number.
    """
    while True:
        # ACQUIRE pairs with the CAS below: what the next node holds is filled in.
        after = load(hive.nodes, link_at(hive, before, level), ACQUIRE)
        if after != NIL:
            there = hive.nodes[node_at(hive, after) + NUMBER]
            if there < number:
                before = after
                continue
            if there == number:
                return after
        # RELAXED: nobody reaches this word on this level before the CAS, which publishes it.
        store(hive.nodes, link_at(hive, place, level), after, RELAXED)
        # RELEASE keeps what the node holds before the link to it. Linearizes an update that makes a
        # winset. The retry ends: each loss is another thread's node linked.
        if cas(hive.nodes, link_at(hive, before, level), after, place, RELEASE):
            return place
        mark("w_hive: level lost")


# --- getNextWinSet -------------------------------------------------------------------------------


@inlined
def output_next_winset(hive):
    """Put out the next winset that no thread updates any more: READY, or why not.

    By the output thread: NOT_READY, ROWS_FULL or WINSETS_FULL (the next call takes the same
    winset), or END when all threads have ended and all winsets are out.
    """
    place = get_next_winset(hive)
    if place == NIL:
        # The threads' words are read again: only when all have ended and nothing is left is it END.
        return END if all_passed(hive) else NOT_READY
    status = room_for_winset(hive.sink, hive.keys)
    if status != READY:
        return status
    node = node_at(hive, place)
    window_start = hive.nodes[node + NUMBER] * hive.window_advance
    generation = hive.nodes[node + GENERATION]
    output_rows(hive.winsets, place, generation, window_start, hive.sink, hive.found)
    step_past(hive, place)
    return READY


@inlined
def get_next_winset(hive):
    """Return the place of the next winset once every thread has passed it, or NIL."""
    let_go(hive)
    # In this order: what lies before the slowest thread's winset is in the list by now, and nothing
    # is added to it. Linearizes get_next_winset.
    limit = slowest(hive)
    return first_before(hive, limit)


@inlined
def first_before(hive, limit):
    """Return the place of the next winset if its number is below `limit`, or NIL.

    `limit` is what `slowest` answered, before.
    """
    # ACQUIRE pairs with the CAS in level_insert: what the node holds is filled in.
    place = load(hive.nodes, link_at(hive, hive.reading[READ_HEAD], 0), ACQUIRE)
    if place != NIL and hive.nodes[node_at(hive, place) + NUMBER] < limit:
        return place
    return NIL


@inlined
def step_past(hive, place):
    """Move the read head to a winset that has been read, and the insertion head if it is tall."""
    hive.reading[READ_HEAD] = place
    if hive.nodes[node_at(hive, place) + HEIGHT] == hive.levels:
        store(hive.insert_head, 0, place, RELEASE)  # its node was filled by another thread


@inlined
def all_passed(hive):
    """Say whether every thread has ended and no winset is left."""
    if slowest(hive) != PASSED_ALL:
        return False
    # ACQUIRE as in first_before.
    return load(hive.nodes, link_at(hive, hive.reading[READ_HEAD], 0), ACQUIRE) == NIL


@inlined
def let_go(hive):
    """Free the places behind the insertion head that no search can reach any more (4).

    The head moves, then the epoch; a search is pinned to an epoch and then reads the head. So one
    that is pinned to the boundary's epoch, or to none, began at the boundary or behind it.
    """
    reading = hive.reading
    boundary = reading[BOUNDARY]
    if boundary != NIL:
        if not epochs.all_left(hive.searches, reading[BOUNDARY_EPOCH]):
            mark("w_hive: pinned")
            return
        place = reading[OLDEST]
        while place != boundary:
            node = node_at(hive, place)
            # RELAXED: linked long ago, and nothing comes between any more.
            place = load(hive.nodes, link_at(hive, place, 0), RELAXED)
            spoil(hive.nodes, node + NUMBER, 1)
            spoil(hive.nodes, node + LINKS, hive.levels)
            # RELEASE keeps this thread's reads of the winset before its place's next use.
            store(hive.nodes, node + USED, 0, RELEASE)
        reading[OLDEST] = boundary
        reading[BOUNDARY] = NIL
    head = load(hive.insert_head, 0, RELAXED)  # this thread's own
    if head != reading[OLDEST]:
        reading[BOUNDARY] = head
        reading[BOUNDARY_EPOCH] = epochs.advance(hive.searches)


def check_invariants(hive: WHiveState) -> None:
    """Assert the invariants over a hive at rest (plain Python)."""
    epochs.check_invariants(hive.searches)
    nodes = hive.nodes.reshape(-1, hive.stride)
    below = None
    for level in reversed(range(hive.levels)):
        chain = [int(hive.insert_head[0])]
        while (after := int(nodes[chain[-1], LINKS + level])) != NIL:
            chain.append(after)
        numbers = [int(nodes[n, NUMBER]) for n in chain]
        assert numbers == sorted(set(numbers)), f"invariant 1: level {level} has {numbers}"
        assert all(nodes[n, HEIGHT] > level for n in chain), f"invariant 2: level {level}"
        assert below is None or below.issubset(chain), f"invariant 1: level {level} lacks nodes"
        below = set(chain)
    assert nodes[chain[0], HEIGHT] == hive.levels, "invariant 3: the insertion head is not tall"
    read_head = int(hive.reading[READ_HEAD])
    assert read_head in below, "invariant 3: the read head is before the insertion head"
    slowest = min(int(word) for word in hive.written[::LINE_WORDS])
    ahead = [n for n in chain if nodes[n, NUMBER] > nodes[read_head, NUMBER]]
    for node in ahead:
        assert nodes[node, NUMBER] < slowest + hive.reach, "invariant 5: a winset out of reach"
        shared_winsets.check_invariants(hive.winsets, node, int(nodes[node, GENERATION]))
    used = {place for place in range(hive.places) if nodes[place, USED]}
    assert below - {hive.places} <= used, "invariant 4: a node in the list is free"


VARIANT = Variant(
    id="w-hive",
    family="core",
    title="W-Hive",
    paper="multiway_aggregation",
    section="5.6, Algorithm 5",
    operations=CoreOperations(
        make_w_hive,
        {"turn_to": turn_to, "pass_all": pass_all, "output_next_winset": output_next_winset},
        check_invariants,
    ),
    order="window start, then key",
    progress="lock-free",
    threads={"updating": "as many as it was made for", "output": "one"},
    capacity="winsets_ahead winsets before the slowest thread; an update beyond is told FULL",
    bench=False,
)
