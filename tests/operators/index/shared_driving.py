"""The compiled half of the tests of shared indexes: a thread that executes a script.

A script consists of rows of ``COLUMNS`` words. A task is the rows from ENTER to LEAVE, which a
thread executes without waiting; all other rows belong to a merge. A thread alone executes row after
row. Several threads behave like those of a join: before a task, a thread waits until the task's
positions are close enough to the *edge*, before which all positions are in the index. When a merge
is due, one thread executes the stages, the others take pieces of them, and threads that may not
insert search meanwhile.

The file imports no more than the kernel needs, because all of the file's text enters the cache key.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any, NamedTuple

import numpy as np

from operators.contract import ACCEPTED, END, FULL, NOT_READY, READY
from operators.core.atomics import (
    ACQ_REL,
    ACQUIRE,
    RELAXED,
    RELEASE,
    SEQ_CST,
    cas,
    fetch_add,
    load,
    store,
    yield_thread,
)
from operators.core.integers import mix64, shift_right, wrapping_add
from operators.core.jit import inlined, kernel
from operators.core.layout import line_at
from operators.index.family import sequence_of
from operators.index.shared import SharedIndexOperations
from operators.index.window import NEWEST, OLDEST

# Operations of a row, and their operands.
ENTER = 0  # whether it inserts, the last position to insert, the thread's next position after it
LEAVE = 1
INSERT = 2  # key, position
REMOVE = 3  # key, position
WINDOW = 4  # first and last position in the window, whether both are relative to the edge
FIND = 5  # first of the lows, how many
SCAN = 6  # low, high, the number of the descent
BEGIN = 7  # of a merge: the first position that is still in the window
COUNT = 8  # the first piece, the distance to the next piece
PLACE = 9
COPY = 10  # as COUNT
FINISH = 11
SWAP = 12
WAIT = 13
COLUMNS = 4

# Words shared by all threads, one to a cache line.
CLOCK = line_at(0)
MODE = line_at(1)
DUTY = line_at(2)  # 1 while a thread merges
TICKET = line_at(3)  # the next piece of the stage
PIECES = line_at(4)
KIND = line_at(5)  # COUNT or COPY
DONE = line_at(6)  # pieces completed
STOP = line_at(7)
THREADS = 8  # from here on, each line belongs to one thread
NEXT, BUSY = 0, 1  # words of a thread's line: the next position, and whether a task is in flight
# MODE: all threads may enter; all must leave; nobody may insert.
FREE, LEAVING, HELD = range(3)
NO_TICKET = 1 << 60
# Words private to a thread.
ROW, STAGE, SEARCHES, FOUND, RANDOM, EDGE, OLDEST_HERE, NEWEST_HERE = range(8)
SPARE, SPARES, RETURN = range(8, 11)  # next spare task, spare tasks done, the row to return to
# The record of a search.
NOTED = 7  # stamps before and after, low, high, oldest, newest, the end of the positions
STOPPED = -11
NO_LIMIT = 1 << 60


class Actor(NamedTuple):
    """A thread: the script, the operands, and the records of what happened.

    The first `spare` rows of the script are search-only tasks, executed while inserts are held; 0
    means that there are none. `stamped` says whether every operation is time-stamped.
    """

    index: Any
    script: np.ndarray  # (rows, COLUMNS)
    lows: np.ndarray
    crew: np.ndarray  # words shared by all threads
    began: np.ndarray  # by position from `first` on: the stamps before and after the insertion
    ended: np.ndarray
    own: np.ndarray  # words private to this thread
    window: np.ndarray  # OLDEST, NEWEST
    places: np.ndarray
    out: np.ndarray
    searches: np.ndarray  # (searches, NOTED)
    found: np.ndarray  # positions, in the order of the searches
    number: int
    threads: int  # 0: the thread is alone
    place_words: int
    first: int
    size: int  # of the window
    ahead: int
    spare: int
    spares: int  # limit of spare tasks
    stamped: bool


@inlined
def stamp(actor):
    """Return a logical time stamp that orders the threads' operations; 0 if not `stamped`."""
    if actor.stamped:
        # SEQ_CST: an insertion whose second stamp is lower ended before the search began.
        return fetch_add(actor.crew, CLOCK, 1, SEQ_CST)
    return 0


@inlined
def edge_of(actor):
    """Return the edge: all earlier positions are in the index."""
    edge = NO_LIMIT
    for thread in range(actor.threads):
        # ACQUIRE: pairs with the store after a task; the thread's insertions are visible.
        edge = min(edge, load(actor.crew, line_at(THREADS + thread) + NEXT, ACQUIRE))
    return edge


@inlined
def others_are_out(actor):
    """Say whether no other thread is in a task."""
    for thread in range(actor.threads):
        # SEQ_CST: ordered after the store to MODE, as in `may_enter`.
        if thread != actor.number and load(actor.crew, line_at(THREADS + thread) + BUSY, SEQ_CST):
            return False
    return True


