"""Every figure from invented rows: its table, its states in the legend, and equal bytes twice."""

from __future__ import annotations

from importlib import import_module
from pathlib import Path

import pandas as pd
import pytest
from matplotlib.colors import to_hex

from experiments.judging import claims
from experiments.multiway_aggregation.figures import FIGURES
from figures import draw as drawing
from figures import load, style
from figures.multiway_aggregation import fig_13
from operators.contract import UsageError
from tests.invented import (
    as_in_the_paper,
    of_every_figure,
    points_by_inputs,
    row,
    write_raw,
)

EVERY = [figure.id for figure in FIGURES]
# One figure of each form: what holds for its form holds for all of them.
FORMS = ["fig_07", "fig_08", "fig_09", "fig_15", "fig_28"]
SCRIPTS = Path(drawing.__file__).parent


def results_of(folder, rows):
    return load.read(write_raw(folder, rows))


def texts(figure):
    """Return everything that is written on a figure, legend entries included."""
    found = [text.get_text() for text in figure.texts]
    for legend in figure.legends:
        found.extend(text.get_text() for text in legend.get_texts())
    for axes in figure.axes:
        found.extend([axes.get_xlabel(), axes.get_ylabel()])
        found.extend(text.get_text() for text in axes.texts)
    return found


def script_of(figure):
    return import_module(f"figures.multiway_aggregation.{figure}")


def test_every_declared_figure_has_a_script_and_every_script_is_declared():
    for paper in {figure.paper for figure in FIGURES}:
        scripts = {path.stem for path in (SCRIPTS / paper).glob("fig_*.py")}
        assert scripts == {figure.id for figure in FIGURES if figure.paper == paper}


@pytest.mark.parametrize("figure", FIGURES, ids=EVERY)
def test_what_is_drawn_is_what_is_run(figure):
    drawn = script_of(figure.id).FIGURE
    assert (drawn.id, drawn.number, drawn.query) == (figure.id, figure.number, figure.query)
    assert drawn.variants == figure.variants
    forms = {"inputs": "ByInputs", "rate": "ByRate", "durations": "Durations"}
    assert type(drawn).__name__ == forms.get(figure.axis, "ByUpdateThreads")


@pytest.mark.parametrize("figure", FIGURES, ids=EVERY)
def test_the_papers_variants_are_drawn_and_all_of_them_extended(figure, tmp_path):
    rows = of_every_figure(figures=(figure.id,), repetitions=1)
    results, script = results_of(tmp_path, rows), script_of(figure.id)
    assert set(script.select(results)["variant"]) - {"ideal"} == set(figure.variants)
    extended = script.select(results, extended=True)
    assert set(extended["variant"]) - {"ideal"} == set(figure.measured)
    if figure.axis != "durations":
        assert {"latency_ms_p50", "latency_ms_p99"} < set(extended["panel"])
    written = texts(script.draw(extended, [], extended=True))
    names = {style.look_of(variant).title for variant in figure.measured}
    assert figure.axis == "update_threads" or names <= set(written)
    assert figure.query.removesuffix("-OS") in " ".join(written)


@pytest.mark.parametrize("figure", ["fig_07", "fig_13", "fig_20"])
def test_the_table_holds_value_interval_count_and_state(figure, tmp_path):
    name = script_of(figure).FIGURE.variants[0]
    rows = points_by_inputs(figure, name, {1: (2e6, 4.0), 20: (1e6, 40.0)}, cores=4, noisy=True)
    table = script_of(figure).select(results_of(tmp_path, rows))
    assert tuple(table.columns) == load.TABLE
    measured = table[table["variant"] == name].set_index(["panel", "x"])
    one = measured.loc[("throughput_tps", 20)]
    assert one["value"] == pytest.approx(1.01e6)
    assert one["low"] < one["value"] < one["high"]
    assert (one["n"], one["state"], one["unit"]) == (3, "oversubscribed noisy", "t/s")
    assert measured.loc[("latency_ms_mean", 1)]["value"] == pytest.approx(4.04)


