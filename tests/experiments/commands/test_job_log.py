"""The log of a job: stored output, output that is only shown, and the end of a job."""

from __future__ import annotations

import sys

import pytest

from experiments.commands.job_log import kept_log
from operators.contract import UsageError


def test_lines_are_shown_and_kept_but_live_lines_are_shown_only(tmp_path, capsys):
    with kept_log(tmp_path / "deep" / "job.log"):
        print("made")
        print("\rpoint 1 of 9", end="", file=sys.stderr)
        print("done", file=sys.stderr)
    shown = capsys.readouterr()
    assert (shown.out, shown.err) == ("made\n", "\rpoint 1 of 9done\n")
    assert (tmp_path / "deep" / "job.log").read_text() == "made\ndone\n"


def test_a_usage_error_is_one_line_and_status_2(tmp_path, capsys):
    with pytest.raises(SystemExit) as ended, kept_log(tmp_path / "job.log"):
        raise UsageError("rate must be above 0, received 0")
    assert ended.value.code == 2
    line = "millrace: rate must be above 0, received 0\n"
    assert capsys.readouterr().err == line
    assert (tmp_path / "job.log").read_text() == line


def test_an_interrupt_is_one_line_and_status_130(tmp_path, capsys):
    with pytest.raises(SystemExit) as ended, kept_log(tmp_path / "job.log"):
        raise KeyboardInterrupt
    assert ended.value.code == 130
    assert capsys.readouterr().err.startswith("millrace: interrupted")


def test_any_other_error_keeps_its_traceback(tmp_path):
    with pytest.raises(ZeroDivisionError), kept_log(tmp_path / "job.log"):
        raise ZeroDivisionError("by design")
    kept = (tmp_path / "job.log").read_text()
    assert "Traceback" in kept and "by design" in kept
