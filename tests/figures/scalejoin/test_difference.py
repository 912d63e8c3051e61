"""The paper's figure 6c: the lead of ScaleJoin over the others in comparisons a second."""

from __future__ import annotations

import pytest

from tests.figures.drawn import dots, footer_of, picture_of, results_of, table_of, texts, ticks
from tests.invented_scalejoin import DECLARED, rows_at

FIGURE = DECLARED["6c"]
# Thousand tuples/s; a tuple has 300,000 comparisons.
RATES = {"scale-join": 40, "handshake": 50, "handshake-low-latency": 10}


@pytest.fixture(name="table")
def table_of_three_joins(tmp_path):
    given = []
    for line, rate in RATES.items():
        for threads in (1, 2):
            given += rows_at("6c", line, {"threads": threads}, 1e3 * rate * threads)
    return table_of(results_of(tmp_path, given), FIGURE)


def test_a_difference_is_the_first_lines_less_the_other(table):
    values = table.set_index(["line", "x"])["value"]
    assert values["handshake", 1] == pytest.approx(-10e3 * 300_000)
    assert values["handshake", 2] == pytest.approx(-20e3 * 300_000)
    assert values["handshake-low-latency", 2] == pytest.approx(60e3 * 300_000)
    assert "scale-join" not in set(table["line"])


def test_differences_of_both_signs_are_in_the_picture(table):
    picture = picture_of(table, FIGURE)
    (axes,) = picture.axes
    low, high = axes.get_ylim()
    assert low < -6 and high > 18
    assert any("billion/s" in text for text in texts(picture))
    assert "not measured" not in footer_of(picture)


def test_the_means_of_both_states_of_the_cores_are_in_the_picture(table):
    (axes,) = picture_of(table.assign(near=-40e3 * 300_000, far=90e3 * 300_000), FIGURE).axes
    low, high = axes.get_ylim()
    assert low < -12 and high > 27


def test_a_rival_that_was_not_measured_is_named(table):
    picture = picture_of(table[table["line"] == "handshake"], FIGURE)
    assert "not measured: Low-latency handshake join" in footer_of(picture)


def of_processes(folder, ours, theirs, threads=(1,)):
    """Return the table of two joins' rates in thousand tuples/s, a process each."""
    given = []
    for line, rates in {"scale-join": ours, "handshake": theirs}.items():
        for process, rate in enumerate(rates, start=1):
            for each in threads:
                own = rows_at("6c", line, {"threads": each}, 1e3 * rate)
                given += [{**row, "repetition": process} for row in own]
    return table_of(results_of(folder, given), FIGURE)


def test_a_difference_is_taken_process_by_process(tmp_path):
    (row,) = of_processes(tmp_path, (30, 40, 50), (10, 21, 32)).to_dict("records")
    # A common rise from process to process widens neither end.
    assert (row["low"], row["high"]) == pytest.approx((18e3 * 300_000, 20e3 * 300_000))
    assert row["value"] == pytest.approx(19e3 * 300_000)
    assert (row["spread"], row["n"]) == ("range of 3", 3)
    assert row["values"] == pytest.approx([3e5 * 2e4, 3e5 * 1.9e4, 3e5 * 1.8e4])


def test_from_six_processes_on_a_difference_has_the_interval_of_any_other_figure(tmp_path):
    table = of_processes(tmp_path, (30, 31, 32, 33, 34, 35), (10, 12, 11, 13, 12, 15), (1, 2, 4, 8))
    assert set(table["spread"]) == {"95 % interval"}
    (axes,) = picture_of(table, FIGURE).axes
    assert len(axes.collections) == 1 and not ticks(axes)


def test_the_spreads_of_two_lines_do_not_cover_each_other(table):
    (axes,) = picture_of(table, FIGURE).axes
    places = [dot.get_xdata()[0] for dot in dots(axes)]
    assert len(set(places)) == len(places) == 4
