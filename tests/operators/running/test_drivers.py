"""The input threads over a tiny operator whose every step is written down."""

from __future__ import annotations

import time

import numpy as np
import pytest

from experiments.families.aggregation.loops import make_output_loop
from operators.contract import OUT_OF_ORDER
from operators.core.atomics import now
from operators.core.jit import inlined
from operators.running import control, crew
from operators.running.crew import Role, RunFailed
from operators.running.drivers import make_input_loop
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


def run(state, feed, total, period_ns, **keywords):
    roles = [
        Role("output", make_output_loop(process), (state,), output=True, counts="all"),
        Role(
            "input 0",
            make_input_loop(add, close),
            (state, 0, feed, total, float(period_ns)),
        ),
    ]
    limits = {"expected_seconds": 0.1, "limit_seconds": 60.0, **keywords}
    return crew.run(roles, pin=False, failures={OUT_OF_ORDER: "too early"}, **limits)


def test_each_tuple_is_offered_once_until_taken_and_the_stream_is_closed():
    state = recorder()
    outcome = run(state, feed_of(range(50)), 50, 0)
    assert seen(state)[:, 0].tolist() == list(range(50))
    assert seen(state)[:, 1].tolist() == list(range(10, 60))
    assert seen(state)[:, 2].tolist() == list(range(20, 70))
    assert state.words[CLOSED] == 1
    assert outcome.words(control.PROGRESS, [0, 1]).tolist() == [50, 50]


def test_data_that_ends_begins_again_with_shifted_timestamps():
    state = recorder()
    run(state, feed_of([3, 3, 7], span=100), 8, 0)
    assert seen(state)[:, 0].tolist() == [3, 3, 7, 103, 103, 107, 203, 203]
    assert seen(state)[:, 2].tolist() == [20, 21, 22, 20, 21, 22, 20, 21]


def test_a_stream_without_tuples_is_closed():
    state = recorder()
    run(state, feed_of([]), 5, 0)
    assert state.words[CLOSED] == 1
    assert state.words[TAKEN] == 0


def test_no_tuple_is_offered_before_it_is_due_and_the_schedule_does_not_shift():
    state = recorder()
    period = 500_000
    outcome = run(state, feed_of(range(200)), 200, period)
    due = outcome.go_ns + np.arange(200) * period
    late = seen(state)[:, 3] - due
    assert (late >= 0).all()
    # A late tuple delays none but itself and those due meanwhile: on any machine some are on time.
    assert late.min() < period
    assert outcome.seconds >= 199 * period / 1e9
    assert outcome.words(control.LATEST_NS, [1])[0] >= late.min()
    assert outcome.words(control.WAITED_NS, [1])[0] > 0


def test_ranks_of_other_streams_leave_their_due_times_out():
    state = recorder()
    feed = feed_of(range(10))._replace(ranks=np.arange(10, dtype=np.int64) * 3, rows=30)
    outcome = run(state, feed, 25, 1_000_000)
    # Ranks 0, 3, ..., 24 are below 25; the last is due after 24 periods.
    assert len(seen(state)) == 9
    assert seen(state)[8, 3] >= outcome.go_ns + 24_000_000


def test_time_without_room_is_counted_as_blocked():
    state = recorder()

    @inlined
    def slow(state):
        begin = now()
        while now() < begin + 200_000:
            pass
        return process(state)

    roles = [
        Role("output", make_output_loop(slow), (state,), output=True, counts="all"),
        Role(
            "input 0",
            make_input_loop(add, close),
            (state, 0, feed_of(range(50)), 50, 0.0),
        ),
    ]
    outcome = crew.run(roles, pin=False, expected_seconds=0.1, limit_seconds=60.0)
    assert outcome.words(control.BLOCKED_NS, [1])[0] > 30 * 200_000


def test_a_tuple_out_of_order_ends_the_run_with_its_place():
    with pytest.raises(RunFailed, match="input 0: too early .after 2 tuples"):
        run(recorder(), feed_of([1, 5, 4, 6]), 4, 0)


def test_a_thread_that_waits_for_a_far_due_time_stops_at_once():
    interrupted = []

    def interrupt(processed, seconds):
        if seconds > 0.05:
            interrupted.append(time.monotonic())
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        run(recorder(), feed_of(range(10)), 10, 3e9, progress=interrupt)
    assert time.monotonic() - interrupted[0] < 1.0


def test_waiting_for_a_due_time_is_no_stall():
    outcome = run(recorder(), feed_of(range(3)), 3, 200e6, stall_seconds=0.05)
    assert outcome.seconds >= 0.4
