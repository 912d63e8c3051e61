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

from operators.aggregation.shared_winsets import NOT_FOUND, find, home_row, insert, output_rows
from operators.aggregation.sink import room_for_winset
from operators.aggregation.through_time import windows_at
from operators.aggregation.w_hive_state import (
    BOUNDARY,
    BOUNDARY_EPOCH,
    COUNT,
    EARLIEST,
    EPOCHS,
    FINGERS,
    GENERATION,
    HEIGHT,
    LINKS,
    LOCATED,
    NEXT_CHANGE,
    NIL,
    NUMBER,
    OLDEST,
    PASSED_ALL,
    READ_HEAD,
    UNPINNED,
    USED,
    check_invariants,
    located,
    make_w_hive,
    node_height,
)
from operators.contract import ACCEPTED, END, FULL, NOT_READY, READY, Variant
from operators.core.atomics import (
    ACQ_REL,
    ACQUIRE,
    RELAXED,
    RELEASE,
    SEQ_CST,
    cas,
    fence,
    load,
    store,
)
from operators.core.family import CoreOperations
from operators.core.jit import inlined
from operators.core.layout import LINE_WORDS
from operators.core.marks import mark, spoil

# --- updateWindows -------------------------------------------------------------------------------


def make_update_windows(process_tuple: Callable[..., None]) -> Callable[..., int]:
    """Return ``update_windows(hive, thread, own, key, value, matched)`` for one kind of window.

    `process_tuple(winsets, at, function, value, matched)` adds a tuple to the window at `at`.
    ``update_windows`` (Algorithm 5, L59 to L88, after ``turn_to``) answers ACCEPTED, or FULL when a
    winset of the tuple cannot be made now: then no window has been updated.
    """

    @inlined
    def update_windows(hive, thread, own, key, value, matched):
        private = hive.private
        if private[own + LOCATED] < private[own + COUNT] and not locate(hive, thread, own):
            return FULL
        winsets = hive.winsets
        row = home_row(winsets, key)
        place_at = located(hive, own, 0)
        generation_at = place_at + hive.window_words
        window_at = generation_at + hive.window_words
        # All found before the first is updated, so that the misses of the cache overlap: an atomic
        # step lets nothing past it.
        for window in range(private[own + COUNT]):
            place = private[place_at + window]
            generation = private[generation_at + window]
            at = find(winsets, row, place, generation, key)
            if at == NOT_FOUND:
                at = insert(winsets, row, place, generation, key)
            private[window_at + window] = at
        for window in range(private[own + COUNT]):
            process_tuple(winsets, private[window_at + window], hive.function, value, matched)
        return ACCEPTED

    return update_windows


@inlined
def turn_to(hive, thread, own, timestamp):
    """Publish the first winset of the thread's next tuple, and forget those it is past (L59).

    Called when the tuple lies at NEXT_CHANGE or after it; what it does not contribute to any more
    may be put out from here on.
    """
    private = hive.private
    earliest, latest, change = windows_at(timestamp, hive.window_size, hive.window_advance)
    gone = earliest - private[own + EARLIEST]
    kept = max(private[own + LOCATED] - gone, 0)
    place_at = located(hive, own, 0)
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
    store(hive.written, thread * LINE_WORDS, earliest, RELEASE)


@inlined
def pass_all(hive, thread):
    """Say that the thread updates nothing any more."""
    store(hive.written, thread * LINE_WORDS, PASSED_ALL, RELEASE)  # as in turn_to


@inlined
def locate(hive, thread, own):
    """Find or make the winsets of the tuple in hand; False when one cannot be made now."""
    private = hive.private
    epoch = load(hive.epoch, 0, ACQUIRE)
    # RELEASE: who sees this pin has behind it what the thread read under the pins before.
    store(hive.pins, thread * LINE_WORDS, epoch, RELEASE)
    # Keeps the pin before the reads that it protects. Of this fence and the one in let_go one comes
    # first: either the output thread sees the pin, or this thread sees the head that goes with the
    # epoch.
    fence(SEQ_CST)
    room = True
    while room and private[own + LOCATED] < private[own + COUNT]:
        window = private[own + LOCATED]
        number = private[own + EARLIEST] + window
        place = search(hive, own, number)
        if place == NIL:
            place = make_winset(hive, own, number)
        room = place != NIL
        if room:
            at = located(hive, own, window)
            private[at] = place
            private[at + hive.window_words] = hive.nodes[place * hive.stride + GENERATION]
            private[own + LOCATED] = window + 1
    # RELEASE keeps the search before it: from here on its nodes may be used again.
    store(hive.pins, thread * LINE_WORDS, UNPINNED, RELEASE)
    return room


@inlined
def search(hive, own, number):
    """Return the place of a winset, or NIL; FINGERS then hold the last node before it by level."""
    node = load(hive.insert_head, 0, ACQUIRE)
    found = NIL
    for level in range(hive.levels - 1, -1, -1):
        while True:
            # Pairs with the CAS that linked the node: what it holds is filled in.
            found = load(hive.nodes, node * hive.stride + LINKS + level, ACQUIRE)
            if found == NIL or hive.nodes[found * hive.stride + NUMBER] >= number:
                break
            node = found
        hive.private[own + FINGERS + level] = node
    if found != NIL and hive.nodes[found * hive.stride + NUMBER] == number:
        return found
    return NIL


