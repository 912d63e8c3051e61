"""A bounded ring from any number of producers to any number of consumers.

Dmitry Vyukov, "Bounded MPMC queue" (1024cores.net, 2010). Michael and Scott's queue needs one
compare-and-swap to link and another to move the end; here each call needs one, since the turn in a
cell says which call may use it next.

::

          read                     written
            |                         |
            v                         v
    ....[ oldest ][  ...  ][ newest ]........      positions grow for ever; the cell of a position
         turn p+1            turn p+1   turn p     is the position modulo the cells, a power of two

A cell has a *turn* and one word:

``turn == p``          free for the producer that claims position `p`
``turn == p + 1``      filled, for the consumer that claims position `p`
``turn == p + cells``  emptied: free again, one round later

Guaranteed: each word comes out once; words of one producer come out in the order of that producer;
if the claims of two words are ordered, the words come out in that order.

Not guaranteed: FULL and "empty" depend on the cell at the end alone. A producer that has claimed a
cell and not yet filled it hides the words of others behind it, and a consumer that has claimed a
cell and not yet emptied it keeps the cell from the next producer. So either answer may be given
while another thread is inside a call; the checker's specification excuses exactly these.

Invariants:

1. ``read <= written <= read + cells``, except for calls in progress.
2. Between the claim of a position and the store of the cell's next turn only the claiming thread
   touches the word.
3. A cell's turn only grows, each time by one or by ``cells - 1``.

Linearization points: push and pop, each the compare-and-swap that claims; FULL and "empty", the
load of the turn that is behind.

Progress: lock-free with respect to calls: each ends, since a claim is lost only to another one. Yet
a thread that stops between claim and store blocks all access to the words behind the claimed cell.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from operators.contract import ACCEPTED, FULL, UsageError, Variant
from operators.core.atomics import ACQUIRE, RELAXED, RELEASE, cas, load, store
from operators.core.family import CoreOperations
from operators.core.jit import inlined
from operators.core.layout import LINE_WORDS, aligned_words
from operators.core.marks import mark, take_over

# The ends are two cache lines apart: the hardware prefetches the neighbour of a line along with it.
WRITTEN = 0
READ = 2 * LINE_WORDS
END_WORDS = 4 * LINE_WORDS

TURN = 0
WORD = 1
CELL_WORDS = 2


class MpmcRing(NamedTuple):
    """A ring. Every word is shared."""

    # (END_WORDS): the next position that a producer, or a consumer, claims.
    ends: np.ndarray
    # (cells * CELL_WORDS): turn and word of each cell; who may touch the word: invariant 2.
    cells: np.ndarray
    # Cells less one.
    mask: int


def make_ring(capacity: int) -> MpmcRing:
    """Return an empty ring.

    Parameters
    ----------
    capacity : int
        Words in a full ring, at least 2; rounded up to a power of two. With one cell the turns of a
        filled and of an emptied cell would be equal.

    Raises
    ------
    UsageError
        When `capacity` is below 2.
    """
    if capacity < 2:
        raise UsageError(f"capacity of an MPMC ring must be at least 2, received {capacity}")
    count = 1 << (capacity - 1).bit_length()
    cells = aligned_words(count * CELL_WORDS)
    cells[TURN::CELL_WORDS] = np.arange(count)
    return MpmcRing(aligned_words(END_WORDS), cells, count - 1)


@inlined
def push(ring, word):
    """Append a word: ACCEPTED or FULL. Any thread."""
    while True:
        # RELAXED: a hint; the compare-and-swap decides.
        position = load(ring.ends, WRITTEN, RELAXED)
        cell = (position & ring.mask) * CELL_WORDS
        # ACQUIRE keeps the store of the word after the load in pop that emptied the cell; pairs
        # with the store of the turn there (invariant 2).
        turn = load(ring.cells, cell + TURN, ACQUIRE)
        if turn == position:
            # RELAXED: the turn orders the content of the cell; a position guards no other data.
            # Linearizes push.
            if cas(ring.ends, WRITTEN, position, position + 1, RELAXED):
                break
            mark("mpmc_ring: another producer claimed the cell")
        elif turn < position:
            mark("mpmc_ring: full")
            return FULL
        else:
            mark("mpmc_ring: producer read an old position")
    take_over(ring.cells, cell + WORD, 1)
    store(ring.cells, cell + WORD, word, RELAXED)
    # RELEASE keeps the word before the turn that shows it; pairs with the load in pop.
    store(ring.cells, cell + TURN, position + 1, RELEASE)
    return ACCEPTED


@inlined
def has_room(ring):
    """Say whether a push would find room now; it will if the caller is the only producer."""
    position = load(ring.ends, WRITTEN, RELAXED)
    # RELAXED: push loads it again, with an order.
    return load(ring.cells, (position & ring.mask) * CELL_WORDS + TURN, RELAXED) == position


@inlined
def held_lately(ring):
    """Return how many words a ring held a moment ago: a hint. Any thread."""
    # RELAXED: a hint. The two may be of different moments.
    return max(load(ring.ends, WRITTEN, RELAXED) - load(ring.ends, READ, RELAXED), 0)


@inlined
def pop(ring, out):
    """Take the oldest word into ``out[0]``; False when there is none. Any thread."""
    while True:
        # RELAXED: as in push.
        position = load(ring.ends, READ, RELAXED)
        cell = (position & ring.mask) * CELL_WORDS
        # ACQUIRE keeps this before the load of the word; pairs with the store of the turn in push.
        turn = load(ring.cells, cell + TURN, ACQUIRE)
        if turn == position + 1:
            # RELAXED: as in push. Linearizes pop.
            if cas(ring.ends, READ, position, position + 1, RELAXED):
                break
            mark("mpmc_ring: another consumer claimed the cell")
        elif turn <= position:
            mark("mpmc_ring: empty")
            return False
        else:
            mark("mpmc_ring: consumer read an old position")
    out[0] = load(ring.cells, cell + WORD, RELAXED)
    # RELEASE keeps the load of the word before the turn that gives the cell to a producer; pairs
    # with the load of the turn in push (invariant 2).
    store(ring.cells, cell + TURN, position + ring.mask + 1, RELEASE)
    return True


def check_invariants(ring: MpmcRing) -> None:
    """Check invariants 1 and 3 of a quiescent ring.

    Raises
    ------
    AssertionError
        The message names the invariant.
    """
    written, read = int(ring.ends[WRITTEN]), int(ring.ends[READ])
    count = ring.mask + 1
    assert 0 <= read <= written <= read + count, f"invariant 1: read {read}, written {written}"
    for position in range(read, read + count):
        turn = int(ring.cells[(position & ring.mask) * CELL_WORDS + TURN])
        expected = position + 1 if position < written else position
        assert turn == expected, f"invariant 3: the cell of {position} has turn {turn}"


VARIANT = Variant(
    id="mpmc-ring",
    family="core",
    title="MPMC ring",
    paper="none",
    section="Vyukov, Bounded MPMC queue, 2010",
    operations=CoreOperations(
        make_ring, {"push": push, "has_room": has_room, "pop": pop}, check_invariants
    ),
    order="first in, first out, by claim",
    progress="lock-free",
    threads={"producer": "any number", "consumer": "any number"},
    capacity="capacity words, rounded up to a power of two; push answers FULL",
    bench=False,
)
