"""W-Hive: the winsets that are still being updated, in a list that knows when one is complete.

Algorithm 5 of "Efficient data streaming multiway aggregation" (sections 4 and 5.6). Threads update
the windows of their tuples concurrently; the output thread takes the winsets in order of time, each
once every thread has passed it::

    level 1   [F]------------->[w2]------------->[w4]         F   front, before all winsets
    level 0   [F]---->[w1]---->[w2]---->[w3]---->[w4]         wN  winset N; a hash table each
               ^        ^                 ^        ^
               insert   read head         |        written of thread 1
               head                       written of thread 0: its last tuple began in w3

A thread publishes the first winset of a tuple in ``written`` before the update. The least of these
words is the watermark: a winset before it gets no tuple any more, since the tuples of each thread
come in order of time. So w2 may be taken, w3 not yet. There are two heads, because a search has to
begin at a node of full height: the *insertion head* follows the *read head* only to such nodes.

Invariants
----------
1. Level 0 holds every winset that was made and not released, each number once, ascending; each
   higher level holds a subset of the level below. Links lead forward only.
2. A node is on all its levels before the thread that made it passes it, hence before the read head
   does.
3. The insertion head is of full height and not behind the read head.
4. Nodes before the insertion head are reused only when no search is in progress that began before
   the head moved there; the winsets of these nodes have been output.
5. A winset is made only when the number is less than ``reach`` above the slowest thread's
   ``written``. Winsets before ``written`` wait for the output thread only, and at most TALL_EVERY
   lie between the heads: so the slowest thread always gets the tables it needs, if necessary after
   the output thread has released some.

Linearization points are the paper's: among updates the CAS on level 0 for an update that makes a
winset, else the find or insertion of the window in the winset; between an update and
``get_next_winset`` the store to ``written`` and the output thread's load of it.

Progress: an update retries only when another thread linked a node or claimed a table: lock-free.
FULL is the answer (backpressure) when the slowest thread is too far behind, or when tables are not
released yet: by the output thread, or because a thread was stopped in the middle of a search, which
pins them.

Departures from the paper
-------------------------
# ASSUME: Algorithm 5 reads the first node and then ``written``. Between the two loads another
# thread could make an earlier winset and pass it, and that one would be lost: here ``written`` is
# read first, and the list after it.
# ASSUME: each thread remembers the winsets of its last tuple (the paper's ``update`` array keeps
# one node a level): until the time moves on, the next tuple finds them without a search.
# ASSUME: the paper bounds nothing and leaves memory to Java's garbage collector. Here winsets lie
# in a fixed number of tables; a thread that is too far ahead of the slowest one waits (5).
# ASSUME: a node is of full height when no other has been for TALL_EVERY winsets, so that the
# insertion head follows; otherwise the height is random, with a share of 1/2.
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
from operators.core.atomics import ACQUIRE, RELAXED, RELEASE, cas, load, store
from operators.core.epochs import Epochs, make_epochs
from operators.core.family import CoreOperations
from operators.core.integers import random_height
from operators.core.jit import inlined
from operators.core.layout import LINE_WORDS, aligned_words, line_at, whole_lines
from operators.core.marks import mark, poison

NIL = -1
NOT_BEGUN = -1  # `written` of a thread that has not published any winset yet
PASSED_ALL = (1 << 63) - 1  # `written` of a thread that has ended; beyond the end of any winset
FRONT_WINSET = -1  # number of the node before all winsets

# A node of the list, one for each table, and the front. ``place`` is the number of a table.
NUMBER, GENERATION, HEIGHT, USED = 0, 1, 2, 3
LINKS = 4  # level l is word LINKS + l

# Words private to an updating thread.
EARLIEST = 0  # number of the first winset of the thread's last tuple
COUNT = 1  # number of winsets of that tuple
LOCATED = 2  # how many of those, from the first one on, have been located; listed below
NEXT_CHANGE = 3  # earliest timestamp with other winsets than the last tuple's
LAST_TIMESTAMP = 4
FINGERS = LINE_WORDS  # the last search's predecessor of the position, a word a level

# Words private to the output thread.
READ_HEAD, OLDEST, BOUNDARY, BOUNDARY_EPOCH = range(4)

MOST_THREADS = 4096
# A node has full height at least every so many winsets: the most between the two heads. 1, 2 and 4
# could not be distinguished (WiML, K-OI, 20 inputs: 6.2 to 8.4 million tuples/s).
TALL_EVERY = 2
# Else a node goes one level higher with probability 1/2: a dozen or two winsets need no rarer tall
# nodes. With 1/4 WiML made 0.82 [0.53, 1.05] times as many tuples/s on K-OI with 2 inputs, and 0.98
# [0.60, 1.55] with 20 (three pairs in turns, two cores of an EPYC): not distinguishable.
HEIGHT_BITS = 1

# Each one more takes a table for all keys. 2 and 6 made 1.02 [0.60, 1.71] and 1.13 [0.94,
# 1.62] times as many tuples/s with 2 inputs, 0.78 [0.71, 0.95] and 0.78 [0.56, 1.18] with 20; of
# levels 1, 2 and 6 made 1.24, 1.18 and 1.18 with 2 inputs, where equal runs lie as far apart, and
# 1.00 [0.87, 1.16], 1.16 [1.01, 1.41] and 1.08 [1.00, 1.16] with 20 (measured as above).
_OWN = "a thread's newest winset before the slowest thread's"
WINSETS_AHEAD = Parameter("winsets_ahead", 3, 1, 1024, "winsets", _OWN, bounds_flight=True)
LEVELS = Parameter("levels", 3, 1, 16, "levels", "height of the tallest node (max_levels)")


class WHiveState(NamedTuple):
    """The words of a W-Hive, grouped by their writers."""

    nodes: np.ndarray  # [places + 1] nodes; filled by its maker before the CAS links it
    winsets: shared_winsets.SharedWinsets  # the hash tables, by the updating threads
    written: np.ndarray  # [threads] lines; a thread writes, all read: its EARLIEST
    searches: Epochs  # of the threads; the output thread advances them and checks the pins
    private: np.ndarray  # [threads] blocks of private_words; only that thread
    insert_head: np.ndarray  # [1]; output thread writes, updating threads read
    reading: np.ndarray  # [1 line]; only the output thread
    found: np.ndarray  # [2 * BITMAP_BITS]; only the output thread, for output_rows
    sink: Sink  # only the output thread
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
    window_words: int  # of each of a thread's lists: tables, generations, the key's windows


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
        When a number is out of range, or the winsets need more memory than the limit.
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
    # Besides the winsets in reach: those between the two heads, the table of the read head, and one
    # that is released while a thread looks for room (invariant 5).
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


# --- layout --------------------------------------------------------------------------------------


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
    """Return the first of the words private to an updating thread."""
    return thread * hive.private_words


@inlined
def finger_at(hive, thread, level):
    """Return the word with the predecessor that a thread's last search found on `level`."""
    return thread * hive.private_words + FINGERS + level


