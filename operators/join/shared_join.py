"""The parallel window join over one index a stream, which all threads share.

Source: section 4 of "Parallel Index-based Stream Join on a Multicore CPU". Any index will do that
several threads may use at once (`operators.index.shared`); a variant is the join over one of them.
A thread's task goes through the four steps of section 4.1::

    acquire     under the mutex: the next tuples enter the windows       `work_queue`
    generate    search the index up to the edge, and the ring of the
                window after it; results into the room                   here
    update      tuples into the index, expired ones out of it, the edge  here
    propagate   completed results at the head of the queue come out      `propagation`

(modules of `operators.join`), and as in section 4.2 a thread that finds a merge due makes it
(`merging`). The window of S for a tuple of R that was taken when S had reached t_l::

    position     t_e                      edge            t_l
    .. expired .. |------ the index -------|-- the ring ---|  taken later ..

Tuples are inserted once their results are in the room, in any order of threads, and all tuples
before the edge are inserted: the index is searched below the edge only, so each tuple is found
once, in the index or in the ring. A stale edge is correct, too, and costs a longer ring search.

A tuple is removed from the index when no search can reach it any more, long after it has left the
window (*delayed deletes*): for each tuple that a task inserts, it removes up to two. They are
assigned when the task is taken, so that no two threads remove the same one.

Results that do not fit into the room are not truncated: their thread waits until the tuple is at
the head of the queue and gives it out itself.

The descents of a task are made one by one, as in the paper, or in lock-step, all of a side at once,
which is our addition: it overlaps the cache misses on the tree's nodes.

Threads come and go: with ``changes`` and ``every`` the first `every` tuples are taken by the first
``changes[0]`` threads, the next by the first ``changes[1]``, and so on; a thread that takes no part
finishes the work that it has begun. The output is the same.

With `timing` a thread records two latencies in ns, in histograms that it alone writes: from taking
a task until all tuples are completed and indexed, and from taking a tuple until giving it out, by
the thread that gives it out; see ``latency_of``.

Progress: that of the index, in which alone a step may wait. But a descheduled thread may hold the
mutex, the next tuple or a merge; others go on as far as the queue is long, and then their steps
answer NOT_READY.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np

from operators import registry
from operators.contract import ACCEPTED, END, FULL, NOT_READY, READY, Parameter, Variant
from operators.core.atomics import ACQUIRE, RELAXED, RELEASE, load, now, store
from operators.core.histogram import record
from operators.core.jit import inlined
from operators.core.marks import mark
from operators.core.vectors import peek, poke
from operators.index.family import sequence_of
from operators.index.shared import SharedIndexOperations
from operators.index.window import NEWEST, OLDEST
from operators.join.family import (
    FOUND,
    INDEX_FULL,
    MOST_THREADS,
    JoinOperations,
    State,
    Timing,
)
from operators.join.feed import NEITHER, side_of_next
from operators.join.merging import (
    NO_STAGE,
    STAGE,
    make_becomes_merger,
    make_help,
)
from operators.join.propagation import complete, make_propagate
from operators.join.shared_shown import EXTENDS, SHOWN
from operators.join.shared_state import (
    ASKED,
    AT,
    AT_WORK,
    BLOCKING,
    COUNTED,
    FREE,
    HOLDS,
    LOCK_STEP,
    LOWS,
    MOST_TASK,
    NON_BLOCKING,
    ONE_BY_ONE,
    OWNS,
    PHASE,
    REFUSED,
    REMOVE,
    REMOVE_UNTIL,
    SEEN,
    SIZE,
    STUCK,
    TASK,
    check_invariants_of,
    each_index,
    footprint_of,
    make_state,
    merge_ns,
    seen,
)
from operators.join.window import high_of, low_of
from operators.join.work_queue import (
    AT_THE_END,
    BUSY,
    DONE,
    DUE,
    EDGE,
    HEAD,
    HELD,
    HELD_BACK,
    HOLDING,
    LOCK,
    NEXT,
    NEXT_TASK,
    REMOVED,
    TAKEN_AT,
    TOOK,
    WAITING,
    assign_removals,
    has_run_ahead,
    holds_too_many,
    horizon_of,
    looks_free,
    looks_taken,
    looks_without_part,
    note_task,
    probed_by,
    search_ring,
    take_tuples,
    takes_part,
    task_words,
    try_edge,
    try_lock,
    unlock,
)

# --- (1) task acquisition -------------------------------------------------------------------------


def make_take(index: SharedIndexOperations, timed: bool) -> Callable[..., int]:
    """Return ``take(shared, worker, feed)``: takes a task, or returns why not."""
    merges, removes = index.merges is not None, index.merges is None
    becomes_merger = make_becomes_merger(index.merges) if index.merges else None

    @inlined
    def note_taken(queue, words, number, count, r, s):
        """Note the task's number, size and removals."""
        words[TASK], words[SIZE], words[AT] = number, count, 0
        words[PHASE] = AT_WORK
        for side in range(2):
            words[HOLDS + side] = queue.words[HELD + side]
            if removes:
                words[REMOVE + side] = queue.words[REMOVED + side]
                inserted = queue.words[NEXT + side] - (r if side == 0 else s)
                words[REMOVE_UNTIL + side] = assign_removals(queue, side, inserted)

    @inlined
    def take_next(queue, worker, feed):
        shared = queue.words
        r, s = shared[NEXT], shared[NEXT + 1]
        if side_of_next(feed, r, s) == NEITHER:
            # ACQUIRE: as in has_run_ahead, so that all work happens before the END.
            given = load(shared, HEAD, ACQUIRE)
            return AT_THE_END if given == shared[NEXT_TASK] else WAITING
        if not takes_part(queue, worker.number, r + s):
            return WAITING
        if merges:
            if becomes_merger(queue, worker.words, worker.r, 0):
                return DUE
            if queue.two_way and becomes_merger(queue, worker.words, worker.s, 1):
                return DUE
            if shared[HELD_BACK] > 0 or holds_too_many(queue, 0) or holds_too_many(queue, 1):
                return HOLDING
        if has_run_ahead(queue):
            return HOLDING
        number = shared[NEXT_TASK]
        horizon_r, horizon_s = horizon_of(queue, 0), horizon_of(queue, 1)
        count = take_tuples(queue, worker.task, feed)
        note_task(queue, number, count, horizon_r, horizon_s, timed)
        note_taken(queue, worker.words, number, count, r, s)
        # RELAXED: readers without the mutex need the number alone.
        store(shared, NEXT_TASK, number + 1, RELAXED)
        return TOOK

    @inlined
    def take(shared, worker, feed):
        queue, words = shared.queue, worker.words
        if words[REFUSED] != 0:
            if looks_taken(queue, feed) or looks_without_part(queue, worker.number, feed):
                return WAITING
            if not looks_free(queue, merges):
                return HOLDING
        if not try_lock(queue.words, LOCK):
            mark("shared_join: another thread takes a task")
            words[REFUSED] = 1
            return BUSY
        answer = take_next(queue, worker, feed)
        unlock(queue.words, LOCK)
        words[REFUSED] = answer != TOOK
        return answer

    return take


