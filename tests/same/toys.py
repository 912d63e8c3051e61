"""Toy checkouts: folders with some sources, and a command that answers without measuring."""

from __future__ import annotations

import shutil
from collections.abc import Mapping
from pathlib import Path

from tests.same.checkouts import ROOT, Checkout


def checkout(folder: Path, sources: Mapping[str, str], name: str = "BASE") -> Checkout:
    """Write sources into a folder and return it as a checkout, run by the Python of these tests."""
    (folder / name).mkdir(parents=True, exist_ok=True)
    for path, text in sources.items():
        file = folder / name / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text, encoding="utf-8")
    shutil.copy(ROOT / "requirements.lock", folder / name)
    return Checkout(name, folder / name)


def commanding(folder: Path, command: str, name: str = "BASE") -> Checkout:
    """Return a checkout whose ``millrace`` is the text `command`."""
    return checkout(folder, {"experiments/__init__.py": "", "experiments/cli.py": command}, name)
