"""Statistics compared with known values from elsewhere or by hand."""

from __future__ import annotations

import numpy as np
import pytest

from experiments.records import statistics


def values(*processes):
    """Return values by (process, round): a list of rounds for each process."""
    return {
        (process, number): value
        for process, rounds in enumerate(processes, 1)
        for number, value in enumerate(rounds, 1)
    }


def test_one_value_has_no_spread():
    assert statistics.spread(values([3.0])) == (3.0, None, None, "", 1, 1, (3.0,))


def test_the_rounds_of_one_process_are_called_that_and_no_interval():
    found = statistics.spread(values([1.0, 2.0, 4.0]))
    assert found[:3] == pytest.approx((2.0, 1.0, 4.0))
    assert (found.kind, found.is_interval) == ("3 rounds of one process", False)


def test_the_values_behind_a_spread_are_those_of_processes_or_of_the_rounds_of_one():
    assert statistics.spread(values([1.0, 2.0, 4.0])).values == pytest.approx((1.0, 2.0, 4.0))
    found = statistics.spread(values([1.0, 4.0], [9.0], [5.0, 5.0]))
    assert found.values == pytest.approx((2.0, 9.0, 5.0))
    assert (found.low, found.high) == pytest.approx((2.0, 9.0))


def test_a_difference_is_taken_process_by_process_and_its_interval_is_of_these():
    drift = [1.0, 30.0, 5.0, 8.0, 2.0, 70.0]
    apart = [2.0, 3.0, 2.5, 2.0, 3.0, 2.5]
    above = values(*([own + by, own + by + 1.0] for own, by in zip(drift, apart, strict=True)))
    below = values(*([own, own + 1.0] for own in drift))
    found = statistics.difference(above, below)
    assert found.values == pytest.approx(apart) and found.value == pytest.approx(2.5)
    # A drift common to all processes widens neither end.
    reach = 2.5706 * np.std(apart, ddof=1) / np.sqrt(6)
    assert (found.low, found.high) == pytest.approx((2.5 - reach, 2.5 + reach), rel=1e-4)
    assert found.kind == "95 % interval"
    other = statistics.difference(below, above)
    assert (other.value, other.low) == pytest.approx((-2.5, -found.high))


def test_a_difference_of_one_process_has_its_rounds_and_of_none_is_none():
    found = statistics.difference(values([5.0, 7.0]), values([4.0, 8.0]))
    assert found[:4] == (0.0, -1.0, 1.0, "2 rounds of one process")
    assert statistics.difference(values([5.0]), {(2, 1): 4.0}) is None


def test_what_is_added_may_be_nothing_and_has_an_arithmetic_mean():
    found = statistics.spread(values([0.0, 0.5, 1.0]), added=True)
    assert found[:3] == pytest.approx((0.5, 0.0, 1.0))
    found = statistics.spread(values([0.0], [0.2], [0.7]), added=True)
    assert found[:3] == pytest.approx((0.3, 0.0, 0.7))
    assert statistics.spread(values([0.0], [0.0]), added=True).value == 0.0
    spread = np.array([0.0, 0.1, 0.2, 0.0, 0.4, 0.5])
    found = statistics.spread(values(*([x] for x in spread)), added=True)
    reach = 2.5706 * spread.std(ddof=1) / np.sqrt(6)
    assert found[:3] == pytest.approx((0.2, 0.2 - reach, 0.2 + reach), rel=1e-4)
    with pytest.raises(ValueError, match="positive"):
        statistics.spread(values([0.0, 1.0]))


def test_of_nothing_there_is_no_ratio():
    assert statistics.quotients(values([0.0, 2.0, 3.0]), values([1.0, 1.0, 0.0])) == {(1, 2): 2.0}
    assert statistics.ratio(values([0.0]), values([1.0])) is None


