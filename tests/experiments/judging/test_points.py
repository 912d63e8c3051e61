"""Which raw rows become points of a figure, and the effect of processes, rounds and states."""

from __future__ import annotations

from dataclasses import replace

import pytest

from experiments.declare import Sweep
from experiments.judging.points import at_maximum, gather, points_of_paper, rows_of
from experiments.papers import paper
from tests.invented import (
    DECLARED,
    EVERY,
    PAPER,
    open_row,
    points_at,
    points_by_rate,
    points_in,
    points_of_durations,
    row,
)


def only(points, quantity):
    found = [point for point in points if point.quantity == quantity]
    assert len(found) == 1
    return found[0]


def test_a_closed_run_gives_throughput_and_outputs_per_tuple():
    points = points_in("13", [row("13", "mq", 4, throughput_tps=2e6, tuples=1000, outputs=24)])
    point = only(points, "throughput_tps")
    assert (point.value, point.spread.low, point.processes) == (2e6, None, 1)
    assert only(points, "outputs_per_tuple").value == pytest.approx(0.024)


def test_a_point_says_where_it_stands():
    (point, *_) = points_in("8", [row("8", "mq", machine="there")])
    assert (point.paper, point.figure, point.machine) == (PAPER, "8", "there")
    assert (point.subject, point.variant) == ("K-OS", "mq")
    assert point.settings == {
        "query": "K-OS", "inputs": 20, "seed": 1, "unit_divisor": 1, "ahead": 1024
    }  # fmt: skip


def test_a_sustained_rate_stands_beside_the_closed_run_with_its_bracket():
    rows = [
        row("13", "mq", 4, throughput_tps=2e6),
        *(row("13", "mq", 4, throughput_tps=tps, phase="sustained", repetition=n,
              bracket_low_tps=tps, bracket_high_tps=1.1 * tps)
          for n, tps in ((1, 1.5e6), (2, 1.6e6))),
    ]  # fmt: skip
    points = points_in("13", rows)
    assert only(points, "throughput_tps").value == 2e6
    point = only(points, "sustained_tps")
    assert point.bracket == (1.5e6, pytest.approx(1.76e6))
    assert point.value == pytest.approx((1.5e6 * 1.6e6) ** 0.5)


def test_series_and_update_threads_keep_points_apart():
    swept = Sweep("levels", dict.fromkeys(("quick", "laptop", "paper"), (3, 8)), "levels")
    lines = ("tumlsc", "tumlsc:levels=8")
    rows = [
        row("13", "tumlsc", 4, throughput_tps=1e6),
        row("13", "tumlsc", 4, throughput_tps=2e6, at={"levels": 8}),
    ]
    apart = points_in(replace(DECLARED["13"], lines=lines), rows)
    apart = [point for point in apart if point.quantity == "throughput_tps"]
    assert [(p.variant, p.value) for p in apart] == [
        ("tumlsc", 1e6),
        ("tumlsc:levels=8", 2e6),
    ]
    # The same rows in a figure that sweeps the setting instead of having a series for it.
    along = points_in(replace(DECLARED["13"], lines=("tumlsc",), sweeps=(swept,)), rows)
    along = [point for point in along if point.quantity == "throughput_tps"]
    assert [(p.variant, p.settings["levels"], p.value) for p in along] == [
        ("tumlsc", 3, 1e6),
        ("tumlsc", 8, 2e6),
    ]
    threads = [
        row("28", "tumlmc", 1, {"inputs": 2}, throughput_tps=3e6),
        row("28", "tumlmc", 2, {"inputs": 2}, throughput_tps=4e6),
    ]
    found = [point for point in points_in("28", threads) if point.quantity == "throughput_tps"]
    assert [(p.settings["update_threads"], p.value) for p in found] == [(1, 3e6), (2, 4e6)]
    assert len(at_maximum([*apart, *found])) == 4


def test_durations_are_points_of_their_own_and_no_throughput():
    points = points_in("8", [row("8", "mq", phase="durations", input_ns=20.0, output_ns=100.0)])
    assert {p.quantity: p.value for p in points} == {"input_ns": 20.0, "output_ns": 100.0}


@pytest.mark.parametrize("phase", ["probe", "equal", "equal open", "reference"])
def test_probes_and_equal_runs_are_no_points(phase):
    rows = [row("13", "mq", 4, phase=phase)]
    assert bool(rows_of(rows, DECLARED["13"])) == (phase == "probe")
    assert points_in("13", rows) == []


def test_an_invalid_row_is_no_point_but_that_its_output_was_wrong():
    bad = row("13", "mq", 4, valid=False, invalid_reason="wrong digest", digest="0bad")
    assert rows_of([bad], DECLARED["13"])
    assert [(p.quantity, p.value) for p in points_in("13", [bad])] == [("right_outputs", 0.0)]
    none = bad | {"digest": None, "oracle_digest": None}
    assert points_in("13", [none]) == []
    both = only(points_in("13", [bad, row("13", "mq", 4, round=2)]), "right_outputs")
    assert (both.value, both.states) == (0.5, ())


