"""The common tests of every replayed join: bad files, refusals, and Ctrl-C."""

from __future__ import annotations

import gzip
import os
import signal
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path

import pytest

from experiments.cli import main

ROOT = Path(__file__).resolve().parents[1]


def bad_files(called: str) -> dict[str, tuple[bytes, tuple[str, ...]]]:
    """Return bad files and the words that report them; `called` describes x."""
    return {
        "out of order": (b"ts,x\n1,1\n9,1\n5,1\n", ("row 3 (line 4)", "'ts'", "5 comes after 9")),
        "zero bytes": (b"", ("0 bytes",)),
        "blank header": (b"\n1,1\n", ("first line is blank",)),
        "no such column": (b"ts,y\n1,1\n", ("no column named 'x'", "ts, y")),
        "no time": (b"at,x\n1,1\n", ("no column named 'ts'", "at, x")),
        "null time": (b"ts,x\n1,1\n,2\n", ("row 2 (line 3)", "'ts'", "time is null", "--rejected")),
        "null number": (b"ts,x\n1,1\n\n2,\n",
                        ("row 2 (line 4)", "'x'", f"{called} is null", "--rejected")),
        "no number": (b"ts,x\n1,many\n", ("row 1", "'x'", "many is no number")),
        "negative time": (b"ts,x\n-1,1\n", ("row 1", "-1 is not between 0 and")),
        "calendar time": (b"ts,x\n2014-06-23,1\n", ("2014-06-23 is no time", "--time-unit")),
        "too few fields": (b"ts,x\n1,1\n2\n", ("row 2 (line 3)", "too few fields")),
        "gzip": (gzip.compress(b"ts,x\n1,5\n", mtime=0), ("gzip", "rename")),
    }  # fmt: skip


def refused(folder: Path, capsys: pytest.CaptureFixture, argv: Sequence[str], *words: str) -> None:
    """Run the command, which must refuse in one line that has all words, and leave no file."""
    before = sorted(folder.iterdir())
    assert main(argv) == 2
    printed = capsys.readouterr()
    assert printed.out == ""
    assert printed.err.startswith("millrace: ") and printed.err.count("\n") == 1, printed.err
    for word in words:
        assert word in printed.err, printed.err
    assert sorted(folder.iterdir()) == before


def assert_ctrl_c_ends(folder: Path, argv: Sequence[str], seconds: float) -> None:
    """Interrupt a command `seconds` after it began to write out.parquet."""
    process = subprocess.Popen(
        [sys.executable, "-m", "experiments.cli", *argv], cwd=ROOT, stderr=subprocess.PIPE,
        env={**os.environ, "PYTHONPATH": str(ROOT)}, text=True,
    )  # fmt: skip
    # The hidden output exists before the join begins, which would take half a minute. The join
    # itself is invisible from outside: by then it is running.
    while process.poll() is None and not list(folder.glob(".out.parquet.partial-*")):
        time.sleep(0.02)
    time.sleep(seconds)
    begin = time.monotonic()
    process.send_signal(signal.SIGINT)
    error = process.communicate(timeout=20)[1]
    assert time.monotonic() - begin < 2.0
    assert process.returncode == 130 and error.endswith("millrace: interrupted\n")
    assert not [one.name for one in folder.iterdir() if "out.parquet" in one.name]
