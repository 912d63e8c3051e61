"""Realistic surroundings of a process: a row a case, with a command and the expected message.

The kinds of shells, containers and accidents are taken from bug reports of other tools in this
field. Foreign modules and settings are kept out of our processes, or named in one line. A new case
is a row.
"""

from __future__ import annotations

import importlib.util
import json
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from types import FunctionType
from typing import NamedTuple

import pyarrow.parquet as pq
import pytest

from experiments import cli, faults, run_options, surroundings
from experiments.cli import main
from experiments.commands.job_log import kept_log
from experiments.replay.files import checked_output
from operators.contract import UsageError
from operators.core import sources
from operators.core.jit import INTERPRETED, kernel
from operators.running.interrupts import Ended, interrupts_kept, raise_as_of
from operators.running.outputs import appearing, claimed

ROOT = Path(__file__).resolve().parents[2]
DOOR = [sys.executable, str(ROOT / "millrace_command.py")]
ASCII = {"LC_ALL": "POSIX", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}
ODD = os.fsdecode(b"m\xe4rz")
SMALL = "t,k,v\n1,a,5\n2,a,6\n"
AGGREGATE = (
    "replay", "aggregation", "mq", "--time", "t", "--key", "k", "--value", "v", "--function", "sum",
    "--window-size", "10", "--window-advance", "10",
)  # fmt: skip


@pytest.fixture
def folder(tmp_path, monkeypatch) -> Path:
    """Return a working folder with inputs, and with unrelated packages that have our names."""
    for name in ("operators/phone/family", "datasets/songs/tables", "experiments/mine/figures",
                 "experiments/families/mine/bench", "figures/__init__"):  # fmt: skip
        file = tmp_path / f"{name}.py"
        file.parent.mkdir(parents=True)
        for each in (file, tmp_path / name.partition("/")[0] / "__init__.py"):
            each.write_text("raise ImportError('not ours')\n")
    (tmp_path / "small.csv").write_text(SMALL)
    (tmp_path / f"{ODD}.csv").write_text(SMALL + "3,a,x\n")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def run(*argv: str, shell: str = '"$@"', **environment: str) -> subprocess.CompletedProcess[str]:
    """Run the command through a line of a shell, where `"$@"` stands for it."""
    clean = {n: v for n, v in os.environ.items() if n not in ("PYTHONPATH", "PYTHONSAFEPATH")}
    return subprocess.run(
        ["bash", "-c", shell, "bash", *DOOR, *argv], env=clean | environment, timeout=100,
        capture_output=True, text=True, errors="surrogateescape", check=False,
    )  # fmt: skip


# --- processes -----------------------------------------------------------------------------------


class Row(NamedTuple):
    """Arguments and surroundings of a process, and how the process must end."""

    argv: tuple[str, ...]
    environment: dict[str, str] = {}
    shell: str = '"$@"'
    status: int = 0
    out: str = ""
    err: str = ""


LIST = ("list", "queries")
ROWS = {
    "our names on Python's path": Row(("list",), {"PYTHONPATH": "."}, out="aggregation"),
    "ASCII": Row(LIST, ASCII, out="aggregation"),
    "numba told to use no threads": Row(LIST, {"NUMBA_NUM_THREADS": "0"}, out="aggregation"),
    "no stdout": Row(LIST, shell='"$@" >&-'),
    "no streams at all": Row(LIST, shell='"$@" <&- >&- 2>&-'),
    "a pipe that ends": Row(LIST, shell='set -o pipefail; "$@" 2>&1 | head -n 0', status=1),
    "a full disk behind stdout": Row(
        ("list", "datasets"), {"PYTHONUNBUFFERED": ""}, '"$@" >/dev/full', 2, err="standard output"
    ),
    "an interpreter that is asked for in words": Row(
        LIST, {"NUMBA_DISABLE_JIT": "yes"}, status=2, err="NUMBA_DISABLE_JIT is 'yes'"
    ),
    "a working folder that is gone": Row(
        LIST, shell='mkdir gone && cd gone && rmdir ../gone && "$@"', status=2, err="is gone"
    ),
    "settings of numba in the working folder": Row(
        LIST, shell='echo "num_threads: 0" > .numba_config.yaml; "$@"', status=2, err="another fold"
    ),
}


@pytest.mark.parametrize("case", ROWS)
def test_a_process_says_what_it_must(folder, case):
    row = ROWS[case]
    done = run(*row.argv, shell=row.shell, **row.environment)
    assert done.returncode == row.status, done.stderr
    assert row.out in done.stdout and row.err in done.stderr
    assert done.stderr.count("\n") == (1 if row.err else 0), done.stderr
    assert done.stderr.startswith("millrace: " if row.err else "")


