"""The compiled loops over a tiny operator whose every step is written down."""

from __future__ import annotations

import time
from typing import NamedTuple

import numpy as np
import pytest

from experiments.timing import control, crew
from experiments.timing import offer as injection
from experiments.timing.crew import Role, RunFailed
from experiments.timing.offer import Feed
from operators.contract import ACCEPTED, END, FULL, NOT_READY, OUT_OF_ORDER, READY
from operators.core.atomics import ACQUIRE, RELEASE, load, now, store
from operators.core.jit import inlined
from operators.core.layout import LINE_WORDS, aligned_words

CAPACITY = 4
MOST = 4_096
TAKEN, GIVEN, CLOSED = 0, LINE_WORDS, 2 * LINE_WORDS


class Recorder(NamedTuple):
    """One stream through a queue of four, and when each tuple came in."""

    words: np.ndarray
    seen: np.ndarray  # [MOST * 4]: timestamp, key, value, when
    last: np.ndarray


def recorder() -> Recorder:
    return Recorder(aligned_words(3 * LINE_WORDS), aligned_words(4 * MOST), aligned_words(1))


@inlined
def add(state, stream, timestamp, key, value):
    taken = load(state.words, TAKEN, ACQUIRE)
    if taken - load(state.words, GIVEN, ACQUIRE) == CAPACITY:
        return FULL
    if timestamp < state.last[0]:
        return OUT_OF_ORDER
    state.last[0] = timestamp
    state.seen[4 * taken] = timestamp
    state.seen[4 * taken + 1] = key
    state.seen[4 * taken + 2] = value
    state.seen[4 * taken + 3] = now()
    store(state.words, TAKEN, taken + 1, RELEASE)
    return ACCEPTED


@inlined
def close(state, stream):
    store(state.words, CLOSED, 1, RELEASE)
    return ACCEPTED


@inlined
def process(state):
    closed = load(state.words, CLOSED, ACQUIRE)
    given = load(state.words, GIVEN, ACQUIRE)
    if given == load(state.words, TAKEN, ACQUIRE):
        return END if closed == 1 else NOT_READY
    store(state.words, GIVEN, given + 1, RELEASE)
    return READY


def feed_of(timestamps, span=100):
    count = len(timestamps)
    return Feed(
        np.array(timestamps, dtype=np.int64),
        np.arange(count, dtype=np.int64) + 10,
        np.arange(count, dtype=np.int64) + 20,
        np.arange(count, dtype=np.int64),
        count,
        span,
    )


def run(state, feed, total, period_ns, **keywords):
    roles = [
        Role("output", injection.make_output_loop(process), (state,), output=True, counts="all"),
        Role(
            "input 0",
            injection.make_input_loop(add, close),
            (state, 0, feed, total, float(period_ns)),
        ),
    ]
    limits = {"expected_seconds": 0.1, "limit_seconds": 60.0, **keywords}
    return crew.run(roles, pin=False, **limits)


def seen(state):
    return state.seen.reshape(-1, 4)[: state.words[TAKEN]]


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
        Role("output", injection.make_output_loop(slow), (state,), output=True, counts="all"),
        Role(
            "input 0",
            injection.make_input_loop(add, close),
            (state, 0, feed_of(range(50)), 50, 0.0),
        ),
    ]
    outcome = crew.run(roles, pin=False, expected_seconds=0.1, limit_seconds=60.0)
    assert outcome.words(control.BLOCKED_NS, [1])[0] > 30 * 200_000


def test_a_tuple_out_of_order_ends_the_run_with_its_place():
    with pytest.raises(RunFailed, match="input 0: a tuple was out of order .*after 2 tuples"):
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


def test_the_word_of_a_delivery_depends_on_each_field():
    words = {
        injection.delivery_word(*fields)
        for fields in [(1, 2, 3, 4), (2, 2, 3, 4), (1, 3, 3, 4), (1, 2, 4, 4), (1, 2, 3, 5)]
    }
    assert len(words) == 5