def test_one_repetition_has_no_interval(tmp_path):
    rows = points_by_inputs("fig_13", "mq", {1: (2e6, 4.0)}, repetitions=1)
    table = fig_13.select(results_of(tmp_path, rows))
    assert table["low"].isna().all()
    assert table["high"].isna().all()


def test_invalid_rows_are_never_drawn(tmp_path):
    rows = points_by_inputs("fig_13", "mq", {1: (2e6, 4.0)}, repetitions=1)
    wrong = {"valid": False, "invalid_reason": "wrong digest", "digest": "0bad"}
    rows.append(row("fig_13", "mqlf", 1, throughput_tps=9e9, **wrong))
    results = results_of(tmp_path, rows)
    assert "mqlf" not in set(fig_13.select(results)["variant"])
    assert "1 of 3 runs are invalid and not drawn" in load.footer_of(results, "fig_13", None)


def test_a_variant_of_the_paper_that_was_not_measured_is_named(tmp_path):
    rows = points_by_inputs("fig_15", "mq", {20: (1e6, 4.0)}, repetitions=1)
    module = script_of("fig_15")
    written = texts(module.draw(module.select(results_of(tmp_path, rows)), []))
    assert "not measured: MQLF, WiML" in written


ALL_STATES = {
    "saturated": True,
    "cores": 2,
    "noisy": True,
    "steady": False,
    "coarse": True,
}


@pytest.mark.parametrize("name", FORMS)
@pytest.mark.parametrize("ending", ["", "_extended"])
def test_every_state_is_in_the_legend_and_only_when_it_occurs(name, ending, tmp_path):
    marked = write_raw(tmp_path / "marked", of_every_figure(figures=(name,), **ALL_STATES))
    written = texts(drawing.draw("multiway_aggregation", name + ending, marked).figure)
    states = [title for state, title in style.STATE_TITLES.items() if state != "tied"]
    for title in [*states, "95 % interval"]:
        assert title in written
    # A core for every thread: 20 inputs, 12 update threads, one output thread.
    rows = of_every_figure(64, repetitions=1, figures=(name,))
    plain = [r for r in rows if not r["saturated"]]
    written = texts(
        drawing.draw("multiway_aggregation", name + ending, write_raw(tmp_path, plain)).figure
    )
    for title in [*style.STATE_TITLES.values(), "95 % interval"]:
        assert title not in written


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
        rows.append(row("fig_13", "mq", 20, **given))
        rows.append(row("fig_13", "mq", 20, **given | {"throughput_tps": 1.02e6}, phase="control"))
    assert told in load.footer_of(results_of(tmp_path, rows), "fig_13", None)
    assert not any(
        "equal runs" in s
        for s in load.footer_of(results_of(tmp_path / "b", rows[:1]), "fig_13", None)
    )


def test_figures_over_inputs_say_at_which_share_of_the_throughput_the_latency_is(tmp_path):
    results = results_of(tmp_path, as_in_the_paper(repetitions=1))
    told = "latency at 70 % of each variant's own throughput"
    for figure in ("fig_13", "fig_16"):
        assert told in load.footer_of(results, figure, None)
    assert told not in load.footer_of(results, "fig_09", None)


def test_a_state_changes_the_marker(tmp_path):
    rows = points_by_inputs("fig_13", "mq", {1: (2e6, 4.0), 20: (1e6, 4.0)}, 1, cores=2)
    drawn = drawing.draw("multiway_aggregation", "fig_13", write_raw(tmp_path, rows))
    throughput = drawn.figure.axes[0]
    faces = [
        to_hex(line.get_markerfacecolor()) for line in throughput.lines if line.get_ls() == "None"
    ]
    assert faces == [style.VERMILLION.lower(), "#ffffff"]


