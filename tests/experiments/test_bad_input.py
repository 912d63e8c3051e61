"""Bad input: one clear line, exit status 2, nothing half-written, an existing output untouched."""

from __future__ import annotations

import gzip
import os
import subprocess
import sys
from datetime import date
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from experiments.cli import main

ROOT = Path(__file__).resolve().parents[2]
GOOD = "ts,k,v\n1,a,1.5\n2,b,2\n"
WINDOWS = ["--window-size", "10", "--window-advance", "5"]


def arguments(folder, *options, function="sum", windows=WINDOWS, inputs=("good.csv",)):
    given = ["replay", "aggregation", "tumlsc", "--input", *(str(folder / one) for one in inputs)]
    given += ["--time", "ts", "--function", function, "--output", str(folder / "out.parquet")]
    return [*given, *windows, *options]


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "good.csv").write_text(GOOD)
    return tmp_path


def refused(argv, capsys, *words):
    """Run the command, which must refuse in one line that has all of `words`."""
    assert main(argv) == 2
    printed = capsys.readouterr()
    assert printed.out == ""
    assert printed.err.startswith("millrace: ") and printed.err.count("\n") == 1, printed.err
    assert "usage" not in printed.err.lower()
    for word in words:
        assert word in printed.err, printed.err


FILES = {
    "out of order": (b"ts,k,v\n1,a,1\n9,a,1\n5,b,1\n", ("stream 0", "row 3", "line 4", "5", "9")),
    "missing column": (b"time,k,v\n1,a,1\n", ("no column named 'ts'", "time, k, v")),
    "column twice": (b"ts,k,v,v\n1,a,1,1\n", ("2 columns named 'v'",)),
    "zero bytes": (b"", ("0 bytes",)),
    "blank header": (b"\n1,a,1\n", ("first line is blank",)),
    "gzip": (gzip.compress(GOOD.encode(), mtime=0), ("gzip", "rename")),
    "parquet": (b"PAR1 and so on", ("Parquet", "rename")),
    "binary": (b"\x00\x01\x02\x03", ("binary",)),
    "utf-16": (GOOD.encode("utf-16"), ("UTF-16",)),
    "null time": (b"ts,k,v\n1,a,1\n,a,1\n", ("row 2 (line 3)", "'ts'", "null", "--rejected")),
    "null key": (b"ts,k,v\n1,a,1\n2,,1\n", ("row 2 (line 3)", "'k'", "null", "--rejected")),
    "null value": (b"ts,k,v\n\n1,a,1\n2,a,\n", ("row 2 (line 4)", "'v'", "null", "--rejected")),
    "nan": (b"ts,k,v\n1,a,NaN\n", ("row 1", "'v'", "null")),
    "no number": (b"ts,k,v\n1,a,many\n", ("row 1", "'v'", "many is no number")),
    "no time": (b"ts,k,v\n2014-06-23,a,1\n", ("2014-06-23 is no time", "--time-unit")),
    "negative time": (b"ts,k,v\n-1,a,1\n", ("-1 is not between 0",)),
    "broken time": (b"ts,k,v\n1.5,a,1\n", ("1.5 is no time",)),
    "too few fields": (b"ts,k,v\n1,a,1\n2,a\n", ("row 2 (line 3)", "too few fields")),
    "broken quotes": (b'ts,k,v\n1,"a,1\n', ("broken quotes", "line 2")),
    "not utf-8": (b"ts,k,v\n1,\xff,1\n", ("UTF-8", "line 2")),
    "value of 20 digits": (b"ts,k,v\n1,a,99999999999999999999\n",
                           ("row 1", "64 bits", "leave the row out")),
    "overflow": (b"ts,k,v\n1,a,900000000000000000\n2,a,0.125\n",
                 ("row 1", "3 decimals", "--decimals N", "most 1")),
}  # fmt: skip


@pytest.mark.parametrize("case", FILES)
def test_files(folder, capsys, case):
    content, words = FILES[case]
    (folder / "bad.csv").write_bytes(content)
    before = sorted(folder.iterdir())
    argv = arguments(folder, "--key", "k", "--value", "v", inputs=("good.csv", "bad.csv"))
    name = "stream 1" if case == "out of order" else "bad.csv"
    words = [word for word in words if not word.startswith("stream")]
    refused(argv, capsys, name, "bad.csv", *words)
    assert sorted(folder.iterdir()) == before


