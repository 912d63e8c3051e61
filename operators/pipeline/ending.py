"""The end of the stream: a barrier that goes from operator to operator.

An operator ends when everything that will ever arrive was sent. Then one worker flushes it: key by
key in their order, each key's outputs one by one, and where there is no more room downstream it
leaves, and the next one goes on where it was. At last it tells the next operator after which serial
number its end is.
"""

from __future__ import annotations

from collections.abc import Callable

from operators.contract import FULL
from operators.core.atomics import ACQ_REL, ACQUIRE, RELAXED, RELEASE, exchange, load, now, store
from operators.core.jit import inlined
from operators.pipeline.board import spend
from operators.pipeline.passing import make_put, sender_of
from operators.pipeline.stage import ARRIVED, CURSOR, END_AT, ENDED, FINISHING, next_serial

# Words behind CURSOR, which is the key.
MADE = CURSOR + 1  # outputs of this key and one; 0 before it was asked
PUT_OUT = CURSOR + 2  # how many of them are passed on


def make_finish(arrive: Callable[..., int], flush: Callable[..., int]) -> Callable[..., bool]:
    """Return ``finish(state)``: ends what has nothing more to come; says whether it got on."""
    put = make_put(arrive)

    @inlined
    def put_out(sender):
        # Passes on the outputs of one key; False when there was no more room.
        words = sender.stage.words
        while words[PUT_OUT] < words[MADE] - 1:
            begin = words[PUT_OUT] * sender.stage.outputs
            if put(sender, sender.stage.flushed, begin, 0) == FULL:
                return False
            words[PUT_OUT] += 1
        return True

    @inlined
    def flush_all(sender):
        stage = sender.stage
        words = stage.words
        while stage.flushes != 0 and words[CURSOR] < stage.keys:
            key = words[CURSOR]
            if words[MADE] == 0:
                row = stage.rows[key * stage.row_words : (key + 1) * stage.row_words]
                words[MADE] = 1 + flush(sender.place, key, row, stage.flushed)
                words[PUT_OUT] = 0
            if not put_out(sender):
                return False
            words[MADE] = 0
            words[CURSOR] = key + 1
        return True

    @inlined
    def pass_end_on(done, last, following):
        if last:
            # RELEASE keeps the outputs before it; pairs with the load in work_once.
            store(done, 0, 1, RELEASE)
        else:
            end_at = load(following, ARRIVED, RELAXED) + 1
            # RELEASE keeps the arrivals before it; pairs with the load in finish.
            store(following, END_AT, end_at, RELEASE)

    @inlined
    def finish(state):
        found = False
        for place in range(len(state.stages)):
            stage = state.stages[place]
            # ACQUIRE pairs with the stores of END_AT.
            end_at = load(stage.words, END_AT, ACQUIRE)
            if end_at == 0 or load(stage.words, ENDED, RELAXED) != 0:
                continue
            if next_serial(stage, state.setting.buffer) < end_at:
                continue
            # ACQ_REL: the next who flushes goes on where this one was.
            if exchange(stage.words, FINISHING, 1, ACQ_REL) == 0:
                if load(stage.words, ENDED, RELAXED) == 0:
                    found = True
                    begin = now()
                    sender = sender_of(state, place)
                    ended = flush_all(sender)
                    # Before the end is passed on: what is told of a run is read after it.
                    spend(state.board, place, now() - begin)
                    if ended:
                        pass_end_on(state.done, sender.last, sender.following.words)
                        store(stage.words, ENDED, 1, RELAXED)
                store(stage.words, FINISHING, 0, RELEASE)
        return found

    return finish