@pytest.mark.parametrize("name", FORMS)
def test_every_figure_states_machine_repetitions_data_and_verdicts(name, tmp_path):
    files = write_raw(tmp_path, of_every_figure(2, 1, (name,)))
    verdicts = tmp_path / "claims.json"
    claims.judge(files, claims.published_files(), verdicts)
    footer = " ".join(load.footer_of(load.read(files), name, verdicts))
    assert "Invented Processor 9000 @ 2.40GHz, 2 cores" in footer
    assert "profile quick, n = 1 (no interval)" in footer
    assert ("tuples made by the driver" if name == "fig_07" else "(generated)") in footer
    assert "statements on this figure: " in footer
    written = texts(drawing.draw("multiway_aggregation", name, files, verdicts).figure)
    assert "Invented Processor 9000" in " ".join(written)


def test_equal_data_give_equal_bytes_and_nothing_of_today(tmp_path):
    files = write_raw(tmp_path, of_every_figure(2, 2, tuple(FORMS)))
    verdicts = tmp_path / "claims.json"
    claims.judge(files, claims.published_files(), verdicts)
    for name in [*FORMS, "fig_09_extended", "fig_15_extended"]:
        stems = [tmp_path / place / name for place in ("one", "two")]
        first, second = (
            drawing.draw_figure("multiway_aggregation", name, files, verdicts, stem)
            for stem in stems
        )
        assert [path.suffix for path in first] == [".pdf", ".svg", ".png", ".csv"]
        for one, two in zip(first, second, strict=True):
            assert one.read_bytes() == two.read_bytes(), one.name
        assert b"CreationDate" not in first[0].read_bytes()
        assert b"<dc:date>" not in first[1].read_bytes()


def test_a_figure_is_drawn_in_both_its_forms_at_once(tmp_path):
    files = write_raw(tmp_path, of_every_figure(2, 1, ("fig_13",)))
    paths = drawing.draw_forms("multiway_aggregation", "fig_13", files, None, tmp_path / "fig_13")
    kinds = ("pdf", "svg", "png", "csv")
    names = [f"fig_13{form}.{kind}" for form in ("", "_extended") for kind in kinds]
    assert [path.name for path in paths] == names
    assert all(path.stat().st_size > 0 for path in paths)


def test_the_csv_is_the_table(tmp_path):
    files = write_raw(tmp_path, as_in_the_paper(repetitions=1))
    paths = drawing.draw_figure("multiway_aggregation", "fig_13", files, None, tmp_path / "fig_13")
    table = fig_13.select(load.read(files))
    again = pd.read_csv(paths[3], keep_default_na=False, na_values={"low": [""], "high": [""]})
    pd.testing.assert_frame_equal(again, table, check_dtype=False, rtol=1e-5)


@pytest.mark.parametrize("name", [*FORMS, *(f"{form}_extended" for form in FORMS)])
def test_a_figure_without_a_valid_run_says_so(name, tmp_path):
    wrong = {"valid": False, "invalid_reason": "timed out", "throughput_tps": None}
    files = write_raw(tmp_path, [row(name.removesuffix("_extended"), "mq", 20, **wrong)])
    written = texts(drawing.draw("multiway_aggregation", name, files).figure)
    assert "no valid run" in written


def test_a_variant_keeps_its_look_and_an_unknown_one_depends_on_its_id_alone():
    assert style.look_of("mq") is style.VARIANTS["mq"]
    assert style.look_of("mq-cached-heads") == style.look_of("mq-cached-heads")
    for figure in FIGURES:
        looks = [style.look_of(variant)[1:3] for variant in figure.measured]
        assert len(set(looks)) == len(looks), figure.id


def test_every_series_that_is_measured_has_a_look_of_its_own():
    measured = {series for figure in FIGURES for series in figure.measured}
    assert measured <= style.VARIANTS.keys()
    papers = {series for figure in FIGURES for series in figure.variants}
    assert {v for v in measured if not style.look_of(v).ours} == papers
    titles = [style.look_of(series).title for series in measured]
    assert len(set(titles)) == len(titles)


def test_an_unknown_figure_is_an_error_that_lists_those_there_are():
    with pytest.raises(UsageError, match="'fig_99'.*fig_13"):
        drawing.draw("multiway_aggregation", "fig_99", [])
    with pytest.raises(UsageError, match="there are: none"):
        drawing.draw("no_such_paper", "fig_13", [])