GZIPS = {
    "no gzip": (GOOD.encode(), ("not gzip", "plain text")),
    "cut short": (gzip.compress(GOOD.encode(), mtime=0)[:-12], ("cut short",)),
    "empty inside": (gzip.compress(b"", mtime=0), ("empty once decompressed",)),
}


@pytest.mark.parametrize("case", GZIPS)
def test_gzip_files(folder, capsys, case):
    content, words = GZIPS[case]
    (folder / "bad.csv.gz").write_bytes(content)
    refused(arguments(folder, "--value", "v", inputs=("bad.csv.gz",)), capsys, "bad.csv.gz", *words)
    assert not (folder / "out.parquet").exists()


PARQUETS = {
    "out of order": ({"ts": [3, 1], "v": [1, 1]}, ("row 2", "1 comes after 3")),
    "missing column": ({"at": [3], "v": [1]}, ("no column named 'ts'",)),
    "null time": ({"ts": [1, None], "v": [1, 1]}, ("row 2", "'ts'", "null")),
    "null value": ({"ts": [1, 2], "v": [1.5, None]}, ("row 2", "'v'", "null")),
    "null key": ({"ts": [1, 2], "v": [1, 1], "k": ["a", None]}, ("row 2", "'k'", "null")),
    "date key": ({"ts": [1], "v": [1], "k": [date(2014, 6, 23)]}, ("'k'", "date32")),
    "timestamps": (
        {"ts": pa.array([0], pa.timestamp("ms")), "v": [1]},
        ("timestamp", "--time-unit"),
    ),
}


@pytest.mark.parametrize("case", PARQUETS)
def test_parquet_files(folder, capsys, case):
    columns, words = PARQUETS[case]
    pq.write_table(pa.table(columns), folder / "bad.parquet")
    key = ["--key", "k"] if "k" in columns else []
    argv = arguments(folder, "--value", "v", *key, inputs=("bad.parquet",))
    refused(argv, capsys, "bad.parquet", *words)
    assert not (folder / "out.parquet").exists()


@pytest.mark.parametrize("content", [GOOD.encode(), b"PAR1", b"PAR1" + bytes(100) + b"PAR1"])
def test_parquet_files_that_are_none(folder, capsys, content):
    (folder / "bad.parquet").write_bytes(content)
    refused(arguments(folder, "--value", "v", inputs=("bad.parquet",)), capsys, "not", "Parquet")


def test_a_null_text_is_refused_and_an_empty_one_is_not(folder, capsys):
    pq.write_table(pa.table({"ts": [1, 2], "t": ["", None]}), folder / "t.parquet")
    argv = arguments(folder, "--text", "t", function="count-mail", inputs=("t.parquet",))
    refused(argv, capsys, "row 2", "'t'", "null")


def test_keys_of_two_types(folder, capsys):
    pq.write_table(pa.table({"ts": [1], "k": [7]}), folder / "i.parquet")
    pq.write_table(pa.table({"ts": [1], "k": ["7"]}), folder / "s.parquet")
    for other in ("s.parquet", "good.csv"):
        argv = arguments(folder, "--key", "k", function="count", inputs=("i.parquet", other))
        refused(argv, capsys, "i.parquet", "type")


def test_times_finer_than_the_unit(folder, capsys):
    (folder / "fine.csv").write_text("ts,v\n1970-01-01T00:00:00.5Z,1\n")
    windows = ["--window-size", "10s", "--window-advance", "5s"]
    argv = arguments(folder, "--value", "v", "--time-unit", "s", windows=windows,
                     inputs=("fine.csv",))  # fmt: skip
    refused(argv, capsys, "fine.csv", "row 1", "finer", "--time-unit")


OPTIONS = {
    "advance of zero": ({"windows": ["--window-size", "10", "--window-advance", "0"]},
                        ("window advance", "received 0", "between 1 and")),
    "advance above size": ({"windows": ["--window-size", "10", "--window-advance", "11"]},
                           ("advance 11", "size 10", "between 1 and 10")),
    "size of zero": ({"windows": ["--window-size", "0", "--window-advance", "0"]},
                     ("window size", "received 0")),
    "no length": ({"windows": ["--window-size", "soon", "--window-advance", "1"]},
                  ("'soon'", "whole number")),
    "unit without a unit": ({"windows": ["--window-size", "30s", "--window-advance", "5s"]},
                            ("30s", "--time-unit")),
    "unknown function": ({"function": "median"}, ("median", "count", "sum", "avg")),
    "input that is not there": ({"inputs": ("none.csv",)}, ("none.csv", "does not exist")),
    "input of another kind": ({"inputs": ("good.txt",)}, ("good.txt", ".csv.gz", ".parquet")),
}  # fmt: skip


