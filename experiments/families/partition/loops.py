"""The threads of a partition bench: one producer, and workers that process and send.

The producer adds a tuple only while it is fewer than ``slots`` ahead of the last sent output: an
output thus always has a slot in the reorder buffer, and no worker waits while holding one. With
fewer workers than partitions, workers that did could wait forever: the next output may belong to a
partition that nobody serves.
"""

from __future__ import annotations

from functools import cache

from experiments.families.reorder.receiver import Receiver, begin_work
from operators.contract import ACCEPTED, END, FULL, NOT_READY, READY
from operators.core.atomics import RELAXED, load, now, store
from operators.core.integers import fold
from operators.core.jit import inlined
from operators.core.layout import LINE_WORDS
from operators.core.work import matrix_work
from operators.partition.family import NO_OUTPUT_SLOT
from operators.running.control import BLOCKS, GO, LAST_LATE_NS, PROGRESS, wait_until
from operators.running.drivers import make_driver, make_insist
from operators.running.schedule import due_after, is_open

# Outputs are numbers from 0 up.
OUTPUT_MASK = (1 << 62) - 1


@inlined
def operate(states, partition, word):
    """Process a tuple: advance the state of the tuple's partition and return it as the output."""
    own = partition * LINE_WORDS
    states[own] = fold(states[own], word)
    return states[own] & OUTPUT_MASK


@cache
def make_producer_loop(add_input, next_serial):
    """Return the kernel of the producer.

    Returns
    -------
    callable
        ``producer_loop(control, own, state, buffer, partitions, slots, total, schedule)``: adds
        `total` tuples, whose partitions repeat `partitions`.
    """

    @inlined
    def add_near(state, buffer, slots, serial, partition, place):
        if serial >= next_serial(buffer) + slots:
            return FULL
        return add_input(state, partition, place)

    insist = make_insist(add_near)

    @inlined
    def begin(control, own, *arguments):
        # Tuples added, and when the last of them was due.
        return 0, load(control, GO, RELAXED)

    @inlined
    def produce(control, own, kept, state, buffer, partitions, slots, total, schedule):
        serial, due = kept
        if serial == total:
            return END, kept
        place = serial % len(partitions)
        if is_open(schedule):
            due = load(control, GO, RELAXED) + due_after(schedule, serial)
            if wait_until(control, own, due) < due:
                return NOT_READY, (serial, due)  # stopped
        serial += 1
        tuple_of = (serial, partitions[place], place)
        status = add_near(state, buffer, slots, *tuple_of)
        if status == FULL:
            status = insist(control, own, state, buffer, slots, *tuple_of)
        if status == FULL:
            return NOT_READY, (serial, due)  # stopped
        store(control, own + PROGRESS, serial, RELAXED)
        return (READY if status == ACCEPTED else status), (serial, due)

    @inlined
    def finish(control, own, status, kept, *arguments):
        store(control, own + LAST_LATE_NS, max(now() - kept[1], 0), RELAXED)

    return make_driver(produce, begin, finish)


@cache
def make_worker_loop(next_input, processed, leave, send):
    """Return the kernel of a worker.

    Returns
    -------
    callable
        ``worker_loop(control, own, state, buffer, worker, out, states, products, downstream,
        total)``
    """

    @inlined
    def work(control, own, count, state, buffer, worker, out, states, products, downstream, total):
        if next_input(state, worker, out) == READY:
            partition, serial, place = out[0], out[1], out[2]
            begin_work(downstream, serial)
            output = operate(states, partition, matrix_work(place, products))
            receiver = Receiver(control, downstream, load(control, GO, RELAXED))
            if send(buffer, receiver, serial, output) == FULL:
                return NO_OUTPUT_SLOT, count
            processed(state, worker)
            count += 1
            if own != BLOCKS:  # in worker 0's words the receiver reports the run's progress
                store(control, own + PROGRESS, count, RELAXED)
            return READY, count
        # RELAXED: it only ends the run.
        if load(control, BLOCKS + PROGRESS, RELAXED) == total and leave(state, worker):
            return END, count
        return NOT_READY, count

    return make_driver(work)
