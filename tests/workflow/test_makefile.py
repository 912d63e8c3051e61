"""The Makefile refuses a wrong argument in one line, before it installs or runs anything."""

from __future__ import annotations

import os
import re
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]


def make(*arguments: str) -> subprocess.CompletedProcess[str]:
    # These tests may themselves run under make, which hands its options down in the environment.
    clean = {name: value for name, value in os.environ.items() if not name.startswith("MAKE")}
    return subprocess.run(
        ["make", "--no-print-directory", *arguments],
        cwd=ROOT, env=clean, capture_output=True, text=True, timeout=60,
    )  # fmt: skip


@pytest.mark.parametrize(
    ("argument", "told"),
    [
        ("PROFILE=fast", "there is no profile 'fast'; the profiles are: laptop paper quick"),
        ("PROFILE=", "there is no profile ''"),
        ("PROFILE=profile.schema", "there is no profile 'profile.schema'"),
        ("PAPER=moby_dick", "there is no paper 'moby_dick'; the papers are: "),
        ("DATA=no/such.yaml", "DATA=no/such.yaml is not a file"),
    ],
)
def test_a_wrong_argument_is_one_line_and_status_2(argument, told):
    done = make("figures", argument)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.count("\n") == 1 and told in done.stderr


def test_help_names_every_target():
    targets = {
        "setup", "figures", "plots", "test", "test-changed", "test-full", "soak", "lint", "clean",
        "help",
    }  # fmt: skip
    told = make("help").stdout
    assert {line.split()[1] for line in told.splitlines() if line.startswith("  make ")} == targets


@pytest.mark.parametrize(
    "target", ["setup", "figures", "plots", "test", "test-changed", "test-full", "soak", "lint"]
)
def test_every_target_sets_up_first(target):
    # Where the lock is newer than the environment, the plan of each target begins with the set-up.
    planned = make("--dry-run", "--assume-new=requirements.lock", target).stdout
    assert planned.index("-m venv $clear .venv") < planned.index("--editable")


def test_each_join_of_several_threads_is_soaked_alone():
    planned = make("--dry-run", "soak").stdout
    theta = ("scale-join", "handshake", "handshake-low-latency")
    shared = ("pim-tree-parallel", "bw-tree", "olc-tree")
    for join in (*(f"theta_join/{each}" for each in theta), *(f"join/{each}" for each in shared)):
        assert f"{join} " in planned or f"{join};" in planned


def test_what_need_only_be_interpreted_is_interpreted_in_each_run():
    planned = make("--dry-run", "test").stdout.partition("all tests, compiled")[0]
    using = re.compile(r"^@interpreted_is_enough$|compiled_few\(", re.MULTILINE)
    tests = (ROOT / "tests").rglob("test_*.py")
    users = [path for path in tests if using.search(path.read_text())]
    assert users
    for path in users:
        # The file, or a folder that it is in.
        name = path.relative_to(ROOT)
        places = {str(place) for place in (name, *name.parents)} - {"."}
        assert places & set(planned.split()), name


def test_the_lock_names_hashes_and_no_registry():
    lock = (ROOT / "requirements.lock").read_text()
    entries = [line for line in lock.splitlines() if line and not line.startswith((" ", "#"))]
    assert entries and all("==" in line and line.endswith("\\") for line in entries)
    assert "://" not in lock
