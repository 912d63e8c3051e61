"""MQ's S-Merge: a bounded queue for each source under a lock, and a reader that polls all queues.

The baseline of "Efficient data streaming multiway aggregation" (section 5.3, Algorithm 2), as found
in Borealis and StreamCloud::

    source 0 --add--> [ 3 | 5 | 8 ] lock 0 --+
    source 1 --add--> [ 4 | 4     ] lock 1 --+-- reader: peeks at every head, takes the lowest (3)
    source 2 --add--> [           ] lock 2 --+           unless an open source's queue is empty

Guarantees:

1. A queue holds at most `ahead` tuples, in the order of delivery; a full one answers FULL.
2. A queue's `head`, `tail`, `closed` and cells are touched only by the holder of its lock.
3. The reader returns the total order (timestamp, source, position), each tuple once, and only ready
   tuples: while an open source's queue is empty nothing is returned, since the source's next tuple
   may come before every head; otherwise the lowest head is ready, because each source's last tuple
   is at or after the head of that source.

An operation linearizes in the critical section of the queue it changes. Reading the heads is not
one atomic step and need not be: only the reader removes, so a head stays the head once read, and a
queue found filled stays so. Waiting is the mutex's, so progress is blocking.

The rival is neither stronger nor weaker than printed: for every tuple the reader locks every queue,
and then once more the one it takes from; heads are not cached; locks are pthread mutexes.

# ASSUME: the paper's queues are unbounded. Here `ahead` bounds each, as in all variants.
# ASSUME: Algorithm 2 breaks no ties; the lowest source number goes first, so that the order is
# unique.
# ASSUME: the paper's streams do not end. Here a closed source's empty queue no longer holds the
# others back.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from operators.contract import (
    ACCEPTED,
    END,
    FULL,
    NOT_READY,
    OUT_OF_ORDER,
    READY,
    TIMESTAMP_LIMIT,
    Look,
    Variant,
)
from operators.core.atomics import RELAXED, load, store
from operators.core.jit import inlined
from operators.core.layout import LINE_WORDS, aligned_words
from operators.core.marks import mark
from operators.core.mutex import acquire, make_mutexes, release
from operators.gate.family import EXACT, GateOperations
from operators.gate.shape import AHEAD, check_gate_bytes, check_gate_shape

# Words of a queue, at `source * LINE_WORDS` in `queues`.
HEAD = 0  # tuples taken so far
TAIL = 1  # tuples delivered so far
CLOSED = 2  # 1 once the source is closed

# Words of a cell, at `(source * size + count % size) * CELL_WORDS` in `cells`.
CELL_WORDS = 4  # one is spare: a cell never straddles two cache lines
CELL_TIMESTAMP = 0
CELL_KEY = 1
CELL_VALUE = 2


class MultiQueueState(NamedTuple):
    """The queues. S is the count of sources, size the least power of two not below `ahead`."""

    # A pthread mutex a source.
    locks: np.ndarray
    # S * LINE_WORDS; head, tail, closed. By the lock's holder; 0 <= tail - head <= ahead.
    queues: np.ndarray
    # S * size * CELL_WORDS; timestamp, key, value. By the lock's holder.
    cells: np.ndarray
    # S * LINE_WORDS; timestamp of the source's last tuple, the limit once closed. Private to the
    # source's thread, hence unlocked.
    last: np.ndarray
    sources: int
    ahead: int
    mask: int  # size - 1


def make_state(sources: int, readers: int, ahead: int) -> MultiQueueState:
    """Return empty queues of `sources` open sources.

    Parameters
    ----------
    sources : int
        Count of sources, at least 1.
    readers : int
        Must be 1: a queue has one head.
    ahead : int
        Tuples a source may be ahead of the reader.

    Raises
    ------
    UsageError
        When a number is out of range.
    """
    check_gate_shape("multi-queue", sources, readers, ahead, most_readers=1)
    size = 1 << (ahead - 1).bit_length()
    check_gate_bytes("multi-queue", sources, ahead, sources * size * CELL_WORDS)
    return MultiQueueState(
        locks=make_mutexes(sources),
        queues=aligned_words(sources * LINE_WORDS),
        cells=aligned_words(sources * size * CELL_WORDS),
        last=aligned_words(sources * LINE_WORDS),
        sources=sources,
        ahead=ahead,
        mask=size - 1,
    )


@inlined
def cell_of(state, source, count):
    """Return the index in `cells` of the `count`-th tuple of `source`."""
    return (source * (state.mask + 1) + (count & state.mask)) * CELL_WORDS


@inlined
def insert_tuple(state, source, timestamp, key, value):
    """Deliver a tuple into the source's queue (Algorithm 2, Add): ACCEPTED, FULL or OUT_OF_ORDER.

    Called by the source's one thread.
    """
    if timestamp < state.last[source * LINE_WORDS] or timestamp >= TIMESTAMP_LIMIT:
        return OUT_OF_ORDER
    queue = source * LINE_WORDS
    acquire(state.locks, source)
    # Relaxed throughout: the lock orders its holders (2).
    tail = load(state.queues, queue + TAIL, RELAXED)
    if tail - load(state.queues, queue + HEAD, RELAXED) == state.ahead:
        release(state.locks, source)
        mark("multi_queue: full")
        return FULL
    cell = cell_of(state, source, tail)
    store(state.cells, cell + CELL_TIMESTAMP, timestamp, RELAXED)
    store(state.cells, cell + CELL_KEY, key, RELAXED)
    store(state.cells, cell + CELL_VALUE, value, RELAXED)
    store(state.queues, queue + TAIL, tail + 1, RELAXED)
    # Linearizes insert_tuple.
    release(state.locks, source)
    state.last[source * LINE_WORDS] = timestamp
    return ACCEPTED


@inlined
def close_source(state, source):
    """Say that the source delivers no more: ACCEPTED. Called by the source's one thread."""
    acquire(state.locks, source)
    store(state.queues, source * LINE_WORDS + CLOSED, 1, RELAXED)
    # Linearizes close_source.
    release(state.locks, source)
    state.last[source * LINE_WORDS] = TIMESTAMP_LIMIT  # later tuples are out of order
    return ACCEPTED


