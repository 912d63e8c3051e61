"""The end of the stream: a barrier that goes from operator to operator.

An operator ends when everything that will ever arrive was sent. Then one worker flushes it: key by
key in their order, each key's outputs one by one, and where there is no more room downstream it
leaves, and the next one goes on where it was. At last it tells the next operator after which serial
number its end is.
"""

from __future__ import annotations

from collections.abc import Callable

from operators.contract import ACCEPTED, FULL, NOT_READY, READY
from operators.core.atomics import ACQ_REL, ACQUIRE, RELAXED, RELEASE, exchange, load, now, store
from operators.core.jit import inlined
from operators.pipeline.board import spend
from operators.pipeline.passing import make_put, sender_of
from operators.pipeline.stage import (
    ARRIVED,
    CURSOR,
    END_AT,
    ENDED,
    FINISHING,
    next_serial,
    outputs_of,
    row_end,
    row_of,
)

# Words behind CURSOR, which is the key.
MADE = CURSOR + 1  # outputs of this key and one; 0 before it was asked
PUT_OUT = CURSOR + 2  # how many of them are passed on


@inlined
def pass_end_on(done, last, following):
    """Say that the stream ended: to the next stage, or by ``done`` if this one is the last."""
    if last:
        # RELEASE keeps the outputs before it; pairs with the load in work_once.
        store(done, 0, 1, RELEASE)
    else:
        end_at = load(following, ARRIVED, RELAXED) + 1
        # RELEASE keeps the arrivals before it; pairs with the load in finish.
        store(following, END_AT, end_at, RELEASE)


def make_put_out(put: Callable[..., int]) -> Callable[..., int]:
    """Return ``put_out(sender)``, which passes on the outputs of one key that is flushed.

    ACCEPTED, or FULL when there was no more room.
    """

    @inlined
    def put_out(sender):
        words = sender.stage.words
        while words[PUT_OUT] < words[MADE] - 1:
            begin = words[PUT_OUT] * sender.stage.outputs
            if put(sender, sender.stage.flushed, begin, 0) == FULL:
                return FULL
            words[PUT_OUT] += 1
        return ACCEPTED

    return put_out


def make_finish(arrive: Callable[..., int], flush: Callable[..., int]) -> Callable[..., int]:
    """Return ``finish(state)``, which ends what has nothing more to come.

    READY: it got on; NOT_READY: it did not; or a failure of a flush.
    """
    put_out = make_put_out(make_put(arrive))

    @inlined
    def flush_all(sender):
        # ACCEPTED when all is out, FULL when there was no more room, or a failure.
        stage = sender.stage
        words = stage.words
        while stage.flushes != 0 and words[CURSOR] < stage.keys:
            key = words[CURSOR]
            if words[MADE] == 0:
                # What is flushed has no table: any partition will do.
                row = row_of(stage, 0, key)
                own = stage.rows[row : row_end(stage, row, key)]
                count = outputs_of(stage, flush(sender.place, key, own, stage.flushed))
                if count < 0:
                    return count
                words[MADE] = 1 + count
                words[PUT_OUT] = 0
            if put_out(sender) == FULL:
                return FULL
            words[MADE] = 0
            words[CURSOR] = key + 1
        return ACCEPTED

    @inlined
    def end_one(state, place):
        # Under FINISHING. READY: it got on; NOT_READY: there was no room; or a failure.
        begin = now()
        sender = sender_of(state, place)
        words = sender.stage.words
        key, out = words[CURSOR], words[PUT_OUT]
        ended = flush_all(sender)
        # Before the end is passed on: what is told of a run is read after it.
        spend(state.board, place, now() - begin)
        if ended == ACCEPTED:
            pass_end_on(state.done, sender.last, sender.following.words)
            store(sender.stage.words, ENDED, 1, RELAXED)
        stuck = ended == FULL and words[CURSOR] == key and words[PUT_OUT] == out
        return ended if ended < 0 else NOT_READY if stuck else READY

    @inlined
    def finish(state):
        status = NOT_READY
        for place in range(len(state.stages)):
            stage = state.stages[place]
            # ACQUIRE pairs with the stores of END_AT.
            end_at = load(stage.words, END_AT, ACQUIRE)
            over = end_at == 0 or load(stage.words, ENDED, RELAXED) != 0
            if over or next_serial(stage, state.setting.buffer) < end_at:
                continue
            # ACQ_REL: the next who flushes goes on where this one was.
            if exchange(stage.words, FINISHING, 1, ACQ_REL) == 0:
                found = end_one(state, place) if load(stage.words, ENDED, RELAXED) == 0 else status
                store(stage.words, FINISHING, 0, RELEASE)
                if found < NOT_READY:
                    return found
                status = max(status, found)
        return status

    return finish