def test_all_at_once_a_run_writes_what_it_must(folder):
    environment = ASCII | {
        "PYTHONPATH": ".", "NUMBA_NUM_THREADS": "0", "NUMBA_DEBUGINFO": "1", "NUMBA_OPT": "7",
        "NUMBA_BOUNDSCHECK": "1", "HTTP_PROXY": "http://proxy.invalid:1", "HOME": "/nowhere",
        "PYTHONOPTIMIZE": "2", "PYTHONWARNINGS": "error",
    }  # fmt: skip
    argv = (
        *AGGREGATE,
        "--input",
        f"{ODD}.csv",
        "--output",
        "münchen.parquet",
        "--rejected",
        "r.csv",
    )
    done = run(*argv, shell='"$@" >&-', **environment)
    assert done.returncode == 0, done.stderr
    assert done.stderr.count("\n") == 1
    with open(folder / "münchen.parquet", "rb") as file:
        assert pq.read_table(file).to_pylist() == [{"window_start": 0, "key": "a", "value": 11}]
    assert "m\\udce4rz.csv,4," in (folder / "r.csv").read_text()


def test_what_we_start_finds_us_before_others_of_our_names(folder, monkeypatch):
    monkeypatch.setenv("PYTHONPATH", ".")
    monkeypatch.setenv("PYTHONSAFEPATH", "")
    surroundings.lead_to_us()
    assert os.environ["PYTHONPATH"] == f"{ROOT}{os.pathsep}."
    argv = [sys.executable, "-m", "operators.check", "--help"]
    assert b"--deep" in subprocess.run(argv, capture_output=True, check=True).stdout


# --- names ---------------------------------------------------------------------------------------


def test_files_may_have_names_that_are_not_utf8(folder, capsys):
    argv = [*AGGREGATE, "--input", f"{ODD}.csv", "--rejected", f"{ODD}.r.csv", "--json"]
    assert main([*argv, "--output", f"{ODD}.parquet"]) == 0
    assert json.loads(capsys.readouterr().out)["output"] == f"{ODD}.parquet"
    assert Path(f"{ODD}.parquet").read_bytes()[:4] == b"PAR1"
    again = [*AGGREGATE, "--time", "window_start", "--key", "key", "--value", "value"]
    assert main([*again, "--input", f"{ODD}.parquet", "--output", "again.parquet"]) == 0


def test_no_home_is_needed(monkeypatch, tmp_path):
    monkeypatch.delenv("XDG_CACHE_HOME", raising=False)
    monkeypatch.setattr("os.path.expanduser", lambda path: path)
    monkeypatch.setattr("tempfile.gettempdir", lambda: str(tmp_path))
    assert sources.user_folder() == tmp_path / f"millrace-of-{os.getuid()}"
    monkeypatch.setenv("XDG_CACHE_HOME", "relative")
    assert sources.user_folder().is_absolute()


# --- kernels that cannot be kept -----------------------------------------------------------------


@pytest.fixture
def doubled(folder) -> FunctionType:
    """Return a user's function, whose module contains nothing else."""
    file = folder / "of_a_user.py"
    file.write_text("def doubled(number):\n    return number * 2\n")
    spec = importlib.util.spec_from_file_location("of_a_user", file)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module.doubled


@pytest.mark.skipif(INTERPRETED, reason="nothing is compiled")
@pytest.mark.parametrize("place", ["/proc/kernels", "small.csv"])
def test_kernels_work_where_none_can_be_kept_and_it_is_said_once(
    folder, doubled, monkeypatch, capsys, place
):
    monkeypatch.setenv("NUMBA_CACHE_DIR", place)
    monkeypatch.setenv(sources.NOT_KEPT, "")
    assert (kernel(doubled)(2), kernel(doubled)(2.5)) == (4, 5.0)
    said = capsys.readouterr().err
    assert said.startswith(f"millrace: compiled kernels cannot be kept in {place} (")
    assert said.count("\n") == 1 and "NUMBA_CACHE_DIR" in said


@pytest.mark.skipif(INTERPRETED, reason="nothing is compiled")
def test_files_of_the_cache_that_are_cut_count_as_none(folder, doubled, monkeypatch, capsys):
    monkeypatch.setenv("NUMBA_CACHE_DIR", str(folder / "kernels"))
    assert kernel(doubled)(2) == 4
    kept = sorted((folder / "kernels").glob("*doubled*"))
    assert len(kept) == 2
    for file in kept:
        os.truncate(file, 30)
    assert kernel(doubled)(2) == 4
    assert all(file.stat().st_size > 30 for file in kept)
    assert capsys.readouterr().err == ""


