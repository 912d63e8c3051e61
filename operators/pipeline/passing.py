"""Passes the outputs of a tuple on to the next operator, or out of the pipeline.

The sending thread (`operators.reorder`) passes outputs on, one thread at a time for each operator.
An output without room downstream stays in its slot: ``SENT`` is the number of the tuple's outputs
that are passed on, ``BLOCKED`` means that a worker has to retry.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from operators.contract import ACCEPTED, FULL
from operators.core.atomics import RELAXED, load, now, store
from operators.core.jit import inlined
from operators.pipeline.board import spend
from operators.pipeline.stage import BLOCKED, NO_ROOM, NON_BLOCKING, SENT, Stage, arrive, made_at
from operators.pipeline.state import PipelineState, Setting, Sink, deliver
from operators.reorder import lock_based, non_blocking


class Sender(NamedTuple):
    """The data for sending from one operator, and no more: functions pass it on to each other."""

    place: int
    last: bool  # whether this is the last operator
    stage: Stage
    following: Stage  # the next stage; for the last operator the stage itself
    sink: Sink
    setting: Setting


@inlined
def sender_of(state: PipelineState, place: int) -> Sender:
    """Return the data for sending from an operator."""
    end = len(state.stages) - 1
    return Sender(
        place,
        place == end,
        state.stages[place],
        state.stages[min(place + 1, end)],
        state.sink,
        state.setting,
    )


@inlined
def put(sender, words, begin, marker, partition):
    """Pass an output to a partition of the next operator, or to the sink after the last one."""
    if sender.last:
        deliver(sender.sink, sender.stage.outputs, words, begin, marker)
        return ACCEPTED
    return arrive(sender.following, sender.setting, words, begin, marker, partition)


@inlined
def pass_on(sender, serial, count):
    """Pass on the outputs of a tuple: the ``send_downstream`` of `operators.reorder`."""
    stage = sender.stage
    slot = serial & stage.mask
    first = made_at(stage, slot)
    marker = stage.markers[slot]
    bare = count == 0 and marker != 0
    number = 1 if bare else count
    sent = stage.words[SENT]
    while sent < number:
        carried = 0
        if sent == 0:
            carried = -abs(marker) if bare else marker
        partition = 0
        if stage.dealt != 0 and not bare:
            partition = stage.made[first + stage.most * stage.outputs + sent]
        if put(sender, stage.made, first + sent * stage.outputs, carried, partition) == FULL:
            stage.words[SENT] = sent
            stage.words[NO_ROOM] += 1
            # RELAXED: a hint. A thread that sends has the buffer's flag or lock, and so sees how
            # far this thread was.
            store(stage.words, BLOCKED, 1, RELAXED)
            return FULL
        sent += 1
    stage.words[SENT] = 0
    store(stage.words, BLOCKED, 0, RELAXED)
    return ACCEPTED


def make_send() -> tuple[Callable[..., None], Callable[..., bool]]:
    """Return ``send(sender, serial, count)`` and ``relieve(state)``, over either reorder buffer.

    The first sends a tuple's outputs. The second retries the outputs that had no room, from the
    last operator to the first, since that makes room for those before, and returns whether it made
    progress.
    """
    free = non_blocking.VARIANT.operations.make_sending(pass_on)
    locked = lock_based.VARIANT.operations.make_sending(pass_on)
    send_free, send_pending_free = free.send, free.send_pending
    send_locked, send_pending_locked = locked.send, locked.send_pending

    @inlined
    def send(sender, serial, count):
        # The tuple has a slot: arrive ensures that.
        if sender.setting.buffer == NON_BLOCKING:
            send_free(sender.stage.free, sender, serial, count)
        else:
            send_locked(sender.stage.locked, sender, serial, count)

    @inlined
    def relieve(state):
        relieved = False
        for back in range(2, len(state.stages) + 1):
            place = len(state.stages) - back
            # RELAXED: a hint; see pass_on.
            if load(state.stages[place].words, BLOCKED, RELAXED) != 0:
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
