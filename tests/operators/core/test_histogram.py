"""The histogram: against exact percentiles, and counter by counter against HdrHistogram."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hdrh.histogram import HdrHistogram
from hypothesis import given
from hypothesis import strategies as st

from operators.contract import UsageError
from operators.core import histogram as module
from operators.core import marks, reference
from operators.core.histogram import (
    CUT_OFF,
    HALF,
    LARGEST_NS,
    check_invariants,
    counter_of,
    last_value_of,
    make_histogram,
    mean,
    merge,
    percentile,
    record,
)
from operators.core.jit import kernel
from tests.operators.core.running import ROUNDS, forms, run_threads

durations = st.one_of(
    st.integers(0, LARGEST_NS),
    st.integers(0, 4 * HALF),
    # Around the powers of two, where the buckets change their width.
    st.builds(lambda bits, off: max((1 << bits) + off, 0), st.integers(0, 41), st.integers(-2, 2)),
)
PERCENTS = (1, 25, 50, 90, 99, 99.9, 100)


@kernel
def record_all(histogram, values, count):
    for value in values:
        record(histogram, value, count)


def made_of(values):
    histogram = make_histogram()
    record_all(histogram, np.array(values, np.int64), 1)
    return histogram


def test_smoke_three_durations():
    histogram = made_of([1_000, 2_000, 9_000_000])
    assert module.count(histogram) == 3
    assert mean(histogram) == 3_001_000
    assert percentile(histogram, 50) == 2_000
    assert percentile(histogram, 99) == module.largest(histogram) == 9_000_000
    assert module.smallest(histogram) == 1_000
    check_invariants(histogram)


def test_capacity_what_is_out_of_range_is_counted_at_the_bound_and_as_cut_off():
    for form in forms(record_all):
        histogram = make_histogram()
        form(histogram, np.array([-5, 0, LARGEST_NS, LARGEST_NS + 1, 2**62]), 2)
        assert histogram.summary[CUT_OFF] == 6
        assert module.smallest(histogram) == 0
        assert module.largest(histogram) == LARGEST_NS
        assert mean(histogram) == 3 * LARGEST_NS / 5
        check_invariants(histogram)


def test_boundaries_an_empty_histogram():
    histogram = make_histogram()
    assert math.isnan(mean(histogram))
    assert percentile(histogram, 99) == module.largest(histogram) == module.smallest(histogram) == 0
    check_invariants(histogram)


@pytest.mark.parametrize("percent", [-0.1, 100.1, math.nan])
def test_boundaries_of_a_percentile(percent):
    with pytest.raises(UsageError, match="between 0 and 100"):
        percentile(make_histogram(), percent)


def test_boundaries_counters_follow_one_another_without_gap():
    firsts = [0] + [last_value_of(counter) + 1 for counter in range(40 * HALF)]
    for counter in range(40 * HALF):
        first, last = firsts[counter], last_value_of(counter)
        if last > LARGEST_NS:
            break
        assert counter_of(first) == counter_of(last) == counter
        assert last - first <= first / HALF


@given(st.lists(durations, min_size=1, max_size=200))
def test_oracle_percentiles_are_exact_to_one_part_in_a_thousand(values):
    values = [min(value, LARGEST_NS) for value in values]
    for form in forms(record_all):
        histogram = make_histogram()
        form(histogram, np.array(values, np.int64), 1)
        check_invariants(histogram)
        assert mean(histogram) == sum(values) / len(values)
        for percent in PERCENTS:
            exact = reference.percentile(values, percent)
            assert exact <= percentile(histogram, percent) <= exact * (1 + 1 / HALF)


@given(st.lists(st.integers(1, LARGEST_NS) | durations.filter(bool), min_size=1, max_size=100))
def test_oracle_hdr_histogram_says_the_same(values):
    ours = made_of([min(value, LARGEST_NS) for value in values])
    theirs = HdrHistogram(1, LARGEST_NS, 3)
    for value in values:
        assert theirs.record_value(min(value, LARGEST_NS))
    assert theirs.counts_len >= len(ours.counters)
    for percent in PERCENTS:
        # HdrHistogram returns the end of the counter even if no value that large was recorded.
        value = min(theirs.get_value_at_percentile(percent), module.largest(ours))
        assert percentile(ours, percent) == value
    assert [theirs.get_count_at_index(counter) for counter in range(4 * HALF)] == (
        ours.counters[: 4 * HALF].tolist()
    )


@given(st.lists(st.lists(durations | st.just(-1), max_size=30), min_size=1, max_size=4))
def test_oracle_merging_equals_recording_together(parts):
    together = make_histogram()
    for part in parts:
        for value in part:
            record(together, value, 1)
    merged = merge([made_of(part) if part else make_histogram() for part in parts])
    assert merged.summary.tolist() == together.summary.tolist()
    assert (merged.counters == together.counters).all()
    check_invariants(merged)


def test_a_histogram_that_forgets_is_as_a_new_one():
    ours = made_of([3, 700, LARGEST_NS])
    module.forget(ours)
    for found, new in zip(ours, make_histogram(), strict=True):
        assert found.tolist() == new.tolist()


def test_marks_each_rare_branch_is_met():
    marks.hits.clear()
    record(make_histogram(), -1, 1)
    assert marks.hits["histogram: cut off"] == 1


def test_threads_record_each_into_its_own_and_are_merged():
    values = np.arange(ROUNDS, dtype=np.int64) * 997
    histograms = [make_histogram() for _ in range(3)]
    run_threads(*(lambda h=histogram: record_all(h, values, 2) for histogram in histograms))
    merged = merge(histograms)
    assert module.count(merged) == 6 * ROUNDS
    assert mean(merged) == pytest.approx(values.mean())
    check_invariants(merged)


def test_a_histogram_that_was_emptied_is_as_new():
    histogram = module.make_histogram()
    for value in (5, 70_000, 4 * module.LARGEST_NS):
        module.record(histogram, value, 2)
    module.forget(histogram)
    for found, new in zip(histogram, module.make_histogram(), strict=True):
        assert found.tolist() == new.tolist()
    module.record(histogram, 7, 1)
    assert module.smallest(histogram) == module.largest(histogram) == 7