@inlined
def may_enter(actor, inserts):
    """Begin a task unless a merge forbids it, and say whether it has begun."""
    crew, mine = actor.crew, line_at(THREADS + actor.number)
    # SEQ_CST, both: either this thread sees the new MODE, or the thread that set MODE sees it busy.
    store(crew, mine + BUSY, 1, SEQ_CST)
    mode = load(crew, MODE, SEQ_CST)
    if mode == FREE or (mode == HELD and not inserts):
        return True
    store(crew, mine + BUSY, 0, RELEASE)
    return False


@inlined
def take_piece(actor):
    """Return the next piece of the current stage, or -1."""
    crew = actor.crew
    if load(crew, TICKET, RELAXED) >= load(crew, PIECES, RELAXED):
        return -1
    # ACQ_REL: everything prepared for the stage is visible, including KIND and PIECES.
    piece = fetch_add(crew, TICKET, 1, ACQ_REL)
    return piece if piece < load(crew, PIECES, RELAXED) else -1


@inlined
def offer_pieces(actor, kind):
    """Let all threads take the pieces of a stage."""
    store(actor.crew, KIND, kind, RELAXED)
    store(actor.crew, DONE, 0, RELAXED)
    # RELEASE: pairs with `take_piece`.
    store(actor.crew, TICKET, 0, RELEASE)


@inlined
def next_of_merge(actor, stage):
    """Return the merging thread's next operation and operand."""
    crew = actor.crew
    if stage == BEGIN:
        return (BEGIN, edge_of(actor) - actor.size) if others_are_out(actor) else (WAIT, 0)
    if stage == SWAP:
        return (SWAP, 0) if others_are_out(actor) else (WAIT, 0)
    if stage == COUNT or stage == COPY:
        piece = take_piece(actor)
        if piece >= 0:
            return stage, piece
        # ACQUIRE: pairs with the addition to DONE after each piece.
        if load(crew, DONE, ACQUIRE) < load(crew, PIECES, RELAXED):
            return WAIT, 0
        return (PLACE, 0) if stage == COUNT else (FINISH, 0)
    return stage, 0


@inlined
def go_on_merging(actor, what):
    """Record the stage that the merging thread has completed, and go on to the next."""
    crew, own = actor.crew, actor.own
    if what == BEGIN:
        offer_pieces(actor, COUNT)
        store(crew, MODE, HELD, SEQ_CST)
        own[STAGE] = COUNT
    elif what == PLACE:
        offer_pieces(actor, COPY)
        own[STAGE] = COPY
    elif what == FINISH:
        store(crew, MODE, LEAVING, SEQ_CST)
        own[STAGE] = SWAP
    elif what == SWAP:
        own[STAGE] = WAIT
        store(crew, DUTY, 0, RELEASE)
        store(crew, MODE, FREE, SEQ_CST)


@inlined
def next_of_task(actor, row, is_due):
    """Return the next operation of a thread that is about to begin a task, and the operand.

    ENTER begins the task, INSERT a spare task instead; BEGIN takes the duty to merge.
    """
    crew, script = actor.crew, actor.script
    piece = take_piece(actor)
    if piece >= 0:
        return load(crew, KIND, RELAXED), piece
    inserts = script[row, 1] != 0
    if inserts and is_due(actor.index):
        # ACQ_REL: one thread wins; the previous merge happens before this one.
        if cas(crew, DUTY, 0, 1, ACQ_REL):
            if is_due(actor.index):
                store(crew, MODE, LEAVING, SEQ_CST)
                return BEGIN, 0
            store(crew, DUTY, 0, RELEASE)
    elif not inserts or script[row, 2] < edge_of(actor) + actor.ahead:
        if may_enter(actor, inserts):
            return ENTER, 0
    if actor.own[SPARES] < actor.spares and may_enter(actor, False):
        return INSERT, 0
    return WAIT, 0


def make_merge_row(shared: SharedIndexOperations) -> Callable[[Actor, int, int, int], int]:
    """Return ``merge_row``, which executes a row of a merge."""
    if shared.merges is None:

        @inlined
        def no_merge_row(actor, what, a, b):
            return 0

        return no_merge_row
    _, begin, count, place, copy, finish, swap = shared.merges

    @inlined
    def merge_row(actor, what, a, b):
        """Execute a row of a merge; return the number of pieces, or of those completed."""
        index, crew = actor.index, actor.crew
        if what == BEGIN:
            pieces = begin(index, a)
            store(crew, PIECES, pieces, RELAXED)
            return pieces
        if what == COUNT or what == COPY:
            done = 0
            # Backwards: an index may not rely on the order of the pieces.
            last = load(crew, PIECES, RELAXED) - 1
            while a <= last:
                if what == COUNT:
                    count(index, last - a)
                else:
                    copy(index, last - a)
                done += 1
                a += b
            return done
        if what == PLACE:
            place(index)
        elif what == FINISH:
            finish(index)
        else:
            swap(index)
        return 0

    return merge_row


