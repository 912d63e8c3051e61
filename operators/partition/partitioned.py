"""The partitioned queue: one worklist for each partition, processed by one worker at a time.

Source: "Scaling Ordered Stream Processing on Shared-Memory Multicores", section 4.2, figure 6; the
scheme is Volcano's (Graefe 1994).

A worker takes a free partition and processes tuples until the queue is empty; then it takes the
next partition. It is the rival of the hybrid queue: while a worker is busy with tuples that arrived
late, the earliest may wait in a partition that nobody serves, and hold up the outputs of all others
(figure 6).

Guaranteed: tuples of a partition are given out one at a time, in the order of arrival.

Invariants:

1. ``owner[p]`` is 1 exactly while some worker holds `p`.
2. The ring of `p` has at most ``capacity`` tuples; the worker that holds `p` is the consumer.

Linearization points: ``add_input``, the store that publishes in the ring; ``next_input``, the load
that found the tuple there; ``leave``, the store that releases the partition.

Progress: calls are lock-free: no worker waits inside one. A worker that stalls while it holds a
partition keeps the others from it, as in any scheme that processes in order.

# ASSUME: the paper does not say which partition a worker takes. Here it is the next in cyclic order
# that has tuples and no owner, starting behind the last one the worker held.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from operators.contract import ACCEPTED, FULL, NOT_READY, READY, Look, Variant
from operators.core.atomics import ACQUIRE, RELAXED, RELEASE, exchange, load, store
from operators.core.jit import inlined
from operators.core.layout import LINE_WORDS, aligned_words
from operators.core.marks import mark
from operators.core.spsc_ring import (
    NO_SLOT,
    Rings,
    claim,
    front,
    held_lately,
    make_rings,
    publish,
)
from operators.core.spsc_ring import check_invariants as check_rings
from operators.core.spsc_ring import release as release_slot
from operators.partition.family import PartitionOperations
from operators.partition.shape import (
    NO_PARTITION,
    PARTITIONS_OF_WORKERS,
    RECORD_WORDS,
    SERIAL,
    WORD,
    check_shape,
    make_held,
)

# Words of a worker, on a separate line.
HELD = 0  # the partition it holds, or NO_PARTITION
LAST = 1  # the last partition it held


class PartitionedState(NamedTuple):
    """A ring for each partition, and the owners."""

    # Serial number and word of each tuple. The producer thread adds, the owner takes.
    rings: Rings
    # One word for each partition, on separate lines: invariant 1. Any worker sets, owners clear.
    owner: np.ndarray
    # HELD and LAST of each worker, private to it.
    workers: np.ndarray
    # One word of the producer: tuples added so far.
    arrived: np.ndarray
    partitions: int


def make_state(partitions: int, workers: int, capacity: int) -> PartitionedState:
    """Return an empty worklist.

    Parameters
    ----------
    partitions, workers : int
    capacity : int
        The most tuples waiting in a partition.

    Raises
    ------
    UsageError
        When a number is out of range, or the rings take too much memory.
    """
    check_shape(partitions, workers, capacity, partitions << (capacity - 1).bit_length())
    own = make_held(workers)
    # Each worker starts at another partition.
    own[LAST::LINE_WORDS] = np.arange(workers) - 1
    return PartitionedState(
        rings=make_rings(partitions, capacity, RECORD_WORDS),
        owner=aligned_words(partitions * LINE_WORDS),
        workers=own,
        arrived=aligned_words(LINE_WORDS),
        partitions=partitions,
    )


@inlined
def put_record(rings, partition, serial, word):
    """Put a tuple and the serial number into the ring of a partition: ACCEPTED or FULL.

    Only for the one producer.
    """
    place = claim(rings, partition)
    if place == NO_SLOT:
        return FULL
    # RELAXED: publish orders them.
    store(rings.records, place + SERIAL, serial, RELAXED)
    store(rings.records, place + WORD, word, RELAXED)
    publish(rings, partition)
    return ACCEPTED


@inlined
def add_input(state, partition, word):
    """Add a tuple: ACCEPTED, or FULL if the partition is full. The one producer."""
    serial = state.arrived[0] + 1
    if put_record(state.rings, partition, serial, word) == FULL:
        return FULL
    state.arrived[0] = serial
    return ACCEPTED


@inlined
def take_record(state, partition, out):
    """Take the oldest tuple of a partition into ``out``, as the owner; False if there is none."""
    place = front(state.rings, partition)
    if place == NO_SLOT:
        return False
    out[0] = partition
    # RELAXED: ordered by front and release_slot.
    out[1] = load(state.rings.records, place + SERIAL, RELAXED)
    out[2] = load(state.rings.records, place + WORD, RELAXED)
    release_slot(state.rings, partition)
    return True


@inlined
def next_input(state, worker, out):
    """Give a worker the oldest tuple of the partition it holds, or of another: READY, NOT_READY.

    ``out`` has partition, serial number and word.
    """
    own = worker * LINE_WORDS
    held = state.workers[own + HELD]
    if held != NO_PARTITION:
        if take_record(state, held, out):
            return READY
        mark("partitioned: the partition is empty")
        give_back(state, own)
    return next_input_elsewhere(state, own, out)


@inlined
def next_input_elsewhere(state, own, out):
    """Take a partition that has tuples and no owner, and the oldest tuple in it."""
    for step in range(1, state.partitions + 1):
        partition = (state.workers[own + LAST] + step) % state.partitions
        place = partition * LINE_WORDS
        # RELAXED: hints, so that partitions without work, or with an owner, cost two loads.
        if held_lately(state.rings, partition) > 0 and load(state.owner, place, RELAXED) == 0:
            # ACQUIRE keeps the accesses to the partition after those of the last owner; pairs with
            # the store in give_back.
            if exchange(state.owner, place, 1, ACQUIRE) != 0:
                mark("partitioned: another worker took the partition")
                continue
            state.workers[own + HELD] = partition
            state.workers[own + LAST] = partition
            if take_record(state, partition, out):
                return READY
            mark("partitioned: another worker emptied the partition")
            give_back(state, own)
    return NOT_READY


@inlined
def give_back(state, own):
    """Release the partition that the worker holds."""
    # RELEASE keeps all accesses to the partition before this store; pairs with the exchange in
    # next_input_elsewhere.
    store(state.owner, state.workers[own + HELD] * LINE_WORDS, 0, RELEASE)
    state.workers[own + HELD] = NO_PARTITION


@inlined
def processed(state, worker):
    """Note that a worker has processed the tuple it was given: it keeps the partition."""


@inlined
def leave(state, worker):
    """Release the partition of a worker that asks for no more: True."""
    own = worker * LINE_WORDS
    if state.workers[own + HELD] != NO_PARTITION:
        give_back(state, own)
    return True


@inlined
def waiting(state):
    """Return how many tuples were added and not yet given out, at a recent moment. Any thread."""
    found = 0
    for partition in range(state.partitions):
        # The two ends may be of different moments: less than none must not hide others.
        found += max(held_lately(state.rings, partition), 0)
    return found


def check_invariants(state: PartitionedState) -> None:
    """Check invariants 1 and 2 of a worklist at rest.

    Raises
    ------
    AssertionError
        Naming the invariant that does not hold.
    """
    check_rings(state.rings)
    held = sorted(int(p) for p in state.workers[HELD::LINE_WORDS] if p != NO_PARTITION)
    owned = [p for p in range(state.partitions) if state.owner[p * LINE_WORDS]]
    assert owned == held, f"invariant 1: {owned} have an owner, and workers have {held}"


VARIANT = Variant(
    id="partitioned",
    family="partition",
    title="Partitioned queue",
    paper="ordered_processing",
    section="4.2, fig. 6",
    operations=PartitionOperations(
        make_state, add_input, next_input, processed, leave, waiting, check_invariants
    ),
    order="of arrival, in each partition",
    progress="lock-free",
    parameters=(PARTITIONS_OF_WORKERS,),
    threads={"producer": "one", "worker": "any number"},
    capacity="capacity tuples a partition; add_input answers FULL",
    look=Look("vermillion", "s"),
)
