"""The examples in docstrings are true: each module that has some runs them."""

from __future__ import annotations

import doctest
import re
from importlib import import_module
from pathlib import Path

import pytest

from operators.core.jit import INTERPRETED

ROOT = Path(__file__).resolve().parents[1]
FOLDERS = ("operators", "datasets", "experiments", "figures", "workflow")
EXAMPLE = re.compile(r"^\s*>>> ", re.MULTILINE)


def modules_with_examples() -> list:
    """Return the names of the modules; entry points, which compile, are interpreted in a run."""
    found = []
    for path in (path for folder in FOLDERS for path in sorted((ROOT / folder).rglob("*.py"))):
        if EXAMPLE.search(path.read_text(encoding="utf-8")):
            name = ".".join(path.relative_to(ROOT).with_suffix("").parts)
            compiles = path.name == "run.py" and not INTERPRETED
            found.append(pytest.param(name, marks=[pytest.mark.full] if compiles else []))
    return found


@pytest.mark.parametrize("name", modules_with_examples())
def test_the_examples_of_a_module_are_true(name):
    tried = doctest.testmod(import_module(name))
    assert tried.attempted > 0 and tried.failed == 0
