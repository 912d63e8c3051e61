"""The recommendation of designs: computed from the points alone, with all qualifications."""

from __future__ import annotations

import html
import re

import pytest

from figures.multiway_aggregation import recommendations
from tests.figures import drawn
from tests.invented import floors, points_of_durations, points_over, row


def results_of(folder, *parts, times=1.0):
    """Return rows as figures read them, where equal runs differ by a factor of `times`."""
    return drawn.results_of(folder, [each for part in parts for each in part], floors(times))


def throughputs(figure, values, inputs=20, **given):
    """Return rows of three repetitions from {series: throughput}."""
    return [
        each
        for series, value in values.items()
        for each in points_over(figure, series, {inputs: (value, 5.0)}, **given)
    ]


def text_of(results):
    return html.unescape(re.sub(r"<[^>]*>", "", recommendations.section(results)))


def test_the_fastest_design_is_named_with_its_ratio_and_interval(tmp_path):
    results = results_of(tmp_path, throughputs("13", {"mq": 1e6, "mqlf": 2e6, "tumlsc": 3e6}))
    told = text_of(results)
    assert "20 inputs, of the paper's designs: TuMLSC is the fastest, at 1.50 [1.50, 1.50]" in told


def test_designs_that_differ_by_less_than_equal_runs_are_alike(tmp_path):
    rows = throughputs("13", {"mqlf": 1e6, "tumlsc": 1.02e6})
    results = results_of(tmp_path, rows, times=1.05)
    (choice,) = recommendations.choices(results)
    assert choice.winners(choice.paper) == ["tumlsc", "mqlf"]
    told = text_of(results)
    assert "TuMLSC has the highest throughput, at 1.02 [1.02, 1.02] times the throughput of" in told
    assert "the best other one; MQLF cannot be told apart from it." in told
    more = throughputs("14", {"mqlf": 1e6, "tumlsc": 2e6})
    told = text_of(results_of(tmp_path / "two", rows, more, times=1.05))
    assert "TuMLSC is the fastest or alike with it on all 2 queries" in told
    assert "so is MQLF on 1." in told


def test_few_inputs_are_where_ours_were_measured_too(tmp_path):
    papers = {"mq": 1e6, "tumlsc": 2e6}
    low = throughputs("14", papers, 1)
    middle = throughputs("14", {**papers, "mqlf-rings": 5e6}, 2)
    high = throughputs("14", {**papers, "mqlf-rings": 3e6})
    found = recommendations.choices(results_of(tmp_path, low, middle, high))
    assert [(choice.place, choice.inputs) for choice in found] == [("few", 2), ("many", 20)]
    found = recommendations.choices(results_of(tmp_path / "quick", low, high))
    assert [(choice.place, choice.inputs) for choice in found] == [("few", 1), ("many", 20)]


def test_our_variants_are_set_beside_the_papers_best(tmp_path):
    values = {"mq": 1e6, "tumlsc": 2e6, "mqlf-rings": 5e6, "tumlsc:unit_divisor=10": 9e6}
    told = text_of(results_of(tmp_path, throughputs("14", values)))
    assert "Of all designs measured: MQLF, rings is the fastest, at 2.50" in told
    assert "The best one has 2.50 [2.50, 2.50] times the throughput of the paper's best" in told
    assert "unit" not in told


def test_one_query_with_more_designs_speaks_for_all_designs(tmp_path):
    wide = throughputs("16", {"mq": 1e6, "wiml": 2e6, "tumlsc": 3e6, "private-panes": 9e6})
    narrow = throughputs("20", {"mq": 1e6, "wiml": 2e6, "tumlsc": 3e6})
    told = text_of(results_of(tmp_path, wide, narrow))
    assert "WiML is the fastest on all 2 queries, at 2.00 times" in told
    assert "Of all designs measured: Private panes is the fastest, at 3.00" in told


QUEUES_FIRST = {"mq": 1e6, "mqlf": 4e6, "tumlsc": 2e6}
GATE_FIRST = {"mq": 1e6, "mqlf": 2e6, "tumlsc": 4e6}


