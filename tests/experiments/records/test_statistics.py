"""Statistics against values known from elsewhere or by hand."""

from __future__ import annotations

import numpy as np
import pytest

from experiments.records import statistics


def test_the_interval_of_one_sample_is_that_sample():
    assert statistics.interval([3.0]) == (3.0, 3.0, 3.0, 1)


def test_the_interval_holds_the_median_and_lies_within_the_samples():
    samples = [9.0, 10.0, 10.5, 11.0, 30.0]
    found = statistics.interval(samples)
    assert found.median == 10.5
    assert 9.0 <= found.low <= found.median <= found.high <= 30.0
    assert found == statistics.interval(samples)


def test_the_bootstrap_of_three_has_its_exact_ends():
    # A resample of three has median a with probability 7/27, b 13/27, c 7/27: all above 2.5 %.
    assert statistics.interval([1.0, 2.0, 3.0])[1:3] == (1.0, 3.0)


def test_the_interval_covers_the_median_about_as_often_as_it_says():
    generator = np.random.default_rng(5)
    inside = 0
    for _ in range(60):
        found = statistics.interval(generator.normal(100, 5, 25))
        inside += found.low <= 100 <= found.high
    assert 50 <= inside <= 60


def test_a_slow_hour_common_to_both_cancels_in_a_ratio():
    slow = np.array([1.0, 0.5, 0.9, 0.3, 0.7])
    paired = statistics.ratio(list(20 * slow), list(10 * slow))
    assert paired.median == pytest.approx(2.0)
    assert paired.high - paired.low < statistics.interval(list(20 * slow)).high


def test_a_ratio_refuses_what_cannot_be_divided_by():
    with pytest.raises(ValueError, match="positive"):
        statistics.ratio([1.0], [0.0])
    with pytest.raises(ValueError, match="no samples"):
        statistics.interval([])


def test_ratios_of_unequal_counts_are_resampled_apart():
    found = statistics.ratio([2.0, 2.0, 2.0], [1.0, 1.0])
    assert found == (2.0, 2.0, 2.0, 2)


def test_the_smallest_detectable_difference_is_the_largest_of_few_pairs():
    assert statistics.smallest_detectable_difference([]) is None
    found = statistics.smallest_detectable_difference([(100.0, 100.0), (100.0, 105.0)])
    assert found == pytest.approx(0.05)
    with pytest.raises(ValueError, match="positive"):
        statistics.smallest_detectable_difference([(0.0, 1.0)])


def test_weighted_quantiles_equal_those_of_repeated_values():
    generator = np.random.default_rng(3)
    values = generator.random(40)
    weights = generator.integers(1, 9, 40)
    repeated = np.sort(np.repeat(values, weights))
    for level in (0.1, 0.5, 0.9, 0.99, 1.0):
        wanted = repeated[max(int(np.ceil(level * repeated.size)) - 1, 0)]
        assert statistics.weighted_quantiles(values, weights, [level]) == [wanted]


def test_a_trend_has_the_slope_of_a_line_and_bounds_around_noise():
    x = np.arange(50.0)
    exact = statistics.trend(x, 3 * x + 1)
    assert exact.slope == pytest.approx(3)
    assert exact.upper - exact.lower < 1e-6
    noise = np.random.default_rng(1).normal(0, 2, 50)
    fitted = statistics.trend(x, 3 * x + noise)
    assert fitted.lower < 3 < fitted.upper
    assert statistics.trend(x[:4], x[:4]) is None
    assert statistics.trend(np.ones(9), np.ones(9)) is None
