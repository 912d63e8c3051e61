"""The worker of a reorder bench: takes a serial number, works, and sends until it may go on."""

from __future__ import annotations

from functools import cache

from experiments.families.reorder.receiver import Receiver
from operators.contract import END, FULL, NOT_READY, READY
from operators.core.atomics import RELAXED, fetch_add, load, store
from operators.core.jit import inlined
from operators.core.work import matrix_work
from operators.running.control import BLOCKS, GO, PROGRESS, wait_until
from operators.running.drivers import make_driver, make_insist
from operators.running.schedule import due_after, is_open


@cache
def make_worker_loop(send):
    """Return the kernel of a worker over a buffer's ``send``.

    Returns
    -------
    callable
        ``worker_loop(control, own, state, taken, products, downstream, total)``: takes serial
        numbers from the counter ``taken`` until `total`, computes the matrix products of each
        (``products[(serial - 1) % len(products)]``) and sends the result.
    """
    insist = make_insist(send)

    @inlined
    def work(control, own, count, state, taken, products, downstream, total):
        # RELAXED: only the number matters; it publishes nothing.
        serial = fetch_add(taken, 0, 1, RELAXED) + 1
        if serial > total:
            return END, count
        go = load(control, GO, RELAXED)
        if is_open(downstream.schedule):
            due = go + due_after(downstream.schedule, serial - 1)
            if wait_until(control, own, due) < due:
                return NOT_READY, count  # stopped
        place = (serial - 1) % len(products)
        output = matrix_work(place, products[place])
        receiver = Receiver(control, downstream, go)
        if send(state, receiver, serial, output) == FULL:
            if insist(control, own, state, receiver, serial, output) == FULL:
                return NOT_READY, count  # stopped
        count += 1
        if own != BLOCKS:  # in worker 0's words the receiver reports the run's progress
            store(control, own + PROGRESS, count, RELAXED)
        return READY, count

    return make_driver(work)
