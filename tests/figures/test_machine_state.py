"""The picture of the machine: a dot a run, in order of time, and the files of a set."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from figures import machine_state
from tests.figures.drawn import footer_of

MINUTE = 60 * 10**9


def row(minute: float, sentinel: int | None, transfer: float | None) -> dict:
    return {"started_at": int(minute * MINUTE), "sentinel_ns": sentinel, "transfer_ns": transfer}


def test_runs_stand_in_order_of_time_and_without_a_note_are_left_out():
    table = machine_state.table_of(
        [row(7, 110, 40.0), row(5, 100, 200.0), row(9, None, None), row(6, 90, None)]
    )
    assert table["minute"].tolist() == [0.0, 1.0, 2.0]
    assert table["sentinel_times_median"].tolist() == [1.0, 0.9, 1.1]
    assert table["transfer_ns"].tolist()[::2] == [200.0, 40.0] and np.isnan(table["transfer_ns"][1])


@pytest.mark.parametrize("transfer", [120.0, None])
def test_each_run_is_a_dot_in_both_panels(tmp_path, transfer):
    rows = [row(n, 100 + n, transfer) for n in range(20)]
    picture = machine_state.draw_machine(machine_state.table_of(rows), "a processor, 2 cores")
    speed, between = picture.axes
    assert [len(axes.lines[0].get_xdata()) for axes in (speed, between)] == [20, 20]
    assert (between.get_yscale() == "log") == (transfer is not None)
    assert footer_of(picture).startswith("a processor, 2 cores · 20 runs")
    files = machine_state.write_machine(rows, "a processor, 2 cores", tmp_path)
    assert sorted(each.name for each in files) == [
        "machine.csv", "machine.pdf", "machine.png", "machine.svg"
    ]  # fmt: skip
    assert len(pd.read_csv(tmp_path / "machine.csv")) == 20


def test_a_set_whose_runs_noted_nothing_has_an_empty_picture(tmp_path):
    assert machine_state.table_of([row(1, None, None)]).empty
    assert machine_state.write_machine([], "a processor, 2 cores", tmp_path)
