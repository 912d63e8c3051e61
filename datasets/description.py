"""`dataset.json`, the description of a dataset's folder: writing and checking.

    {"name", "role", "title", "source",              source: generated or recorded
     "rows",                                          of the main table
     "query_time_unit", "decimals",                   only where they apply
     "seed", "digest", "parameters", "rejected",
     "main_table": "readings",
     "tables": {"readings": {
        "rows", "digest", "keys", "first_time", "last_time",
        "files": ["readings-00000.parquet", ...],     in the order of the rows
        "time", "time_unit", "row", "key", "value" or "text",   names of columns, if any
        "columns": [{"name", "type", "unit", "meaning", "nullable"}, ...]}}}

The tables have the fields of `datasets.declare`, so that a folder can be read without the generator
that made it.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

from datasets import catalog
from datasets.declare import PURPOSES, Column, Table
from datasets.in_memory import InMemory
from operators.contract import UsageError

REQUIRED = {
    "name": str,
    "role": str,
    "rows": int,
    "digest": str,
    "main_table": str,
    "tables": dict,
}


def describe_table(
    table: Table, *, rows: int, digest: str, files: list[str], **found: int
) -> dict[str, Any]:
    """Return the entry of one table.

    Parameters
    ----------
    table
    rows, digest, files
        As in `dataset.json`.
    found
        keys, first_time and last_time, if the table has a key and a time.
    """
    form = {name: part for name, part in asdict(table).items() if part is not None}
    columns = list(form.pop("columns"))
    del form["name"]
    return {"rows": rows, "digest": digest, **found, "files": files, **form, "columns": columns}


def describe(
    tables: Mapping[str, dict[str, Any]],
    *,
    query_time_unit: int | None = None,
    decimals: int | None = None,
    **told: Any,
) -> dict[str, Any]:
    """Return the content of `dataset.json`.

    Parameters
    ----------
    tables
        The entries from `describe_table` by name; the main table first.
    query_time_unit, decimals
        None if they do not apply.
    told
        The fields name, role, title, source, seed, parameters and rejected.
    """
    main_table = next(iter(tables))
    optional = {"query_time_unit": query_time_unit, "decimals": decimals}
    return {
        **told,
        "rows": tables[main_table]["rows"],
        **{name: number for name, number in optional.items() if number is not None},
        "digest": _digest(tables),
        "main_table": main_table,
        "tables": dict(tables),
    }


def _digest(tables: Mapping[str, dict[str, Any]]) -> str:
    """Return the digest of a single table, or a digest over those of several."""
    if len(tables) == 1:
        return next(iter(tables.values()))["digest"]
    text = "\n".join(f"{name} {entry['digest']}" for name, entry in tables.items())
    return hashlib.sha256(text.encode()).hexdigest()[:32]


def main_table(info: Mapping[str, Any]) -> dict[str, Any]:
    """Return the entry of the main table."""
    return info["tables"][info["main_table"]]


def stored_table(info: Mapping[str, Any], name: str) -> Table:
    """Return a table's declaration from `dataset.json`.

    Raises
    ------
    UsageError
        If there is no such table; the message lists the existing ones.
    """
    if name not in info["tables"]:
        raise UsageError(
            f"data set {info['name']} has no table {name!r}; there are {', '.join(info['tables'])}"
        )
    entry = info["tables"][name]
    columns = tuple(Column(**column) for column in entry["columns"])
    form = {purpose: entry.get(purpose) for purpose in (*PURPOSES, "time_unit")}
    return Table(name, columns, **form)


def read_info(path: Path | str | InMemory) -> dict[str, Any]:
    """Read and check the `dataset.json` of a folder.

    Parameters
    ----------
    path
        The folder of the data set, or a data set in memory.

    Returns
    -------
    dict

    Raises
    ------
    UsageError
        If the file is missing or malformed.
    """
    if isinstance(path, InMemory):
        return path.info
    file = Path(path) / "dataset.json"
    try:
        info = json.loads(file.read_text(encoding="utf-8"))
    except OSError as error:
        raise UsageError(
            f"{path} is no data set ({file.name}: {error.strerror}); give a folder that Millrace"
            " made"
        ) from error
    except ValueError as error:
        raise UsageError(f"{file} is not valid JSON ({error}); make the data set again") from error
    if isinstance(info, dict) and "files" in info and "tables" not in info:
        raise UsageError(
            f"{file} is of the older form, which had no tables; make the data set again"
        )
    _require(file, info, REQUIRED)
    if info["role"] not in catalog.roles():
        raise UsageError(
            f"{file} has role {info['role']!r}; known are {', '.join(sorted(catalog.roles()))}"
        )
    if info["main_table"] not in info["tables"]:
        raise UsageError(
            f"{file} has no table {info['main_table']!r}, its main one; make the data set again"
        )
    for name in info["tables"]:
        _check_table(file, info, name)
    if info["rows"] != main_table(info)["rows"]:
        raise UsageError(
            f"{file} has rows {info['rows']} and in its main table {main_table(info)['rows']}; make"
            " the data set again"
        )
    if stored_table(info, info["main_table"]).value is not None:
        _require(file, info, {"decimals": int})
    unit = info.get("query_time_unit", 1)
    if type(unit) is not int or unit < 1:
        raise UsageError(f"{file} has query time unit {unit!r}; make the data set again")
    return info


def _require(place: Path | str, found: Any, required: Mapping[str, type]) -> None:
    for name, kind in required.items():
        given = found.get(name) if isinstance(found, dict) else None
        if not isinstance(given, kind) or isinstance(given, bool):
            raise UsageError(f"{place} has no {name} ({kind.__name__}); make the data set again")


def _check_table(file: Path, info: dict[str, Any], name: str) -> None:
    """Refuse an entry without rows or files, or with an invalid table."""
    entry = info["tables"][name]
    place = f"table {name!r} of {file}"
    _require(place, entry, {"rows": int, "files": list, "columns": list})
    if entry["rows"] < 1 or not entry["files"] or not all(type(f) is str for f in entry["files"]):
        raise UsageError(f"{place} describes no rows; make the data set again")
    try:
        stored_table(info, name)
    except (TypeError, UsageError) as error:
        raise UsageError(f"{file}: {error}; make the data set again") from error
