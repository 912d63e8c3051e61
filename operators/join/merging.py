"""Merges of a shared index: concurrent with the parallel join, or made by all of its threads.

Source: section 4.2 of "Parallel Index-based Stream Join on a Multicore CPU", figure 7. The thread
that finds a merge due as it takes a task becomes the *merging thread*. It stops the assignment of
tasks until none is active, begins the merge, and lets the others go on *without index update*. When
the next index is made, it stops assignment again, swaps the indexes, and enters the tuples that
have arrived meanwhile, while the others index theirs::

    merging thread   DRAIN begin | COUNT, place, COPY, finish | DRAIN_AGAIN swap | ENTER  THAW
    other threads    .. none ..  | join, index nothing        | .. none ..       | join and index
    edge             at the first tuple that is held ------------------------------------> moves on
                                 [ held: taken between the two, contiguous ]

In a blocking merge the others do not go on in between: all threads make pieces of the merge. In a
non-blocking one they do so, too, when they have to wait: held tuples are searched one by one in
bounded memory, and when that is full, assignment stops.

R and S merge independently, and at the same time if two threads find both due. Invariants:

1. While `begin` and `swap` run no task is active, and no other thread uses this index.
2. Between them no thread inserts into it: a task whose stream is held leaves its tuples to the
   merging thread. Whether a stream is held is read under the mutex with which the task is taken,
   and assignment is stopped at both changes, so the held tuples are those between two positions.
3. Until the held tuples are entered, the edge of their stream stays before them: at the first one,
   then at the next one to be entered. Searches therefore look for these partners one by one.
4. The next merge of a stream is due only after that (MERGING ends last). Otherwise the index would
   be merged without tuples of the window, and these would be entered into the index that is
   replaced.
5. The edge moves again as MERGING ends, in one critical section. Otherwise, between the two, any
   number of tasks could be taken and their tuples indexed, with no merge due to bound them.
6. A piece is made once: a compare-and-swap of TICKET takes it. The word contains the stage and the
   merge, so that a thread that was descheduled for long gets no piece of another one. The stage
   ends when FINISHED says that all pieces are made.

Progress: blocking, as in the paper: while the merging thread does not run, the others finish the
work that they can do without it. No thread waits within a step.

*Bound* of the tuples in T_I: at the swap up to ``held_most`` tuples are held. While they are
entered, the edge moves on, and the others index up to as many after it, with no merge due before
MERGING ends. A merge may therefore begin with twice ``held_most`` tuples, which is more than the
threshold if the merge ratio is small; ``make_state`` makes room for as many.

# ASSUME: the paper does not bound held tuples. Here they are up to ``held_most`` of a queue.
"""

from __future__ import annotations

from collections.abc import Callable

from operators.contract import ACCEPTED, NOT_READY, READY
from operators.core.atomics import (
    ACQUIRE,
    RELAXED,
    RELEASE,
    cas,
    fetch_add,
    load,
    now,
    store,
)
from operators.core.jit import inlined
from operators.core.marks import mark
from operators.core.vectors import peek
from operators.index.shared import Merges, SharedIndexOperations
from operators.join.family import INDEX_FULL
from operators.join.shared_state import (
    ENTER_UNTIL,
    ENTERED,
    FINISHED,
    MERGE_SIDE,
    MERGE_WORDS,
    NO_STAGE,
    PIECES,
    STAGE,
    TICKET,
)
from operators.join.work_queue import (
    EDGE,
    EDGE_LOCK,
    EDGE_TASK,
    FROZEN,
    HELD,
    HELD_BACK,
    LOCK,
    MERGE_NS,
    MERGES,
    MERGES_BEGAN,
    MERGING,
    NEXT,
    NEXT_TASK,
    PASSED,
    edge_may_move,
    horizon_of,
    move_edge,
    try_lock,
    unlock,
)

# A ticket: the number of the stage among all merges, the number of pieces, and the next piece.
PIECE_BITS = 20
PIECE_MASK = (1 << PIECE_BITS) - 1

# Stages of the merging thread.
DRAIN, LET_GO, COUNT, COPY, HOLD_BACK, DRAIN_AGAIN, SWAPPED, ENTER, THAW = range(9)

# Held tuples that are entered in a step, so that a thread soon notices a request to stop.
ENTERED_AT_ONCE = 64


# --- beginning and ending, under the mutex --------------------------------------------------------


@inlined
def begin_merging(words, side):
    """Note that a merge of a stream begins, and stop assignment; under the mutex."""
    if words[MERGES] == 0:
        words[MERGES_BEGAN] = now()
    words[MERGES] += 1
    words[MERGING + side] = 1
    # RELAXED, at all stores of HELD_BACK: readers without the mutex need the number alone.
    store(words, HELD_BACK, words[HELD_BACK] + 1, RELAXED)