@inlined
def located_at(hive, thread):
    """Return where a thread's lists begin: tables of the winsets, generations, windows.

    Each has ``window_words``, from the first winset of the thread's tuple on.
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
        # All are found before the first is updated: cache misses overlap, but none of them passes
        # an atomic step.
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
    """Turn to the winsets of the thread's next tuple (L59), if `has_moved_on`."""
    earliest, latest, change = windows_at(timestamp, hive.window_size, hive.window_advance)
    turn_to_winsets(hive, thread, earliest, latest, change)


@inlined
def turn_to_winsets(hive, thread, earliest, latest, change):
    """Publish the first winset of the thread's next tuple, and forget the earlier ones.

    From here on the winsets before it may be output. `change` is the earliest time with other
    winsets.
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
    """Publish that the thread updates no winset any more."""
    store(hive.written, line_at(thread), PASSED_ALL, RELEASE)  # as in turn_to_winsets


@inlined
def locate(hive, thread):
    """Find or make the winsets of the current tuple, once; False when one cannot be made now."""
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
    """Return the table of a winset, or NIL; FINGERS then hold the predecessor on each level."""
    # ACQUIRE pairs with step_past: the node that the head leads to is filled in.
    node = load(hive.insert_head, 0, ACQUIRE)
    found = NIL
    for level in range(hive.levels - 1, -1, -1):
        while True:
            # Pairs with the CAS that linked the node: the fields are filled in.
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
    """Make a winset after a search for it (L81 to L88): its table, or NIL when there is no room.

    When another thread makes it first, the table is given back and the other's is returned.
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
        # RELEASE keeps the fields before the table's next claim; pairs with claim_place.
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
    """Return the watermark: the first winset of the slowest thread."""
    # ACQUIRE: the threads' earlier updates of winsets are seen; pairs with turn_to_winsets.
    least = load(hive.written, 0, ACQUIRE)
    for thread in range(1, hive.threads):
        least = min(least, load(hive.written, line_at(thread), ACQUIRE))
    return least


