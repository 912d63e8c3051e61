"""Durations of operations and the rates they predict: figures 8 and 10."""

from __future__ import annotations

import pytest

from experiments.multiway_aggregation.expected import expected_tps
from figures import style
from figures.cells import BRACKET
from tests.figures.drawn import color_of, labels, picture_of, results_of, table_of, texts
from tests.invented import points_of_durations, row


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
    rows = points_of_durations("8", "mq", (100.0, 2000.0), repetitions=1, cores=24)
    table = table_of(results_of(tmp_path, rows), "8")
    found = table.set_index("panel")
    assert found["value"]["input_ns"] == 100.0
    assert found["value"]["output_ns"] == 2000.0
    assert found["value"]["expected_tps"] == 5e5
    assert found["states"]["expected_tps"] == ("predicted",)
    # The run that reads clocks gives no throughput.
    assert found["value"]["throughput_tps"] == 4.5e5
    picture = picture_of(table, "8")
    assert [text.get_text() for text in picture.axes[0].texts] == ["in", "out"]
    assert not picture.axes[0].patches and picture.axes[0].get_yscale() == "log"
    dots = [line for line in picture.axes[0].lines if color_of(line) == style.VERMILLION]
    assert [line.get_ls() for line in dots] == ["None", "None"]
    # A prediction is a grey dash in the column of the line, at the predicted height.
    estimates = [line for line in picture.axes[1].lines if line.get_marker() == "_"]
    assert [color_of(line) for line in estimates] == [style.GREY.upper()]
    assert estimates[0].get_ydata() == [500.0]
    assert picture.axes[1].get_ylabel() == "Closed-loop throughput\n(thousand tuples/s)"
    assert labels(picture.axes[1]) == ["MQ"]


def test_a_bracket_that_is_not_drawn_is_neither_in_the_key_nor_in_the_table(tmp_path):
    rows = points_of_durations("8", "mq", (100.0, 2000.0), repetitions=1)
    searched = {"phase": "sustained", "bracket_low_tps": 6e5, "bracket_high_tps": 7e5, "probes": 5}
    table = table_of(results_of(tmp_path, [*rows, row("8", "mq", **searched)]), "8")
    assert BRACKET not in set(table["spread"])
    assert not any(BRACKET in text for text in texts(picture_of(table, "8")))


def test_a_rate_is_predicted_only_where_both_durations_are_known(tmp_path):
    rows = points_of_durations("8", "mq", (100.0, 2000.0), repetitions=1)
    for each in rows:
        each["output_ns"] = None
    table = table_of(results_of(tmp_path, rows), "8")
    assert "expected_tps" not in set(table["panel"])
    assert "input_ns" in set(table["panel"])
