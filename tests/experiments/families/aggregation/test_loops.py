"""The output thread and the update threads: to the end, to the stop word, or to a failure."""

from __future__ import annotations

import pytest

from experiments.families.aggregation.loops import make_output_loop
from operators.aggregation.sink import WINSETS_FULL
from operators.contract import END, NOT_READY, READY
from operators.core.jit import inlined
from operators.core.layout import aligned_words
from operators.running import control, run_threads
from operators.running.control import (
    GO,
    NO_INPUT,
    PROGRESS,
    STATE,
    STOP,
    TIMED,
    TIMED_BLOCKS,
)
from operators.running.drivers import make_steps_loop
from operators.running.run_threads import Counts, Role, RunFailed

STEPS, THEN = 0, 1
LIMITS = {"expected_seconds": 0.1, "limit_seconds": 60.0}


@inlined
def process(state):
    """Answer READY as many times as the first word says, and then the second word."""
    if state[STEPS] == 0:
        return state[THEN]
    state[STEPS] -= 1
    return READY


@inlined
def update(state, thread):
    return process(state)


# Update threads count tuples like the output thread, one at a time.
LOOPS = {
    "output": (make_output_loop(process), ()),
    "timed output": (make_output_loop(process, timed=True), ()),
    "timed output of winsets": (make_output_loop(process, winsets=True, timed=True), ()),
    "update": (make_steps_loop(update), (0,)),
}


def state_of(steps, then):
    state = aligned_words(2)
    state[:] = steps, then
    return state


def run(loop, state):
    kernel, more = LOOPS[loop]
    role = Role(loop, kernel, (state, *more), output=True, counts=Counts.EVERY_TUPLE)
    return run_threads.run([role], pin=False, failures={WINSETS_FULL: "too many winsets"}, **LIMITS)


@pytest.mark.parametrize("loop", LOOPS)
def test_a_thread_processes_to_the_end_and_says_how_far_it_is(loop):
    outcome = run(loop, state_of(1_000, END))
    assert outcome.words(PROGRESS, [0]).tolist() == [1_000]
    assert outcome.words(STATE, [0]).tolist() == [control.DONE]


@pytest.mark.parametrize("loop", LOOPS)
def test_an_answer_that_ends_a_run_is_told_with_its_place(loop):
    with pytest.raises(RunFailed, match=f"{loop}: too many winsets .after 7 tuples"):
        run(loop, state_of(7, WINSETS_FULL))


@pytest.mark.parametrize(
    ("loop", "steps", "blocks"),
    [("output", 1_000, 0), ("timed output", 1_000, 4), ("timed output of winsets", 7, 7)],
)
def test_a_timed_block_is_so_many_tuples_or_a_winset(loop, steps, blocks):
    outcome = run(loop, state_of(steps, END))
    assert outcome.words(TIMED_BLOCKS, [0]).tolist() == [blocks]
    assert outcome.words(TIMED, [0]).tolist() == [steps if blocks else 0]


def stopped_while(loop, state):
    """Enter a loop that is stopped after the start, and return the loop's control words."""
    kernel, more = LOOPS[loop]
    words = control.make_control(1)
    words[GO], words[STOP] = 1, 1
    kernel(words, control.block(0), state, *more)
    return words[control.block(0) :]


@pytest.mark.parametrize(("steps", "then"), [(0, NOT_READY), (10**9, END)])
@pytest.mark.parametrize("loop", LOOPS)
def test_a_thread_that_was_told_to_stop_takes_no_further_step(loop, steps, then):
    block = stopped_while(loop, state_of(steps, then))
    assert block[PROGRESS] == 0
    assert block[STATE] == control.DONE


def test_waiting_for_input_is_seen_and_is_no_progress():
    kernel, _ = LOOPS["output"]
    role = Role("output", kernel, (state_of(5, NOT_READY),), output=True, counts=Counts.EVERY_TUPLE)
    with pytest.raises(run_threads.Stalled, match=f"{control.STATES[NO_INPUT]}: output at 5"):
        run_threads.run([role], pin=False, stall_seconds=0.1, **LIMITS)
