"""The driver against an operator whose capacity and stalls are known.

The operator is synthetic: a bounded queue, and an output thread that takes a fixed time for each
tuple and can be made to stall at one of them. The operator's capacity follows from these two
numbers, so measurements can be compared with it.
"""

from __future__ import annotations

import numpy as np
import pytest

from experiments.families.aggregation.loops import make_output_loop
from experiments.records.columns import OPEN
from experiments.timing import threads
from experiments.timing.bench import LEVELS, Output, Request, Started
from experiments.timing.bench import Latency as Latencies
from experiments.timing.threads import ThreadedBench
from operators import registry
from operators.contract import ACCEPTED, END, FULL, NOT_READY, READY
from operators.core.atomics import ACQUIRE, RELEASE, load, now, store
from operators.core.jit import INTERPRETED, inlined
from operators.core.layout import LINE_WORDS, aligned_words
from operators.running import pinning
from operators.running.drivers import Feed, make_input_loop
from operators.running.run_threads import Counts, Role

TAKEN, GIVEN, CLOSED = 0, LINE_WORDS, 2 * LINE_WORDS
# Set before a run, read by the output thread: the tuple at which it stalls, and for how long.
STALL_AT, STALL_NS = 3 * LINE_WORDS, 3 * LINE_WORDS + 1
# When the last tuple was done; then the times at which each arrived and was put out.
DONE_AT = 3 * LINE_WORDS + 2
MOST = 1 << 18
ARRIVED, EMITTED = 4 * LINE_WORDS, 4 * LINE_WORDS + MOST
AHEAD = 1_000
SERVICE_NS = 5_000
CAPACITY_TPS = 1e9 / SERVICE_NS

# Each thread spins; interpreted, a call takes longer than the operation, as in ``test_durations``.
pytestmark = pytest.mark.skipif(
    INTERPRETED or pinning.cores() < 2, reason="two threads that spin need two cores and a compiler"
)


@inlined
def add(state, stream, timestamp, key, value):
    taken = load(state, TAKEN, ACQUIRE)
    if taken - load(state, GIVEN, ACQUIRE) == AHEAD:
        return FULL
    state[ARRIVED + taken] = now()
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
    # The server starts a tuple once it has arrived and the previous one is done, by the clock. So
    # an interrupted thread catches up, and other tests do not reduce the capacity.
    end = max(state[ARRIVED + given], state[DONE_AT]) + SERVICE_NS
    if given == state[STALL_AT]:
        end += state[STALL_NS]
    while now() < end:
        pass
    state[DONE_AT] = end
    state[EMITTED + given] = now()
    store(state, GIVEN, given + 1, RELEASE)
    return READY


class Known(ThreadedBench):
    """The synthetic operator as a bench."""

    def __init__(self, stall=(-1, 0)):
        super().__init__(registry.variant("gate", "t-gate"))
        self.stall = stall
        self.check({"sources": 1})
        self.load()

    def prepare(self, dataset):
        self.threads, self.first_input = 2, 1
        self.least_tuples = self.least_open_tuples = 1_000
        self.tiny_tuples = 100
        self.in_flight = AHEAD

    def load(self):
        self.data = {"dataset": None, "dataset_source": None, "dataset_digest": None}

    def start(self, total, schedule, phase="closed"):
        words = np.arange(total, dtype=np.int64)
        state = aligned_words(EMITTED + MOST)
        state[STALL_AT], state[STALL_NS] = self.stall
        roles = [
            Role("output", make_output_loop(process), (state,), output=True,
                 counts=Counts.EVERY_TUPLE),
            Role("input 0", make_input_loop(add, close),
                 (state, 0, Feed(words, words, words, words, total, total), total, schedule)),
        ]  # fmt: skip

        def finish(outcome):
            first, last = int(0.2 * total), int(0.95 * total)
            due = outcome.go_ns + schedule.due_ns(np.arange(total)) if schedule else 0
            late = (state[EMITTED : EMITTED + total] - due)[first:last] / 1e6
            quantiles = (float(np.quantile(late, level)) for level in LEVELS)
            latency = Latencies(float(late.mean()), *quantiles, len(late)) if schedule else None
            return Output(total, 1, 1, None, latency)

        return Started(roles, finish)


def undisturbed(run):
    """Return an undisturbed run, or the best of many: other tests only slow a run down."""
    rows = []
    while len(rows) < 20 and not (rows and rows[-1]["throughput_tps"] >= 0.97 * CAPACITY_TPS):
        rows.append(run())
    return max(rows, key=lambda row: row["throughput_tps"] or 0.0)


def test_the_throughput_of_a_slice_is_the_capacity():
    bench = Known()
    tuples = bench.slice_tuples(0.2)
    row = undisturbed(lambda: bench.run(Request(0.2, tuples=tuples)))
    assert row["valid"], row["invalid_reason"]
    assert row["throughput_tps"] == pytest.approx(CAPACITY_TPS, rel=0.03)


@pytest.mark.parametrize("place", [0, 39_000])
def test_what_starting_and_draining_take_is_no_part_of_it(place):
    bench = Known(stall=(place, 150_000_000))
    row = undisturbed(lambda: bench.run(Request(0.2, tuples=40_000)))
    assert row["throughput_tps"] == pytest.approx(CAPACITY_TPS, rel=0.03)
    assert row["whole_tps"] < 0.7 * CAPACITY_TPS


def test_a_stall_is_seen_in_the_latency_of_all_that_waited_for_it():
    # At half of the capacity it stalls for 40 ms: 4,000 of 50,000 tuples come due meanwhile and as
    # many until it has caught up, so of the measured ones 8 in 37.5 wait, the longest 40 ms.
    stall_ms, rate = 40.0, CAPACITY_TPS / 2
    bench = Known(stall=(25_000, int(stall_ms * 1e6)))
    # The waits are uniform between 0 and 40 ms. Other tests can only lengthen them.
    share = 2 * stall_ms / 1e3 * rate / 37_500
    wanted = stall_ms * (1 - 0.01 / share)
    rows = []
    while len(rows) < 12 and not (rows and rows[-1]["latency_ms_p99"] < 1.1 * wanted):
        rows.append(bench.run(Request(0.5, rate, OPEN, tuples=50_000)))
    row = min(rows, key=lambda row: row["latency_ms_p99"])
    assert row["latency_ms_p99"] == pytest.approx(wanted, rel=0.2)
    assert row["latency_ms_max"] >= stall_ms
    assert row["latency_ms_p50"] < 0.25 * stall_ms
    assert row["latency_ms_mean"] > 0.9 * share * stall_ms / 2


def test_a_rate_beyond_the_capacity_is_seen_to_be():
    bench = Known()
    rows = [bench.run(Request(0.2, 1.3 * CAPACITY_TPS, OPEN, tuples=50_000)) for _ in range(5)]
    # A run that catches up after an interruption is faster for a while, but none is much faster.
    achieved = sorted(row["achieved_tps"] for row in rows if row["saturated"])
    assert len(achieved) >= 3
    assert achieved[0] <= 1.03 * CAPACITY_TPS


def test_slices_are_as_long_as_the_capacity_says():
    assert threads.on_grid(0.05 * CAPACITY_TPS) / 2 <= Known().slice_tuples(0.1)