def make_becomes_merger(merges: Merges) -> Callable[..., bool]:
    """Return ``becomes_merger(queue, words, view, side)``, under the mutex.

    It returns whether a merge of a stream was due; the calling thread then becomes the merger.
    """
    is_due = merges.is_due

    @inlined
    def becomes_merger(queue, words, view, side):
        shared = queue.words
        if shared[MERGING + side] != 0 or not is_due(view):
            return False
        begin_merging(shared, side)
        words[MERGE_SIDE] = side
        words[STAGE] = DRAIN
        return True

    return becomes_merger


@inlined
def end_merging(words, side):
    """Note that a merge is over, all its tuples entered; under the mutex."""
    words[MERGING + side] = 0
    words[MERGES] -= 1
    if words[MERGES] == 0:
        words[MERGE_NS] += now() - words[MERGES_BEGAN]


@inlined
def drained(queue, side):
    """Whether no task is active; from then on the edge of a merging stream is frozen.

    Called by the merging thread, which has stopped assignment.
    """
    words = queue.words
    # RELAXED: a test that keeps the cache line shared; the edge is read again under its lock.
    edge, taken = load(words, EDGE_TASK, RELAXED), load(words, NEXT_TASK, RELAXED)
    if edge != taken and not edge_may_move(queue):
        return False
    if not try_lock(words, EDGE_LOCK):
        mark("merging: another thread moves the edge as tasks end")
        return False
    move_edge(queue)
    none = words[EDGE_TASK] == load(words, NEXT_TASK, RELAXED)
    if none:
        words[FROZEN + side] = 1
    unlock(words, EDGE_LOCK)
    return none


@inlined
def thaw(queue, side):
    """Try to unfreeze the edge of a stream and move it to PASSED; return whether that succeeded."""
    words = queue.words
    if not try_lock(words, EDGE_LOCK):
        mark("merging: another thread moves the edge as a merge ends")
        return False
    words[FROZEN + side] = 0
    # RELEASE: as in move_edge.
    store(words, EDGE + side, words[PASSED + side], RELEASE)
    unlock(words, EDGE_LOCK)
    return True


@inlined
def hold_or_let_go(queue, words, side):
    """Try to stop or resume other threads, under the mutex; return whether that succeeded."""
    shared = queue.words
    if not try_lock(shared, LOCK):
        mark("merging: another thread takes a task")
        return False
    stage = words[STAGE]
    if stage == LET_GO:
        shared[HELD + side] = 1
        store(shared, HELD_BACK, shared[HELD_BACK] - 1, RELAXED)
    elif stage == HOLD_BACK:
        store(shared, HELD_BACK, shared[HELD_BACK] + 1, RELAXED)
    elif stage == SWAPPED:
        shared[HELD + side] = 0
        store(shared, HELD_BACK, shared[HELD_BACK] - 1, RELAXED)
        words[ENTER_UNTIL] = shared[NEXT + side]
    elif thaw(queue, side):
        end_merging(shared, side)
    else:
        unlock(shared, LOCK)
        return False
    unlock(shared, LOCK)
    return True


# --- pieces of work -------------------------------------------------------------------------------


@inlined
def set_ticket(merges, side, pieces):
    """Offer the pieces of a stage, COUNT or COPY, to all threads; by the merging thread."""
    base = side * MERGE_WORDS
    store(merges, base + FINISHED, 0, RELAXED)
    # Stages are numbered from 1 on: an odd one is COUNT, and the next one COPY.
    stage = (load(merges, base + TICKET, RELAXED) >> (2 * PIECE_BITS)) + 1
    ticket = (stage << PIECE_BITS | pieces) << PIECE_BITS
    # RELEASE: publishes the input of the stage; pairs with the load in make_piece.
    store(merges, base + TICKET, ticket, RELEASE)


@inlined
def has_piece(merges, side):
    """Whether there is probably a piece of work."""
    # RELAXED: make_piece loads the ticket again.
    ticket = load(merges, side * MERGE_WORDS + TICKET, RELAXED)
    return ticket & PIECE_MASK < ticket >> PIECE_BITS & PIECE_MASK


def make_piece_of(merges: Merges) -> Callable[..., bool]:
    """Return ``make_piece(words, side, view)``: makes a piece of a stream's merge, if there is one.

    Both stages have the same number of pieces.
    """
    count_piece, copy_piece = merges.count, merges.copy

    @inlined
    def make_piece(words, side, view):
        base = side * MERGE_WORDS
        # ACQUIRE: sees the input of the stage; pairs with the RELEASE in set_ticket.
        ticket = load(words, base + TICKET, ACQUIRE)
        piece = ticket & PIECE_MASK
        if piece >= ticket >> PIECE_BITS & PIECE_MASK:
            return False
        # RELAXED: the load has acquired the input, and no other thread has the piece.
        if not cas(words, base + TICKET, ticket, ticket + 1, RELAXED):
            mark("merging: another thread took the piece")
            return True
        if ticket >> (2 * PIECE_BITS) & 1 == 1:
            count_piece(view, piece)
        else:
            copy_piece(view, piece)
        # RELEASE: a thread that sees all made sees all pieces; pairs with all_made. It need not
        # acquire the pieces made before: an addition goes on with their release sequences, and
        # this thread uses none of them.
        fetch_add(words, base + FINISHED, 1, RELEASE)
        return True

    return make_piece


