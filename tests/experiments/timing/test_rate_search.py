"""The rate search against machines whose sustained rate is known."""

from __future__ import annotations

import pytest

from experiments.timing import rate_search
from tests.experiments.rows import a_row


def machine_of(capacity, **changes):
    """Return a measurement that passes below `capacity`, and the list of requested rates."""
    asked = []

    def measure(rate):
        asked.append(rate)
        growth = max(1 - capacity / rate, 0.0)
        return a_row(
            **{
                "phase": "probe",
                "offered_tps": rate,
                "achieved_tps": min(rate, capacity),
                "backlog_slope_upper": growth + 0.001,
                "latency_ms_p99": 5.0,
                **changes,
            }
        )

    return measure, asked


@pytest.mark.parametrize("capacity", [400.0, 960.0, 1_000.0, 1_700.0])
def test_the_bracket_holds_the_sustained_rate(capacity):
    measure, asked = machine_of(capacity)
    found = rate_search.search(measure, guess=1_000.0, probes=12)
    assert found.low_tps <= 1.011 * capacity
    assert found.high_tps >= capacity
    assert found.high_tps / found.low_tps < 1.05
    assert found.probes == len(asked)
    assert found.passed["offered_tps"] == found.low_tps


def test_few_probes_give_a_wide_bracket_or_none():
    measure, asked = machine_of(100.0)
    assert rate_search.search(measure, guess=1_000.0, probes=2) == (None, 720.0, None, 2)
    measure, asked = machine_of(10_000.0)
    found = rate_search.search(measure, guess=1_000.0, probes=2)
    assert found.high_tps is None
    assert found.low_tps == asked[-1]


def test_what_failed_beside_others_is_tried_once_more():
    measure, asked = machine_of(10_000.0)
    rows = []

    def beside_others(rate):
        row = measure(rate)
        # Each first run is disturbed; a second one, if made, is not.
        first = len(asked) < 2 or asked[-2] != rate
        rows.append({**row, "noisy": first, "achieved_tps": 0.5 * rate if first else rate})
        return rows[-1]

    found = rate_search.search(beside_others, guess=1_000.0, probes=3)
    assert found.probes == 6 and len(set(asked)) == 3
    assert (found.low_tps, found.high_tps) == (asked[-1], None)
    assert found.passed is rows[-1]


def test_a_second_run_that_failed_too_is_no_longer_excused():
    measure, asked = machine_of(100.0, noisy=True)
    assert rate_search.search(measure, 1_000.0, 2) == (None, 720.0, None, 4)
    measure, asked = machine_of(10_000.0, noisy=True)
    assert rate_search.search(measure, 1_000.0, 2).probes == 2


@pytest.mark.parametrize(
    "change",
    [
        {"valid": False, "invalid_reason": "wrong"},
        {"backlog_slope_upper": 0.02},
        {"backlog_slope_upper": None},
        {"achieved_tps": 1.0},
        {"latency_ms_p99": 2_000.0},
    ],
)
def test_each_criterion_alone_can_fail_a_rate(change):
    measure, _ = machine_of(10_000.0)
    good = measure(1_000.0)
    assert rate_search.passes(good)
    assert not rate_search.passes({**good, **change})


def test_a_run_in_which_no_winset_closed_has_no_latency_to_fail_by():
    measure, _ = machine_of(10_000.0, latency_ms_p99=None)
    assert rate_search.passes(measure(1_000.0))
