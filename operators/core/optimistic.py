"""Optimistic locks: a writer takes the lock, a reader compares a version before and after.

Source: Leis, Haubenschild and Neumann, "Optimistic Lock Coupling", IEEE Data Engineering Bulletin
42(1), 2019, and Leis, Scheibner, Kemper and Neumann, "The ART of Practical Synchronization", DaMoN
2016. The memory orders are those of Boehm, "Can seqlocks get along with programming language
memory models?", MSPC 2012. A reader writes nothing, so that a line that all read stays in every
cache::

    reading     read_begin: 8 .... loads .... check(8)? yes: the loads saw one consistent state
    writing             upgrade(8): 9 .... changes .... release: 12          check(8)? no: retry

A lock is one word. Each has a separate cache line and is called by its number; a structure that
lays out the locks itself calls them by index (``check_at``):

====  =========  =================================================================================
bit   name       set while
====  =========  =================================================================================
0     LOCKED     a thread has the lock and may change the data under it
1     OBSOLETE   the data is out of the structure: no reader may begin
2..   count      incremented by each change, never decremented
====  =========  =================================================================================

A word without the lower two bits is a *version*, a non-negative number. Obsolete data can be reused
(``reopen``): the count goes on, so that two uses never share a version. Memory can thus be reused
while a thread may still read it, as long as it stays memory of the same kind: a late reader reads
meaningless numbers, and ``check`` says so. Until then the reader must not follow them: an index is
used only after a ``check`` that returned true.

Invariants
----------
1. The data under a lock changes only between ``upgrade`` or ``acquire`` and ``release`` or
   ``retire``, by the thread that has the lock; and between ``retire`` and ``reopen``, by the owner,
   behind a RELEASE fence.
2. A version that was left for a change never comes again: ``release`` and ``reopen`` count.

Hence a section that ``read_begin`` opened and whose ``check`` returns true has seen one consistent
state. A thread that changed a word read there had the lock, or owned the obsolete data: the lock's
word was LOCKED or OBSOLETE before that change. A section that has seen the change also sees that
word, or a later one, at the second load of the lock, and fails.

Why the orders suffice: three pairs establish happens-before.

* ``release`` is a RELEASE store and ``read_begin`` an ACQUIRE load: all changes that made a version
  happen before the loads of a thread that reads that version.
* Between taking the lock and the first change there is a RELEASE fence, between the last load and
  the second load of the word an ACQUIRE fence. If a load has seen a change, the two fences
  synchronize, and the second load sees the odd word or a later one. So neither the changes nor the
  loads need an order. Obsolete data has no lock to be taken: there the fence is the owner's, and
  the ``retire`` that made the data obsolete comes before it, since the node came from the retiring
  thread to the owner.
* The compare-and-swap in ``upgrade`` is ACQUIRE: of two writers the first one's changes happen
  before the second one's. It also is the last check of the upgrading reader.

Data under a lock is read while it changes: it lies in arrays made by ``racy``. Compiled, these are
ordinary arrays, and an access is a plain or a vector load or store. LLVM's rule for fences keeps
the accesses between the fences; the processor does not tear an element of up to eight bytes; and a
section whose loads mix several states is caught by ``check``. On the proving ground
(`operators.check`) each access of an element is a relaxed atomic: other threads may run between any
two of them, and two that meet are no data race.

# ASSUME: a language's memory model calls a plain load concurrent with a store undefined. Relaxed
# atomics of the same size are the same instructions on every processor numba supports, but LLVM
# does not vectorize them, and nodes are searched by vectors here.

Linearization points: a section at ``check``; ``upgrade`` at the compare-and-swap; ``release``,
``retire`` and ``reopen`` at the store.

Progress: blocking. A reader behind a stopped writer waits or retries, and under writers that never
cease it may retry for ever: the lock is not fair.
"""

from __future__ import annotations

import numpy as np

from operators.contract import UsageError, Variant
from operators.core.atomics import (
    ACQUIRE,
    RELAXED,
    RELEASE,
    cas,
    fence,
    load,
    pause,
    store,
    yield_thread,
)
from operators.core.family import CoreOperations
from operators.core.jit import inlined
from operators.core.layout import LINE_WORDS, aligned_words, line_at
from operators.core.marks import mark
from operators.core.spin_lock import SPIN_ROUNDS

LOCKED = 1
OBSOLETE = 2
STEP = 4
# The answer of an attempt that has to be retried; no version.
RESTART = -1


class RacyArray(np.ndarray):
    """An array that is read while another thread may change it, under an optimistic lock.

    Kernels treat it as an ordinary array. On the proving ground each access of an element is a
    relaxed atomic.
    """


def racy(array: np.ndarray) -> np.ndarray:
    """Return a view of an array whose elements may be read while they change.

    Examples
    --------
    >>> under_a_lock = racy(np.zeros(4, dtype=np.int32))
    >>> int(under_a_lock[3])
    0
    """
    return array.view(RacyArray)


