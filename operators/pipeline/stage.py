"""One operator at run time: its worklist, the outputs of each tuple, its state.

Source: "Scaling Ordered Stream Processing on Shared-Memory Multicores", sections 2.2 and 5.

::

    arrive -->  worklist  --take-->  process  -->  made  --reorder buffer-->  arrive at the next
                serial s             (a worker)    the outputs of s           (whoever sends)

An arriving tuple gets the next serial number `s` (sequence number) and slot ``s & mask`` of the
arrays of records, markers and outputs, until the outputs have been sent. So at most ``slots``
tuples are in flight in an operator, from arrival to sending, and a worker always has room for the
outputs of the tuple that it processes: no worker ever waits inside an operator. Outputs without
room *downstream* (backpressure) stay in the slot, and ``BLOCKED`` says so; the reorder buffer
resumes with them when there is room.

Worklists: of a stateless or a stateful operator, the records in the order of arrival, of which
workers claim the next one (at a stateful operator one worker at a time, by the scheduler); of a
partitioned operator, a variant of `operators.partition`, over serial numbers.

*Markers* travel with every so many tuples: the time, in ns, at which the pipeline accepted the
tuple. A tuple without outputs still passes its marker on, as a *bare* one (negative), which
operators pass on without processing; so the last operator sees every marker, in order.

Invariants:

1. ``sent < s <= arrived`` for each serial number in flight, and ``arrived - sent <= slots``.
2. The words of a slot are written by the thread that makes the tuple arrive, then by the worker
   that processes it, then read by the sender: the worklist and the reorder buffer establish the
   happens-before between them.
3. The sender runs no user function, since others may wait for it: one of the buffers has a mutex.
   So the key of a record is computed before the record is sent, by the worker that made it.

# ASSUME: the paper bounds worklist and waiting buffer separately, and lets a worker retry until its
# output has a slot. With all workers in that loop, no worker is left to make room: a deadlock, for
# which one worker is enough.
# ASSUME: the worklist of a stateless operator is an MPMC queue in the paper. Here, as elsewhere,
# the holder of the previous operator's flag is the only producer, so claiming the next serial
# number is enough.
# ASSUME: a stateful operator sends directly in the paper. Here it sends through a reorder buffer
# like the others; the output is always the next one.
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
    Operator,
    Pipeline,
    no_flush,
)
from operators.reorder import lock_based, non_blocking
from operators.reorder.lock_based import LockBasedState
from operators.reorder.non_blocking import NonBlockingState

# The worklists of partitioned operators and the reorder buffers: selected by number, so that one
# compiled runtime contains all of them.
HYBRID, IN_PARTITIONS, SHARED = 0, 1, 2
WORKLISTS = {"hybrid": HYBRID, "partitioned": IN_PARTITIONS, "shared": SHARED}
NON_BLOCKING, LOCK_BASED = 0, 1
BUFFERS = {"non-blocking": NON_BLOCKING, "lock-based": LOCK_BASED}

# Words of a stage, each on a separate cache line.
ARRIVED = 0 * LINE_WORDS  # serial number of the last arrived tuple; written by the arriving side
PRODUCING = ARRIVED + 1  # 1 while a tuple is made to arrive; in interpreted runs only
TAKEN = 1 * LINE_WORDS  # serial number of the last claimed tuple; stateless and stateful operators
BLOCKED = 2 * LINE_WORDS  # 1 while an output has no room downstream; written by the sender
SENT = 3 * LINE_WORDS  # outputs of the next serial number that are sent already; by the sender
NO_ROOM = SENT + 1  # how often an output found no room downstream; by the sender
END_AT = 4 * LINE_WORDS  # serial number after the last tuple, 0 before it is known; by the sender
FINISHING = 5 * LINE_WORDS  # 1 while a worker flushes
CURSOR = 6 * LINE_WORDS  # of the flushing worker: the key; `operators.pipeline.ending` has two more
ENDED = 7 * LINE_WORDS  # 1 when all outputs are flushed and passed on
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
    flushes: int  # 1 if the operator has a flush function
    dealt: int  # 1 if the next operator has partitions, which are stored behind the outputs
    # (STAGE_WORDS)
    words: np.ndarray
    # (S * inputs), (S), (S * most * (outputs + dealt)): by slot, see invariant 2. Partitions lie
    # behind the outputs of a tuple, on cache lines that the worker already has: on separate lines,
    # which two workers used in turns, they cost a sixth of the tuples/s.
    records: np.ndarray
    markers: np.ndarray
    made: np.ndarray
    # (most * outputs): of the flushing worker.
    flushed: np.ndarray
    # (keys or partitions * table_rows) * row_words, or up to the end of row_starts: accessed by the
    # worker that processes the key's partition. Or the lookup table of a stateless operator.
    rows: np.ndarray
    # (keys + 1): beginning of each key's row; empty if all rows have `row_words`.
    row_starts: np.ndarray
    # (partitions * table_rows): key + 1 of each row of a table, 0 for a free one.
    table: np.ndarray
    hybrid: HybridState
    partitioned: PartitionedState
    shared: SharedState
    free: NonBlockingState
    locked: LockBasedState


def rows_of(operator: Operator, partitions: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return the fields ``rows``, ``row_starts`` and ``table`` of an operator's state."""
    table = aligned_words(max(partitions * operator.table_rows, 1))
    starts = np.zeros(0, dtype=np.int64)
    if operator.lookup is not None:
        return np.ascontiguousarray(operator.lookup, dtype=np.int64), starts, table
    words = operator.row_words * (partitions * operator.table_rows or operator.keys)
    if operator.row_starts is not None:
        starts = np.ascontiguousarray(operator.row_starts, dtype=np.int64)
        words = int(starts[-1])
    return aligned_words(max(words, 1)), starts, table