@inlined
def all_made(merges, side, pieces):
    """Whether all pieces of the stage are made."""
    # ACQUIRE: sees the pieces; pairs with the fetch_add in make_piece.
    return load(merges, side * MERGE_WORDS + FINISHED, ACQUIRE) == pieces


# --- the merging thread ---------------------------------------------------------------------------


def make_merge_step(
    merges: Merges, insert: Callable[..., int], make_piece: Callable[..., bool]
) -> Callable[..., int]:
    """Return ``merge_step(queue, words, tickets, blocking, mine, keys, side)``.

    It makes the next part of this thread's merge, of the stream whose index is `mine` and whose
    ring of keys is `keys`: READY, NOT_READY if other threads have to go first, or INDEX_FULL. Stage
    NO_STAGE says that the merge is over.
    """
    begin, place, finish, swap = merges.begin, merges.place, merges.finish, merges.swap

    @inlined
    def enter_some(queue, words, mine, keys, side):
        """Enter some of the held tuples, and let the edge follow."""
        position = words[ENTERED]
        end = min(words[ENTER_UNTIL], position + ENTERED_AT_ONCE)
        while position < end:
            if insert(mine, peek(keys, position & (queue.slots - 1)), position) != ACCEPTED:
                return INDEX_FULL
            position += 1
        words[ENTERED] = position
        # RELEASE: a reader of the edge finds these tuples in the index.
        store(queue.words, EDGE + side, position, RELEASE)
        return READY

    @inlined
    def make_pieces(words, tickets, mine, side):
        """Make a piece, or end the stage when all are made."""
        if make_piece(tickets, side, mine):
            return READY
        if not all_made(tickets, side, words[PIECES]):
            return NOT_READY
        if words[STAGE] == COUNT:
            place(mine)
            set_ticket(tickets, side, words[PIECES])
            words[STAGE] = COPY
        else:
            finish(mine)
            words[STAGE] = HOLD_BACK
        return READY

    @inlined
    def merge_step(queue, words, tickets, blocking, mine, keys, side):
        stage = words[STAGE]
        if stage == COUNT or stage == COPY:
            return make_pieces(words, tickets, mine, side)
        if stage == ENTER and words[ENTERED] < words[ENTER_UNTIL]:
            return enter_some(queue, words, mine, keys, side)
        if stage == DRAIN:
            if not drained(queue, side):
                return NOT_READY
            words[ENTERED] = queue.words[NEXT + side]
            words[PIECES] = begin(mine, horizon_of(queue, side))
            set_ticket(tickets, side, words[PIECES])
            words[STAGE] = COUNT if blocking else LET_GO
            return READY
        if stage == HOLD_BACK and blocking:
            words[STAGE] = DRAIN_AGAIN
        elif stage == DRAIN_AGAIN:
            if not drained(queue, side):
                return NOT_READY
            swap(mine)
            words[STAGE] = SWAPPED
        elif stage == ENTER:
            words[STAGE] = THAW
        elif hold_or_let_go(queue, words, side):
            if stage == LET_GO:
                words[STAGE] = COUNT
            elif stage == HOLD_BACK:
                words[STAGE] = DRAIN_AGAIN
            elif stage == SWAPPED:
                words[STAGE] = ENTER
            else:
                words[STAGE] = NO_STAGE
        else:
            return NOT_READY
        return READY

    return merge_step


def make_help(index: SharedIndexOperations) -> tuple[Callable[..., int], Callable[..., bool]]:
    """Return ``merge(shared, worker)`` and ``make_a_piece(shared, worker)``.

    The first goes on with this thread's merge, and returns the answer of ``merge_step``; the second
    makes a piece of any thread's merge, and returns whether there was one.
    """
    enter, leave = index.enter, index.leave
    make_piece = make_piece_of(index.merges)
    merge_step = make_merge_step(index.merges, index.insert, make_piece)

    @inlined
    def merge_in(shared, worker, mine, keys, side):
        enter(mine)
        status = merge_step(
            shared.queue, worker.words, shared.tickets, shared.blocking, mine, keys, side
        )
        leave(mine)
        return status

    @inlined
    def merge(shared, worker):
        if worker.words[MERGE_SIDE] == 0:
            return merge_in(shared, worker, worker.r, shared.queue.r.keys, 0)
        return merge_in(shared, worker, worker.s, shared.queue.s.keys, 1)

    @inlined
    def make_a_piece(shared, worker):
        if has_piece(shared.tickets, 0):
            enter(worker.r)
            made = make_piece(shared.tickets, 0, worker.r)
            leave(worker.r)
            return made
        if not has_piece(shared.tickets, 1):
            return False
        enter(worker.s)
        made = make_piece(shared.tickets, 1, worker.s)
        leave(worker.s)
        return made

    return merge, make_a_piece