# --- (2) result generation ------------------------------------------------------------------------


def make_generate(index: SharedIndexOperations) -> tuple[Callable, Callable]:
    """Return ``begin_search(shared, worker)`` and ``generate(shared, worker, at)``.

    The first reads the edges and collects the searches of each index; the second writes the
    partners of a tuple into the thread's ``found``, and returns their number.
    """
    find, scan = index.find, index.scan

    @inlined
    def begin_search(shared, worker):
        queue, words, task = shared.queue, worker.words, worker.task
        for side in range(2):
            # ACQUIRE: all tuples before it are in the index; pairs with the RELEASE in move_edge.
            words[ASKED + side] = load(queue.words, EDGE + side, ACQUIRE)
        of_r, of_s = 0, 0
        for at in range(words[SIZE]):
            low = low_of(shared, peek(task.keys, at))
            if probed_by(queue, peek(task.sides, at)) == 0:
                poke(worker.lows_r, of_r, low)
                poke(worker.orders, at, of_r)
                of_r += 1
            else:
                poke(worker.lows_s, of_s, low)
                poke(worker.orders, at, of_s)
                of_s += 1
        words[LOWS], words[LOWS + 1] = of_r, of_s

    @inlined
    def look(shared, worker, at, side, view, stream, lows, spots):
        """Look for the partners of a tuple in one stream."""
        words, task = worker.words, worker.task
        key, begin, end = peek(task.keys, at), peek(task.earliest, at), peek(task.ends, at)
        low, high = low_of(shared, key), high_of(shared, key)
        indexed = min(words[ASKED + side], end)
        order, count = peek(worker.orders, at), 0
        if worker.together != 0:
            # The first tuple that searches an index descends for all tuples of the task that do.
            first, descents, spot = 0, words[LOWS + side], order * worker.spot_words
            descents = descents if order == 0 else 0
        else:
            first, descents, spot = order, int(begin < indexed), 0
        if descents > 0:
            find(view, lows, first, descents, spots)
        if begin < indexed:
            worker.asked[OLDEST] = sequence_of(begin)
            worker.asked[NEWEST] = indexed - 1
            count = scan(view, low, high, spots, spot, worker.asked, worker.found, 0)
            begin = indexed
        return search_ring(shared.queue, stream, begin, end, low, high, worker.found, count)

    @inlined
    def generate(shared, worker, at):
        queue = shared.queue
        if probed_by(queue, peek(worker.task.sides, at)) == 0:
            return look(shared, worker, at, 0, worker.r, queue.r, worker.lows_r, worker.spots_r)
        return look(shared, worker, at, 1, worker.s, queue.s, worker.lows_s, worker.spots_s)

    return begin_search, generate