def make_stage(
    pipeline: Pipeline, place: int, workers: int, slots: int, partitions: int, worklist: int
) -> Stage:
    """Return the state of an operator before the first arrival.

    Parameters
    ----------
    pipeline : Pipeline
        Checked.
    place : int
        The operator's number.
    workers, slots, partitions : int
    worklist : int
        HYBRID, IN_PARTITIONS or SHARED; the two others get no memory.

    Raises
    ------
    UsageError
        When a number is out of range.
    """
    operator, inputs = pipeline.operators[place], pipeline.inputs_of(place)
    size = 1 << (slots - 1).bit_length()
    in_parts = operator.kind == PARTITIONED
    count = partitions if in_parts else 1

    def shape(kind: int) -> tuple[int, int, int]:
        return (count, workers, slots) if in_parts and kind == worklist else (1, workers, 2)

    last = place + 1 == len(pipeline.operators)
    dealt = int(not last and pipeline.operators[place + 1].kind == PARTITIONED)
    held, starts, table = rows_of(operator, count)
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
        dealt=dealt,
        words=aligned_words(STAGE_WORDS),
        records=aligned_words(size * inputs),
        markers=aligned_words(size),
        made=aligned_words(size * operator.most * (operator.outputs + dealt)),
        flushed=aligned_words(operator.most * operator.outputs),
        rows=held,
        row_starts=starts,
        table=table,
        hybrid=hybrid.make_state(*shape(HYBRID)),
        partitioned=partitioned.make_state(*shape(IN_PARTITIONS)),
        shared=shared.make_state(*shape(SHARED)),
        free=non_blocking.make_state(slots),
        locked=lock_based.make_state(slots),
    )


@inlined
def next_serial(stage, buffer):
    """Return the serial number to be sent next, or a slightly outdated one."""
    if buffer == NON_BLOCKING:
        return non_blocking.next_serial(stage.free)
    return lock_based.next_serial(stage.locked)


@inlined
def made_at(stage, slot):
    """Return the index in ``made`` of the outputs of a slot's tuple."""
    return slot * stage.most * (stage.outputs + stage.dealt)


@inlined
def has_key(stage, key):
    """Return whether a key has a row of the state, or may get one in a table."""
    return key >= 0 and (key < stage.keys or stage.table_rows > 0)


@inlined
def outputs_of(stage, count):
    """Return the number of outputs that a function reported, or the failure that it means."""
    if count > stage.most:
        return TOO_MANY
    return OVER_LIMIT if count < 0 else count


@inlined
def partition_of(stage, key, ranged):
    """Return the partition of a key: key ranges of equal width, or by hash."""
    if ranged != 0 and stage.table_rows == 0 and has_key(stage, key):
        return key * stage.partitions // stage.keys
    return (mix64(key) & KEY_MASK) % stage.partitions


@inlined
def add_to_worklist(stage, worklist, partition):
    """Add the arriving tuple to the worklist of a partition: ACCEPTED or FULL."""
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
        # RELAXED: only a number is claimed. The workers of a stateful operator, one at a time, are
        # ordered by the scheduler's lock.
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
    """Return whether a tuple in flight is a bare marker, which has no record."""
    return stage.markers[serial & stage.mask] < 0


