"""Mutexes: threads that find one taken sleep in the operating system until it is given back.

The blocking variants of the papers are measured with what their authors had, the pthread mutex of
the C library, and not with a spin flag under the same name: how a lock behaves when its holder has
been descheduled is part of what the figures compare.

Each mutex fills cache lines of its own (``atomics.MUTEX_WORDS``), so that taking one never slows a
neighbour. They are not recursive, have no owner, and are not fair: the thread that just gave a
mutex back may take it again before a sleeper has woken up.

What a thread wrote before ``release`` is seen by every thread that acquires the same mutex later.
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
    # Once for each world: the kernel makes the pthread mutexes, the plain call their stand-ins, so
    # that one state serves both forms of an operation in one process.
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
    """Give back `mutex`, which the calling thread has."""
    atomics.unlock(mutexes, mutex * MUTEX_WORDS)


VARIANT = Variant(
    id="mutex",
    family="core",
    title="Mutex",
    paper="none",
    section="POSIX, pthread_mutex_lock",
    # No invariants to check: what is inside a mutex is the C library's.
    operations=CoreOperations(make_mutexes, {"acquire": acquire, "release": release}),
    order="none: whoever comes first, and not always",
    progress="blocking",
    threads={"holder": "one; any number may wait"},
    capacity="none",
    bench=False,
)