def make_optimistic_locks(count: int) -> np.ndarray:
    """Return `count` free locks.

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
        raise UsageError(f"optimistic locks must number at least 1, received {count}")
    return aligned_words(count * LINE_WORDS)


@inlined
def spin(rounds):
    """Wait before the next load or attempt, and return how often the caller has waited."""
    if (rounds + 1) % SPIN_ROUNDS == 0:
        yield_thread()
    else:
        pause()
    return rounds + 1


# --- reading --------------------------------------------------------------------------------------


@inlined
def read_begin_at(locks, place):
    """Open a section and return the version, or RESTART when locked or obsolete."""
    # ACQUIRE: the changes that made this version are seen; pairs with release.
    word = load(locks, place, ACQUIRE)
    return word if word & (LOCKED | OBSOLETE) == 0 else RESTART


@inlined
def read_when_open_at(locks, place):
    """Open a section once the lock is free: the version, or RESTART when obsolete."""
    rounds = 0
    while True:
        # ACQUIRE: as in read_begin.
        word = load(locks, place, ACQUIRE)
        if word & OBSOLETE != 0:
            mark("optimistic: obsolete")
            return RESTART
        if word & LOCKED == 0:
            return word
        mark("optimistic: a reader waits")
        rounds = spin(rounds)


@inlined
def check_at(locks, place, version):
    """Say whether the loads since `version` saw one consistent state."""
    # ACQUIRE keeps the loads before the second load of the word; pairs with the fence of the
    # thread that has changed the data they saw.
    fence(ACQUIRE)
    # RELAXED: the fence has ordered it.
    return load(locks, place, RELAXED) == version


# --- writing --------------------------------------------------------------------------------------


@inlined
def upgrade_at(locks, place, version):
    """Take the lock if no change came since `version`, and say whether it was taken."""
    # ACQUIRE keeps the changes after it, and those of earlier holders before; pairs with release.
    if not cas(locks, place, version, version | LOCKED, ACQUIRE):
        mark("optimistic: an upgrade is lost")
        return False
    # RELEASE keeps the odd word before the first change; pairs with the fence in check.
    fence(RELEASE)
    return True


@inlined
def acquire_at(locks, place):
    """Take the lock once it is free; return False when obsolete."""
    while True:
        version = read_when_open_at(locks, place)
        if version == RESTART:
            return False
        if upgrade_at(locks, place, version):
            return True


@inlined
def release_at(locks, place):
    """Release the lock, with a new version."""
    # RELAXED: no other thread writes the word meanwhile.
    word = load(locks, place, RELAXED)
    # RELEASE keeps the changes before the version that shows them; pairs with read_begin, upgrade.
    store(locks, place, word + (STEP - LOCKED), RELEASE)


@inlined
def release_unchanged_at(locks, place):
    """Release a lock under which nothing was changed: open sections stay valid."""
    # RELAXED: as in release.
    word = load(locks, place, RELAXED)
    # RELEASE: this holder's loads happen before the next holder's critical section.
    store(locks, place, word - LOCKED, RELEASE)


@inlined
def retire_at(locks, place):
    """Release a lock whose holder has removed the data under it from the structure."""
    # RELAXED: as in release.
    word = load(locks, place, RELAXED)
    # RELAXED: who loads OBSOLETE reads nothing under the lock, who has loaded a change made before
    # sees LOCKED or this word by the fences alone, and the next owner has the data from this thread
    # by other means.
    store(locks, place, word + (OBSOLETE - LOCKED), RELAXED)


@inlined
def reopen_at(locks, place):
    """Give obsolete data that belongs to the caller alone a new version, and so reuse it.

    The caller changes the data before, as if it had the lock, behind a RELEASE fence: a reader that
    still has the version of the former use, and sees one of these changes, must see OBSOLETE when
    it checks.
    """
    # RELAXED: no other thread writes the word of obsolete data.
    word = load(locks, place, RELAXED)
    # RELEASE: as in release.
    store(locks, place, word + (STEP - OBSOLETE), RELEASE)


# --- by number, one cache line a lock -------------------------------------------------------------


@inlined
def read_begin(locks, lock):
    """Do ``read_begin_at`` at the line of a lock."""
    return read_begin_at(locks, line_at(lock))


@inlined
def read_when_open(locks, lock):
    """Do ``read_when_open_at`` at the line of a lock."""
    return read_when_open_at(locks, line_at(lock))


@inlined
def check(locks, lock, version):
    """Do ``check_at`` at the line of a lock."""
    return check_at(locks, line_at(lock), version)


@inlined
def upgrade(locks, lock, version):
    """Do ``upgrade_at`` at the line of a lock."""
    return upgrade_at(locks, line_at(lock), version)


@inlined
def acquire(locks, lock):
    """Do ``acquire_at`` at the line of a lock."""
    return acquire_at(locks, line_at(lock))


@inlined
def release(locks, lock):
    """Do ``release_at`` at the line of a lock."""
    release_at(locks, line_at(lock))


@inlined
def release_unchanged(locks, lock):
    """Do ``release_unchanged_at`` at the line of a lock."""
    release_unchanged_at(locks, line_at(lock))


@inlined
def retire(locks, lock):
    """Do ``retire_at`` at the line of a lock."""
    retire_at(locks, line_at(lock))


@inlined
def reopen(locks, lock):
    """Do ``reopen_at`` at the line of a lock."""
    reopen_at(locks, line_at(lock))


def check_invariants(locks: np.ndarray) -> None:
    """Check that no thread has a lock in a quiescent structure.

    Raises
    ------
    AssertionError
        The message names the lock.
    """
    for lock, word in enumerate(np.asarray(locks)[::LINE_WORDS].tolist()):
        assert word >= 0 and word & LOCKED == 0, f"invariant 1: somebody has lock {lock} at rest"


VARIANT = Variant(
    id="optimistic-lock",
    family="core",
    title="Optimistic lock",
    paper="none",
    section="Leis et al., 2019",
    operations=CoreOperations(
        make_optimistic_locks,
        {
            "read_begin": read_begin,
            "read_when_open": read_when_open,
            "check": check,
            "upgrade": upgrade,
            "acquire": acquire,
            "release": release,
            "release_unchanged": release_unchanged,
            "retire": retire,
            "reopen": reopen,
        },
        check_invariants,
    ),
    order="none: whoever comes first, and not always",
    progress="blocking",
    threads={"holder": "one; any number read or wait"},
    capacity="none",
    bench=False,
)
