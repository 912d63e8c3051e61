"""Test modules of which a run takes no test: each becomes a test that fails and says so.

A test may be left to ``make test-full``, or to the run without the compiler. A module all of whose
tests are left to another run, in each run, is never run at all, and nobody would notice.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from functools import cache
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parents[1]
# Modules that need what most machines have not, with what that is.
OPTIONAL = {
    "tests/datasets/test_imported_recorded.py": "MILLRACE_RECORDED_DATA",
    "tests/operators/aggregation/test_recorded.py": "MILLRACE_RECORDED_DATA",
    "tests/operators/streamcloud/test_recorded_by_spark.py": "MILLRACE_RECORDED_DATA",
    "tests/figures/test_in_browser.py": "a Chromium",
}


@cache
def interpreted_paths(makefile: str) -> tuple[str, ...]:
    """Return the files and folders that ``make test`` runs without the compiler."""
    found = re.search(r"^INTERPRETED = ((?:.*\\\n)*.*)$", makefile, re.MULTILINE)
    assert found is not None, "the Makefile names no tests that run interpreted"
    return tuple(found[1].replace("\\\n", " ").split())


def is_skipped(item: Any) -> bool:
    """Return whether a mark alone skips a test."""
    if next(iter(item.iter_markers("skip")), None) is not None:
        return True
    return any(mark.args and mark.args[0] is True for mark in item.iter_markers("skipif"))


def empty_modules(
    before: Iterable[Any], after: Iterable[Any], collected: Iterable[Path], interpreted: bool
) -> list[str]:
    """Return the modules of which this run takes no test, and no other run that ``make test`` has.

    Parameters
    ----------
    before, after : iterable of tests
        Those that were collected, and those that are left to run.
    collected : iterable of Path
        Modules in which not even a test was found.
    interpreted : bool
        Whether this is the run without the compiler.
    """
    taken = {item.path for item in after if not is_skipped(item)}
    left = ({item.path for item in before} | set(collected)) - taken
    names = sorted({path.relative_to(ROOT).as_posix() for path in left} - set(OPTIONAL))
    elsewhere = interpreted_paths((ROOT / "Makefile").read_text(encoding="utf-8"))
    if interpreted:
        # A folder may have modules for the compiled run, which takes all but these.
        wanted = (*(path for path in elsewhere if path.endswith(".py")), "tests/interleaving")
        return [name for name in names if _is_below(name, wanted)]
    return [name for name in names if not _is_below(name, elsewhere)]


def _is_below(name: str, paths: Sequence[str]) -> bool:
    return any(name == path or name.startswith(f"{path}/") for path in paths)


class NoTest(pytest.Item):
    """A test that fails because a module has none."""

    def runtest(self) -> None:
        """Fail."""
        pytest.fail(
            f"{self.name} collects no test in this form: mark fewer of its tests, or name it in the"
            " Makefile's INTERPRETED if it is meant for the run without the compiler",
            pytrace=False,
        )
