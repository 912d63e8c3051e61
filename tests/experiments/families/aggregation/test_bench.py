"""Every kind of aggregate is benched alike: with update threads, and where tuples are no steps."""

from __future__ import annotations

import dataclasses
import time

import numpy as np
import pytest

from experiments import families
from experiments.records import columns
from experiments.timing import control
from experiments.timing import offer as injection
from experiments.timing import threads as measurement
from experiments.timing.crew import RunFailed
from operators import registry
from operators.aggregation.sink import winset_log
from operators.contract import UsageError

# Counted by the output thread, by update threads, by the input threads.
EACH_KIND = ("mqlf", "tumlmc", "wiml")


def bench_of(path, variant, **settings):
    return families.make("aggregation", variant, {"dataset": path, "inputs": 2, **settings})


@pytest.mark.parametrize("variant", EACH_KIND)
def test_each_kind_is_right_at_either_kind_of_rate(meters, variant):
    bench = bench_of(meters, variant, query="k-OI")
    closed = measurement.row(measurement.run(bench, 20_000))
    assert closed["valid"], closed["invalid_reason"]
    opened = measurement.run(bench, 8_000, 50_000.0)
    assert opened.output.problem is None
    assert opened.output.latency.samples > 10
    assert opened.output.latency.mean > 0
    # Samples are of tuples, whoever counts them: none beyond the last, and the last one near it.
    assert opened.outcome.processed.max() > 4_000
    assert opened.outcome.processed.max() <= 8_000


def test_update_threads_are_threads_of_the_run_and_a_column(comments):
    bench = bench_of(comments, "tumlmc", query="K-OS", update_threads=3)
    assert bench.facts["update_threads"] == 3
    assert (bench.threads, bench.first_input) == (6, 4)
    assert "update_threads=3" in bench.facts["parameters"]
    names = [role.name for role in bench.start(100, 0.0).roles]
    assert names == ["output", "update 0", "update 1", "update 2", "input 0", "input 1"]
    row = measurement.row(measurement.run(bench, 5_000))
    assert row["valid"], row["invalid_reason"]
    assert row["threads"] == 6
    assert bench_of(comments, "mqlf", query="K-OS").facts["update_threads"] is None


@pytest.mark.parametrize("variant", ["mq", "tumlsc"])
def test_the_releasing_rank_is_what_the_output_thread_has_counted(meters, variant):
    bench = bench_of(meters, variant, query="k-OS")
    total = 4_000
    started = bench.start(total, 0.0)
    measurement.crew.run(started.roles, pin=False, expected_seconds=0.1, limit_seconds=30.0)
    log = winset_log(started.roles[0].arguments[0].windows.sink)
    ranks = bench.releasing_ranks(log)
    ended = log.processed == -1
    assert 0 < ended.sum() < len(ended) / 2
    assert (ranks[ended] >= total).all()
    np.testing.assert_array_equal(ranks[~ended], log.processed[~ended])


def test_without_a_group_by_all_tuples_are_one_group(meters):
    grouped, all_together = (bench_of(meters, "mqlf", query=q) for q in ("k-OI", "all-OI"))
    done = measurement.run(all_together, 3_000)
    assert done.output.problem is None
    assert done.output.outputs == done.output.winsets
    assert measurement.run(grouped, 3_000).output.outputs > done.output.outputs


def test_a_smaller_time_unit_gives_smaller_windows(meters):
    whole, fifth = (bench_of(meters, "mqlf", unit_divisor=n) for n in (1, 5))
    assert whole.facts["parameters"] == ""
    assert fifth.facts["parameters"] == "unit_divisor=5"
    seen = [measurement.run(bench, 3_000).output for bench in (whole, fifth)]
    assert [one.problem for one in seen] == [None, None]
    assert seen[1].winsets > 3 * seen[0].winsets
    with pytest.raises(UsageError, match="unit_divisor must be between 1 and 5, received 6"):
        bench_of(meters, "mqlf", unit_divisor=6)


def test_an_order_sensitive_query_is_refused_by_wiml(meters):
    with pytest.raises(UsageError, match=r"wiml does not take first .query k-OS"):
        bench_of(meters, "wiml", query="k-OS")


def test_facts_are_columns():
    names = {column.name for column in columns.COLUMNS}
    assert {"update_threads", "series", "input_ns", "output_ns"} <= names
    assert registry.variant("aggregation", "tumlmc").settings({})["update_threads"] == 2


@pytest.mark.parametrize("variant", ["tumlsc", "tumlmc", "wiml"])
@pytest.mark.parametrize("how", ["answers", "raises"])
def test_one_input_that_fails_ends_the_run_with_its_cause_within_a_second(meters, variant, how):
    bench = bench_of(meters, variant, query="k-OI", inputs=3)
    measurement.warm_up(bench)
    failed_at = []

    def raising(words, own, *arguments):
        control.meet(words, own)
        failed_at.append(time.monotonic())
        raise ZeroDivisionError("the reason")

    def answering(words, own, state, stream, feed, total, period_ns):
        control.meet(words, own)
        add = bench.variant.operations.add
        assert injection.ACCEPTED == try_until_taken(lambda: add(state, stream, 45, 0, 1))
        failed_at.append(time.monotonic())
        control.fail(words, own, add(state, stream, 5, 0, 1))
        control.end(words, own)

    # Long enough that only the failure can end it: the others wait for the one that failed.
    roles = bench.start(10_000_000, 0.0).roles
    assert roles[-1].name == "input 2"
    kernel = raising if how == "raises" else answering
    roles[-1] = dataclasses.replace(roles[-1], kernel=kernel)
    cause = "ZeroDivisionError: the reason" if how == "raises" else "out of order in its stream"
    with pytest.raises(RunFailed, match=f"input 2.*{cause}"):
        measurement.crew.run(roles, pin=False, expected_seconds=1.0, limit_seconds=30.0)
    assert time.monotonic() - failed_at[0] < 1


def try_until_taken(offer):
    while (status := offer()) == injection.FULL:
        time.sleep(0.001)
    return status