@pytest.mark.parametrize(
    ("values", "verdict"),
    [
        (QUEUES_FIRST, "a lock-free multi-queue beats the ScaleGate, which the paper's machine"),
        (GATE_FIRST, "As in the paper, the ScaleGate beats the lock-free multi-queue here."),
        ({"mqlf": 1e6, "tumlsc": 1e6}, "Neither the ScaleGate nor the lock-free multi-queue"),
    ],
)
def test_lock_free_queues_and_the_gate_are_compared_by_what_was_measured(values, verdict, tmp_path):
    told = text_of(results_of(tmp_path, throughputs("13", values)))
    assert verdict in told
    assert "TuMLSC has the highest throughput at 20 inputs" in told


def test_the_reason_is_told_only_where_the_durations_bear_it_out(tmp_path):
    rows = throughputs("13", QUEUES_FIRST)
    reason = "costs more of it in all"
    assert reason not in text_of(results_of(tmp_path / "none", rows))
    # Figure 14 has the same rows, where the queues are ahead as well.
    gate = points_of_durations("8", "tumlsc", (900.0, 300.0), throughput=2e6)
    cheap = points_of_durations("8", "mqlf", (100.0, 400.0), throughput=4e6)
    assert reason in text_of(results_of(tmp_path / "cheap", rows, gate, cheap))
    dear = points_of_durations("8", "mqlf", (100.0, 4000.0), throughput=4e6)
    assert reason not in text_of(results_of(tmp_path / "dear", rows, gate, dear))


def test_what_is_measured_for_figure_8_is_a_choice_of_figure_14(tmp_path):
    rows = points_of_durations("8", "mq", (400.0, 800.0), throughput=1e6)
    rows += points_of_durations("8", "tumlsc", (900.0, 300.0), throughput=2e6)
    (choice,) = recommendations.choices(results_of(tmp_path, rows))
    assert (choice.figure, choice.query, choice.inputs) == ("14", "K-OS", 20)
    assert [point.variant for point in choice.paper] == ["tumlsc", "mq"]


def test_tumlmc_is_held_against_the_same_query_and_inputs(tmp_path):
    rows = throughputs("13", {"mq": 1e6, "tumlsc": 2e6})
    for inputs, values in ((20, {1: (1e6, 5.0), 4: (3e6, 5.0)}), (2, {1: (9e6, 5.0)})):
        rows += points_over("28", "tumlmc", values, at={"inputs": inputs})
    told = text_of(results_of(tmp_path, rows))
    assert "its best number of update threads (4) 1.50 times" in told
    # With a single process nothing can be chosen and judged.
    one = [each for each in rows if each["repetition"] == 1]
    assert "update threads" not in text_of(results_of(tmp_path / "one", one))


def test_the_best_number_of_update_threads_is_chosen_by_some_and_judged_by_others(tmp_path):
    rows = throughputs("13", {"tumlsc": 2e6}, repetitions=4)
    for process, tps in enumerate((9e6, 1e6, 9e6, 1e6), start=1):
        values = {1: (2e6, 5.0), 4: (tps, 5.0)}
        given = {"repetitions": 1, "repetition": process}
        rows += points_over("28", "tumlmc", values, at={"inputs": 20}, **given)
    told = text_of(results_of(tmp_path, rows))
    assert re.search(r"update threads \(4\) 0\.49 \[0\.49, 0\.50\] times", told)


def test_what_could_not_keep_up_is_left_out(tmp_path):
    rows = throughputs("13", {"mq": 1e6, "tumlsc": 2e6, "mqlf": 9e6})
    rows = [
        each | {"saturated": each["variant"] == "mqlf" and each["phase"] == "open"} for each in rows
    ]
    told = text_of(results_of(tmp_path, rows))
    assert (
        "TuMLSC is the fastest, at 2.00 [2.00, 2.00] times the throughput of the best other one"
        in told
    )


def test_what_limits_it_is_said(tmp_path):
    results = results_of(tmp_path, throughputs("13", {"mq": 1e6}, cores=2, repetitions=1))
    told = text_of(results)
    assert "take this as a hint" in told
    assert "more threads than cores" in told
    assert recommendations.heading(results) == "What should a user of two cores pick?"
    many = results_of(tmp_path / "six", throughputs("13", {"mq": 1e6}, repetitions=6))
    assert "take this as a hint" not in text_of(many)


def test_nothing_is_said_where_nothing_was_measured(tmp_path):
    wrong = {"valid": False, "invalid_reason": "timed out", "throughput_tps": None}
    assert recommendations.section(results_of(tmp_path, [row("13", "mq", 20, **wrong)])) == ""
