"""Faults in this repository: each is inserted into its file and fails a selected test."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from dataclasses import asdict
from pathlib import Path

import pytest

from operators.core.sources import ROOT
from tests.changes import __main__ as command
from tests.changes.faults import FAULTS, Fault
from tests.changes.reach import Graph
from tests.changes.selection import Selection, select

MARKER = "variants run: "
# A plugin of pytest that prints the parameters of the tests that are run.
LISTING = f"""
import json
from tests.changes.cutting import sources_of

def pytest_collection_finish(session):
    found = set()
    for item in session.items:
        params = getattr(getattr(item, "callspec", None), "params", {{}}).values()
        found |= set().union(*map(sources_of, params)) or {{""}}
    print({MARKER!r} + json.dumps(sorted(found)))
"""


@pytest.fixture(scope="module")
def real() -> Graph:
    return Graph(ROOT, command.git_lines("ls-files", "-co", "--exclude-standard"))


@pytest.mark.parametrize("fault", FAULTS, ids=lambda fault: fault.file)
def test_the_tests_that_a_fault_fails_are_selected(real, fault: Fault, tmp_path):
    text = (ROOT / fault.file).read_text(encoding="utf-8")
    assert fault.old in text, "the file is another by now: put a fault of the kind into it as it is"
    selection = select(real, {fault.file}, lambda file: text)
    if fault.test.partition("::")[0] not in selection.files:
        assert fault.test in selection.cut
        assert fault.variant in variants_run(fault.test, selection, tmp_path)


def variants_run(test: str, selection: Selection, folder: Path) -> set[str]:
    """Return the variants of the tests that are run from a cut file; "" for tests of no variant.

    pytest collects the file with all parameters.
    """
    (folder / "selection.json").write_text(json.dumps(asdict(selection), default=sorted))
    (folder / "listing.py").write_text(LISTING)
    run = (sys.executable, "-m", "pytest", "-q", "--collect-only", "-p", "listing")
    done = subprocess.run(
        [*run, f"--selection={folder / 'selection.json'}", test], cwd=ROOT, check=False,
        env=os.environ | {"PYTHONPATH": str(folder)}, capture_output=True, text=True,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout[-2000:]
    return set(json.loads(done.stdout.rpartition(MARKER)[2].splitlines()[0]))


@pytest.mark.full
@pytest.mark.parametrize("fault", FAULTS, ids=lambda fault: fault.file)
def test_each_fault_fails_its_test(tmp_path, fault: Fault):
    copy = tmp_path / "copy"
    shutil.copytree(ROOT, copy, ignore=shutil.ignore_patterns(".*", "results", "__pycache__"))
    file = copy / fault.file
    file.write_text(file.read_text().replace(fault.old, fault.new, 1))
    run = (sys.executable, "-m", "pytest", "-q", "-x", "--hypothesis-profile=interpreted")
    environment = {"PYTHONPATH": str(copy), "NUMBA_DISABLE_JIT": str(int(fault.interpreted))}
    done = subprocess.run(
        [*run, fault.test], cwd=copy, env=os.environ | environment, capture_output=True, text=True,
        check=False,
    )  # fmt: skip
    # The status excludes other ways to end, such as a test that cannot be imported.
    assert done.returncode == 1 and f"FAILED {fault.test}" in done.stdout, done.stdout[-2000:]
