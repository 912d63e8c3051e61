"""Data sets in memory: arrays instead of a folder of files.

Every reader that uses `datasets.read.read_table` accepts one instead of a folder, so that a
notebook or a test needs no files::

    keys = InMemory("uniform keys", "keys", {"uniform": {"r": r, "s": s}})
    families.ready("join", "pim-tree", {"window": 1024, "dataset": keys})
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from operators.contract import UsageError


@dataclass(frozen=True, eq=False)
class InMemory:
    """A data set of arrays; no two are equal, like two folders.

    Attributes
    ----------
    name : str
    role : str
        As for a generated data set: "keys", "streams", ...
    tables : mapping of str to mapping of str to ndarray
        The columns of each table by name, with the types that the role declares.
    """

    name: str
    role: str
    tables: Mapping[str, Mapping[str, np.ndarray]]

    @property
    def info(self) -> dict[str, Any]:
        """The result of `datasets.description.read_info`; the content has no digest."""
        return {"name": self.name, "role": self.role, "source": "in memory", "digest": None}

    def table(self, name: str) -> dict[str, np.ndarray]:
        """Return the columns of a table.

        Raises
        ------
        UsageError
            When there is no such table.
        """
        if name not in self.tables:
            raise UsageError(
                f"{self.name} has no table {name!r}; its tables are: {', '.join(self.tables)}"
            )
        return dict(self.tables[name])
