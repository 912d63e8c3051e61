"""Every figure from invented rows: its table, its states in the legend, and equal bytes twice."""

from __future__ import annotations

import pandas as pd
import pytest
from matplotlib.colors import to_hex

from experiments.harness import claims
from experiments.multiway_aggregation.figures import FIGURES
from figures import draw as drawing
from figures import load, style
from figures.multiway_aggregation import fig_09, fig_13, fig_14, fig_15, fig_16
from operators.contract import UsageError
from tests.invented import as_in_the_paper, points_by_inputs, points_by_rate, row, write_raw

BY_INPUTS = [fig_13, fig_14, fig_15, fig_16]
EVERY = ["fig_09", "fig_13", "fig_14", "fig_15", "fig_16"]


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


@pytest.mark.parametrize("module", BY_INPUTS)
def test_the_table_holds_value_interval_count_and_state(module, tmp_path):
    figure = module.FIGURE.id
    rows = points_by_inputs(figure, "mq", {1: (2e6, 4.0), 20: (1e6, 40.0)}, cores=4, noisy=True)
    table = module.select(results_of(tmp_path, rows))
    assert tuple(table.columns) == load.TABLE
    measured = table[table["variant"] == "mq"].set_index(["panel", "x"])
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


@pytest.mark.parametrize("module", BY_INPUTS)
def test_what_is_drawn_is_what_is_run(module):
    run = next(figure for figure in FIGURES if figure.id == module.FIGURE.id)
    assert (module.FIGURE.number, module.FIGURE.query) == (run.number, run.query)
    # WiML is drawn as soon as there are results of it.
    assert set(module.FIGURE.variants) - {"wiml"} == set(run.variants) - {"wiml"}


@pytest.mark.parametrize("module", [fig_15, fig_16])
def test_the_papers_variants_are_drawn_and_all_of_them_extended(module, tmp_path):
    results = results_of(tmp_path, as_in_the_paper(repetitions=1))
    assert set(module.select(results)["variant"]) == {"mq", "mqlf", "ideal"}
    extended = module.select(results, extended=True)
    assert set(extended["variant"]) == {"mq", "mqlf", "tumlsc", "ideal"}
    assert {"latency_ms_p50", "latency_ms_p99"} < set(extended["panel"])
    written = texts(module.draw(module.select(results), []))
    assert "not measured: WiML" in written


@pytest.mark.parametrize(
    ("cores", "expected"), [(2, [1.0, 1.0, 1.0]), (4, [1.0, 2.0, 2.0]), (64, [1.0, 4.5, 10.5])]
)
def test_the_ideal_rises_as_far_as_there_are_cores(cores, expected, tmp_path):
    by_inputs = {1: (1e6, 4.0), 8: (1e6, 4.0), 20: (1e6, 4.0)}
    rows = points_by_inputs("fig_13", "mq", by_inputs, repetitions=1, cores=cores)
    table = fig_13.select(results_of(tmp_path, rows))
    ideal = table[table["variant"] == "ideal"]
    assert (ideal["value"] / 1e6).tolist() == pytest.approx(expected)
    assert set(ideal["state"]) == {"predicted"}


def test_figure_9_is_drawn_over_the_offered_rate_with_its_maxima(tmp_path):
    rows = points_by_rate("mq", 2e5, {0.3: 12.0, 0.7: 6.0, 1.1: 400.0}, repetitions=1)
    table = fig_09.select(results_of(tmp_path, rows))
    latency = table[table["panel"] == "latency_ms_mean"]
    assert latency["x"].tolist() == pytest.approx([0.6e5, 1.4e5, 2.2e5])
    assert latency["state"].tolist() == ["", "", "saturated"]
    maximum = table[table["panel"] == "throughput_tps"]
    assert maximum["x"].tolist() == maximum["value"].tolist() == [2e5]


ALL_STATES = {
    "saturated": True,
    "cores": 2,
    "noisy": True,
    "steady": False,
    "coarse": True,
}


@pytest.mark.parametrize("name", EVERY)
@pytest.mark.parametrize("ending", ["", "_extended"])
def test_every_state_is_in_the_legend_and_only_when_it_occurs(name, ending, tmp_path):
    marked = write_raw(tmp_path / "marked", as_in_the_paper(repetitions=3, **ALL_STATES))
    written = texts(drawing.draw("multiway_aggregation", name + ending, marked).figure)
    states = [title for state, title in style.STATE_TITLES.items() if state != "tied"]
    for title in [*states, "95 % interval", "MQ", "MQLF"]:
        assert title in written
    plain = [r for r in as_in_the_paper(repetitions=1) if not r["saturated"]]
    written = texts(
        drawing.draw("multiway_aggregation", name + ending, write_raw(tmp_path, plain)).figure
    )
    for title in [*style.STATE_TITLES.values(), "95 % interval"]:
        assert title not in written


