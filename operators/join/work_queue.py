"""The work queue of the parallel join, and the sliding windows that tasks fill.

Source: section 4.1 of "Parallel Index-based Stream Join on a Multicore CPU", figures 5 and 6.
Tuples of both streams form one queue in the order of arrival. A thread takes the next `task_size`
of them under the queue's mutex, and thereby enters them into the sliding windows::

    tasks        ..  4     |  5     |  6     |  7     |  8     |  9     |  10 ..
    tuples         ccc ccc | cca aaa| ccc ccc| aaa aaa| ccc ccc| aaa aaa| not taken yet
                          ^ head: given out so far      ^ edge: indexed so far

A tuple is *available* until it is taken, then *active* until the results are in the thread's room
of shared memory, then *completed* until the results are given out. The tuple's word in ``statuses``
is 0 until it is completed; then it holds the thread of the room, the position in it and the number
of results. A task is *done* when it is completed and all tuples are in the index. The word DONE is
then the task's number plus one, so that it never has to be reset.

The *edge* is the first task that is not done: of both streams, all tuples before that task are
indexed. While an index merges, the edge of the merging stream is frozen
(`operators.join.merging`); ``PASSED`` advances and records where the edge will be.

The memory that threads access without the mutex is bounded, because tasks run ahead only so far: a
task is taken only while fewer than ``tasks`` earlier ones have yet to be given out or done. With n
tuples a task and Q tasks, for either stream (``slack_of``):

1. A tuple that a search may reach is one of the last ``window + (Q + 1) n`` taken: t_e of a task
   not yet given out lies at most a window before the task.
2. A tuple may be removed from the index once it is before the edge, and before t_e of every tuple
   not yet given out; ``HORIZON`` is this bound as of the last task given out. For each tuple of a
   stream that a task inserts it removes up to two, if they are removable. While two are, the number
   of unremoved tuples shrinks; otherwise there are at most those of 1 and 2 n. Tasks in flight have
   yet to remove 2 Q n more: in all ``window + (3 Q + 4) n``.
3. The ring of a sliding window has that many slots, and one for each tuple that a merge may hold
   back. A slot is therefore reused only when no thread reads the tuple in it.

# ASSUME: in the paper t_l is the latest tuple of a window and t_e the earliest, but it filters the
# tuples before t_l and ends the search at t_e: the names are exchanged there. Here a window begins
# at t_e.
# ASSUME: the paper's edge is a tuple, here a task: one word a task instead of one a tuple, and at
# most one task is searched tuple by tuple although it is indexed.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from operators.core.atomics import ACQUIRE, RELAXED, RELEASE, exchange, load, now, store
from operators.core.integers import bit_length, wrapping_add
from operators.core.jit import inlined
from operators.core.layout import LINE_WORDS, aligned_array, aligned_words, whole_lines
from operators.core.marks import mark
from operators.core.vectors import COPIED, WITHIN, peek, poke, within_some
from operators.join.feed import NEITHER, side_of_next, time_of
from operators.join.window import behind

# Words of the queue. Words written together share a cache line with their lock: each task moves
# these lines from core to core.
# The mutex. Under it: tasks taken so far, which is read without it, too; by side the next tuple,
# that tuple's slot in memory, and the next tuple to remove.
LOCK, NEXT_TASK, NEXT, PLACE, REMOVED = 0, 1, 2, 4, 6
# Under the mutex, seldom written. By side: the begin of time windows, whether tuples are held back
# from the index, and whether a merge is in flight. Then: how many merges stop the assignment of
# tasks; how many merges are in flight, since when, and the total time of earlier ones.
CURSOR, HELD, MERGING = LINE_WORDS, LINE_WORDS + 2, LINE_WORDS + 4
HELD_BACK = LINE_WORDS + 6
MERGES, MERGES_BEGAN, MERGE_NS = 2 * LINE_WORDS, 2 * LINE_WORDS + 1, 2 * LINE_WORDS + 2
# Under OUTPUT_LOCK: the first task that is not given out, and how many of that task's tuples are.
# HORIZON, by side, is read by all threads: no search reaches a tuple before it.
OUTPUT_LOCK = 3 * LINE_WORDS
HEAD, GIVEN, HORIZON = OUTPUT_LOCK + 1, OUTPUT_LOCK + 2, OUTPUT_LOCK + 3
# Under EDGE_LOCK: the first task that is not done; by side the first tuple that is not indexed,
# where it would be without merges, and whether a merge freezes it.
EDGE_LOCK = 4 * LINE_WORDS
EDGE_TASK, EDGE, PASSED, FROZEN = EDGE_LOCK + 1, EDGE_LOCK + 2, EDGE_LOCK + 4, EDGE_LOCK + 6
QUEUE_WORDS = 5 * LINE_WORDS

# Words of a task, a cache line each in a ring: the number plus one when it is done; the number of
# tuples; by side the position after the last tuple, and the position before which neither this task
# nor a later one searches; the time of taking, if timed.
DONE, COUNT_OF, END_OF, HORIZON_OF, TAKEN_AT = 0, 1, 2, 4, 6

# Answers of ``take``.
TOOK = 1  # a task
BUSY = 2  # another thread has the mutex
HOLDING = 3  # a merge stops assignment, or tasks have run too far ahead
DUE = 4  # a merge, which this thread has to make; the thread's words name the stream
AT_THE_END = 5  # all tuples are given out
WAITING = 6  # all tuples are taken but not all given out; or the thread takes no part now


class Stream(NamedTuple):
    """A stream's sliding window: a ring, where the slot of a tuple is its position modulo the size.

    The first slots are repeated after the last, so that a search reads across the end.
    """

    keys: np.ndarray  # (slots + WITHIN)
    times: np.ndarray  # (slots) of a time window, else one unused word


class Queue(NamedTuple):
    """The data that all threads share, except indexes and the state of merges."""

    words: np.ndarray  # see above
    tasks: np.ndarray  # (tasks * LINE_WORDS): see above
    statuses: np.ndarray  # (tasks * stride): a word a tuple
    # (threads * room_words): results, in one ring a thread.
    rooms: np.ndarray
    freed: np.ndarray  # (threads * LINE_WORDS): running total of results given out
    r: Stream
    s: Stream  # in a self join: `r` again
    task_size: int
    task_mask: int  # tasks in the ring, less one
    stride: int  # words of a task in `statuses`
    room: int  # words of such a ring, a power of two
    room_words: int  # with the padding after it
    slots: int  # of a stream's ring, a power of two
    window: int
    span: int
    two_way: int
    held_most: int  # tuples of a stream that a merge may hold back, and a task
    every: int  # tuples until other threads take part
    changes: np.ndarray  # how many threads take part


class Task(NamedTuple):
    """The task of a thread: columns, with one entry a tuple in the order of arrival."""

    sides: np.ndarray
    positions: np.ndarray
    keys: np.ndarray
    earliest: np.ndarray  # t_e, a position of the other stream
    ends: np.ndarray  # the position after t_l


def power_of_two(least: int) -> int:
    """Return the least power of two that is `least` or more.

    Examples
    --------
    >>> power_of_two(9)
    16
    """
    return 1 << max(least - 1, 0).bit_length()


def slack_of(tasks: int, task_size: int) -> int:
    """Return the largest number of indexed tuples of a stream, beyond a window."""
    return (3 * tasks + 4) * task_size


def make_task(task_size: int) -> Task:
    """Return an empty task."""
    return Task(*(aligned_words(task_size) for _ in Task._fields))


def make_queue(
    window: int,
    *,
    key_type: type,
    two_way: bool,
    span: int,
    threads: int,
    task_size: int,
    tasks: int,
    room: int,
    held_most: int,
    changes: tuple[int, ...] = (),
    every: int = 1,
) -> Queue:
    """Return an empty queue and empty windows."""
    stride = whole_lines(task_size)
    room_words = whole_lines(room + COPIED)
    slots = power_of_two(window + slack_of(tasks, task_size) + held_most + WITHIN)

    def make_stream() -> Stream:
        return Stream(aligned_array(slots + WITHIN, key_type), aligned_words(slots if span else 1))

    r = make_stream()
    return Queue(
        words=aligned_words(QUEUE_WORDS),
        tasks=aligned_words(tasks * LINE_WORDS),
        statuses=aligned_words(tasks * stride),
        rooms=aligned_words(threads * room_words),
        freed=aligned_words(threads * LINE_WORDS),
        r=r,
        s=make_stream() if two_way else r,
        task_size=task_size,
        task_mask=tasks - 1,
        stride=stride,
        room=room,
        room_words=room_words,
        slots=slots,
        window=window,
        span=span,
        two_way=int(two_way),
        held_most=held_most,
        every=every,
        changes=np.array(changes or (threads,), dtype=np.int64),
    )


# --- the mutex ------------------------------------------------------------------------------------


@inlined
def try_lock(words, lock):
    """Try to take one of the queue's three locks, without waiting; return whether it was free."""
    # RELAXED: a test that keeps the cache line shared until an exchange may succeed. ACQUIRE: the
    # previous critical section happens before this one; pairs with the RELEASE in unlock.
    return load(words, lock, RELAXED) == 0 and exchange(words, lock, 1, ACQUIRE) == 0


