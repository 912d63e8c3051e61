"""Rings from a single producer to a single consumer.

Leslie Lamport, "Specifying Concurrent Program Modules", TOPLAS 5(2), 1983, with each side keeping a
copy of the other's position, as in FastForward (Giacomoni, Moseley, Vachharajani, PPoPP 2008) and
the libraries after it: the copy is refreshed only when it says full or empty, so that in steady
state the two threads exchange one cache line for many records and not two for each.

::

      read                    written
        |                        |
        v                        v
    ....[oldest][ ... ][newest ]........     positions grow for ever; a record's slot is its
        <----- at most capacity ---->        position modulo the slots, a power of two

Words: a *record* is ``record_words`` int64 words in one *slot*; a *position* counts the records
written or read since the start. A producer claims a slot, fills it and publishes; a consumer reads
the front slot and releases it. ``push`` and ``pop`` do both for records of one word.

A consumer may also take the front slot and give back several at once. The cache line of ``read``
then travels once for all of them, while the producer of a full ring polls it. This never delays a
record, since records are published at once; and a producer whose ring the consumer finds empty has
room as long as the consumer keeps fewer than ``capacity`` slots.

Invariants:

1. ``0 <= written - read <= capacity``.
2. Only the producer writes slots from ``written`` up to ``read + capacity``; only the consumer
   reads slots from ``read`` up to ``written``.
3. ``seen_read <= read`` and ``seen_written <= written``: a stale copy claims less room or fewer
   records than there are, never more.
4. ``read <= taken <= seen_written``: slots taken and not given back stay the consumer's.

Linearization points: publish and give_back, each the store of the position; an answer of "full" or
"empty", the load that refreshed the copy.

Not guaranteed: where stores reach other threads late, as on x86, "full" and "empty" may both be
stale: the producer gets "full" while the consumer gets "empty". Both become right when the stores
arrive.

Progress: wait-free for both sides. One producer thread and one consumer thread a ring; that is not
checked.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from operators.contract import ACCEPTED, FULL, UsageError, Variant
from operators.core.atomics import ACQUIRE, RELAXED, RELEASE, load, store
from operators.core.family import CoreOperations
from operators.core.jit import inlined
from operators.core.layout import LINE_WORDS, aligned_words
from operators.core.marks import mark, take_over

NO_SLOT = -1

# The words of a ring. The shared positions and each side's private words are on separate cache
# lines, against false sharing: a side touches its copies at every operation, and they must not
# travel with a position that the other side reads.
WRITTEN = 0
SEEN_READ = LINE_WORDS
READ = 2 * LINE_WORDS
SEEN_WRITTEN = 3 * LINE_WORDS
TAKEN = SEEN_WRITTEN + 1
RING_WORDS = 4 * LINE_WORDS


class Rings(NamedTuple):
    """Several rings of equal shape."""

    # (count * RING_WORDS): of each ring
    #   WRITTEN       written by the producer, read by both
    #   SEEN_READ     the producer's copy of READ
    #   READ          written by the consumer, read by both
    #   SEEN_WRITTEN  the consumer's copy of WRITTEN
    #   TAKEN         private to the consumer: records taken, given back or not
    positions: np.ndarray
    # (count * slots * record_words): the records. Access to a slot: invariant 2.
    records: np.ndarray
    # Most records in one ring.
    capacity: int
    # Slots of one ring: the capacity rounded up to a power of two.
    slots: int
    # Words of a record.
    record_words: int


def make_rings(count: int, capacity: int, record_words: int = 1) -> Rings:
    """Return `count` empty rings.

    Parameters
    ----------
    count : int
        At least 1.
    capacity : int
        Records that one ring holds, at least 1.
    record_words : int
        int64 words of a record, at least 1.

    Raises
    ------
    UsageError
        When a parameter is below 1.
    """
    for name, value in (("count", count), ("capacity", capacity), ("record_words", record_words)):
        if value < 1:
            raise UsageError(f"{name} of rings must be at least 1, received {value}")
    slots = 1 << (capacity - 1).bit_length()
    return Rings(
        positions=aligned_words(count * RING_WORDS),
        records=aligned_words(count * slots * record_words),
        capacity=capacity,
        slots=slots,
        record_words=record_words,
    )


@inlined
def claim(rings, ring):
    """Return the index in ``rings.records`` of the next record, or NO_SLOT when the ring is full.

    For the producer. The words there may be stored in any order until ``publish``.
    """
    base = ring * RING_WORDS
    # RELAXED: the producer's position and copy.
    written = load(rings.positions, base + WRITTEN, RELAXED)
    if written - load(rings.positions, base + SEEN_READ, RELAXED) >= rings.capacity:
        if not claim_refresh(rings, base, written):
            return NO_SLOT
    place = slot_place(rings, ring, written)
    take_over(rings.records, place, rings.record_words)
    return place


@inlined
def claim_refresh(rings, base, written):
    """Load the consumer's position, and say whether there is room."""
    # ACQUIRE keeps this before the stores of the next record: the consumer has finished with the
    # slot. Pairs with the store in give_back (invariant 2).
    read = load(rings.positions, base + READ, ACQUIRE)
    store(rings.positions, base + SEEN_READ, read, RELAXED)
    if written - read >= rings.capacity:
        mark("spsc_ring: full")
        return False
    mark("spsc_ring: producer refreshed its copy")
    return True