@pytest.mark.parametrize("case", OPTIONS)
def test_options(folder, capsys, case):
    changed, words = OPTIONS[case]
    refused(arguments(folder, "--value", "v", **changed), capsys, *words)
    assert sorted(one.name for one in folder.iterdir()) == ["good.csv"]


MORE_OPTIONS = {
    "sum without value": ([], ("sum reads values", "--value")),
    "value and text": (["--value", "v", "--text", "k"], ("--text", "--value")),
    "decimals": (["--value", "v", "--decimals", "19"], ("--decimals", "between 0 and 18", "19")),
    "no keys": (["--value", "v", "--max-keys", "0"], ("--max-keys", "received 0")),
    "too many keys": (["--value", "v", "--key", "k", "--max-keys", "1"], ("2 keys", "raise it")),
    "no update threads": (["--value", "v", "--update-threads", "0"], ("--update-threads",)),
    "unknown unit": (["--value", "v", "--time-unit", "days"], ("days", "'s', 'ms', 'us'")),
    "unknown option": (["--value", "v", "--windowsize", "3"], ("--windowsize", "--help")),
    "rejected of another kind": (["--value", "v", "--rejected", "r.txt"], ("r.txt", ".csv")),
}


@pytest.mark.parametrize("case", MORE_OPTIONS)
def test_more_options(folder, capsys, case):
    options, words = MORE_OPTIONS[case]
    refused(arguments(folder, *options), capsys, *words)
    assert sorted(one.name for one in folder.iterdir()) == ["good.csv"]


def test_texts_are_needed(folder, capsys):
    argv = arguments(folder, "--value", "v", function="count-mail")
    refused(argv, capsys, "count-mail", "--text")


def test_an_output_that_exists_is_untouched(folder, capsys):
    output = folder / "out.parquet"
    output.write_text("mine")
    refused(arguments(folder, "--value", "v"), capsys, "out.parquet exists", "--overwrite")
    assert output.read_text() == "mine"
    (folder / "good.csv").write_text(GOOD + "1,a,1\n")
    refused(arguments(folder, "--value", "v", "--overwrite"), capsys, "out of order")
    assert output.read_text() == "mine"
    assert sorted(one.name for one in folder.iterdir()) == ["good.csv", "out.parquet"]
    (folder / "good.csv").write_text(GOOD)
    assert main(arguments(folder, "--value", "v", "--overwrite")) == 0
    assert pq.read_table(output).num_rows == 1


def test_an_output_is_no_input_and_no_folder(folder, capsys):
    pq.write_table(pa.table({"ts": [1], "v": [1]}), folder / "out.parquet")
    argv = arguments(folder, "--value", "v", "--overwrite", inputs=("out.parquet",))
    refused(argv, capsys, "out.parquet", "also an input")
    for output, words in (("missing/out.parquet", ("no folder",)), ("out.csv", (".parquet",))):
        argv = arguments(folder, "--value", "v")
        argv[argv.index("--output") + 1] = str(folder / output)
        refused(argv, capsys, *words)


CHECKS = {
    "variant": (["no-such"], ("no-such", "gate/t-gate", "core/spsc-ring")),
    "schedule": (["t-gate", "--schedule", "x"], ("'x'", "scenario:memory:turns")),
    "schedule of no scenario": (["t-gate", "--schedule", "x:sc:a1"], ("'x'", "ties")),
    "mutant": (["t-gate", "--mutant", "x"], ("'x'", "t-gate-pins-not-looked-at")),
    "mutants of none": (["join/b-chain", "--mutants"], ("join/b-chain", "no mutants")),
    "mutants of a schedule": (
        ["t-gate", "--mutants", "--schedule", "ties:sc:a1"],
        ("--mutants", "--schedule"),
    ),
}


@pytest.mark.parametrize(("argv", "words"), CHECKS.values(), ids=CHECKS)
def test_checks(argv, words, capfd):
    # The command imports the checked module in a separate process, which reports the error.
    refused(["check", *argv], capfd, *words)


