"""Every figure from invented rows: the table, the states in the legend, and equal bytes twice."""

from __future__ import annotations

import json

import pandas as pd
import pytest

from experiments import papers, series
from experiments.declare import Sweep
from figures import draw as drawing
from figures import files as files_of
from figures import load, style
from figures.cells import Cell
from figures.view import View
from operators.contract import UsageError
from tests.covering import taken
from tests.figures.drawn import (
    crosses,
    failed,
    footer_of,
    picture_of,
    results_of,
    table_of,
    texts,
)
from tests.invented import (
    DECLARED,
    PAPER,
    as_in_the_paper,
    of_every_figure,
    points_over,
    write_raw,
)
from tests.second_paper import SECOND, THROUGHPUT, add_module, figure, join, second

# One figure of each form and of each axis; a property that holds for it holds for all of them.
FORMS = ["7", "8", "9", "15", "16x", "28"]


@pytest.fixture
def verdicts(tmp_path):
    """Verdicts that hold for every figure."""
    claim = {"figures": list(DECLARED), "kind": "result", "repeats": None, "direction": "holds",
             "comparator": "ordering"}  # fmt: skip
    path = tmp_path / "claims.json"
    path.write_text(json.dumps({"paper": PAPER, "floors": [], "claims": [claim]}), encoding="utf-8")
    return path


@pytest.mark.parametrize("figure", DECLARED.values(), ids=DECLARED)
def test_the_papers_variants_are_drawn_and_all_of_them_extended(figure, tmp_path):
    rows = [each if each["phase"] != "open" else {**each, "latency_samples": 1_000}
            for each in of_every_figure(figures=(figure.id,), repetitions=1)]  # fmt: skip
    results, measured = results_of(tmp_path, rows), series.measured(figure)
    assert set(table_of(results, figure)["variant"]) == set(figure.lines)
    extended = table_of(results, figure, extended=True)
    assert set(extended["variant"]) == set(measured)
    assert set(figure.extended_quantities) <= set(extended["panel"]) | set(
        extended_latencies(figure)
    )
    assert set(extended["paper"]) == {PAPER} and set(extended["figure"]) == {figure.id}
    assert set(extended["subject"]) == {figure.subject}
    written = texts(picture_of(extended, figure, extended=True))
    own = [line.variant for line in measured] if figure.form == "in_flight" else measured
    names = {style.look_of(figure.family, line).title for line in own}
    assert figure.sweeps or names <= set(written)
    assert f"Figure {figure.id}, extended: {figure.caption}" in written


def extended_latencies(figure):
    """Return the latencies of a figure whose lines have no open run among the invented rows."""
    return ["latency_ms_mean"] if figure.form == "in_flight" else []


def test_one_value_has_no_spread(tmp_path):
    rows = points_over("13", "mq", {1: (2e6, 4.0)}, repetitions=1)
    table = table_of(results_of(tmp_path, rows), "13")
    assert table["low"].isna().all()
    assert table["high"].isna().all()


def test_a_variant_of_the_paper_that_was_not_measured_is_named(tmp_path):
    rows = points_over("15", "mq", {20: (1e6, 4.0)}, repetitions=1)
    picture = picture_of(table_of(results_of(tmp_path, rows), "15"), "15")
    assert "not measured: MQLF, WiML" in footer_of(picture)


@pytest.mark.parametrize("name", FORMS)
def test_every_state_is_told_and_only_when_it_occurs(name, tmp_path):
    states = {"saturated": True, "cores": 2, "noisy": True, "steady": False}
    marked = write_raw(tmp_path / "marked", of_every_figure(figures=(name,), **states))
    told = footer_of(drawing.draw(PAPER, name, marked).figure)
    marks = ["grey: more threads than cores", "noisy", "not steady"]
    for words in marks:
        assert words in told
    # A core for every thread: 20 inputs, 12 update threads, one output thread.
    rows = of_every_figure(64, repetitions=1, figures=(name,))
    plain = write_raw(tmp_path, [r for r in rows if not r["saturated"]])
    told = footer_of(drawing.draw(PAPER, name, plain).figure)
    for words in [*marks, "caret", "red cross"]:
        assert words not in told


@pytest.mark.parametrize("name", FORMS)
def test_every_figure_states_machine_processes_data_and_verdicts(name, tmp_path, verdicts):
    files = write_raw(tmp_path, of_every_figure(2, 1, (name,)))
    footer = " ".join(load.footer_of(load.read(files), View(DECLARED[name]), verdicts))
    assert "Invented Processor 9000 @ 2.40GHz, 2 cores" in footer
    assert "profile quick n = 1 run" in footer
    assert ("tuples made by the driver" if name == "7" else "(generated)") in footer
    assert "statement" in footer
    assert "Invented Processor 9000" in footer_of(drawing.draw(PAPER, name, files, verdicts).figure)


