"""Finds the benches, replays and modules of families, by the names of folders and modules.

Imports are made on request. The list of benches needs none; that of replays imports the modules
with families' names, since a module that replays share may have one, too.
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
from operators.declaring import declares

FAMILIES, REPLAY = "experiments.families", "experiments.replay"


def _folders(package: str) -> list[Path]:
    """Return the folders of a package, including those elsewhere on Python's path."""
    name = package.rpartition(".")[2]
    paths = extend_path([str(Path(folder, name)) for folder in experiments.__path__], package)
    return [folder for folder in map(Path, paths) if folder.is_dir()]


@cache
def benched() -> tuple[str, ...]:
    """Return the families that ``millrace bench`` takes, by name."""
    files = [file for each in _folders(FAMILIES) for file in each.glob("*/bench.py")]
    return tuple(sorted({file.parent.name for file in files if declares(file, "BENCH")}))


@cache
def replayed() -> tuple[str, ...]:
    """Return the families that ``millrace replay`` takes, by name.

    A module of a family's name without ``ABOUT`` is no form, but one that replays share.
    """
    found = set()
    for folder in _folders(REPLAY):
        found |= {file.stem for file in folder.glob("*.py")}
        found |= {file.parent.name for file in folder.glob("*/__init__.py")}
    named = (name for name in registry.family_names() if name in found)
    return tuple(name for name in named if hasattr(replay_of(name), "ABOUT"))


def family_module(family: str, name: str) -> ModuleType | None:
    """Return a module of a family's folder, None where the family has none of that name."""
    full = f"{FAMILIES}.{family}.{name}"
    if find_spec(f"{FAMILIES}.{family}") is None or find_spec(full) is None:
        return None
    return importlib.import_module(full)


def replay_of(family: str) -> ModuleType:
    """Return a family's form of ``millrace replay``; `family` is in ``replayed``."""
    return importlib.import_module(f"{REPLAY}.{family}")
