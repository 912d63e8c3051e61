"""One operator at run time: its worklist, the outputs of each tuple, its state.

Source: "Scaling Ordered Stream Processing on Shared-Memory Multicores", sections 2.2 and 5.

::

    arrive -->  worklist  --take-->  process  -->  made  --reorder buffer-->  arrive at the next
                serial s             (a worker)    the outputs of s           (whoever sends)

A tuple that arrives gets the next serial number `s` and the places of slot ``s & mask``: of its
record, its marker and its outputs. It has them until its outputs were sent. So at most ``slots``
tuples are under way in an operator, from arrival to sending, and whoever processes one has room for
its outputs: no worker ever waits inside an operator. What has no room *downstream* stays in its
slot, and ``BLOCKED`` says so; the reorder buffer goes on with it when there is room.

Worklists: of a stateless and a stateful operator the records in the order of arrival, of which
workers claim the next one (of a stateful one only one worker at a time, by the scheduler); of a
partitioned one a variant of `operators.partition`, for serial numbers.

*Markers* travel with tuples: when the pipeline took up the tuple, in ns, on every so many of them.
A tuple whose outputs are none still sends its marker on, as a *bare* one (negative), which
operators pass on without a look; so the last operator sees every marker, in order.

Invariants:

1. ``sent < s <= arrived`` for each serial number under way, and ``arrived - sent <= slots``.
2. The words of a slot are written by who makes its tuple arrive, then by the worker that processes
   it, then read by who sends: each hands over to the next by the worklist and the reorder buffer.

# ASSUME: the paper bounds worklist and waiting buffer apart, and lets a worker try until its output
# has a slot. With all workers in that loop nobody is left to make room: one worker is enough for
# it.
# ASSUME: the worklist of a stateless operator is an MPMC queue in the paper. Here, too, the holder
# of the flag before it is the only producer, so that claiming the next serial number is enough.
# ASSUME: a stateful operator sends directly in the paper. Here it sends through a reorder buffer
# like the others, in which its output is always next.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from operators.contract import ACCEPTED, FULL, NOT_READY, READY
from operators.core.atomics import ACQUIRE, RELAXED, RELEASE, cas, load, store
from operators.core.integers import mix64
from operators.core.jit import inlined
from operators.core.layout import LINE_WORDS, aligned_words
from operators.core.marks import enter_alone, leave_alone
from operators.partition import hybrid, partitioned, shared
from operators.partition.hybrid import HybridState
from operators.partition.partitioned import PartitionedState
from operators.partition.shared import SharedState
from operators.pipeline.declare import (
    OVER_LIMIT,
    PARTITIONED,
    STATEFUL,
    TOO_MANY,
    Pipeline,
    no_flush,
)
from operators.reorder import lock_based, non_blocking
from operators.reorder.lock_based import LockBasedState
from operators.reorder.non_blocking import NonBlockingState

# How a partitioned operator's worklist is kept, and how outputs are put in order: numbers, so that
# one compiled runtime has them all.
HYBRID, IN_PARTITIONS, SHARED = 0, 1, 2
WORKLISTS = {"hybrid": HYBRID, "partitioned": IN_PARTITIONS, "shared": SHARED}
NON_BLOCKING, LOCK_BASED = 0, 1
BUFFERS = {"non-blocking": NON_BLOCKING, "lock-based": LOCK_BASED}

# Words of a stage, each on a line of its own.
ARRIVED = 0 * LINE_WORDS  # serial number of the last that arrived; by who makes tuples arrive
PRODUCING = ARRIVED + 1  # 1 while a tuple is made to arrive; interpreted alone
TAKEN = 1 * LINE_WORDS  # of the last that was claimed; stateless and stateful operators
BLOCKED = 2 * LINE_WORDS  # 1 while an output has no room downstream; by who sends
SENT = 3 * LINE_WORDS  # outputs of the next serial number that are sent already; by who sends
END_AT = 4 * LINE_WORDS  # the serial number after the last there will be, 0 before; by who sends
FINISHING = 5 * LINE_WORDS  # 1 while a worker flushes
CURSOR = 6 * LINE_WORDS  # of who flushes: the key; `operators.pipeline.ending` has two words more
ENDED = 7 * LINE_WORDS  # 1 when all was flushed and passed on
STAGE_WORDS = 8 * LINE_WORDS

KEY_MASK = (1 << 62) - 1
NO_ROW = -1


class Stage(NamedTuple):
    """The state of one operator. S is the power of two at or above ``slots``."""

    kind: int
    inputs: int  # words of a record
    outputs: int  # words of an output
    most: int  # outputs of a tuple, at most
    slots: int
    mask: int  # S - 1
    partitions: int
    keys: int
    row_words: int
    table_rows: int
    flushes: int  # 1 where there is something to flush
    # (STAGE_WORDS)
    words: np.ndarray
    # (S * inputs), (S), (S * most * outputs): by slot, see invariant 2.
    records: np.ndarray
    markers: np.ndarray
    made: np.ndarray
    # (most * outputs): of who flushes.
    flushed: np.ndarray
    # (keys or partitions * table_rows) * row_words, or to row_starts' end: by who processes the
    # key's partition. Or what a stateless operator looks things up in.
    rows: np.ndarray
    # (keys + 1): where each key's row begins; none where all have `row_words`.
    row_starts: np.ndarray
    # (partitions * table_rows): key + 1 of each row of a table, 0 for a free one.
    table: np.ndarray
    hybrid: HybridState
    partitioned: PartitionedState
    shared: SharedState
    free: NonBlockingState
    locked: LockBasedState


def make_stage(
    pipeline: Pipeline, place: int, workers: int, slots: int, partitions: int, worklist: int
) -> Stage:
    """Return the state of an operator that nothing has arrived at.

    Parameters
    ----------
    pipeline : Pipeline
        Checked.
    place : int
        Of the operator.
    workers, slots, partitions : int
    worklist : int
        HYBRID, IN_PARTITIONS or SHARED; the others get no room.

    Raises
    ------
    UsageError
        When a number is out of its limits.
    """
    operator, inputs = pipeline.operators[place], pipeline.inputs_of(place)
    size = 1 << (slots - 1).bit_length()
    in_parts = operator.kind == PARTITIONED
    count = partitions if in_parts else 1

    def shape(kind: int) -> tuple[int, int, int]:
        return (count, workers, slots) if in_parts and kind == worklist else (1, workers, 2)

    rows = count * operator.table_rows if operator.table_rows else operator.keys
    starts = np.zeros(0, dtype=np.int64)
    words = rows * operator.row_words
    if operator.row_starts is not None:
        starts = np.ascontiguousarray(operator.row_starts, dtype=np.int64)
        words = int(starts[-1])
    held = aligned_words(max(words, 1))
    if operator.lookup is not None:
        held = np.ascontiguousarray(operator.lookup, dtype=np.int64)
    return Stage(
        kind=operator.kind,
        inputs=inputs,
        outputs=operator.outputs,
        most=operator.most,
        slots=slots,
        mask=size - 1,
        partitions=count,
        keys=operator.keys,
        row_words=operator.row_words if operator.lookup is None else len(held),
        table_rows=operator.table_rows,
        flushes=int(operator.flush is not no_flush),
        words=aligned_words(STAGE_WORDS),
        records=aligned_words(size * inputs),
        markers=aligned_words(size),
        made=aligned_words(size * operator.most * operator.outputs),
        flushed=aligned_words(operator.most * operator.outputs),
        rows=held,
        row_starts=starts,
        table=aligned_words(max(count * operator.table_rows, 1)),
        hybrid=hybrid.make_state(*shape(HYBRID)),
        partitioned=partitioned.make_state(*shape(IN_PARTITIONS)),
        shared=shared.make_state(*shape(SHARED)),
        free=non_blocking.make_state(slots),
        locked=lock_based.make_state(slots),
    )


@inlined
def next_serial(stage, buffer):
    """Return the serial number to be sent next, or one that was until a moment ago."""
    if buffer == NON_BLOCKING:
        return non_blocking.next_serial(stage.free)
    return lock_based.next_serial(stage.locked)


@inlined
def has_key(stage, key):
    """Say whether a key has a row of the state, or may get one in a table."""
    return key >= 0 and (key < stage.keys or stage.table_rows > 0)


@inlined
def outputs_of(stage, count):
    """Return how many outputs a function says it made, or the failure that this is."""
    if count > stage.most:
        return TOO_MANY
    return OVER_LIMIT if count < 0 else count


@inlined
def partition_of(stage, key, ranged):
    """Return the partition of a key: ranges of keys of one width, or by hash."""
    if ranged != 0 and stage.table_rows == 0 and has_key(stage, key):
        return key * stage.partitions // stage.keys
    return (mix64(key) & KEY_MASK) % stage.partitions


@inlined
def add_to_worklist(stage, worklist, partition):
    """Add the tuple that arrives to the worklist of its partition: ACCEPTED or FULL."""
    if worklist == HYBRID:
        return hybrid.add_input(stage.hybrid, partition, 0)
    if worklist == IN_PARTITIONS:
        return partitioned.add_input(stage.partitioned, partition, 0)
    return shared.add_input(stage.shared, partition, 0)


@inlined
def take(stage, worklist, worker, out):
    """Give a worker a tuple: READY (``out`` has partition and serial number) or NOT_READY."""
    if stage.kind == PARTITIONED:
        if worklist == HYBRID:
            return hybrid.next_input(stage.hybrid, worker, out)
        if worklist == IN_PARTITIONS:
            return partitioned.next_input(stage.partitioned, worker, out)
        return shared.next_input(stage.shared, worker, out)
    while True:
        # RELAXED: a hint; the compare-and-swap decides.
        taken = load(stage.words, TAKEN, RELAXED)
        # ACQUIRE keeps it before the loads of the record; pairs with the store in arrive.
        if taken >= load(stage.words, ARRIVED, ACQUIRE):
            return NOT_READY
        # RELAXED: what is claimed is a number. The workers of a stateful operator, one at a time,
        # are ordered by the scheduler's lock.
        if stage.kind == STATEFUL:
            store(stage.words, TAKEN, taken + 1, RELAXED)
            break
        if cas(stage.words, TAKEN, taken, taken + 1, RELAXED):
            break
    out[0] = 0
    out[1] = taken + 1
    return READY


@inlined
def is_bare(stage, serial):
    """Say whether a tuple under way is a bare marker, which has no record."""
    return stage.markers[serial & stage.mask] < 0


@inlined
def processed(stage, worklist, worker):
    """Say that a worker has processed the tuple it was given."""
    if stage.kind == PARTITIONED:
        if worklist == HYBRID:
            hybrid.processed(stage.hybrid, worker)
        elif worklist == IN_PARTITIONS:
            partitioned.processed(stage.partitioned, worker)
        else:
            shared.processed(stage.shared, worker)


@inlined
def leave(stage, worklist, worker):
    """Say whether a worker that asks for no more may go."""
    if stage.kind == PARTITIONED:
        if worklist == HYBRID:
            return hybrid.leave(stage.hybrid, worker)
        if worklist == IN_PARTITIONS:
            return partitioned.leave(stage.partitioned, worker)
        return shared.leave(stage.shared, worker)
    return True


@inlined
def waiting(stage, worklist):
    """Return how many tuples wait in the worklist, a moment ago."""
    if stage.kind == PARTITIONED:
        if worklist == HYBRID:
            return hybrid.waiting(stage.hybrid)
        if worklist == IN_PARTITIONS:
            return partitioned.waiting(stage.partitioned)
        return shared.waiting(stage.shared)
    # RELAXED: a hint. The two may be of different moments.
    return max(load(stage.words, ARRIVED, RELAXED) - load(stage.words, TAKEN, RELAXED), 0)


@inlined
def row_of(stage, partition, key):
    """Return where in ``rows`` the row of a key begins, or NO_ROW when the table is full.

    For who processes the partition.
    """
    if len(stage.row_starts) > 0:
        return stage.row_starts[key]
    if stage.table_rows == 0:
        return key * stage.row_words
    first = partition * stage.table_rows
    place = (mix64(key ^ 1) & KEY_MASK) % stage.table_rows
    for _ in range(stage.table_rows):
        found = stage.table[first + place]
        if found == key + 1:
            return (first + place) * stage.row_words
        if found == 0:
            stage.table[first + place] = key + 1
            return (first + place) * stage.row_words
        place += 1
        if place == stage.table_rows:
            place = 0
    return NO_ROW


@inlined
def row_end(stage, row, key):
    """Return where in ``rows`` the row of a key ends that begins at `row`."""
    if len(stage.row_starts) > 0:
        return stage.row_starts[key + 1]
    return row + stage.row_words


def make_arrive(key_of):
    """Return ``arrive``, compiled with ``key_of(place, record)`` of a pipeline."""

    @inlined
    def arrive_alone(stage, place, setting, words, begin, marker):
        worklist, buffer, ranged, _ = setting
        # RELAXED: the caller's own word, handed on with the flag.
        serial = load(stage.words, ARRIVED, RELAXED) + 1
        # ACQUIRE, in next_serial, keeps the stores below behind all use of the slot before.
        if serial >= next_serial(stage, buffer) + stage.slots:
            return FULL
        slot = serial & stage.mask
        own = slot * stage.inputs
        if marker >= 0:
            for word in range(stage.inputs):
                stage.records[own + word] = words[begin + word]
        stage.markers[slot] = marker
        if stage.kind == PARTITIONED:
            partition = 0
            if marker >= 0:
                record = stage.records[own : own + stage.inputs]
                partition = partition_of(stage, key_of(place, record), ranged)
            # Full although fewer than `slots` are under way: a worker that has claimed a key of the
            # hybrid queue and was stopped before it gave the cell back. Another one has meanwhile
            # processed the tuple of that key.
            if add_to_worklist(stage, worklist, partition) == FULL:
                return FULL
        # RELEASE keeps the record before it; pairs with the load in take.
        store(stage.words, ARRIVED, serial, RELEASE)
        return ACCEPTED

    @inlined
    def arrive(stage, place, setting, words, begin, marker):
        """Make a record arrive, whose words begin at ``words[begin]``: ACCEPTED or FULL.

        For the one thread that may: who sends from the operator before, or feeds the first one. It
        is the one producer of the worklists, which have no lock for it.
        """
        enter_alone(stage.words, PRODUCING)
        status = arrive_alone(stage, place, setting, words, begin, marker)
        leave_alone(stage.words, PRODUCING)
        return status

    return arrive
