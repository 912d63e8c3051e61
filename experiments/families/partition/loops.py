"""The threads of a partition bench: one producer, and workers that process and send.

The producer adds a tuple when it is fewer than ``slots`` ahead of what was sent: so an output
always has its slot in the reorder buffer, and no worker has to wait with one in its hands. A worker
that did could wait for ever where workers are fewer than partitions: what is next may lie in one
that nobody serves.
"""

from __future__ import annotations

from functools import cache

from experiments.families.reorder.receiver import Receiver, begin_work
from operators.contract import ACCEPTED, FULL, READY
from operators.core.atomics import RELAXED, load, now, store
from operators.core.backoff import wait_a_little
from operators.core.integers import fold
from operators.core.jit import inlined, kernel
from operators.core.layout import LINE_WORDS
from operators.core.work import matrix_work
from operators.running.control import (
    BLOCKED_NS,
    BLOCKS,
    LAST_LATE_NS,
    NO_ROOM,
    PROGRESS,
    RUNNING,
    STATE,
    STOP,
    STOP_MASK,
    end,
    fail,
    meet,
    wait_for_input,
    wait_until,
)

# Outputs are numbers from 0 up.
OUTPUT_MASK = (1 << 62) - 1
# A worker was given a tuple whose output had no slot: the producer went too far ahead.
NO_SLOT = -7


@inlined
def operate(states, partition, word):
    """Process a tuple: the state of its partition goes on, and is the output."""
    own = partition * LINE_WORDS
    states[own] = fold(states[own], word)
    return states[own] & OUTPUT_MASK


@cache
def make_producer_loop(add_input, next_serial):
    """Return the kernel of the producer.

    Returns
    -------
    callable
        ``producer_loop(control, own, state, buffer, partitions, slots, total, period_ns)``: adds
        `total` tuples, whose partitions are `partitions` again and again.
    """

    @inlined
    def insist(control, own, state, buffer, serial, slots, partition, place):
        begin = now()
        store(control, own + STATE, NO_ROOM, RELAXED)
        round = 0
        status = FULL
        while status == FULL and load(control, STOP, RELAXED) == 0:
            round = wait_a_little(round)
            if serial < next_serial(buffer) + slots:
                status = add_input(state, partition, place)
        store(control, own + STATE, RUNNING, RELAXED)
        blocked = load(control, own + BLOCKED_NS, RELAXED) + now() - begin
        store(control, own + BLOCKED_NS, blocked, RELAXED)
        return status

    @kernel
    def producer_loop(control, own, state, buffer, partitions, slots, total, period_ns):
        go = meet(control, own)
        due = go
        serial = 0
        going_on = go != 0
        while going_on and serial < total:
            place = serial % len(partitions)
            if period_ns > 0.0:
                due = go + int(serial * period_ns)
                if wait_until(control, own, due) < due:
                    break  # told to stop
            serial += 1
            status = FULL
            if serial < next_serial(buffer) + slots:
                status = add_input(state, partitions[place], place)
            if status == FULL:
                status = insist(
                    control, own, state, buffer, serial, slots, partitions[place], place
                )
            going_on = status == ACCEPTED
            store(control, own + PROGRESS, serial, RELAXED)
            if serial & STOP_MASK == 0 and load(control, STOP, RELAXED) != 0:
                going_on = False
        store(control, own + LAST_LATE_NS, max(now() - due, 0), RELAXED)
        end(control, own)

    return producer_loop


@cache
def make_worker_loop(next_input, processed, leave, send):
    """Return the kernel of a worker.

    Returns
    -------
    callable
        ``worker_loop(control, own, state, buffer, worker, out, states, products, arrivals, total)``
    """

    @kernel
    def worker_loop(control, own, state, buffer, worker, out, states, products, arrivals, total):
        go = meet(control, own)
        receiver = Receiver(control, arrivals, go)
        count = 0
        round = 0
        going_on = go != 0
        while going_on:
            if next_input(state, worker, out) == READY:
                partition, serial, place = out[0], out[1], out[2]
                if round != 0:
                    store(control, own + STATE, RUNNING, RELAXED)
                    round = 0
                begin_work(arrivals, serial)
                output = operate(states, partition, matrix_work(place, products))
                if send(buffer, receiver, serial, output) == FULL:
                    fail(control, own, NO_SLOT)
                processed(state, worker)
                count += 1
                if own != BLOCKS:  # there the receiver notes how far the run is
                    store(control, own + PROGRESS, count, RELAXED)
                if count & STOP_MASK == 0 and load(control, STOP, RELAXED) != 0:
                    going_on = False
            else:
                # RELAXED: it only ends the run.
                if load(control, BLOCKS + PROGRESS, RELAXED) == total:
                    going_on = not leave(state, worker)
                round = wait_for_input(control, own, round)
                if load(control, STOP, RELAXED) != 0:
                    going_on = False
        end(control, own)

    return worker_loop
