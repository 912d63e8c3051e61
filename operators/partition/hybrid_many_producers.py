"""The hybrid queue for any number of producers: both enqueues and the serial number in one step.

No paper has it. Two producers in figure 7 can put their tuples into a partition's queue in one
order and their keys into the master queue in the other; and each may draw a serial number at any
time around that. Then the serial numbers do not follow the order in which tuples are processed, and
the reorder buffer behind the operator sends an output before the output it depends on. A mutex
around the whole of ``add_input`` is the simple remedy; workers do not take it.

Guaranteed: the guarantees of `operators.partition.hybrid`, and serial numbers in the order of
arrival, for any number of producers.
"""

from __future__ import annotations

from typing import NamedTuple

from operators.contract import Look, Variant
from operators.core.jit import inlined
from operators.core.mutex import acquire, make_mutexes, release
from operators.partition import hybrid
from operators.partition.family import PartitionOperations
from operators.partition.hybrid import HybridState
from operators.partition.shape import PARTITIONS


class ManyProducersState(NamedTuple):
    """A hybrid queue, and the mutex of its producers."""

    lock: object  # one mutex; a producer holds it for each addition
    queue: HybridState


def make_state(partitions: int, workers: int, capacity: int) -> ManyProducersState:
    """Return an empty worklist; the limits are those of `operators.partition.hybrid`."""
    return ManyProducersState(make_mutexes(1), hybrid.make_state(partitions, workers, capacity))


@inlined
def add_input(state, partition, word):
    """Add a tuple: ACCEPTED or FULL. Any thread."""
    acquire(state.lock, 0)
    status = hybrid.add_input(state.queue, partition, word)
    release(state.lock, 0)
    return status


@inlined
def next_input(state, worker, out):
    """Give a worker a tuple: READY or NOT_READY."""
    return hybrid.next_input(state.queue, worker, out)


@inlined
def processed(state, worker):
    """Note that a worker has processed the tuple it was given."""
    hybrid.processed(state.queue, worker)


@inlined
def leave(state, worker):
    """Return whether a worker that asks for no more may go."""
    return hybrid.leave(state.queue, worker)


@inlined
def waiting(state):
    """Return how many tuples were added and not yet given out, at a recent moment. Any thread."""
    return hybrid.waiting(state.queue)


def check_invariants(state: ManyProducersState) -> None:
    """Check the queue inside."""
    hybrid.check_invariants(state.queue)


VARIANT = Variant(
    id="hybrid-many-producers",
    family="partition",
    title="Hybrid queue, many producers",
    paper="none",
    section="beside 4.3",
    operations=PartitionOperations(
        make_state, add_input, next_input, processed, leave, waiting, check_invariants
    ),
    order="of arrival, in each partition",
    progress="blocking",
    parameters=(PARTITIONS,),
    threads={"producer": "any number", "worker": "any number"},
    capacity="capacity tuples, and as many a partition; add_input answers FULL",
    extended=True,
    look=Look("sky", "D"),
    extends={"ordered_processing": ("9", "10")},
)
