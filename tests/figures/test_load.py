"""The data read for figures, and the statements that each figure must carry."""

from __future__ import annotations

import os
from dataclasses import replace

import pytest

from experiments.judging import claims
from experiments.judging.floors import Floors
from figures import load
from figures.draw import draw
from figures.view import View
from operators.contract import UsageError
from tests import invented_ordered as ordered
from tests import invented_scalejoin as joins
from tests import invented_streamcloud as queries
from tests.figures.drawn import results_of, table_of
from tests.invented import (
    DECLARED,
    PAPER,
    as_in_the_paper,
    equal_runs,
    floors,
    of_every_figure,
    open_row,
    points_over,
    row,
    two,
    write_raw,
)
from tests.second_paper import FIGURES, SECOND


def footer_of(results, figure, verdicts=None):
    return load.footer_of(results, View(DECLARED[figure]), verdicts)


def both_runs(inputs=20):
    """Return a closed run and an open one, with two cores."""
    closed = row("13", "mq", inputs, cores=2)
    return [closed, open_row("13", "mq", inputs, 5.0, cores=2)]


def test_one_floor_is_used_by_every_figure_and_told(tmp_path):
    rows = [*both_runs(), row("18", "mq", 20, cores=2)]
    results = results_of(tmp_path, [*rows, *equal_runs(1.1, latency=1.3, cores=2)])
    told = "equal runs differ at most: throughput 10 %; latency 30 %; between processes 0 %"
    assert told in footer_of(results, "13")
    # Another figure says the same: there is one floor a machine. This figure shows no latency.
    told = "equal runs differ at most: throughput 10 %; between processes 0 %"
    assert told in footer_of(results, "18")
    assert results.floors.of("throughput_tps", True).factor == pytest.approx(1.1)


def test_the_floors_of_a_figure_are_those_that_its_verdicts_were_given_by(tmp_path):
    files = write_raw(tmp_path / "raw", two())
    others = write_raw(tmp_path / "others", equal_runs(1.1))
    verdicts = tmp_path / "verdicts.json"
    claims.judge(PAPER, files, verdicts, [*files, *others])
    for results in (load.read(files, verdicts), load.judged(verdicts)):
        assert results.floors.of("throughput_tps", False).factor == pytest.approx(1.1)
        assert results.raw.rows == load.read(files).raw.rows
    assert load.read(files).floors.of("throughput_tps", False) is None


def test_few_equal_runs_are_too_few_to_say(tmp_path):
    told = "equal runs differ at most: throughput too few to say; latency too few to say"
    few = [each for each in equal_runs(1.1, cores=2) if each["round"] < 20][:-7]
    assert told in footer_of(results_of(tmp_path, [*both_runs(), *few]), "13")


def test_the_floor_of_more_threads_than_cores_is_told_apart(tmp_path):
    rows = [*both_runs(1), *both_runs()]
    told = (
        "equal runs differ at most: throughput 10 %, on grey 40 %; latency 10 %, on grey 40 %;"
        " between processes 25 %"
    )
    apart = floors(1.1, oversubscribed=1.4, between=1.25)
    assert told in footer_of(results_of(tmp_path, rows, apart), "13")
    few = Floors({
        place: each._replace(pairs=19 if place[1] else 20) for place, each in apart.floors.items()
    })  # fmt: skip
    told = "throughput 10 %, on grey too few to say"
    assert told in "; ".join(footer_of(results_of(tmp_path / "few", rows, few), "13"))


def test_a_footer_speaks_of_the_quantities_of_its_form(tmp_path):
    shown = replace(DECLARED["13"], quantities=("throughput_tps",))
    results = results_of(tmp_path, both_runs(), floors(1.3))
    footers = [
        "; ".join(load.footer_of(results, View(shown, extended), None))
        for extended in (False, True)
    ]
    for told in ("latency at 70 %", "latency 30 %"):
        assert [told in footer for footer in footers] == [False, True]


def test_the_footer_says_what_may_be_in_flight(tmp_path):
    bounds = {"mq": 20_480, "mqlf": 20_480, "wiml": 30_000}
    rows = [row("16", line, 20, in_flight_tuples=many) for line, many in bounds.items()]
    told = footer_of(results_of(tmp_path, rows), "16")
    assert "in flight at most: WiML 30,000, MQ and MQLF 20,480 tuples" in told
    told = footer_of(results_of(tmp_path / "some", rows[:2]), "16")
    assert "in flight at most: 20,480 tuples" in told
    rows = [row("16", "mq", 20, in_flight_tuples=None)]
    told = footer_of(results_of(tmp_path / "none", rows), "16")
    assert not any("in flight" in line for line in told)


def test_of_what_is_counted_it_does_not_say_what_may_be_in_flight(tmp_path):
    found = {}
    for figure in ("7e", "7ex"):
        rows = queries.rows_at(
            figure, "subquery-cluster", {"instances": 1, "window": 8_000}, in_flight_tuples=20_480
        )
        results = results_of(tmp_path / figure, rows)
        told = load.footer_of(results, View(queries.DECLARED[figure], False), None)
        found[figure] = any("in flight" in line for line in told)
    assert found == {"7e": True, "7ex": False}


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
    assert "profile quick; n = 2 processes of 3 rounds" in told
    assert "latency at 70 % of own throughput, 50 samples a value" in told