# --- faults in Millrace --------------------------------------------------------------------------


def failing(error: BaseException):
    def command(options):
        raise error

    return lambda name: command


def test_what_nobody_foresaw_is_a_line_and_a_file_with_the_trace(folder, monkeypatch, capsys):
    monkeypatch.setenv(faults.SHOWN, "0")
    monkeypatch.setattr("tempfile.tempdir", str(folder))
    monkeypatch.setattr(cli, "_command", failing(ZeroDivisionError("by\ndesign")))
    assert main(["list"]) == 1
    [line] = capsys.readouterr().err.splitlines()
    [file] = folder.glob("millrace-fault-*")
    for word in ("a fault of Millrace", "ZeroDivisionError: by design", str(file), "report",
                 "Python 3", "numba ", f"{Path(__file__).name}:"):  # fmt: skip
        assert word in line, line
    assert "Traceback" in file.read_text() and "by\ndesign" in file.read_text()


def test_a_job_names_the_log_that_has_the_trace(folder, monkeypatch, capsys):
    monkeypatch.setenv(faults.SHOWN, "0")
    with pytest.raises(SystemExit) as ended, kept_log("job.log"):
        raise ZeroDivisionError("by design")
    assert ended.value.code == 1
    [line] = capsys.readouterr().err.splitlines()
    assert "a fault of Millrace" in line and "the whole trace is in job.log" in line
    assert "Traceback" in (folder / "job.log").read_text()


OF_THE_SYSTEM = {
    "a file that is gone": (FileNotFoundError(2, os.strerror(2), "in.csv"), "in.csv: No such file"),
    "a full disk": (OSError(28, os.strerror(28)), "No space left on device; free some space"),
    "a file that is too large": (OSError(27, os.strerror(27)), "File too large; allow larger"),
    "too many threads": (RuntimeError("can't start new thread"), "new thread; allow more"),
    "another fault while running": (RuntimeError("by design"), "a fault of Millrace"),
    "too many files": (OSError(24, os.strerror(24)), "ulimit -n"),
    "a file nobody names": (FileNotFoundError(2, os.strerror(2)), "a fault of Millrace"),
}


@pytest.mark.parametrize("case", OF_THE_SYSTEM)
def test_an_error_of_the_system_is_a_line_with_a_remedy(folder, monkeypatch, capsys, case):
    error, told = OF_THE_SYSTEM[case]
    monkeypatch.setenv(faults.SHOWN, "0")
    monkeypatch.setattr("tempfile.tempdir", str(folder))
    monkeypatch.setattr(cli, "_command", failing(error))
    assert main(["list"]) == 1
    [line] = capsys.readouterr().err.splitlines()
    assert line.startswith("millrace: ") and told in line and "; " in line


def test_an_output_that_cannot_be_made_is_said(folder, monkeypatch):
    loop = folder / "loop.parquet"
    loop.symlink_to(loop)
    with pytest.raises(UsageError, match="a link that leads back to itself; remove it"):
        checked_output("--output", loop, (".parquet",), (), True)
    opened = os.open

    def refusing(path, *rest):
        """Refuse new files as /proc does, which says that there is no such file."""
        if "claim" in str(path):
            raise FileNotFoundError(2, os.strerror(2), path)
        return opened(path, *rest)

    monkeypatch.setattr(os, "open", refusing)
    with pytest.raises(UsageError, match="no file can be made in .*; write elsewhere"):
        with claimed(folder / "out.parquet"):
            pass


# --- ends ----------------------------------------------------------------------------------------


@pytest.fixture
def handled_as_usual() -> Iterator[dict[int, object]]:
    """Handle signals as a terminal does, also where the tests run under ``nohup``."""
    usual = {
        signal.SIGTERM: signal.SIG_DFL, signal.SIGHUP: signal.SIG_DFL,
        signal.SIGINT: signal.default_int_handler,
    }  # fmt: skip
    before = {number: signal.signal(number, handler) for number, handler in usual.items()}
    yield usual
    for number, handler in before.items():
        signal.signal(number, handler)


@pytest.mark.parametrize(
    ("number", "status", "told"),
    [
        (signal.SIGTERM, 143, "ended by SIGTERM"),
        (signal.SIGHUP, 129, "ended by SIGHUP"),
        (signal.SIGINT, 130, "interrupted"),
    ],
)
def test_a_signal_ends_a_command_and_leaves_nothing_behind(
    folder, handled_as_usual, monkeypatch, capsys, number, status, told
):
    def command(options):
        path = Path("out.parquet")
        with claimed(path), appearing(path) as partial:
            partial.write_bytes(b"half")
            signal.raise_signal(number)
            threading.Event().wait(20)

    before = sorted(folder.iterdir()), handled_as_usual[number]
    monkeypatch.setattr(cli, "_command", lambda name: command)
    assert main(["list"]) == status
    assert capsys.readouterr().err == f"millrace: {told}\n"
    assert (sorted(folder.iterdir()), signal.getsignal(number)) == before