@inlined
def processed(stage, worklist, worker):
    """Record that a worker has processed the tuple that it was given."""
    if stage.kind == PARTITIONED:
        if worklist == HYBRID:
            hybrid.processed(stage.hybrid, worker)
        elif worklist == IN_PARTITIONS:
            partitioned.processed(stage.partitioned, worker)
        else:
            shared.processed(stage.shared, worker)


@inlined
def leave(stage, worklist, worker):
    """Return whether a worker that asks for no more tuples may leave."""
    if stage.kind == PARTITIONED:
        if worklist == HYBRID:
            return hybrid.leave(stage.hybrid, worker)
        if worklist == IN_PARTITIONS:
            return partitioned.leave(stage.partitioned, worker)
        return shared.leave(stage.shared, worker)
    return True


@inlined
def waiting(stage, worklist):
    """Return the number of tuples in the worklist, possibly slightly outdated."""
    if stage.kind == PARTITIONED:
        if worklist == HYBRID:
            return hybrid.waiting(stage.hybrid)
        if worklist == IN_PARTITIONS:
            return partitioned.waiting(stage.partitioned)
        return shared.waiting(stage.shared)
    # RELAXED: a hint. The two loads may see different moments.
    return max(load(stage.words, ARRIVED, RELAXED) - load(stage.words, TAKEN, RELAXED), 0)


@inlined
def row_of(stage, partition, key):
    """Return the index in ``rows`` of a key's row, or NO_ROW if the table is full.

    For the worker that processes the partition.
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
    """Return the end, in ``rows``, of the row of a key that begins at `row`."""
    if len(stage.row_starts) > 0:
        return stage.row_starts[key + 1]
    return row + stage.row_words


def make_deal(key_of):
    """Return ``deal(stage, place, setting, words, begin)``, with ``key_of(place, record)``.

    The function returns the partition of the record that begins at ``words[begin]``: 0 if the
    operator has no partitions.
    """

    @inlined
    def deal(stage, place, setting, words, begin):
        if stage.kind != PARTITIONED:
            return 0
        key = key_of(place, words[begin : begin + stage.inputs])
        return partition_of(stage, key, setting.ranged)

    return deal


@inlined
def has_room(stage, buffer):
    """Return whether there is room for a record; for the thread that makes records arrive."""
    # RELAXED: the caller's word, passed on with the flag. ACQUIRE, in next_serial, keeps the
    # caller's next stores behind all uses of the slot before.
    return load(stage.words, ARRIVED, RELAXED) + 1 < next_serial(stage, buffer) + stage.slots


@inlined
def enter_stage(stage, setting, words, begin, marker, partition):
    """Make a record arrive that has room, inside the exclusive section of ``arrive_there``."""
    serial = load(stage.words, ARRIVED, RELAXED) + 1
    slot = serial & stage.mask
    if marker >= 0:
        own = slot * stage.inputs
        for word in range(stage.inputs):
            stage.records[own + word] = words[begin + word]
    stage.markers[slot] = marker
    if stage.kind == PARTITIONED:
        # It may be full with fewer than `slots` tuples in flight: a worker that claimed a key of
        # the hybrid queue was preempted before it gave the cell back, and another worker has
        # meanwhile processed the tuple of that key.
        if add_to_worklist(stage, setting.worklist, partition) == FULL:
            return FULL
    # RELEASE keeps the record before it; pairs with the load in take.
    store(stage.words, ARRIVED, serial, RELEASE)
    return ACCEPTED


@inlined
def arrive_there(stage, setting, words, begin, marker, partition):
    """Make a record arrive as ``arrive`` does; the caller has checked that there is room."""
    enter_alone(stage.words, PRODUCING)
    status = enter_stage(stage, setting, words, begin, marker, partition)
    leave_alone(stage.words, PRODUCING)
    return status


@inlined
def arrive(stage, setting, words, begin, marker, partition):
    """Make a record arrive whose words begin at ``words[begin]``: ACCEPTED or FULL.

    For a single thread: the sender of the operator before, or the feeder of the first one. It is
    the only producer of the worklists, which have no lock for producers. `partition` is from
    `deal`.
    """
    if not has_room(stage, setting.buffer):
        return FULL
    return arrive_there(stage, setting, words, begin, marker, partition)
