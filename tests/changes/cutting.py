"""Leaves tests of unchanged variants out of a run: the part of ``make test-changed`` in pytest."""

from __future__ import annotations

import json
from collections.abc import Iterable
from functools import cache
from pathlib import Path

import pytest

from operators import registry
from operators.contract import Variant
from operators.core.sources import ROOT
from tests.changes.selection import Selection, left_out


def unreached(items: Iterable[pytest.Item], file: Path) -> list[pytest.Item]:
    """Return the tests that a selection, which `main` wrote to a file, leaves out."""
    selection = Selection(**json.loads(file.read_text(encoding="utf-8")))
    selection.sources = set(selection.sources)
    found = []
    for item in items:
        test = item.path.relative_to(ROOT).as_posix()
        params = getattr(getattr(item, "callspec", None), "params", {})
        if left_out(params, selection, test, sources_of):
            found.append(item)
    return found


def sources_of(value: object) -> set[str]:
    """Return the files of the variant that a parameter is, names, or is a mutant of."""
    if isinstance(value, Variant):
        return {_file_of(registry.module_of(value))}
    if isinstance(module := getattr(value, "module", None), str):
        return {_file_of(module)}
    # A stress test's setting names the variant by id.
    return _declaring(getattr(value, "variant", None))


def _file_of(module: str) -> str:
    return f"{module.replace('.', '/')}.py"


@cache
def _declaring(variant_id: str | None) -> set[str]:
    return {_file_of(registry.module_of(v)) for v in registry.variants() if v.id == variant_id}