TIES = {4: {"mq": 1.0e6, "mqlf": 1.05e6, "tumlsc": 2e6}, 20: {"mq": 1.0e6, "tumlsc": 1.05e6}}


def test_variants_nearer_than_equal_runs_are_tied_with_the_best(tmp_path):
    rows = [
        row("fig_13", variant, inputs, throughput_tps=value)
        for inputs, values in TIES.items()
        for variant, value in values.items()
    ]
    assert "tied" not in set(fig_13.select(results_of(tmp_path / "without", rows))["state"])
    rows.append(row("fig_13", "mq", 20, throughput_tps=1.1e6, phase="control"))
    files = write_raw(tmp_path, rows)
    table = fig_13.select(load.read(files))
    tied = table[table["state"] == "tied"]
    assert sorted(zip(tied["variant"], tied["x"], strict=True)) == [("mq", 20), ("tumlsc", 20)]
    drawn = drawing.draw("multiway_aggregation", "fig_13", files).figure
    assert style.STATE_TITLES["tied"] in texts(drawn)
    marks = [line for line in drawn.axes[0].lines if line.get_marker() == "$=$"]
    assert [line.get_color() for line in marks] == [style.GREY, style.GREY]


@pytest.mark.parametrize(
    ("pairs", "told"),
    [
        (1, "one pair of equal runs: 2.0 % apart"),
        (2, "2 pairs of equal runs: 2.0 % apart"),
        (3, "3 pairs of equal runs were up to 2.0 % apart: less says nothing"),
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
    for module in BY_INPUTS:
        assert told in load.footer_of(results, module.FIGURE.id, None)
    assert told not in load.footer_of(results, "fig_09", None)


def test_a_state_changes_the_marker(tmp_path):
    rows = points_by_inputs("fig_13", "mq", {1: (2e6, 4.0), 20: (1e6, 4.0)}, 1, cores=2)
    drawn = drawing.draw("multiway_aggregation", "fig_13", write_raw(tmp_path, rows))
    throughput = drawn.figure.axes[0]
    faces = [
        to_hex(line.get_markerfacecolor()) for line in throughput.lines if line.get_ls() == "None"
    ]
    assert faces == [style.VERMILLION.lower(), "#ffffff"]


@pytest.mark.parametrize("name", EVERY)
def test_every_figure_states_machine_repetitions_data_and_verdicts(name, tmp_path):
    files = write_raw(tmp_path, as_in_the_paper(repetitions=1))
    verdicts = tmp_path / "claims.json"
    claims.judge(files, claims.published_files(), verdicts)
    footer = " ".join(load.footer_of(load.read(files), name, verdicts))
    assert "Invented Processor 9000 @ 2.40GHz, 2 cores" in footer
    assert "profile quick, n = 1 (no interval)" in footer
    assert "(generated)" in footer
    assert "statements on this figure: " in footer
    written = texts(drawing.draw("multiway_aggregation", name, files, verdicts).figure)
    assert "Invented Processor 9000" in " ".join(written)


def test_equal_data_give_equal_bytes_and_nothing_of_today(tmp_path):
    files = write_raw(tmp_path, as_in_the_paper(repetitions=2))
    verdicts = tmp_path / "claims.json"
    claims.judge(files, claims.published_files(), verdicts)
    for name in ("fig_13", "fig_09_extended"):
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


def test_the_csv_is_the_table(tmp_path):
    files = write_raw(tmp_path, as_in_the_paper(repetitions=1))
    paths = drawing.draw_figure("multiway_aggregation", "fig_13", files, None, tmp_path / "fig_13")
    table = fig_13.select(load.read(files))
    again = pd.read_csv(paths[3], keep_default_na=False, na_values={"low": [""], "high": [""]})
    pd.testing.assert_frame_equal(again, table, check_dtype=False, rtol=1e-5)


@pytest.mark.parametrize("name", EVERY)
def test_a_figure_without_a_valid_run_says_so(name, tmp_path):
    wrong = {"valid": False, "invalid_reason": "timed out", "throughput_tps": None}
    files = write_raw(tmp_path, [row(name, "mq", 20, **wrong)])
    written = texts(drawing.draw("multiway_aggregation", name, files).figure)
    assert "no valid run" in written


def test_a_variant_keeps_its_look_and_an_unknown_one_depends_on_its_id_alone():
    assert style.look_of("mq") is style.VARIANTS["mq"]
    assert style.look_of("mq-cached-heads") == style.look_of("mq-cached-heads")
    looks = [style.VARIANTS[variant][1:3] for variant in style.VARIANTS]
    assert len(set(looks)) == len(looks)


def test_an_unknown_figure_is_an_error_that_lists_those_there_are():
    with pytest.raises(UsageError, match="'fig_99'.*fig_13"):
        drawing.draw("multiway_aggregation", "fig_99", [])
    with pytest.raises(UsageError, match="there are: none"):
        drawing.draw("no_such_paper", "fig_13", [])
