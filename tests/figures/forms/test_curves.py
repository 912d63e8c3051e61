"""Curves over a swept setting: joined points, categories, and marks at the edges."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise

import matplotlib
import numpy as np
import pytest
from matplotlib.colors import to_hex

from figures import draw as drawing
from figures import load, marks, style, table
from tests.figures.drawn import (
    brackets,
    carets,
    color_of,
    crosses,
    dots,
    failed,
    footer_of,
    is_pale,
    labels,
    lines_of,
    picture_of,
    results_of,
    table_of,
    texts,
    ticks,
)
from tests.invented import (
    DECLARED,
    PAPER,
    at_common_rate,
    of_every_figure,
    points_at,
    points_over,
    row,
    write_raw,
)
from tests.second_paper import SECOND, figure, join, second, sweep

FOUR = {1: (2e6, 4.0), 2: (1.8e6, 6.0), 4: (1.6e6, 8.0), 20: (1e6, 40.0)}


def drawn(folder, rows, figure_id="13", extended=False):
    return picture_of(table_of(results_of(folder, rows), figure_id, extended), figure_id, extended)


def test_four_places_are_a_curve_over_a_logarithmic_axis(tmp_path):
    picture = drawn(tmp_path, points_over("13", "mq", FOUR, 1))
    for axes in picture.axes:
        assert axes.get_xscale() == "log"
        assert [list(line.get_xdata()) for line in lines_of(axes)] == [[1, 2, 4, 20]]
    assert labels(picture.axes[-1]) == ["1", "2", "4", "20"]
    told = picture.axes[0].get_ylabel().replace("\n", " ")
    assert told == "Closed-loop throughput (million tuples/s)"


def test_three_numbers_are_a_curve_as_four_are(tmp_path):
    picture = drawn(tmp_path, points_over("13", "mq", {x: FOUR[x] for x in (1, 4, 20)}, 1))
    for axes in picture.axes:
        assert axes.get_xscale() == "log"
        assert [list(line.get_xdata()) for line in lines_of(axes)] == [[1, 4, 20]]


def test_two_places_are_categories_that_nothing_joins(tmp_path):
    two = {x: FOUR[x] for x in (1, 20)}
    rows = points_over("13", "mq", two, 1) + points_over("13", "tumlsc", two, 1)
    picture = drawn(tmp_path, rows)
    assert labels(picture.axes[-1]) == ["1", "20"]
    for axes in picture.axes:
        assert axes.get_xscale() == "linear" and not lines_of(axes)
        places = sorted(dot.get_xdata()[0] for dot in dots(axes))
        assert places == pytest.approx([-0.08, 0.08, 0.92, 1.08])
    # Lines that are not joined have no end for a name.
    assert [text.get_text() for text in picture.legends[0].get_texts()] == ["MQ", "TuMLSC"]


def test_names_stand_at_line_ends_where_they_fit_and_not_over_each_other(tmp_path):
    near = {x: (tps * 1.01, latency) for x, (tps, latency) in FOUR.items()}
    picture = drawn(
        tmp_path, points_over("13", "mq", FOUR, 1) + points_over("13", "tumlsc", near, 1)
    )
    for axes in picture.axes:
        named = {text.get_text(): text for text in axes.texts}
        assert set(named) == {"MQ", "TuMLSC"}
        picture.draw_without_rendering()
        one, other = (named[name].get_window_extent() for name in ("MQ", "TuMLSC"))
        assert not one.overlaps(other)
    assert not any("MQ" == text.get_text() for each in picture.legends for text in each.get_texts())


def test_long_names_stand_in_the_key(tmp_path, monkeypatch):
    given = style.look_of("aggregation", "mq")
    long = given._replace(title="a-name-of-exactly-30-letters-x")
    monkeypatch.setattr(style, "look_of", lambda family, variant: long)
    picture = drawn(tmp_path, points_over("13", "mq", FOUR, 1))
    assert long.title in [text.get_text() for text in picture.legends[0].get_texts()]


def test_a_failed_point_is_a_red_cross_on_the_axis_and_a_gap(tmp_path):
    whole = {x: FOUR[x] for x in (1, 2, 20)}
    rows = points_over("13", "mq", whole, 1) + points_over("13", "tumlsc", FOUR, 1)
    picture = drawn(tmp_path, [*rows, failed("13", "mq", 4)])
    for axes in picture.axes:
        parts = [line for line in lines_of(axes) if color_of(line) == style.VERMILLION]
        assert [list(line.get_xdata()) for line in parts] == [[1, 2], [20]]
        (cross,) = crosses(axes)
        assert (cross.get_xdata()[0], cross.get_ydata()[0]) == (4, 0.0)
        assert to_hex(cross.get_color()) == style.RED


def test_a_saturated_latency_is_a_caret_at_the_edge_and_never_joined(tmp_path):
    rows = points_over("13", "mq", {x: FOUR[x] for x in (1, 2, 4)}, 1)
    rows += points_over("13", "tumlsc", FOUR, 1)
    last = points_at("13", "mq", 20, 1e6, {0.7: 9e4}, 1)
    rows += [{**each, "saturated": each["phase"] == "open"} for each in last]
    picture = drawn(tmp_path, rows)
    rates, latencies = picture.axes
    assert not carets(rates)
    (caret,) = carets(latencies)
    assert (caret.get_xdata()[0], caret.get_ydata()[0]) == (20, 1.0)
    mine = [line for line in lines_of(latencies) if color_of(line) == style.VERMILLION]
    assert [list(line.get_xdata()) for line in mine] == [[1, 2, 4]]
    # The saturated point does not widen the axis.
    assert latencies.get_ylim()[1] < 1e3
    # The throughput of a saturated point is drawn pale.
    pale = [dot for dot in dots(rates) if is_pale(dot)]
    assert [(dot.get_xdata()[0], color_of(dot)) for dot in pale] == [(20, style.VERMILLION)]
    assert "caret: saturated (1)" in footer_of(picture)


def test_weak_points_are_pale_and_counted(tmp_path):
    rows = points_over("13", "mq", {1: FOUR[1]}, 1, noisy=True)
    rows += points_over("13", "mq", {4: FOUR[4]}, 1, steady=False)
    rows += points_over("13", "mq", {x: FOUR[x] for x in (2, 20)}, 1)
    picture = drawn(tmp_path, rows)
    for axes in picture.axes:
        assert [is_pale(dot) for dot in dots(axes)] == [True, False, True, False]
    assert "pale (of 8): 2 noisy, 2 not steady" in footer_of(picture)


def test_the_background_is_grey_where_threads_are_more_than_cores(tmp_path):
    picture = drawn(tmp_path, points_over("13", "mq", FOUR, 1, cores=4))
    for axes in picture.axes:
        spans = [
            patch.get_extents().transformed(axes.transData.inverted()) for patch in axes.patches
        ]
        assert [to_hex(patch.get_facecolor()) for patch in axes.patches] == [style.CROWDED] * 2
        # Four inputs make five threads: grey starts in the middle between two and four.
        assert min(span.x0 for span in spans) == pytest.approx(8**0.5)
    assert "grey: more threads than cores" in footer_of(picture)
    assert not drawn(tmp_path / "free", points_over("13", "mq", FOUR, 1)).axes[0].patches


def test_an_interval_is_a_band_and_a_range_a_whisker(tmp_path):
    for repetitions, kind in ((6, "95 % interval"), (3, "range of 3")):
        rows = points_over("13", "mq", FOUR, repetitions)
        picture = drawn(tmp_path / str(repetitions), rows)
        filled = [each.get_facecolor().size > 0 for each in picture.axes[0].collections]
        sure = kind == "95 % interval"
        assert filled == ([True] if sure else [False] * 4)
        assert (kind if sure else f"{kind}; ticks are values") in texts(picture)
        # A range is drawn with ticks at the values, an interval without.
        shown = [line.get_ydata() for line in ticks(picture.axes[0])]
        assert len(shown) == (0 if sure else 4)
        if not sure:
            assert list(shown[0]) == pytest.approx(FOUR[1][0] / 1e6 * np.array([1.0, 1.01, 1.02]))


def test_a_bracket_stands_beside_its_point_and_in_the_key(tmp_path):
    searched = {"phase": "sustained", "bracket_low_tps": 6e5, "bracket_high_tps": 7e5, "probes": 5}
    rows = [*points_over("13", "mq", FOUR, 1), row("13", "mq", 20, **searched)]
    picture = drawn(tmp_path, rows)
    ends = brackets(picture.axes[0])
    assert [list(line.get_ydata()) for line in ends] == [[0.6, 0.7]]
    assert f"{table.BRACKET}, one process" in texts(picture)
    assert len(dots(picture.axes[0])) == 4


def test_brackets_stand_right_of_their_point_and_inside_of_the_frame(tmp_path):
    rows = []
    for place, (line, ends) in enumerate(
        {"mq": (6e5, 7e5), "mqlf": (6.5e5, 7.5e5), "tumlsc": (9e5, 9.5e5)}.items()
    ):
        rows += points_over("13", line, {x: (tps + place, 4.0) for x, (tps, _) in FOUR.items()}, 1)
        searched = {"bracket_low_tps": ends[0], "bracket_high_tps": ends[1], "probes": 5}
        rows.append(row("13", line, 20, phase="sustained", **searched))
    picture = drawn(tmp_path, rows)
    above, below = picture.axes
    places = [line.get_transform().transform(line.get_xydata())[0][0] for line in brackets(above)]
    point, frame = above.transData.transform((20, 0))[0], above.get_window_extent().x1
    # The third covers none of the others, and is as far from the point as the first.
    assert point < places[0] < places[1] and places[2] == places[0]
    cap = marks.CAPS / 2 * picture.dpi / 72
    assert max(places) + cap < frame
    # Panels in one column share their x axis.
    assert above.get_xlim() == below.get_xlim()


def test_nothing_ideal_is_drawn(tmp_path):
    rows = points_over("13", "mq", FOUR, 1)
    assert set(table_of(results_of(tmp_path, rows), "13")["variant"]) == {"mq"}


def test_a_panel_of_the_extended_form_has_its_own_places_and_its_label_beside_it(tmp_path):
    rows = points_over("18", "mq", {1: (2e6, 4.0), 20: (1e6, 40.0)}, 1)
    rows += at_common_rate("18", "mq", 20, 7.0, 1, cores=1)
    with matplotlib.rc_context(style.PARAMETERS):
        picture = drawn(tmp_path, rows, "18", extended=True)
        assert [labels(axes) for axes in picture.axes] == [["1", "20"]] * 2 + [["20"]]
        (dot,) = dots(picture.axes[-1])
        assert list(dot.get_xdata()) == [0.0]
        for before, axes in pairwise(picture.axes):
            label, panel = axes.yaxis.label.get_window_extent(), axes.get_window_extent()
            aside = label.x0 - before.get_window_extent().x1
            assert aside > 0.1 * picture.dpi and label.x1 < panel.x0


def test_the_extended_figure_7_sweeps_the_levels(tmp_path):
    rows = of_every_figure(figures=("7",), repetitions=1)
    table = table_of(results_of(tmp_path, rows), "7", extended=True)
    levels = sorted(v for v in table["variant"].unique() if "levels" in v)
    assert levels == ["t-gate:levels=1", "t-gate:levels=2", "t-gate:levels=8"]


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
    wanted = {f"{line}, {ahead:,} tuples" for line in ("mq", "mqlf") for ahead in (64, 1024)}
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
    table = table_of(results, BY_QUERY)
    measured = table[table["panel"] == "throughput_tps"]
    assert list(dict.fromkeys(measured["x"])) == list(WORDS)
    picture = picture_of(table, BY_QUERY)
    assert labels(picture.axes[-1]) == list(WORDS)
    assert picture.axes[-1].get_xlabel() == "Queries"
    assert not lines_of(picture.axes[0])


def test_words_stand_in_the_order_of_the_declaration_whatever_was_measured(tmp_path):
    rows = [each for each in by_query() if each["settings"]["query"] != "w-OS"]
    rows += points_over(BY_QUERY, "tumlsc", {"w-OS": (1e6, 5.0)})
    table = table_of(results_of(tmp_path, rows), BY_QUERY)
    assert labels(picture_of(table, BY_QUERY).axes[-1]) == list(WORDS)


def test_a_figure_over_words_is_drawn_by_the_paper_that_has_it(tmp_path, monkeypatch):
    join(monkeypatch, tmp_path, second(BY_QUERY))
    drawn = drawing.draw(SECOND, "8", write_raw(tmp_path, by_query()))
    assert labels(drawn.figure.axes[-1]) == list(WORDS)


@pytest.mark.parametrize("logarithmic", [True, False])
def test_slow_lines_can_be_seen_beside_fast_ones_where_the_figure_says_so(tmp_path, logarithmic):
    slow = {x: (tps / 200, latency) for x, (tps, latency) in FOUR.items()}
    rows = points_over("13", "mq", FOUR, 1) + points_over("13", "tumlsc", slow, 1)
    declared = replace(DECLARED["13"], logarithmic=logarithmic)
    picture = picture_of(table_of(results_of(tmp_path, rows), declared), declared)
    assert picture.axes[0].get_yscale() == ("log" if logarithmic else "linear")


def test_the_means_of_both_states_of_the_cores_are_in_the_picture(tmp_path):
    own = table_of(results_of(tmp_path, points_over("13", "mq", FOUR, 1)), "13")
    of_rates = own["panel"] == own["panel"].iloc[0]
    far = own["value"].where(of_rates)
    (rates, *_) = picture_of(own.assign(near=7 * far, far=far), "13").axes
    assert rates.get_ylim()[1] > 14


def test_an_interval_that_reaches_below_zero_ends_at_the_axis(tmp_path):
    own = table_of(results_of(tmp_path, points_over("13", "mq", {1: FOUR[1]}, 1)), "13")
    of_rates = own["panel"] == own["panel"].iloc[0]
    low, high = (own["value"] * factor for factor in (-0.5, 1.5))
    wide = own.assign(low=low.where(of_rates), high=high.where(of_rates), spread="95 % interval")
    (rates, *_) = picture_of(wide, "13").axes
    (whisker,) = (each for each in rates.collections if len(each.get_segments()) == 1)
    bottom, top = whisker.get_segments()[0][:, 1]
    assert bottom == rates.get_ylim()[0] == 0 < top
