"""The paper's figure 5b: the rates between which each search ended."""

from __future__ import annotations

import pytest

from figures.cells import BRACKET
from tests.figures.drawn import brackets, dots, picture_of, results_of, table_of, texts
from tests.invented_scalejoin import DECLARED, rows_at

FIGURE = DECLARED["5b"]


def rows_of(ends: tuple[tuple[float, float | None], ...]):
    """Return the rows of a search by each process, which ended between these rates."""
    found = []
    for repetition, (low, high) in enumerate(ends, start=1):
        for row in rows_at("5b", "scale-join", {"threads": 2, "window_s": 300}, low):
            row["repetition"] = repetition
            if row["phase"] != "closed":
                row["bracket_high_tps"] = high
            found.append(row)
    return found


def picture_and_table(tmp_path, ends):
    table = table_of(results_of(tmp_path, rows_of(ends)), FIGURE)
    return picture_of(table, FIGURE), table


def test_a_bracket_holds_those_of_all_processes_and_no_value(tmp_path):
    picture, table = picture_and_table(tmp_path, ((4e3, 4.4e3), (5e3, 5.5e3)))
    values = table[table["spread"] != BRACKET]
    assert values["value"].tolist() == [pytest.approx((4e3 * 5e3) ** 0.5)]
    (bracket,) = table[table["spread"] == BRACKET].to_dict("records")
    assert (bracket["low"], bracket["high"]) == (4e3, 5.5e3)
    assert bracket["panel"] not in values["panel"].tolist()
    (axes,) = picture.axes
    (ends,) = brackets(axes)
    assert list(ends.get_ydata()) == [4.0, 5.5]
    assert len(dots(axes)) == 1 and f"{BRACKET}, 2 processes" in texts(picture)


def test_a_bracket_without_a_rate_that_failed_is_open_above(tmp_path):
    picture, _ = picture_and_table(tmp_path, ((4e3, 4.4e3), (5e3, None)))
    (ends,) = brackets(picture.axes[0])
    assert list(ends.get_ydata()) == [4.0]


def test_a_latency_at_that_rate_has_no_bracket(tmp_path):
    rows = rows_at("7b", "scale-join", {"threads": 2, "window_s": 300}, 4e3)
    table = table_of(results_of(tmp_path, rows), DECLARED["7b"])
    assert len(table) and not (table["spread"] == BRACKET).any()
