"""Result propagation of the parallel join: in order, whichever threads have found the results.

Source: section 4.1 of "Parallel Index-based Stream Join on a Multicore CPU", result propagation. A
thread leaves the results of a tuple in its room of shared memory and marks the tuple's word as
completed. The thread that gets OUTPUT_LOCK, by a test-and-set, gives out the completed tuples at
the head of the queue; a thread that does not get it goes on with another task::

    room of thread 2      [ .. 17 4 | 9 | 5 8 21 | .. ]        a ring: emptied in order, too
                               ^ 2 of tuple 40   ^ 3 of tuple 42
    statuses              40: thread 2, from here, 2      41: 0, active      42: thread 2, ...

A thread's tasks are given out in the order in which it takes them, so the room empties as it fills.
Results that find no room wait with their thread until there is room or the tuple is at the head;
then the thread gives it out itself (`operators.join.shared_join`). Memory is therefore bounded and
no result is truncated. No thread waits for ever: the least tuple that is not given out is either
active and being processed, or completed, or its thread waits and finds it at the head.

Linearization points: of a tuple's completion, the store of the tuple's word; of giving it out, the
store of HEAD or GIVEN that passes it.
"""

from __future__ import annotations

from collections.abc import Callable

from operators.contract import NOT_READY
from operators.core.atomics import ACQUIRE, RELAXED, RELEASE, load, now, store
from operators.core.histogram import record
from operators.core.jit import inlined
from operators.core.layout import LINE_WORDS
from operators.core.marks import mark
from operators.core.vectors import COPIED, copy_8, peek
from operators.join.family import COUNT, FOUND
from operators.join.shared_state import (
    AT,
    AT_WORK,
    COUNT_BITS,
    COUNTED,
    FREED,
    OWNS,
    PHASE,
    PUT,
    TASK,
)
from operators.join.work_queue import (
    COUNT_OF,
    GIVEN,
    HEAD,
    HORIZON,
    HORIZON_OF,
    OUTPUT_LOCK,
    TAKEN_AT,
    task_words,
    try_lock,
    unlock,
)

# The word of a completed tuple, from the lowest bit on: COMPLETED; the thread; the number of
# results, which is less than a room; the number of results that the thread had put into the room
# before, of which 32 bits are kept.
THREAD_BITS, PLACE_BITS = 4, 32
COMPLETED = 1
PLACE_MASK = (1 << PLACE_BITS) - 1


@inlined
def status_of(number, count, place):
    """Return the word of a completed tuple."""
    low = COMPLETED | number << 1 | count << (1 + THREAD_BITS)
    return low | (place & PLACE_MASK) << (1 + THREAD_BITS + COUNT_BITS)


@inlined
def room_for(queue, words, number, count):
    """Return the running index for `count` results, or -1 if there is no room now.

    They are contiguous: a rest at the end of the ring that is too short is skipped. After them
    there is room for the padding of a vector copy. No results need no copy, so even a full room
    accepts them.
    """
    put, room = words[PUT], queue.room
    if count == 0:
        return put
    if count > room // 2:
        # A contiguous range of this size may never be free.
        return -1
    rest = room - (put & (room - 1))
    place = put if count <= rest else put + rest
    end = place + count + COPIED
    if end - words[FREED] > room:
        # ACQUIRE: the giver has read the freed results; pairs with the RELEASE in give_tuple.
        freed = load(queue.freed, number * LINE_WORDS, ACQUIRE)
        words[FREED] = put - ((put - freed) & PLACE_MASK)
        if end - words[FREED] > room:
            return -1
    return place


@inlined
def copy_positions(source, begin, count, target, put):
    """Copy positions, eight at once: a branch on their number would be hard to predict."""
    copy_8(source, begin, count, target, put)
    copied = COPIED
    while copied < count:
        copy_8(source, begin + copied, count - copied, target, put + copied)
        copied += COPIED


@inlined
def complete(queue, words, number, task, at, found, count):
    """Put the results of a tuple into the thread's room; return whether they fit."""
    place = room_for(queue, words, number, count)
    if place < 0:
        mark("propagation: no room for the results of a tuple")
        return False
    begin = number * queue.room_words + (place & (queue.room - 1))
    if count > 0:
        copy_positions(found, 0, count, queue.rooms, begin)
    words[PUT] = place + count
    status = (task & queue.task_mask) * queue.stride + at
    # RELEASE: publishes the results; pairs with the ACQUIRE in status_at.
    store(queue.statuses, status, status_of(number, count, place), RELEASE)
    return True


@inlined
def head_looks_ready(queue):
    """Whether the tuple at the head is probably completed, without OUTPUT_LOCK."""
    # RELAXED, all of them: a stale value is corrected at the next test, and the owner of the output
    # loads again.
    head, given = load(queue.words, HEAD, RELAXED), load(queue.words, GIVEN, RELAXED)
    status = (head & queue.task_mask) * queue.stride + given
    return load(queue.statuses, status, RELAXED) != 0


@inlined
def looks_at_head(queue, words):
    """Whether the tuple at which the thread is stuck is probably at the head."""
    # RELAXED: as above.
    head, given = load(queue.words, HEAD, RELAXED), load(queue.words, GIVEN, RELAXED)
    return head == words[TASK] and given == words[AT]


# --- giving out, under OUTPUT_LOCK ----------------------------------------------------------------


@inlined
def status_at(queue, head, given):
    """Return the word of a tuple at or near the head: 0 until it is completed."""
    # ACQUIRE: sees the results of a completed tuple; pairs with the RELEASE in complete.
    return load(queue.statuses, (head & queue.task_mask) * queue.stride + given, ACQUIRE)