# --- (3) index update -----------------------------------------------------------------------------


def make_update(index: SharedIndexOperations) -> Callable[..., int]:
    """Return ``update(shared, worker)``: a task's tuples into the index, expired ones out of it.

    It returns FULL when the index has no room.
    """
    insert, remove, removes = index.insert, index.remove, index.merges is None

    @inlined
    def remove_expired(queue, stream, words, view, side):
        for position in range(words[REMOVE + side], words[REMOVE_UNTIL + side]):
            remove(view, peek(stream.keys, position & (queue.slots - 1)), position)

    @inlined
    def update(shared, worker):
        queue, words, task = shared.queue, worker.words, worker.task
        for at in range(words[SIZE]):
            side = peek(task.sides, at)
            if words[HOLDS + side] == 0:
                key, position = peek(task.keys, at), peek(task.positions, at)
                if side == 0:
                    status = insert(worker.r, key, position)
                else:
                    status = insert(worker.s, key, position)
                if status == FULL:
                    return FULL
        if removes:
            remove_expired(queue, queue.r, words, worker.r, 0)
            if queue.two_way:
                remove_expired(queue, queue.s, words, worker.s, 1)
        return ACCEPTED

    return update


# --- a step ---------------------------------------------------------------------------------------


def make_go_on(
    index: SharedIndexOperations, timed: bool, give_itself: Callable[..., int]
) -> tuple[Callable[..., None], Callable[..., int]]:
    """Return ``begin_task(shared, worker, feed)`` and ``go_on(shared, worker, output, feed)``.

    The latter processes the tuples of a task: READY when the task is done or a tuple is stuck, else
    the answer of ``give_itself``.
    """
    enter, leave = index.enter, index.leave
    begin_search, generate = make_generate(index)
    update = make_update(index)

    @inlined
    def begin_task(shared, worker, feed):
        enter(worker.r)
        if shared.queue.two_way:
            enter(worker.s)
        if feed.probing:
            begin_search(shared, worker)

    @inlined
    def end_task(shared, worker):
        """Update the index and mark the task as done."""
        queue, words = shared.queue, worker.words
        if update(shared, worker) == FULL:
            return INDEX_FULL
        leave(worker.r)
        if queue.two_way:
            leave(worker.s)
        words[SEEN] += words[SIZE]
        words[PHASE] = FREE
        line = task_words(queue, words[TASK])
        if timed:
            record(worker.task_times, now() - peek(queue.tasks, line + TAKEN_AT), 1)
        # RELEASE: a thread that sees the task done finds it in the index; pairs with move_edge.
        store(queue.tasks, line + DONE, words[TASK] + 1, RELEASE)
        try_edge(queue)
        return READY

    @inlined
    def go_on(shared, worker, output, feed):
        queue, words = shared.queue, worker.words
        task, at, size = words[TASK], words[AT], words[SIZE]
        if words[PHASE] == STUCK:
            if not complete(queue, words, worker.number, task, at, worker.found, words[COUNTED]):
                return give_itself(shared, worker, output, feed)
            words[PHASE] = AT_WORK
            at += 1
        while at < size:
            count = generate(shared, worker, at) if feed.probing else 0
            if not complete(queue, words, worker.number, task, at, worker.found, count):
                words[AT], words[COUNTED], words[PHASE] = at, count, STUCK
                return READY
            at += 1
        return end_task(shared, worker)

    return begin_task, go_on


