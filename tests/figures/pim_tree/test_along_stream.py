"""The paper's figure 13c: throughput along the stream, a curve for each r."""

from __future__ import annotations

import numpy as np
import pytest

from datasets.band_join_keys.keys import PHASES
from experiments.families.join.columns import ALONG
from figures import style
from tests.figures.drawn import footer_of, picture_of, results_of, table_of, texts
from tests.invented_pim_tree import DECLARED, along_stream, places_of, rows_at

FIGURE = DECLARED["13c"]
LINE = "pim-tree-parallel"
BEGIN, END = PHASES[0], PHASES[0] + PHASES[1]


def rows(**given):
    return [row for at in places_of(FIGURE) for row in rows_at(FIGURE, LINE, at, **given)]


@pytest.fixture(name="results")
def results_of_two_windows(tmp_path):
    given = rows(throughput=2e6, repetitions=2)
    # Rows of another profile, and of a line that the paper does not have.
    for at in places_of(FIGURE):
        given += rows_at(FIGURE, LINE, {**at, "window": 1 << 10}, 9e9)
        given += rows_at(FIGURE, "olc-tree", at, 9e9)
    return results_of(tmp_path, given)


def test_a_line_is_an_r_and_x_the_place_in_the_stream(results):
    table = table_of(results, FIGURE)
    parts = along_stream(0.0, 1.0)["place"]
    assert list(table["line"].unique()) == ["drift r 0", "drift r 0.4", "drift r 1"]
    for r, (_, own) in zip((0.0, 0.4, 1.0), table.groupby("line", sort=False), strict=True):
        assert own["x"].tolist() == parts and set(own["n"]) == {2}
        inside = own["x"].between(BEGIN, END)
        assert own["value"][inside].unique() == pytest.approx([2e6 * (1 - 0.8 * r)])
        assert own["value"][~inside].unique() == pytest.approx([2e6])


def test_a_value_is_the_mean_over_the_runs(tmp_path):
    given = [*rows(throughput=1e6), *rows(throughput=4e6)]
    given[len(given) // 2 :] = [{**row, "repetition": 2} for row in given[len(given) // 2 :]]
    # Failed runs, and runs of another kind, are left out.
    at = places_of(FIGURE)[0]
    failed = {"valid": False, "invalid_reason": "timed out"}
    lost = [row for row in rows_at(FIGURE, LINE, at, 9e9) if row["phase"] == ALONG]
    given += [{**row, **failed, "repetition": 3} for row in lost]
    table = table_of(results_of(tmp_path, given), FIGURE)
    still = table[table["line"] == "drift r 0"]
    assert still["value"].to_numpy() == pytest.approx(2e6) and set(still["n"]) == {2}


def test_the_picture_says_where_the_drift_is(results):
    picture = picture_of(table_of(results, FIGURE), FIGURE)
    (axes,) = picture.axes
    curves = [line for line in axes.lines if len(line.get_xdata()) > 2]
    ends = [line.get_xdata()[0] for line in axes.lines if len(line.get_xdata()) == 2]
    assert ends == [BEGIN, END]
    assert [np.min(line.get_ydata()) for line in curves] == pytest.approx([2.0, 1.36, 0.4])
    assert len({(line.get_color(), str(line.get_linestyle())) for line in curves}) == 3
    assert {"drift r 0", "drift r 0.4", "drift r 1"} <= set(texts(picture))
    assert "Throughput (million tuples/s)" in texts(picture)
    assert axes.get_ylim()[0] == 0 and axes.get_xlim() == (2, 16)
    assert "grey" not in footer_of(picture)


def test_more_threads_than_cores_are_grey_and_said(tmp_path):
    table = table_of(results_of(tmp_path, rows(cores=1)), FIGURE)
    picture = picture_of(table, FIGURE)
    assert "grey: more threads than cores" in footer_of(picture)
    oversubscribed = tuple(int(style.CROWDED[n : n + 2], 16) / 255 for n in (1, 3, 5))
    assert picture.axes[0].get_facecolor()[:3] == pytest.approx(oversubscribed)


def test_without_a_valid_run_it_says_so(results):
    picture = picture_of(table_of(results, FIGURE).iloc[:0], FIGURE)
    assert {"no valid run", "Throughput"} <= set(texts(picture))


def test_the_extended_form_has_each_phase_over_r(results):
    table = table_of(results, FIGURE, extended=True)
    table = table[table["subject"] == "65,536 tuples"]
    assert set(table["panel"]) == {"before_drift_tps", "during_drift_tps", "after_drift_tps"}
    assert set(table["line"]) == {LINE, "olc-tree"} and set(table["x"]) == {0.0, 0.4, 1.0}
    fast = table[(table["x"] == 1.0) & (table["line"] == LINE)].set_index("panel")["value"]
    assert fast.to_dict() == pytest.approx(
        {"before_drift_tps": 2e6, "during_drift_tps": 0.4e6, "after_drift_tps": 2e6}
    )