def test_a_signal_that_is_ignored_stays_so(handled_as_usual):
    signal.signal(signal.SIGHUP, signal.SIG_IGN)
    with interrupts_kept():
        signal.raise_signal(signal.SIGHUP)
        assert signal.getsignal(signal.SIGHUP) is signal.SIG_IGN


@pytest.mark.parametrize("status", [143, -15, 129, 130, -2])
def test_who_started_a_process_that_a_signal_has_ended_ends_likewise(status):
    with pytest.raises(KeyboardInterrupt) as ended:
        raise_as_of(status)
    assert isinstance(ended.value, Ended) == (status not in (130, -2))


@pytest.mark.parametrize("status", [0, 1, 2, -9])
def test_another_status_is_no_signal_to_us(status):
    raise_as_of(status)


@pytest.mark.parametrize("there", [True, False])
def test_what_a_link_points_at_is_written_and_the_link_stays(folder, there):
    kept = folder / "kept"
    kept.mkdir()
    link = folder / "out.parquet"
    link.symlink_to("kept/real.parquet")
    if there:
        (kept / "real.parquet").write_bytes(b"old")
    argv = [*AGGREGATE, "--input", "small.csv", "--output", "out.parquet"]
    assert main(argv + ["--overwrite"] * there) == 0
    assert link.is_symlink() and [each.name for each in kept.iterdir()] == ["real.parquet"]
    assert pq.read_table(kept / "real.parquet").num_rows == 1


def test_a_link_to_a_device_is_refused(folder, capsys):
    (folder / "out.parquet").symlink_to("/dev/null")
    argv = [*AGGREGATE, "--input", "small.csv", "--output", "out.parquet", "--overwrite"]
    assert main(argv) == 2
    assert "is a device or a pipe" in capsys.readouterr().err


def test_the_second_run_into_an_output_says_who_holds_it(folder, capsys):
    (folder / "link.parquet").symlink_to("out.parquet")
    argv = [*AGGREGATE, "--input", "small.csv", "--output", "link.parquet"]
    with claimed(folder / "out.parquet"):
        assert main(argv) == 2
    said = capsys.readouterr().err
    assert f"link.parquet is being written by process {os.getpid()} (" in said
    assert said.count("\n") == 1
    assert main(argv) == 0


def test_what_a_killed_run_has_left_is_removed(folder):
    ended = subprocess.Popen(["true"])
    ended.wait()
    left = [folder / f".out.parquet.{kind}-{ended.pid}" for kind in ("claim", "partial")]
    other = folder / ".out.parquet.claim-of.mine"
    for file in (*left, other):
        file.touch()
    with claimed(folder / "out.parquet"):
        assert [file.exists() for file in (*left, other)] == [False, False, True]


# --- options of the workflow ---------------------------------------------------------------------


@pytest.mark.parametrize(
    ("given", "told"),
    [
        ({"label": "my run"}, "label=my run cannot be; it may be up to 100 letters, digits, '_'"),
        ({"label": "a" * 101}, "up to 100"),
        ({"label": "../up"}, "no sign in front"),
        ({"label": 1.5}, "label=1.5 cannot be; it may be text; give it in quotes"),
        ({"label": "report.html"}, "label=report.html is a file or folder that all sets of result"),
        ({"label": "data"}, "label=data is a file or folder"),
        ({"label": {"a": 1}}, "it may be text"),
        ({"repetitions": "many"}, "repetitions=many cannot be; it may be a whole number"),
        ({"repetitions": True}, "repetitions=True cannot be"),
        ({"repetitions": -1}, "repetitions=-1 cannot be; it may be a whole number of at least 0"),
        ({"measure": "maybe"}, "measure=maybe cannot be; it may be True or False"),
        ({"profil": "quick"}, "there is no option 'profil'; the options are profile, paper, data"),
        ({"spark_master": "there"}, "Spark master 'there' is none of local"),
    ],
)
def test_an_option_that_cannot_be_meant_is_named(given, told):
    with pytest.raises(UsageError) as refusal:
        run_options.checked(given)
    assert told in str(refusal.value)


def test_a_label_may_be_digits_and_nothing_is_the_default():
    found = run_options.checked({"label": 2024, "paper": None})
    assert (found["label"], found["paper"], found["measure"]) == ("2024", "all", True)
