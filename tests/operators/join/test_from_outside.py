"""A join by several threads in a folder of its own: found, benched, replayed, held to the suite."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

from tests.hanging import ROOT

TOYS = Path(__file__).parent / "toys"

CONTRACT = """
from operators import registry
from tests.contract.test_join import SUITE

variant = registry.variant("join", "one-lock")
cases = SUITE.cases_for(variant)
for case in cases:
    case.body(variant)
print(len(cases), "cases")
"""
BENCH = """
from experiments.pim_tree.live import MadeUpJoin
from experiments.timing.bench import Request
from operators import registry

for kind in ("two-way", "self"):
    for threads in (1, 3):
        bench = MadeUpJoin(registry.variant("join", "one-lock"))
        bench.check({"window": 64, "threads": threads, "kind": kind})
        bench.load()
        for _ in range(2):
            row = bench.run(Request(0.1, tuples=2_000))
            print(row["tuples"], row["valid"], row["invalid_reason"], row["outputs"] > 2_000)
"""


REPLAY = """
import pathlib
from experiments.cli import main

for name, rows in (("r", range(0, 400, 2)), ("s", range(0, 400, 3))):
    lines = "".join(f"{row // 5},{row * row % 31}\\n" for row in rows)
    pathlib.Path(f"{name}.csv").write_text(f"ts,x\\n{lines}")
for window in (("--window-count", "20"), ("--window-time", "9")):
    written = set()
    for how in (("nested-loop",), *(("one-lock", "--threads", n) for n in "125")):
        options = ("--r", "r.csv", "--s", "s.csv", "--key", "x", "--half-width", "1", *window)
        argv = ["replay", "join", *how, *options, "--output", "out.parquet", "--overwrite"]
        assert main(argv) == 0
        written.add(pathlib.Path("out.parquet").read_bytes())
    print(len(written), len(min(written)) > 1_000)
"""


def python(program: str, folder: Path) -> list[str]:
    """Run a program where Python finds the toys, and return the lines that it prints."""
    path = os.pathsep.join([str(TOYS), str(ROOT)])
    given = {**os.environ, "PYTHONPATH": path, "NUMBA_DISABLE_JIT": "1"}
    done = subprocess.run(
        [sys.executable, "-c", program], cwd=folder, env=given, capture_output=True, text=True,
        timeout=250,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()


def test_the_suite_of_the_family_takes_it(tmp_path):
    assert python(CONTRACT, tmp_path) == ["10 cases"]


def test_the_bench_takes_it_with_any_threads(tmp_path):
    assert set(python(BENCH, tmp_path)) == {"2000 True None True"}


def test_a_replay_with_any_threads_writes_the_same_bytes(tmp_path):
    assert python(REPLAY, tmp_path) == ["1 True"] * 2
