"""The small sets that Spark makes once for all tests of a worker, by the fixture ``generated``."""

from __future__ import annotations

from pathlib import Path
from typing import Any, NamedTuple

from datasets.generate import generate

ROWS, SEED, PARTS = 6_000, 7, 2
# The digest of `smart_meter` at that size and seed; it does not depend on the number of partitions
# or cores, or on the cluster.
SMART_METER = "a2ce0c797e4c61d823045fee0e7bd826"


class Generated(NamedTuple):
    """A set on disk, and the result of `datasets.generate.generate`."""

    folder: Path
    info: dict[str, Any]


def make(name: str, root: Path) -> Generated:
    """Generate a set into a new folder with the name of the set, below `root`."""
    return Generated(root / name, generate(name, ROWS, SEED, root / name, "local[2]", PARTS))
