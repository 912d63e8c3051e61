"""External datasets, added from a temporary folder."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from pkgutil import extend_path

import pytest

import datasets

TOYS = Path(__file__).parent / "toys"


@pytest.fixture
def hang_on(tmp_path, monkeypatch) -> Iterator[Callable[..., Path]]:
    """Return a function that puts files into `datasets/<name>/` of a folder on Python's path."""
    before = set(sys.modules)
    hung = set()
    monkeypatch.syspath_prepend(tmp_path)

    def hang(name: str, **files: str) -> Path:
        folder = tmp_path / "datasets" / name
        folder.mkdir(parents=True)
        for stem, content in files.items():
            (folder / f"{stem}.py").write_text(content)
        # Repeat the package's path extension at import for the new folder.
        monkeypatch.setattr(datasets, "__path__", extend_path(datasets.__path__, "datasets"))
        hung.add(name)
        return folder

    yield hang
    for module in set(sys.modules) - before:
        if module.split(".")[0] == "datasets" and module.split(".")[1] in hung:
            del sys.modules[module]
            vars(datasets).pop(module.split(".")[1], None)
