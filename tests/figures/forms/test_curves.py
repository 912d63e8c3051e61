"""Each form of figure: what it selects, what it foretells, and what it sets apart."""

from __future__ import annotations

import pytest
from matplotlib.colors import to_hex

from experiments.multiway_aggregation.expected import expected_tps
from figures import draw as drawing
from figures import load, plot, style
from figures.multiway_aggregation import fig_07, fig_08, fig_09, fig_13, fig_14, fig_28
from tests.figures.test_draw import results_of, texts
from tests.invented import (
    of_every_figure,
    open_row,
    points_by_inputs,
    points_by_rate,
    points_of_durations,
    row,
    write_raw,
)


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


def test_latencies_nearer_than_equal_runs_are_tied_with_the_lowest(tmp_path):
    rows = [
        open_row("fig_13", variant, 20, latency)
        for variant, latency in (("mq", 5.2), ("mqlf", 9.0), ("tumlsc", 5.0))
    ]
    rows.append(row("fig_13", "mq", 20, throughput_tps=1e6))
    rows.append(row("fig_13", "mq", 20, throughput_tps=1.1e6, phase="control"))
    table = fig_13.select(results_of(tmp_path, rows))
    latency = table[table["panel"] == "latency_ms_mean"]
    assert set(latency[latency["state"] == "tied"]["variant"]) == {"mq", "tumlsc"}


def test_maxima_that_are_tied_are_grey_lines_over_the_rate(tmp_path):
    rows = [
        r
        for variant, maximum in (("mq", 2e5), ("mqlf", 1.9e5), ("tumlsc", 1e5))
        for r in points_by_rate(variant, maximum, {0.3: 12.0, 0.7: 6.0}, repetitions=1)
    ]
    rows.append(row("fig_09", "mq", 20, throughput_tps=1.8e5, phase="control"))
    files = write_raw(tmp_path, rows)
    maxima = fig_09.select(load.read(files)).query("panel == 'throughput_tps'")
    assert maxima["state"].tolist() == ["tied", "tied", ""]
    drawn = drawing.draw("multiway_aggregation", "fig_09", files).figure
    assert {"maximum throughput", "maxima that are tied"} < set(texts(drawn))
    upright = [line for line in drawn.axes[0].lines if len(set(line.get_xdata())) == 1]
    colors = [to_hex(line.get_color()) for line in upright if len(line.get_xdata()) == 2]
    assert colors == [style.GREY, style.GREY, style.BLUE.lower()]


def test_a_series_that_does_other_work_is_neither_tied_nor_the_ideal(tmp_path):
    rows = [row("fig_14", "mq", 1, throughput_tps=1e6)]
    small = {"series": "tumlsc:unit_divisor=10", "throughput_tps": 1.05e6}
    rows.append(row("fig_14", "tumlsc", 1, **small))
    rows.append(row("fig_14", "mq", 1, throughput_tps=1.2e6, phase="control"))
    table = fig_14.select(results_of(tmp_path, rows), extended=True)
    assert "tied" not in " ".join(table["state"])
    assert table.set_index("variant")["value"]["ideal"] == 1e6


def test_the_extended_figure_7_sweeps_the_levels(tmp_path):
    rows = of_every_figure(figures=("fig_07",), repetitions=1)
    drawn = fig_07.select(results_of(tmp_path, rows), extended=True)
    levels = sorted(v for v in drawn["variant"].unique() if "levels" in v)
    assert levels == ["t-gate:levels=1", "t-gate:levels=2", "t-gate:levels=8"]


def test_what_was_measured_at_few_places_is_drawn_as_markers_side_by_side(tmp_path):
    files = write_raw(tmp_path, of_every_figure(figures=("fig_16",), repetitions=1))
    drawing_of = drawing.draw("multiway_aggregation", "fig_16_extended", files)
    alone = plot.alone_of(drawing_of.table)
    assert "private-panes" in alone and "mq" not in alone
    assert len(set(alone.values())) == len(alone)
    for axes in drawing_of.figure.axes:
        lines = [line for line in axes.lines if line.get_ls() != "None"]
        colors = {to_hex(line.get_color()) for line in lines}
        own = {to_hex(style.look_of(variant).color) for variant in ("mq", "mqlf", "wiml")}
        assert colors - {style.GREY} == own


@pytest.mark.parametrize(
    ("input_ns", "output_ns", "inputs", "cores", "expected"),
    [
        (200.0, 500.0, 20, 24, 2e6),  # the output thread is the bottleneck
        (500.0, 200.0, 2, 24, 4e6),  # the input threads are
        (400.0, 100.0, 20, 2, 4e6),  # all share two cores
        (400.0, 100.0, 1, 2, 2.5e6),  # a core for each of the two threads
    ],
)
def test_the_expected_throughput_is_that_of_the_bottleneck(
    input_ns, output_ns, inputs, cores, expected
):
    assert expected_tps(input_ns, output_ns, inputs, cores) == pytest.approx(expected)


def test_durations_are_drawn_as_dots_with_the_rate_they_foretell(tmp_path):
    rows = points_of_durations("fig_08", "mq", (100.0, 2000.0), repetitions=1, cores=24)
    results = results_of(tmp_path, rows)
    table = fig_08.select(results).set_index("panel")
    assert table["value"]["input_ns"] == 100.0
    assert table["value"]["output_ns"] == 2000.0
    assert table["value"]["expected_tps"] == 5e5
    assert table["state"]["expected_tps"] == "predicted"
    # The run that reads clocks gives no throughput.
    assert table["value"]["throughput_tps"] == 4.5e5
    drawn = fig_08.draw(fig_08.select(results), [])
    assert {"in", "out"} <= {tick.get_text() for tick in drawn.axes[0].get_xticklabels()}
    assert not drawn.axes[0].patches and drawn.axes[0].get_yscale() == "log"
    colored = style.VERMILLION.lower()
    dots = [line for line in drawn.axes[0].lines if to_hex(line.get_color()) == colored]
    assert [line.get_ls() for line in dots] == ["None", "None"]


def test_update_threads_have_a_series_for_each_number_of_inputs(tmp_path):
    rows = []
    for threads, few, many in ((1, 2e6, 1e6), (4, 3e6, 2e6)):
        values = {2: (few, 4.0), 20: (many, 8.0)}
        rows += points_by_inputs("fig_28", "tumlmc", values, 1, update_threads=threads, cores=32)
    files = write_raw(tmp_path, rows)
    table = fig_28.select(load.read(files))
    own = table[table["variant"] == "tumlmc"].set_index(["panel", "inputs", "x"])["value"]
    assert own["throughput_tps", 2, 1] == 2e6
    assert own["throughput_tps", 20, 4] == 2e6
    assert own["latency_ms_mean", 20, 4] == 8.0
    ideal = table[table["variant"] == "ideal"].set_index(["inputs", "x"])["value"]
    assert ideal[2, 4] == pytest.approx(2e6 * 7 / 4)
    assert ideal[20, 4] == pytest.approx(1e6 * 25 / 22)
    drawn = drawing.draw("multiway_aggregation", "fig_28", files).figure
    assert {"2 inputs", "20 inputs", "Update threads"} <= set(texts(drawn))
