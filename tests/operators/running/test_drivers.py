"""The loops of threads: input threads over a tiny operator, and turns with scripted answers."""

from __future__ import annotations

import time
from typing import NamedTuple

import numpy as np
import pytest

from experiments.families.aggregation.loops import make_output_loop
from operators.contract import (
    ACCEPTED,
    END,
    FULL,
    NOT_READY,
    OUT_OF_ORDER,
    READY,
    ROWS_FULL,
)
from operators.core.atomics import RELEASE, now, store
from operators.core.jit import inlined, kernel
from operators.core.layout import aligned_words
from operators.running import control, run_threads
from operators.running.drivers import make_driver, make_input_loop, make_insist, make_visit
from operators.running.run_threads import Counts, Role, RunFailed
from operators.running.schedule import CLOSED_LOOP, at_times, every
from tests.experiments.recorder import (
    CLOSED,
    TAKEN,
    add,
    close,
    feed_of,
    process,
    recorder,
    seen,
)


def run(state, feed, total, schedule=CLOSED_LOOP, **keywords):
    roles = [
        Role("output", make_output_loop(process), (state,), output=True, counts=Counts.EVERY_TUPLE),
        Role(
            "input 0",
            make_input_loop(add, close),
            (state, 0, feed, total, schedule),
        ),
    ]
    limits = {"expected_seconds": 0.1, "limit_seconds": 60.0, **keywords}
    return run_threads.run(roles, pin=False, failures={OUT_OF_ORDER: "too early"}, **limits)


def test_each_tuple_is_offered_once_until_taken_and_the_stream_is_closed():
    state = recorder()
    outcome = run(state, feed_of(range(50)), 50)
    assert seen(state)[:, 0].tolist() == list(range(50))
    assert seen(state)[:, 1].tolist() == list(range(10, 60))
    assert seen(state)[:, 2].tolist() == list(range(20, 70))
    assert state.words[CLOSED] == 1
    assert outcome.words(control.PROGRESS, [0, 1]).tolist() == [50, 50]


def test_data_that_ends_begins_again_with_shifted_timestamps():
    state = recorder()
    run(state, feed_of([3, 3, 7], span=100), 8)
    assert seen(state)[:, 0].tolist() == [3, 3, 7, 103, 103, 107, 203, 203]
    assert seen(state)[:, 2].tolist() == [20, 21, 22, 20, 21, 22, 20, 21]


def test_a_stream_without_tuples_is_closed():
    state = recorder()
    run(state, feed_of([]), 5)
    assert state.words[CLOSED] == 1
    assert state.words[TAKEN] == 0


def test_no_tuple_is_offered_before_it_is_due_and_the_schedule_does_not_shift():
    state = recorder()
    period = 500_000
    outcome = run(state, feed_of(range(200)), 200, every(period))
    due = outcome.go_ns + np.arange(200) * period
    late = seen(state)[:, 3] - due
    assert (late >= 0).all()
    # A late tuple delays only itself and those due meanwhile: on any machine some are on time.
    assert late.min() < period
    assert outcome.seconds >= 199 * period / 1e9
    assert outcome.words(control.LATEST_NS, [1])[0] >= late.min()
    assert outcome.words(control.WAITED_NS, [1])[0] > 0


def test_ranks_of_other_streams_leave_their_due_times_out():
    state = recorder()
    feed = feed_of(range(10))._replace(ranks=np.arange(10, dtype=np.int64) * 3, rows=30)
    outcome = run(state, feed, 25, every(1_000_000))
    # Ranks 0, 3, ..., 24 are below 25; the last is due after 24 periods.
    assert len(seen(state)) == 9
    assert seen(state)[8, 3] >= outcome.go_ns + 24_000_000


def test_tuples_are_due_at_the_times_of_their_ranks():
    state = recorder()
    times = np.array([0, 5_000_000, 5_000_000, 40_000_000])
    outcome = run(state, feed_of(range(4)), 4, at_times(times))
    late = seen(state)[:, 3] - outcome.go_ns - times
    assert (late >= 0).all()
    assert outcome.words(control.WAITED_NS, [1])[0] > 0


def test_an_input_thread_that_never_waits_offers_nothing_once_it_was_told_to_stop():
    state, words = recorder(), control.make_control(1)
    words[control.GO], words[control.STOP] = 1, 1
    loop = make_input_loop(add, close)
    loop(words, control.block(0), state, 0, feed_of(range(3)), 3, CLOSED_LOOP)
    assert state.words[TAKEN] == words[control.block(0) + control.PROGRESS] == 0
    assert words[control.block(0) + control.STATE] == control.DONE


def test_time_without_room_is_counted_as_blocked():
    state = recorder()

    @inlined
    def slow(state):
        begin = now()
        while now() < begin + 200_000:
            pass
        return process(state)

    roles = [
        Role("output", make_output_loop(slow), (state,), output=True, counts=Counts.EVERY_TUPLE),
        Role(
            "input 0",
            make_input_loop(add, close),
            (state, 0, feed_of(range(50)), 50, CLOSED_LOOP),
        ),
    ]
    outcome = run_threads.run(roles, pin=False, expected_seconds=0.1, limit_seconds=60.0)
    assert outcome.words(control.BLOCKED_NS, [1])[0] > 30 * 200_000


