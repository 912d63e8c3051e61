"""MQLF's S-Merge: MQ's queues without their locks.

The second baseline of "Efficient data streaming multiway aggregation" (section 7, before 7.1): MQ
on the queue of Michael and Scott, "with the sole purpose of showing that MQ's poor performance does
not depend only on the use of locks"::

    source 0 --enqueue--> 3 -> 5 -> 8 --+
    source 1 --enqueue--> 4 -> 4 -------+-- reader: peeks at every head, dequeues the lowest (3)
    source 2 --enqueue--> --------------+           unless an open source's queue is empty

Guarantees:

1. A queue holds at most `ahead` tuples, in the order of delivery; a full one answers FULL.
2. A source's tuples are in the source's queue before `closed` says that it delivers no more.
3. The reader returns the total order (timestamp, source, position), each tuple once, and only ready
   tuples, as argued in `multi_queue`: only the reader removes, so a head stays the head once read.

An insertion linearizes at the enqueue, a tuple's return at the dequeue (both in
`operators.core.michael_scott_queue`); NOT_READY at the peek that found an open queue empty. No
thread waits for another: lock-free.

Nothing is added to MQ: one peek at each queue for every tuple, and heads are not cached.

# ASSUME: as in `multi_queue`: queues are bounded by `ahead`, the lowest source number breaks ties,
# and a closed source no longer holds the others back once its queue is empty.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from operators.contract import (
    ACCEPTED,
    END,
    NOT_READY,
    OUT_OF_ORDER,
    READY,
    TIMESTAMP_LIMIT,
    Look,
    Variant,
)
from operators.core import michael_scott_queue
from operators.core.atomics import ACQUIRE, RELEASE, load, store
from operators.core.jit import inlined
from operators.core.layout import LINE_WORDS, aligned_words
from operators.core.marks import mark
from operators.core.michael_scott_queue import (
    END_WORDS,
    HEAD,
    LINK,
    NODE_WORDS,
    NULL,
    Queues,
    dequeue,
    enqueue,
    index_of,
    make_queues,
    peek,
)
from operators.core.michael_scott_queue import TIMESTAMP as NODE_TIMESTAMP
from operators.gate.family import EXACT, GateOperations
from operators.gate.shape import AHEAD, check_gate_bytes, check_gate_shape

# Words of the reader's scratch: a dequeued (timestamp, key, value).
TIMESTAMP = 0
KEY = 1
VALUE = 2


class MultiQueueLockFreeState(NamedTuple):
    """The queues. S is the count of sources."""

    # S Michael-Scott queues of `ahead` tuples each.
    queues: Queues
    # S * LINE_WORDS; 1 once the source is closed (2). Written by the source, read by the reader.
    closed: np.ndarray
    # S * LINE_WORDS; timestamp of the source's last tuple, the limit once closed. Private to the
    # source.
    last: np.ndarray
    # LINE_WORDS; the tuple being dequeued. Only the reader.
    scratch: np.ndarray
    sources: int


def make_state(sources: int, readers: int, ahead: int) -> MultiQueueLockFreeState:
    """Return empty queues of `sources` open sources.

    Parameters
    ----------
    sources : int
        Count of sources, at least 1.
    readers : int
        Must be 1: a queue delivers each tuple once.
    ahead : int
        Tuples a source may be ahead of the reader.

    Raises
    ------
    UsageError
        When a number is out of range.
    """
    check_gate_shape("multi-queue-lock-free", sources, readers, ahead, most_readers=1)
    words = sources * (ahead + 1) * NODE_WORDS
    check_gate_bytes("multi-queue-lock-free", sources, ahead, words)
    return MultiQueueLockFreeState(
        queues=make_queues(sources, ahead),
        closed=aligned_words(sources * LINE_WORDS),
        last=aligned_words(sources * LINE_WORDS),
        scratch=aligned_words(LINE_WORDS),
        sources=sources,
    )


@inlined
def insert_tuple(state, source, timestamp, key, value):
    """Deliver a tuple into the source's queue: ACCEPTED, FULL or OUT_OF_ORDER.

    Called by the source's one thread.
    """
    if timestamp < state.last[source * LINE_WORDS] or timestamp >= TIMESTAMP_LIMIT:
        return OUT_OF_ORDER
    status = enqueue(state.queues, source, timestamp, key, value)
    if status == ACCEPTED:
        state.last[source * LINE_WORDS] = timestamp
    return status


@inlined
def close_source(state, source):
    """Say that the source delivers no more: ACCEPTED. Called by the source's one thread."""
    # RELEASE keeps the source's enqueues before it; pairs with the load in the peek below (2).
    # Linearizes close_source.
    store(state.closed, source * LINE_WORDS, 1, RELEASE)
    state.last[source * LINE_WORDS] = TIMESTAMP_LIMIT  # later tuples are out of order
    return ACCEPTED


