"""The record of workers' turns: the reason for each choice, and the time spent feeding."""

from __future__ import annotations

import numpy as np
import pytest

from operators.contract import READY, UsageError
from operators.core.layout import LINE_WORDS
from operators.pipeline import runtime
from operators.pipeline.board import NOBODY, SPENT, look
from operators.pipeline.run import capacity_of, run_pipeline
from operators.pipeline.stage import ARRIVED, BLOCKED, arrive_there
from operators.pipeline.state import (
    CHOICES,
    HELD_BACK,
    INGRESS_NS,
    INPUTS,
    PASSED_OVER,
    SPENT_NS,
    TURNS,
    total_of,
)
from tests.operators.pipeline import running
from tests.operators.pipeline.test_runtime import CALLS, PIPELINE, WANTED


def state_of(**given):
    return running.state_of(PIPELINE, CALLS, len(WANTED), **given)


def test_what_feeding_takes_is_the_ingress_s_and_no_operator_s(monkeypatch):
    # A clock that only an arrival advances: everything else takes no time.
    clock = [0]

    def arriving(*given):
        clock[0] += 1_000
        return arrive_there(*given)

    monkeypatch.setattr(runtime, "now", lambda: clock[0])
    monkeypatch.setattr(runtime, "arrive_there", arriving)
    run_slice = runtime.make_run_slice(lambda *given: 1, runtime.make_feed(lambda *given: 0))
    ask = runtime.make_ask(lambda scheduler, board: 0)
    state = state_of()
    control, out = (np.zeros(4 * LINE_WORDS, dtype=np.int64) for _ in range(2))
    for fed in (5, 10):
        ask(state, 0)
        assert run_slice(control, LINE_WORDS, state, 0, 5, 0, out) == READY
        assert (state.workers[INPUTS], state.workers[SPENT_NS]) == (5, 0)
        assert total_of(state, INGRESS_NS) == clock[0] == 1_000 * fed
    ask(state, 0)
    assert look(state.board, 0, SPENT) == 0


def turns_of(state):
    return tuple(total_of(state, word) for word in (TURNS, CHOICES, HELD_BACK, PASSED_OVER))


def test_turns_tell_whether_there_was_a_choice_and_whether_room_decided_it():
    state, chosen = state_of(workers=2), [0]
    ask = runtime.make_ask(lambda scheduler, board: chosen[0])
    ask(state, 0)
    assert turns_of(state) == (1, 0, 0, 0)
    # A record waits at the third operator, too: it is chosen among two, and is not the earliest.
    state.stages[2].words[ARRIVED] = 1
    chosen[0] = 2
    ask(state, 1)
    assert turns_of(state) == (2, 1, 0, 1)
    # The first operator's output has no room: it is left out, and the third is the earliest.
    state.stages[0].words[BLOCKED] = 1
    ask(state, 0)
    assert turns_of(state) == (3, 1, 1, 1)
    chosen[0] = NOBODY
    ask(state, 0)
    assert turns_of(state) == (3, 1, 1, 1)


@pytest.mark.parametrize(
    ("slots", "capacity", "wanted"), [(4_096, 0, 1_024), (256, 256, 256), (2, 0, 1), (2, 1, 1)]
)
def test_the_capacity_is_what_was_given_or_a_quarter_of_the_slots(slots, capacity, wanted):
    assert capacity_of({"slots": slots, "capacity": capacity}) == wanted


def test_a_capacity_that_no_worklist_holds_is_refused():
    with pytest.raises(UsageError, match="capacity must be at most slots, 256 here, received 257"):
        run_pipeline(PIPELINE, CALLS, scheduler="qst", capacity=257)
