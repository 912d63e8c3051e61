"""Every figure from invented rows: its table, its states in the legend, and equal bytes twice."""

from __future__ import annotations

import pandas as pd
import pytest

from experiments import papers, series
from experiments.declare import LINES
from experiments.judging import claims
from figures import draw as drawing
from figures import load, style
from operators.contract import UsageError
from tests.figures.drawn import dots, picture_of, results_of, table_of, texts
from tests.invented import (
    DECLARED,
    PAPER,
    as_in_the_paper,
    of_every_figure,
    points_over,
    row,
    write_raw,
)
from tests.second_paper import SECOND, THROUGHPUT, add_module, figure, join, second

# One figure of each form and of each axis: what holds for it holds for all of them.
FORMS = ["7", "8", "9", "15", "28"]
BOTH = [False, True]


@pytest.mark.parametrize("figure", DECLARED.values(), ids=DECLARED)
def test_the_papers_variants_are_drawn_and_all_of_them_extended(figure, tmp_path):
    rows = of_every_figure(figures=(figure.id,), repetitions=1)
    results, measured = results_of(tmp_path, rows), series.measured(PAPER, figure)
    assert set(table_of(results, figure)["variant"]) - {"ideal"} == set(figure.lines)
    extended = table_of(results, figure, extended=True)
    assert set(extended["variant"]) - {"ideal"} == set(measured)
    if figure.x != LINES:
        assert {"latency_ms_p50", "latency_ms_p99"} < set(extended["panel"])
    assert set(extended["paper"]) == {PAPER} and set(extended["figure"]) == {figure.id}
    assert set(extended["subject"]) == {figure.subject}
    written = texts(picture_of(extended, figure, extended=True))
    names = {style.look_of(figure.family, line).title for line in measured}
    assert figure.sweeps or names <= set(written)
    assert f"Figure {figure.id}, extended: {figure.caption}" in written


@pytest.mark.parametrize("figure", ["7", "13", "20"])
def test_the_table_holds_value_interval_count_and_state(figure, tmp_path):
    name = DECLARED[figure].lines[0]
    rows = points_over(figure, name, {1: (2e6, 4.0), 20: (1e6, 40.0)}, cores=4, noisy=True)
    table = table_of(results_of(tmp_path, rows), figure)
    assert tuple(table.columns) == load.TABLE
    measured = table[table["variant"] == name].set_index(["panel", "x"])
    one = measured.loc[("throughput_tps", 20)]
    assert one["value"] == pytest.approx(1.01e6)
    assert one["low"] < one["value"] < one["high"]
    assert (one["n"], one["state"], one["unit"]) == (3, "oversubscribed noisy", "t/s")
    assert (one["paper"], one["figure"], one["line"]) == (PAPER, figure, name)
    assert measured.loc[("latency_ms_mean", 1)]["value"] == pytest.approx(4.04)


def test_one_repetition_has_no_interval(tmp_path):
    rows = points_over("13", "mq", {1: (2e6, 4.0)}, repetitions=1)
    table = table_of(results_of(tmp_path, rows), "13")
    assert table["low"].isna().all()
    assert table["high"].isna().all()


def test_invalid_rows_are_never_drawn(tmp_path):
    rows = points_over("13", "mq", {1: (2e6, 4.0)}, repetitions=1)
    wrong = {"valid": False, "invalid_reason": "wrong digest", "digest": "0bad"}
    rows.append(row("13", "mqlf", 1, throughput_tps=9e9, **wrong))
    results = results_of(tmp_path, rows)
    assert "mqlf" not in set(table_of(results, "13")["variant"])
    footer = load.footer_of(results, PAPER, DECLARED["13"], None)
    assert "1 of 3 runs are invalid and not drawn" in footer


def test_a_variant_of_the_paper_that_was_not_measured_is_named(tmp_path):
    rows = points_over("15", "mq", {20: (1e6, 4.0)}, repetitions=1)
    written = texts(picture_of(table_of(results_of(tmp_path, rows), "15"), "15"))
    assert "not measured: MQLF, WiML" in written


ALL_STATES = {
    "saturated": True,
    "cores": 2,
    "noisy": True,
    "steady": False,
    "coarse": True,
}


