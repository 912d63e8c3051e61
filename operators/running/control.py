"""The control words of a run, and what every thread does with its block of them.

Threads meet at a common start, report how far they are, wait, and record why and when they ended;
the main thread reads along. Nothing here knows a family: ``drivers`` has the loops.

*Timed blocks.* A run of the phase "durations" asks what an operation costs a thread. Reading a
clock beside each operation would cost more than some operations do, so the processor time is read
around blocks of consecutive successful operations. A block ends when the thread has to wait, and at
the latest after ``BLOCK_MASK + 1`` operations; it holds the last, unsuccessful operation too, and
one that is too short is dropped for that reason. It is the thread's processor time, so that it does
not matter who else used the core.
"""

from __future__ import annotations

import numpy as np

from operators.core.atomics import (
    ACQ_REL,
    ACQUIRE,
    RELAXED,
    RELEASE,
    cas,
    fetch_add,
    load,
    now,
    pause,
    sleep_us,
    store,
    thread_now,
    yield_thread,
)
from operators.core.backoff import wait_a_little
from operators.core.jit import inlined
from operators.core.layout import LINE_WORDS, aligned_words

# Control words, each on a cache line of its own.
ARRIVED = 0 * LINE_WORDS  # threads add, main reads: how many are ready
GO = 1 * LINE_WORDS  # main writes once, threads read: when the run begins, 0 before
STOP = 2 * LINE_WORDS  # anyone writes 1, threads read: end now
MEASURED = 3 * LINE_WORDS  # main writes before the start: where the measured part begins and ends
BLOCKS = 4 * LINE_WORDS

# A thread's own block of words, which main may read at any time.
PROGRESS = 0  # tuples taken from memory or processed so far, or winsets put out
STATE = 1  # what it does: one of STATES
FAILURE = 2  # status code that ended it, 0 for none
ENDED = 3  # when it had its last output, or its last tuple was taken; 0 while it runs
BLOCKED_NS = 4  # time in which what it offered was FULL, summed
WAITED_NS = 5  # time it waited for due times, summed
LATEST_NS = 6  # the largest lateness seen when the clock was read
LAST_LATE_NS = 7  # lateness when its last tuple was taken
DIGEST = 8  # of what a reader, or a thread that joins, got
DISORDER = 9  # how often a reader got an earlier tuple after a later one
TIMED_NS = 10  # processor time of the timed blocks, summed
TIMED = 11  # operations in them
TIMED_BLOCKS = 12  # how many there were
BLOCK_NS = 13  # the thread's processor time when its open block began
BLOCK_AT = 14  # operations it had made by then
FIRST_NS = 15  # when it had passed the beginning of the measured part, 0 before
LAST_NS = 16  # and its end
NEXT_MARK = 17  # the tuple at which it notes the next of the two
BLOCK_WORDS = 3 * LINE_WORDS
# No tuple is as far as this.
NEVER = (1 << 63) - 1

STATES = ("starting", "running", "waiting for room", "waiting for its due time",
          "waiting for input", "handing rows over", "ended", "in a step")  # fmt: skip
_, RUNNING, NO_ROOM, NOT_DUE, NO_INPUT, HANDING_OVER, DONE, STEPPING = range(len(STATES))
# While a thread is in one of these no other has to move, however long it takes.
UNHURRIED = (NOT_DUE, HANDING_OVER, STEPPING)

# A timed block ends after so many operations and one.
BLOCK_MASK = 255
# An interrupted sleep is no harm, a long one is: Ctrl-C has to end a run within a second.
LONGEST_SLEEP_US = 5_000
# Closer than this to its due time a thread does not sleep: a sleep ends up to 60 us late.
NO_SLEEP_NS = 200_000
# And closer than this it does not even give up the core.
NO_YIELD_NS = 2_000


def make_control(threads: int, measured: tuple[int, int] = (NEVER, NEVER)) -> np.ndarray:
    """Return the control words for so many threads.

    Parameters
    ----------
    threads : int
    measured : (int, int)
        The tuples between which the measured part lies.
    """
    words = aligned_words(BLOCKS + threads * BLOCK_WORDS)
    words[MEASURED], words[MEASURED + 1] = measured
    words[BLOCKS + NEXT_MARK :: BLOCK_WORDS] = measured[0]
    return words


