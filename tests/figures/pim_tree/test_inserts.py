"""The paper's figure 13b: a curve over the subindexes for each r, a column a spread of the keys."""

from __future__ import annotations

import numpy as np
import pytest

from tests.figures.drawn import footer_of, picture_of, results_of, table_of, texts
from tests.invented_pim_tree import DECLARED, SUBINDEXES, places_of, rows_at

FIGURE = DECLARED["13b"]
LINE = "pim-tree:merge_ratio=1"


@pytest.fixture(name="results")
def results_of_two_windows(tmp_path):
    given = []
    for at in places_of(FIGURE):
        given += rows_at(FIGURE, LINE, at, repetitions=2)
        given += rows_at(FIGURE, LINE, {**at, "window": 1 << 10})
    return results_of(tmp_path, given)


def test_x_is_the_subindex_and_a_line_an_r(results):
    table = table_of(results, FIGURE)
    assert len(table) == 3 * 3 * SUBINDEXES and table["x"].max() == SUBINDEXES
    assert list(table["subject"].unique()) == ["σ 0.0125", "σ 0.125", "σ 0.3536"]
    slow, _, fast = (own["value"].to_numpy() for _, own in table.groupby("line", sort=False))
    assert set(slow) == {1 / SUBINDEXES}
    assert fast.max() == 1 and (fast == 0).sum() == 3 * (SUBINDEXES - 1)


def test_a_subindex_without_an_insert_is_a_gap(results):
    picture = picture_of(table_of(results, FIGURE), FIGURE)
    assert len(picture.axes) == 3 and "a gap in a curve: no insert" in footer_of(picture)
    assert {"drift r 0", "drift r 0.4", "drift r 1", "Subindex"} <= set(texts(picture))
    for axes in picture.axes:
        assert axes.get_yscale() == "log"
        slow, middle, fast = (line.get_ydata() for line in axes.lines)
        assert np.isfinite(slow).all() and np.isfinite(middle).all()
        assert np.isfinite(fast).sum() == 1


def test_the_extended_form_has_the_shares_over_r(results):
    table = table_of(results, FIGURE, extended=True)
    assert {"busiest_share", "idle_share"} <= set(table["panel"])
    assert set(table["x"]) == {0.0, 0.4, 1.0}
