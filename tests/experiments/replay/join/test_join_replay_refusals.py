"""``millrace replay join``: refusals in one line, without a file left behind."""

from __future__ import annotations

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from experiments.cli import main
from experiments.commands.arguments import make_parser
from experiments.replay.join.request import make_request
from operators.join import run as join
from operators.join.family import INDEX_FULL
from tests.covering import interpreted_is_enough
from tests.replays import bad_files, refused

GOOD = b"ts,x\n1,5\n2,6.5\n"
COUNT, HALF = ("--window-count", "5"), ("--half-width", "1")
FILES = bad_files("key")


def command(folder, variant, *options, output="out.parquet"):
    argv = ["replay", "join", variant, *map(str, options), "--key", "x"]
    return [*argv, "--output", str(folder / output)]


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "r.csv").write_bytes(GOOD)
    (tmp_path / "s.csv").write_bytes(GOOD)
    return tmp_path


def two(folder):
    return ("--r", folder / "r.csv", "--s", folder / "s.csv")


@pytest.mark.parametrize("case", FILES)
def test_a_file_that_is_no_good_is_named_with_its_row(folder, capsys, case):
    content, words = FILES[case]
    (folder / "s.csv").write_bytes(content)
    refused(
        folder, capsys, command(folder, "im-tree", *two(folder), *HALF, *COUNT), "s.csv", *words
    )