@inlined
def get_next_ready_tuple(state, reader, out):
    """Return the earliest ready tuple (Algorithm 2, L5 to L7): READY, NOT_READY or END.

    Parameters
    ----------
    state : MultiQueueState
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
        # Strictly below: among equal timestamps the lowest source number goes first.
        if status == READY and (earliest < 0 or timestamp < lowest):
            earliest = source
            lowest = timestamp
    if earliest < 0:
        return END
    get_next_ready_tuple_take(state, earliest, out)
    return READY


@inlined
def get_next_ready_tuple_peek(state, source):
    """Return READY and the timestamp of a queue's head, NOT_READY (empty) or END (and closed)."""
    queue = source * LINE_WORDS
    timestamp = 0
    acquire(state.locks, source)
    head = load(state.queues, queue + HEAD, RELAXED)
    if head != load(state.queues, queue + TAIL, RELAXED):
        status = READY
        timestamp = load(state.cells, cell_of(state, source, head) + CELL_TIMESTAMP, RELAXED)
    elif load(state.queues, queue + CLOSED, RELAXED) == 1:
        status = END
    else:
        # An earlier tuple may still come from here.
        status = NOT_READY
    release(state.locks, source)
    return status, timestamp


@inlined
def get_next_ready_tuple_take(state, source, out):
    """Move the head of a queue known not to be empty into `out`."""
    acquire(state.locks, source)
    take_locked(state, source, out)
    # Linearizes get_next_ready_tuple.
    release(state.locks, source)


@inlined
def take_locked(state, source, out):
    """Move the head of a queue known not to be empty into `out`; the caller holds the lock."""
    queue = source * LINE_WORDS
    head = load(state.queues, queue + HEAD, RELAXED)
    cell = cell_of(state, source, head)
    out[0] = load(state.cells, cell + CELL_TIMESTAMP, RELAXED)
    out[1] = source
    out[2] = load(state.cells, cell + CELL_KEY, RELAXED)
    out[3] = load(state.cells, cell + CELL_VALUE, RELAXED)
    store(state.queues, queue + HEAD, head + 1, RELAXED)


def check_invariants(state: MultiQueueState) -> None:
    """Check a quiescent gate (no thread inside an operation).

    Raises
    ------
    AssertionError
        When an invariant of the module's docstring is broken.
    """
    for source in range(state.sources):
        head, tail, closed = (int(w) for w in state.queues[source * LINE_WORDS :][:3])
        assert 0 <= head <= tail <= head + state.ahead, f"(1) source {source}: {head}..{tail}"
        assert closed in (0, 1), f"(2) source {source}: closed is {closed}"
        cells = [cell_of(state, source, count) for count in range(head, tail)]
        timestamps = [int(state.cells[cell + CELL_TIMESTAMP]) for cell in cells]
        assert timestamps == sorted(timestamps), f"(1) source {source} is not sorted: {timestamps}"
        if timestamps and not closed:
            assert timestamps[-1] == state.last[source * LINE_WORDS], f"(1) source {source}: last"


VARIANT = Variant(
    id="multi-queue",
    family="gate",
    title="Multi-queue",
    paper="multiway_aggregation",
    section="5.3",
    operations=GateOperations(
        make_state, insert_tuple, get_next_ready_tuple, close_source, check_invariants, EXACT
    ),
    order="total: (timestamp, source, position)",
    progress="blocking",
    threads={"source": "one per source", "reader": "one"},
    capacity="ahead tuples a source; a full source is told FULL",
    parameters=(AHEAD,),
    look=Look("vermillion", "s"),
    extends={"multiway_aggregation": ("7",)},
)
