"""Tuples in flight: a line a variant over the bounds that its settings give."""

from __future__ import annotations

from figures.cells import having
from tests.figures.drawn import (
    crosses,
    failed,
    footer_of,
    lines_of,
    picture_of,
    results_of,
    table_of,
    texts,
)
from tests.invented import DECLARED, open_row, row

FIGURE = DECLARED["16x"]
BOUNDS = {
    "mq:ahead=64": 1_280,
    "mq": 20_480,
    "mq:ahead=4096": 81_920,
    "wiml:winsets_ahead=1": 10_000,
    "wiml": 30_000,
}


def rows_of(**bounds):
    return [
        each
        for line, many in (bounds or BOUNDS).items()
        for each in (
            row(FIGURE, line, in_flight_tuples=many, throughput_tps=1e6 + many),
            open_row(FIGURE, line, None, 5.0, in_flight_tuples=many),
        )
    ]


def test_the_settings_of_a_variant_are_one_line_over_what_they_let_in(tmp_path):
    table = table_of(results_of(tmp_path, rows_of()), FIGURE)
    own = table[table["panel"] == "throughput_tps"]
    assert own.groupby("line")["x"].apply(sorted).to_dict() == {
        "mq": [1_280, 20_480, 81_920],
        "wiml": [10_000, 30_000],
    }
    picture = picture_of(table, FIGURE)
    assert picture.axes[0].get_xscale() == "log"
    assert sorted(len(line.get_xdata()) for line in lines_of(picture.axes[0])) == [2, 3]
    assert {"MQ", "WiML", "Tuples in flight, at most"} < set(texts(picture))
    # The axis already states the bound, so the footer omits it.
    assert "in flight" not in footer_of(picture)


def test_a_setting_that_failed_is_a_gap_where_it_would_have_been(tmp_path):
    rows = [each for each in rows_of() if each["in_flight_tuples"] != 20_480]
    rows.append(failed(FIGURE, "mq", in_flight_tuples=20_480))
    picture = picture_of(table_of(results_of(tmp_path, rows), FIGURE), FIGURE)
    assert [cross.get_xdata()[0] for cross in crosses(picture.axes[0])] == [20_480]
    assert sorted(len(line.get_xdata()) for line in lines_of(picture.axes[0])) == [1, 1, 2]


def test_no_two_bounds_are_rivals(tmp_path):
    rows = rows_of()
    again = {**rows[0], "phase": "equal", "throughput_tps": 3e6}
    table = table_of(results_of(tmp_path, [*rows, again]), FIGURE)
    assert not having(table, "tied").any()
