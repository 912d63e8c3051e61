"""Declares further requirements of a role on recorded data, in addition to a keyed stream.

Recorded rows replace those of a role's main table: a mapping names the time, key and payload. A
dataset that needs more columns, or has other tables derived from them, declares that in
``recorded.py`` next to ``tables.py``, which ends with ``RECORDED``. Generators do not import this
module, so that the rows of generated data do not depend on it.
"""

from __future__ import annotations

import importlib
import importlib.util
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

import pyarrow as pa

from datasets import catalog
from datasets.declare import PURPOSES, DatasetDeclaration
from operators.contract import UsageError

MAPPING_WORDS = {*PURPOSES, "user", "stream", "id"}
"""The words for columns in a mapping: no further required column may have such a name."""

Derive = Callable[[Mapping[str, pa.Array]], Mapping[str, pa.Array]]
"""Computes the columns of one table from those of another, both by name."""


@dataclass(frozen=True)
class Recorded:
    """The requirements on recorded data, and the derived tables.

    Attributes
    ----------
    needs : tuple of str
        Columns of the main table that a mapping names in addition to time, key and payload:
        integers or texts that identify things, such as telephone numbers.
    derived : mapping of str to callable
        The tables that recorded data need not provide, since they follow from the main one. For
        each, a function from the main table's columns to the derived columns, both by name.
    """

    needs: tuple[str, ...] = ()
    derived: Mapping[str, Derive] = field(default_factory=dict)


def recorded(role: str) -> Recorded:
    """Return the requirements of a role's default dataset on recorded data.

    Raises
    ------
    UsageError
        If no dataset has that role, or the requirements do not match the declaration.
    """
    declared = catalog.of_role(role)[0]
    if not _is_said(declared):
        return Recorded()
    asked: Recorded = importlib.import_module(f"datasets.{declared.name}.recorded").RECORDED
    _check(declared, asked)
    return asked


def modules_of(role: str) -> tuple[str, ...]:
    """Return the modules that determine the rows of a role's recorded data, with all they import.

    The last ones are found by name, since the importer does not import them.

    Raises
    ------
    UsageError
        If no dataset has that role.
    """
    declared = catalog.of_role(role)[0]
    own = [f"datasets.{declared.name}.tables"]
    if _is_said(declared):
        own.append(f"datasets.{declared.name}.recorded")
    return ("datasets.imported", *own)


def _is_said(declared: DatasetDeclaration) -> bool:
    """Return whether a dataset declares requirements on recorded data."""
    return importlib.util.find_spec(f"datasets.{declared.name}.recorded") is not None


def _check(declared: DatasetDeclaration, asked: Recorded) -> None:
    """Refuse requirements that no mapping could meet."""
    taken = {getattr(declared.main, purpose) for purpose in PURPOSES} | MAPPING_WORDS
    free = [column.name for column in declared.main.columns if column.name not in taken]
    others = [table.name for table in declared.tables[1:]]
    for name in asked.needs:
        if name not in free:
            raise UsageError(
                f"dataset {declared.name} needs {name!r} of recorded data, which is no column of"
                f" {declared.main.name} without a purpose; there are {', '.join(free) or 'none'}"
            )
    for name in asked.derived:
        if name not in others:
            raise UsageError(
                f"dataset {declared.name} derives {name!r}, which is no table beside its main one;"
                f" there are {', '.join(others) or 'none'}"
            )