@pytest.mark.parametrize("name", FORMS)
@pytest.mark.parametrize("extended", BOTH)
def test_every_state_is_in_the_legend_and_only_when_it_occurs(name, extended, tmp_path):
    marked = write_raw(tmp_path / "marked", of_every_figure(figures=(name,), **ALL_STATES))
    written = texts(drawing.draw(PAPER, name, marked, extended=extended).figure)
    states = [title for state, title in style.STATE_TITLES.items() if state != "tied"]
    for title in [*states, "95 % interval"]:
        assert title in written
    # A core for every thread: 20 inputs, 12 update threads, one output thread.
    rows = of_every_figure(64, repetitions=1, figures=(name,))
    plain = write_raw(tmp_path, [r for r in rows if not r["saturated"]])
    written = texts(drawing.draw(PAPER, name, plain, extended=extended).figure)
    for title in [*style.STATE_TITLES.values(), "95 % interval"]:
        assert title not in written


def test_a_state_changes_the_marker(tmp_path):
    rows = points_over("13", "mq", {1: (2e6, 4.0), 20: (1e6, 4.0)}, 1, cores=2)
    drawn = drawing.draw(PAPER, "13", write_raw(tmp_path, rows))
    faces = [line.get_markerfacecolor() for line in dots(drawn.figure.axes[0])]
    assert faces == [style.VERMILLION, "white"]


@pytest.mark.parametrize("name", FORMS)
def test_every_figure_states_machine_repetitions_data_and_verdicts(name, tmp_path):
    files = write_raw(tmp_path, of_every_figure(2, 1, (name,)))
    verdicts = tmp_path / "claims.json"
    claims.judge(PAPER, files, verdicts)
    footer = " ".join(load.footer_of(load.read(files), PAPER, DECLARED[name], verdicts))
    assert "Invented Processor 9000 @ 2.40GHz, 2 cores" in footer
    assert "profile quick, n = 1 (no interval)" in footer
    assert ("tuples made by the driver" if name == "7" else "(generated)") in footer
    assert "statements on this figure: " in footer
    assert "statements on this figure: none" not in footer
    written = texts(drawing.draw(PAPER, name, files, verdicts).figure)
    assert "Invented Processor 9000" in " ".join(written)


@pytest.mark.parametrize("name", FORMS)
@pytest.mark.parametrize("extended", BOTH)
def test_a_figure_without_a_valid_run_says_so(name, extended, tmp_path):
    wrong = {"valid": False, "invalid_reason": "timed out", "throughput_tps": None}
    declared = DECLARED[name]
    rows = [row(name, declared.lines[0], 20, {s.setting: 20 for s in declared.sweeps}, **wrong)]
    drawn = drawing.draw(PAPER, name, write_raw(tmp_path, rows), extended=extended)
    assert "no valid run" in texts(drawn.figure)
    assert "1 of 1 runs are invalid and not drawn" in texts(drawn.figure)


# Files.


def test_equal_data_give_equal_bytes_and_nothing_of_today(tmp_path):
    files = write_raw(tmp_path, of_every_figure(2, 2, tuple(FORMS)))
    verdicts = tmp_path / "claims.json"
    claims.judge(PAPER, files, verdicts)
    for name, extended in [*((form, False) for form in FORMS), ("9", True), ("15", True)]:
        first, second = (
            drawing.draw_figure(PAPER, name, files, verdicts, tmp_path / place / name, extended)
            for place in ("one", "two")
        )
        assert [path.suffix for path in first] == [".pdf", ".svg", ".png", ".csv"]
        for one, two in zip(first, second, strict=True):
            assert one.read_bytes() == two.read_bytes(), one.name
        assert b"CreationDate" not in first[0].read_bytes()
        assert b"<dc:date>" not in first[1].read_bytes()


def test_a_figure_is_drawn_in_both_its_forms_at_once(tmp_path):
    files = write_raw(tmp_path, of_every_figure(2, 1, ("13",)))
    paths = drawing.draw_forms(PAPER, "13", files, None, tmp_path / "drawn")
    kinds = ("pdf", "svg", "png", "csv")
    names = [f"fig_13{form}.{kind}" for form in ("", "_extended") for kind in kinds]
    assert [path.name for path in paths] == names
    assert all(path.stat().st_size > 0 for path in paths)


