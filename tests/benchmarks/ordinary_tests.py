"""Automatic mutants that no check kills: how many of them the ordinary tests see.

::

    millrace check --automatic 600 --seed 1 --json > drawn.json
    python -m tests.benchmarks.ordinary_tests drawn.json

puts each missed mutant into a copy of the sources, and runs the tests of its family
there, without the compiler, until one fails. It prints a line for each mutant and then the counts.
Each family's tests are run first without one: if they fail by themselves, they see everything.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from operators.check.automatic import MISSED, Automatic, changed_text, mutants_in
from operators.check.replaced import text_of

ROOT = Path(__file__).resolve().parents[2]
# Tests of all families, beside those of the mutant's own.
OF_ALL = ("tests/contract", "tests/stress")
# Of processor time: an endless loop in a kernel that runs interpreted.
LIMIT_S = 900


def missed_in(drawn: Path) -> list[Automatic]:
    """Return the mutants that no check killed, those that the sources of today still have."""
    names = [each["mutant"] for each in json.loads(drawn.read_text()) if each["ended"] == MISSED]
    modules = {name.split()[0] for name in names}
    there = {each.name: each for m in modules for each in mutants_in(m, text_of(m))}
    for name in names:
        if name not in there:
            print(f"no longer drawn: {name}", flush=True)
    return [there[name] for name in names if name in there]


def first_failure(folder: Path, family: str) -> str | None:
    """Run the tests of a family in a copy and return the first that fails, or None."""
    own = f"tests/operators/{family}"
    command = [sys.executable, "-m", "pytest", "-x", "-q", "-n", "0", own, *OF_ALL]
    environment = {**os.environ, "NUMBA_DISABLE_JIT": "1", "PYTHONPATH": str(folder)}
    done = subprocess.run(
        ["/bin/sh", "-c", f'ulimit -t {LIMIT_S}; exec "$@"', "tests", *command,
         "--hypothesis-profile=interpreted"],
        cwd=folder, env=environment, capture_output=True, text=True,
    )  # fmt: skip
    if done.returncode == 0:
        return None
    failed = [line for line in done.stdout.splitlines() if line.startswith(("FAILED", "ERROR"))]
    return failed[0].split(" - ")[0] if failed else f"ended with {done.returncode}"


def main(drawn: Path) -> None:
    """Try every missed mutant, and print how many the tests see."""
    mutants = missed_in(drawn)
    seen = 0
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place, "copy")
        shutil.copytree(ROOT, folder, ignore=shutil.ignore_patterns(".*", "results", "__pycache__"))
        for family in sorted({family_of(each) for each in mutants}):
            if test := first_failure(folder, family):
                raise SystemExit(f"{family}: {test} fails without a mutant")
        for mutant in mutants:
            file = folder / Path(*mutant.module.split(".")).with_suffix(".py")
            text = file.read_text(encoding="utf-8")
            file.write_text(changed_text(mutant), encoding="utf-8")
            test = first_failure(folder, family_of(mutant))
            file.write_text(text, encoding="utf-8")
            seen += test is not None
            print(
                f"{mutant.module}:{mutant.line} {mutant.name}: {test or 'seen by none'}", flush=True
            )
    print(f"{seen} of {len(mutants)} missed mutants are seen by the ordinary tests")


def family_of(mutant: Automatic) -> str:
    """Return the folder of ``operators`` that a mutant lies in."""
    return mutant.module.split(".")[1]


if __name__ == "__main__":
    main(Path(sys.argv[1]))