@inlined
def publish(rings, ring):
    """Hand the claimed slot to the consumer."""
    place = ring * RING_WORDS + WRITTEN
    written = load(rings.positions, place, RELAXED)
    # RELEASE keeps the record's words before the position that shows them; pairs with the load in
    # front_refresh (invariant 2).
    # Linearizes publish.
    store(rings.positions, place, written + 1, RELEASE)


@inlined
def front(rings, ring):
    """Return the index in ``rings.records`` of the oldest record, or NO_SLOT when empty.

    For the consumer, who may read the words there until ``give_back`` or ``release``.
    """
    base = ring * RING_WORDS
    # RELAXED: the consumer's position and copy.
    taken = load(rings.positions, base + TAKEN, RELAXED)
    if taken == load(rings.positions, base + SEEN_WRITTEN, RELAXED):
        if not front_refresh(rings, base, taken):
            return NO_SLOT
    return slot_place(rings, ring, taken)


@inlined
def held_lately(rings, ring):
    """Return how many records a ring held a moment ago: a hint for threads but the consumer."""
    base = ring * RING_WORDS
    # RELAXED: a caller that relies on the hint becomes the consumer first, and loads again.
    read = load(rings.positions, base + READ, RELAXED)
    return load(rings.positions, base + WRITTEN, RELAXED) - read


@inlined
def front_refresh(rings, base, taken):
    """Load the producer's position, and say whether there is a record."""
    # ACQUIRE keeps this before the loads of the record's words; pairs with the store in publish.
    written = load(rings.positions, base + WRITTEN, ACQUIRE)
    store(rings.positions, base + SEEN_WRITTEN, written, RELAXED)
    if written == taken:
        mark("spsc_ring: empty")
        return False
    mark("spsc_ring: consumer refreshed its copy")
    return True


@inlined
def take(rings, ring):
    """Take the next record but keep the slot, and return how many were taken so far."""
    place = ring * RING_WORDS + TAKEN
    # RELAXED: the consumer's position.
    taken = load(rings.positions, place, RELAXED) + 1
    store(rings.positions, place, taken, RELAXED)
    return taken


@inlined
def give_back(rings, ring, taken):
    """Return the first `taken` slots, of those taken so far, to the producer."""
    # RELEASE keeps the loads of the records' words before the position that lets the producer
    # overwrite them; pairs with the load in claim_refresh (invariant 2).
    # Linearizes give_back.
    store(rings.positions, ring * RING_WORDS + READ, taken, RELEASE)


@inlined
def release(rings, ring):
    """Take the front record and return the slot to the producer."""
    give_back(rings, ring, take(rings, ring))


@inlined
def slot_place(rings, ring, position):
    """Return the index in ``rings.records`` of the record of `position`."""
    return (ring * rings.slots + (position & (rings.slots - 1))) * rings.record_words


@inlined
def push(rings, ring, word):
    """Append a record of one word: ACCEPTED or FULL."""
    place = claim(rings, ring)
    if place == NO_SLOT:
        return FULL
    # RELAXED: publish orders it.
    store(rings.records, place, word, RELAXED)
    publish(rings, ring)
    return ACCEPTED


@inlined
def pop(rings, ring, out):
    """Take the oldest record of one word into ``out[0]``; False when the ring is empty."""
    place = front(rings, ring)
    if place == NO_SLOT:
        return False
    # RELAXED: front has ordered it, and release will.
    out[0] = load(rings.records, place, RELAXED)
    release(rings, ring)
    return True


def check_invariants(rings: Rings) -> None:
    """Check invariants 1, 3 and 4 of quiescent rings.

    Raises
    ------
    AssertionError
        The message names the ring and the invariant.
    """
    for ring in range(len(rings.positions) // RING_WORDS):
        written, seen_read, read, seen_written, taken = (
            int(rings.positions[ring * RING_WORDS + word])
            for word in (WRITTEN, SEEN_READ, READ, SEEN_WRITTEN, TAKEN)
        )
        assert 0 <= written - read <= rings.capacity, f"ring {ring}, invariant 1: {read} {written}"
        assert seen_read <= read, f"ring {ring}, invariant 3: the producer's copy is ahead"
        assert seen_written <= written, f"ring {ring}, invariant 3: the consumer's copy is ahead"
        assert read <= taken <= seen_written, f"ring {ring}, invariant 4: {read} {taken}"


VARIANT = Variant(
    id="spsc-ring",
    family="core",
    title="SPSC ring",
    paper="none",
    section="Lamport, TOPLAS 5(2), 1983",
    operations=CoreOperations(
        make_rings,
        {
            "claim": claim,
            "publish": publish,
            "front": front,
            "take": take,
            "give_back": give_back,
            "release": release,
            "push": push,
            "pop": pop,
        },
        check_invariants,
    ),
    order="first in, first out",
    progress="lock-free",  # wait-free, even
    threads={"producer": "one a ring", "consumer": "one a ring"},
    capacity="capacity records; push answers FULL, claim NO_SLOT",
    bench=False,
)
