"""``millrace replay join`` with a theta join: refusals in one line, without a file."""

from __future__ import annotations

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from experiments.cli import main
from experiments.replay.theta_join import streams
from operators.theta_join import run
from operators.theta_join.family import TOO_FAR
from tests.experiments.replay.theta_join.replaying import CHAINS, VARIANTS, command
from tests.replays import bad_files, refused

GOOD = b"ts,x,y\n1,5,1\n2,6.5,1\n"
BAND, WINDOW = ("--band", "x:x:1"), ("--window", "5")
FILES = bad_files("value")


@pytest.fixture
def folder(tmp_path):
    for name in ("r1", "r2", "s"):
        (tmp_path / f"{name}.csv").write_bytes(GOOD)
    return tmp_path


def named(folder, *r):
    return ("--r", *(folder / f"{one}.csv" for one in r or ("r1",)), "--s", folder / "s.csv")


@pytest.mark.parametrize("case", FILES)
def test_a_file_that_is_no_good_is_named_with_its_row(folder, capsys, case):
    content, words = FILES[case]
    (folder / "s.csv").write_bytes(content)
    argv = command(folder, "scale-join", *named(folder, "r1", "r2"), *BAND, *WINDOW)
    refused(folder, capsys, argv, "s.csv", *words)


def test_what_is_wrong_with_the_second_band_is_said_of_its_column(folder, capsys):
    (folder / "s.csv").write_bytes(b"ts,x,b\n1,1,1\n2,1,\n3,1,one\n")
    argv = command(folder, "scale-join", *named(folder), *BAND, "--band", "y:b:1", *WINDOW)
    refused(folder, capsys, argv, "s.csv, row 2", "column 'b': the value is null")
    (folder / "s.csv").write_bytes(b"ts,x,b\n1,1,1\n2,1,one\n")
    refused(folder, capsys, argv, "s.csv, row 2", "column 'b': one is no number")
    (folder / "s.csv").write_bytes(b"ts,x\n1,1\n")
    refused(folder, capsys, argv, "s.csv", "no column named 'b'")


OPTIONS = {
    "no threads": ((*BAND, *WINDOW, "--threads", "0"), ("--threads", "1 and 64", "received 0")),
    "too many threads": ((*BAND, *WINDOW, "--threads", "65"), ("--threads", "received 65")),
    "threads of words": ((*BAND, *WINDOW, "--threads", "many"), ("--threads", "'many'")),
    "no window": (BAND, ("--window", "--window-count", "required")),
    "two windows": ((*BAND, *WINDOW, "--window-count", "5"), ("not allowed with",)),
    "window of no time": ((*BAND, "--window", "0"), ("--window must be between 1 and", "0")),
    "negative window": ((*BAND, "--window", "-5"), ("--window", "received -5")),
    "window of words": ((*BAND, "--window", "long"), ("--window 'long' is no length of time",)),
    "unit without a unit": ((*BAND, "--window", "30s"), ("30s", "--time-unit")),
    "window finer than the unit": ((*BAND, "--window", "250ms", "--time-unit", "s"),
                                   ("250ms is no whole number of s",)),
    "window of no tuple": ((*BAND, "--window-count", "0"), ("--window-count", "received 0")),
    "window of 2**62 tuples": ((*BAND, "--window-count", str(2**62)), ("below 2**62",)),
    "no band": (WINDOW, ("--band", "required")),
    "band of one column": (("--band", "x:1", *WINDOW), ("--band takes a column of R", "x:1")),
    "band of four": (("--band", "x:y:z:1", *WINDOW), ("received x:y:z:1",)),
    "band without a width": (("--band", "x:y:", *WINDOW), ("received x:y:",)),
    "band without a column": (("--band", ":y:1", *WINDOW), ("received :y:1",)),
    "second band": ((*BAND, "--band", "y", *WINDOW), ("such as x:a:10, received y",)),
    "negative width": (("--band", "x:x:-0.5", *WINDOW),
                       ("--band x:x: the half width must be a number, 0 at least", "-0.5")),
    "width of words": (("--band", "x:x:wide", *WINDOW), ("received wide",)),
    "unknown column": (("--band", "x:z:1", *WINDOW), ("s.csv", "no column named 'z'")),
    "unknown time": ((*BAND, *WINDOW, "--time", "at"), ("no column named 'at'",)),
    "unknown purge": ((*BAND, *WINDOW, "--purge", "both"), ("--purge", "own", "opposite")),
    "option of an index join": ((*BAND, *WINDOW, "--key", "x"), ("--key",)),
}  # fmt: skip


