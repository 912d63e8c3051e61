"""The family of reorder buffers: the operations, and the settings of a bench."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from operators.contract import Family, Parameter

MOST_WORKERS = 64
MOST_SLOTS = 1 << 20


class Sending(NamedTuple):
    """The operations of a reorder buffer that sends to one kind of receiver.

    ``send(state, receiver, serial, output)`` hands over the output of a serial number: ACCEPTED, or
    FULL if it is ``slots`` or more ahead of the next one to be sent, in which case it was not taken
    (backpressure). In both cases the caller, or another thread that holds the right to send, has
    then sent all outputs that could be sent. ``send_pending(state, receiver)`` only sends; it is
    for a thread that has made room downstream.
    """

    send: Callable[..., int]
    send_pending: Callable[..., None]


class ReorderOperations(NamedTuple):
    """The operations of a reorder buffer.

    ``make_state(slots)`` returns a NamedTuple of arrays. ``make_sending(send_downstream)`` returns
    a `Sending` that is compiled with the receiver's ``send_downstream(receiver, serial, output)``:
    ACCEPTED, or FULL if there is no room now, in which case the same output is offered again later.
    One thread at a time calls it, for serial 1, 2, 3, ... once each. ``next_serial(state)`` returns
    the serial number to be sent next, or a recent value of it; sends of lower serial numbers, and
    everything before them, happen before the return. ``check_invariants(state)`` is plain Python
    over a buffer at rest and raises AssertionError.

    Serial numbers begin at 1 and each is sent once; an output is any number from 0 up, whose
    meaning is up to the receiver.
    """

    make_state: Callable[..., Any]
    make_sending: Callable[[Callable[..., int]], Sending]
    next_serial: Callable[..., int]
    check_invariants: Callable[..., None]


FAMILY = Family(
    id="reorder",
    title="outputs of concurrent workers, sent by serial number",
    operations=ReorderOperations,
    settings=(
        Parameter("workers", 2, 1, MOST_WORKERS, "", "threads that work and send"),
        Parameter("work_us", 1.0, 0, 1_000_000, "us", "work an output, on average", decimals=3),
        Parameter(
            "work", "exponential", meaning="how work varies", choices=("exponential", "constant")
        ),
        Parameter("send_us", 0.1, 0, 1_000_000, "us", "what sending one output takes", decimals=3),
        Parameter("seed", 1, 1, 1 << 31, "", "of the work of each output"),
    ),
)