@inlined
def make_winset(hive, own, number):
    """Make a winset after a search for it (L80 to L88): its place, or NIL when there is no room.

    When another thread makes it first, the place is given back and the other's is returned.
    """
    if number >= slowest(hive) + hive.reach:
        mark("w_hive: out of reach")
        return NIL
    place = claim_place(hive, number)
    if place == NIL:
        mark("w_hive: no place")
        return NIL
    at = place * hive.stride
    before = hive.private[own + FINGERS]
    tallest_before = hive.private[own + FINGERS + hive.levels - 1]
    height = node_height(hive, number, tallest_before)
    hive.nodes[at + NUMBER] = number
    hive.nodes[at + GENERATION] += 1
    hive.nodes[at + HEIGHT] = height
    there = level_insert(hive, 0, before, place, number)
    if there != place:
        mark("w_hive: another thread made it first")
        store(hive.nodes, at + USED, 0, RELEASE)
        return there
    for level in range(1, height):
        level_insert(hive, level, hive.private[own + FINGERS + level], place, number)
    return place


@inlined
def slowest(hive):
    """Return the first winset that the slowest thread contributes to."""
    # ACQUIRE: what the threads did to winsets before it is seen; pairs with the store in turn_to.
    least = load(hive.written, 0, ACQUIRE)
    for thread in range(1, hive.threads):
        least = min(least, load(hive.written, thread * LINE_WORDS, ACQUIRE))
    return least


@inlined
def claim_place(hive, number):
    """Return a place taken for the winset, near those of its neighbours, or NIL."""
    place = number % hive.places
    for _ in range(hive.places):
        used = place * hive.stride + USED
        # ACQUIRE keeps the new winset's words behind the store in let_go that freed the place.
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
    word = LINKS + level
    while True:
        after = load(hive.nodes, before * hive.stride + word, ACQUIRE)
        if after != NIL:
            there = hive.nodes[after * hive.stride + NUMBER]
            if there < number:
                before = after
                continue
            if there == number:
                return after
        store(hive.nodes, place * hive.stride + word, after, RELAXED)
        # RELEASE keeps what the node holds before the link to it. Linearizes an update that makes a
        # winset. The retry ends: each loss is another thread's node linked.
        if cas(hive.nodes, before * hive.stride + word, after, place, RELEASE):
            return place
        mark("w_hive: level lost")


# --- getNextWinSet -------------------------------------------------------------------------------


@inlined
def output_next_winset(hive):
    """Put out the next winset that no thread updates any more: READY, or why not.

    By the output thread: NOT_READY, ROWS_FULL or WINSETS_FULL (the next call takes the same
    winset), or END when all threads have ended and all winsets are out.
    """
    let_go(hive)
    place = get_next_winset(hive)
    if place == NIL:
        # The threads' words are read again: only when all have ended and nothing is left is it END.
        return END if all_passed(hive) else NOT_READY
    status = room_for_winset(hive.sink, hive.keys)
    if status != READY:
        return status
    node = place * hive.stride
    window_start = hive.nodes[node + NUMBER] * hive.window_advance
    generation = hive.nodes[node + GENERATION]
    output_rows(hive.winsets, place, generation, window_start, hive.sink, hive.found)
    hive.reading[READ_HEAD] = place
    if hive.nodes[node + HEIGHT] == hive.levels:
        store(hive.insert_head, 0, place, RELEASE)  # its node was filled by another thread
    return READY


@inlined
def get_next_winset(hive):
    """Return the place of the next winset once every thread has passed it, or NIL."""
    # In this order: what lies before the slowest thread's winset is in the list by now, and nothing
    # is added to it. Linearizes get_next_winset.
    limit = slowest(hive)
    place = load(hive.nodes, hive.reading[READ_HEAD] * hive.stride + LINKS, ACQUIRE)
    if place != NIL and hive.nodes[place * hive.stride + NUMBER] < limit:
        return place
    return NIL


@inlined
def all_passed(hive):
    """Say whether every thread has ended and no winset is left."""
    if slowest(hive) != PASSED_ALL:
        return False
    return load(hive.nodes, hive.reading[READ_HEAD] * hive.stride + LINKS, ACQUIRE) == NIL


@inlined
def let_go(hive):
    """Free the places behind the insertion head that no search can reach any more (4).

    The head moves, then the epoch; a search pins the epoch and then reads the head. So a search
    that is pinned to the boundary's epoch, or to none, began at the boundary or behind it.
    """
    reading = hive.reading
    boundary = reading[BOUNDARY]
    if boundary != NIL:
        fence(SEQ_CST)  # pairs with the fence in locate
        for thread in range(hive.threads):
            pinned = load(hive.pins, thread * LINE_WORDS, ACQUIRE)
            if pinned != UNPINNED and pinned < reading[BOUNDARY_EPOCH]:
                mark("w_hive: pinned")
                return
        node = reading[OLDEST]
        while node != boundary:
            at = node * hive.stride
            node = load(hive.nodes, at + LINKS, RELAXED)
            spoil(hive.nodes, at + NUMBER, 1)
            spoil(hive.nodes, at + LINKS, hive.levels)
            # RELEASE keeps this thread's reads of the winset before its place's next use.
            store(hive.nodes, at + USED, 0, RELEASE)
        reading[OLDEST] = boundary
        reading[BOUNDARY] = NIL
    head = load(hive.insert_head, 0, RELAXED)  # this thread's own
    if head != reading[OLDEST]:
        reading[EPOCHS] += 1
        store(hive.epoch, 0, reading[EPOCHS], RELEASE)
        reading[BOUNDARY] = head
        reading[BOUNDARY_EPOCH] = reading[EPOCHS]


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