@pytest.mark.parametrize("name", FORMS)
def test_a_figure_without_a_valid_run_says_so(name, tmp_path):
    declared = DECLARED[name]
    x = declared.x.values["quick"][-1] if isinstance(declared.x, Sweep) else None
    rows = [failed(name, declared.lines[0], x, at={s.setting: 2 for s in declared.sweeps})]
    files = write_raw(tmp_path, rows)
    drawn = drawing.draw(PAPER, name, files)
    assert crosses(drawn.figure.axes[0]) or "no valid run" in texts(drawn.figure)
    assert "1 of 1 runs invalid" in footer_of(drawn.figure)
    drawing.draw(PAPER, name, files, extended=True)


# Files.


def test_equal_data_give_equal_bytes_and_nothing_of_today(tmp_path, verdicts):
    some = taken(FORMS, FORMS[::2])
    files = write_raw(tmp_path, of_every_figure(2, 2, some))
    one, two = (
        drawing.draw_figures(PAPER, figures, files, verdicts, tmp_path / place)
        for place, figures in (("one", some), ("two", some[::-1]))
    )
    assert sorted(path.name for path in one) == sorted(path.name for path in two)
    assert len(one) == sum(4 * len(files_of.forms_of(DECLARED[each])) for each in some)
    for path in one:
        again = tmp_path / "two" / path.name
        assert path.read_bytes() == again.read_bytes(), path.name
        assert b"CreationDate" not in path.read_bytes() and b"<dc:date>" not in path.read_bytes()


def test_a_figure_is_drawn_in_both_its_forms_at_once(tmp_path):
    files = write_raw(tmp_path, of_every_figure(2, 1, ("13",)))
    paths = drawing.draw_forms(PAPER, "13", files, None, tmp_path / "drawn")
    kinds = ("pdf", "svg", "png", "csv")
    names = [f"fig_13{form}.{kind}" for form in ("", "_extended") for kind in kinds]
    assert [path.name for path in paths] == names
    assert all(path.stat().st_size > 0 for path in paths)


def test_the_csv_is_the_table(tmp_path):
    files = write_raw(tmp_path, as_in_the_paper(repetitions=1))
    paths = drawing.draw_forms(PAPER, "13", files, None, tmp_path / "drawn")
    table = table_of(load.read(files), "13")
    numbers = ("value", "low", "high", "near", "far", "samples", "in_flight")
    again = pd.read_csv(paths[3], comment="#", keep_default_na=False,
                        na_values=dict.fromkeys(numbers, [""]),
                        dtype={"figure": str, "values": str})  # fmt: skip
    assert [tuple(map(float, text.split())) for text in again["values"]] == list(table["values"])
    assert [tuple(text.split()) for text in again["state"]] == list(table["states"])
    text, own = ["values", "state"], ["values", "states"]
    pd.testing.assert_frame_equal(
        again.drop(columns=text), table.drop(columns=own), check_dtype=False, rtol=1e-5
    )
    assert list(again.columns) == ["state" if name == "states" else name for name in Cell._fields]


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
    drawn = {}
    for name in (PAPER, SECOND):
        drawn[name] = drawing.draw(name, "8", files)
        assert set(drawn[name].table["paper"]) == {name}
        assert set(drawn[name].table["figure"]) == {"8"}
    assert set(drawn[PAPER].table["subject"]) == {"K-OS"}
    table = drawn[SECOND].table
    assert set(table["subject"]) == {"w-OS"}
    assert sorted(zip(table["variant"], table["value"], strict=True)) == [
        ("tumlsc", 1.0),
        ("tumlsc", 9e6),
    ]


def test_a_panel_is_drawn_into_files_of_its_name(tmp_path, monkeypatch):
    join(monkeypatch, tmp_path)
    paths = drawing.draw_forms(SECOND, "8a", [], None, tmp_path / "drawn")
    # It declares no more for an extended form than for the paper's form.
    assert {path.stem for path in paths} == {"fig_08a"}
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
    common = drawing.form_of(figure("8"))
    assert common.__name__ == "figures.forms.curves"
    add_module(monkeypatch, f"figures.{SECOND}")
    assert drawing.form_of(figure("8")) is common
    add_module(monkeypatch, f"figures.{SECOND}.curves", select=common.select, draw=common.draw)
    assert drawing.form_of(figure("8")).__name__ == f"figures.{SECOND}.curves"
    assert drawing.form_of(DECLARED["13"]) is common


@pytest.mark.parametrize("form", ["bars", "dots", "curves"])
def test_an_empty_folder_of_results_draws_an_empty_figure(form, tmp_path, monkeypatch):
    join(monkeypatch, tmp_path, second(figure("8a", form=form, quantities=(THROUGHPUT,))))
    written = texts(drawing.draw(SECOND, "8a", []).figure)
    assert "no valid run" in written and "nothing was measured for this figure" in " ".join(written)
