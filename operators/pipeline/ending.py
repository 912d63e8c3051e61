"""The end of the stream: a barrier that moves from operator to operator.

An operator ends when the outputs of all tuples that will ever arrive have been sent. Then one
worker flushes it: key by key in order, and each key's outputs one by one. When there is no more
room downstream the worker leaves, and the next one resumes at that output. Finally the worker gives
the next operator the serial number after which that operator ends.
"""

from __future__ import annotations

from collections.abc import Callable

from operators.contract import ACCEPTED, FULL, NOT_READY, READY
from operators.core.atomics import ACQUIRE, RELAXED, RELEASE, exchange, load, now, store
from operators.core.jit import inlined
from operators.pipeline.board import spend
from operators.pipeline.passing import put, sender_of
from operators.pipeline.stage import (
    ARRIVED,
    CURSOR,
    END_AT,
    ENDED,
    FINISHING,
    has_room,
    next_serial,
    outputs_of,
    row_end,
    row_of,
)
from operators.running.control import STOP, act

# Words after CURSOR, which is the key.
MADE = CURSOR + 1  # outputs of this key, plus one; 0 before the key is flushed
PUT_OUT = CURSOR + 2  # outputs of this key passed on so far


@inlined
def pass_end_on(done, last, following):
    """Signal the end of the stream: to the next stage, or by ``done`` from the last one."""
    if last:
        # RELEASE keeps the outputs before it; pairs with the load in work_once.
        store(done, 0, 1, RELEASE)
    else:
        end_at = load(following, ARRIVED, RELAXED) + 1
        # RELAXED: as in feed.
        store(following, END_AT, end_at, RELAXED)


def make_put_out(deal: Callable[..., int]) -> Callable[..., int]:
    """Return ``put_out(sender)``, which passes on the outputs of one flushed key.

    It returns ACCEPTED, or FULL if there was no more room.
    """

    @inlined
    def put_out(sender):
        words, flushed = sender.stage.words, sender.stage.flushed
        while words[PUT_OUT] < words[MADE] - 1:
            begin = words[PUT_OUT] * sender.stage.outputs
            partition = 0
            if not sender.last:
                if not has_room(sender.following, sender.setting.buffer):
                    return FULL
                partition = deal(sender.following, sender.place + 1, sender.setting, flushed, begin)
            if put(sender, flushed, begin, 0, partition) == FULL:
                return FULL
            words[PUT_OUT] += 1
        return ACCEPTED

    return put_out


def make_finish(deal: Callable[..., int], flush: Callable[..., int]) -> Callable[..., int]:
    """Return ``finish(control, own, state)``, which flushes operators that have reached the end.

    It returns READY if it made progress, NOT_READY if not, or the failure of a flush.
    """
    put_out = make_put_out(deal)

    @inlined
    def flush_all(control, own, sender):
        # ACCEPTED when all outputs are passed on; FULL if there was no more room, or stopped; or a
        # failure.
        stage = sender.stage
        words = stage.words
        while stage.flushes != 0 and words[CURSOR] < stage.keys:
            if load(control, STOP, RELAXED) != 0:
                return FULL
            key = words[CURSOR]
            if words[MADE] == 0:
                # Operators that flush have no table: any partition will do.
                row = row_of(stage, 0, key)
                held = stage.rows[row : row_end(stage, row, key)]
                count = outputs_of(stage, flush(sender.place, key, held, stage.flushed))
                if count < 0:
                    return count
                words[MADE] = 1 + count
                words[PUT_OUT] = 0
            if put_out(sender) == FULL:
                return FULL
            words[MADE] = 0
            words[CURSOR] = key + 1
            act(control, own)
        return ACCEPTED

    @inlined
    def end_one(control, own, state, place):
        # With FINISHING set. READY: it made progress; NOT_READY: there was no room; or a failure.
        begin = now()
        sender = sender_of(state, place)
        words = sender.stage.words
        key, out = words[CURSOR], words[PUT_OUT]
        ended = flush_all(control, own, sender)
        # Before the end is passed on: the statistics of a run are read after it.
        spend(state.board, place, now() - begin)
        if ended == ACCEPTED:
            pass_end_on(state.done, sender.last, sender.following.words)
            store(sender.stage.words, ENDED, 1, RELAXED)
        stuck = ended == FULL and words[CURSOR] == key and words[PUT_OUT] == out
        return ended if ended < 0 else NOT_READY if stuck else READY

    @inlined
    def finish(control, own, state):
        status = NOT_READY
        for place in range(len(state.stages)):
            stage = state.stages[place]
            # RELAXED: a number that next_serial is compared with, and that orders all before it.
            end_at = load(stage.words, END_AT, RELAXED)
            over = end_at == 0 or load(stage.words, ENDED, RELAXED) != 0
            if over or next_serial(stage, state.setting.buffer) < end_at:
                continue
            # ACQUIRE keeps this worker's flushing behind that of the one before; pairs with the
            # store below.
            if exchange(stage.words, FINISHING, 1, ACQUIRE) == 0:
                found = status
                if load(stage.words, ENDED, RELAXED) == 0:
                    found = end_one(control, own, state, place)
                # RELEASE: see the exchange.
                store(stage.words, FINISHING, 0, RELEASE)
                if found < NOT_READY:
                    return found
                status = max(status, found)
        return status

    return finish
