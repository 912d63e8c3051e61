"""Epoch-based reclamation: when nodes removed from a structure may be reused.

Without locks a thread may stop in the middle of a search, on a node that another thread has removed
meanwhile. The papers leave this to Java's garbage collector. Here it is the epochs of Fraser
("Practical lock-freedom", 2004, section 5.2.3): a searching thread is *pinned* to the epoch in
which it began, and a node waits until no thread is pinned to an epoch before the one in which the
node became unreachable::

    searching     pin: 4 .... load, load, load .... unpin
    removing          unlink a node   advance: 5
    reusing                                      all_left(5)? no       all_left(5)? yes

Invariants
----------
1. ``epoch`` counts the announcements, each once, and never goes back. The unlinking of every node
   announced up to an epoch happens before the later loads of a thread that has read the epoch;
   in ``pin``, before those after its fence.
2. While a thread reads nodes that others may remove, the thread's word in ``pins`` is an epoch at
   or before every one that is announced from the ``pin`` on.

Hence the rule for a user: unlink, then ``advance``; the unlinked nodes may be reused once
``all_left`` has returned true for that epoch or a later one. A search begins after ``pin``, at a
word that leads only to nodes reachable at that moment, or that says itself when it does not (a
mark).

Why it holds: ``pin`` and ``all_left`` have a SEQ_CST fence each, the first between the pin and the
reads that it protects, the other between the unlinking that the caller has seen and the loads of
the pins. One of the two fences comes first in the order that all threads agree on. If it is that of
``pin``, ``all_left`` sees the pin. If it is the other one, the search sees the nodes unlinked and
does not meet them. (That the unlinking may be another thread's, if it happens before the fence, is
the rule of C++20 and RC11; the wording of C11 asks for more than compilers and processors need.)
``advance`` is a read-modify-write, so that several threads may remove nodes: the removals of all of
them happen before the acquisition of the last one's epoch.

Linearization points: ``pin`` at the fence, ``unpin`` at the store, ``advance`` at the addition;
``all_left``, where it returns true, at the last load: a thread that pins after the fence of
``all_left`` meets no such node.

Progress: the only loop is over the threads: wait-free. A stopped thread that is pinned delays the
reuse of nodes and nothing else; each structure decides how it answers without free nodes.

# ASSUME: Fraser's epoch moves on only when all threads have seen it, so that three lists of nodes
# suffice. Here it counts announcements, and each user compares numbers: nodes are free as soon as
# no thread can reach them, which bounds the number of nodes needed.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from operators.contract import UsageError, Variant
from operators.core.atomics import (
    ACQ_REL,
    ACQUIRE,
    RELAXED,
    RELEASE,
    SEQ_CST,
    fence,
    fetch_add,
    load,
    store,
)
from operators.core.family import CoreOperations
from operators.core.jit import inlined
from operators.core.layout import LINE_WORDS, aligned_words

UNPINNED = -1


class Epochs(NamedTuple):
    """The epoch, and the epoch to which each searching thread is pinned."""

    pins: np.ndarray  # [threads] lines; a thread writes, all read: an epoch, or UNPINNED
    epoch: np.ndarray  # [1 line]; the threads that remove nodes add, all read
    threads: int


def make_epochs(threads: int) -> Epochs:
    """Return epochs to which no thread is pinned.

    Parameters
    ----------
    threads : int
        Threads that search, at least 1.

    Raises
    ------
    UsageError
        When there is no such thread.
    """
    if threads < 1:
        raise UsageError(f"epochs need at least 1 thread that searches, received {threads}")
    epochs = Epochs(aligned_words(threads * LINE_WORDS), aligned_words(LINE_WORDS), threads)
    epochs.pins[:] = UNPINNED
    return epochs


@inlined
def pin(epochs, thread):
    """Keep the nodes that are reachable from now on from being reused, until unpinned."""
    # RELAXED: the fence below acquires what the epoch announces, before any load under the pin, so
    # that nodes unlinked before this epoch are not met (1). Pairs with advance.
    epoch = load(epochs.epoch, 0, RELAXED)
    # RELEASE: reads under earlier pins happen before the accesses of a thread that sees this pin.
    store(epochs.pins, thread * LINE_WORDS, epoch, RELEASE)
    # Keeps the pin before the reads it protects. Pairs with the fence in all_left.
    fence(SEQ_CST)


@inlined
def unpin(epochs, thread):
    """Let all nodes be reused again."""
    # RELEASE keeps every access under the pin before the moment at which the nodes read may be
    # reused; pairs with the load in all_left.
    store(epochs.pins, thread * LINE_WORDS, UNPINNED, RELEASE)


@inlined
def advance(epochs):
    """Announce the nodes that the caller has unlinked; return the epoch of their unreachability.

    For any thread that removes nodes.
    """
    # RELEASE keeps the unlinking before the epoch (1); pairs with the loads in pin and latest.
    # ACQUIRE: announcements of other threads come before the caller's, whose epoch counts them.
    return fetch_add(epochs.epoch, 0, 1, ACQ_REL) + 1


@inlined
def latest(epochs):
    """Return the epoch that was announced last.

    For a caller that knows the unlinked nodes but not since when: at or before this epoch.
    """
    # ACQUIRE: the nodes were unlinked before the epoch that says so (1). Pairs with advance.
    return load(epochs.epoch, 0, ACQUIRE)


@inlined
def all_left(epochs, epoch):
    """Say whether no thread can still read the nodes unreachable since `epoch`."""
    # Keeps the unlinking that the caller has seen before the loads of the pins. Pairs with the
    # fence in pin.
    fence(SEQ_CST)
    for thread in range(epochs.threads):
        # ACQUIRE keeps the reuse of the nodes after the reads under earlier pins; pairs with the
        # stores in pin and unpin.
        pinned = load(epochs.pins, thread * LINE_WORDS, ACQUIRE)
        if pinned != UNPINNED and pinned < epoch:
            return False
    return True


def check_invariants(epochs: Epochs) -> None:
    """Assert that no thread is pinned in a quiescent structure (plain Python)."""
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
