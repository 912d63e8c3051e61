"""The paper's figure 6c: what ScaleJoin compares a second more than the others."""

from __future__ import annotations

import pytest

from tests.figures.drawn import footer_of, picture_of, results_of, table_of, texts
from tests.invented_scalejoin import DECLARED, PAPER, rows_at

FIGURE = DECLARED["6c"]
# Thousand tuples/s; a tuple has 300,000 comparisons.
RATES = {"scale-join": 40, "handshake": 50, "handshake-low-latency": 10}


@pytest.fixture(name="table")
def table_of_three_joins(tmp_path):
    given = []
    for line, rate in RATES.items():
        for threads in (1, 2):
            given += rows_at("6c", line, {"threads": threads}, 1e3 * rate * threads)
    return table_of(results_of(tmp_path, given), FIGURE, paper=PAPER)


def test_a_difference_is_the_first_lines_less_the_other(table):
    values = table.set_index(["line", "x"])["value"]
    assert values["handshake", 1] == pytest.approx(-10e3 * 300_000)
    assert values["handshake", 2] == pytest.approx(-20e3 * 300_000)
    assert values["handshake-low-latency", 2] == pytest.approx(60e3 * 300_000)
    assert "scale-join" not in set(table["line"])


def test_differences_of_both_signs_are_in_the_picture(table):
    picture = picture_of(table, FIGURE, paper=PAPER)
    (axes,) = picture.axes
    low, high = axes.get_ylim()
    assert low < -6 and high > 18
    assert any("billion/s" in text for text in texts(picture))
    assert "not measured" not in footer_of(picture)


def test_a_rival_that_was_not_measured_is_named(table):
    picture = picture_of(table[table["line"] == "handshake"], FIGURE, paper=PAPER)
    assert "not measured: Low-latency handshake join" in footer_of(picture)


def test_a_difference_lies_between_those_of_the_ends(tmp_path):
    given = []
    for line, rates in {"scale-join": (30, 40, 50), "handshake": (10, 20, 30)}.items():
        for repetition, rate in enumerate(rates, start=1):
            given += rows_at("6c", line, {"threads": 1}, 1e3 * rate, repetition=repetition)
    (row,) = table_of(results_of(tmp_path, given), FIGURE, paper=PAPER).to_dict("records")
    assert row["low"] == pytest.approx(0, abs=1)
    assert row["high"] == pytest.approx(40e3 * 300_000)
    assert row["spread"] == "ends of range of 3"
