"""Optimistic locks: who writes takes a lock, who reads looks at a version before and behind.

Source: Leis, Haubenschild and Neumann, "Optimistic Lock Coupling", IEEE Data Engineering Bulletin
42(1), 2019, and Leis, Scheibner, Kemper and Neumann, "The ART of Practical Synchronization", DaMoN
2016. The orders of memory are those of Boehm, "Can seqlocks get along with programming language
memory models?", MSPC 2012. A reader writes nothing, so that what all read stays in every cache::

    reading     read_begin: 8 .... looks .... check(8)? yes: what was seen stood there at once
    writing             upgrade(8): 9 .... changes .... release: 12          check(8)? no: again

A lock is one word. Each has a cache line of its own, and is called by its number; those of a
structure that lays them out itself are called by their place (``check_at``):

====  =========  =================================================================================
bit   name       set while
====  =========  =================================================================================
0     LOCKED     a thread has the lock and may change what is under it
1     OBSOLETE   what was under it is out of the structure: nobody may begin to read
2..   count      goes on with each change, and never back
====  =========  =================================================================================

A word without its lower two bits is a *version*, and no negative number. What is obsolete can be
used again (``reopen``): the count goes on, so that the version of a use is never that of another.
With it memory need not wait until nobody looks at it any more, as long as it stays memory of the
same kind: a reader that comes too late reads numbers that mean nothing, and ``check`` says so.
Until then it must not follow them: an index is used only behind a ``check`` that said yes.

Invariants
----------
1. What is under a lock changes only between ``upgrade`` or ``acquire`` and ``release`` or
   ``retire``, by the thread that has it; and between ``retire`` and ``reopen``, by who owns it,
   behind a RELEASE fence.
2. A version that was left for a change never comes again: ``release`` and ``reopen`` count.

Hence a section that ``read_begin`` opened and whose ``check`` says yes has seen one state. Whoever
changed a word that it read had the lock, or owned what was obsolete: the lock's word was LOCKED or
OBSOLETE before that change. The section has seen the change only if its second read of the lock
comes behind that word, and then it says no.

Why the orders are enough: three pairs carry it.

* ``release`` is a RELEASE store and ``read_begin`` an ACQUIRE load: who reads a version has behind
  it all changes that made it.
* Between taking the lock and the first change stands a RELEASE fence, between the last look and
  the second read of the word an ACQUIRE fence. If a look has seen a change, the two fences
  synchronize, and the second read sees the odd word or a later one. So the changes need no order
  themselves, and neither do the looks. What is obsolete has no lock to be taken: there the fence is
  the owner's, and before it is the ``retire`` that made it obsolete, since the node came from that
  thread to this one.
* The compare-and-swap in ``upgrade`` is ACQUIRE: of two writers the second has the first's changes
  behind it. It is its reader's last check as well.

What stands under a lock is read while it changes: it lies in arrays that ``racy`` made. Compiled,
these are arrays as any others, and an access is a plain or a vector load or store. That LLVM keeps
them between the fences is its rule for fences; that an element of up to eight bytes is not torn is
the processors'; and a section of whose looks some were torn from others is what ``check`` is for.
On the proving ground (`operators.check`) each access of an element is a relaxed atomic: others may
go between any two of them, and one that meets another is no race.

# ASSUME: a memory model of a language calls a plain load that meets a store undefined. Relaxed
# atomics of the same size are the same instructions on every processor numba supports, but LLVM
# makes no vectors of them, by which nodes are searched here.

Linearization points: a section at its ``check``; ``upgrade`` at its compare-and-swap; ``release``,
``retire`` and ``reopen`` at their store.

Progress: blocking. A reader behind a stopped writer waits or begins again, and under writers that
never cease it may begin again for ever: there is no turn to wait for.
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
# What an attempt answers that has to begin again; no version.
RESTART = -1


class RacyArray(np.ndarray):
    """An array that is read while another thread may change it, under an optimistic lock.

    Kernels take it for the array that it is. On the proving ground each access of an element is a
    relaxed atomic.
    """


def racy(array: np.ndarray) -> np.ndarray:
    """Return an array with the same memory whose elements may be read while they change.

    Examples
    --------
    >>> under_a_lock = racy(np.zeros(4, dtype=np.int32))
    >>> int(under_a_lock[3])
    0
    """
    return array.view(RacyArray)


def make_optimistic_locks(count: int) -> np.ndarray:
    """Return `count` locks that nobody has.

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
    """Wait before the next look or attempt, and return how often the caller has waited."""
    if (rounds + 1) % SPIN_ROUNDS == 0:
        yield_thread()
    else:
        pause()
    return rounds + 1


