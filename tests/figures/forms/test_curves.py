"""Curves over a swept setting: what they foretell, what is tied, and what has no line."""

from __future__ import annotations

from dataclasses import replace

import pytest
from matplotlib.colors import to_hex

from figures import draw as drawing
from figures import load, plot, style
from tests.figures.drawn import (
    color_of,
    dots,
    labels,
    picture_of,
    results_of,
    table_of,
    texts,
)
from tests.invented import (
    DECLARED,
    PAPER,
    of_every_figure,
    open_row,
    points_at,
    points_over,
    row,
    write_raw,
)
from tests.second_paper import SECOND, figure, join, second, sweep


@pytest.mark.parametrize(
    ("cores", "expected"), [(2, [1.0, 1.0, 1.0]), (4, [1.0, 2.0, 2.0]), (64, [1.0, 4.5, 10.5])]
)
def test_the_ideal_rises_as_far_as_there_are_cores(cores, expected, tmp_path):
    by_inputs = {1: (1e6, 4.0), 8: (1e6, 4.0), 20: (1e6, 4.0)}
    rows = points_over("13", "mq", by_inputs, repetitions=1, cores=cores)
    table = table_of(results_of(tmp_path, rows), "13")
    ideal = table[table["variant"] == "ideal"]
    assert (ideal["value"] / 1e6).tolist() == pytest.approx(expected)
    assert set(ideal["state"]) == {"predicted"}


TIES = {4: {"mq": 1.0e6, "mqlf": 1.05e6, "tumlsc": 2e6}, 20: {"mq": 1.0e6, "tumlsc": 1.05e6}}


def test_variants_nearer_than_equal_runs_are_tied_with_the_best(tmp_path):
    rows = [
        row("13", variant, inputs, throughput_tps=value)
        for inputs, values in TIES.items()
        for variant, value in values.items()
    ]
    assert "tied" not in set(table_of(results_of(tmp_path / "without", rows), "13")["state"])
    rows.append(row("13", "mq", 20, throughput_tps=1.1e6, phase="control"))
    files = write_raw(tmp_path, rows)
    table = table_of(load.read(files), "13")
    tied = table[table["state"] == "tied"]
    assert sorted(zip(tied["variant"], tied["x"], strict=True)) == [("mq", 20), ("tumlsc", 20)]
    drawn = drawing.draw(PAPER, "13", files).figure
    assert style.STATE_TITLES["tied"] in texts(drawn)
    assert [mark.get_color() for mark in dots(drawn.axes[0], "$=$")] == [style.GREY, style.GREY]


def test_latencies_nearer_than_equal_runs_are_tied_with_the_lowest(tmp_path):
    rows = [
        open_row("13", variant, 20, latency)
        for variant, latency in (("mq", 5.2), ("mqlf", 9.0), ("tumlsc", 5.0))
    ]
    rows.append(row("13", "mq", 20, throughput_tps=1e6))
    rows.append(row("13", "mq", 20, throughput_tps=1.1e6, phase="control"))
    table = table_of(results_of(tmp_path, rows), "13")
    latency = table[table["panel"] == "latency_ms_mean"]
    assert set(latency[latency["state"] == "tied"]["variant"]) == {"mq", "tumlsc"}


def test_equal_runs_of_settings_that_a_figure_does_not_show_tie_nothing_in_it(tmp_path):
    rows = [row("13", line, 20, throughput_tps=1e6) for line in ("mq", "tumlsc")]
    rows.append(row("18", "mq", 20, throughput_tps=1e6))
    rows.append(row("18", "mq", 20, throughput_tps=2e6, phase="control"))
    table = table_of(results_of(tmp_path, rows), "13")
    assert "tied" not in " ".join(table["state"])


def test_a_series_that_does_other_work_is_neither_tied_nor_the_ideal(tmp_path):
    rows = [row("14", "mq", 1, throughput_tps=1e6)]
    rows.append(row("14", "tumlsc:unit_divisor=10", 1, throughput_tps=1.05e6))
    rows.append(row("14", "mq", 1, throughput_tps=1.2e6, phase="control"))
    table = table_of(results_of(tmp_path, rows), "14", extended=True)
    assert set(table["variant"]) == {"mq", "tumlsc:unit_divisor=10", "ideal"}
    assert "tied" not in " ".join(table["state"])
    assert table.set_index("variant")["value"]["ideal"] == 1e6


def test_the_extended_figure_7_sweeps_the_levels(tmp_path):
    rows = of_every_figure(figures=("7",), repetitions=1)
    table = table_of(results_of(tmp_path, rows), "7", extended=True)
    levels = sorted(v for v in table["variant"].unique() if "levels" in v)
    assert levels == ["t-gate:levels=1", "t-gate:levels=2", "t-gate:levels=8"]


def test_what_was_measured_at_few_places_is_drawn_as_markers_side_by_side(tmp_path):
    files = write_raw(tmp_path, of_every_figure(figures=("16",), repetitions=1))
    drawn = drawing.draw(PAPER, "16", files, extended=True)
    alone = plot.alone_of(drawn.table)
    assert "private-panes" in alone and "mq" not in alone
    assert len(set(alone.values())) == len(alone)
    for axes in drawn.figure.axes:
        lines = [line for line in axes.lines if line.get_ls() != "None"]
        own = {style.look_of("aggregation", line).color for line in ("mq", "mqlf", "wiml")}
        assert {color_of(line) for line in lines} - {style.GREY.upper()} == own


