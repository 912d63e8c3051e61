"""The small sets that Spark makes once for all tests of a worker, by the fixture ``generated``."""

from __future__ import annotations

from pathlib import Path
from typing import Any, NamedTuple

from datasets.generate import generate

ROWS, SEED, PARTS = 6_000, 7, 2


class Generated(NamedTuple):
    """A set on disk, and what `datasets.generate.generate` returned."""

    folder: Path
    info: dict[str, Any]


def make(name: str, root: Path) -> Generated:
    """Generate a set into a new folder of its name below `root`."""
    return Generated(root / name, generate(name, ROWS, SEED, root / name, "local[2]", PARTS))
