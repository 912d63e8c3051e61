"""Tests that are run again until they meet their seconds, and no longer than a few times."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

from tests.emptied import ROOT
from tests.timed import TRIES, runs_until_met


def late(times, error=AssertionError):
    """Return a test that fails as often as told, and the list of its runs."""
    runs = []

    def test():
        runs.append(len(runs))
        if len(runs) <= times:
            raise error("late")

    return test, runs


@pytest.mark.parametrize("times", range(TRIES))
def test_a_test_that_is_late_a_few_times_passes(times):
    test, runs = late(times)
    assert runs_until_met(test, 0) == times + 1 == len(runs)


def test_a_test_that_is_always_late_fails():
    test, runs = late(TRIES)
    with pytest.raises(AssertionError, match="late"):
        runs_until_met(test, 0)
    assert len(runs) == TRIES


def test_another_error_ends_the_first_run():
    test, runs = late(1, ValueError)
    with pytest.raises(ValueError, match="late"):
        runs_until_met(test, 0)
    assert len(runs) == 1


MODULE = """
import pytest
runs = []

@pytest.mark.timed
@pytest.mark.parametrize("least", [2])
def test_late(least, tmp_path):
    runs.append(tmp_path)
    assert len(runs) >= least

def test_unmarked():
    assert not runs
"""


def test_marked_tests_alone_are_run_again_and_the_summary_names_them(tmp_path):
    (tmp_path / "test_module.py").write_text(MODULE)
    argv = [sys.executable, "-m", "pytest", "-q", "-p", "tests.timed", "test_module.py"]
    found = subprocess.run(
        argv, cwd=tmp_path, env={**os.environ, "PYTHONPATH": str(ROOT)},
        capture_output=True, text=True,
    )  # fmt: skip
    assert "1 failed, 1 passed" in found.stdout, found.stdout + found.stderr
    assert "test_module.py::test_late[2] met its seconds in run 2" in found.stdout
