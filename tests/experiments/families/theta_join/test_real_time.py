"""The search for the highest density in real time, against joins of known capacity."""

from __future__ import annotations

import pytest

from experiments.families.theta_join import real_time
from experiments.families.theta_join.phases import PROBES
from tests.experiments.rows import a_row

SETTINGS = {"density": 1_000, "window_s": 300.0}


def join_of(capacity: float):
    """Return short runs in real time that keep up below `capacity` tuples/s of both streams."""
    asked = []

    def run_at(density: int):
        asked.append(density)
        rate = 2 * density
        return a_row(
            "theta_join",
            offered_tps=rate,
            achieved_tps=min(rate, capacity),
            backlog_slope_upper=max(1 - capacity / rate, 0.0),
            latency_ms_p99=5.0,
            real_time_ms_mean=0.002 * rate,
        )

    return run_at, asked


@pytest.mark.parametrize("capacity", [800.0, 1_500.0, 2_400.0])
def test_the_highest_rate_is_that_of_the_densest_run_that_kept_up(capacity):
    run_at, asked = join_of(capacity)
    row = real_time.search(SETTINGS, 2_000.0, run_at)
    kept = [density for density in asked if 2 * density <= 1.01 * capacity]
    failed = [density for density in asked if density not in kept]
    assert row["tried"] == {str(density): density in kept for density in asked}
    assert row["probes"] == len(asked) <= PROBES
    assert row["highest_tps"] == row["bracket_low_tps"] == pytest.approx(2 * max(kept), abs=2)
    assert row["bracket_high_tps"] == (pytest.approx(2 * min(failed), abs=2) if failed else None)
    # All other columns are those of the run at that density.
    assert row["offered_tps"] == 2 * max(kept)
    assert row["highest_ms_mean"] == pytest.approx(0.004 * max(kept))
    assert row["real_time_ms_mean"] is None and row["over_time"] is None


def test_where_nothing_kept_up_no_rate_is_claimed():
    run_at, asked = join_of(10.0)
    row = real_time.search(SETTINGS, 2_000.0, run_at)
    assert len(asked) == PROBES and not any(row["tried"].values())
    assert row["highest_tps"] is row["highest_ms_mean"] is row["bracket_low_tps"] is None
    assert row["bracket_high_tps"] == pytest.approx(2 * asked[-1], abs=2)


def test_the_first_density_is_what_the_closed_run_s_comparisons_would_allow():
    run_at, asked = join_of(1e9)
    real_time.search(SETTINGS, 2_000.0, run_at)
    # sqrt(2,000 * 300,000 / 600) = 1,000 of each stream, and nine tenths of it.
    assert asked[0] == 900
    run_at, asked = join_of(1e9)
    # Four times the comparisons are twice the rate.
    real_time.search(SETTINGS, 8_000.0, run_at)
    assert asked[0] == 1_800
