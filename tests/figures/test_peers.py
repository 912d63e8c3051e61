"""The figure of peers: two kinds of rate kept apart, and nobody drawn who was wrong once."""

from __future__ import annotations

import matplotlib
import pandas as pd
import pytest

from experiments import papers
from experiments.peers import catalog
from figures import cells, style
from figures.files import KINDS
from figures.peers import BLOCKS, draw, notes_of, points_of, table_of, write_peers
from tests.figures.overlap import overlaps
from tests.figures.peers_rows import peer, row, some, write_rows


def texts(picture) -> list[str]:
    return [text.get_text() for axes in picture.axes for text in axes.texts]


def drawn(rows):
    points = points_of(rows)
    with matplotlib.rc_context(style.PARAMETERS):
        return draw(points, "two cores")


def test_who_was_wrong_once_is_no_point_and_is_named():
    (own,) = points_of(some()).values()
    assert [(each.row.name, bool(each.values)) for each in own] == [
        ("wiml", True), ("mq", True), ("polars", True), ("duckdb", True), ("spark", False),
    ]  # fmt: skip
    assert "Spark is not drawn in k-OI: wrong output: 9 rows" in notes_of(points_of(some()))
    labels = [label.get_text() for label in drawn(some()).axes[0].get_yticklabels()]
    assert [label.partition(",")[0] for label in labels] == [
        "WIML", "MQ", "Polars 2.0.1", "DuckDB 2.0.1",
    ]  # fmt: skip
    assert labels[-1] == "DuckDB 2.0.1, 2 threads"


def test_values_are_medians_with_the_range_of_all_rounds():
    table = table_of(points_of(some())).set_index("name")
    assert table.loc["mq", ["value", "low", "high", "n"]].tolist() == [2.5e6, 2e6, 3e6, 3]
    assert table.loc["duckdb", ["version", "threads", "output"]].tolist() == ["2.0.1", 2, "table"]
    assert pd.isna(table.loc["spark", "value"]) and table.loc["spark", "n"] == 0
    assert table.loc["wiml", "state"] == "noisy" and table.loc["mq", "state"] == ""


def test_streams_and_batches_stand_apart_and_look_apart():
    picture = drawn(some())
    said = texts(picture)
    assert set(BLOCKS.values()) <= set(said)
    (axes,) = picture.axes
    dots = [line for line in axes.lines if line.get_marker() not in ("None", "", "|")]
    hollow = [line for line in dots if line.get_markerfacecolor() == "white"]
    assert len(dots) == 4 and len(hollow) == 2
    lowest_stream = max(line.get_ydata()[0] for line in dots if line not in hollow)
    assert all(line.get_ydata()[0] > lowest_stream for line in hollow)
    notes = " ".join(picture.notes)
    for word in ("batch over recorded input", "closed loop", "without loading", "no latency"):
        assert word in notes
    assert "more threads than the 2 cores" in notes
    assert "Peers are given the tuples in order." in notes


def test_no_text_lies_on_another():
    other = {"comparison": "K-OI", "title": "K-OI: counts of 40,000 keys, 10 windows a tuple"}
    more = [row("private-panes", 1, 3e4, **other),
            peer("duckdb", "A database of a long name", 1, 1e8, **other)]  # fmt: skip
    for rows in (some(), [*some(), *more], more[:1], [peer("spark", "Spark", 1, 4e7)]):
        assert overlaps(drawn(rows)) == []


@pytest.mark.parametrize("paper", papers.paper_names())
def test_titles_of_each_paper_fit(paper):
    rows = [
        row("mq", 1, 3e4, comparison=each.id, title=each.title)
        for each in catalog.comparisons_of(paper)
    ]
    assert overlaps(drawn(rows)) == []


def test_without_a_valid_run_it_says_so():
    failed = {"digest": None, "valid": False, "invalid_reason": "no answer within 60 s"}
    picture = drawn([peer("spark", "Spark", 1, None, **failed)])
    assert "no valid run" in texts(picture)
    assert "Spark is not drawn in k-OI: no answer within 60 s" in picture.notes


def test_equal_rows_give_equal_files_and_the_table_lies_beside(tmp_path):
    files = write_rows(tmp_path / "rows.jsonl")
    first = {file.name: file.read_bytes() for file in write_peers(files, tmp_path / "one")}
    second = {file.name: file.read_bytes() for file in write_peers(files, tmp_path / "two")}
    assert first == second
    assert set(first) == {f"fig_peers.{kind}" for kind in KINDS}
    csv = tmp_path / "one" / "fig_peers.csv"
    assert len(cells.read_notes(csv)) >= 4
    read = pd.read_csv(csv, comment="#")
    assert read["value"].tolist()[:2] == [pytest.approx(9e6), pytest.approx(2.5e6)]
