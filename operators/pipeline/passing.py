"""Passing on: the outputs of a tuple go to the next operator, or out of the pipeline.

Whoever sends (`operators.reorder`) passes on, one thread at a time for each operator. What has no
room stays in its slot: ``SENT`` says how many of the tuple's outputs are through, ``BLOCKED`` that
somebody has to come back.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from operators.contract import ACCEPTED, FULL
from operators.core.atomics import ACQUIRE, RELAXED, RELEASE, load, now, store
from operators.core.jit import inlined
from operators.pipeline.board import spend
from operators.pipeline.stage import BLOCKED, NON_BLOCKING, SENT, Stage
from operators.pipeline.state import PipelineState, Setting, Sink, deliver
from operators.reorder import lock_based, non_blocking


class Sender(NamedTuple):
    """What sending from one operator needs, and no more: it is handed from function to function."""

    place: int
    last: bool  # whether nothing follows
    stage: Stage
    following: Stage  # of the last operator itself
    sink: Sink
    setting: Setting


@inlined
def sender_of(state: PipelineState, place: int) -> Sender:
    """Return what sending from the operator at a place needs."""
    end = len(state.stages) - 1
    return Sender(
        place,
        place == end,
        state.stages[place],
        state.stages[min(place + 1, end)],
        state.sink,
        state.setting,
    )


def make_put(arrive: Callable[..., int]) -> Callable[..., int]:
    """Return ``put(sender, words, begin, marker)``: an output arrives, or comes out at the end."""

    @inlined
    def put(sender, words, begin, marker):
        if sender.last:
            deliver(sender.sink, sender.stage.outputs, words, begin, marker)
            return ACCEPTED
        return arrive(sender.following, sender.place + 1, sender.setting, words, begin, marker)

    return put


def make_pass_on(arrive: Callable[..., int]) -> Callable[..., int]:
    """Return ``pass_on(sender, serial, count)``, the ``send_downstream`` of `operators.reorder`."""
    put = make_put(arrive)

    @inlined
    def pass_on(sender, serial, count):
        stage = sender.stage
        slot = serial & stage.mask
        marker = stage.markers[slot]
        bare = count == 0 and marker != 0
        number = 1 if bare else count
        sent = stage.words[SENT]
        while sent < number:
            carried = 0
            if sent == 0:
                carried = -abs(marker) if bare else marker
            begin = (slot * stage.most + sent) * stage.outputs
            if put(sender, stage.made, begin, carried) == FULL:
                stage.words[SENT] = sent
                # RELEASE: whoever sees it and sends, sees how far this thread was.
                store(stage.words, BLOCKED, 1, RELEASE)
                return FULL
            sent += 1
        stage.words[SENT] = 0
        store(stage.words, BLOCKED, 0, RELAXED)
        return ACCEPTED

    return pass_on


def make_send(pass_on: Callable[..., int]) -> tuple[Callable[..., None], Callable[..., bool]]:
    """Return ``send(sender, serial, count)`` and ``relieve(state)``, over either reorder buffer.

    The first hands over a tuple's outputs. The second goes on with what had no room, from the last
    operator to the first, since that makes room for those before, and says whether it got on.
    """
    free = non_blocking.VARIANT.operations.make_sending(pass_on)
    locked = lock_based.VARIANT.operations.make_sending(pass_on)
    send_free, send_pending_free = free.send, free.send_pending
    send_locked, send_pending_locked = locked.send, locked.send_pending

    @inlined
    def send(sender, serial, count):
        # It has its slot: arrive saw to that.
        if sender.setting.buffer == NON_BLOCKING:
            send_free(sender.stage.free, sender, serial, count)
        else:
            send_locked(sender.stage.locked, sender, serial, count)

    @inlined
    def relieve(state):
        relieved = False
        for back in range(2, len(state.stages) + 1):
            place = len(state.stages) - back
            # ACQUIRE pairs with the store in pass_on.
            if load(state.stages[place].words, BLOCKED, ACQUIRE) != 0:
                begin = now()
                sender = sender_of(state, place)
                if sender.setting.buffer == NON_BLOCKING:
                    send_pending_free(sender.stage.free, sender)
                else:
                    send_pending_locked(sender.stage.locked, sender)
                relieved = relieved or load(sender.stage.words, BLOCKED, RELAXED) == 0
                spend(state.board, place, now() - begin)
        return relieved

    return send, relieve