def make_search_row(shared: SharedIndexOperations) -> Callable[[Actor, int, int, int, int], None]:
    """Return ``search_row``, which executes a row of a search."""
    find, scan = shared.find, shared.scan

    @inlined
    def search_row(actor, what, a, b, c):
        index, own, window = actor.index, actor.own, actor.window
        if what == WINDOW:
            base = edge_of(actor) if c else 0
            own[OLDEST_HERE] = max(a + base, actor.first)
            own[NEWEST_HERE] = b + base
            window[OLDEST] = sequence_of(own[OLDEST_HERE])
            window[NEWEST] = own[NEWEST_HERE]
        elif what == FIND:
            find(index, actor.lows, a, b, actor.places)
        else:
            number, begins = own[SEARCHES], own[FOUND]
            searches, found, out = actor.searches, actor.found, actor.out
            searches[number, 0] = stamp(actor)
            # Append after an entry that is already in the buffer.
            out[0] = -1
            total = scan(index, a, b, actor.places, c * actor.place_words, window, out, 1)
            searches[number, 1] = stamp(actor)
            searches[number, 2], searches[number, 3] = a, b
            searches[number, 4], searches[number, 5] = own[OLDEST_HERE], own[NEWEST_HERE]
            # If that entry was overwritten, count it as found, which is an error that the check
            # reports.
            spared = 1 if out[0] == -1 else 0
            for each in range(spared, total):
                found[begins + each - spared] = out[each]
            searches[number, 6] = begins + total - spared
            own[SEARCHES], own[FOUND] = number + 1, begins + total - spared

    return search_row


def make_do(shared: SharedIndexOperations) -> Callable[[Actor, int, int, int, int], int]:
    """Return ``do``, which executes any row."""
    enter, leave, insert, remove = shared.enter, shared.leave, shared.insert, shared.remove
    merge_row, search_row = make_merge_row(shared), make_search_row(shared)

    @inlined
    def do(actor, what, a, b, c):
        """Execute a row; return FULL or ACCEPTED, or the result of ``merge_row``."""
        index = actor.index
        if what == INSERT:
            actor.began[b - actor.first] = stamp(actor)
            if insert(index, a, b) != ACCEPTED:
                return FULL
            actor.ended[b - actor.first] = stamp(actor)
        elif what == REMOVE:
            remove(index, a, b)
        elif what == ENTER:
            enter(index)
            actor.own[EDGE] = c
        elif what == LEAVE:
            leave(index)
            if actor.threads > 0:
                mine = line_at(THREADS + actor.number)
                if actor.own[EDGE] != 0:
                    # RELEASE: pairs with `edge_of`.
                    store(actor.crew, mine + NEXT, actor.own[EDGE], RELEASE)
                store(actor.crew, mine + BUSY, 0, RELEASE)
        elif what >= BEGIN:
            return merge_row(actor, what, a, b)
        else:
            search_row(actor, what, a, b, c)
        return ACCEPTED

    return do


@inlined
def never_due(index):
    """Say that no merge is due."""
    return False


@cache
def driver_of(shared: SharedIndexOperations) -> Callable[[Actor, int], int]:
    """Return the kernel of a thread: ``act(actor, steps)``.

    The kernel returns END after the last row, NOT_READY if the thread has to wait, READY after
    `steps` steps, FULL, or STOPPED when another thread has failed.
    """
    do = make_do(shared)
    is_due = never_due if shared.merges is None else shared.merges.is_due

    @kernel
    def act(actor, steps):
        script, crew, own = actor.script, actor.crew, actor.own
        for _ in range(steps):
            row = own[ROW]
            if row == len(script) and own[STAGE] == WAIT:
                # The script is complete; the merging thread does the remaining pieces.
                return END
            what, a, b, c = WAIT, 0, 1 << 60, 0
            joins = actor.threads > 0 and (own[STAGE] != WAIT or script[row, 0] == ENTER)
            if joins and own[STAGE] != WAIT:
                what, a = next_of_merge(actor, own[STAGE])
            elif joins:
                what, a = next_of_task(actor, row, is_due)
                if what == BEGIN:
                    own[STAGE] = BEGIN
                    continue
                if what == INSERT:
                    own[RETURN] = row
                    own[SPARES] += 1
                    row = own[SPARE]
                    what = ENTER
            if what == ENTER or not joins:
                what, a, b, c = script[row, 0], script[row, 1], script[row, 2], script[row, 3]
                own[ROW] = row + 1
                if what == LEAVE and own[RETURN] >= 0:
                    own[ROW] = own[RETURN]
                    own[SPARE] = row + 1 if row + 1 < actor.spare else 0
                    own[RETURN] = -1
            if what == WAIT:
                return NOT_READY
            done = do(actor, what, a, b, c)
            if what == INSERT and done == FULL:
                return FULL
            if joins and (what == COUNT or what == COPY):
                # RELEASE, and ACQUIRE for the last one: the results of all pieces are visible.
                fetch_add(crew, DONE, done, ACQ_REL)
            elif joins and what >= BEGIN:
                go_on_merging(actor, what)
            if actor.threads > 0:
                if load(crew, STOP, RELAXED) == 1:
                    return STOPPED
                own[RANDOM] = mix64(wrapping_add(own[RANDOM], 1))
                if shift_right(own[RANDOM], 16) % 64 == 0:
                    yield_thread()
        return READY

    return act
