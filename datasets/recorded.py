"""What the datasets of a role ask of recorded data besides a keyed stream.

Recorded rows take the place of a role's main table: a mapping names its time, key and payload. A
dataset that needs more of them, or has other tables that follow from them, says so in
``recorded.py`` beside its ``tables.py``, which ends with ``RECORDED``. Nothing that generates
imports this module, so that the rows of generated data do not depend on it.
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
"""What a mapping calls columns by: nothing that is needed besides may be called so."""

Derive = Callable[[Mapping[str, pa.Array]], Mapping[str, pa.Array]]
"""Makes the columns of one table from those of another, both by name."""


@dataclass(frozen=True)
class Recorded:
    """What recorded data have to bring, and what is made from it.

    Attributes
    ----------
    needs : tuple of str
        Columns of the main table that a mapping names besides time, key and payload: integers or
        texts that tell things apart, such as numbers of telephones.
    derived : mapping of str to callable
        The tables that recorded data need not bring, since they follow from the main one. Of each,
        a function of the main table's columns by name that returns its own ones.
    """

    needs: tuple[str, ...] = ()
    derived: Mapping[str, Derive] = field(default_factory=dict)


def recorded(role: str) -> Recorded:
    """Return what the default dataset of a role asks of recorded data.

    Raises
    ------
    UsageError
        If no dataset has that role, or it asks for what it does not declare.
    """
    declared = catalog.of_role(role)[0]
    if not _is_said(declared):
        return Recorded()
    asked: Recorded = importlib.import_module(f"datasets.{declared.name}.recorded").RECORDED
    _check(declared, asked)
    return asked


def modules_of(role: str) -> tuple[str, ...]:
    """Return the modules that decide the rows of recorded data of a role, with all they import.

    The last ones are found by name, so that no import leads from the importer to them.

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
    """Return whether a dataset says what it asks of recorded data."""
    return importlib.util.find_spec(f"datasets.{declared.name}.recorded") is not None


def _check(declared: DatasetDeclaration, asked: Recorded) -> None:
    """Refuse what no mapping could bring."""
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
