"""A bench of threads: warm-up, a run of the given seconds, comparison with the oracle."""

from __future__ import annotations

import pytest

from experiments import families
from experiments.families.aggregation.bench import AggregationBench
from experiments.records.columns import OPEN
from experiments.timing import machine, threads
from experiments.timing.bench import Request
from experiments.timing.threads import run_tuples
from operators.contract import UsageError
from operators.running import run_threads
from operators.running.schedule import CLOSED_LOOP

CLOSED_RUN = Request(0.05)
OPEN_RUN = Request(0.05, 50_000.0, OPEN)


def bench_of(path, **settings):
    return families.ready("aggregation", "mqlf", {"dataset": path, "inputs": 2, **settings})


def test_a_slice_is_as_long_as_its_trial_says_and_holds_what_it_must(meters, monkeypatch):
    bench = bench_of(meters)
    monkeypatch.setattr(threads, "guess", lambda bench, limit_seconds: 1e6)
    assert bench.slice_tuples(0.05) == threads.on_grid(50_000)
    assert not bench.is_of_whole(threads.on_grid(50_000), 0.05)
    monkeypatch.setattr(threads, "guess", lambda bench, limit_seconds: 1.0)
    first, last = bench.measured(bench.slice_tuples(0.05))
    # The tuples that fill the queues are not measured, and two window advances are.
    assert first >= bench.in_flight == 2 * 1024
    assert last - first >= bench.least_tuples


# Tuples/s, the resulting length of a slice of 0.05 s, and whether it is of the whole run.
@pytest.mark.parametrize(
    ("rate", "seconds", "whole"), [(1e6, 0.05, False), (1e5, 0.11, False), (2e4, 0.11, True)]
)
def test_the_middle_holds_four_times_what_is_in_flight_or_the_row_is_of_the_whole_run(
    meters, monkeypatch, rate, seconds, whole
):
    bench = bench_of(meters)
    bench.least_tuples = 1
    monkeypatch.setattr(threads, "guess", lambda bench, limit_seconds: rate)
    total = bench.slice_tuples(0.05)
    first, last = bench.measured(total)
    # The last would take 0.55 s, and 0.25 s is the limit.
    assert seconds <= total / rate < threads.GRID * seconds
    assert (last - first < 4 * bench.in_flight) == whole
    assert bench.is_of_whole(total, 0.05) == whole


@pytest.mark.parametrize(("many", "whole"), [(20, False), (60, True)])
def test_the_middle_holds_three_rounds_of_the_scheduler_or_the_row_is_of_the_whole_run(
    meters, monkeypatch, many, whole
):
    monkeypatch.setattr(threads.pinning, "cores", lambda: 2)
    monkeypatch.setattr(threads, "guess", lambda bench, limit_seconds: 1e7)
    bench = bench_of(meters, inputs=many)
    bench.in_flight = None
    total = bench.slice_tuples(0.05)
    first, last = bench.measured(total)
    # Each of the threads has 4 ms on one of the cores, three times.
    assert whole == ((last - first) / 1e7 < 3 * 0.004 * bench.threads / 2)
    assert bench.is_of_whole(total, 0.05) == whole


def test_a_run_of_fixed_length_has_it_however_fast_it_is(meters, monkeypatch):
    monkeypatch.setattr(threads, "guess", None)
    assert bench_of(meters).measure(Request(0.05, tuples=7_000)).total == 7_000


@pytest.mark.parametrize("tuples", [1, 2, 3, 100, 10_000, 123_456_789])
def test_lengths_lie_on_a_grid(tuples):
    found = threads.on_grid(tuples)
    assert tuples <= found <= threads.GRID * tuples + 1
    assert threads.on_grid(found) == found


def test_a_row_says_whether_it_is_of_the_whole_run(meters):
    bench = bench_of(meters)
    short, long = (bench.run(Request(0.05, tuples=tuples)) for tuples in (100, 30_000))
    assert short["valid"] and short["of_whole_run"]
    assert short["throughput_tps"] == short["whole_tps"]
    assert long["valid"] and not long["of_whole_run"]
    assert long["throughput_tps"] != long["whole_tps"]
    assert bench.run(OPEN_RUN)["of_whole_run"]


def test_an_open_run_has_the_tuples_of_its_seconds_and_enough_for_a_latency(meters):
    bench = bench_of(meters)
    done = bench.measure(Request(0.2, 50_000.0, OPEN))
    assert done.total == threads.on_grid(10_000)
    assert (done.offered_tps, done.output.problem) == (50_000.0, None)
    assert bench.measure(Request(0.001, 50_000.0, OPEN)).total == bench.least_open_tuples


def test_warming_up_compiles_everything_that_a_run_enters(meters, monkeypatch):
    monkeypatch.setattr(threads, "_warm", set())
    bench = bench_of(meters)
    threads.warm_up(bench)
    kernels = {role.kernel for role in bench.start(100, CLOSED_LOOP).roles}
    assert len(kernels) == 2
    if not machine.INTERPRETED:
        compiled = {kernel: len(kernel.signatures) for kernel in kernels}
        run_tuples(bench, 2_000, OPEN_RUN)
        run_tuples(bench, 2_000, CLOSED_RUN)
        assert {kernel: len(kernel.signatures) for kernel in kernels} == compiled
        assert min(compiled.values()) > 0


def test_a_run_is_given_up_after_the_limit_that_was_asked_for(meters):
    bench = bench_of(meters)
    with pytest.raises(run_threads.TimedOut, match="longer than 0.1 s"):
        bench.measure(Request(30.0, 1_000.0, OPEN, limit_seconds=0.1))


def test_progress_tells_share_rate_and_what_is_left(meters):
    told = []
    bench_of(meters).measure(Request(0.2, 20_000.0, OPEN, progress=told.append))
    assert any("tuples/s" in text and text.endswith("s left") for text in told)


def test_a_wrong_digest_makes_an_invalid_row(meters, monkeypatch):
    bench = bench_of(meters)
    right = bench._oracle

    class Wrong:
        def expected(self, total):
            expected = right.expected(total)
            return expected._replace(digest=expected.digest ^ 1)

    monkeypatch.setattr(AggregationBench, "_oracle", Wrong())
    row = bench.run(CLOSED_RUN)
    assert not row["valid"]
    assert row["invalid_reason"].startswith("wrong output: winset 0 ")
    assert row["digest"] != row["oracle_digest"]


@pytest.mark.parametrize("rate", [0, -1, "fast", float("nan"), float("inf")])
def test_a_rate_must_be_positive(rate):
    with pytest.raises(UsageError, match="rate must be max or above 0"):
        threads.check_rate(rate)


def test_a_rate_is_max_or_a_number():
    assert threads.check_rate("max") is None
    assert threads.check_rate("20000") == 20_000.0


@pytest.mark.parametrize("seconds", [0, -1, float("nan"), 1e12])
def test_seconds_must_be_above_0_and_at_most_a_day(seconds):
    with pytest.raises(UsageError, match="--seconds must be above 0 and at most 86400"):
        threads.check_seconds(seconds, "--seconds")


def test_digests_are_told_in_16_hexadecimal_digits():
    assert threads.hexadecimal(-1) == "f" * 16
    assert threads.hexadecimal(10) == "000000000000000a"
