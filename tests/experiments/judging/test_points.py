"""Which raw rows become points, and what happens to repetitions and states on the way."""

from __future__ import annotations

import pytest

from experiments.judging.points import at_maximum, gather, noise_floor, read_raw
from operators.contract import UsageError
from tests.invented import open_row, points_by_inputs, row, write_raw


def only(points, quantity):
    found = [point for point in points if point.quantity == quantity]
    assert len(found) == 1
    return found[0]


def test_a_closed_run_gives_throughput_and_outputs_per_tuple():
    points = gather([row("fig_13", "mq", 4, throughput_tps=2e6, tuples=1000, outputs=24)])
    assert only(points, "throughput_tps").middle == (2e6, None, None)
    assert only(points, "outputs_per_tuple").middle[0] == pytest.approx(0.024)


def test_a_sustained_rate_replaces_the_closed_run_of_its_repetition():
    rows = [
        row("fig_13", "mq", 4, throughput_tps=2e6),
        row("fig_13", "mq", 4, throughput_tps=1.5e6, phase="sustained"),
    ]
    assert only(gather(rows), "throughput_tps").middle[0] == 1.5e6


def test_a_search_in_vain_leaves_the_closed_run_and_marks_it():
    rows = [
        row("fig_13", "mq", 4, throughput_tps=2e6),
        row("fig_13", "mq", 4, phase="sustained", throughput_tps=None, valid=False,
            invalid_reason="no probed rate was sustained"),
    ]  # fmt: skip
    point = only(gather(rows), "throughput_tps")
    assert point.middle[0] == 2e6
    assert "unsteady" in point.states


def test_series_and_update_threads_keep_points_apart():
    rows = [
        row("fig_13", "tumlsc", 4, throughput_tps=1e6),
        row("fig_13", "tumlsc", 4, throughput_tps=2e6, series="tumlsc:levels=8"),
        row("fig_13", "tumlmc", 4, throughput_tps=3e6, update_threads=1),
        row("fig_13", "tumlmc", 4, throughput_tps=4e6, update_threads=2),
    ]
    points = [p for p in gather(rows) if p.quantity == "throughput_tps"]
    assert [(p.variant, p.update_threads, p.middle[0]) for p in points] == [
        ("tumlmc", 1, 3e6),
        ("tumlmc", 2, 4e6),
        ("tumlsc", None, 1e6),
        ("tumlsc:levels=8", None, 2e6),
    ]
    assert len(at_maximum(points)) == 4


def test_durations_are_points_of_their_own_and_no_throughput():
    timed = row("fig_13", "mq", 4, phase="durations", input_ns=20.0, output_ns=100.0)
    points = gather([timed])
    assert {p.quantity: p.middle[0] for p in points} == {"input_ns": 20.0, "output_ns": 100.0}


@pytest.mark.parametrize("phase", ["probe", "control"])
def test_probes_and_controls_are_no_points(phase):
    assert gather([row("fig_13", "mq", 4, phase=phase)]) == []


def test_an_invalid_row_is_no_point():
    bad = row("fig_13", "mq", 4, valid=False, invalid_reason="wrong digest", digest="0bad")
    assert gather([bad]) == []


def test_repetitions_meet_in_one_point_with_a_median_and_an_interval():
    point = only(
        gather(points_by_inputs("fig_13", "mq", {4: (1e6, 5.0)}, repetitions=3)), "throughput_tps"
    )
    middle, low, high = point.middle
    assert sorted(point.values) == [1, 2, 3]
    assert middle == pytest.approx(1.01e6)
    assert low < middle < high


def test_a_state_of_one_repetition_marks_the_point():
    rows = [
        row("fig_13", "mq", 4, repetition=1, noisy=True, steady=False),
        row("fig_13", "mq", 4, repetition=2, cores=2),
    ]
    point = only(gather(rows), "throughput_tps")
    assert point.states == ("oversubscribed", "noisy", "unsteady")
    assert (point.threads, point.cores) == (5, 2)


def test_no_state_touches_a_count():
    point = only(gather([row("fig_13", "mq", 4, noisy=True)]), "outputs_per_tuple")
    assert point.states == ()


def test_the_latency_of_a_setting_is_the_one_nearest_below_the_maximum():
    rows = [
        open_row("fig_13", "mq", 4, latency, rate_fraction=fraction)
        for fraction, latency in ((0.3, 9.0), (0.9, 4.0), (1.1, 300.0))
    ]
    assert only(at_maximum(gather(rows)), "latency_ms_mean").middle[0] == 4.0


def test_beyond_the_maximum_the_lowest_rate_stands_in():
    rows = [
        open_row("fig_13", "mq", 4, latency, rate_fraction=fraction, saturated=True)
        for fraction, latency in ((1.3, 900.0), (1.1, 300.0))
    ]
    point = only(at_maximum(gather(rows)), "latency_ms_mean")
    assert point.middle[0] == 300.0
    assert point.states == ("saturated",)


def test_the_noise_floor_is_what_two_runs_of_the_same_thing_differ_by():
    rows = [
        row("fig_13", "mq", 4, throughput_tps=1.0e6),
        row("fig_13", "mq", 4, throughput_tps=1.2e6, phase="control"),
    ]
    assert noise_floor(rows) == pytest.approx(1.2)
    assert noise_floor(rows[:1]) is None


def test_rows_and_provenances_of_several_files_are_read_together(tmp_path):
    rows = points_by_inputs("fig_13", "mq", {1: (1e6, 5.0)}, repetitions=2)
    raw = read_raw(write_raw(tmp_path, rows))
    assert len(raw.rows) == 4
    assert list(raw.provenances) == ["0123456789abcdef"]


def test_a_missing_file_is_named(tmp_path):
    with pytest.raises(UsageError, match="repetition-9"):
        read_raw([tmp_path / "repetition-9.jsonl"])
