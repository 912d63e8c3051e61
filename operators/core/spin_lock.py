"""Spin locks: a thread that finds the lock taken polls it, and keeps the core.

A test-and-test-and-set lock (Herlihy and Shavit, The Art of Multiprocessor Programming, section
7.2). A mutex is compared with it where a critical section is short: passing the lock on takes one
transfer of a cache line, and not the operating system. On an oversubscribed machine the holder may
be the descheduled thread; so a waiting thread yields after some rounds.

A lock is a word on a separate cache line, 1 while a thread has it. Not recursive, no owner, not
fair.

All writes before ``release`` happen before the critical section of every later holder.
"""

from __future__ import annotations

import numpy as np

from operators.contract import UsageError, Variant
from operators.core.atomics import (
    ACQUIRE,
    RELAXED,
    RELEASE,
    exchange,
    load,
    pause,
    store,
    yield_thread,
)
from operators.core.family import CoreOperations
from operators.core.jit import inlined
from operators.core.layout import LINE_WORDS, aligned_words
from operators.core.marks import mark

# Pauses before the core is offered to another thread: some twenty microseconds, long for a critical
# section and short for a scheduler's time slice. The native lock compared with has as many.
SPIN_ROUNDS = 1024


def make_spin_locks(count: int) -> np.ndarray:
    """Return `count` locks, all free.

    Parameters
    ----------
    count : int
        At least 1.

    Returns
    -------
    ndarray of int64, shape (count * LINE_WORDS,)

    Raises
    ------
    UsageError
        When `count` is below 1.
    """
    if count < 1:
        raise UsageError(f"spin locks must number at least 1, received {count}")
    return aligned_words(count * LINE_WORDS)


@inlined
def acquire(locks, lock):
    """Take `lock`; spins while another thread has it. A thread must not take one twice."""
    place = lock * LINE_WORDS
    rounds = 0
    while True:
        # RELAXED: polling keeps the line shared until an exchange is worthwhile.
        if load(locks, place, RELAXED) == 0:
            # ACQUIRE keeps the critical section behind it; pairs with release.
            if exchange(locks, place, 1, ACQUIRE) == 0:
                return
            mark("spin_lock: another thread was faster")
        rounds += 1
        if rounds % SPIN_ROUNDS == 0:
            yield_thread()
        else:
            pause()


@inlined
def release(locks, lock):
    """Release `lock`, which the calling thread has."""
    # RELEASE keeps the critical section before it; pairs with the exchange in acquire.
    store(locks, lock * LINE_WORDS, 0, RELEASE)


VARIANT = Variant(
    id="spin-lock",
    family="core",
    title="Spin lock",
    paper="none",
    section="Herlihy and Shavit, section 7.2",
    operations=CoreOperations(make_spin_locks, {"acquire": acquire, "release": release}),
    order="none: whoever comes first, and not always",
    progress="blocking",
    threads={"holder": "one; any number may wait"},
    capacity="none",
    bench=False,
)
