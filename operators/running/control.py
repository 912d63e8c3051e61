"""The control words of a run, and the operations of each thread on its block of them.

Threads meet at a common start, report their progress, wait, and record why and when they ended; the
main thread reads these words meanwhile. Nothing here depends on a family; the loops are in
``drivers``.

*Timed blocks.* A run of the phase "durations" measures the cost of an operation to a thread. Two
clock readings around each operation would cost more than some operations do, so the processor time
is read around blocks of consecutive successful operations. A block ends when the thread has to
wait, and at the latest after ``BLOCK_MASK + 1`` operations. It includes the last, unsuccessful
operation, so that a block that is too short is dropped. The thread's processor time is not affected
by other users of the core.
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

# Control words, each on a separate cache line against false sharing.
ARRIVED = 0 * LINE_WORDS  # threads add, main reads: how many are ready
GO = 1 * LINE_WORDS  # main writes once, threads read: when the run begins, 0 before
STOP = 2 * LINE_WORDS  # any thread writes 1, all read: end now
MEASURED = 3 * LINE_WORDS  # main writes before the start: where the measured part begins and ends
BLOCKS = 4 * LINE_WORDS

# The block of words of one thread, which main may read at any time.
PROGRESS = 0  # tuples taken from memory or processed so far, or winsets output
STATE = 1  # the thread's activity: one of STATES
FAILURE = 2  # status code that ended the thread, 0 for none
ENDED = 3  # time of the last output, or when its last tuple was accepted; 0 while it runs
BLOCKED_NS = 4  # time blocked by backpressure: an offered tuple was FULL, summed
WAITED_NS = 5  # time spent waiting for due times, summed
LATEST_NS = 6  # the largest lateness seen when the clock was read
ACTED = 7  # number of actions, where PROGRESS is that of the run and not of the thread
DIGEST = 8  # digest of the tuples that a reader or a join thread received
DISORDER = 9  # how often a reader received an earlier tuple after a later one
TIMED_NS = 10  # processor time of the timed blocks, summed
TIMED = 11  # operations in the timed blocks
TIMED_BLOCKS = 12  # number of timed blocks
BLOCK_NS = 13  # the thread's processor time when its open block began
BLOCK_AT = 14  # operations of the thread before that
FIRST_NS = 15  # time of passing the beginning of the measured part, 0 before
LAST_NS = 16  # time of passing the end of it
NEXT_MARK = 17  # tuple at which to note the next of the two times; other threads may read the line
LAST_LATE_NS = 18  # lateness when its last tuple was taken
BLOCK_WORDS = 3 * LINE_WORDS
# Beyond every tuple.
NEVER = (1 << 63) - 1

STATES = ("starting", "running", "waiting for room", "waiting for its due time",
          "waiting for input", "handing rows over", "ended", "in a step")  # fmt: skip
_, RUNNING, NO_ROOM, NOT_DUE, NO_INPUT, HANDING_OVER, DONE, STEPPING = range(len(STATES))
# While a thread is in one of these states, no other thread needs to progress, however long it
# takes.
UNHURRIED = (NOT_DUE, HANDING_OVER, STEPPING)

# A timed block ends after this many operations plus one.
BLOCK_MASK = 255
# Interrupted sleeps are harmless, long ones are not: Ctrl-C must end a run within a second.
LONGEST_SLEEP_US = 5_000
# A thread closer than this to its due time does not sleep: a sleep ends up to 60 us late.
NO_SLEEP_NS = 200_000
# A thread closer than this does not even yield the core.
NO_YIELD_NS = 2_000


def make_control(threads: int, measured: tuple[int, int] = (NEVER, NEVER)) -> np.ndarray:
    """Return the control words for a number of threads.

    Parameters
    ----------
    threads : int
    measured : (int, int)
        The tuples at which the measured part begins and ends.
    """
    words = aligned_words(BLOCKS + threads * BLOCK_WORDS)
    words[MEASURED], words[MEASURED + 1] = measured
    words[BLOCKS + NEXT_MARK :: BLOCK_WORDS] = measured[0]
    return words


def block(thread: int) -> int:
    """Return the index of the first word of a thread's block."""
    return BLOCKS + thread * BLOCK_WORDS


@inlined
def meet(control, own):
    """Report ready, wait for the common start and return its time; 0 if stopped before."""
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
    """Wait until the time `due` and return the current time; returns earlier if stopped."""
    begin = now()
    clock = begin
    if clock < due:
        store(control, own + STATE, NOT_DUE, RELAXED)
        while clock < due and load(control, STOP, RELAXED) == 0:
            left = due - clock
            if left > NO_SLEEP_NS:
                # Half of the remaining time: even a late wake-up then leaves some.
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

    The threads note it themselves: with more threads than cores (oversubscribed), the main thread
    would look too late and too seldom. Several threads may note it in the same block; the earliest
    time counts.
    """
    mark = load(control, own + NEXT_MARK, RELAXED)
    if tuples >= mark:
        last = load(control, MEASURED + 1, RELAXED)
        following = last if mark < last else NEVER
        # RELAXED: plain numbers, which the main thread reads after the threads have ended.
        if cas(control, own + NEXT_MARK, mark, following, RELAXED):
            store(control, own + (FIRST_NS if mark < last else LAST_NS), now(), RELAXED)


@inlined
def report(control, own, count):
    """Report that `count` tuples are processed."""
    store(control, own + PROGRESS, count, RELAXED)
    pass_marks(control, own, count)


@inlined
def act(control, own):
    """Count an action of a thread whose progress word does not show it."""
    store(control, own + ACTED, load(control, own + ACTED, RELAXED) + 1, RELAXED)


@inlined
def resume(control, own, waits):
    """Report that a thread runs again, if it waited; return 0, the new count of waits in a row."""
    if waits != 0:
        store(control, own + STATE, RUNNING, RELAXED)
    return 0


@inlined
def wait_for_input(control, own, waits):
    """Wait a little for input; return the new count of waits in a row."""
    store(control, own + STATE, NO_INPUT, RELAXED)
    return wait_a_little(waits)


@inlined
def fail(control, own, status):
    """Record the status that makes the run fail, and stop all threads."""
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
    """End the timed block after `count` operations; drop a block of fewer than `least`."""
    operations = count - load(control, own + BLOCK_AT, RELAXED)
    if operations >= least:
        spent = thread_now() - load(control, own + BLOCK_NS, RELAXED)
        store(control, own + TIMED_NS, load(control, own + TIMED_NS, RELAXED) + spent, RELAXED)
        store(control, own + TIMED, load(control, own + TIMED, RELAXED) + operations, RELAXED)
        blocks = load(control, own + TIMED_BLOCKS, RELAXED) + 1
        store(control, own + TIMED_BLOCKS, blocks, RELAXED)
