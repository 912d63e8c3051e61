"""Choosing the dataset of a bench among those that exist."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from datasets import read
from datasets.in_memory import InMemory
from experiments.records import results
from operators.contract import UsageError


def folder_for(query: Any, named: object) -> Path | InMemory:
    """Return the folder of the dataset that a query runs on.

    Parameters
    ----------
    query : a query of some family
        With ``id`` and ``role``.
    named : str, Path, InMemory or None
        As for ``dataset_path``.

    Raises
    ------
    UsageError
        When there is none, or it has another role.
    """
    path = dataset_path(named, query.role)
    info = read.read_info(path)
    if info["role"] != query.role:
        raise UsageError(
            f"query {query.id} runs on {query.role}, and dataset {info['name']} holds"
            f" {info['role']}"
        )
    return path


def dataset_path(named: object, role: str) -> Path | InMemory:
    """Return the folder of a dataset: a path, the name of one that was made, or the largest made.

    A data set in memory is returned unchanged.

    Parameters
    ----------
    named : str, Path, InMemory or None
    role : str
        "meters" or "comments": the role among whose datasets the largest is chosen.

    Raises
    ------
    UsageError
        When there is none; the message says how to make one.
    """
    if isinstance(named, InMemory):
        return named
    if named is not None and Path(str(named)).is_dir():
        return Path(str(named)).resolve()
    made = read.datasets_made(results.root() / "data")
    infos = {path: read.read_info(path) for path in made}
    if named is None:
        fitting = [path for path in made if infos[path]["role"] == role]
    else:
        fitting = [path for path in made if str(named) in (path.name, infos[path]["name"])]
    if not fitting:
        what = f"of {role}" if named is None else repr(str(named))
        there = ", ".join(sorted({info["name"] for info in infos.values()})) or "none"
        raise UsageError(
            f"there is no dataset {what} (made so far: {there}); make figures generates them,"
            " or give a dataset's folder"
        )
    return fitting[-1].resolve()