OPTIONS = {
    "variant": ("no-tree", (*HALF, *COUNT), ("no-tree", "pim-tree", "nested-loop")),
    "threads of a tree": ("im-tree", (*HALF, *COUNT, "--threads", "2"),
                          ("im-tree has one thread, received threads=2;",
                           "for bw-tree, olc-tree, pim-tree, pim-tree-parallel, round-robin and",
                           "round-robin-as-printed")),
    "too many threads": ("pim-tree", (*HALF, *COUNT, "--threads", "17"),
                         ("threads must be between 1 and 16", "received 17")),
    "no threads of a tree": ("pim-tree", (*HALF, *COUNT, "--threads", "0"),
                             ("threads must be between 1 and 16", "received 0")),
    "threads without an end": ("pim-tree", (*HALF, *COUNT, "--threads", "2,4"),
                               ("as in 4 or in 2,4,1@100000", "received '2,4'")),
    "threads that are none": ("olc-tree", (*HALF, *COUNT, "--threads", "2,0@5"),
                              ("between 1 and 16, received 0 in '2,0@5'",)),
    "threads that are too many": ("olc-tree", (*HALF, *COUNT, "--threads", "2,17@5"),
                                  ("between 1 and 16, received 17 in '2,17@5'",)),
    "threads that are words": ("olc-tree", (*HALF, *COUNT, "--threads", "2,x@5"),
                               ("each number of threads must be a whole number", "'x'")),
    "threads for no tuples": ("olc-tree", (*HALF, *COUNT, "--threads", "2,1@0"),
                              ("must be between 1 and 1099511627776, received 0 in '2,1@0'",)),
    "threads for half a tuple": ("olc-tree", (*HALF, *COUNT, "--threads", "2,1@0.5"),
                                 ("tuples between two changes", "whole number", "'0.5'")),
    "threads that change too often": (
        "olc-tree", (*HALF, *COUNT, "--threads", f"{','.join(['1'] * 1001)}@5"),
        ("1000 times at most, received 1001 numbers",)),
    "threads of a chain that change": ("round-robin", (*HALF, *COUNT, "--threads", "2,1@5"),
                                       ("the threads of round-robin stay", "threads=2,1@5",
                                        "bw-tree, olc-tree and pim-tree-parallel may change")),
    "threads of a tree that change": ("im-tree", (*HALF, *COUNT, "--threads", "2,1@5"),
                                      ("im-tree has one thread, received threads=2",)),
    "tasks of a tree": ("im-tree", (*HALF, *COUNT, "--task-size", "3"),
                        ("im-tree does not take --task-size, which is for bw-tree, olc-tree and",)),
    "tasks of nothing": ("pim-tree", (*HALF, *COUNT, "--task-size", "0"),
                         ("task_size must be between 1 and 64 tuples, received 0",)),
    "tasks too large": ("olc-tree", (*HALF, *COUNT, "--task-size", "65"),
                        ("task_size must be between 1 and 64 tuples, received 65",)),
    "merge of words": ("pim-tree", (*HALF, *COUNT, "--merge", "never"),
                       ("merge must be one of non-blocking, blocking", "received 'never'")),
    "merge of a tree without": ("olc-tree", (*HALF, *COUNT, "--merge", "blocking"),
                                ("olc-tree does not take --merge, which is for pim-tree-par",)),
    "descents of words": ("olc-tree", (*HALF, *COUNT, "--descents", "many"),
                          ("descents must be one of one-by-one, lock-step",)),
    "length of a shared PIM-Tree": ("pim-tree", (*HALF, *COUNT, "--threads", "2",
                                                 "--chain-length", "3"),
                                    ("pim-tree-parallel does not take --chain-length",)),
    "no threads": ("round-robin", (*HALF, *COUNT, "--threads", "0"),
                   ("threads must be between 1 and 16", "received 0")),
    "threads of words": ("round-robin", (*HALF, *COUNT, "--threads", "two"),
                         ("threads", "received 'two'")),
    "unknown index": ("round-robin", (*HALF, *COUNT, "--index", "no-tree"),
                      ("index must be one of", "b-plus-tree", "received 'no-tree'")),
    "ratio of a chain of cores": ("round-robin", (*HALF, *COUNT, "--merge-ratio", "1"),
                                  ("which is for im-tree, pim-tree,", "it takes")),
    "ratio of a tree": ("b-plus-tree", (*HALF, *COUNT, "--merge-ratio", "1"),
                        ("b-plus-tree does not take --merge-ratio", "none of --merge-ratio")),
    "depth of an IM-Tree": ("im-tree", (*HALF, *COUNT, "--insertion-depth", "1"),
                            ("which is for pim-tree, pim", "it takes --merge-ratio\n")),
    "length of a PIM-Tree": ("pim-tree", (*HALF, *COUNT, "--chain-length", "3"),
                             ("--chain-length", "it takes --merge-ratio and --insertion-depth")),
    "ratio of a chain": ("b-chain", (*HALF, *COUNT, "--merge-ratio", "3"),
                         ("it takes --chain-length",)),
    "ratio out of limits": ("pim-tree", (*HALF, *COUNT, "--merge-ratio", "2"),
                            ("merge_ratio must be between 0.001 and 1", "received 2")),
    "chain of one": ("ib-chain", (*HALF, *COUNT, "--chain-length", "1"),
                     ("chain_length must be between 2 and 1024", "received 1")),
    "no window": ("im-tree", HALF, ("--window-count", "--window-time", "required")),
    "two windows": ("im-tree", (*HALF, *COUNT, "--window-time", "5"), ("not allowed with",)),
    "window of none": ("im-tree", (*HALF, "--window-count", "0"),
                       ("--window-count must be between 1 and 33554432", "received 0")),
    "window too long": ("im-tree", (*HALF, "--window-count", "33554433"), ("received 33554433",)),
    "no time": ("im-tree", (*HALF, "--window-time", "0"),
                ("--window-time must be between 1 and", "received 0")),
    "negative time": ("im-tree", (*HALF, "--window-time", "-5"), ("received -5",)),
    "unit without a unit": ("im-tree", (*HALF, "--window-time", "30s"), ("30s", "--time-unit")),
    "no half width": ("im-tree", COUNT, ("--half-width", "required")),
    "negative half width": ("im-tree", ("--half-width", "-0.5", *COUNT),
                            ("--half-width must be a number, 0 at least", "received -0.5")),
    "half width of words": ("im-tree", ("--half-width", "wide", *COUNT), ("received wide",)),
    "S of a self join": ("im-tree", (*HALF, *COUNT, "--self"), ("--self", "no S", "--s ")),
    "unknown column": ("im-tree", (*HALF, *COUNT, "--s-key", "y"), ("no column named 'y'",)),
    "unknown time": ("im-tree", (*HALF, *COUNT, "--time", "at"), ("no column named 'at'",)),
}  # fmt: skip


