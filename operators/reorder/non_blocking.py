"""The non-blocking reorder buffer: adding an output is independent of sending.

Source: "Scaling Ordered Stream Processing on Shared-Memory Multicores", section 3.2, figure 4 (its
lines are named L1 to L43 below).

::

    worker A, serial 9 ---try_add---+              flag: taken by the sending worker
    worker B, serial 7 ---try_add-+ |
                                  v v
      slots   ... [ EMPTY | 7 | EMPTY | 9 | EMPTY ... ]        slot of serial t: t modulo the slots
                     ^
                    next = 6: the output to send next; 7 and 9 wait for it

A worker puts an output into the slot of the serial number and then tries to take the flag. The
holder of the flag sends all outputs that are next in order; a worker that does not get the flag
goes on working. The holder looks again after it has cleared the flag, so that no output stays
behind.

Guaranteed:

1. ``send_downstream`` is called by one thread at a time, with serial 1, 2, 3, ... in this order.
2. When no thread is inside ``send`` or ``send_pending`` and downstream has room, every output that
   is next has been sent.

Invariants:

1. Only the holder of the flag changes ``next``, which only grows.
2. The slot of serial `t` holds EMPTY until the worker of `t` has added the output, which is allowed
   while ``next <= t < next + slots``; from then on `t`'s output until ``next`` has passed `t`.
3. ``flag`` is 1 exactly while a thread is between the exchange and the store of 0.
4. ``asked`` only grows: it counts how often a thread has made room downstream.

Linearization points: an output is taken at the store into the slot, and sent when the receiver
takes it. FULL is decided by the load of ``next``.

Progress: calls are lock-free: no worker waits for another inside ``send``, which the paper calls
non-blocking. Yet the flag is a try-lock: a worker that the system preempts while it holds the flag
holds up every output, and once the slots are taken every ``send`` answers FULL (backpressure).

# ASSUME: figure 4 clears the flag and looks again with the default order of C++, which is
# sequentially consistent; with release and acquire an output was left behind 489 times in ten
# million tries (notes of the paper), so the memory orders are explicit below.
# ASSUME: L16 also checks ``t >= next``. This always holds, since `t` is not sent before it was
# added; a check would hide an output that is sent twice.
# ASSUME: a receiver may be full, which the paper does not treat. The holder then leaves the output
# in the slot and clears the flag; a thread that makes room calls ``send_pending``. Room made while
# the holder turns away could be missed as an output could: so ``asked`` is checked, too.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from operators.contract import ACCEPTED, FULL, Look, Shown, Variant
from operators.core.atomics import (
    ACQUIRE,
    RELAXED,
    RELEASE,
    SEQ_CST,
    exchange,
    fetch_add,
    load,
    store,
)
from operators.core.jit import inlined
from operators.core.layout import LINE_WORDS, aligned_words
from operators.core.marks import mark
from operators.reorder.family import ReorderOperations, Sending
from operators.reorder.shape import EMPTY, SLOTS, check_slots, make_slots


class NonBlockingState(NamedTuple):
    """The data fields of figure 4, L1 to L4."""

    # One word on a separate line: the serial number to be sent next. Written by the flag's holder,
    # read by all.
    next: np.ndarray
    # One word on a separate line: 1 while a thread sends. All write it.
    flag: np.ndarray
    # One word on a separate line: the number of calls of send_pending. Any thread adds to it.
    asked: np.ndarray
    # An output or EMPTY in each slot. Slot t & mask is written once by the worker of serial t, and
    # set to EMPTY by the flag's holder (invariant 2).
    buffer: np.ndarray
    slots: int
    mask: int


def make_state(slots: int) -> NonBlockingState:
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
    flag, asked = aligned_words(LINE_WORDS), aligned_words(LINE_WORDS)
    return NonBlockingState(following, flag, asked, buffer, slots, mask)


@inlined
def try_add(state, serial, output):
    """Put an output into a slot (L14 to L22): ACCEPTED, or FULL when it is too far ahead."""
    # ACQUIRE keeps the store below after the holder's EMPTY for the previous serial of this slot;
    # pairs with the store of next in send_all_ready (invariant 2).
    if serial >= load(state.next, 0, ACQUIRE) + state.slots:
        mark("non_blocking: too far ahead")
        return FULL
    # SEQ_CST orders this store before the load of the flag (store buffering): an adder stores an
    # output and then loads the flag; a holder clears the flag and then loads the slot; one of the
    # two must see the other. Pairs with the clear and the second look in send_pending_outputs. It
    # also releases the data of the output to the load in send_all_ready.
    store(state.buffer, serial & state.mask, output, SEQ_CST)
    return ACCEPTED


@inlined
def take_flag(state):
    """Take the flag (L25); False while another thread has it."""
    # A load first: an exchange would take the cache line from the holder, who is about to write it.
    # SEQ_CST keeps the load after the store in try_add: a worker that reads 1 here leaves the
    # output to a holder whose clear comes later.
    if load(state.flag, 0, SEQ_CST) != 0:
        return False
    # ACQUIRE: the last holder's actions happen before; pairs with the clear in
    # send_pending_outputs. It need not be SEQ_CST: an exchange that finds 1 comes after that
    # holder's own, and so the clear comes after the load above, which read an earlier 0. Nor
    # RELEASE: nobody learns anything from a 1.
    return exchange(state.flag, 0, 1, ACQUIRE) == 0


def make_sending(send_downstream) -> Sending:
    """Return the operations over a receiver's ``send_downstream(receiver, serial, output)``."""

    @inlined
    def send_all_ready(state, receiver):
        # L26 to L34. Returns the last answer of the receiver. Only the holder writes next: RELAXED.
        serial = load(state.next, 0, RELAXED)
        status = ACCEPTED
        # ACQUIRE keeps it before the receiver's use of the output; pairs with try_add.
        output = load(state.buffer, serial & state.mask, ACQUIRE)
        while output != EMPTY and status == ACCEPTED:
            status = send_downstream(receiver, serial, output)
            if status == ACCEPTED:
                # RELAXED: the store of next releases it. EMPTY before next: from then on the slot
                # belongs to serial + slots.
                store(state.buffer, serial & state.mask, EMPTY, RELAXED)
                serial += 1
                # RELEASE; pairs with the loads of next in try_add and next_serial.
                store(state.next, 0, serial, RELEASE)
                output = load(state.buffer, serial & state.mask, ACQUIRE)
        return status

    @inlined
    def send_pending_outputs(state, receiver):
        # L24 to L43. The paper's version ends with a recursive call; this one loops.
        again = True
        while again and take_flag(state):
            # ACQUIRE: if it sees a count, the receiver's check sees that room; pairs with
            # send_pending. If it does not, the second load of the count decides, by SEQ_CST.
            asked = load(state.asked, 0, ACQUIRE)
            status = send_all_ready(state, receiver)
            serial = load(state.next, 0, RELAXED)
            # SEQ_CST orders the clear before the second look (see try_add), and includes RELEASE.
            store(state.flag, 0, 0, SEQ_CST)
            if status == ACCEPTED:
                again = load(state.buffer, serial & state.mask, SEQ_CST) != EMPTY
                if again:
                    mark("non_blocking: the second look found an output")
            else:
                again = load(state.asked, 0, SEQ_CST) != asked
                if again:
                    mark("non_blocking: the second look found room")

    @inlined
    def send(state, receiver, serial, output):
        # L7 to L11.
        status = try_add(state, serial, output)
        send_pending_outputs(state, receiver)
        return status

    @inlined
    def send_pending(state, receiver):
        # SEQ_CST orders it before the load of the flag: a thread that made room counts it and then
        # loads the flag; a holder clears the flag and then loads the count. RELEASE keeps the room
        # before.
        fetch_add(state.asked, 0, 1, SEQ_CST)
        send_pending_outputs(state, receiver)

    return Sending(send, send_pending)


@inlined
def next_serial(state):
    """Return the serial number to be sent next, or a recent value of it."""
    # ACQUIRE; pairs with the stores of next.
    return load(state.next, 0, ACQUIRE)


def check_invariants(state: NonBlockingState) -> None:
    """Check invariants 1 to 3 of a buffer at rest.

    Raises
    ------
    AssertionError
        Naming the invariant that does not hold.
    """
    assert state.flag[0] == 0, "invariant 3: the flag is set, and nobody sends"
    check_slots(state)


VARIANT = Variant(
    id="non-blocking",
    family="reorder",
    title="Non-blocking",
    paper="ordered_processing",
    section="3.2, fig. 4",
    operations=ReorderOperations(make_state, make_sending, next_serial, check_invariants),
    order="serial numbers",
    progress="lock-free",
    threads={"worker": "any number"},
    capacity="slots outputs; one too far ahead is told FULL",
    parameters=(SLOTS,),
    look=Look("blue", "o", "solid"),
    shown=(
        Shown("work=exponential,work_us=10,send_us=5", "Non-blocking, long sends",
              Look("sky", "o"), {"ordered_processing": ("12",)}, rival=False),
    ),
)  # fmt: skip
