"""``millrace replay join`` with threads that share an index: the same bytes in every run."""

from __future__ import annotations

from pathlib import Path

import pandas as pd
import pytest

from experiments.cli import main
from operators import registry
from tests.covering import taken, with_always
from tests.experiments.replay.join.test_join_replay import (
    CASES,
    FOLDER,
    WIDE_CASES,
    asked,
    command,
    recorded,
    saved,
)

# On the worker that compiles the loops of these joins.
pytestmark = pytest.mark.xdist_group("spark")

# One loop for each index and each kind of descent, for any other options. Each run of the tests has
# the PIM-Tree's, ``make test-full`` all.
SHARED = registry.takers_of("join", "task_size")
DESCENTS = ("one-by-one", "lock-step")
TASKS = (
    ("--threads", "1", "--task-size", "1"),
    ("--threads", "2"),
    ("--threads", "3", "--task-size", "64"),
    ("--threads", "16", "--task-size", "3"),
    ("--threads", "2,4,1@40", "--task-size", "5"),
)
MERGES = (
    ("--merge", "blocking"),
    ("--merge", "non-blocking", "--merge-ratio", "0.1"),
    ("--merge", "blocking", "--merge-ratio", "0.4", "--insertion-depth", "0"),
    ("--merge-ratio", "0.25", "--insertion-depth", "1"),
    (),
)
LOOPS = taken(
    [(variant, descents) for variant in SHARED for descents in DESCENTS],
    [("pim-tree-parallel", "one-by-one")],
)


def runs_of(variant: str, descents: str) -> list[tuple[str, ...]]:
    """Return the options of a join by threads, tasks and merges of several kinds."""
    if "merge" not in (each.name for each in registry.variant("join", variant).parameters):
        return [(variant, *tasks, "--descents", descents) for tasks in TASKS]
    # The index is chosen by the name of the single-threaded one.
    asked_for = [(*tasks, *merge) for tasks, merge in zip(TASKS, MERGES, strict=True)]
    return [("pim-tree", *each, "--descents", descents) for each in asked_for]


RUNS = [run for loop in LOOPS for run in runs_of(*loop)]


def assert_threads_write_the_same(folder, options) -> bytes:
    """Compare the bytes of joins with threads with those of one thread, and return them."""
    assert main(command(folder, "pim-tree", *options, output="one.parquet")) == 0
    one = (folder / "one.parquet").read_bytes()
    for number, (variant, *more) in enumerate(RUNS):
        name = f"threads-{number}.parquet"
        assert main(command(folder, variant, *options, *more, output=name)) == 0
        assert (folder / name).read_bytes() == one, (variant, *more)
    return one


# Keys of 64 bits need another set of loops.
@pytest.mark.parametrize(
    "case", with_always(CASES, [case for case in CASES if case not in WIDE_CASES])
)
def test_no_bit_depends_on_threads_tasks_and_merges(tmp_path, case):
    r, s, half_width, window = CASES[case]
    files = [None if rows is None else saved(tmp_path / f"{name}.csv", rows)
             for name, rows in (("r", r), ("s", s))]  # fmt: skip
    assert_threads_write_the_same(tmp_path, asked(*files, half_width, window))


@recorded
def test_meters_that_were_recorded_are_joined_alike_by_any_threads(tmp_path):
    rows = pd.read_csv(Path(FOLDER, "sgsc10.csv.gz"), dtype={"kwh": str})
    rows = rows[rows["ts_s"].between(1_356_998_400, 1_361_998_400)]
    for name, meter in zip("rs", rows["meter"].value_counts().index, strict=False):
        own = rows[rows["meter"] == meter].rename(columns={"ts_s": "ts", "kwh": "x"})
        own.to_csv(tmp_path / f"{name}.csv", index=False)
    for number, window in enumerate(({"span": 43_200}, {"count": 500})):
        folder = tmp_path / str(number)
        folder.mkdir()
        options = asked(tmp_path / "r.csv", tmp_path / "s.csv", "0.004", window)
        assert len(assert_threads_write_the_same(folder, options)) > 10_000