COMMANDS = {
    "no command": ([], ("COMMAND",)),
    "unknown command": (["measure"], ("measure", "bench", "replay")),
    "unknown family": (["bench", "joins", "x"], ("joins", "gate", "aggregation")),
    "unknown variant": (["bench", "gate", "no-gate"], ("no-gate", "t-gate", "multi-queue")),
    "variant of replay": (["replay", "aggregation", "scalegate"], ("scalegate", "tumlsc", "mq")),
    "gates": (["replay", "gate", "t-gate"], ("gate", "aggregation")),
    "rate of zero": (["bench", "gate", "t-gate", "--rate", "0"], ("rate", "above 0", "received 0")),
    "rate of words": (["bench", "gate", "t-gate", "--rate", "fast"], ("max", "received fast")),
    "rate out of limits": (["bench", "gate", "t-gate", "--rate", "1e300"],
                           ("rate", "at most 1000000000", "received 1e300")),
    "no seconds": (["bench", "gate", "t-gate", "--seconds", "0"], ("--seconds", "received 0")),
    "too many seconds": (["bench", "gate", "t-gate", "--seconds", "1e12"],
                         ("--seconds", "at most 86400", "received 1e+12")),
    "endless seconds": (["bench", "gate", "t-gate", "--seconds", "inf"], ("--seconds", "inf")),
    "no repetition": (["bench", "gate", "t-gate", "--repeat", "0"], ("--repeat", "received 0")),
    "no value": (["bench", "gate", "t-gate", "--set", "readers"], ("name=value", "'readers'")),
    "unknown setting": (["bench", "gate", "t-gate", "--set", "x=1"], ("'x'", "levels", "sources")),
    "setting out of limits": (["bench", "gate", "t-gate", "--set", "levels=99"],
                              ("levels", "between 1 and 32", "99")),
    "gate over the memory": (["bench", "gate", "t-gate", "--set", "sources=512", "ahead=1048576"],
                             ("512 sources", "ahead 1048576", "bytes", "lower")),
    "queues over the memory": (["bench", "gate", "multi-queue", "--set", "sources=512",
                                "ahead=1048576"], ("512 sources", "bytes", "lower")),
    "a second reader": (["bench", "gate", "multi-queue", "--set", "readers=2"],
                        ("readers must be 1, received 2",)),
    "setting of words": (["bench", "gate", "t-gate", "--set", "readers=many"], ("'many'",)),
    "no input threads": (["bench", "aggregation", "mq", "--set", "inputs=0"],
                         ("inputs", "received 0")),
    "unknown query": (["bench", "aggregation", "mq", "--set", "query=z"], ("'z'", "k-OS", "K-OI")),
    "unknown dataset": (["bench", "aggregation", "mq", "--set", "dataset=z"],
                        ("dataset 'z'", "made so far: none")),
    "variant twice": (["bench", "gate", "t-gate", "t-gate"], ("twice", "--repeat")),
    "unknown topic": (["list", "papers"], ("papers", "variants", "queries")),
    "unknown profile": (["plan", "--profile", "huge"], ("'huge'", "laptop", "quick")),
    "unknown paper": (["plan", "--paper", "none"], ("'none'", "papers are: ")),
    "no results of a name": (["claims", "--results", "none"], ("'none'", "there are: none")),
    "no family to replay": (["replay"], ("FAMILY", "millrace replay --help")),
    "unknown setting of an aggregate": (["bench", "aggregation", "mq", "--set", "x=1"],
                                        ("'x'", "ahead, dataset, inputs, query, seed")),
}  # fmt: skip


@pytest.mark.parametrize("case", COMMANDS)
def test_commands(folder, capsys, monkeypatch, case):
    monkeypatch.setenv("MILLRACE_RESULTS", str(folder / "results"))
    argv, words = COMMANDS[case]
    if argv[:1] == ["replay"] and len(argv) > 1:
        rest = arguments(folder, "--value", "v")[3:]
        argv = [*argv, *rest]
    refused(argv, capsys, *words)
    assert sorted(one.name for one in folder.iterdir()) == ["good.csv"]


@pytest.mark.parametrize("argv", [["bench", "gate", "none"], ["replay", "aggregation", "tumlsc"]])
def test_the_process_itself_says_one_line(argv):
    done = subprocess.run(
        [sys.executable, "-m", "experiments.cli", *argv],
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 2 and done.stdout == ""
    assert done.stderr.startswith("millrace: ") and done.stderr.count("\n") == 1
