"""The shared queue: one worklist for all partitions; dequeue and lock are one step.

Source: "Scaling Ordered Stream Processing on Shared-Memory Multicores", section 4.1, figure 5.

If a worker first dequeues a tuple and then locks the partition, two workers may lock in the other
order than they dequeued, and process two tuples of one partition in the wrong order. So both steps
form one critical section: a worker gets the oldest tuple if nobody processes that partition, and
otherwise nothing.

Guaranteed: tuples of a partition are given out one at a time, in the order of arrival; and all
tuples are given out in the order of arrival.

Invariants:

1. ``0 <= written - read <= capacity``.
2. ``busy[p]`` is 1 exactly from the moment a worker is given a tuple of `p` until that worker calls
   ``processed``.

Linearization points: each operation, inside the critical section; ``processed``, the store.

Progress: blocking. The oldest tuple also holds up all others while its partition is processed.

# ASSUME: the paper lets the worker wait for the partition, in the simplest form while holding the
# lock. Here the worker gets NOT_READY and the driver waits: operations never do.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from operators.contract import ACCEPTED, FULL, NOT_READY, READY, Look, Variant
from operators.core.atomics import ACQUIRE, RELAXED, RELEASE, load, store
from operators.core.jit import inlined
from operators.core.layout import LINE_WORDS, aligned_words
from operators.core.marks import mark
from operators.core.mutex import acquire, make_mutexes, release
from operators.partition.family import PartitionOperations
from operators.partition.shape import NO_PARTITION, PARTITIONS, check_shape, make_held

# Words of the ends, on one line: accessed only under the lock.
WRITTEN = 0  # tuples added so far, which is the serial number of the last
READ = 1

PARTITION = 0
WORD = 1
CELL_WORDS = 2


class SharedState(NamedTuple):
    """The one queue, and the partitions that are being processed."""

    # One mutex.
    lock: np.ndarray
    # WRITTEN and READ. Under the lock.
    ends: np.ndarray
    # Partition and word in each slot; the tuple of serial s is in slot (s - 1) & mask. Under the
    # lock.
    cells: np.ndarray
    # One word for each partition, on separate lines: invariant 2. Set under the lock, cleared by
    # the worker that has processed the tuple.
    busy: np.ndarray
    # One private word for each worker: the partition of the worker's tuple.
    held: np.ndarray
    capacity: int
    mask: int


def make_state(partitions: int, workers: int, capacity: int) -> SharedState:
    """Return an empty worklist.

    Parameters
    ----------
    partitions, workers : int
    capacity : int
        The most tuples waiting.

    Raises
    ------
    UsageError
        When a number is out of range.
    """
    cells = 1 << (capacity - 1).bit_length()
    check_shape(partitions, workers, capacity, cells)
    return SharedState(
        lock=make_mutexes(1),
        ends=aligned_words(LINE_WORDS),
        cells=aligned_words(cells * CELL_WORDS),
        busy=aligned_words(partitions * LINE_WORDS),
        held=make_held(workers),
        capacity=capacity,
        mask=cells - 1,
    )


@inlined
def add_input(state, partition, word):
    """Add a tuple: ACCEPTED or FULL. Any thread."""
    acquire(state.lock, 0)
    # RELAXED throughout: the lock orders the critical sections.
    written = load(state.ends, WRITTEN, RELAXED)
    status = FULL
    if written - load(state.ends, READ, RELAXED) < state.capacity:
        cell = (written & state.mask) * CELL_WORDS
        store(state.cells, cell + PARTITION, partition, RELAXED)
        store(state.cells, cell + WORD, word, RELAXED)
        store(state.ends, WRITTEN, written + 1, RELAXED)
        status = ACCEPTED
    else:
        mark("shared: full")
    release(state.lock, 0)
    return status


@inlined
def next_input(state, worker, out):
    """Give a worker the oldest tuple unless the partition is busy: READY or NOT_READY.

    ``out`` has partition, serial number and word.
    """
    status = NOT_READY
    acquire(state.lock, 0)
    read = load(state.ends, READ, RELAXED)
    if read < load(state.ends, WRITTEN, RELAXED):
        cell = (read & state.mask) * CELL_WORDS
        partition = load(state.cells, cell + PARTITION, RELAXED)
        # ACQUIRE keeps the processing of this tuple after that of the previous one; pairs with the
        # store in processed.
        if load(state.busy, partition * LINE_WORDS, ACQUIRE) == 0:
            store(state.busy, partition * LINE_WORDS, 1, RELAXED)
            store(state.ends, READ, read + 1, RELAXED)
            out[0] = partition
            out[1] = read + 1
            out[2] = load(state.cells, cell + WORD, RELAXED)
            state.held[worker * LINE_WORDS] = partition
            status = READY
        else:
            mark("shared: the oldest tuple's partition is being processed")
    release(state.lock, 0)
    return status


@inlined
def processed(state, worker):
    """Note that a worker has processed the tuple it was given."""
    # RELEASE keeps the processing before this store; pairs with the load in next_input.
    store(state.busy, state.held[worker * LINE_WORDS] * LINE_WORDS, 0, RELEASE)
    state.held[worker * LINE_WORDS] = NO_PARTITION


@inlined
def leave(state, worker):
    """Let a worker that asks for no more go: True."""
    return True


@inlined
def waiting(state):
    """Return how many tuples were added and not yet given out, at a recent moment. Any thread."""
    # RELAXED: a hint, read without the lock. The two loads may be from different moments.
    return max(load(state.ends, WRITTEN, RELAXED) - load(state.ends, READ, RELAXED), 0)


def check_invariants(state: SharedState) -> None:
    """Check invariants 1 and 2 of a worklist at rest.

    Raises
    ------
    AssertionError
        Naming the invariant that does not hold.
    """
    written, read = int(state.ends[WRITTEN]), int(state.ends[READ])
    assert 0 <= written - read <= state.capacity, f"invariant 1: read {read}, written {written}"
    held = sorted(int(p) for p in state.held[::LINE_WORDS] if p != NO_PARTITION)
    busy = [p for p in range(len(state.busy) // LINE_WORDS) if state.busy[p * LINE_WORDS]]
    assert busy == held, f"invariant 2: partitions {busy} are busy, and workers have {held}"


VARIANT = Variant(
    id="shared",
    family="partition",
    title="Shared queue",
    paper="ordered_processing",
    section="4.1, fig. 5",
    operations=PartitionOperations(
        make_state, add_input, next_input, processed, leave, waiting, check_invariants
    ),
    order="of arrival, in each partition",
    progress="blocking",
    parameters=(PARTITIONS,),
    threads={"producer": "any number", "worker": "any number"},
    capacity="capacity tuples; add_input answers FULL",
    look=Look("green", "^"),
    extends={"ordered_processing": ("9", "10")},
)