def make_step_over(
    index: SharedIndexOperations, timed: bool, on_output: Callable[..., None] | None
) -> Callable[..., int]:
    """Return the step of a join over an index."""
    merges = index.merges is not None
    merge, make_a_piece = make_help(index) if merges else (None, None)
    take = make_take(index, timed)
    propagate, give_itself = make_propagate(on_output, timed)
    begin_task, go_on = make_go_on(index, timed, give_itself)

    @inlined
    def without_task(shared, worker, output, feed, answer):
        """Propagate, move the edge or merge, so that tasks can be taken again."""
        if answer == AT_THE_END:
            return END
        if answer == DUE:
            return READY
        if answer == BUSY:
            return NOT_READY
        if propagate(shared, worker, output, feed):
            return FOUND
        if answer == HOLDING:
            try_edge(shared.queue)
            if merges and make_a_piece(shared, worker):
                return READY
        return NOT_READY

    @inlined
    def step(shared, worker, output, feed):
        words = worker.words
        if words[OWNS] != 0 and propagate(shared, worker, output, feed):
            return FOUND
        if merges and words[STAGE] != NO_STAGE:
            return merge(shared, worker)
        if words[PHASE] == FREE:
            answer = take(shared, worker, feed)
            if answer != TOOK:
                return without_task(shared, worker, output, feed, answer)
            begin_task(shared, worker, feed)
        status = go_on(shared, worker, output, feed)
        if status == READY and propagate(shared, worker, output, feed):
            return FOUND
        return status

    return step


# --- the joins ------------------------------------------------------------------------------------


def make_operations(index: SharedIndexOperations) -> JoinOperations:
    """Return the operations of a join over an index that several threads use."""

    def make_join(window: int, half_width: int, **parameters: Any) -> State:
        """Return an empty join; parameters and errors are those of ``make_state``."""
        return make_state(index, window, half_width, **parameters)

    step_with = cache(lambda timed, on_output: make_step_over(index, timed, on_output))

    def make_step(
        timing: Timing | None = None,
        on_output: Callable[..., None] | None = None,
        **parameters: Any,
    ) -> Callable[..., int]:
        """Return the step, which does not depend on the join's parameters.

        With `timing` it records the latencies that ``latency_of`` returns.
        """
        return step_with(timing is not None, on_output)

    def inserted(state: State) -> np.ndarray:
        if index.inserted is None:
            return np.zeros(0, dtype=np.int64)
        return np.concatenate([index.inserted(each) for each in each_index(state)])

    def cycle(state: State) -> int:
        return index.cycle(state.shared.indexes[0]) if index.cycle else 1

    return JoinOperations(
        make_state=make_join,
        make_step=make_step,
        seen=seen,
        merge_ns=merge_ns,
        footprint=lambda state: footprint_of(index, state),
        inserted=inserted,
        cycle=cycle,
        check_invariants=lambda state: check_invariants_of(index, state),
    )


PARAMETERS = (
    Parameter("threads", 2, 1, MOST_THREADS, "threads", "that share the work"),
    Parameter("task_size", 8, 1, MOST_TASK, "tuples", "that a thread takes at a time"),
    Parameter(
        "descents",
        ONE_BY_ONE,
        meaning="of a task's tuples in the index",
        choices=(ONE_BY_ONE, LOCK_STEP),
    ),
)
MERGE = Parameter(
    "merge",
    NON_BLOCKING,
    meaning="whether the join goes on while an index merges",
    choices=(NON_BLOCKING, BLOCKING),
)


def variant_over(index: Variant) -> Variant:
    """Return the join over an index that several threads use."""
    shared = index.operations.shared
    return Variant(
        id=index.id,
        family="join",
        title=index.title,
        paper="pim_tree",
        section="4",
        operations=make_operations(shared),
        order="pairs in the order of arrival of the probing tuple",
        # A step waits only in the index; if other threads have to go first it answers NOT_READY.
        progress=index.progress,
        threads={"joiner": f"1 to {MOST_THREADS}, which take tasks from one queue"},
        capacity="the tuples of a window, and those that tasks run ahead",
        parameters=(*PARAMETERS, *((MERGE,) if shared.merges else ()), *index.parameters),
        look=index.look,
        extended=index.extended,
        extends=EXTENDS.get(index.id, index.extends),
        shown=(*index.shown, *SHOWN.get(index.id, ())),
    )


VARIANTS = tuple(
    variant_over(index) for index in registry.declared_in("index") if index.operations.shared
)
