"""A user's function may be slow: the limit can be set, and a run that exceeds it says where."""

from __future__ import annotations

import time

import pytest

from operators.core.jit import INTERPRETED, inlined
from operators.partition.run import run_partition
from operators.pipeline.declare import PARTITIONED, STATELESS, Operator, Pipeline
from operators.pipeline.run import run_pipeline
from operators.reorder.run import run_reorder
from operators.running.run_threads import RunFailed, Stalled
from operators.theta_join.number_predicates import condition, number_tables
from operators.theta_join.run import run_join

pytestmark = pytest.mark.skipif(not INTERPRETED, reason="only in Python can a function sleep")

SLOW, LESS = 0.5, 0.2


def slow_word(word):
    time.sleep(SLOW if word == 3 else 0)
    return word


def slow_total(state, word):
    state[0] += slow_word(word)
    return state[0]


@inlined
def slow_record(record, state, out):
    out[0] = slow_word(record[0])
    return 1


def slow_pair(r, s):
    time.sleep(SLOW if r == 7 and s == 3 else 0)
    return r == s


@inlined
def passed_on(record, state, out):
    out[0] = record[0]
    return 1


PIPELINE = Pipeline("two", 1, (
    Operator("quick", STATELESS, passed_on, outputs=1),
    Operator("slow", STATELESS, slow_record, outputs=1),
))  # fmt: skip
TABLES = number_tables([1, 7, 3], [1, 2, 3])
# The call for each family, and the reported position of the stalled thread.
DOORS = {
    "reorder": (
        lambda **given: run_reorder("non-blocking", slow_word, range(9), workers=1, **given),
        r"worker 0 at 3 \(word 4 of 9\)",
    ),
    "partition": (
        lambda **given: run_partition("hybrid", slow_total, [1] * 9, range(9), workers=1, **given),
        r"worker 0 at 3 \(word 4 of 9\)",
    ),
    "pipeline": (
        lambda **given: run_pipeline(PIPELINE, [[n] for n in range(9)], workers=1, **given),
        r"sent to operator 'slow'; its last record was number 4 there",
    ),
    "theta_join": (
        lambda **given: run_join("scale-join", condition(slow_pair, 1), TABLES, [0, 1, 2],
                                 [0, 1, 2], span=5, threads=1, **given),
        r"processing 0 at \d+ \(after \d+ comparisons\)",
    ),
}  # fmt: skip


@pytest.mark.parametrize("door", DOORS)
def test_a_limit_that_is_given_lets_a_function_take_longer(door):
    run, told = DOORS[door]
    with pytest.raises(Stalled, match=f"no thread made progress for {LESS} s; .*{told}"):
        run(stall_seconds=LESS)
    assert len(run(stall_seconds=20 * SLOW))


@inlined
def slower_and_slower(record, state, out):
    """Take no time until a scheduler must expect none, and then be slow."""
    if record[0] >= 100:
        time.sleep(0.05)
    out[0] = record[0]
    return 1


@inlined
def raises_at_once(record, state, out):
    if record[0] == 0:
        time.sleep(0.4)
        raise ValueError("the reason")
    return slower_and_slower(record, state, out)


def one_operator(process, **more):
    return Pipeline("one", 1, (Operator("one", STATELESS, process, outputs=1, **more),))


def test_each_record_of_a_slice_that_lasts_long_is_progress():
    records = [[n] for n in range(140)]
    # A slice of thousands of records takes 2 s: its length was estimated from earlier records.
    found = run_pipeline(one_operator(slower_and_slower), records, workers=1, slice_us=1e6,
                         stall_seconds=1)  # fmt: skip
    assert len(found) == len(records)


@pytest.mark.timed
def test_a_slice_that_lasts_long_ends_when_told_to_stop():
    records = [[n] for n in range(1000)]
    begin = time.monotonic()
    with pytest.raises(RunFailed, match="failed: ValueError: the reason"):
        run_pipeline(one_operator(raises_at_once), records, workers=2, slice_us=1e6, slots=2048)
    # The other worker had more than half a minute of work left.
    assert time.monotonic() - begin < 5


@inlined
def of_key(key, state, out):
    time.sleep(0.04)
    out[0] = key
    return 1


@inlined
def key_of(record):
    return record[0]


def test_each_key_of_a_flush_that_lasts_long_is_progress():
    operator = Operator("counted", PARTITIONED, passed_on, outputs=1, key=key_of, keys=50,
                        row_words=1, flush=of_key)  # fmt: skip
    found = run_pipeline(Pipeline("p", 1, (operator,)), [[1]], workers=1, stall_seconds=1)
    assert found[:, 0].tolist() == [1, *range(50)]
