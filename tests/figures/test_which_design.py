"""Which design for which job: the answers follow from the rows, and turn round with them."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from experiments import papers, series
from experiments.judging import claims
from figures import which_design
from figures.page_data import questions_of, read_page
from figures.which_design import FEW, Question, answer_of
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
    assert "alike with" in which_design.section([data])


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


def test_the_section_says_how_far_to_believe_and_that_nothing_was_measured(tmp_path):
    two = {"repetitions": 2, "cores": 2}
    rows = [row for variant, tps in (("mq", 1e6), ("tumlsc", 3e6))
            for row in points_over("13", variant, {20: (tps, 5.0)}, **two)]  # fmt: skip
    text = which_design.section([read(tmp_path, rows)])
    lines = re.findall(r'<tr id="(.*?)".*?</tr>', text)
    assert lines == [f"which-design-{PAPER}-{each.id}" for each in questions_of(PAPER)]
    assert "2 of 6 processes that an interval needs" in text
    assert "more threads than cores in 1 of 1" in text
    assert "not measured in this set" in text


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


def test_the_page_on_five_questions_names_rows_that_exist():
    page = (Path(__file__).parents[2] / "docs" / "five-questions.md").read_text("utf-8")
    named = set(re.findall(r"`(which-design-[\w-]+)`", page))
    there = {
        f"{which_design.PLACE}-{paper}-{each.id}"
        for paper in papers.paper_names()
        for each in questions_of(paper)
    }
    assert len(named) >= 5 and named <= there
