"""Epochs: when what has been taken out of a structure may be used again.

Without locks a thread may stand still in the middle of a search, on a node that another has taken
out meanwhile. The papers leave this to Java's garbage collector. Here it is the epochs of Fraser
("Practical lock-freedom", 2004, section 5.2.3): a thread that searches is *pinned* to the epoch in
which it began, and a node waits until nobody is pinned to an epoch before the one in which it could
not be reached any more::

    searching     pin: 4 .... load, load, load .... unpin
    taking out        unlink a node   advance: 5
    using again                                  all_left(5)? no       all_left(5)? yes

Invariants
----------
1. ``epoch`` counts what was announced, each time once, and never goes back. Who reads an epoch has
   behind it everything that was unlinked before it was announced.
2. While a thread reads nodes that others may take out, its word in ``pins`` is an epoch at or
   before every one that is announced from its ``pin`` on.

Hence the rule for a user: unlink, then ``advance``; what was unlinked may be used again once
``all_left`` has said yes of that epoch or a later one. A search begins behind its ``pin``, at a
word that leads only to what can be reached then, or that says itself when it does not (a mark).

Why it holds: ``pin`` and ``all_left`` have a SEQ_CST fence each, the first between the pin and the
reads that it protects, the other between what its caller has seen unlinked and the look at the
pins. Of the two fences one comes first in the order that all threads agree on. If it is the pin's,
``all_left`` sees the pin. If it is the other one, the search sees the nodes unlinked and does not
meet them. (That the unlinking may be another thread's, if it happens before the fence, is the rule
of C++20 and RC11; the words of C11 ask for more than compilers and processors need.) ``advance`` is
a read-modify-write, so that several threads may take nodes out: whoever acquires the epoch of the
last has those of the others behind it too.

Linearization points: ``pin`` at its fence, ``unpin`` at its store, ``advance`` at its addition;
``all_left``, where it says yes, at its last load: who pins behind its fence meets nothing old.

Progress: no loop but that over the threads: wait-free. A pinned thread that is stopped holds up the
reuse of nodes and nothing else; what a structure does without free nodes is its own affair.

# ASSUME: Fraser's epoch moves on only when all threads have seen it, so that three lists of nodes
# do. Here it counts what was announced, and each user compares numbers: nodes are free as soon as
# nobody can reach them, which bounds how many there have to be.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from operators.contract import UsageError, Variant
from operators.core.atomics import ACQ_REL, ACQUIRE, RELEASE, SEQ_CST, fence, fetch_add, load, store
from operators.core.family import CoreOperations
from operators.core.jit import inlined
from operators.core.layout import LINE_WORDS, aligned_words

UNPINNED = -1


class Epochs(NamedTuple):
    """The epoch, and who searches since which one."""

    pins: np.ndarray  # [threads] lines; a thread writes, all read: an epoch, or UNPINNED
    epoch: np.ndarray  # [1 line]; who takes nodes out adds, all read
    threads: int


def make_epochs(threads: int) -> Epochs:
    """Return epochs that nobody is pinned to.

    Parameters
    ----------
    threads : int
        Threads that search, at least 1.

    Raises
    ------
    UsageError
        When there is none.
    """
    if threads < 1:
        raise UsageError(f"epochs need at least 1 thread that searches, received {threads}")
    epochs = Epochs(aligned_words(threads * LINE_WORDS), aligned_words(LINE_WORDS), threads)
    epochs.pins[:] = UNPINNED
    return epochs


@inlined
def pin(epochs, thread):
    """Keep what can be reached from now on from being used again, until unpinned."""
    # ACQUIRE: what was unlinked before this epoch is not met. Pairs with advance (1).
    epoch = load(epochs.epoch, 0, ACQUIRE)
    # RELEASE: who sees this pin has behind it what the thread read under the pins before.
    store(epochs.pins, thread * LINE_WORDS, epoch, RELEASE)
    # Keeps the pin before the reads it protects. Pairs with the fence in all_left.
    fence(SEQ_CST)


@inlined
def unpin(epochs, thread):
    """Keep nothing from being used again."""
    # RELEASE keeps every access under the pin before the moment at which what was read may be used
    # again; pairs with the load in all_left.
    store(epochs.pins, thread * LINE_WORDS, UNPINNED, RELEASE)


@inlined
def advance(epochs):
    """Announce what the caller has unlinked, and return the epoch since which it is out of reach.

    By any thread that takes nodes out.
    """
    # RELEASE keeps the unlinking before the epoch (1); pairs with the loads in pin and latest.
    # ACQUIRE: what others have announced is behind the caller too, whose epoch counts it. This one,
    # and those in pin and latest, no scenario misses: `operators.core.check.epochs` says why.
    return fetch_add(epochs.epoch, 0, 1, ACQ_REL) + 1


@inlined
def latest(epochs):
    """Return the epoch that was announced last.

    For who knows what was unlinked, but not since when: at or before this one.
    """
    # ACQUIRE: as in pin.
    return load(epochs.epoch, 0, ACQUIRE)


@inlined
def all_left(epochs, epoch):
    """Say whether what was out of reach since `epoch` is looked at by nobody any more."""
    # Keeps what the caller has seen unlinked before the look at the pins. Pairs with the fence in
    # pin.
    fence(SEQ_CST)
    for thread in range(epochs.threads):
        # ACQUIRE keeps the next use of the nodes behind what was read under earlier pins; pairs
        # with the stores in pin and unpin.
        pinned = load(epochs.pins, thread * LINE_WORDS, ACQUIRE)
        if pinned != UNPINNED and pinned < epoch:
            return False
    return True


def check_invariants(epochs: Epochs) -> None:
    """Assert that nobody is pinned at rest (plain Python)."""
    for thread in range(epochs.threads):
        pinned = int(epochs.pins[thread * LINE_WORDS])
        assert pinned == UNPINNED, f"invariant 2: thread {thread} is pinned to {pinned} at rest"


VARIANT = Variant(
    id="epochs",
    family="core",
    title="Epochs",
    paper="none",
    section="Fraser, Practical lock-freedom, 2004, 5.2.3",
    operations=CoreOperations(
        make_epochs,
        {
            "pin": pin,
            "unpin": unpin,
            "advance": advance,
            "latest": latest,
            "all_left": all_left,
        },
        check_invariants,
    ),
    order="none",
    progress="lock-free",
    threads={"searching": "as many as it was made for", "taking out": "any number"},
    capacity="a word a thread",
    bench=False,
)
