"""Panels side by side: a column a value, a row a quantity, the same lines in all."""

from __future__ import annotations

import matplotlib
import pytest

from figures import style
from figures.cells import having
from tests.figures.drawn import picture_of, results_of, table_of
from tests.figures.overlap import overlaps
from tests.invented_ordered import DECLARED, rows_at

FIGURE = DECLARED["8"]
QUERIES = ("q1", "q2", "q15")
WORKERS = (1, 2, 4, 16)


def rows(workers=WORKERS, queries=QUERIES, lines=FIGURE.lines):
    found = []
    for place, line in enumerate(lines):
        for number, query in enumerate(queries):
            for count in workers:
                found += rows_at(
                    "8", line, {"query": query, "workers": count},
                    throughput=(place + 1) * 1e5 * 10**number * count, latency=place + 1.0, cores=2,
                )  # fmt: skip
    return found


def drawn(tmp_path, given):
    table = table_of(results_of(tmp_path, given), FIGURE)
    return table, picture_of(table, FIGURE)


def test_there_is_a_column_a_query_and_a_row_a_quantity(tmp_path):
    table, picture = drawn(tmp_path, rows())
    assert set(table["subject"]) == {f"query {each}" for each in QUERIES}
    assert len(picture.axes) == 2 * 3
    titles = [axes.get_title() for axes in picture.axes]
    assert titles == ["query q1", "query q2", "query q15", "", "", ""]
    assert [bool(axes.get_ylabel()) for axes in picture.axes] == [True, False, False] * 2


def test_lines_are_schedulers_in_every_panel(tmp_path):
    table, picture = drawn(tmp_path, rows())
    assert set(table["line"]) == set(FIGURE.lines)
    colors = {style.look_of("pipeline", line).color for line in FIGURE.lines}
    for axes in picture.axes:
        assert colors <= {line.get_color() for line in axes.lines}


def test_rates_of_a_row_share_their_unit(tmp_path):
    _, picture = drawn(tmp_path, rows())
    assert "million tuples/s" in picture.axes[0].get_ylabel()
    # Query 1 has rates a hundredth of query 15's, on a separate axis.
    tops = [axes.get_ylim()[1] for axes in picture.axes[:3]]
    assert tops[1] == pytest.approx(10 * tops[0]) and tops[2] == pytest.approx(100 * tops[0])


def test_few_places_are_categories_whose_dots_no_line_joins(tmp_path):
    _, picture = drawn(tmp_path, rows(workers=(1, 2)))
    for axes in picture.axes:
        assert all(len(line.get_xdata()) <= 1 for line in axes.lines if line.get_marker() != "None")


def test_more_threads_than_cores_are_on_grey(tmp_path):
    _, picture = drawn(tmp_path, rows())
    assert all(axes.patches for axes in picture.axes)
    _, picture = drawn(tmp_path / "few", rows(workers=(1, 2)))
    assert not any(axes.patches for axes in picture.axes)


def test_a_place_is_grey_in_the_panel_of_each_quantity_where_it_is_in_one(tmp_path):
    table, _ = drawn(tmp_path, rows())
    table = table[(table["unit"] != "ms") | (table["x"] != 2)]
    picture = picture_of(table, FIGURE)
    for above, below in zip(picture.axes[:3], picture.axes[3:], strict=True):
        grey = [[patch.get_x() for patch in axes.patches] for axes in (above, below)]
        assert grey[0] == grey[1]


def test_long_numbers_of_an_axis_stay_clear_of_the_panel_beside_it(tmp_path):
    table, _ = drawn(tmp_path, rows())
    table.loc[table["unit"] == "ms", ["value", "low", "high"]] = 0.003
    with matplotlib.rc_context(style.PARAMETERS):
        picture = picture_of(table, FIGURE)
        assert not overlaps(picture)
    gap = picture.axes[1].get_position().x0 - picture.axes[0].get_position().x1
    assert gap * style.WIDE > style.width_of("0.003", style.SMALL) + 0.09


def test_lines_of_different_queries_are_no_rivals(tmp_path):
    given = rows_at("8", "ct", {"query": "q1", "workers": 2}, throughput=1e6)
    given += rows_at("8", "lp", {"query": "q2", "workers": 2}, throughput=1.001e6)
    equal = [{**each, "phase": "equal"} for each in given]
    table = table_of(results_of(tmp_path, given + equal), FIGURE)
    assert not having(table, "tied").any()


def test_a_query_that_failed_everywhere_says_so(tmp_path):
    wrong = {"valid": False, "invalid_reason": "timed out", "throughput_tps": None}
    given = rows(queries=("q1",))
    for workers in WORKERS:
        given += rows_at("8", "ct", {"query": "q2", "workers": workers}, **wrong)
    table, picture = drawn(tmp_path, given)
    assert having(table[table["subject"] == "query q2"], "failed").any()
    told = [text.get_text() for axes in picture.axes for text in axes.texts]
    assert "no valid run" in told


def test_numbers_at_categories_have_no_needless_decimals(tmp_path):
    given = rows_at("10", "hybrid", {"slots": 16, "work_us": 10})
    given += rows_at("10", "hybrid", {"slots": 16, "work_us": 1_000})
    table = table_of(results_of(tmp_path, given), DECLARED["10"])
    (axes,) = picture_of(table, DECLARED["10"]).axes
    assert [label.get_text() for label in axes.get_xticklabels()] == ["10", "1,000"]


def test_a_percentile_of_few_markers_gives_way_to_the_mean(tmp_path):
    def panels(markers):
        given = rows_at("10", "hybrid", {"slots": 16, "work_us": 100}, markers=markers)
        results = results_of(tmp_path / str(markers), given)
        table = table_of(results, DECLARED["10"], extended=True)
        return set(table["panel"])

    assert "processing_ms_p99" in panels(2_000)
    assert panels(100) == {"processing_ms_mean", "processing_ms_p50", "throughput_tps"}
