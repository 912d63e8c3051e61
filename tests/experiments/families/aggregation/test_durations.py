"""Operations are timed in blocks of processor time, and only in runs for that purpose."""

from __future__ import annotations

import numpy as np
import pytest

from experiments import families
from experiments.families.aggregation import durations
from experiments.families.aggregation.columns import DURATIONS
from experiments.families.aggregation.loops import make_output_loop
from experiments.records import columns
from experiments.timing import run_row
from experiments.timing.bench import Request
from operators.contract import ACCEPTED, END, FULL, NOT_READY, READY
from operators.core.atomics import ACQUIRE, RELEASE, load, store, thread_now
from operators.core.jit import INTERPRETED, inlined
from operators.core.layout import LINE_WORDS, aligned_words
from operators.running import control, run_threads
from operators.running.calibration import clock_cost_ns
from operators.running.drivers import Feed, make_input_loop
from operators.running.run_threads import Counts, Role
from operators.running.schedule import CLOSED_LOOP
from tests.experiments.rows import purpose

TAKEN, GIVEN, CLOSED = 0, LINE_WORDS, 2 * LINE_WORDS
CAPACITY = 300
ADD_NS, PROCESS_NS = 3_000, 9_000
TUPLES = 3_000


@inlined
def spend(nanoseconds):
    end = thread_now() + nanoseconds
    while thread_now() < end:
        pass


@inlined
def add(state, stream, timestamp, key, value):
    taken = load(state, TAKEN, ACQUIRE)
    if taken - load(state, GIVEN, ACQUIRE) == CAPACITY:
        return FULL
    spend(ADD_NS)
    store(state, TAKEN, taken + 1, RELEASE)
    return ACCEPTED


@inlined
def close(state, stream):
    store(state, CLOSED, 1, RELEASE)
    return ACCEPTED


@inlined
def process(state):
    closed = load(state, CLOSED, ACQUIRE)
    given = load(state, GIVEN, ACQUIRE)
    if given == load(state, TAKEN, ACQUIRE):
        return END if closed == 1 else NOT_READY
    spend(PROCESS_NS)
    store(state, GIVEN, given + 1, RELEASE)
    return READY


def run(timed):
    words = np.arange(TUPLES, dtype=np.int64)
    feed = Feed(words, words, words, words, TUPLES, TUPLES)
    state = aligned_words(3 * LINE_WORDS)
    leave = make_output_loop(process, False, timed)
    enter = make_input_loop(add, close, timed)
    roles = [
        Role("output", leave, (state,), output=True, counts=Counts.EVERY_TUPLE),
        Role("input 0", enter, (state, 0, feed, TUPLES, CLOSED_LOOP)),
    ]
    return run_threads.run(roles, pin=False, expected_seconds=0.1, limit_seconds=60.0)


@pytest.mark.skipif(INTERPRETED, reason="interpreted, the loop takes longer than the operation")
def test_the_durations_are_those_of_the_operations_whoever_else_uses_the_core():
    # In a virtual machine the host's pauses count as processor time of the interrupted thread, so
    # one run may seem too long; it can never seem too short.
    runs = [run(timed=True) for _ in range(5)]
    seen = [durations.of(outcome, 1, TUPLES) for outcome in runs]
    input_ns = min(one.input_ns for one in seen)
    output_ns = min(one.output_ns for one in seen)
    # A call of the clock inside the operation may extend it by one call.
    late = 2 * clock_cost_ns(thread_now) + 100
    assert ADD_NS <= input_ns <= 1.1 * ADD_NS + late
    assert PROCESS_NS <= output_ns <= 1.1 * PROCESS_NS + late
    # Waiting for room is no part of an input's operation, although it took twice as long.
    for outcome in runs:
        assert outcome.words(control.BLOCKED_NS, [1])[0] > TUPLES * (PROCESS_NS - ADD_NS) / 2


def test_a_run_that_is_not_for_that_times_nothing():
    outcome = run(timed=False)
    assert outcome.words(control.TIMED, [0, 1]).tolist() == [0, 0]
    assert durations.of(outcome, 1, TUPLES) == (None, None)


def test_steps_that_are_winsets_are_told_per_tuple():
    words = control.make_control(2)
    output = control.block(0)
    words[output + control.PROGRESS] = 10
    words[output + control.TIMED] = 8
    words[output + control.TIMED_NS] = 8_000_000
    nothing = words[:0]
    outcome = run_threads.Outcome(0, 1, nothing, nothing, words, words[:2], False)
    # Ten winsets of a millisecond each, over 5,000 tuples; the input has no block.
    assert durations.of(outcome, 1, 5_000) == (None, pytest.approx(2_000.0))


def test_steps_shorter_than_the_clock_are_not_told():
    words = control.make_control(2)
    output = control.block(0)
    words[output + control.PROGRESS] = words[output + control.TIMED] = 10
    words[output + control.TIMED_BLOCKS] = 10
    words[output + control.TIMED_NS] = int(5 * clock_cost_ns(thread_now))
    nothing = words[:0]
    outcome = run_threads.Outcome(0, 1, nothing, nothing, words, words[:2], False)
    assert durations.of(outcome, 1, 100) == (None, None)


@pytest.mark.parametrize(("variant", "query"), [("mq", "k-OS"), ("wiml", "k-OI")])
def test_a_timed_run_of_an_aggregate_fills_the_columns(meters, variant, query):
    bench = families.ready("aggregation", variant, {"dataset": meters, "query": query, "inputs": 2})
    row = run_row.row(bench, Request(0.1, phase=DURATIONS))
    assert row["valid"], row["invalid_reason"]
    assert row["input_ns"] is not None and row["input_ns"] > 0
    assert row["output_ns"] is not None and row["output_ns"] > 0
    # No thread works longer than the run lasts: the rate expected from the durations is no lower.
    assert row["throughput_tps"] * row["output_ns"] < 1.1e9
    assert row["throughput_tps"] * row["input_ns"] / 2 < 1.1e9
    assert run_row.row(bench, Request(0.02))["input_ns"] is None
    columns.validate({**row, **purpose(phase=DURATIONS)})