@inlined
def is_last(queue, head, given):
    """Whether a tuple is the last one of its task."""
    return given + 1 == peek(queue.tasks, task_words(queue, head) + COUNT_OF)


@inlined
def pass_task(queue, head):
    """Move the head past the task there, whose tuples are all given out."""
    words, line = queue.words, task_words(queue, head)
    for side in range(2):
        # RELEASE: searches before this position have ended; pairs with removable.
        store(words, HORIZON + side, peek(queue.tasks, line + HORIZON_OF + side), RELEASE)
    # RELEASE: the task's words and statuses have been read; pairs with has_run_ahead.
    store(words, HEAD, head + 1, RELEASE)


@inlined
def give_tuple(queue, output, head, given, status):
    """Put the results of a completed tuple, whose word is `status`, into the output."""
    number = status >> 1 & (1 << THREAD_BITS) - 1
    count = status >> (1 + THREAD_BITS) & (1 << COUNT_BITS) - 1
    place = status >> (1 + THREAD_BITS + COUNT_BITS) & PLACE_MASK
    begin = number * queue.room_words + (place & (queue.room - 1))
    copy_positions(queue.rooms, begin, count, output.partners, 0)
    output.words[COUNT] = count
    if count > 0:
        # RELEASE: the results have been read; pairs with the ACQUIRE in room_for.
        store(queue.freed, number * LINE_WORDS, place + count, RELEASE)
    # RELAXED: the RELEASE of HEAD comes before the word is used for another tuple.
    store(queue.statuses, (head & queue.task_mask) * queue.stride + given, 0, RELAXED)


@inlined
def note_latency(queue, worker, head):
    """Record how long a tuple at the head was in flight."""
    taken = peek(queue.tasks, task_words(queue, head) + TAKEN_AT)
    record(worker.tuple_times, now() - taken, 1)


def make_give_out(on_output: Callable[..., None] | None, timed: bool) -> Callable[..., bool]:
    """Return ``give_out(queue, worker, output, feed)``: whether a tuple is in the output.

    For the owner of the output. All completed tuples at the head go through `on_output`, except the
    last one, which is left in the output; without `on_output` only one is given out.
    """

    @inlined
    def give_out(queue, worker, output, feed):
        head, given = queue.words[HEAD], queue.words[GIVEN]
        status = status_at(queue, head, given)
        if status == 0:
            return False
        # Bounds the step: others may complete tuples as fast as this thread gives them out.
        left = queue.task_size * (queue.task_mask + 1)
        while True:
            if timed:
                note_latency(queue, worker, head)
            give_tuple(queue, output, head, given, status)
            if is_last(queue, head, given):
                pass_task(queue, head)
                head, given = head + 1, 0
            else:
                given += 1
            left -= 1
            if on_output is None or left == 0:
                break
            status = status_at(queue, head, given)
            if status == 0:
                break
            on_output(feed.notes, output)
        # RELAXED: readers without the output need the number alone.
        store(queue.words, GIVEN, given, RELAXED)
        return True

    return give_out


@inlined
def give_stuck(queue, worker, output):
    """Put the results of the stuck tuple, which is at the head, into the output."""
    words = worker.words
    copy_positions(worker.found, 0, words[COUNTED], output.partners, 0)
    output.words[COUNT] = words[COUNTED]
    # RELAXED: as above.
    if is_last(queue, words[TASK], words[AT]):
        store(queue.words, GIVEN, 0, RELAXED)
        pass_task(queue, words[TASK])
    else:
        store(queue.words, GIVEN, words[AT] + 1, RELAXED)
    words[AT] += 1
    words[PHASE] = AT_WORK


def make_propagate(
    on_output: Callable[..., None] | None, timed: bool
) -> tuple[Callable[..., bool], Callable[..., int]]:
    """Return ``propagate`` and ``give_itself``.

    ``propagate(shared, worker, output, feed)`` gives out the completed tuples at the head: whether
    a tuple is in the output now, which this thread then owns. ``give_itself``, of the same
    arguments, gives out the stuck tuple of the thread, if it is at the head: FOUND or NOT_READY.
    """
    give_out = make_give_out(on_output, timed)

    @inlined
    def has_output(queue, words):
        """Whether this thread owns the output, after trying to get it."""
        if words[OWNS] == 0:
            words[OWNS] = try_lock(queue.words, OUTPUT_LOCK)
        return words[OWNS] != 0

    @inlined
    def let_output_go(queue, words):
        words[OWNS] = 0
        unlock(queue.words, OUTPUT_LOCK)

    @inlined
    def propagate(shared, worker, output, feed):
        queue, words = shared.queue, worker.words
        if words[OWNS] == 0 and not head_looks_ready(queue):
            return False
        if not has_output(queue, words):
            mark("propagation: another thread gives out")
            return False
        if give_out(queue, worker, output, feed):
            return True
        let_output_go(queue, words)
        return False

    @inlined
    def give_itself(shared, worker, output, feed):
        queue, words = shared.queue, worker.words
        if words[OWNS] == 0 and not (head_looks_ready(queue) or looks_at_head(queue, words)):
            return NOT_READY
        if not has_output(queue, words):
            mark("propagation: another thread gives out what comes before")
            return NOT_READY
        if give_out(queue, worker, output, feed):
            return FOUND
        if queue.words[HEAD] == words[TASK] and queue.words[GIVEN] == words[AT]:
            mark("propagation: a thread gives its tuple out by itself")
            if timed:
                note_latency(queue, worker, words[TASK])
            give_stuck(queue, worker, output)
            return FOUND
        let_output_go(queue, words)
        return NOT_READY

    return propagate, give_itself
