"""Which design for which job: the answers follow from the rows, and turn round with them."""

from __future__ import annotations

import pytest

from experiments import papers, series
from experiments.judging import claims
from figures.page_data import questions_of, read_page
from figures.which_design import FEW, Question, answer_of, nearest_value
from tests.invented import PAPER, equal_runs, points_over, write_raw

SIX = {"repetitions": 6, "cores": 32}
ORDER = Question("order", "Order, {at} inputs", ("13", "14"), setting="inputs")


def read(folder, rows):
    files = write_raw(folder / "raw", [*rows, *equal_runs(1.1, 1.1)])
    claims.judge(PAPER, files, folder / "claims" / f"{PAPER}.json")
    return read_page(folder, PAPER)


def at_20(figure, **throughputs):
    return [row for variant, tps in throughputs.items()
            for row in points_over(figure, variant, {20: (tps, 5.0)}, **SIX)]  # fmt: skip


@pytest.mark.parametrize(("mq", "tumlsc", "best"), [(1e6, 3e6, "tumlsc"), (3e6, 1e6, "mq")])
def test_the_answer_turns_round_with_the_rows(tmp_path, mq, tumlsc, best):
    data = read(tmp_path, at_20("13", mq=mq, tumlsc=tumlsc) + at_20("14", mq=mq, tumlsc=tumlsc))
    found = answer_of(ORDER, data)
    assert (found.best, found.alike, found.over_all) == (best, (), ())
    assert (found.at, found.leads, found.of) == (20, 2, 2)
    assert found.pool.spread.value == pytest.approx(3.0)


def test_designs_within_the_noise_are_alike(tmp_path):
    data = read(tmp_path, at_20("13", mq=1e6, tumlsc=1.01e6))
    found = answer_of(ORDER, data)
    assert {found.best, *found.alike} == {"mq", "tumlsc"}
    assert found.alike and found.best not in found.alike


def test_a_design_that_leads_fewer_settings_by_far_is_named_too(tmp_path):
    rows = at_20("13", mq=1.3e6, tumlsc=1e6) + at_20("14", mq=1e6, tumlsc=40e6)
    rows += at_20("18", mq=1.3e6, tumlsc=1e6)
    data = read(tmp_path, rows)
    found = answer_of(Question("order", "", ("13", "14", "18"), setting="inputs"), data)
    assert found.best == "mq" and (found.leads, found.of) == (2, 3)
    assert "tumlsc" in (*found.alike, *found.over_all)


def test_the_axis_is_asked_where_designs_can_be_compared(tmp_path):
    rows = at_20("13", mq=1e6)
    for variant, tps in (("mq", 2e6), ("tumlsc", 1e6)):
        rows += points_over("13", variant, {1: (tps, 5.0), 8: (tps, 5.0)}, **SIX)
    data = read(tmp_path, rows)
    assert answer_of(ORDER, data).at == 8
    assert answer_of(Question("few", "", ("13",), setting="inputs", at=FEW), data).at == 8
    assert answer_of(Question("one", "", ("13",), setting="inputs", at=1), data).best == "mq"
    assert answer_of(Question("two", "", ("13",), setting="inputs", at=2), data).best == ""


def test_less_is_better_of_a_latency(tmp_path):
    rows = points_over("13", "mq", {20: (1e6, 2.0)}, **SIX)
    rows += points_over("13", "tumlsc", {20: (1e6, 8.0)}, **SIX)
    found = answer_of(Question("l", "", ("13",), "latency_ms_mean", "inputs"), read(tmp_path, rows))
    assert found.best == "mq" and 1 / found.pool.spread.value == pytest.approx(4.0)


def test_an_answer_names_the_next_one_and_says_what_it_is_paid_with(tmp_path):
    rows = points_over("13", "mq", {20: (1e6, 5.0)}, **SIX)
    rows += points_over("13", "mqlf", {20: (2e6, 2.0)}, **SIX)
    rows += points_over("13", "tumlsc", {20: (6e6, 10.0)}, **SIX)
    found = answer_of(ORDER, read(tmp_path, rows))
    assert (found.best, found.next, found.cost) == ("tumlsc", "mqlf", "latency_ms_mean")
    assert found.pool.spread.value == pytest.approx(3.0)
    assert found.paid.spread.value == pytest.approx(5.0)
    assert len(found.fractions) == 1


def test_a_latency_is_paid_with_throughput(tmp_path):
    rows = points_over("13", "mq", {20: (1e6, 2.0)}, **SIX)
    rows += points_over("13", "tumlsc", {20: (4e6, 8.0)}, **SIX)
    found = answer_of(Question("l", "", ("13",), "latency_ms_mean", "inputs"), read(tmp_path, rows))
    assert found.cost == "throughput_tps"
    assert found.paid.spread.value == pytest.approx(0.25)


def test_one_of_ours_that_is_ahead_is_named_and_not_picked(tmp_path):
    rows = at_20("14", mq=1e6, tumlsc=3e6) + at_20("14", **{"tumlsc-batch": 6e6})
    data = read(tmp_path, rows)
    found = answer_of(ORDER, data)
    assert (found.best, found.ours) == ("tumlsc", "tumlsc-batch")
    assert found.ours_pool.spread.value == pytest.approx(2.0)
    slow = at_20("14", mq=1e6, tumlsc=3e6) + at_20("14", **{"tumlsc-batch": 2e6})
    assert answer_of(ORDER, read(tmp_path / "slow", slow)).ours == ""
    of_two = Question("two", "", ("14",), setting="inputs", lines=("tumlsc", "mq"))
    assert answer_of(of_two, data).ours == ""


def test_the_nearest_measured_value_is_by_ratio(tmp_path):
    values = {1: (1e6, 5.0), 4: (1e6, 5.0)}
    rows = points_over("13", "mq", values, **SIX) + points_over("13", "tumlsc", values, **SIX)
    data = read(tmp_path, rows)
    asked = {at: nearest_value(Question("q", "", ("13",), setting="inputs", at=at), data)
             for at in (1, 2, 3, 20)}  # fmt: skip
    # 2 is as near to 1 as to 4.
    assert asked == {1: 1, 2: 4, 3: 4, 20: 4}


@pytest.mark.parametrize("paper", papers.paper_names())
def test_questions_name_figures_designs_and_quantities_that_exist(paper):
    questions = questions_of(paper)
    assert questions and len({each.id for each in questions}) == len(questions)
    for question in questions:
        figures = [papers.figure(paper, name) for name in question.figures]
        assert len({figure.family for figure in figures}) == 1
        for figure in figures:
            assert question.quantity in figure.quantities
            swept = {each.setting for each in figure.free}
            assert not question.setting or question.setting in swept
        measured = {line for figure in figures for line in series.measured(figure)}
        assert set(question.lines) <= measured