def test_a_tuple_out_of_order_ends_the_run_with_its_place():
    with pytest.raises(RunFailed, match="input 0: too early .after 2 tuples"):
        run(recorder(), feed_of([1, 5, 4, 6]), 4)


@pytest.mark.timed
def test_a_thread_that_waits_for_a_far_due_time_stops_at_once():
    interrupted = []

    def interrupt(processed, seconds):
        if seconds > 0.05:
            interrupted.append(time.monotonic())
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        run(recorder(), feed_of(range(10)), 10, every(3e9), progress=interrupt)
    assert time.monotonic() - interrupted[0] < 1.0


def test_waiting_for_a_due_time_is_no_stall():
    outcome = run(recorder(), feed_of(range(3)), 3, every(200e6), stall_seconds=0.05)
    assert outcome.seconds >= 0.4


# --- the loop that all threads but an input thread have -------------------------------------------


class Script(NamedTuple):
    """The answers of a turn in sequence, and the number of calls so far."""

    answers: np.ndarray
    words: np.ndarray  # turns taken; the arguments of `finish`: the status and the turn's state


STOPS = 77  # a turn with this answer stops all threads, and reports that it worked


@inlined
def begin(control_words, own, script):
    return 1_000


@inlined
def turn(control_words, own, kept, script):
    answer = script.answers[script.words[0]]
    script.words[0] += 1
    if answer == STOPS:
        store(control_words, control.STOP, 1, RELEASE)
        answer = READY
    return answer, kept + 1


@inlined
def finish(control_words, own, status, kept, script):
    script.words[1] = status
    script.words[2] = kept


DRIVER = make_driver(turn, begin, finish)
VISIT = make_visit(turn, begin, finish)


def enter(kernel, *answers):
    """Enter a kernel whose turns answer so; return the answer, the script and the control words."""
    words = control.make_control(1)
    words[control.GO] = 1
    script = Script(np.array(answers, dtype=np.int64), aligned_words(8))
    answer = kernel(words, control.block(0), script)
    return answer, script.words[:3].tolist(), words


def test_a_thread_takes_turns_until_the_end_and_keeps_what_each_returns():
    _, (turns, status, kept), words = enter(DRIVER, READY, NOT_READY, READY, END)
    assert (turns, status, kept) == (4, END, 1_004)
    assert words[control.block(0) + control.STATE] == control.DONE
    assert words[control.block(0) + control.FAILURE] == words[control.STOP] == 0


def test_any_other_answer_is_a_failure_that_stops_everyone():
    _, (turns, status, _), words = enter(DRIVER, READY, ROWS_FULL)
    assert (turns, status) == (2, ROWS_FULL)
    assert words[control.block(0) + control.FAILURE] == ROWS_FULL
    assert words[control.STOP] == 1


def test_no_turn_is_taken_once_the_stop_word_is_set():
    _, (turns, status, kept), words = enter(DRIVER, READY, STOPS, READY, END)
    assert (turns, status, kept) == (2, READY, 1_002)
    assert words[control.block(0) + control.FAILURE] == 0


def test_a_visit_hands_the_answer_to_its_caller_and_fails_nobody():
    answer, (turns, status, kept), words = enter(VISIT, READY, NOT_READY, ROWS_FULL)
    assert (answer, turns, status, kept) == (ROWS_FULL, 3, ROWS_FULL, 1_003)
    assert words[control.block(0) + control.FAILURE] == words[control.STOP] == 0
    # The thread has not ended: it is entered again.
    assert words[control.block(0) + control.STATE] != control.DONE


def test_a_visit_that_was_told_to_stop_is_not_ready():
    assert enter(VISIT, STOPS, END)[:2] == (NOT_READY, [1, READY, 1_001])


def test_a_thread_that_has_waited_says_that_it_runs_again():
    _, _, words = enter(VISIT, NOT_READY, READY, END)
    assert words[control.block(0) + control.STATE] == control.RUNNING
    _, _, words = enter(VISIT, READY, NOT_READY, END)
    assert words[control.block(0) + control.STATE] == control.NO_INPUT


# --- insisting ------------------------------------------------------------------------------------


@inlined
def attempt(script):
    answer = script.answers[script.words[0]]
    script.words[0] += 1
    begun = now()
    while now() < begun + 100_000:
        pass
    return answer


INSIST = make_insist(attempt)


@kernel
def insist_once(control_words, own, script):
    return INSIST(control_words, own, script)


def test_an_attempt_is_repeated_until_there_is_room_and_the_time_counts_as_blocked():
    answer, (attempts, *_), words = enter(insist_once, FULL, FULL, FULL, ACCEPTED)
    assert (answer, attempts) == (ACCEPTED, 4)
    assert words[control.block(0) + control.BLOCKED_NS] >= 400_000
    assert words[control.block(0) + control.STATE] == control.RUNNING


def test_a_failure_is_not_repeated():
    assert enter(insist_once, FULL, OUT_OF_ORDER)[:2] == (OUT_OF_ORDER, [2, 0, 0])


def test_who_insists_and_is_told_to_stop_is_still_full():
    words = control.make_control(1)
    words[control.STOP] = 1
    script = Script(np.array([ACCEPTED]), aligned_words(8))
    assert insist_once(words, control.block(0), script) == FULL
    assert script.words[0] == 0