@inlined
def claim_place(hive, number):
    """Return a table claimed for the winset, near those of adjacent winsets, or NIL."""
    place = number % hive.places
    for _ in range(hive.places):
        used = node_at(hive, place) + USED
        # ACQUIRE keeps the new winset's words after the store that freed the table. No RELEASE:
        # the CAS that links the node publishes it, and a 1 found here tells of nothing else.
        if load(hive.nodes, used, RELAXED) == 0 and cas(hive.nodes, used, 0, 1, ACQUIRE):
            return place
        place += 1
        if place == hive.places:
            place = 0
    return NIL


@inlined
def level_insert(hive, level, before, place, number):
    """Link a node on one level behind `before` or behind nodes linked there meanwhile.

    Returns the node's table; on level 0 that of another node with the same number, if there is one.
    """
    while True:
        # ACQUIRE pairs with the CAS below: the fields of the next node are filled in.
        after = load(hive.nodes, link_at(hive, before, level), ACQUIRE)
        if after != NIL:
            there = hive.nodes[node_at(hive, after) + NUMBER]
            if there < number:
                before = after
                continue
            if there == number:
                return after
        # RELAXED: no other thread reaches this word on this level before the CAS publishes it.
        store(hive.nodes, link_at(hive, place, level), after, RELAXED)
        # RELEASE keeps the node's fields before the link to it. Linearizes an update that makes a
        # winset. The retry ends: each lost CAS means that another thread has linked a node.
        if cas(hive.nodes, link_at(hive, before, level), after, place, RELEASE):
            return place
        mark("w_hive: level lost")


# --- getNextWinSet -------------------------------------------------------------------------------


@inlined
def output_next_winset(hive):
    """Output the next winset that no thread updates any more: READY, or the reason why not.

    For the output thread: NOT_READY, ROWS_FULL or WINSETS_FULL (the next call takes the same
    winset), or END when all threads have ended and all winsets are output.
    """
    place = get_next_winset(hive)
    if place == NIL:
        # The threads' words are loaded again: END only when all have ended and no winset is left.
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
    """Return the table of the next winset once every thread has passed it, or NIL."""
    let_go(hive)
    # In this order: every winset before the watermark is in the list by now, and gets no tuple any
    # more. Linearizes get_next_winset.
    limit = slowest(hive)
    return first_before(hive, limit)


@inlined
def first_before(hive, limit):
    """Return the table of the next winset if its number is below `limit`, or NIL.

    `limit` is an earlier answer of `slowest`.
    """
    # ACQUIRE pairs with the CAS in level_insert: the fields of the node are filled in.
    place = load(hive.nodes, link_at(hive, hive.reading[READ_HEAD], 0), ACQUIRE)
    if place != NIL and hive.nodes[node_at(hive, place) + NUMBER] < limit:
        return place
    return NIL


@inlined
def step_past(hive, place):
    """Move the read head to a winset that has been read, and the insertion head if it is tall."""
    hive.reading[READ_HEAD] = place
    if hive.nodes[node_at(hive, place) + HEIGHT] == hive.levels:
        store(hive.insert_head, 0, place, RELEASE)  # the node was filled by another thread


@inlined
def all_passed(hive):
    """Say whether every thread has ended and no winset is left."""
    if slowest(hive) != PASSED_ALL:
        return False
    # RELAXED: slowest has acquired the last link of every thread, and no field of a node is read.
    return load(hive.nodes, link_at(hive, hive.reading[READ_HEAD], 0), RELAXED) == NIL


@inlined
def let_go(hive):
    """Free the tables before the insertion head that no search can reach any more (4).

    The head moves, then the epoch; a search is pinned to an epoch and then reads the head. So a
    search pinned to the boundary's epoch, or not pinned, began at the boundary or behind it.
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
            # RELAXED: linked long ago, and no node is inserted there any more.
            place = load(hive.nodes, link_at(hive, place, 0), RELAXED)
            poison(hive.nodes, node + NUMBER, 1)
            poison(hive.nodes, node + LINKS, hive.levels)
            # RELEASE keeps this thread's reads of the winset before the reuse of the table.
            store(hive.nodes, node + USED, 0, RELEASE)
        reading[OLDEST] = boundary
        reading[BOUNDARY] = NIL
    head = load(hive.insert_head, 0, RELAXED)  # written by this thread
    if head != reading[OLDEST]:
        reading[BOUNDARY] = head
        reading[BOUNDARY_EPOCH] = epochs.advance(hive.searches)


def check_invariants(hive: WHiveState) -> None:
    """Assert the invariants of a quiescent hive (plain Python)."""
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
