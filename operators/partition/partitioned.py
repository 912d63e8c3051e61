"""The partitioned queue: a worklist a partition, each processed by one worker at a time.

Source: "Scaling Ordered Stream Processing on Shared-Memory Multicores", section 4.2, figure 6; the
scheme is Volcano's (Graefe 1994).

A worker takes a partition that nobody has and processes what waits there until its queue is empty;
then it takes the next one. It is the rival of the hybrid queue: while a worker is busy with tuples
that arrived late, the earliest may wait in a partition that nobody serves, and hold up the outputs
of all others (figure 6).

Guaranteed: tuples of a partition are given out one at a time, in the order of arrival.

Invariants:

1. ``owner[p]`` is 1 exactly while some worker holds `p`.
2. The ring of `p` has at most ``capacity`` tuples, its consumer is the worker that holds `p`.

Linearization points: ``add_input``, the store that publishes in the ring; ``next_input``, the load
that found the tuple there; ``leave``, the store that gives the partition back.

Progress: lock-free, as far as calls go: no worker waits inside one. A worker that stops while it
has a partition keeps the others from it, as with any scheme that processes in order.

# ASSUME: which partition a worker takes is not said: the next one in turn that has tuples and no
# owner, beginning behind the last it had.
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

# The words of a worker, on a line of its own.
HELD = 0  # the partition it has, or NO_PARTITION
LAST = 1  # the one it had last


class PartitionedState(NamedTuple):
    """A ring a partition, and who has which."""

    # Serial number and word of each tuple. The producer thread puts in, the owner takes out.
    rings: Rings
    # A word a partition, each on a line: invariant 1. Any worker may set it, its owner clears it.
    owner: np.ndarray
    # HELD and LAST of each worker, its own.
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
        Tuples that wait in a partition, at most.

    Raises
    ------
    UsageError
        When a number is out of its limits, or the rings take too much memory.
    """
    check_shape(partitions, workers, capacity, partitions << (capacity - 1).bit_length())
    own = make_held(workers)
    # Each begins elsewhere.
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
    """Put a tuple and its serial number into the ring of its partition: ACCEPTED or FULL.

    For the one producer.
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
    """Add a tuple: ACCEPTED, or FULL when its partition is. The one producer."""
    serial = state.arrived[0] + 1
    if put_record(state.rings, partition, serial, word) == FULL:
        return FULL
    state.arrived[0] = serial
    return ACCEPTED


@inlined
def take_record(state, partition, out):
    """Take the oldest tuple of a partition into ``out``, for its owner; False when it has none."""
    place = front(state.rings, partition)
    if place == NO_SLOT:
        return False
    out[0] = partition
    # RELAXED: front has ordered them, and release_slot will.
    out[1] = load(state.rings.records, place + SERIAL, RELAXED)
    out[2] = load(state.rings.records, place + WORD, RELAXED)
    release_slot(state.rings, partition)
    return True


@inlined
def next_input(state, worker, out):
    """Give a worker the oldest tuple of the partition it has, or of another: READY or NOT_READY.

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
    """Take a partition that has tuples and no owner, and its oldest tuple."""
    for step in range(1, state.partitions + 1):
        partition = (state.workers[own + LAST] + step) % state.partitions
        place = partition * LINE_WORDS
        # RELAXED: hints, so that partitions without work, or with a worker, cost two loads.
        if held_lately(state.rings, partition) > 0 and load(state.owner, place, RELAXED) == 0:
            # ACQUIRE keeps all that is done with the partition behind what its last owner did;
            # pairs with the store in give_back.
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
    """Give back the partition that the worker has."""
    # RELEASE keeps what was done with it before it; pairs with the exchange in
    # next_input_elsewhere.
    store(state.owner, state.workers[own + HELD] * LINE_WORDS, 0, RELEASE)
    state.workers[own + HELD] = NO_PARTITION


@inlined
def processed(state, worker):
    """Say that a worker has processed the tuple it was given: it keeps the partition."""


@inlined
def leave(state, worker):
    """Give back the partition that a worker has, which asks for no more: True."""
    own = worker * LINE_WORDS
    if state.workers[own + HELD] != NO_PARTITION:
        give_back(state, own)
    return True


@inlined
def waiting(state):
    """Return how many tuples were added and not yet given out, a moment ago. Any thread."""
    found = 0
    for partition in range(state.partitions):
        found += held_lately(state.rings, partition)
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