def test_the_latency_drawn_is_that_at_the_profiles_share(tmp_path):
    rows = points_at("14", "mq", 20, 1e6, {0.3: 9.0, 0.7: 6.0, 0.9: 7.0}, repetitions=1)
    table = table_of(results_of(tmp_path, rows), "14").set_index("panel")
    assert table["value"]["latency_ms_mean"] == 6.0


def test_update_threads_have_a_series_for_each_number_of_inputs(tmp_path):
    rows = []
    for inputs, values in ((2, {1: 2e6, 4: 3e6}), (20, {1: 1e6, 4: 2e6})):
        by_threads = {
            threads: (tps, 4.0 if inputs == 2 else 8.0) for threads, tps in values.items()
        }
        rows += points_over("28", "tumlmc", by_threads, 1, at={"inputs": inputs}, cores=32)
    files = write_raw(tmp_path, rows)
    table = table_of(load.read(files), "28")
    own = table[table["variant"] == "tumlmc"].set_index(["panel", "line", "x"])["value"]
    assert own["throughput_tps", "2 inputs", 1] == 2e6
    assert own["throughput_tps", "20 inputs", 4] == 2e6
    assert own["latency_ms_mean", "20 inputs", 4] == 8.0
    ideal = table[table["variant"] == "ideal"].set_index(["line", "x"])["value"]
    assert ideal["2 inputs", 4] == pytest.approx(2e6 * 7 / 4)
    assert ideal["20 inputs", 4] == pytest.approx(1e6 * 25 / 22)
    drawn = drawing.draw(PAPER, "28", files).figure
    assert {"2 inputs", "20 inputs", "Update threads"} <= set(texts(drawn))
    faces = {to_hex(line.get_color()).upper() for line in dots(drawn.axes[0])}
    assert faces == {style.ORANGE, style.PURPLE}


def test_several_variants_beside_a_swept_setting_have_a_line_for_each_pair(tmp_path):
    swept = replace(DECLARED["13"], sweeps=(sweep("ahead", 64, 1024, words="tuples"),))
    rows = [
        each
        for line in ("mq", "mqlf")
        for ahead in (64, 1024)
        for each in points_over(swept, line, {1: (1e6, 4.0)}, 1, at={"ahead": ahead})
    ]
    table = table_of(results_of(tmp_path, rows), swept)
    wanted = {f"{line}, {ahead} tuples" for line in ("mq", "mqlf") for ahead in (64, 1024)}
    assert set(table["line"]) == wanted


WORDS = ("k-OS", "w-OS", "W-OS")
BY_QUERY = figure("8", x=sweep("query", *WORDS, words="queries"), settings={"inputs": 4})


def by_query(**given):
    return [
        each
        for place, query in enumerate(WORDS)
        for line, tps in (("mq", 1e6), ("tumlsc", 2e6))
        for each in points_over(BY_QUERY, line, {query: (tps / (1 + place), 5.0 + place)}, **given)
    ]


def test_words_on_the_x_axis_are_drawn_by_category(tmp_path):
    results = results_of(tmp_path, by_query())
    table = table_of(results, BY_QUERY, paper=SECOND)
    measured = table[table["panel"] == "throughput_tps"]
    # No ideal: words have no lowest value.
    assert set(table["variant"]) == {"mq", "tumlsc"}
    assert list(dict.fromkeys(measured["x"])) == list(WORDS)
    picture = picture_of(table, BY_QUERY, paper=SECOND)
    assert labels(picture.axes[-1]) == list(WORDS)
    assert picture.axes[-1].get_xlabel() == "Queries"
    curves = [line for line in picture.axes[0].lines if len(line.get_xdata()) == len(WORDS)]
    assert [list(line.get_xdata()) for line in curves] == [[0, 1, 2], [0, 1, 2]]


def test_words_stand_in_the_order_of_the_declaration_whatever_was_measured(tmp_path):
    rows = [each for each in by_query() if each["settings"]["query"] != "w-OS"]
    rows += points_over(BY_QUERY, "tumlsc", {"w-OS": (1e6, 5.0)})
    table = table_of(results_of(tmp_path, rows), BY_QUERY, paper=SECOND)
    assert labels(picture_of(table, BY_QUERY, paper=SECOND).axes[-1]) == list(WORDS)


def test_tied_is_what_lies_near_the_best_of_a_word(tmp_path):
    rows = by_query(repetitions=1)
    rows.append(row(BY_QUERY, "mq", "k-OS", phase="control", throughput_tps=2.1e6))
    table = table_of(results_of(tmp_path, rows), BY_QUERY, paper=SECOND)
    throughputs = table[table["panel"] == "throughput_tps"]
    tied = throughputs[throughputs["state"].str.contains("tied")]
    assert sorted(set(tied["x"])) == sorted(WORDS)


def test_a_figure_over_words_is_drawn_by_the_paper_that_has_it(tmp_path, monkeypatch):
    join(monkeypatch, tmp_path, second(BY_QUERY))
    for extended in (False, True):
        drawn = drawing.draw(SECOND, "8", write_raw(tmp_path, by_query()), extended=extended)
        assert labels(drawn.figure.axes[-1]) == list(WORDS)
