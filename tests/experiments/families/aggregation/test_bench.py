"""Every kind of aggregate is benched alike: with update threads, and if a step is no tuple."""

from __future__ import annotations

import dataclasses
import time

import numpy as np
import pytest

from experiments import families
from experiments.families.aggregation.bench import _winset_latency
from experiments.records.columns import OPEN
from experiments.timing import threads
from experiments.timing.bench import Request
from experiments.timing.threads import run_tuples
from operators import registry
from operators.aggregation.sink import WinsetLog, winset_log
from operators.contract import ACCEPTED, FULL, UsageError
from operators.running import control, run_threads
from operators.running.run_threads import RunFailed
from operators.running.schedule import CLOSED_LOOP, every

# Tuples are counted by the output thread, by update threads, by the input threads.
EACH_KIND = ("mqlf", "tumlmc", "wiml")


def bench_of(path, variant, **settings):
    return families.ready("aggregation", variant, {"dataset": path, "inputs": 2, **settings})


def run(bench, total):
    return run_tuples(bench, total, Request(0.1))


@pytest.mark.parametrize("variant", EACH_KIND)
def test_each_kind_is_right_at_either_kind_of_rate(meters, variant):
    bench = bench_of(meters, variant, query="k-OI")
    closed = threads.columns_of(bench, run(bench, bench.slice_tuples(0.05)))
    assert closed["valid"], closed["invalid_reason"]
    opened = run_tuples(bench, 8_000, Request(0.1, 50_000.0, OPEN))
    assert opened.output.problem is None
    assert opened.output.latency.samples > 10
    assert opened.output.latency.mean > 0
    # Samples count tuples, whichever thread counts: none beyond the last, and the last one near it.
    assert opened.outcome.processed.max() > 4_000
    assert opened.outcome.processed.max() <= 8_000


# For each window advance, a winset, and also a pane, since sizes are multiples of advances.
IN_FLIGHT = {
    ("mqlf", "ahead"): lambda bench, n: 2 * n,
    ("tumlmc", "winsets_ahead"): lambda bench, n: 2 * 1024 + n * advance_of(bench),
    ("wiml", "winsets_ahead"): lambda bench, n: n * advance_of(bench),
    ("private-panes", "panes_ahead"): lambda bench, n: n * advance_of(bench),
}


def advance_of(bench):
    return bench.least_tuples // 2


@pytest.mark.parametrize(("variant", "name"), IN_FLIGHT)
def test_what_may_be_in_flight_is_told_in_tuples(meters, variant, name):
    bench = bench_of(meters, variant, query="k-OI", **{name: 7})
    assert bench.in_flight == IN_FLIGHT[variant, name](bench, 7)


def test_update_threads_are_threads_of_the_run_and_a_setting(comments):
    bench = bench_of(comments, "tumlmc", query="K-OS", update_threads=3)
    assert bench.settings["update_threads"] == 3
    assert (bench.threads, bench.first_input) == (6, 4)
    names = [role.name for role in bench.start(100, CLOSED_LOOP).roles]
    assert names == ["output", "update 0", "update 1", "update 2", "input 0", "input 1"]
    assert run(bench, 5_000).output.problem is None
    assert "update_threads" not in bench_of(comments, "mqlf", query="K-OS").settings
    assert bench_of(comments, "tumlmc", query="K-OS").settings["update_threads"] == 2


@pytest.mark.parametrize("variant", ["mq", "tumlsc"])
def test_the_releasing_rank_is_what_the_output_thread_has_counted(meters, variant):
    bench = bench_of(meters, variant, query="k-OS")
    total = 4_000
    started = bench.start(total, CLOSED_LOOP)
    run_threads.run(started.roles, pin=False, expected_seconds=0.1, limit_seconds=30.0)
    log = winset_log(started.roles[0].arguments[0].windows.sink)
    ranks = bench.releasing_ranks(log)
    ended = log.processed == -1
    assert 0 < ended.sum() < len(ended) / 2
    assert (ranks[ended] >= total).all()
    np.testing.assert_array_equal(ranks[~ended], log.processed[~ended])


def test_without_a_group_by_all_tuples_are_one_group(meters):
    grouped, all_together = (bench_of(meters, "mqlf", query=q) for q in ("k-OI", "all-OI"))
    done = run(all_together, 3_000)
    assert done.output.problem is None
    assert done.output.outputs == done.output.extra["winsets"]
    assert run(grouped, 3_000).output.outputs > done.output.outputs


def test_a_smaller_time_unit_gives_smaller_windows(meters):
    whole, fifth = (bench_of(meters, "mqlf", unit_divisor=n) for n in (1, 5))
    assert (whole.settings["unit_divisor"], fifth.settings["unit_divisor"]) == (1, 5)
    seen = [run(bench, 3_000).output for bench in (whole, fifth)]
    assert [one.problem for one in seen] == [None, None]
    assert seen[1].extra["winsets"] > 3 * seen[0].extra["winsets"]
    with pytest.raises(UsageError, match="unit_divisor must be between 1 and 5, received 6"):
        bench_of(meters, "mqlf", unit_divisor=6)