def test_processes_and_rounds_meet_in_one_point():
    rows = [
        row("13", "mq", 4, repetition=process, round=number, throughput_tps=tps)
        for process, number, tps in ((1, 1, 1e6), (1, 2, 4e6), (2, 1, 8e6))
    ]
    point = only(points_in("13", rows), "throughput_tps")
    assert point.values == {(1, 1): 1e6, (1, 2): 4e6, (2, 1): 8e6}
    # The mean over processes of the medians of their rounds.
    assert (point.value, point.processes) == (pytest.approx(4e6), 2)
    assert (point.spread.kind, point.spread.is_interval) == ("range of 2", False)


@pytest.mark.parametrize(("noisy", "states"), [(1, ()), (2, ("noisy", "unsteady"))])
def test_a_state_of_more_than_half_of_its_runs_marks_the_point(noisy, states):
    rows = [row("13", "mq", 4, repetition=n, noisy=n <= noisy, steady=n > noisy) for n in (1, 2, 3)]
    point = only(points_in("13", rows), "throughput_tps")
    assert point.states == states


def test_a_point_has_the_most_threads_and_the_fewest_cores():
    rows = [row("13", "mq", 4, repetition=1), row("13", "mq", 4, repetition=2, cores=2)]
    point = only(points_in("13", rows), "throughput_tps")
    assert (point.threads, point.cores, point.oversubscribed) == (5, 2, True)


@pytest.mark.parametrize(
    ("saturated", "marked"),
    [
        # By process and round: a second try that keeps up suffices, in half of the processes.
        ([(1, 1, True)], True),
        ([(1, 1, True), (1, 2, False)], False),
        ([(1, 1, True), (1, 2, True)], True),
        ([(1, 1, True), (2, 1, False)], False),
        ([(1, 1, True), (2, 1, False), (3, 1, True)], True),
    ],
)
def test_a_throughput_is_not_sustained_where_its_own_open_runs_did_not_keep_up(saturated, marked):
    rows = [row("13", "mq", 4)] + [
        open_row("13", "mq", 4, 5.0, repetition=process, round=number, saturated=behind)
        for process, number, behind in saturated
    ]
    point = only(points_in("13", rows), "throughput_tps")
    assert ("unsustained" in point.states) == marked
    # At a load other than the reference load nothing is reported.
    rows = [each | {"usual_fraction": 0.5} for each in rows]
    assert "unsustained" not in only(points_in("13", rows), "throughput_tps").states


def test_no_state_touches_a_count():
    point = only(points_in("13", [row("13", "mq", 4, noisy=True)]), "outputs_per_tuple")
    assert point.states == ()


def test_the_latency_of_a_setting_is_the_one_nearest_below_the_maximum():
    rows = [
        open_row("9", "mq", None, latency, rate_fraction=fraction)
        for fraction, latency in ((0.3, 9.0), (0.9, 4.0), (1.1, 300.0))
    ]
    points = points_in("9", rows)
    assert len([point for point in points if point.quantity == "latency_ms_mean"]) == 3
    assert only(at_maximum(points), "latency_ms_mean").value == 4.0


def test_beyond_the_maximum_the_lowest_rate_stands_in():
    rows = [
        open_row("9", "mq", None, latency, rate_fraction=fraction, saturated=True)
        for fraction, latency in ((1.3, 900.0), (1.1, 300.0))
    ]
    point = only(at_maximum(points_in("9", rows)), "latency_ms_mean")
    assert point.value == 300.0
    assert point.states == ("saturated",)


# Equal runs.


# The rows that a figure shows: those of the figure's settings, whoever requested them.


def test_figures_that_show_the_same_setting_share_its_rows():
    rows = points_of_durations("8", "mq", (400.0, 5000.0), throughput=1e6)
    rows += points_by_rate("mq", 1e6, {0.3: 12.0, 0.7: 6.0}, figure="9")
    points = points_of_paper(rows, paper(PAPER))
    throughputs = [point for point in points if point.quantity == "throughput_tps"]
    assert [point.figure for point in throughputs] == ["8", "9", "14"]
    assert len({tuple(point.values.values()) for point in throughputs}) == 1
    # And not by a figure on another query.
    assert not points_in("13", rows)


