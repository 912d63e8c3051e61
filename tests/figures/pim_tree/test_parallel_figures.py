"""The special features of figures of several threads: panels a kind, lines a window."""

from __future__ import annotations

import pytest

from figures.cells import OVERSUBSCRIBED, having
from tests.figures.drawn import footer_of, picture_of, results_of, table_of, texts
from tests.invented_pim_tree import DECLARED, places_of, rows_at

THREADS, SIZES, LATENCY = DECLARED["12a"], DECLARED["11a"], DECLARED["11b"]
PARALLEL, LOCK_STEP = "pim-tree-parallel", "pim-tree-parallel:descents=lock-step"


def rows_of(figure, lines, size="quick", throughput=lambda line, at: 1e6, **given):
    return [
        row
        for line in lines
        for at in places_of(figure, size)
        for row in rows_at(figure, line, at, throughput(line, at), **given)
    ]


def test_each_kind_of_join_has_a_panel_and_one_thread_is_a_line_in_it(tmp_path):
    def throughput(line, at):
        faster = at["threads"] if line == PARALLEL else 1
        return (2e6 if at["kind"] == "two-way" else 1e6) * faster

    given = rows_of(THREADS, THREADS.lines, "laptop", throughput, cores=2)
    table = table_of(results_of(tmp_path, given), THREADS)
    columns = ["kind two-way, 1,048,576 tuples", "kind self, 1,048,576 tuples"]
    assert list(table["subject"].unique()) == columns
    assert set(table["line"]) == set(THREADS.lines)
    own = table.set_index(["subject", "line", "x"])["value"]
    for column, base in zip(columns, (2e6, 1e6), strict=True):
        for threads in (1, 2, 4, 8, 16):
            # Without locks there is one thread, whatever the setting.
            assert own[column, "pim-tree", threads] == pytest.approx(base)
            assert own[column, PARALLEL, threads] == pytest.approx(base * threads)
    oversubscribed = table[having(table, OVERSUBSCRIBED)]
    assert set(oversubscribed["x"]) == {4, 8, 16} and set(oversubscribed["line"]) == {PARALLEL}
    picture = picture_of(table, THREADS)
    assert [axes.get_title() for axes in picture.axes] == [
        "kind two-way, 2\u00b2\u2070 tuples", "kind self, 2\u00b2\u2070 tuples"
    ]  # fmt: skip
    assert all(axes.patches for axes in picture.axes)
    assert "grey: more threads than cores" in footer_of(picture)


def test_windows_of_two_profiles_have_panels_of_their_own(tmp_path):
    given = rows_of(THREADS, THREADS.lines)
    given += rows_of(THREADS, THREADS.lines, "laptop")
    table = table_of(results_of(tmp_path, given), THREADS)
    assert len(picture_of(table, THREADS).axes) == 4
    assert table["subject"].nunique() == 4


def test_a_line_is_a_window_and_that_of_another_variant_bears_its_name(tmp_path):
    given = rows_of(SIZES, (PARALLEL, LOCK_STEP))
    results = results_of(tmp_path, given)
    table = table_of(results, SIZES)
    assert set(table["line"]) == {"4,096 tuples", "131,072 tuples"}
    more = table_of(results, SIZES, extended=True)
    assert set(more["line"]) == {
        *set(table["line"]), *(f"{LOCK_STEP}, {each}" for each in set(table["line"]))
    }  # fmt: skip
    told = texts(picture_of(more, SIZES, extended=True))
    assert any("lock-step, 4,096 tuples" in each for each in told)
    assert not any("descents=" in each for each in told)


def test_the_time_of_a_task_is_one_panel_over_its_size(tmp_path):
    table = table_of(results_of(tmp_path, rows_of(LATENCY, (PARALLEL,))), LATENCY)
    assert set(table["line"]) == {"4,096 tuples", "131,072 tuples"}
    assert set(table["panel"]) == {"task_us_mean"} and set(table["unit"]) == {"us"}
    picture = picture_of(table, LATENCY)
    assert "Time of a task, mean (µs)" in texts(picture)
    assert picture.axes[0].get_yscale() == "log"


def test_times_of_tasks_are_read_from_runs_that_time_them(tmp_path):
    given = rows_of(LATENCY, (PARALLEL,), step_ns=50.0)
    table = table_of(results_of(tmp_path, given), LATENCY, extended=True)
    found = table[(table["x"] == 8) & (table["line"] == "4,096 tuples")].set_index("panel")["value"]
    assert found.to_dict() == pytest.approx(
        {"task_us_mean": 0.4, "task_us_p99": 1.6, "end_to_end_us_mean": 0.8,
         "end_to_end_us_p99": 3.2}
    )  # fmt: skip


def test_names_of_categories_are_broken_where_they_are_short(tmp_path):
    figure = DECLARED["13a"]
    table = table_of(results_of(tmp_path, rows_of(figure, figure.lines)), figure)
    named = [tick.get_text() for tick in picture_of(table, figure).axes[0].get_xticklabels()]
    assert named == ["uniform", "gaussian", "gamma-\n3-3", "gamma-\n1-5"]
