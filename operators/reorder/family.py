"""The family of reorder buffers: what each provides, and what a bench of one takes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from operators.contract import Family, Parameter

MOST_WORKERS = 64
MOST_SLOTS = 1 << 20


class Sending(NamedTuple):
    """The operations of a reorder buffer that sends to one kind of receiver.

    ``send(state, receiver, serial, output)`` hands over the output of a serial number: ACCEPTED, or
    FULL where it is ``slots`` or more ahead of the next one to be sent, and nothing was taken. In
    both cases the caller, or another thread that was at it, has then sent all that could be.
    ``send_pending(state, receiver)`` only sends; for who has made room downstream.
    """

    send: Callable[..., int]
    send_pending: Callable[..., None]


class ReorderOperations(NamedTuple):
    """What a reorder buffer provides.

    ``make_state(slots)`` returns a NamedTuple of arrays. ``make_sending(send_downstream)`` returns
    a `Sending` that is compiled with the receiver's ``send_downstream(receiver, serial, output)``:
    ACCEPTED, or FULL when there is no room now, and then the same output is offered again later.
    It is called by one thread at a time, for serial 1, 2, 3, ... once each.
    ``next_serial(state)`` returns the serial number to be sent next, or one that was until a moment
    ago; what was done before the ones below it were sent is seen by who asked.
    ``check_invariants(state)`` is plain Python over a buffer at rest and raises AssertionError.

    Serial numbers begin at 1 and each is sent once; an output is any number from 0 up (what it
    stands for is the receiver's affair).
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
