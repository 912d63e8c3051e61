"""Rates, shares and queues over the offered rate, up to beyond saturation."""

from __future__ import annotations

import pytest

from experiments.streamcloud.axes import OF_CALLS
from figures.cells import SATURATED, TIED, having
from tests.figures.drawn import (
    carets,
    crosses,
    dots,
    footer_of,
    lines_of,
    picture_of,
    results_of,
    table_of,
    texts,
)
from tests.invented import floors
from tests.invented_streamcloud import COMPARED, DECLARED, SHARES, places_of, rows_at

MAP, JOIN, RIVALS = DECLARED["7a"], DECLARED["7b"], DECLARED["7f"]
# The calls of a window, in the quick profile.
(CALLS,) = OF_CALLS.values["quick"]


def rows_of(figure, throughput=lambda line, at: 1e6, **given):
    return [
        row
        for line in figure.lines
        for at in places_of(figure)
        for row in rows_at(figure, line, at, throughput(line, at), **given)
    ]


def by_instances(line, at):
    return 1e6 * at["instances"]


def test_what_is_beyond_saturation_has_its_values_and_is_joined(tmp_path):
    table = table_of(results_of(tmp_path, rows_of(MAP, by_instances)), MAP)
    two = table[table["line"] == "2 instances"].set_index(["panel", "x"])["value"]
    offered = [2e6 * share for share in SHARES]
    assert two["processed_tps"].to_dict() == pytest.approx(
        dict(zip(offered, [0.6e6, 1.4e6, 2e6, 2e6], strict=True))
    )
    assert two["queue_tuples"].tolist() == pytest.approx([0, 0, 1e4, 5e4])
    assert two["throughput_tps"].to_dict() == {2e6: 2e6}
    assert having(table, SATURATED).sum() == 2 * 2 * 3
    picture = picture_of(table, MAP)
    assert len(picture.axes) == 3
    for axes in picture.axes:
        assert axes.get_xscale() == axes.get_yscale() == "linear"
        assert (axes.get_xlim()[0], axes.get_ylim()[0]) == (0.0, 0.0)
        assert [len(line.get_xdata()) for line in lines_of(axes)] == [4, 4]
        assert not carets(axes)
    assert "saturated" not in footer_of(picture)
    assert "Offered rate (million tuples/s)" in texts(picture)


def test_the_closed_loop_and_all_that_is_offered_are_lines_of_their_own(tmp_path):
    table = table_of(results_of(tmp_path, rows_of(MAP, by_instances)), MAP)
    picture = picture_of(table, MAP)
    first, second, _ = picture.axes
    for axes in picture.axes:
        upright = [line for line in axes.lines if len(set(line.get_xdata())) == 1
                   and len(line.get_xdata()) == 2]  # fmt: skip
        assert [line.get_xdata()[0] for line in upright] == pytest.approx([1.0, 2.0])
    ends = [[line for line in axes.lines if line.get_xdata()[0] == 0.0] for axes in (first, second)]
    ((through_zero,), none) = ends
    # Up to the edge of the panel, which is a little above two million.
    assert list(through_zero.get_ydata()) == pytest.approx([0.0, 2 * 1.12])
    assert list(through_zero.get_xdata()) == pytest.approx([0.0, 2 * 1.12])
    assert not none
    assert {"closed-loop throughput", "all that is offered"} <= set(texts(picture))


def test_columns_have_rates_of_their_own_and_comparisons_no_line_through_zero(tmp_path):
    def slower(line, at):
        return 4e4 if at["query"] == "join-by-nested-loop" else 1e6

    table = table_of(results_of(tmp_path, rows_of(JOIN, slower)), JOIN)
    own = table[table["panel"] == "processed_comparisons_ps"]
    assert own["value"].max() == pytest.approx(1e6 * COMPARED)
    picture = picture_of(table, JOIN)
    titles = [f"query {query}, {CALLS} calls/s" for query in ("join", "join-by-nested-loop")]
    assert [axes.get_title() for axes in picture.axes] == [*titles, "", "", "", ""]
    labels = [axes.get_xlabel() for axes in picture.axes[-2:]]
    assert labels == [
        "Offered rate (million tuples/s)", "Offered rate (thousand tuples/s)"
    ]  # fmt: skip
    assert picture.axes[1].get_xlim()[1] == pytest.approx(1.5 * 40 * 1.12)
    assert "all that is offered" not in texts(picture)
    # The rates of the right column have the unit of the left one.
    highest = [axes.get_ylim()[1] for axes in picture.axes[:2]]
    assert highest[1] == pytest.approx(0.04 * highest[0])
    assert not picture.axes[1].get_ylabel()