def test_the_csv_is_the_table(tmp_path):
    files = write_raw(tmp_path, as_in_the_paper(repetitions=1))
    paths = drawing.draw_figure(PAPER, "13", files, None, tmp_path / "fig_13")
    table = table_of(load.read(files), "13")
    again = pd.read_csv(
        paths[3], keep_default_na=False, na_values={"low": [""], "high": [""]},
        dtype={"figure": str},
    )  # fmt: skip
    pd.testing.assert_frame_equal(again, table, check_dtype=False, rtol=1e-5)


# Which figure, of which paper, in which form.


def test_an_unknown_figure_or_paper_is_an_error_that_lists_those_there_are():
    with pytest.raises(UsageError, match="'99' of multiway_aggregation; there are: 7, .* 13"):
        drawing.draw(PAPER, "99", [])
    with pytest.raises(UsageError, match="'no_such_paper'; papers are: .*multiway_aggregation"):
        drawing.draw("no_such_paper", "13", [])


def test_figures_of_one_id_in_two_papers_are_drawn_apart(tmp_path, monkeypatch):
    join(monkeypatch, tmp_path)
    theirs = second().figures[1]
    rows = of_every_figure(2, 1, ("8",)) + points_over(theirs, "tumlsc", {4: (9e6, 1.0)}, 1)
    files = write_raw(tmp_path / "raw", rows)
    verdicts = {name: tmp_path / f"{name}.json" for name in (PAPER, SECOND)}
    drawn = {}
    for name, path in verdicts.items():
        claims.judge(name, files, path)
        drawn[name] = drawing.draw(name, "8", files, path)
        assert set(drawn[name].table["paper"]) == {name}
        assert set(drawn[name].table["figure"]) == {"8"}
    assert set(drawn[PAPER].table["subject"]) == {"K-OS"}
    table = drawn[SECOND].table
    assert set(table["subject"]) == {"w-OS"}
    measured = table[table["variant"] != "ideal"]
    assert sorted(zip(measured["variant"], measured["value"], strict=True)) == [
        ("tumlsc", 1.0),
        ("tumlsc", 9e6),
    ]
    # Nor are statements on the other's figure counted.
    assert "statements on this figure: 1 not testable here" in texts(drawn[SECOND].figure)


def test_a_panel_is_drawn_into_files_of_its_name(tmp_path, monkeypatch):
    join(monkeypatch, tmp_path)
    paths = drawing.draw_forms(SECOND, "8a", [], None, tmp_path / "drawn")
    assert {path.stem for path in paths} == {"fig_08a", "fig_08a_extended"}
    for figure_id in ("5f", "8a", "10c"):
        drawn = drawing.draw(SECOND, figure_id, [])
        declared = papers.figure(SECOND, figure_id)
        assert f"Figure {figure_id}: {declared.caption}" in texts(drawn.figure)


def test_a_form_that_does_not_exist_is_an_error_that_lists_those_there_are(tmp_path, monkeypatch):
    join(monkeypatch, tmp_path, second(figure("8a", form="pie")))
    told = "figure 8a of second_paper has the unknown form 'pie'; there are: bars, curves, dots"
    with pytest.raises(UsageError, match=told):
        drawing.draw(SECOND, "8a", [])


def test_a_form_of_the_papers_own_folder_wins(tmp_path, monkeypatch):
    join(monkeypatch, tmp_path)
    common = drawing.form_of(SECOND, figure("8"))
    assert common.__name__ == "figures.forms.curves"
    add_module(monkeypatch, f"figures.{SECOND}")
    assert drawing.form_of(SECOND, figure("8")) is common
    add_module(monkeypatch, f"figures.{SECOND}.curves", select=common.select, draw=common.draw)
    assert drawing.form_of(SECOND, figure("8")).__name__ == f"figures.{SECOND}.curves"
    assert drawing.form_of(PAPER, DECLARED["13"]) is common


@pytest.mark.parametrize("form", ["bars", "dots", "curves"])
def test_an_empty_folder_of_results_draws_an_empty_figure(form, tmp_path, monkeypatch):
    join(monkeypatch, tmp_path, second(figure("8a", form=form, quantities=(THROUGHPUT,))))
    written = texts(drawing.draw(SECOND, "8a", []).figure)
    assert "no valid run" in written and "nothing was measured for this figure" in written
