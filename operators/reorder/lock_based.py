"""The lock-based reorder buffer: one mutex, held while sending.

Source: "Scaling Ordered Stream Processing on Shared-Memory Multicores", section 3.1, figures 2 and
3. It is the rival: a worker that only wants to store an output waits while another one sends
(figure 3).

Guaranteed: the guarantees of `operators.reorder.non_blocking`. Each operation is one critical
section and takes effect within it. Sending is part of it: ``send_downstream`` must not raise, nor
run a user's function, since nobody would release the mutex.

Invariants:

1. Only the holder of the lock changes ``next``, which only grows.
2. The slot of serial `t` holds `t`'s output, or EMPTY, for ``next <= t < next + slots``.

Progress: blocking.

# ASSUME: the paper does not name the lock; on Windows with C++ it was a mutex. Here it is the
# pthread mutex, and `lock-based-spin` has a spin lock instead: the two differ by more than either
# from the non-blocking buffer.
# ASSUME: figure 2 does not bound the waiting buffer. Here it has as many slots as the rival, so
# that both let the same number of outputs wait.
# ASSUME: as with the rival, a receiver may be full.
# ASSUME: even the output that is next goes through a slot, while figure 2 sends it at once: so the
# code compiled with the receiver exists once and not twice.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from operators.contract import ACCEPTED, FULL, Look, Shown, Variant
from operators.core.atomics import ACQUIRE, RELAXED, RELEASE, load, store
from operators.core.jit import inlined
from operators.core.marks import mark
from operators.core.mutex import acquire, make_mutexes, release
from operators.reorder.family import ReorderOperations, Sending
from operators.reorder.shape import EMPTY, SLOTS, check_slots, make_slots


class LockBasedState(NamedTuple):
    """The waiting buffer and the counter, accessed only under the lock, except for next_serial."""

    # One mutex, or one spin lock.
    lock: np.ndarray
    # One word: the serial number to be sent next.
    next: np.ndarray
    # An output or EMPTY in each slot; the slot of serial t is t & mask.
    buffer: np.ndarray
    slots: int
    mask: int


def make_state(slots: int) -> LockBasedState:
    """Return an empty buffer that starts at serial number 1.

    Parameters
    ----------
    slots : int
        The most outputs waiting.

    Raises
    ------
    UsageError
        When `slots` is out of range.
    """
    following, buffer, mask = make_slots(slots)
    return LockBasedState(make_mutexes(1), following, buffer, slots, mask)


def sending_under(acquire, release):
    """Return ``make_sending`` for a kind of lock with these operations."""

    def make_sending(send_downstream) -> Sending:
        """Return the operations over ``send_downstream(receiver, serial, output)``."""

        @inlined
        def send_waiting(state, receiver):
            # L4 to L9, under the lock, which orders the critical sections: RELAXED. The store of
            # next is also read without the lock: RELEASE, pairs with next_serial.
            serial = load(state.next, 0, RELAXED)
            output = load(state.buffer, serial & state.mask, RELAXED)
            while output != EMPTY and send_downstream(receiver, serial, output) == ACCEPTED:
                store(state.buffer, serial & state.mask, EMPTY, RELAXED)
                serial += 1
                store(state.next, 0, serial, RELEASE)
                output = load(state.buffer, serial & state.mask, RELAXED)

        @inlined
        def send(state, receiver, serial, output):
            acquire(state.lock, 0)
            status = FULL
            if serial < load(state.next, 0, RELAXED) + state.slots:
                store(state.buffer, serial & state.mask, output, RELAXED)
                status = ACCEPTED
            else:
                mark("lock_based: too far ahead")
            send_waiting(state, receiver)
            release(state.lock, 0)
            return status

        @inlined
        def send_pending(state, receiver):
            acquire(state.lock, 0)
            send_waiting(state, receiver)
            release(state.lock, 0)

        return Sending(send, send_pending)

    return make_sending


@inlined
def next_serial(state):
    """Return the serial number to be sent next, or a recent value of it."""
    # ACQUIRE; pairs with the stores of next.
    return load(state.next, 0, ACQUIRE)


def check_invariants(state: LockBasedState) -> None:
    """Check invariants 1 and 2 of a buffer at rest.

    Raises
    ------
    AssertionError
        Naming the invariant that does not hold.
    """
    check_slots(state)


VARIANT = Variant(
    id="lock-based",
    family="reorder",
    title="Lock-based",
    paper="ordered_processing",
    section="3.1, fig. 2",
    operations=ReorderOperations(
        make_state, sending_under(acquire, release), next_serial, check_invariants
    ),
    order="serial numbers",
    progress="blocking",
    threads={"worker": "any number"},
    capacity="slots outputs; one too far ahead is told FULL",
    parameters=(SLOTS,),
    look=Look("black", "X", "dashed"),
    shown=(
        Shown("work=exponential,work_us=10,send_us=5", "Lock-based, long sends",
              Look("vermillion", "X"), {"ordered_processing": ("12",)}, rival=False),
    ),
)  # fmt: skip