@inlined
def get_next_ready_tuple(state, reader, out):
    """Return the earliest ready tuple: READY, NOT_READY or END.

    Parameters
    ----------
    state : MultiQueueLockFreeState
    reader : int
        0, the one reader.
    out : int64[4]
        Filled on READY: timestamp, source, key, value.
    """
    earliest = -1
    lowest = 0
    for source in range(state.sources):
        status, timestamp = get_next_ready_tuple_peek(state, source)
        if status == NOT_READY:
            return NOT_READY
        # Strictly below: of equal timestamps the lowest source number goes first.
        if status == READY and (earliest < 0 or timestamp < lowest):
            earliest = source
            lowest = timestamp
    if earliest < 0:
        return END
    dequeue(state.queues, earliest, state.scratch)
    out[0] = state.scratch[TIMESTAMP]
    out[1] = earliest
    out[2] = state.scratch[KEY]
    out[3] = state.scratch[VALUE]
    return READY


@inlined
def get_next_ready_tuple_peek(state, source):
    """Return READY and the timestamp of a queue's head, NOT_READY (empty) or END (and closed)."""
    there, timestamp = peek(state.queues, source)
    if there:
        return READY, timestamp
    # ACQUIRE keeps this before the second peek: once the source is seen closed, all tuples that it
    # has delivered are seen too. Pairs with the store in close_source (2).
    if load(state.closed, source * LINE_WORDS, ACQUIRE) == 0:
        # An earlier tuple may still come from here.
        return NOT_READY, 0
    there, timestamp = peek(state.queues, source)
    if there:
        mark("multi_queue_lock_free: delivered and closed after the first peek")
        return READY, timestamp
    return END, 0


def check_invariants(state: MultiQueueLockFreeState) -> None:
    """Check a quiescent gate (no thread inside an operation).

    Raises
    ------
    AssertionError
        When an invariant of the module's docstring, or one of the queues, is broken.
    """
    michael_scott_queue.check_invariants(state.queues)
    for source in range(state.sources):
        timestamps = _waiting_timestamps(state.queues, source)
        assert timestamps == sorted(timestamps), f"(1) source {source} is not sorted: {timestamps}"
        if timestamps and not state.closed[source * LINE_WORDS]:
            assert timestamps[-1] == state.last[source * LINE_WORDS], f"(1) source {source}: last"
        assert state.closed[source * LINE_WORDS] in (0, 1), f"(2) source {source}: closed"


def _waiting_timestamps(queues: Queues, source: int) -> list[int]:
    """Return the timestamps in a quiescent queue; the queue's invariant bounds them by `ahead`."""
    node = index_of(int(queues.ends[source * END_WORDS + HEAD]))
    timestamps: list[int] = []
    while (node := index_of(int(queues.nodes[node * NODE_WORDS + LINK]))) != NULL:
        timestamps.append(int(queues.nodes[node * NODE_WORDS + NODE_TIMESTAMP]))
    return timestamps


VARIANT = Variant(
    id="multi-queue-lock-free",
    family="gate",
    title="Multi-queue, lock-free",
    paper="multiway_aggregation",
    section="7",
    operations=GateOperations(
        make_state, insert_tuple, get_next_ready_tuple, close_source, check_invariants, EXACT
    ),
    order="total: (timestamp, source, position)",
    progress="lock-free",
    threads={"source": "one per source", "reader": "one"},
    capacity="ahead tuples a source; a full source is told FULL",
    parameters=(AHEAD,),
    look=Look("orange", "^"),
    extends={"multiway_aggregation": ("7",)},
)