@pytest.mark.parametrize("count", [2, 3, 5])
def test_fewer_than_six_processes_have_a_range(count):
    found = statistics.spread(values(*([float(2**n)] * 2 for n in range(count))))
    assert (found.low, found.high) == pytest.approx((1.0, 2.0 ** (count - 1)))
    assert (found.kind, found.is_interval) == (f"range of {count}", False)


def test_six_processes_have_student_s_interval_over_their_means():
    logs = np.array([0.1, -0.2, 0.3, 0.0, 0.15, -0.05])
    found = statistics.spread(values(*([np.exp(x - 0.1), np.exp(x + 0.1)] for x in logs)))
    # 2.571 is the printed value for five degrees of freedom; rounds within a process do not count.
    reach = 2.5706 * logs.std(ddof=1) / np.sqrt(6)
    assert np.log(found.value) == pytest.approx(logs.mean())
    assert np.log(found.high) - logs.mean() == pytest.approx(reach, rel=1e-4)
    assert np.log(found.low) - logs.mean() == pytest.approx(-reach, rel=1e-4)
    assert (found.kind, found.rounds) == ("95 % interval", 12)


@pytest.mark.parametrize(
    ("freedom", "printed"), [(1, 12.706), (2, 4.303), (5, 2.571), (10, 2.228), (29, 2.045)]
)
def test_student_s_quantiles_are_those_of_printed_tables(freedom, printed):
    assert statistics.student_t(freedom) == pytest.approx(printed, abs=5e-4)


def test_the_interval_covers_as_often_as_it_says():
    generator = np.random.default_rng(5)
    inside = 0
    for _ in range(400):
        found = statistics.spread(values(*([v] for v in np.exp(generator.normal(0, 0.2, 6)))))
        inside += found.low <= 1.0 <= found.high
    assert 365 <= inside <= 395


def test_a_slow_round_common_to_both_cancels_in_a_ratio():
    slow = [[1.0, 0.5], [0.9, 0.3]]
    above = values(*([20 * each for each in own] for own in slow))
    below = values(*([10 * each for each in own] for own in slow))
    found = statistics.ratio(above, below)
    assert (found.value, found.low, found.high) == pytest.approx((2.0, 2.0, 2.0))
    # A (process, round) that one of them lacks is left out.
    del below[1, 1]
    assert statistics.ratio(above, below).rounds == 3
    assert statistics.ratio(values([1.0]), {(2, 1): 1.0}) is None


def test_a_pool_weighs_its_members_alike_however_many_values_they_have():
    found = statistics.pooled([values([2.0], [2.0]), values([8.0, 8.0, 8.0], [8.0])])
    assert found.value == pytest.approx(4.0)
    assert found.kind == "range of 2"


def test_values_that_have_no_logarithm_are_refused():
    with pytest.raises(ValueError, match="positive"):
        statistics.spread(values([1.0, 0.0]))
    with pytest.raises(ValueError, match="no values"):
        statistics.spread({})


def test_the_floor_of_few_pairs_is_the_largest_of_them():
    assert statistics.floor_of([]) is None
    found = statistics.floor_of([(100.0, 100.0), (105.0, 100.0), (100.0, 110.0)])
    assert found.factor == pytest.approx(1.1)
    assert found.pairs == 3
    many = [(100.0, 101.0)] * 99 + [(100.0, 300.0)]
    assert statistics.floor_of(many).factor == pytest.approx(1.01)
    with pytest.raises(ValueError, match="positive"):
        statistics.floor_of([(0.0, 1.0)])


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


def test_a_pool_s_range_holds_its_value_whatever_a_process_lacks():
    # The second process lacks the large member, which does not lower the result.
    found = statistics.pooled([values([2.0], [2.2]), {(1, 1): 8.0}])
    assert found.low <= found.value <= found.high
    assert found.value == pytest.approx((2.0 * 2.2) ** 0.25 * 8.0**0.5)
    rounds = statistics.pooled([values([2.0, 2.2]), {(1, 1): 8.0}])
    assert rounds.low <= rounds.value <= rounds.high