def block(thread: int) -> int:
    """Return the index of a thread's first word."""
    return BLOCKS + thread * BLOCK_WORDS


@inlined
def meet(control, own):
    """Report ready, wait for the common start and return its time; 0 when told to stop."""
    fetch_add(control, ARRIVED, 1, ACQ_REL)
    waits = 0
    go = load(control, GO, ACQUIRE)
    while go == 0:
        if load(control, STOP, RELAXED) != 0:
            return 0
        waits = wait_a_little(waits)
        go = load(control, GO, ACQUIRE)
    while now() < go:
        yield_thread()
    store(control, own + STATE, RUNNING, RELAXED)
    return go


@inlined
def wait_until(control, own, due):
    """Wait for the time `due` and return the time it is then; earlier when told to stop."""
    begin = now()
    clock = begin
    if clock < due:
        store(control, own + STATE, NOT_DUE, RELAXED)
        while clock < due and load(control, STOP, RELAXED) == 0:
            left = due - clock
            if left > NO_SLEEP_NS:
                # Half of what is left: waking late by little still leaves time.
                sleep_us(min(left // 2_000, LONGEST_SLEEP_US))
            elif left > NO_YIELD_NS:
                yield_thread()
            else:
                pause()
            clock = now()
        store(control, own + STATE, RUNNING, RELAXED)
        waited = load(control, own + WAITED_NS, RELAXED) + clock - begin
        store(control, own + WAITED_NS, waited, RELAXED)
    if clock - due > load(control, own + LATEST_NS, RELAXED):
        store(control, own + LATEST_NS, clock - due, RELAXED)
    return clock


@inlined
def pass_marks(control, own, tuples):
    """Note when a thread passes the beginning and the end of the measured part.

    The threads note it themselves: with more threads than cores the main thread would look too
    late, and too seldom. Several may note it in one block; the first one's time counts.
    """
    mark = load(control, own + NEXT_MARK, RELAXED)
    if tuples >= mark:
        last = load(control, MEASURED + 1, RELAXED)
        following = last if mark < last else NEVER
        # RELAXED: numbers, which the main thread reads when the threads have ended.
        if cas(control, own + NEXT_MARK, mark, following, RELAXED):
            store(control, own + (FIRST_NS if mark < last else LAST_NS), now(), RELAXED)


@inlined
def report(control, own, count):
    """Report that `count` tuples are through."""
    store(control, own + PROGRESS, count, RELAXED)
    pass_marks(control, own, count)


@inlined
def resume(control, own, waits):
    """Report that a thread runs again, if it waited; return 0, its waits in a row from now on."""
    if waits != 0:
        store(control, own + STATE, RUNNING, RELAXED)
    return 0


@inlined
def wait_for_input(control, own, waits):
    """Wait until there may be input; return how often the thread has now waited in a row."""
    store(control, own + STATE, NO_INPUT, RELAXED)
    return wait_a_little(waits)


@inlined
def fail(control, own, status):
    """Record the status that a run cannot go on from, and stop everyone."""
    store(control, own + FAILURE, status, RELAXED)
    store(control, STOP, 1, RELEASE)


@inlined
def end(control, own):
    """Record the end of a thread."""
    store(control, own + ENDED, now(), RELAXED)
    store(control, own + STATE, DONE, RELEASE)


@inlined
def open_block(control, own, count):
    """Begin a timed block after `count` operations."""
    store(control, own + BLOCK_AT, count, RELAXED)
    store(control, own + BLOCK_NS, thread_now(), RELAXED)


@inlined
def close_block(control, own, count, least):
    """End the timed block after `count` operations; one of less than `least` is dropped."""
    operations = count - load(control, own + BLOCK_AT, RELAXED)
    if operations >= least:
        spent = thread_now() - load(control, own + BLOCK_NS, RELAXED)
        store(control, own + TIMED_NS, load(control, own + TIMED_NS, RELAXED) + spent, RELAXED)
        store(control, own + TIMED, load(control, own + TIMED, RELAXED) + operations, RELAXED)
        blocks = load(control, own + TIMED_BLOCKS, RELAXED) + 1
        store(control, own + TIMED_BLOCKS, blocks, RELAXED)
