"""The work queue of the parallel join, and the sliding windows that its tasks fill.

Source: section 4.1 of "Parallel Index-based Stream Join on a Multicore CPU", figures 5 and 6.
Tuples of both streams stand in one queue in the order of their arrival. A thread takes the next
`task_size` of them under the queue's mutex, and with that they enter the sliding windows::

    tasks        ..  4     |  5     |  6     |  7     |  8     |  9     |  10 ..
    tuples         ccc ccc | cca aaa| ccc ccc| aaa aaa| ccc ccc| aaa aaa| not taken yet
                          ^ head: given out so far      ^ edge: indexed so far

A tuple is *available* until it is taken; *active*, then, until its results are in its thread's room
of shared memory; *completed* until they are given out. Its word in ``statuses`` is 0 until it is
completed, and then says whose room they lie in, where, and how many they are. A task is *done* when
it is completed and its tuples are in the index; its word DONE is its number and one more then, so
that nothing has to be set back.

The *edge* is the first task that is not done: before the first tuples that it has of each stream
everything is indexed. While an index merges, the edge of its stream stays where it is
(`operators.join.merging`); ``PASSED`` goes on and says where it will be.

What a thread reads and writes without the mutex is bounded by how far tasks run ahead: a task is
taken when fewer than ``tasks`` of those before it are not given out or not done. With n tuples a
task and Q tasks, for either stream (``slack_of``):

1. A tuple that may be asked for is one of the last ``window + (Q + 1) n`` taken: t_e of a task that
   is not given out lies no more than a window before its begin.
2. A tuple may be removed from the index when it is before the edge, and before t_e of all tuples
   that are not given out: ``HORIZON`` is that of the last task that was. A task removes up to two
   for each of the stream that it inserts, if they are there. So as long as there are two, tuples
   that are not removed become fewer; where there are not, there are no more than what 1 says and
   2 n. Those that tasks under way remove are 2 Q n more: in all ``window + (3 Q + 4) n``.
3. The ring of a sliding window has so many slots, and as many as tuples may be held back by a
   merge. So a slot is taken for another tuple when nobody looks at the one that it has.

# ASSUME: the paper calls the latest tuple of a window t_l where it filters those before it, and the
# earliest one t_e where the search ends; they are exchanged there. Here t_e is where a window
# begins.
# ASSUME: the paper's edge is a tuple. Here it is that of a task: a word a task instead of a word a
# tuple, and no more than a task that is searched tuple by tuple although it is indexed.
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

# Words of the queue. What is written together lies on one line with its lock: for each task these
# lines go from core to core.
# The mutex. Under it: tasks taken so far, which is read without it, too; the next tuple of R and of
# S, where they lie in memory, and which tuple of each is removed next.
LOCK, NEXT_TASK, NEXT, PLACE, REMOVED = 0, 1, 2, 4, 6
# Under the mutex, and seldom written: by side, where time windows begin, whether tuples are not
# indexed now, and whether a merge is under way; merges for which no task is given out now; how many
# are under way, since when, and how long there were any before.
CURSOR, HELD, MERGING = LINE_WORDS, LINE_WORDS + 2, LINE_WORDS + 4
HELD_BACK = LINE_WORDS + 6
MERGES, MERGES_BEGAN, MERGE_NS = 2 * LINE_WORDS, 2 * LINE_WORDS + 1, 2 * LINE_WORDS + 2
# Of whoever has the output: the first task that is not given out, and how many of its tuples are;
# read by all, too: HORIZON, by side, before which no tuple is asked for.
OUTPUT_LOCK = 3 * LINE_WORDS
HEAD, GIVEN, HORIZON = OUTPUT_LOCK + 1, OUTPUT_LOCK + 2, OUTPUT_LOCK + 3
# Of whoever moves the edge: the first task that is not done, the first tuple of each stream that is
# not indexed, where that would be without merges, and whether it stays because of one.
EDGE_LOCK = 4 * LINE_WORDS
EDGE_TASK, EDGE, PASSED, FROZEN = EDGE_LOCK + 1, EDGE_LOCK + 2, EDGE_LOCK + 4, EDGE_LOCK + 6
QUEUE_WORDS = 5 * LINE_WORDS

# Words of a task in the ring of them, a line each: its number and one more when it is done; how
# many tuples it has; the positions behind its last ones; before which no tuple of it or of later
# ones asks for any; when it was taken, if somebody wants to know.
DONE, COUNT_OF, END_OF, HORIZON_OF, TAKEN_AT = 0, 1, 2, 4, 6

# What ``take`` answers.
TOOK = 1  # a task
BUSY = 2  # another thread has the mutex
HOLDING = 3  # a merge holds assignment back, or tasks have run too far ahead
DUE = 4  # a merge, which this thread has to make; of which stream is in its words
AT_THE_END = 5  # all tuples are given out
WAITING = 6  # all tuples are taken, and not all of them given out; or the thread has no part now


class Stream(NamedTuple):
    """A stream's sliding window: a ring, in which a tuple's slot is its position modulo its size.

    Behind the last slot the first ones come once more, so that a search reads across the end.
    """

    keys: np.ndarray  # (slots + WITHIN)
    times: np.ndarray  # (slots) of a time window, else one word that nobody reads


class Queue(NamedTuple):
    """What all threads share, but for the indexes and the state of merges."""

    words: np.ndarray  # see above
    tasks: np.ndarray  # (tasks * LINE_WORDS): see above
    statuses: np.ndarray  # (tasks * stride): a word a tuple
    # (threads * room_words): results, of each thread in a ring of its own.
    rooms: np.ndarray
    freed: np.ndarray  # (threads * LINE_WORDS): how much of it was given out, counted on
    r: Stream
    s: Stream  # of a self join: that of R once more
    task_size: int
    task_mask: int  # tasks in the ring, less one
    stride: int  # words of a task in `statuses`
    room: int  # words of such a ring, a power of two
    room_words: int  # and with those that lie behind it, where nothing is kept
    slots: int  # of a stream's ring, a power of two
    window: int
    span: int
    two_way: int
    held_most: int  # tuples of a stream that a merge may hold back, and a task
    every: int  # tuples until other threads take part
    changes: np.ndarray  # how many threads take part


class Task(NamedTuple):
    """The task that a thread has: columns, a place a tuple in the order of arrival."""

    sides: np.ndarray
    positions: np.ndarray
    keys: np.ndarray
    earliest: np.ndarray  # t_e, a position of the other stream
    ends: np.ndarray  # the position behind t_l


def power_of_two(least: int) -> int:
    """Return the least power of two that is no less.

    Examples
    --------
    >>> power_of_two(9)
    16
    """
    return 1 << max(least - 1, 0).bit_length()


def slack_of(tasks: int, task_size: int) -> int:
    """Return how many tuples of a stream may be indexed and not removed, beyond a window."""
    return (3 * tasks + 4) * task_size


def make_task(task_size: int) -> Task:
    """Return room for the tuples of a task."""
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
    """Take one of the queue's three locks, or say that another thread has it; nobody waits."""
    # RELAXED: a look that keeps the line shared until it is worth an exchange. ACQUIRE keeps what
    # follows behind it, and sees what the thread did that had the lock before; pairs with unlock.
    return load(words, lock, RELAXED) == 0 and exchange(words, lock, 1, ACQUIRE) == 0


