"""The Makefile refuses a wrong argument in one line, before it installs or runs anything."""

from __future__ import annotations

import os
import re
import shlex
import subprocess
from pathlib import Path

import pytest
import yaml

ROOT = Path(__file__).resolve().parents[2]


def make(*arguments: str) -> subprocess.CompletedProcess[str]:
    # These tests may run under make, which passes its options on in the environment.
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
        ("DATA=no such.yaml", "DATA=no such.yaml is not a file"),
        ("PROFILE=laptop quick", "there is no profile 'laptop quick'"),
        ("LABEL=my run", "LABEL=my run cannot be; it may be up to 100 letters, digits"),
        ("LABEL=it's", "LABEL=it's cannot be"),
        ("REPETITIONS=many", "REPETITIONS=many cannot be; it may be a whole number of at least 1"),
        (
            "PEERS=duckbd",
            "there is no peer 'duckbd'; the peers are: arrow chdb duckdb polars spark; name",
        ),
        ("PEERS=arrow,nope", "there is no peer 'nope'; the peers are: arrow "),
        ("CORES=0", "CORES=0 cannot be; it may be all or a whole number of at least 1"),
    ],
)
def test_a_wrong_argument_is_one_line_and_status_2(argument, told):
    done = make("figures", argument)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.count("\n") == 1 and told in done.stderr


def test_options_go_on_as_they_are_whatever_letters_they_have(tmp_path):
    mapping = tmp_path / "it's my $(map).yaml"
    mapping.touch()
    printed = make("--dry-run", "figures", f"DATA={str(mapping).replace('$', '$$')}", "LABEL=0012")
    options = shlex.split(printed.stdout.splitlines()[-1])
    read = dict(each.split("=", 1) for each in options if "=" in each)
    assert yaml.load(read["data"], yaml.BaseLoader) == str(mapping)
    assert (read["label"], read["profile"]) == ("'0012'", "quick")


def test_peers_are_installed_only_where_a_run_names_one_that_needs_it():
    assume = "--assume-new=requirements-peers.lock"
    for target in ("setup", "figures", "plots"):
        for named in ("", "PEERS=", "PEERS=arrow,spark"):
            planned = make("--dry-run", assume, target, *filter(None, [named])).stdout
            assert "millrace-peer" not in planned, (target, named)
        planned = make("--dry-run", assume, target, "PEERS=spark,duckdb").stdout
        # Nothing that is there already is changed, and nothing comes without its hash.
        assert re.search(
            r"--no-deps[^&]*--require-hashes -r \.venv/millrace-peer-duckdb\.lock", planned
        )
        assert "millrace-peer-polars" not in planned and "millrace-peer-spark" not in planned
    told = shlex.split(planned.splitlines()[-1])
    assert "peers='spark,duckdb'" in told
    assert "peers=" not in make("--dry-run", "figures").stdout


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
    # If the lock is newer than the environment, the plan of each target begins with the set-up.
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
        # The file, or a folder that contains it.
        name = path.relative_to(ROOT)
        places = {str(place) for place in (name, *name.parents)} - {"."}
        assert places & set(planned.split()), name


@pytest.mark.parametrize("name", ["requirements.lock", "requirements-peers.lock"])
def test_the_lock_names_hashes_and_no_registry(name):
    lock = (ROOT / name).read_text()
    entries = [line for line in lock.splitlines() if line and not line.startswith((" ", "#"))]
    assert entries and all("==" in line and line.endswith("\\") for line in entries)
    assert "://" not in lock


def test_the_lock_of_peers_names_no_package_of_the_other():
    names = [
        {line.partition("==")[0] for line in (ROOT / name).read_text().splitlines() if "==" in line}
        for name in ("requirements.lock", "requirements-peers.lock")
    ]
    assert names[1] and not set.intersection(*names)
