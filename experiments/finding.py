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
from operators import registry

FAMILIES, REPLAY = "experiments.families", "experiments.replay"


def _folders(package: str) -> list[Path]:
    """Return the folders of a package, those elsewhere on Python's path among them."""
    name = package.rpartition(".")[2]
    paths = extend_path([str(Path(folder, name)) for folder in experiments.__path__], package)
    return [folder for folder in map(Path, paths) if folder.is_dir()]


@cache
def benched() -> tuple[str, ...]:
    """Return the families that ``millrace bench`` takes, by name."""
    found = {file.parent.name for each in _folders(FAMILIES) for file in each.glob("*/bench.py")}
    return tuple(sorted(found))


@cache
def replayed() -> tuple[str, ...]:
    """Return the families that ``millrace replay`` takes, by name."""
    modules = {path.stem for each in _folders(REPLAY) for path in each.iterdir()}
    return tuple(name for name in registry.family_names() if name in modules)


def family_module(family: str, name: str) -> ModuleType | None:
    """Return a module of a family's folder, None where the family has none of that name."""
    full = f"{FAMILIES}.{family}.{name}"
    if find_spec(f"{FAMILIES}.{family}") is None or find_spec(full) is None:
        return None
    return importlib.import_module(full)


def replay_of(family: str) -> ModuleType:
    """Return the form of ``millrace replay`` that a family brings; `family` is in ``replayed``."""
    return importlib.import_module(f"{REPLAY}.{family}")