@inlined
def unlock(words, lock):
    """Give a lock back."""
    # RELEASE keeps what precedes it before it; pairs with the exchange in try_lock.
    store(words, lock, 0, RELEASE)


# --- taking a task --------------------------------------------------------------------------------


@inlined
def probed_by(queue, side):
    """Return the side whose window a tuple of `side` looks at."""
    return (1 - side) * queue.two_way


@inlined
def task_words(queue, task):
    """Return where the words of a task lie."""
    return (task & queue.task_mask) * LINE_WORDS


@inlined
def horizon_of(queue, side):
    """Return before which position of a stream no tuple that is not taken yet asks for any."""
    words = queue.words
    return max(words[NEXT + side] - queue.window, words[CURSOR + side])


@inlined
def takes_part(queue, number, taken):
    """Whether a thread takes part: how many do changes with the tuples that were taken."""
    phase = min(taken // queue.every, len(queue.changes) - 1)
    return number < queue.changes[phase]


@inlined
def has_run_ahead(queue):
    """Whether the next task has to wait until earlier ones are given out and done."""
    words = queue.words
    # ACQUIRE: what threads did for the tasks before is done, and their slots are nobody's; pairs
    # with the RELEASE of whoever moves head and edge.
    behind_all = min(load(words, HEAD, ACQUIRE), load(words, EDGE_TASK, ACQUIRE))
    return words[NEXT_TASK] - behind_all > queue.task_mask


@inlined
def holds_too_many(queue, side):
    """Whether a merge holds back as many tuples of a stream as it may."""
    # ACQUIRE: what is before the edge is in the index, and its slots are nobody's; pairs with the
    # RELEASE of whoever moves the edge.
    waiting = queue.words[NEXT + side] - load(queue.words, EDGE + side, ACQUIRE)
    return waiting + queue.task_size > queue.held_most


@inlined
def looks_free(queue, merges):
    """Whether it looks as if a task could be taken: for a thread that could not, without the mutex.

    A thread that waits writes nothing, and takes no line from those that it waits for.
    """
    words = queue.words
    # RELAXED, all of them: where it is old news, who looks again sees it.
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
    """Whether it looks as if all tuples were taken, and not all of them given out, likewise."""
    words = queue.words
    # RELAXED, all of them: these numbers grow, and who looks again sees it.
    left = load(words, NEXT, RELAXED) < feed.end_r or load(words, NEXT + 1, RELAXED) < feed.end_s
    return not left and load(words, HEAD, RELAXED) != load(words, NEXT_TASK, RELAXED)


@inlined
def looks_without_part(queue, number, feed):
    """Whether it looks as if a thread had no part now, and others had, likewise."""
    words = queue.words
    r, s = load(words, NEXT, RELAXED), load(words, NEXT + 1, RELAXED)
    return (r < feed.end_r or s < feed.end_s) and not takes_part(queue, number, r + s)


@inlined
def earliest_of(queue, other, probed, time, end):
    """Return t_e of a tuple whose t_l is right before `end`; under the mutex.

    A time window begins where no tuple is too old; what that asks is not asked for again.
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
    """Let a tuple, which lies at a place in memory, enter its window as tuple `at` of a task.

    `end` is the position behind t_l. Under the mutex.
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
    """Take up to `task_size` tuples into a task, and return how many; under the mutex."""
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
    # RELAXED: who looks without the mutex asks for the numbers alone.
    store(words, NEXT, r, RELAXED)
    store(words, NEXT + 1, s, RELAXED)
    words[PLACE], words[PLACE + 1] = place_r, place_s
    return count


@inlined
def note_task(queue, number, count, horizon_r, horizon_s, timed):
    """Write what others have to know of a task; under the mutex."""
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
    """Return before which position tuples may be removed from the index."""
    # ACQUIRE: those who asked for them have ended, and those who inserted them; pair with the
    # RELEASE of whoever moves head and edge.
    asked = load(queue.words, HORIZON + side, ACQUIRE)
    return min(asked, load(queue.words, EDGE + side, ACQUIRE))


@inlined
def assign_removals(queue, side, inserted):
    """Return up to which position a task removes tuples of a stream, of which it inserts some."""
    first = queue.words[REMOVED + side]
    end = max(min(removable(queue, side), first + 2 * inserted), first)
    queue.words[REMOVED + side] = end
    return end


# --- the ring of a sliding window -----------------------------------------------------------------


@inlined
def search_ring(queue, stream, begin, end, low, high, out, count):
    """Write the positions from `begin` up to `end` whose keys lie in a band behind ``out[:count]``.

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
    """Move the edge behind the tasks that are done; for who has EDGE_LOCK."""
    words = queue.words
    first = words[EDGE_TASK]
    task = first
    # ACQUIRE sees what was inserted for the task; pairs with the RELEASE of who has done it.
    while load(queue.tasks, task_words(queue, task) + DONE, ACQUIRE) == task + 1:
        line = task_words(queue, task)
        for side in range(2):
            words[PASSED + side] = peek(queue.tasks, line + END_OF + side)
        task += 1
    if task != first:
        for side in range(2):
            if words[FROZEN + side] == 0:
                # RELEASE: who reads the edge finds in the index what is before it.
                store(words, EDGE + side, words[PASSED + side], RELEASE)
        # RELEASE: who reuses the tasks' words comes behind those who read them.
        store(words, EDGE_TASK, task, RELEASE)


@inlined
def edge_may_move(queue):
    """Whether it looks as if the first task that was not done is done."""
    # RELAXED: where it is old news, who looks again sees it, and who moves the edge looks itself.
    task = load(queue.words, EDGE_TASK, RELAXED)
    return load(queue.tasks, task_words(queue, task) + DONE, RELAXED) == task + 1


@inlined
def try_edge(queue):
    """Move the edge, if there is cause and no other thread is about to."""
    if not edge_may_move(queue):
        return
    if try_lock(queue.words, EDGE_LOCK):
        move_edge(queue)
        unlock(queue.words, EDGE_LOCK)
    else:
        mark("work_queue: another thread moves the edge")
