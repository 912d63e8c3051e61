"""MQ with a reader that caches the heads: one lock a tuple instead of S + 1.

In no paper. Queues, locks and sources are those of `multi_queue`; only the reader differs. When it
takes a tuple from a queue it reads the next head in the same critical section, and caches it
(`operators.gate.heads`)::

    source 0 --add--> [ 3 | 5 | 8 ] lock 0 --+    heads: 3 4 ?
    source 1 --add--> [ 4 | 4     ] lock 1 --+--> reader: takes the lowest head and looks at the
    source 2 --add--> [           ] lock 2 --+            next one, in one holding of the lock

The reader polls a queue that was empty, under the lock, until the queue has a head or is closed.

The ratio to MQ is thus the cost of polling every queue again, and the ratio of MQLF's rings to this
variant is the cost of a mutex.

Guarantees, in addition to 1 to 3 of `multi_queue`:

4. A cached head is the timestamp of its queue's head. Only the reader takes, so it stays valid; a
   queue that was seen empty and closed stays both.

An operation linearizes in the critical section of the queue it changes. Progress is blocking.

# ASSUME: as in `multi_queue`.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from operators.contract import Look, Variant
from operators.core.atomics import RELAXED, load
from operators.core.jit import inlined
from operators.core.layout import LINE_WORDS
from operators.core.mutex import acquire, release
from operators.gate import multi_queue
from operators.gate.family import EXACT, GateOperations
from operators.gate.heads import NO_MORE, UNKNOWN, make_heads, reading_by_heads
from operators.gate.multi_queue import (
    CELL_TIMESTAMP,
    CLOSED,
    HEAD,
    TAIL,
    MultiQueueState,
    cell_of,
    take_locked,
)


class MultiQueueCachedState(NamedTuple):
    """MQ's queues, and the heads that the reader caches."""

    queues: MultiQueueState
    heads: np.ndarray  # [sources]; only the reader (4)


def make_state(sources: int, readers: int, ahead: int) -> MultiQueueCachedState:
    """Return empty queues of `sources` open sources; the limits are those of `multi_queue`."""
    queues = multi_queue.make_state(sources, readers, ahead)
    return MultiQueueCachedState(queues, make_heads(sources))


@inlined
def insert_tuple(state, source, timestamp, key, value):
    """Deliver a tuple into the source's queue: ACCEPTED, FULL or OUT_OF_ORDER."""
    return multi_queue.insert_tuple(state.queues, source, timestamp, key, value)


@inlined
def close_source(state, source):
    """Say that the source delivers no more: ACCEPTED."""
    return multi_queue.close_source(state.queues, source)


@inlined
def locked_head(queues, source):
    """Return a queue's head timestamp, or NO_MORE or UNKNOWN; the caller holds the lock."""
    queue = source * LINE_WORDS
    # Relaxed throughout: the lock orders its holders (2).
    head = load(queues.queues, queue + HEAD, RELAXED)
    if head != load(queues.queues, queue + TAIL, RELAXED):
        return load(queues.cells, cell_of(queues, source, head) + CELL_TIMESTAMP, RELAXED)
    if load(queues.queues, queue + CLOSED, RELAXED) == 1:
        return NO_MORE
    # An earlier tuple may still come from here.
    return UNKNOWN


@inlined
def look(queues, source):
    """Return the timestamp of a queue's head, or NO_MORE or UNKNOWN."""
    acquire(queues.locks, source)
    head = locked_head(queues, source)
    release(queues.locks, source)
    return head


@inlined
def take(queues, source, out):
    """Move the head of a queue known not to be empty into `out`, and return the next head."""
    acquire(queues.locks, source)
    take_locked(queues, source, out)
    following = locked_head(queues, source)
    # Linearizes get_next_ready_tuple.
    release(queues.locks, source)
    return following


get_next_ready_tuple = reading_by_heads(look, take)


def check_invariants(state: MultiQueueCachedState) -> None:
    """Check a quiescent gate (no thread inside an operation).

    Raises
    ------
    AssertionError
        When an invariant of this module's docstring or of `multi_queue` is broken.
    """
    multi_queue.check_invariants(state.queues)
    for source, head in enumerate(state.heads.tolist()):
        now = locked_head(state.queues, source)
        assert head in (UNKNOWN, now), f"(4) source {source}: head {head}, not {now}"


VARIANT = Variant(
    id="multi-queue-cached",
    family="gate",
    title="Multi-queue, cached",
    paper="multiway_aggregation",
    section="extends 5.3",
    operations=GateOperations(
        make_state, insert_tuple, get_next_ready_tuple, close_source, check_invariants, EXACT
    ),
    order="total: (timestamp, source, position)",
    progress="blocking",
    threads={"source": "one per source", "reader": "one"},
    capacity="ahead tuples a source; a full source is told FULL",
    parameters=multi_queue.VARIANT.parameters,
    extended=True,
    look=Look("#8f3e00", "p"),
    extends={"multiway_aggregation": ("7",)},
)
