"""The worker of a reorder bench: takes a serial number, works, and sends until it may go on."""

from __future__ import annotations

from functools import cache

from experiments.families.reorder.receiver import Receiver
from operators.contract import FULL
from operators.core.atomics import RELAXED, fetch_add, load, now, store
from operators.core.backoff import wait_a_little
from operators.core.jit import inlined, kernel
from operators.core.work import matrix_work
from operators.running.control import (
    BLOCKED_NS,
    BLOCKS,
    NO_ROOM,
    PROGRESS,
    RUNNING,
    STATE,
    STOP,
    STOP_MASK,
    end,
    meet,
    wait_until,
)


@cache
def make_insist(send):
    """Return ``insist``: sends what was told FULL again and again; FULL only when told to stop."""

    @inlined
    def insist(control, own, state, receiver, serial, output):
        begin = now()
        store(control, own + STATE, NO_ROOM, RELAXED)
        round = 0
        status = FULL
        while status == FULL and load(control, STOP, RELAXED) == 0:
            round = wait_a_little(round)
            status = send(state, receiver, serial, output)
        store(control, own + STATE, RUNNING, RELAXED)
        blocked = load(control, own + BLOCKED_NS, RELAXED) + now() - begin
        store(control, own + BLOCKED_NS, blocked, RELAXED)
        return status

    return insist


@cache
def make_worker_loop(send):
    """Return the kernel of a worker over a buffer's ``send``.

    Returns
    -------
    callable
        ``worker_loop(control, own, state, taken, products, arrivals, total)``: takes serial numbers
        from the counter ``taken`` until `total`, does the matrix products of each
        (``products[(serial - 1) % len(products)]``) and sends what comes of them.
    """
    insist = make_insist(send)

    @kernel
    def worker_loop(control, own, state, taken, products, arrivals, total):
        go = meet(control, own)
        receiver = Receiver(control, arrivals, go)
        count = 0
        going_on = go != 0
        while going_on:
            # RELAXED: a number and nothing else.
            serial = fetch_add(taken, 0, 1, RELAXED) + 1
            if serial > total:
                break
            if arrivals.period_ns > 0.0:
                due = go + int((serial - 1) * arrivals.period_ns)
                if wait_until(control, own, due) < due:
                    break  # told to stop
            place = (serial - 1) % len(products)
            output = matrix_work(place, products[place])
            if send(state, receiver, serial, output) == FULL:
                going_on = insist(control, own, state, receiver, serial, output) != FULL
            count += 1
            if own != BLOCKS:  # there the receiver notes how far the run is
                store(control, own + PROGRESS, count, RELAXED)
            if count & STOP_MASK == 0 and load(control, STOP, RELAXED) != 0:
                going_on = False
        end(control, own)

    return worker_loop