@pytest.mark.parametrize("case", OPTIONS)
def test_a_slip_in_the_options_is_one_line_and_status_2(folder, capsys, case):
    variant, options, words = OPTIONS[case]
    refused(folder, capsys, command(folder, variant, *two(folder), *options), *words)


def test_what_is_asked_of_threads_goes_to_the_join(folder):
    def parameters(variant, *options):
        argv = command(folder, variant, *two(folder), *HALF, *COUNT, *options)
        request = make_request(variant, make_parser().parse_args(argv))
        return request.variant.id, request.parameters

    asked = ("--threads", "2,4,1@9", "--task-size", "5", "--merge", "blocking")
    shared, found = parameters("pim-tree", *asked, "--descents", "lock-step")
    assert shared == "pim-tree-parallel"
    assert found == parameters("pim-tree-parallel", *asked, "--descents", "lock-step")[1]
    expected = {"threads": 4, "changes": (2, 4, 1), "every": 9, "task_size": 5}
    assert expected.items() | {("merge", "blocking"), ("descents", "lock-step")} <= found.items()
    assert parameters("olc-tree", "--threads", "3")[1]["threads"] == 3
    one, found = parameters("pim-tree", "--threads", "1")
    assert one == "pim-tree" and "threads" not in found
    assert parameters("pim-tree", "--merge-ratio", "0.5", "--threads", "2")[1]["merge_ratio"] == 0.5


def test_files_that_cannot_be_read_or_written_are_refused(folder, capsys):
    def given(*options, output="out.parquet"):
        return command(folder, "im-tree", *options, *HALF, *COUNT, output=output)

    refused(folder, capsys, given("--r", folder / "r.csv"), "two streams", "--s FILE", "--self")
    refused(folder, capsys, given("--r", folder / "no.csv", "--self"), "no.csv does not exist")
    refused(folder, capsys, given(*two(folder), output="out.csv"), ".parquet")
    refused(folder, capsys, given(*two(folder), "--rejected", folder / "r.txt"), "--rejected")
    pq.write_table(pa.table({"ts": [1], "x": [1]}), folder / "out.parquet")
    refused(folder, capsys, given(*two(folder)), "out.parquet exists", "--overwrite")
    also = given("--r", folder / "out.parquet", "--self", "--overwrite")
    refused(folder, capsys, also, "out.parquet is also an input")


def test_more_tuples_within_a_span_than_a_window_has_are_refused(folder, capsys, monkeypatch):
    monkeypatch.setattr(join, "MOST_WINDOW", 1)
    argv = command(folder, "im-tree", *two(folder), *HALF, "--window-time", "3")
    refused(folder, capsys, argv, "--window-time of 3 ticks has up to 2 tuples", "has 1 at most")


@interpreted_is_enough
@pytest.mark.parametrize("variant", ["im-tree", "round-robin"])
def test_an_index_without_room_fails_and_leaves_nothing(folder, capsys, monkeypatch, variant):
    monkeypatch.setattr(join, "make_pairs_loop", lambda *_: lambda *_: INDEX_FULL)
    assert main(command(folder, variant, *two(folder), *HALF, *COUNT)) == 1
    assert "an index had no room for a tuple of its window" in capsys.readouterr().err
    assert sorted(one.name for one in folder.iterdir()) == ["r.csv", "s.csv"]