@inlined
def unlock(words, lock):
    """Give a lock back."""
    # RELEASE: publishes the critical section; pairs with the exchange in try_lock.
    store(words, lock, 0, RELEASE)


# --- taking a task --------------------------------------------------------------------------------


@inlined
def probed_by(queue, side):
    """Return the side whose window a tuple of `side` probes."""
    return (1 - side) * queue.two_way


@inlined
def task_words(queue, task):
    """Return the offset of a task's words."""
    return (task & queue.task_mask) * LINE_WORDS


@inlined
def horizon_of(queue, side):
    """Return the position of a stream before which no tuple not yet taken will search."""
    words = queue.words
    return max(words[NEXT + side] - queue.window, words[CURSOR + side])


@inlined
def takes_part(queue, number, taken):
    """Whether a thread takes part: the number of active threads depends on `taken`."""
    phase = min(taken // queue.every, len(queue.changes) - 1)
    return number < queue.changes[phase]


@inlined
def has_run_ahead(queue):
    """Whether the next task has to wait until earlier ones are given out and done."""
    words = queue.words
    # ACQUIRE: the work on earlier tasks happened before, and their slots are free; pairs with the
    # RELEASE that moves head or edge.
    behind_all = min(load(words, HEAD, ACQUIRE), load(words, EDGE_TASK, ACQUIRE))
    return words[NEXT_TASK] - behind_all > queue.task_mask


@inlined
def holds_too_many(queue, side):
    """Whether a merge holds back as many tuples of a stream as it may."""
    # ACQUIRE: all tuples before the edge are in the index, and their slots free; pairs with the
    # RELEASE that moves the edge.
    waiting = queue.words[NEXT + side] - load(queue.words, EDGE + side, ACQUIRE)
    return waiting + queue.task_size > queue.held_most


@inlined
def looks_free(queue, merges):
    """Whether a task can probably be taken, without the mutex, for a thread that was refused.

    A waiting thread writes nothing, and so takes no cache line from the threads it waits for.
    """
    words = queue.words
    # RELAXED, all of them: a stale value is corrected at the next test.
    behind_all = min(load(words, HEAD, RELAXED), load(words, EDGE_TASK, RELAXED))
    free = load(words, NEXT_TASK, RELAXED) - behind_all <= queue.task_mask
    if merges:
        free = free and load(words, HELD_BACK, RELAXED) == 0
        for side in range(2):
            waiting = load(words, NEXT + side, RELAXED) - load(words, EDGE + side, RELAXED)
            free = free and waiting + queue.task_size <= queue.held_most
    return free


@inlined
def looks_taken(queue, feed):
    """Whether all tuples are probably taken but not all given out, without the mutex."""
    words = queue.words
    # RELAXED, all of them: these numbers only grow, and the next test sees later ones.
    left = load(words, NEXT, RELAXED) < feed.end_r or load(words, NEXT + 1, RELAXED) < feed.end_s
    return not left and load(words, HEAD, RELAXED) != load(words, NEXT_TASK, RELAXED)


@inlined
def looks_without_part(queue, number, feed):
    """Whether a thread probably takes no part now while others do, without the mutex."""
    words = queue.words
    r, s = load(words, NEXT, RELAXED), load(words, NEXT + 1, RELAXED)
    return (r < feed.end_r or s < feed.end_s) and not takes_part(queue, number, r + s)


@inlined
def earliest_of(queue, other, probed, time, end):
    """Return t_e of a tuple whose t_l is right before `end`; under the mutex.

    A time window begins after the tuples that are too old; CURSOR makes the search incremental.
    """
    earliest = max(end - queue.window, 0)
    if queue.span > 0:
        earliest = max(earliest, queue.words[CURSOR + probed])
        while earliest < end:
            if peek(other.times, earliest & (queue.slots - 1)) >= time - queue.span:
                break
            earliest += 1
        queue.words[CURSOR + probed] = earliest
    return earliest


@inlined
def enter_window(queue, mine, other, task, feed, side, position, place, end, at):
    """Enter the tuple at slot `place` in memory into the window, as tuple `at` of a task.

    `end` is the position after t_l. Under the mutex.
    """
    key = peek(feed.r if side == 0 else feed.s, place)
    slot = position & (queue.slots - 1)
    poke(mine.keys, slot, key)
    if slot < WITHIN:
        poke(mine.keys, queue.slots + slot, key)
    time = 0
    if queue.span > 0:
        time = time_of(feed, side, position)
        poke(mine.times, slot, time)
    poke(task.sides, at, side)
    poke(task.positions, at, position)
    poke(task.keys, at, key)
    poke(task.earliest, at, earliest_of(queue, other, probed_by(queue, side), time, end))
    poke(task.ends, at, end)


@inlined
def take_tuples(queue, task, feed):
    """Take up to `task_size` tuples into a task and return their number; under the mutex."""
    words = queue.words
    r, s, place_r, place_s = words[NEXT], words[NEXT + 1], words[PLACE], words[PLACE + 1]
    count = 0
    while count < queue.task_size:
        side = side_of_next(feed, r, s)
        if side == NEITHER:
            break
        if side == 0:
            end = s if queue.two_way else r
            enter_window(queue, queue.r, queue.s, task, feed, 0, r, place_r, end, count)
            r, place_r = r + 1, behind(place_r, len(feed.r))
        else:
            enter_window(queue, queue.s, queue.r, task, feed, 1, s, place_s, r, count)
            s, place_s = s + 1, behind(place_s, len(feed.s))
        count += 1
    # RELAXED: readers without the mutex need the numbers alone.
    store(words, NEXT, r, RELAXED)
    store(words, NEXT + 1, s, RELAXED)
    words[PLACE], words[PLACE + 1] = place_r, place_s
    return count


@inlined
def note_task(queue, number, count, horizon_r, horizon_s, timed):
    """Write the words of a task that other threads read; under the mutex."""
    words, line = queue.tasks, task_words(queue, number)
    poke(words, line + COUNT_OF, count)
    poke(words, line + END_OF, queue.words[NEXT])
    poke(words, line + END_OF + 1, queue.words[NEXT + 1])
    poke(words, line + HORIZON_OF, horizon_r)
    poke(words, line + HORIZON_OF + 1, horizon_s)
    if timed:
        poke(words, line + TAKEN_AT, now())


@inlined
def removable(queue, side):
    """Return the position before which tuples may be removed from the index."""
    # ACQUIRE: searches for these tuples and their insertions happened before; pairs with the
    # RELEASE that moves head or edge.
    asked = load(queue.words, HORIZON + side, ACQUIRE)
    return min(asked, load(queue.words, EDGE + side, ACQUIRE))


@inlined
def assign_removals(queue, side, inserted):
    """Return the end of the range that a task inserting `inserted` tuples of a stream removes."""
    first = queue.words[REMOVED + side]
    end = max(min(removable(queue, side), first + 2 * inserted), first)
    queue.words[REMOVED + side] = end
    return end


# --- the ring of a sliding window -----------------------------------------------------------------


@inlined
def search_ring(queue, stream, begin, end, low, high, out, count):
    """Append the positions in ``[begin, end)`` whose keys lie in a band to ``out[:count]``.

    Returns the new count.
    """
    while begin < end:
        slot = begin & (queue.slots - 1)
        found = within_some(stream.keys, slot, min(end - begin, WITHIN), low, high)
        while found != 0:
            lowest = found & -found
            poke(out, count, begin + bit_length(lowest) - 1)
            count += 1
            found = wrapping_add(found ^ lowest, 0)  # the topmost bit, too
        begin += WITHIN
    return count


# --- the edge -------------------------------------------------------------------------------------


@inlined
def move_edge(queue):
    """Move the edge past the tasks that are done; under EDGE_LOCK."""
    words = queue.words
    first = words[EDGE_TASK]
    task = first
    # ACQUIRE: sees the insertions of the task; pairs with the RELEASE of DONE in end_task.
    while load(queue.tasks, task_words(queue, task) + DONE, ACQUIRE) == task + 1:
        line = task_words(queue, task)
        for side in range(2):
            words[PASSED + side] = peek(queue.tasks, line + END_OF + side)
        task += 1
    if task != first:
        for side in range(2):
            if words[FROZEN + side] == 0:
                # RELEASE: a reader of the edge finds all tuples before it in the index.
                store(words, EDGE + side, words[PASSED + side], RELEASE)
        # RELEASE: the words of these tasks are read before another thread reuses them.
        store(words, EDGE_TASK, task, RELEASE)


@inlined
def edge_may_move(queue):
    """Whether the task at the edge is probably done, without the lock."""
    # RELAXED: a stale value is corrected at the next test, and move_edge loads again.
    task = load(queue.words, EDGE_TASK, RELAXED)
    return load(queue.tasks, task_words(queue, task) + DONE, RELAXED) == task + 1


@inlined
def try_edge(queue):
    """Move the edge, if the task there is done and no other thread has the lock."""
    if not edge_may_move(queue):
        return
    if try_lock(queue.words, EDGE_LOCK):
        move_edge(queue)
        unlock(queue.words, EDGE_LOCK)
    else:
        mark("work_queue: another thread moves the edge")
