"""External extensions: an operator on Millrace's threads, and an operator carrier.

Each is one folder on Python's path and edits nothing in the repository.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[3]
TOYS = Path(__file__).parent / "toys"
VALUES = list(range(-50, 450))
DOUBLES = [2 * value for value in VALUES]


def run(program: str, folder: Path):
    """Run a program in a separate process that finds the toys, and return the printed answer."""
    path = os.pathsep.join([str(TOYS), str(ROOT)])
    ended = subprocess.run(
        [sys.executable, "-W", "error", "-c", f"import json\n{program}"],
        cwd=folder, env={**os.environ, "PYTHONPATH": path}, capture_output=True, text=True,
        timeout=250,
    )  # fmt: skip
    assert ended.returncode == 0, ended.stderr
    return json.loads(ended.stdout)


@pytest.mark.parametrize("schedule", ["CLOSED_LOOP", "every(100_000)"])
def test_an_operator_from_outside_runs_on_threads(schedule, tmp_path):
    # A ring of two slots: each side waits for the other again and again.
    program = f"""
from doubling.threads import double_on_threads
from operators.running.schedule import CLOSED_LOOP, every
print(json.dumps(double_on_threads({VALUES}, 2, {schedule})))
"""
    assert run(program, tmp_path) == DOUBLES


def test_the_same_operator_runs_on_a_carrier_without_threads(tmp_path):
    program = f"""
import numpy as np
from doubling.operator import add, close, double, make_state
from in_turns.carrier import Batch, Carrier
carrier = Carrier(make_state(2, 1_000), add, close, double)
kept = []
for values in np.array_split(np.array({VALUES}), 3):
    carrier.carry(Batch(*3 * [np.zeros_like(values)], values))
    kept.append(int(carrier.state.taken[1]))
carrier.end(1)
print(json.dumps([kept, carrier.state.results[: carrier.state.taken[1]].tolist()]))
"""
    # State is kept from batch to batch, and each batch is processed before the next one arrives.
    assert run(program, tmp_path) == [[167, 334, 500], DOUBLES]


@pytest.mark.parametrize("gate", ["t-gate", "multi-queue"])
def test_the_carrier_runs_an_operator_of_the_project(gate, tmp_path):
    batches = [[(0, 1, 10), (0, 4, 40), (1, 2, 20)], [(1, 2, 21), (1, 9, 90), (0, 9, 91)]]
    program = f"""
from in_turns.merging import merge
print(json.dumps(merge({gate!r}, {batches}, 2)))
"""
    # By time; ties by stream, so that 91 of stream 0 comes before 90.
    assert run(program, tmp_path) == [10, 20, 21, 40, 91, 90]
