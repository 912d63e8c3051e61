"""MQLF's merge over the cheapest queue: a single-producer/single-consumer ring for each source.

In no paper. MQLF shows the cost of MQ's locks and keeps all else; this shows how much more can be
gained while the reader still sorts alone and compares S heads for every tuple::

    source 0 --publish--> [ 3 | 5 | 8 ] --+    heads: 3 4 ?
    source 1 --publish--> [ 4 | 4     ] --+--> reader: takes the lowest head, looks at that queue
    source 2 --publish--> [           ] --+            again; waits while one head is unknown

Compared with `multi_queue_lock_free`: the queue is that of `operators.core.spsc_ring`, whose
producer and consumer communicate once a batch and not once a tuple; heads are cached
(`operators.gate.heads`); slots are given back a batch at a time.

Guarantees:

1. A ring holds at most `ahead` tuples, in the order of delivery; a full one answers FULL.
2. A source's tuples are in the source's ring before `closed` says that it delivers no more.
3. A cached head is the timestamp of its ring's front. Only the reader takes, so it stays valid.
4. The reader returns the total order (timestamp, source, position), each tuple once, and only ready
   tuples: with the head of every source known or the source ended, each source's last tuple is at
   or after that source's head, hence at or after the lowest head.
5. The reader keeps fewer than ``back`` slots of a ring, and ``back`` is at most `ahead`: the source
   of an empty ring always has room, so reader and source never wait for each other.

An insertion linearizes at ``publish``, a tuple's return where the reader takes the tuple; NOT_READY
at the load that found an open ring empty. Both sides are wait-free.

# ASSUME: as in `multi_queue`: queues are bounded by `ahead`, the lowest source number breaks ties,
# and a closed source no longer holds the others back once its queue is empty.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from operators.contract import (
    ACCEPTED,
    FULL,
    OUT_OF_ORDER,
    TIMESTAMP_LIMIT,
    Look,
    Variant,
)
from operators.core import spsc_ring
from operators.core.atomics import ACQUIRE, RELAXED, RELEASE, load, store
from operators.core.jit import inlined
from operators.core.layout import LINE_WORDS, aligned_words
from operators.core.marks import mark
from operators.core.spsc_ring import (
    NO_SLOT,
    RING_WORDS,
    TAKEN,
    WRITTEN,
    Rings,
    claim,
    front,
    give_back,
    make_rings,
    publish,
    slot_place,
    take,
)
from operators.gate.family import GateAnswers, GateOperations
from operators.gate.heads import NO_MORE, UNKNOWN, make_heads, reading_by_heads
from operators.gate.shape import AHEAD, check_gate_bytes, check_gate_shape

# Words of a record; one is spare: a record never straddles two cache lines.
RECORD_WORDS = 4
TIMESTAMP, KEY, VALUE = 0, 1, 2


class SourceRings(NamedTuple):
    """The rings and each source's words. S is the count of sources."""

    # S rings of `ahead` records: timestamp, key, value.
    rings: Rings
    # S * LINE_WORDS; 1 once the source is closed (2). Written by the source, read by the reader.
    closed: np.ndarray
    # S * LINE_WORDS; timestamp of the source's last tuple, the limit once closed. Private to the
    # source.
    last: np.ndarray
    sources: int
    back: int  # size of the batches in which slots of a ring are given back (5); a power of two


class MultiQueueRingsState(NamedTuple):
    """The rings, and the heads that the reader caches."""

    queues: SourceRings
    heads: np.ndarray  # [sources]; only the reader (3)


def make_queues(name: str, sources: int, readers: int, ahead: int) -> SourceRings:
    """Return empty rings of `sources` open sources for the gate `name`.

    Raises
    ------
    UsageError
        When a number is out of range.
    """
    check_gate_shape(name, sources, readers, ahead, most_readers=1)
    check_gate_bytes(name, sources, ahead, sources * ring_size(ahead) * RECORD_WORDS)
    return SourceRings(
        rings=make_rings(sources, ahead, RECORD_WORDS),
        closed=aligned_words(sources * LINE_WORDS),
        last=aligned_words(sources * LINE_WORDS),
        sources=sources,
        back=given_back(ahead),
    )