def test_a_figure_shows_its_own_kind_of_runs_and_no_others():
    rows = points_of_durations("8", "mq", (400.0, 5000.0), throughput=1e6)
    rows += points_by_rate("mq", 1e6, {0.3: 12.0, 0.7: 6.0, 1.1: 90.0}, figure="9")

    named = ("throughput_tps", "latency_ms_mean", "input_ns", "output_ns")

    def told(figure):
        points = [point for point in points_in(figure, rows) if point.quantity in named]
        return {(point.quantity, point.rate_fraction) for point in points}

    rates = {("latency_ms_mean", share) for share in (0.3, 0.7, 1.1)}
    assert told("8") == {("input_ns", None), ("output_ns", None), ("throughput_tps", None)}
    assert told("9") == rates | {("throughput_tps", None)}
    # One latency for each setting, at the load that the profile sets for all.
    assert told("14") == {("latency_ms_mean", 0.7), ("throughput_tps", None)}


def test_where_the_profile_has_another_usual_share_that_one_is_shown():
    rows = points_at("14", "mq", 20, 1e6, {0.5: 3.0, 0.7: 6.0}, usual_fraction=0.5)
    assert only(points_in("14", rows), "latency_ms_mean").rate_fraction == 0.5


@pytest.mark.parametrize(
    ("figure", "line", "x", "other"),
    [
        ("13", "mq", 4, {"ahead": 64}),
        ("13", "mq", 4, {"seed": 2}),
        ("14", "tumlsc", 4, {"unit_divisor": 20}),
        ("7", "t-gate", 4, {"readers": 2}),
        ("28", "tumlmc", 4, {"levels": 1}),
    ],
)
def test_rows_at_settings_that_a_figure_does_not_have_are_not_shown(figure, line, x, other):
    own = {sweep.setting: sweep.values["quick"][0] for sweep in DECLARED[figure].sweeps}
    assert points_in(figure, [row(figure, line, x, own)])
    assert rows_of([row(figure, line, x, own | other)], EVERY[figure]) == []


def test_a_swept_setting_is_shown_at_the_values_of_the_size():
    own, wider = DECLARED["15"].x.values["quick"], DECLARED["15"].x.values["laptop"]
    foreign = next(value for value in wider if value not in own)
    rows = [row("15", "mq", inputs, size="quick") for inputs in (*own, foreign)]
    points = [point for point in points_in("15", rows) if point.quantity == "throughput_tps"]
    assert [point.settings["inputs"] for point in points] == list(own)


def test_a_figure_shows_its_own_variants_and_those_that_name_it():
    rows = [row("14", line, 4) for line in ("mq", "mqlf-rings", "tumlmc")]
    found = {point.variant for point in gather(rows, DECLARED["14"])}
    assert found == {"mq", "mqlf-rings"}


def test_rows_of_two_machines_never_meet_in_one_point():
    rows = [
        row("13", "mq", 4, throughput_tps=tps, machine=machine, repetition=repetition)
        for machine, repetition, tps in (("a", 1, 1e6), ("a", 2, 1.1e6), ("b", 1, 5e6))
    ]
    points = [point for point in points_in("13", rows) if point.quantity == "throughput_tps"]
    assert [(p.machine, p.values) for p in points] == [
        ("a", {(1, 1): 1e6, (2, 1): 1.1e6}),
        ("b", {(1, 1): 5e6}),
    ]
    assert len(at_maximum(points)) == 2


def test_words_of_a_choice_are_places_of_their_own():
    every = dict.fromkeys(("quick", "laptop", "paper"), ("k-OS", "w-OS"))
    by_query = replace(DECLARED["13"], x=Sweep("query", every, "queries"), settings={"inputs": 4})
    rows = [row("13", "mq", 4, throughput_tps=1e6), row("18", "mq", 4, throughput_tps=2e6)]
    found = [point for point in points_in(by_query, rows) if point.quantity == "throughput_tps"]
    assert [(p.settings["query"], p.value) for p in found] == [("k-OS", 1e6), ("w-OS", 2e6)]


def test_no_round_is_left_out_and_their_median_stands_for_a_process():
    rows = [
        row("13", "mq", 20, round=n, throughput_tps=tps, noisy=noisy, transfer_ns=way)
        for n, (tps, noisy, way) in enumerate(
            ((2e6, False, 60), (0.1e6, True, 60), (2.1e6, False, 270), (1.9e6, True, 60),
             (2.2e6, False, 60)), start=1,
        )
    ]  # fmt: skip
    (point,) = throughputs(rows)
    assert len(point.values) == 5
    assert (point.value, point.states) == (pytest.approx(2e6), ())


def test_a_run_that_kept_up_stands_for_one_that_did_not():
    rows = [
        open_row("13", "mq", 20, 900.0, round=1, saturated=True),
        open_row("13", "mq", 20, 5.0, round=2),
    ]
    found = [p for p in points_in("13", rows) if p.quantity == "latency_ms_mean"]
    assert [(point.value, point.states) for point in found] == [(5.0, ())]


def throughputs(rows):
    return [point for point in points_in("13", rows) if point.quantity == "throughput_tps"]