def test_an_order_sensitive_query_is_refused_by_wiml(meters):
    with pytest.raises(UsageError, match=r"wiml does not take first .query k-OS"):
        bench_of(meters, "wiml", query="k-OS")


@pytest.mark.timed
@pytest.mark.parametrize("variant", ["tumlsc", "tumlmc", "wiml"])
@pytest.mark.parametrize("how", ["answers", "raises"])
def test_one_input_that_fails_ends_the_run_with_its_cause_within_a_second(meters, variant, how):
    bench = bench_of(meters, variant, query="k-OI", inputs=3)
    threads.warm_up(bench)
    failed_at = []

    def raising(words, own, *arguments):
        control.meet(words, own)
        failed_at.append(time.monotonic())
        raise ZeroDivisionError("the reason")

    def answering(words, own, state, stream, feed, total, schedule):
        control.meet(words, own)
        add = bench.variant.operations.add
        assert ACCEPTED == try_until_taken(lambda: add(state, stream, 45, 0, 1))
        failed_at.append(time.monotonic())
        control.fail(words, own, add(state, stream, 5, 0, 1))
        control.end(words, own)

    # Long enough that only the failure can end it: the others wait for the failed thread.
    roles = bench.start(10_000_000, CLOSED_LOOP).roles
    assert roles[-1].name == "input 2"
    kernel = raising if how == "raises" else answering
    roles[-1] = dataclasses.replace(roles[-1], kernel=kernel)
    cause = "ZeroDivisionError: the reason" if how == "raises" else "out of order in its stream"
    with pytest.raises(RunFailed, match=f"input 2.*{cause}"):
        run_threads.run(
            roles,
            pin=False,
            expected_seconds=1.0,
            limit_seconds=30.0,
            failures=bench.family.failures,
        )
    assert time.monotonic() - failed_at[0] < 1


def try_until_taken(offer):
    while (status := offer()) == FULL:
        time.sleep(0.001)
    return status


def test_runs_longer_than_the_data_are_right_too(meters):
    done = run(bench_of(meters, "mqlf"), 10_000)
    assert done.output.problem is None
    assert done.output.extra["winsets"] > 100


def test_texts_are_loaded_for_the_queries_that_read_them(comments):
    assert run(bench_of(comments, "mqlf", query="f-OS"), 3_000).output.problem is None


def test_the_latency_of_a_winset_counts_from_the_due_time_of_its_releasing_tuple():
    period, go = 1_000.0, 10**9
    released = np.array([5, 30, 50, 90, 99, -1])
    late = np.array([9e6, 1e6, 2e6, 3e6, 9e6, 9e6])
    emitted = go + (released * period).astype(np.int64) + late.astype(np.int64)
    rows = np.array([9, 1, 1, 2, 9, 9])
    log = WinsetLog(released, rows, rows, released, emitted)
    seen = _winset_latency(log, released, go, 100, every(period))
    # Samples before a fifth and after nineteen twentieths, and the end of the streams, do not
    # count.
    assert seen.samples == 3
    assert seen.mean == pytest.approx((1 + 2 + 3 + 3) / 4)
    assert (seen.p50, seen.p99, seen.max) == (2.0, 3.0, 3.0)
    assert _winset_latency(log, released, go, 10_000, every(period)) is None


def checked(variant="mqlf", **settings):
    bench = families.make(registry.variant("aggregation", variant))
    bench.check(settings)
    return bench


def test_check_needs_no_data_and_knows_the_threads():
    bench = checked(inputs="3", query="K-OI")
    assert (bench.threads, bench.settings["inputs"], bench.data["dataset"]) == (4, 3, None)
    with pytest.raises(UsageError, match="there is no dataset of comments .made so far: none."):
        bench.load()


def test_check_looks_at_a_named_dataset_and_reads_no_rows(meters):
    for rows in meters.glob("*.parquet"):
        rows.unlink()
    bench = checked(dataset=meters)
    with pytest.raises(UsageError, match="readings-00000.parquet"):
        bench.load()
    with pytest.raises(UsageError, match="query K-OS runs on comments, and dataset smart_meter"):
        checked(query="K-OS", dataset=meters)


def test_without_a_named_dataset_the_largest_of_the_role_is_loaded(meters, comments):
    bench = checked(query="K-OI")
    bench.load()
    assert bench.data["dataset"] == "soundcloud"
    assert len(bench.data["dataset_digest"]) == 32


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"query": "x-OS"}, "unknown query 'x-OS'; there are: k-OS"),
        ({"inputs": 0}, "inputs must be between 1 and 512, received 0"),
        ({"inputs": "two"}, "inputs must be a whole number, received 'two'"),
        ({"ahead": 0}, "ahead must be between"),
        ({"speed": 1}, "has no setting 'speed'; it has: ahead, inputs, query, seed"),
        ({"dataset": "nowhere"}, "there is no dataset 'nowhere' .made so far: smart_meter."),
        ({"query": "K-OS", "dataset": "smart_meter"}, "runs on comments, and dataset smart_meter"),
    ],
)
def test_a_wrong_setting_is_one_line_that_lists_the_right_ones(meters, settings, message):
    with pytest.raises(UsageError, match=message) as caught:
        checked(**settings)
    assert "\n" not in str(caught.value)
