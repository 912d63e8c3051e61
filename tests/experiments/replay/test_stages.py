"""The clock of a replay: parts that add up, and a live progress line."""

from __future__ import annotations

import io
import json
import time

import pytest

from experiments.cli import main
from experiments.replay import remarks, stages

ROWS = "".join(f"{row // 10},{row % 7},{row}\n" for row in range(1_000))


class Terminal(io.StringIO):
    def isatty(self):
        return True


@pytest.fixture
def asked(tmp_path):
    """Return the command line of a replay whose output has rows."""
    (tmp_path / "in.csv").write_text(f"ts,k,v\n{ROWS}")
    return [
        "replay", "aggregation", "private-panes", "--input", str(tmp_path / "in.csv"),
        "--time", "ts", "--key", "k", "--value", "v", "--function", "sum", "--window-size", "20",
        "--window-advance", "5", "--output", str(tmp_path / "out.parquet"),
    ]  # fmt: skip


def watched(monkeypatch):
    """Return a terminal in place of stderr, whose line is redrawn at every change."""
    terminal = Terminal()
    monkeypatch.setattr("sys.stderr", terminal)
    monkeypatch.setattr(stages, "REDRAW_SECONDS", 0.0)
    return terminal


def test_the_parts_of_a_replay_add_up_to_the_time_it_took(asked, capsys):
    began = time.perf_counter()
    assert main([*asked, "--json"]) == 0
    lasted = time.perf_counter() - began
    told = json.loads(capsys.readouterr().out)["seconds"]
    assert list(told) == ["start", "read", "order", "run", "write"]
    assert all(seconds > 0 for seconds in told.values())
    assert 0.9 * lasted < sum(told.values()) <= lasted


def test_what_is_written_while_threads_run_is_no_running(monkeypatch):
    clock = iter([1.0, 2.0, 5.0, 6.0])
    monkeypatch.setattr(time, "perf_counter", lambda: next(clock))
    stages.begin(0.0).enter(stages.RUN)
    with stages.writing():
        pass
    told = stages.current().seconds()
    assert told == {"start": 1.0, "read": 0.0, "order": 0.0, "run": 2.0, "write": 3.0}


def test_a_terminal_sees_how_fast_rows_are_read_and_the_line_is_gone_in_the_end(asked, monkeypatch):
    terminal = watched(monkeypatch)
    assert main(asked) == 0
    first, *_, last = terminal.getvalue().split("\r")
    assert first == "" and "reading: 1000 rows, 0." in terminal.getvalue()
    assert "M rows/s" in terminal.getvalue() and "rows written" in terminal.getvalue()
    assert last.startswith("millrace: ") and last.count("\n") == 1


def test_a_file_gets_no_live_line(asked, capsys, monkeypatch):
    monkeypatch.setattr(stages, "REDRAW_SECONDS", 0.0)
    assert main(asked) == 0
    printed = capsys.readouterr().err
    assert "\r" not in printed and printed.count("\n") == 1


def test_a_remark_stands_on_a_line_of_its_own(monkeypatch):
    terminal = watched(monkeypatch)
    stages.begin().read(5)
    remarks.say("something is odd")
    assert terminal.getvalue().endswith(f"\r{' ' * stages.WIDTH}\rmillrace: something is odd\n")


def test_an_error_stands_on_a_line_of_its_own(asked, tmp_path, monkeypatch):
    terminal = watched(monkeypatch)
    with open(tmp_path / "in.csv", "a") as file:
        file.write("1,1,1\n")
    assert main(asked) == 2
    assert terminal.getvalue().split("\r")[-1].startswith("millrace: stream 0 is out of order")