# --- reading --------------------------------------------------------------------------------------


@inlined
def read_begin_at(locks, place):
    """Open a section and return its version, or RESTART: locked, or obsolete."""
    # ACQUIRE: the changes that made this version are seen; pairs with release.
    word = load(locks, place, ACQUIRE)
    return word if word & (LOCKED | OBSOLETE) == 0 else RESTART


@inlined
def read_when_open_at(locks, place):
    """Open a section as soon as nobody has the lock: its version, or RESTART: obsolete."""
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
    """Say whether what was read since `version` stood there at once."""
    # ACQUIRE keeps the looks before the second read of the word; pairs with the fence of whoever
    # has changed what they saw.
    fence(ACQUIRE)
    # RELAXED: the fence has ordered it.
    return load(locks, place, RELAXED) == version


# --- writing --------------------------------------------------------------------------------------


@inlined
def upgrade_at(locks, place, version):
    """Take the lock if what was read since `version` still stands there, and say whether."""
    # ACQUIRE keeps the changes behind it, and has those of earlier holders; pairs with release.
    if not cas(locks, place, version, version | LOCKED, ACQUIRE):
        mark("optimistic: an upgrade is lost")
        return False
    # RELEASE keeps the odd word before the first change; pairs with the fence in check.
    fence(RELEASE)
    return True


@inlined
def acquire_at(locks, place):
    """Take the lock as soon as nobody has it; say False of an obsolete one."""
    while True:
        version = read_when_open_at(locks, place)
        if version == RESTART:
            return False
        if upgrade_at(locks, place, version):
            return True


@inlined
def release_at(locks, place):
    """Give the lock back, with a new version."""
    # RELAXED: nobody else writes the word meanwhile.
    word = load(locks, place, RELAXED)
    # RELEASE keeps the changes before the version that shows them; pairs with read_begin, upgrade.
    store(locks, place, word + (STEP - LOCKED), RELEASE)


@inlined
def release_unchanged_at(locks, place):
    """Give back a lock under which nothing was changed: sections go on."""
    # RELAXED: as in release.
    word = load(locks, place, RELAXED)
    # RELEASE: the next holder is behind what this one has read.
    store(locks, place, word - LOCKED, RELEASE)


@inlined
def retire_at(locks, place):
    """Give back a lock whose holder has taken what is under it out of the structure."""
    # RELAXED: as in release.
    word = load(locks, place, RELAXED)
    # RELEASE: as in release.
    store(locks, place, word + (OBSOLETE - LOCKED), RELEASE)


@inlined
def reopen_at(locks, place):
    """Give what is obsolete, and belongs to the caller alone, a new version: it is used again.

    Before that the caller changes it as if it had the lock, behind a RELEASE fence: a reader that
    still has the version of the former use, and sees one of these changes, must see OBSOLETE when
    it checks.
    """
    # RELAXED: nobody else writes the word of what is obsolete.
    word = load(locks, place, RELAXED)
    # RELEASE: as in release.
    store(locks, place, word + (STEP - OBSOLETE), RELEASE)


# --- by number, where each lock has a line --------------------------------------------------------


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
    """Check that nobody has a lock at rest.

    Raises
    ------
    AssertionError
        Naming the lock.
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