def test_only_runs_of_the_kinds_that_are_drawn_are_counted(tmp_path):
    # Two rounds: of closed runs in each, a search in the first, and one real-time run in all.
    told = {}
    for name in ("6a", "7b", "7x"):
        figure = joins.DECLARED[name]
        (at, *_) = joins.places_of(figure)
        given = joins.rows_at(figure, "scale-join", at, repetitions=6)
        again = [{**each, "round": 2} for each in given if each["phase"] == "closed"]
        results = results_of(tmp_path / name, [*given, *again])
        footer = load.footer_of(results, View(figure), None)
        told[name] = next(line for line in footer if line.startswith(load.COUNTED))
    assert told == {
        "6a": "n = 6 processes of 2 rounds",
        "7b": "n = 6 processes",
        "7x": "n = 1 run",
    }


def test_kinds_of_run_that_are_made_more_or_less_often_are_told_by_their_ends(tmp_path):
    rows = [row("13", "mq", 4, repetition=process, round=number)
            for process in (1, 2) for number in (1, 2, 3)]  # fmt: skip
    rows.append(open_row("13", "mq", 4, 5.0))
    told = footer_of(results_of(tmp_path, rows), "13")
    assert "n = 1 to 2 processes of up to 3 rounds" in told


def test_points_with_more_or_fewer_processes_are_told_by_their_ends(tmp_path):
    rows = [row("13", "mq", inputs, repetition=process)
            for inputs, processes in ((4, 9), (8, 3)) for process in range(processes)]  # fmt: skip
    assert "n = 3 to 9 processes" in footer_of(results_of(tmp_path, rows), "13")


def test_output_is_told_where_all_tuples_made_about_as_much(tmp_path):
    rows = [row("13", "mq", inputs, tuples=1_000, outputs=made)
            for inputs, made in ((1, 200), (4, 220), (20, 210))]  # fmt: skip
    told = "; ".join(footer_of(results_of(tmp_path / "alike", rows), "13"))
    assert "(generated), 0.21 rows out a tuple" in told
    rows.append(row("13", "mqlf", 20, tuples=1_000, outputs=2_000))
    told = "; ".join(footer_of(results_of(tmp_path / "apart", rows), "13"))
    assert "(generated)" in told and "rows out" not in told


def test_the_rate_common_to_all_is_told_where_it_is_shown(tmp_path):
    common = open_row("13", "mq", 4, 5.0, phase="common", offered_tps=4e5, rate_fraction=0.4)
    shown = replace(DECLARED["13"], extended_quantities=("common_latency_ms_mean",))
    results = results_of(tmp_path, [row("13", "mq", 4), common])
    told = "; ".join(load.footer_of(results, View(shown, extended=True), None))
    assert "common rate 400 thousand tuples/s" in told
    assert "common rate" not in "; ".join(load.footer_of(results, View(shown), None))


def test_figures_over_inputs_say_at_which_share_of_the_throughput_the_latency_is(tmp_path):
    results = results_of(tmp_path, as_in_the_paper(repetitions=1))
    told = "latency at 70 % of own throughput"
    for figure in ("13", "14", "16"):
        assert any(told in line for line in footer_of(results, figure))
    # Figure 9 shares these rows with figure 14, and has more of them.
    assert not any(told in line for line in footer_of(results, "9"))


def test_a_footer_speaks_of_the_rows_that_its_figure_shows(tmp_path):
    rows = points_over("13", "mq", {4: (1e6, 5.0)}, repetitions=1)
    wrong = {"valid": False, "invalid_reason": "timed out", "throughput_tps": None}
    rows += [row("18", "mq", inputs, profile="laptop", **wrong) for inputs in (1, 4)]
    results = results_of(tmp_path, rows)
    told = "; ".join(footer_of(results, "13"))
    assert "profile quick; n = 1 run" in told and "invalid" not in told
    told = "; ".join(footer_of(results, "18"))
    assert "profile laptop" in told and "2 of 2 runs invalid" in told
    assert footer_of(results, "23") == ["nothing was measured for this figure"]


def test_the_points_of_two_papers_are_remembered_apart(tmp_path):
    results = results_of(tmp_path, of_every_figure(repetitions=1, figures=("8", "18")))
    ours = results.points(DECLARED["8"])
    theirs = results.points(FIGURES[1])
    assert {point.subject for point in ours} == {"K-OS"}
    assert {point.subject for point in theirs} == {"w-OS"}
    assert results.points(DECLARED["8"]) is ours


def test_a_table_says_which_paper_and_figure_it_is_of(tmp_path):
    results = results_of(tmp_path, two())
    ours = table_of(results, "13")
    theirs = table_of(results, FIGURES[0])
    named = ["paper", "figure", "subject"]
    assert ours[named].drop_duplicates().values.tolist() == [[PAPER, "13", "k-OS"]]
    assert theirs[named].drop_duplicates().values.tolist() == [[SECOND, "5f", "k-OS"]]
    assert ours.drop(columns=named).equals(theirs.drop(columns=named))


# Sets of results: each has a folder, named by its label.


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


def test_what_is_noted_stands_under_the_picture_and_in_its_csv(tmp_path):
    def turns(passed_over):
        return {"sent": 100, "with_a_choice": 90, "held_back": 0, "passed_over": passed_over}

    some = {("qst", "q1"): 8, ("qst", "q2"): 61, ("lp", "q1"): 40}
    rows = [
        row
        for (line, query), many in some.items()
        for row in ordered.rows_at("8", line, {"query": query, "workers": 2}, turns=turns(many))
    ]
    results, figure = results_of(tmp_path, rows), ordered.DECLARED["8"]
    told = load.footer_of(results, View(figure), None)
    name = "share of the turns in which the earliest operator that could be worked on was passed"
    assert f"{name} over: LP 40 %; QST 8 to 61 %" in told
    # The extended form has a panel of it.
    assert not any(name in line for line in load.footer_of(results, View(figure, True), None))
    table = draw("ordered_processing", "8", results).table
    own = table[table["panel"] == "turns_passed_over"]
    assert sorted(own["value"]) == [0.08, 0.4, 0.61]
