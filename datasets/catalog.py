"""Finds the declaration of every dataset that can be generated; nothing is registered by hand.

A dataset is a folder next to this file with a `tables.py` that ends with `DATASET`. Folders
elsewhere on Python's path are searched too (see `datasets/__init__.py`). Nothing here starts Spark.
"""

from __future__ import annotations

import importlib
from functools import cache
from pathlib import Path

import datasets as packages
from datasets.declare import DatasetDeclaration
from operators.contract import UsageError
from operators.declaring import declares


def datasets() -> list[DatasetDeclaration]:
    """Return every declared dataset, by name.

    Raises
    ------
    UsageError
        If a name is declared twice, a declaration has another name than the folder, or two datasets
        of one role have different tables.
    """
    return list(_declared(tuple(packages.__path__)).values())


def dataset(name: str) -> DatasetDeclaration:
    """Return one dataset.

    Raises
    ------
    UsageError
        If the name is unknown; the message lists the known ones.
    """
    found = _declared(tuple(packages.__path__))
    if name not in found:
        raise UsageError(f"no data set is called {name!r}; there are {', '.join(found)}")
    return found[name]


def roles() -> tuple[str, ...]:
    """Return every role, in the order of the first datasets that have them."""
    return tuple(dict.fromkeys(declared.role for declared in datasets()))


def of_role(role: str) -> list[DatasetDeclaration]:
    """Return the datasets of a role, by name; the first is the default.

    Raises
    ------
    UsageError
        If no dataset has the role; the message lists the roles.
    """
    found = [declared for declared in datasets() if declared.role == role]
    if not found:
        raise UsageError(f"no data set has the role {role!r}; there are {', '.join(roles())}")
    return found


def generated_for(role: str) -> str:
    """Return the name of the dataset generated for a role by default.

    Raises
    ------
    UsageError
        As for `of_role`.
    """
    return of_role(role)[0].name


@cache
def _declared(path: tuple[str, ...]) -> dict[str, DatasetDeclaration]:
    """Import and check the declarations in the folders of `path`; the result is sorted by name."""
    places: dict[str, list[Path]] = {}
    for folder in path:
        for file in Path(folder).glob("*/tables.py"):
            if declares(file, "DATASET"):
                places.setdefault(file.parent.name, []).append(file)
    found = {}
    for name, files in sorted(places.items()):
        if len(files) > 1:
            raise UsageError(
                f"data set {name!r} is declared by both {files[0]} and {files[1]}: rename one"
            )
        found[name] = importlib.import_module(f"datasets.{name}.tables").DATASET
        if found[name].name != name:
            raise UsageError(f"{files[0]} declares {found[name].name!r}: name it as its folder")
    _check_roles(found)
    return found


def _check_roles(found: dict[str, DatasetDeclaration]) -> None:
    """Refuse a dataset that differs in form from the others of the same role."""
    first: dict[str, DatasetDeclaration] = {}
    for declared in found.values():
        other = first.setdefault(declared.role, declared)
        if _form(declared) != _form(other):
            raise UsageError(
                f"data sets {other.name} and {declared.name} have the role {declared.role!r} and"
                " differ in tables, in time, key or payload of one, or in having a query time unit:"
                " give one another role"
            )


def _form(declared: DatasetDeclaration) -> tuple:
    """Return the form that all datasets of a role have in common, the main table first."""
    tables = [(t.name, t.time, t.key, t.value, t.text) for t in declared.tables]
    return tables, declared.query_time_unit is None
