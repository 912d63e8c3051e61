"""What is read for figures, and what each figure must say of itself."""

from __future__ import annotations

import os
from dataclasses import replace

import pytest

from experiments.judging import claims
from figures import load
from operators.contract import UsageError
from tests.figures.drawn import equal_to, results_of, table_of
from tests.invented import (
    DECLARED,
    PAPER,
    as_in_the_paper,
    of_every_figure,
    open_row,
    points_over,
    row,
    two,
    write_raw,
)
from tests.second_paper import FIGURES, SECOND


def footer_of(results, figure, verdicts=None):
    return load.footer_of(results, PAPER, DECLARED[figure], verdicts)


def test_one_floor_is_used_by_every_figure_and_told_with_its_pairs(tmp_path):
    rows = []
    for process in (1, 2, 3):
        closed = row("13", "mq", 20, repetition=process)
        offered = open_row("13", "mq", 20, 5.0, repetition=process)
        rows += [closed, offered, equal_to(closed, 1.1), equal_to(offered, 1.3)]
    rows.append(row("18", "mq", 20))
    results = results_of(tmp_path, rows)
    told = "equal runs differ by up to 10 % in throughput (3 pairs), 30 % in latency (3)"
    assert told in footer_of(results, "13")
    # Of another figure they say the same: there is one floor a machine.
    assert told in footer_of(results, "18")
    assert results.floors.of("throughput_tps", False).factor == pytest.approx(1.1)
    without = footer_of(results_of(tmp_path / "without", rows[:1]), "13")
    assert not any("equal runs" in line for line in without)


def test_the_floor_of_more_threads_than_cores_is_told_apart(tmp_path):
    few, many = row("13", "mq", 1, cores=2), row("13", "mq", 20, cores=2)
    alone = results_of(tmp_path / "alone", [many, equal_to(many, 1.4)])
    assert (
        "equal runs, with more threads than cores, differ by up to 40 % in throughput (1 pair)"
        in footer_of(alone, "13")
    )
    both = results_of(tmp_path, [few, many, equal_to(few, 1.1), equal_to(many, 1.4)])
    assert (
        "equal runs differ by up to 10 % in throughput (1 pair); with more threads than cores by"
        " up to 40 % in throughput (1)" in footer_of(both, "13")
    )


def test_the_footer_says_what_may_be_in_flight(tmp_path):
    bounds = {"mq": 20_480, "mqlf": 20_480, "wiml": 30_000}
    rows = [row("16", line, 20, in_flight_tuples=many) for line, many in bounds.items()]
    told = footer_of(results_of(tmp_path, rows), "16")
    assert "in flight at most: WiML 30,000, MQ and MQLF 20,480 tuples" in told
    told = footer_of(results_of(tmp_path / "some", rows[:2]), "16")
    assert "in flight at most: all 20,480 tuples" in told
    rows = [row("16", "mq", 20, in_flight_tuples=None)]
    told = footer_of(results_of(tmp_path / "none", rows), "16")
    assert not any("in flight" in line for line in told)


def test_the_footer_says_how_many_processes_rounds_and_latencies_there_are(tmp_path):
    rows = [
        each
        for process in (1, 2)
        for number in (1, 2, 3)
        for each in (
            row("13", "mq", 4, repetition=process, round=number),
            open_row("13", "mq", 4, 5.0, repetition=process, round=number),
        )
    ]
    told = "; ".join(footer_of(results_of(tmp_path, rows), "13"))
    assert "profile quick, n = 2 processes of 3 rounds" in told
    assert "50 latencies a value" in told


def test_the_rate_common_to_all_is_told_where_it_is_shown(tmp_path):
    common = open_row("13", "mq", 4, 5.0, phase="common", offered_tps=4e5, rate_fraction=0.4)
    shown = replace(DECLARED["13"], extended_quantities=("common_latency_ms_mean",))
    results = results_of(tmp_path, [row("13", "mq", 4), common])
    told = "; ".join(load.footer_of(results, PAPER, shown, None, extended=True))
    assert "common rate 400 thousand tuples/s" in told
    assert "common rate" not in "; ".join(load.footer_of(results, PAPER, shown, None))


def test_figures_over_inputs_say_at_which_share_of_the_throughput_the_latency_is(tmp_path):
    results = results_of(tmp_path, as_in_the_paper(repetitions=1))
    told = "latency at 70 % of own throughput"
    for figure in ("13", "14", "16"):
        assert any(told in line for line in footer_of(results, figure))
    # Which shares the rows of figure 9 with figure 14, and has more of them.
    assert not any(told in line for line in footer_of(results, "9"))


def test_a_footer_speaks_of_the_rows_that_its_figure_shows(tmp_path):
    rows = points_over("13", "mq", {4: (1e6, 5.0)}, repetitions=1)
    wrong = {"valid": False, "invalid_reason": "timed out", "throughput_tps": None}
    rows += [row("18", "mq", inputs, profile="laptop", **wrong) for inputs in (1, 4)]
    results = results_of(tmp_path, rows)
    told = "; ".join(footer_of(results, "13"))
    assert "profile quick, n = 1 process" in told and "invalid" not in told
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
        assert list(table.columns) == ["quote", "figures", "kind", "direction", "reason"]
        assert table["direction"].notna().all()
        assert "13, 14" in set(table["figures"])
