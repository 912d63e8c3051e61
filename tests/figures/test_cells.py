"""The table of a figure: typed in memory, text in the CSV."""

from __future__ import annotations

import pytest

from experiments.records.statistics import Spread
from figures.cells import (
    Cell,
    csv_of,
    frame,
    having,
    joined,
    off_scale,
    read_csv,
    read_notes,
    readable_values,
    with_cells,
)


def cell(panel="throughput_tps", line="mq", **given):
    known = {"x": 4, "value": 1.0, "unit": "t/s"}
    return Cell("a_paper", "8", panel, "a query", line, line, **(known | given))


def test_states_and_values_become_text_in_the_csv_alone(tmp_path):
    table = frame([
        cell(states=("noisy", "tied"), values=(1234567.0, 0.25)),
        cell(line="mqlf", value=None),
    ])  # fmt: skip
    assert list(table["states"]) == [("noisy", "tied"), ()]
    assert list(table["values"]) == [(1234567.0, 0.25), ()]
    assert csv_of(table).splitlines() == [
        "paper,figure,panel,subject,variant,line,x,value,low,high,spread,values,near,far,n,"
        "samples,in_flight,state,unit",
        "a_paper,8,throughput_tps,a query,mq,mq,4,1,,,,1.23457e+06 0.25,,,0,,,noisy tied,t/s",
        "a_paper,8,throughput_tps,a query,mqlf,mqlf,4,,,,,,,,0,,,,t/s",
    ]
    file = tmp_path / "fig.csv"
    file.write_text(csv_of(table))
    assert list(read_csv(file)["state"]) == ["noisy tied", ""]


def test_notes_stand_above_the_table_and_in_nobodys_way(tmp_path):
    file = tmp_path / "fig.csv"
    file.write_text(csv_of(frame([cell()]), ["2 cores", "n = 1 run"]))
    assert file.read_text().startswith("# 2 cores\n# n = 1 run\npaper,figure,")
    assert read_notes(file) == ["2 cores", "n = 1 run"]
    assert list(read_csv(file)["line"]) == ["mq"]
    file.write_text(csv_of(frame([cell()])))
    assert read_notes(file) == []


def test_a_state_is_found_whole_and_in_an_empty_table_nowhere():
    table = frame([cell(states=("oversubscribed", "failed")), cell(states=("noisy",)), cell()])
    assert having(table, "failed").tolist() == [True, False, False]
    assert having(table, "noisy", "failed").tolist() == [True, True, False]
    assert not having(table, "fail").any()
    assert having(frame([]), "failed").tolist() == []


def test_a_latency_at_saturation_is_off_scale_and_a_rate_is_not():
    table = frame([
        cell(states=("saturated",)), cell(states=("saturated",), unit="ms"), cell(value=None),
    ])  # fmt: skip
    assert off_scale(table).tolist() == [False, True, False]
    assert readable_values(table).index.tolist() == [0]


def test_a_spread_has_the_digits_of_the_csv():
    spread = Spread(2.0, 1.0, 3.0, "range of 2", 2, 2, (1.23456789, 3.0))
    shown = cell(value=None).with_spread(spread)
    assert (shown.value, shown.low, shown.high, shown.spread) == (2.0, 1.0, 3.0, "range of 2")
    assert shown.values == (1.23457, 3.0)
    assert shown.without_value() == cell(value=None)


def test_each_panel_stands_in_a_table_once():
    first, again = cell(), cell(value=9.0)
    table = joined([[first], [], [again], [cell("latency_ms_mean")]])
    assert table["panel"].tolist() == ["throughput_tps", "latency_ms_mean"]
    assert table["value"].tolist() == pytest.approx([1.0, 1.0])
    assert joined([]).empty


def test_more_cells_stand_below():
    table = frame([cell()])
    assert with_cells(table, []) is table
    assert with_cells(table, [cell(line="mqlf")])["line"].tolist() == ["mq", "mqlf"]