@pytest.mark.parametrize("case", OPTIONS)
def test_a_slip_in_the_options_is_one_line_and_status_2(folder, capsys, case):
    options, words = OPTIONS[case]
    refused(folder, capsys, command(folder, "scale-join", *named(folder), *options), *words)


def test_an_unknown_variant_is_answered_with_those_of_both_forms(folder, capsys):
    argv = command(folder, "no-join", *named(folder), *BAND, *WINDOW)
    refused(folder, capsys, argv, "'no-join'", *VARIANTS, "pim-tree", "nested-loop", "round-robin")
    refused(folder, capsys, ["replay", "join"], "name the VARIANT", "millrace replay join --help")


@pytest.mark.parametrize("variant", CHAINS)
def test_handshake_joins_say_what_they_do_not_do(folder, capsys, variant):
    argv = command(folder, variant, *named(folder, "r1", "r2"), *BAND, *WINDOW)
    refused(folder, capsys, argv, f"{variant} joins one physical stream of R", "received 2 and 1")
    argv = command(folder, variant, *named(folder), *BAND, *WINDOW, "--purge", "own")
    refused(folder, capsys, argv, f"{variant} lets tuples expire in the opposite", "opposite")


def test_too_many_physical_streams_are_refused(folder, capsys):
    argv = command(folder, "scale-join", *named(folder, *["r1"] * 64), *BAND, *WINDOW)
    refused(folder, capsys, argv, "65 files", "64 physical streams")


def test_files_that_cannot_be_read_or_written_are_refused(folder, capsys):
    def given(*options, output="out.parquet"):
        return command(folder, "scale-join", *options, *BAND, *WINDOW, output=output)

    refused(folder, capsys, given("--r", folder / "r1.csv"), "--s", "required")
    refused(folder, capsys, given(*named(folder, "no")), "no.csv does not exist")
    refused(folder, capsys, given("--r", folder, "--s", folder / "s.csv"), "is not named as one of")
    refused(folder, capsys, given(*named(folder), output="out.csv"), ".parquet")
    refused(folder, capsys, given(*named(folder), "--rejected", folder / "r.txt"), "--rejected")
    pq.write_table(pa.table({"ts": [1], "x": [1]}), folder / "out.parquet")
    refused(folder, capsys, given(*named(folder)), "out.parquet exists", "--overwrite")
    also = given("--r", folder / "out.parquet", "--s", folder / "s.csv", "--overwrite")
    refused(folder, capsys, also, "out.parquet is also an input")


def test_more_tuples_than_a_window_keeps_are_refused(folder, capsys, monkeypatch):
    monkeypatch.setattr(streams, "REACH", 2)
    for window in (WINDOW, ("--window-count", "2")):
        argv = command(folder, "sequential", *named(folder), *BAND, *window)
        refused(folder, capsys, argv, "a window has up to 2 tuples", "1 at most")


def test_a_thread_that_fails_leaves_nothing(folder, capsys, monkeypatch):
    def fails(get_output, seen, joins):
        return lambda *given: TOO_FAR

    monkeypatch.setattr(run, "make_take_loop", fails)
    assert main(command(folder, "scale-join", *named(folder), "--band", "x:x:0", *WINDOW)) == 1
    assert "output: a pair is 67108864 tuples apart or more" in capsys.readouterr().err
    assert sorted(one.name for one in folder.iterdir()) == ["r1.csv", "r2.csv", "s.csv"]
