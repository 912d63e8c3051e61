"""Mutexes: threads that find one taken sleep in the operating system until it is released.

The blocking variants of the papers are measured with the lock their authors had, the pthread mutex
of the C library, and not with a spin flag under the same name: how a lock behaves when the holder
has been descheduled is part of the comparison in the figures.

Each mutex fills separate cache lines (``atomics.MUTEX_WORDS``), so that there is no false sharing
between neighbours. Mutexes are not recursive, have no owner, and are not fair: the thread that just
released one may take it again before a sleeper has woken up.

All writes before ``release`` happen before the critical section of every later holder.
"""

from __future__ import annotations

import numpy as np

from operators.contract import UsageError, Variant
from operators.core import atomics
from operators.core.atomics import MUTEX_WORDS
from operators.core.family import CoreOperations
from operators.core.jit import inlined, kernel
from operators.core.layout import aligned_words


def make_mutexes(count: int) -> np.ndarray:
    """Return `count` mutexes, all free.

    Parameters
    ----------
    count : int
        At least 1.

    Returns
    -------
    ndarray of int64, shape (count * MUTEX_WORDS,)
        The words of mutex `i` begin at ``i * MUTEX_WORDS``. They must not be moved or copied: a
        copy of a mutex is no mutex.

    Raises
    ------
    UsageError
        When `count` is below 1.
    """
    if count < 1:
        raise UsageError(f"mutexes must number at least 1, received {count}")
    words = aligned_words(count * MUTEX_WORDS)
    # Once for each form: the kernel makes the pthread mutexes, the plain call their interpreted
    # counterparts, so that one state serves both forms of an operation in one process.
    _init_locks(words, np.int64(count))
    for mutex in range(count):
        atomics.init_lock(words, mutex * MUTEX_WORDS)
    return words


@kernel
def _init_locks(words, count):
    for mutex in range(count):
        atomics.init_lock(words, mutex * MUTEX_WORDS)


@inlined
def acquire(mutexes, mutex):
    """Take `mutex`; sleeps while another thread has it. A thread must not take one twice."""
    atomics.lock(mutexes, mutex * MUTEX_WORDS)


@inlined
def release(mutexes, mutex):
    """Release `mutex`, which the calling thread has."""
    atomics.unlock(mutexes, mutex * MUTEX_WORDS)


VARIANT = Variant(
    id="mutex",
    family="core",
    title="Mutex",
    paper="none",
    section="POSIX, pthread_mutex_lock",
    # No invariants to check: the content of a mutex is private to the C library.
    operations=CoreOperations(make_mutexes, {"acquire": acquire, "release": release}),
    order="none: whoever comes first, and not always",
    progress="blocking",
    threads={"holder": "one; any number may wait"},
    capacity="none",
    bench=False,
)