def test_rates_of_columns_far_apart_have_a_unit_each(tmp_path):
    def faster(line, at):
        return 1e3 if at["query"] == "join" else 1e6

    picture = picture_of(table_of(results_of(tmp_path, rows_of(JOIN, faster)), JOIN), JOIN)
    labels = [axes.get_ylabel().replace("\n", " ") for axes in picture.axes]
    assert labels[:2] == ["Comparisons (million/s)", "Comparisons (billion/s)"]
    # Shares and queues have one unit anyway.
    assert labels[3] == labels[5] == ""
    highest = [axes.get_ylim()[1] for axes in picture.axes[:2]]
    assert highest == pytest.approx([1.12 * COMPARED / 1e3] * 2)


def test_a_latency_beyond_saturation_is_a_caret(tmp_path):
    results = results_of(tmp_path, rows_of(MAP))
    picture = picture_of(table_of(results, MAP, extended=True), MAP, extended=True)
    assert len(picture.axes) == 4
    assert [bool(carets(axes)) for axes in picture.axes] == [False, False, False, True]
    assert len(carets(picture.axes[3])) == 4
    assert "caret: saturated" in footer_of(picture)


def test_a_rate_that_failed_is_a_cross_and_a_gap(tmp_path):
    given = rows_of(MAP)
    for row in given:
        if row["rate_fraction"] == 1.1 and row["settings"]["instances"] == 1:
            row |= {"valid": False, "invalid_reason": "late", "throughput_tps": None}
    picture = picture_of(table_of(results_of(tmp_path, given), MAP), MAP)
    for axes in picture.axes:
        assert [cross.get_xdata()[0] for cross in crosses(axes)] == pytest.approx([1.1])
        assert sorted(len(line.get_xdata()) for line in lines_of(axes)) == [1, 2, 4]


def test_lines_with_more_threads_than_cores_are_named_where_others_have_fewer(tmp_path):
    oversubscribed = table_of(results_of(tmp_path / "few", rows_of(MAP, cores=2)), MAP)
    told = footer_of(picture_of(oversubscribed, MAP))
    assert "grey: more threads than cores" in told
    some = table_of(results_of(tmp_path / "some", rows_of(MAP, cores=3)), MAP)
    picture = picture_of(some, MAP)
    assert "more threads than cores: 2 instances" in footer_of(picture)
    assert "grey" not in footer_of(picture)


def test_maxima_alone_are_compared(tmp_path):
    given = rows_of(RIVALS)
    table = table_of(results_of(tmp_path, given, floors(1.12)), RIVALS)
    assert set(table["panel"][having(table, TIED)]) == {"throughput_tps"}
    (first, *_) = picture_of(table, RIVALS).axes
    assert len({dot.get_marker() for dot in dots(first)}) == 3


def test_a_column_without_valid_runs_says_so(tmp_path):
    given = rows_of(JOIN)
    kept = [row for row in given if row["settings"]["query"] == "join"]
    wrong = {"valid": False, "invalid_reason": "timed out", "throughput_tps": None}
    lost = [{**row, **wrong} for row in given if row not in kept]
    picture = picture_of(table_of(results_of(tmp_path, kept + lost), JOIN), JOIN)
    assert "no valid run" in texts(picture)
    empty = table_of(results_of(tmp_path / "none", [{**row, **wrong} for row in given]), JOIN)
    assert "no valid run" in texts(picture_of(empty, JOIN))
