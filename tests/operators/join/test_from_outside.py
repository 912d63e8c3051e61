"""A join by several threads in an external folder: found, benched, replayed, and tested.

The first thread reaches END long before the others, and each thread has a view of the index.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from operators import registry
from tests.contract.test_join import SUITE
from tests.hanging import ROOT

TOYS = Path(__file__).parent / "toys"

CONTRACT = """
from operators import registry
from tests.contract.test_join import SUITE

variant = registry.variant("join", "one-lock")
for case in SUITE.cases_for(variant):
    case.body(variant)
    print(case.name)
"""
BENCH = """
from experiments import families
from experiments.pim_tree.live import made_up_keys
from experiments.timing.bench import Request

for kind in ("two-way", "self"):
    for threads in (1, 3):
        settings = {"window": 64, "threads": threads, "kind": kind, "dataset": made_up_keys()}
        bench = families.ready("join", "one-lock", settings)
        for _ in range(2):
            row = bench.run(Request(0.1, tuples=2_000))
            print(row["tuples"], row["valid"], row["invalid_reason"], row["outputs"] > 2_000)
"""
# When the measured run begins, the first thread has retired. The run has 300 tuples: the last of
# them lies between two regular reports of progress.
ENDS = """
import numpy as np
from experiments.families.join import loops, threads
from operators import registry
from operators.core.layout import aligned_words
from operators.join.feed import in_turns
from operators.running import run_threads
from operators.running.control import ENDED, LAST_NS, PROGRESS
from operators.running.handover import compile_roles
from tests.operators.join.running import join, make_given

operations = registry.variant("join", "one-lock").operations
state, session = operations.make_state(64, 3, threads=3), aligned_words(loops.SESSION_WORDS)
step = operations.make_step(None, loops.fold_output)
keys = np.random.default_rng(2).integers(0, 99, (2, 350), np.int32)
join(operations, step, state, in_turns(*keys, 200, notes=session), make_given(400, 64))
print("before:", operations.seen(state.threads[0]), operations.seen(state.threads[1]) > 100)
session[loops.TUPLES] = 400
roles = threads.roles_of(operations, step, state, session, in_turns(*keys, 350, notes=session))
compile_roles(roles)
limits = {"expected_seconds": 1, "limit_seconds": 100}
outcome = run_threads.run(roles, pin=False, measured=(0, 300), **limits)
(last,), ended = outcome.words(LAST_NS, [0]), outcome.words(ENDED, range(3))
print("progress:", *outcome.words(PROGRESS, [0]), session[loops.TUPLES])
print("event:", 0 < outcome.passed_ns[1] == last, last < outcome.ended_ns == ended.max())
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


def python(program: str, folder: Path, compiled: bool = False) -> list[str]:
    """Run a program where Python finds the toys, and return the lines that it prints."""
    path = os.pathsep.join([str(TOYS), str(ROOT)])
    given = {**os.environ, "PYTHONPATH": path, "NUMBA_DISABLE_JIT": str(int(not compiled))}
    done = subprocess.run(
        [sys.executable, "-c", program], cwd=folder, env=given, capture_output=True, text=True,
        timeout=250,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()


def test_the_suite_of_the_family_takes_it(tmp_path):
    cases = [case.name for case in SUITE.cases_for(registry.variant("join", "round-robin"))]
    assert len(cases) > 5 and python(CONTRACT, tmp_path) == cases


def test_the_bench_takes_it_with_any_threads(tmp_path):
    assert set(python(BENCH, tmp_path)) == {"2000 True None True"}


@pytest.mark.parametrize("compiled", [False, True])
def test_a_run_ends_with_the_last_tuple_whichever_thread_gives_it_out(tmp_path, compiled):
    assert python(ENDS, tmp_path, compiled) == [
        "before: 5 True", "progress: 300 700", "event: True True",
    ]  # fmt: skip


def test_a_replay_with_any_threads_writes_the_same_bytes(tmp_path):
    assert python(REPLAY, tmp_path) == ["1 True"] * 2
