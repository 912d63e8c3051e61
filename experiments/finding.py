"""Finds what families have here beside their operators, by the names of folders and modules.

Imports are made when something is asked for: a list of names costs nothing.
"""

from __future__ import annotations

import importlib
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from pkgutil import extend_path
from types import ModuleType

import experiments

PACKAGE = "experiments.families"
# Folders of this name elsewhere on Python's path have joined.
_FOLDERS = extend_path([str(Path(folder, "families")) for folder in experiments.__path__], PACKAGE)


@cache
def _with(module: str) -> tuple[str, ...]:
    """Return the families that have a module of that name, by name."""
    found = {
        entry.name
        for folder in map(Path, _FOLDERS)
        if folder.is_dir()
        for entry in folder.iterdir()
        if (entry / f"{module}.py").is_file() or (entry / module / "__init__.py").is_file()
    }
    return tuple(sorted(found))


def benched() -> tuple[str, ...]:
    """Return the families that ``millrace bench`` takes."""
    return _with("bench")


def replayed() -> tuple[str, ...]:
    """Return the families that ``millrace replay`` takes."""
    return _with("replay")


def family_module(family: str, name: str) -> ModuleType | None:
    """Return a module of a family's folder, None where the family has none of that name."""
    full = f"{PACKAGE}.{family}.{name}"
    if find_spec(f"{PACKAGE}.{family}") is None or find_spec(full) is None:
        return None
    return importlib.import_module(full)
