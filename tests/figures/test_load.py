"""What is read for figures, and what each figure must say of itself."""

from __future__ import annotations

import os

import pytest

from experiments.judging import claims
from figures import load
from operators.contract import UsageError
from tests.figures.drawn import results_of, table_of
from tests.invented import (
    DECLARED,
    PAPER,
    as_in_the_paper,
    of_every_figure,
    points_over,
    row,
    two,
    write_raw,
)
from tests.second_paper import FIGURES, SECOND


def footer_of(results, figure, verdicts=None):
    return load.footer_of(results, PAPER, DECLARED[figure], verdicts)


@pytest.mark.parametrize(
    ("pairs", "told"),
    [
        (1, "one pair of equal runs: 2.0 % apart in throughput"),
        (2, "2 pairs of equal runs: 2.0 % apart in throughput"),
        (3, "3 pairs of equal runs were up to 2.0 % apart in throughput: less says nothing"),
    ],
)
def test_the_footer_says_how_many_equal_runs_the_floor_rests_on(pairs, told, tmp_path):
    rows = []
    for repetition in range(1, pairs + 1):
        given = {"repetition": repetition, "throughput_tps": 1e6}
        rows.append(row("13", "mq", 20, **given))
        rows.append(row("13", "mq", 20, **given | {"throughput_tps": 1.02e6}, phase="control"))
    results = results_of(tmp_path, rows)
    assert told in footer_of(results, "13")
    assert results.floor_of(PAPER, DECLARED["13"]) == pytest.approx(1.02)
    # Of another figure they say nothing.
    assert results.floor_of(PAPER, DECLARED["18"]) is None
    without = footer_of(results_of(tmp_path / "without", rows[:1]), "13")
    assert not any("equal runs" in line for line in without)


def test_figures_over_inputs_say_at_which_share_of_the_throughput_the_latency_is(tmp_path):
    results = results_of(tmp_path, as_in_the_paper(repetitions=1))
    told = "latency at 70 % of each variant's own throughput"
    for figure in ("13", "14", "16"):
        assert told in footer_of(results, figure)
    # Which shares the rows of figure 9 with figure 14, and has more of them.
    assert told not in footer_of(results, "9")


def test_a_footer_speaks_of_the_rows_that_its_figure_shows(tmp_path):
    rows = points_over("13", "mq", {4: (1e6, 5.0)}, repetitions=1)
    wrong = {"valid": False, "invalid_reason": "timed out", "throughput_tps": None}
    rows += [row("18", "mq", inputs, profile="laptop", **wrong) for inputs in (1, 4)]
    results = results_of(tmp_path, rows)
    told = "; ".join(footer_of(results, "13"))
    assert "profile quick, n = 1" in told and "invalid" not in told
    told = "; ".join(footer_of(results, "18"))
    assert "profile laptop" in told and "2 of 2 runs are invalid and not drawn" in told
    assert footer_of(results, "23") == ["nothing was measured for this figure"]


def test_the_points_of_two_papers_are_remembered_apart(tmp_path):
    results = results_of(tmp_path, of_every_figure(repetitions=1, figures=("8", "18")))
    ours = results.points(PAPER, DECLARED["8"])
    theirs = results.points(SECOND, FIGURES[1])
    assert {point.subject for point in ours} == {"K-OS"}
    assert {point.subject for point in theirs} == {"w-OS"}
    assert results.points(PAPER, DECLARED["8"]) is ours


def test_a_table_says_which_paper_and_figure_it_is_of(tmp_path):
    results = results_of(tmp_path, two())
    ours = table_of(results, "13")
    theirs = table_of(results, FIGURES[0], paper=SECOND)
    named = ["paper", "figure", "subject"]
    assert ours[named].drop_duplicates().values.tolist() == [[PAPER, "13", "k-OS"]]
    assert theirs[named].drop_duplicates().values.tolist() == [[SECOND, "5f", "k-OS"]]
    assert ours.drop(columns=named).equals(theirs.drop(columns=named))


# Sets of results: each has a folder, by its label.


def judged(root, label, changed):
    folder = root / "results" / label
    verdicts = folder / "claims" / f"{PAPER}.json"
    claims.judge(PAPER, write_raw(folder / "raw", two(repetitions=1)), verdicts)
    os.utime(verdicts, (changed, changed))
    return folder


@pytest.fixture
def two_labels(tmp_path, monkeypatch):
    monkeypatch.delenv(load.LABEL, raising=False)
    folders = {"quick": judged(tmp_path, "quick", 2e9), "paper": judged(tmp_path, "paper", 1e9)}
    below = tmp_path / "notebooks" / "deep"
    below.mkdir(parents=True)
    monkeypatch.chdir(below)
    return folders


def test_a_notebook_reads_the_set_that_was_judged_last(two_labels):
    assert load.results_folder() == two_labels["quick"]


def test_a_notebook_reads_the_set_that_it_is_told(two_labels, monkeypatch):
    assert load.results_folder("paper") == two_labels["paper"]
    monkeypatch.setenv(load.LABEL, "paper")
    assert load.results_folder() == two_labels["paper"]
    with pytest.raises(UsageError, match="make them with `make figures`"):
        load.results_folder("laptop")


def test_the_files_and_verdicts_of_a_set_are_its_own(two_labels):
    for folder in two_labels.values():
        verdicts = folder / "claims" / f"{PAPER}.json"
        files = load.judged_files(verdicts)
        assert files and all(file.is_relative_to(folder) for file in files)
        table = load.verdict_table(verdicts)
        assert list(table.columns) == ["quote", "figures", "verdict", "reason"]
        assert "13, 14" in set(table["figures"])
