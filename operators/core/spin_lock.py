"""Spin locks: a thread that finds one taken looks again and again, and keeps its core.

A test-and-test-and-set lock (Herlihy and Shavit, The Art of Multiprocessor Programming, section
7.2). It is what a mutex is compared with where a critical section is short: giving one to the next
thread takes one cache line's way, and not the operating system's. With more threads than cores the
holder may be the one that is not running; so who waits offers its core after some rounds.

A lock is a word on a cache line of its own, 1 while a thread has it. Not recursive, no owner, not
fair.

What a thread wrote before ``release`` is seen by every thread that acquires the same lock later.
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
# section and short beside a slice of the scheduler. The native yardstick has the same.
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
        # RELAXED: a look that keeps the line shared until it is worth an exchange.
        if load(locks, place, RELAXED) == 0:
            # ACQUIRE keeps what follows behind it; pairs with release.
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
    """Give back `lock`, which the calling thread has."""
    # RELEASE keeps what precedes it before it; pairs with the exchange in acquire.
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
