"""The hybrid queue: one worklist for each partition, and a master queue of keys in arrival order.

Source: "Scaling Ordered Stream Processing on Shared-Memory Multicores", section 4.3, figure 7 (its
lines are named L1 to L15 below).

::

    producer --tuple-->  partition queues   Q0 [ t1 t4 ]   Q1 [ t2 ]   Q2 [ t3 t5 ]
             --key---->  master queue       [ 0  1  2  0  2 ]
                                              |  |  |  |
    workers                                   A  B  C  A finds that count[0] was 0, and owns Q0

    a worker that takes key 2 while C still processes t3 adds one to count[2] and goes on with the
    next key: C has been handed t5 (delegation)

A worker takes a key from the master queue and adds one to the key's count. If the count was 0, the
worker now owns the partition: it processes the oldest tuple there, and one more for each key that
other workers took meanwhile, until the count is 0 again. So no worker waits for another, tuples are
taken up almost in the order of arrival, and there may be many more partitions than workers.

Guaranteed (the paper's theorem 4.1): no two workers process tuples of one partition at the same
time; tuples of a partition are given out once each, in the order of arrival.

Invariants:

1. ``count[p]`` is the number of keys `p` taken from the master queue whose tuples are not yet
   processed. The worker whose addition found 0 owns `p` until a subtraction of that worker leaves
   0.
2. The ring of `p` holds at least one tuple for each `p` in the master queue, and, between an
   owner's ``processed`` and the owner's next tuple, for each that ``count[p]`` counts.
3. The ring of `p` has at most ``capacity`` tuples; the owner of `p` is the consumer.

Linearization points: ``add_input``, the store that publishes in the master queue; ``next_input``,
the compare-and-swap that takes the key, or, of a delegated tuple, the preceding subtraction in
``processed`` that left a count; ``processed``, the subtraction.

Progress: calls are lock-free: no worker waits inside one (the paper's section 4.3). A worker that
stalls while it owns a partition delays the tuples of that partition, as in any scheme that
processes in order.

# ASSUME: figure 7 has one producer: in a pipeline the holder of the upstream flag, or the only
# worker of a stateful operator. With two, the order of the tuples in a partition may differ from
# that of their keys and serial numbers, even if serial number and queues are atomic, as in the
# paper (the mutant `many-producers-step-by-step`): `operators.partition.hybrid_many_producers` adds
# under a mutex.
# ASSUME: the loop L11 to L14 ignores time slices. A worker may leave when it owns nothing
# (``leave``); before that it goes on, as printed.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from operators.contract import FULL, NOT_READY, READY, Look, Variant
from operators.core import mpmc_ring
from operators.core.atomics import ACQ_REL, fetch_add
from operators.core.jit import inlined
from operators.core.layout import LINE_WORDS, aligned_words
from operators.core.marks import mark
from operators.core.mpmc_ring import MpmcRing, has_room, held_lately, make_ring, pop, push
from operators.core.spsc_ring import Rings, make_rings
from operators.core.spsc_ring import check_invariants as check_rings
from operators.partition.family import PartitionOperations
from operators.partition.partitioned import put_record, take_record
from operators.partition.shape import (
    NO_PARTITION,
    PARTITIONS,
    RECORD_WORDS,
    check_shape,
    make_held,
)


class HybridState(NamedTuple):
    """The queues and counters of figure 7."""

    # Serial number and word of each tuple, one ring for each partition. Producer: the thread of
    # add_input; consumer: the owner (invariant 3).
    rings: Rings
    # Partitions, in the order of arrival. The producer adds, any worker takes.
    master: MpmcRing
    # One word for each partition, on separate lines: invariant 1. Any worker adds, owners subtract.
    counts: np.ndarray
    # One private word for each worker: the partition it owns.
    held: np.ndarray
    # One word of the producer: tuples added so far.
    arrived: np.ndarray
    partitions: int


def make_state(partitions: int, workers: int, capacity: int) -> HybridState:
    """Return an empty worklist.

    Parameters
    ----------
    partitions, workers : int
    capacity : int
        The most tuples waiting in a partition; the master queue has room for as many, rounded up to
        a power of two.

    Raises
    ------
    UsageError
        When a number is out of range, or the rings take too much memory.
    """
    check_shape(partitions, workers, capacity, partitions << (capacity - 1).bit_length())
    return HybridState(
        rings=make_rings(partitions, capacity, RECORD_WORDS),
        master=make_ring(capacity),
        counts=aligned_words(partitions * LINE_WORDS),
        held=make_held(workers),
        arrived=aligned_words(LINE_WORDS),
        partitions=partitions,
    )


@inlined
def add_input(state, partition, word):
    """Add a tuple (L2 to L6): ACCEPTED or FULL. The one producer."""
    # Check the master queue first: a tuple without a key would never be taken. There is no other
    # producer, so room seen here is still there below.
    if not has_room(state.master):
        mark("hybrid: the master queue is full")
        return FULL
    serial = state.arrived[0] + 1
    if put_record(state.rings, partition, serial, word) == FULL:
        mark("hybrid: the partition is full")
        return FULL
    state.arrived[0] = serial
    # The RELEASE in push keeps the tuple before the key; pairs with pop in next_input (invariant
    # 2).
    return push(state.master, partition)


@inlined
def next_input(state, worker, out):
    """Give a worker the next tuple of the partition it owns, or of the next key (L8 to L13).

    READY (``out`` has partition, serial number and word) or NOT_READY.
    """
    held = state.held[worker * LINE_WORDS]
    while held == NO_PARTITION:
        if not pop(state.master, out):
            return NOT_READY
        # ACQUIRE keeps the accesses to the partition after those of the last owner, and RELEASE the
        # read of the master queue, which saw the tuple, before the count that delegates it to the
        # owner. Pairs with the subtraction in processed.
        if fetch_add(state.counts, out[0] * LINE_WORDS, 1, ACQ_REL) == 0:
            held = out[0]
            state.held[worker * LINE_WORDS] = held
        else:
            mark("hybrid: a tuple was delegated")
    # The tuple exists, since the key did (invariant 2).
    take_record(state, held, out)
    return READY


@inlined
def processed(state, worker):
    """Note that a worker has processed the tuple it was given (L14)."""
    held = state.held[worker * LINE_WORDS]
    # RELEASE keeps the processing before the count that frees the partition, and ACQUIRE the next
    # tuple after the count that was added for it. Pairs with the addition in next_input.
    if fetch_add(state.counts, held * LINE_WORDS, -1, ACQ_REL) == 1:
        state.held[worker * LINE_WORDS] = NO_PARTITION
    else:
        mark("hybrid: the owner goes on with a delegated tuple")


@inlined
def leave(state, worker):
    """Return whether a worker that asks for no more may go: it owns no partition."""
    return state.held[worker * LINE_WORDS] == NO_PARTITION


@inlined
def waiting(state):
    """Return how many tuples were added and not yet given out, at a recent moment. Any thread."""
    # A delegated tuple counts as given out: the owner goes on with it.
    return held_lately(state.master)


def check_invariants(state: HybridState) -> None:
    """Check the invariants of a worklist at rest.

    Raises
    ------
    AssertionError
        Naming the invariant that does not hold.
    """
    check_rings(state.rings)
    mpmc_ring.check_invariants(state.master)
    held = sorted(int(p) for p in state.held[::LINE_WORDS] if p != NO_PARTITION)
    owned = [p for p in range(state.partitions) if state.counts[p * LINE_WORDS]]
    assert owned == held, f"invariant 1: counts of {owned} are not 0, and workers own {held}"


VARIANT = Variant(
    id="hybrid",
    family="partition",
    title="Hybrid queue",
    paper="ordered_processing",
    section="4.3, fig. 7",
    operations=PartitionOperations(
        make_state, add_input, next_input, processed, leave, waiting, check_invariants
    ),
    order="of arrival, in each partition",
    progress="lock-free",
    parameters=(PARTITIONS,),
    threads={"producer": "one", "worker": "any number"},
    capacity="capacity tuples, and as many a partition; add_input answers FULL",
    look=Look("blue", "o", "solid"),
)