def given_back(ahead: int) -> int:
    """Return how many slots of a ring are given back at a time.

    An eighth: a full source resumes in large steps, and keeps most of its room. A quarter made 1.07
    [0.91, 1.29] and 1.03 times as many tuples/s with 2 and 20 sources, a sixteenth 1.12 [1.06,
    1.22] and 1.02 (three pairs in turns, two cores of an EPYC): no difference that both counts of
    sources confirm.
    """
    return max(1, ring_size(ahead) // 8)


def ring_size(ahead: int) -> int:
    """Return the number of slots of a ring, a power of two."""
    return 1 << (ahead - 1).bit_length()


# All but one slot of a batch may be taken but not given back.
ANSWERS = GateAnswers(room=lambda ahead: ahead - given_back(ahead) + 1)


def make_state(sources: int, readers: int, ahead: int) -> MultiQueueRingsState:
    """Return empty queues of `sources` open sources.

    Parameters
    ----------
    sources : int
        Count of sources, at least 1.
    readers : int
        Must be 1: a ring has one consumer.
    ahead : int
        Tuples a source may be ahead of the reader.

    Raises
    ------
    UsageError
        When a number is out of range.
    """
    queues = make_queues("multi-queue-rings", sources, readers, ahead)
    return MultiQueueRingsState(queues, make_heads(sources))


@inlined
def queue_insert(queues, source, timestamp, key, value):
    """Deliver a tuple into the source's ring, by the source's one thread."""
    rings = queues.rings
    if timestamp < queues.last[source * LINE_WORDS] or timestamp >= TIMESTAMP_LIMIT:
        return OUT_OF_ORDER
    place = claim(rings, source)
    if place == NO_SLOT:
        return FULL
    # RELAXED: publish orders them.
    store(rings.records, place + TIMESTAMP, timestamp, RELAXED)
    store(rings.records, place + KEY, key, RELAXED)
    store(rings.records, place + VALUE, value, RELAXED)
    publish(rings, source)
    queues.last[source * LINE_WORDS] = timestamp
    return ACCEPTED


@inlined
def queue_close(queues, source):
    """Say that the source delivers no more, by the source's one thread."""
    # RELEASE keeps the source's tuples before it; pairs with the load in queue_head_of_empty (2).
    # Linearizes close_source.
    store(queues.closed, source * LINE_WORDS, 1, RELEASE)
    queues.last[source * LINE_WORDS] = TIMESTAMP_LIMIT  # later tuples are out of order
    return ACCEPTED


@inlined
def queue_head(queues, source):
    """Return the timestamp of a ring's front; NO_MORE once ended, UNKNOWN while it is empty."""
    place = front(queues.rings, source)
    if place == NO_SLOT:
        return queue_head_of_empty(queues, source)
    return load(queues.rings.records, place + TIMESTAMP, RELAXED)


@inlined
def queue_head_of_empty(queues, source):
    """Load the front of a ring again after it was found empty."""
    # ACQUIRE keeps this before the second load: once the source is seen closed, all tuples that it
    # has delivered are seen too. Pairs with the store in queue_close (2).
    if load(queues.closed, source * LINE_WORDS, ACQUIRE) == 0:
        # An earlier tuple may still come from here.
        return UNKNOWN
    place = front(queues.rings, source)
    if place == NO_SLOT:
        return NO_MORE
    mark("multi_queue_rings: delivered and closed after the first look")
    return load(queues.rings.records, place + TIMESTAMP, RELAXED)


@inlined
def queue_take(queues, source, out):
    """Move the front of a ring known not to be empty into `out`; return the next head."""
    rings = queues.rings
    # RELAXED: the reader's private position; the load that made the head known orders the record.
    taken = load(rings.positions, source * RING_WORDS + TAKEN, RELAXED)
    place = slot_place(rings, source, taken)
    out[0] = load(rings.records, place + TIMESTAMP, RELAXED)
    out[1] = source
    out[2] = load(rings.records, place + KEY, RELAXED)
    out[3] = load(rings.records, place + VALUE, RELAXED)
    # Linearizes get_next_ready_tuple.
    taken = take(rings, source)
    if taken & (queues.back - 1) == 0:
        give_back(rings, source, taken)
    return queue_head(queues, source)


@inlined
def insert_tuple(state, source, timestamp, key, value):
    """Deliver a tuple into the source's ring: ACCEPTED, FULL or OUT_OF_ORDER."""
    return queue_insert(state.queues, source, timestamp, key, value)


@inlined
def close_source(state, source):
    """Say that the source delivers no more: ACCEPTED."""
    return queue_close(state.queues, source)


get_next_ready_tuple = reading_by_heads(queue_head, queue_take)


def check_queues(queues: SourceRings, heads: np.ndarray) -> None:
    """Check quiescent rings, and that each of `heads` agrees with the ring (3).

    Raises
    ------
    AssertionError
        When an invariant of the module's docstring, or one of the rings, is broken.
    """
    spsc_ring.check_invariants(queues.rings)
    for source in range(queues.sources):
        taken, written = (
            int(queues.rings.positions[source * RING_WORDS + word]) for word in (TAKEN, WRITTEN)
        )
        places = [slot_place(queues.rings, source, position) for position in range(taken, written)]
        timestamps = [int(queues.rings.records[place + TIMESTAMP]) for place in places]
        closed = int(queues.closed[source * LINE_WORDS])
        assert timestamps == sorted(timestamps), f"(1) source {source} is not sorted: {timestamps}"
        assert closed in (0, 1), f"(2) source {source}: closed is {closed}"
        if timestamps and not closed:
            assert timestamps[-1] == queues.last[source * LINE_WORDS], f"(1) source {source}: last"
        allowed = {UNKNOWN, timestamps[0] if timestamps else NO_MORE}
        assert heads[source] in allowed, f"(3) source {source}: head {heads[source]}"
        assert heads[source] != NO_MORE or closed, f"(3) source {source} is open"


def check_invariants(state: MultiQueueRingsState) -> None:
    """Check a quiescent gate (no thread inside an operation).

    Raises
    ------
    AssertionError
        When an invariant of the module's docstring, or one of the rings, is broken.
    """
    check_queues(state.queues, state.heads)


PARAMETERS = (AHEAD,)

VARIANT = Variant(
    id="multi-queue-rings",
    family="gate",
    title="Rings",
    paper="multiway_aggregation",
    section="extends 7",
    operations=GateOperations(
        make_state, insert_tuple, get_next_ready_tuple, close_source, check_invariants, ANSWERS
    ),
    order="total: (timestamp, source, position)",
    progress="lock-free",
    threads={"source": "one per source", "reader": "one"},
    capacity="ahead tuples a source; a full source is told FULL",
    parameters=PARAMETERS,
    extended=True,
    look=Look("#a87400", "<"),
    extends={"multiway_aggregation": ("7",)},
)
