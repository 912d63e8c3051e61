"""Runs the tests that a change can reach: ``make test-changed``.

A change is what differs from a commit, in commits and in the working tree, new files included.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterable
from dataclasses import asdict
from pathlib import Path

from tests.changes.reach import Graph
from tests.changes.selection import Selection, select

ROOT = Path(__file__).resolve().parents[2]
PYTEST = (sys.executable, "-m", "pytest", "-q", "-n", "2", "--dist", "loadgroup")
NO_TESTS_COLLECTED = 5
# The branch to compare with: the local one, and that of the clone's origin.
MAIN, REMOTE_MAIN = "refs/heads/main", "refs/remotes/origin/main"


def main() -> int:
    """Run the command and return its exit status."""
    parser = argparse.ArgumentParser(prog="make test-changed", description=__doc__)
    parser.add_argument("--base", default="", help="the commit that is compared with")
    parser.add_argument("--interpreted", nargs="*", default=[], help="files and folders of tests")
    parser.add_argument("--list", action="store_true", help="print the tests and run none")
    options = parser.parse_args()
    base = options.base or default_base()
    changed = changed_since(base)
    graph = Graph(ROOT, {*git_lines("ls-files", "-co", "--exclude-standard"), *changed})
    try:
        selection = select(graph, changed, lambda file: text_at(base, file))
    except SyntaxError as error:
        sys.exit(f"millrace: {error.filename}:{error.lineno}: {error.msg}")
    print(f"millrace: {sentence(selection, changed, base)}", flush=True)
    if options.list:
        print("\n".join(sorted({*selection.files, *selection.cut})))
        return 0
    return run(selection, options.interpreted)


def default_base() -> str:
    """Return the commit at which this branch left main; on main, at which it left origin's."""
    mains = git_lines("for-each-ref", "--format=%(refname)", MAIN, REMOTE_MAIN)
    if git_lines("branch", "--show-current") == ["main"]:
        mains = [name for name in mains if name != MAIN]
        if not mains:
            print("millrace: main has no origin/main: compared with HEAD~1", file=sys.stderr)
            return "HEAD~1"
    if not mains:
        sys.exit("millrace: there is neither main nor origin/main to compare with: give BASE=")
    [fork] = git_lines("merge-base", "HEAD", mains[0])
    return fork


def changed_since(base: str) -> set[str]:
    """Return the paths of the files that differ from a commit, new and deleted ones included."""
    differing = git_lines("diff", "--name-only", "--no-renames", base)
    return {*differing, *git_lines("ls-files", "-o", "--exclude-standard")}


def text_at(base: str, file: str) -> str | None:
    """Return the text of a file at a commit, None where there was none."""
    shown = subprocess.run(
        ["git", "show", f"{base}:{file}"], cwd=ROOT, capture_output=True, text=True, check=False
    )
    return shown.stdout if shown.returncode == 0 else None


def git_lines(*arguments: str) -> list[str]:
    """Return the lines that a git command prints."""
    done = subprocess.run(
        ["git", *arguments], cwd=ROOT, capture_output=True, text=True, check=False
    )
    if done.returncode != 0:
        sys.exit(f"millrace: git {' '.join(arguments)}: {done.stderr.strip()}")
    return done.stdout.splitlines()


def sentence(selection: Selection, changed: set[str], base: str) -> str:
    """Return a sentence on the tests that are run, and why."""
    parts = f"{len(selection.files)} files of tests"
    if selection.cut:
        parts += f", and of {len(selection.cut)} more the tests of changed variants"
    return f"{len(changed)} files differ from {base[:12]}; they can reach {parts}"


def run(selection: Selection, interpreted: list[str]) -> int:
    """Run the selected tests, interpreted and compiled as in ``make test``; return the status."""
    chosen = sorted({*selection.files, *selection.cut})
    twice = [
        f for f in chosen if any(f == each or f.startswith(f"{each}/") for each in interpreted)
    ]
    compiled = [file for file in chosen if not file.startswith("tests/interleaving/")]
    with tempfile.NamedTemporaryFile("w", suffix=".json") as file:
        json.dump(asdict(selection), file, default=sorted)
        file.flush()
        command = (*PYTEST, f"--selection={file.name}")
        plain = os.environ | {"NUMBA_DISABLE_JIT": "1"}
        statuses = [
            subprocess.run([*command, *options, *files], cwd=ROOT, env=env, check=False).returncode
            for options, files, env in (
                (["--hypothesis-profile=interpreted"], twice, plain),
                ([], compiled, os.environ),
            )
            if files
        ]
    return status_of(statuses)


def status_of(statuses: Iterable[int]) -> int:
    """Return the first failing status, as a shell would; 0 if there is none.

    A run in which every test was left out collects none, which is no failure. A negative status is
    the signal that killed a run.
    """
    failures = (each for each in statuses if each not in (0, NO_TESTS_COLLECTED))
    first = next(failures, 0)
    return 128 - first if first < 0 else first


if __name__ == "__main__":
    sys.exit(main())
