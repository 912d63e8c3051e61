"""Sets of results: the raw files of one label, in a folder or in an archive.

A set is named by its label, by the path of its folder (the one that contains ``raw``), or by the
path of an archive. ``NAME@COMMIT`` selects the files that were measured at a commit, so that a
label holds two sets when it was measured at two commits.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from experiments.peers import rows
from experiments.peers.rows import Row
from experiments.records import archives, results
from experiments.records.results import Raw
from operators.contract import UsageError

# git abbreviates a commit to no less.
LEAST_COMMIT = 4


@dataclass(frozen=True)
class ResultSet:
    """A set of raw results.

    Attributes
    ----------
    name : str
        As it was asked for.
    label : str
        The name of its folder, or the one that its archive gives.
    files : mapping of str to list of Path
        The raw files of each group, those of one key.
    peers : mapping of str to list of Path
        By paper, the files of operators beside peers, those of the last key.
    """

    name: str
    label: str
    files: Mapping[str, list[Path]]
    peers: Mapping[str, list[Path]] = field(default_factory=dict)

    @cached_property
    def by_group(self) -> dict[str, Raw]:
        """The content of the files of each group."""
        return {group: _joined(map(results.read, files)) for group, files in self.files.items()}

    @cached_property
    def every(self) -> Raw:
        """The content of all files; two groups may contain one setting."""
        return _joined(self.by_group.values())

    @cached_property
    def beside_peers(self) -> list[Row]:
        """The rows of operators and peers that took turns."""
        return rows.read(file for files in self.peers.values() for file in files)[0]

    def of_groups(self, groups: Collection[str]) -> Raw:
        """Return the content of some groups, where no two files contain the same point.

        Raises
        ------
        UsageError
            When two files do.
        """
        chosen = [file for group in sorted(groups) for file in self.files.get(group, ())]
        return results.read_all(chosen)


def _joined(each: Iterable[Raw]) -> Raw:
    every: list[dict[str, Any]] = []
    provenances: dict[str, dict[str, Any]] = {}
    for raw in each:
        every.extend(raw.rows)
        provenances |= raw.provenances
    return Raw(every, provenances)


def fullest(files: Iterable[Path], current: str | None = None) -> list[Path]:
    """Return the raw files of one key of a group.

    Parameters
    ----------
    files : iterable of Path
        Of all keys, each in a folder that bears the key.
    current : str, optional
        A key that is preferred.

    Returns
    -------
    list of Path
        Sorted: of the current key, else of the one with the most files, of several the newest.
    """
    found = _by_key(files)
    if not found:
        return []

    def rank(key: Path) -> tuple[bool, int, int]:
        return key.name == current, len(found[key]), _newest(found[key])

    return sorted(found[max(found, key=rank)])


def latest(files: Iterable[Path]) -> list[Path]:
    """Return the files of the key that was measured last, sorted; empty for none."""
    found = _by_key(files)
    return sorted(max(found.values(), key=_newest)) if found else []


def _by_key(files: Iterable[Path]) -> dict[Path, list[Path]]:
    """Return raw files by the folder of their key."""
    found: dict[Path, list[Path]] = {}
    for file in files:
        found.setdefault(file.parent, []).append(file)
    return found


def _newest(files: Iterable[Path]) -> int:
    return max(file.stat().st_mtime_ns for file in files)


@contextmanager
def opened(name: str) -> Iterator[ResultSet]:
    """Yield the set that a label, the path of a folder or that of an archive names.

    An archive is unpacked into a temporary folder, which exists as long as the context.

    Raises
    ------
    UsageError
        When there is no such set, it has no rows, or its archive is refused.
    """
    path, commit = _split(name)
    if not path.is_file():
        yield _in_folder(name, _folder_of(path), commit)
        return
    with TemporaryDirectory() as folder:
        about = archives.unpack(path, Path(folder, "set"))
        found = _in_folder(name, Path(folder, "set"), commit)
        yield replace(found, label=about["label"])


def last_two(name: str) -> tuple[ResultSet, ResultSet]:
    """Return the run before and the last run of the groups that were measured under two keys.

    A group is measured under another key after a change of the code or the data that it depends on.

    Parameters
    ----------
    name : str
        A label, or the path of a folder.

    Raises
    ------
    UsageError
        When there is no such set, or no group has two keys.
    """
    folder = _folder_of(Path(name))
    earlier: dict[str, list[Path]] = {}
    later: dict[str, list[Path]] = {}
    for group in sorted(folder.glob("raw/*")):
        keys = _by_key(sorted(group.glob("*/repetition-*.jsonl")))
        if len(keys) > 1:
            *_, before, last = sorted(keys, key=lambda key: _newest(keys[key]))
            earlier[group.name], later[group.name] = keys[before], keys[last]
    if not later:
        raise UsageError(f"{name} was measured once, so there is no run before; name a second set")
    label = folder.resolve().name
    return ResultSet(f"{name} before", label, earlier), ResultSet(name, label, later)


def _split(name: str) -> tuple[Path, str | None]:
    """Return path or label, and the commit behind the last @ where there is one."""
    before, at, commit = name.rpartition("@")
    if not at or Path(name).exists():
        return Path(name), None
    if len(commit) < LEAST_COMMIT or not set(commit) <= set("0123456789abcdef"):
        raise UsageError(
            f"{name}: behind @ stands a commit of at least {LEAST_COMMIT} of the digits 0 to 9 and"
            f" a to f, received {commit!r}; git log has them"
        )
    return Path(before), commit


def _folder_of(path: Path) -> Path:
    """Return the folder of a set, given by its path or its label."""
    labelled = results.root() / path
    for folder in (path, labelled):
        if (folder / "raw").is_dir():
            return folder
    if path.name == "raw" and path.is_dir():
        return path.parent
    if path.is_dir():
        raise UsageError(f"{path} has no folder raw, so it is no set of results; name one that has")
    there = sorted(each.parent.name for each in results.root().glob("*/raw"))
    raise UsageError(
        f"no set of results is called {str(path)!r}; give a folder, an archive, or one of the"
        f" labels: {', '.join(there) or 'none'}"
    )


def _in_folder(name: str, folder: Path, commit: str | None) -> ResultSet:
    files: dict[str, list[Path]] = {}
    seen: set[str] = set()
    for group in sorted(path for path in (folder / "raw").iterdir() if path.is_dir()):
        every = sorted(group.glob("*/repetition-*.jsonl"))
        if commit is not None:
            commits = {file: _commit_of(file) for file in every}
            seen |= set(filter(None, commits.values()))
            every = [file for file, at in commits.items() if (at or "").startswith(commit)]
        if chosen := fullest(every):
            files[group.name] = chosen
    if not files and commit is not None:
        there = ", ".join(sorted(each[:12] for each in seen)) or "none that is recorded"
        raise UsageError(f"{name}: nothing was measured at that commit; its rows are of: {there}")
    if not files:
        raise UsageError(f"{folder} has no raw results: measure some first, with make figures")
    return ResultSet(name, folder.resolve().name, files, _beside_peers(folder, commit))


def _beside_peers(folder: Path, commit: str | None) -> dict[str, list[Path]]:
    """Return the files of each paper measured beside peers, of a commit if one is given."""
    found: dict[str, list[Path]] = {}
    for paper in sorted(folder.glob("peers/*")):
        every = list(paper.glob("*/repetition-*.jsonl"))
        if commit is not None:
            every = [each for each in every if (_commit_of(each) or "").startswith(commit)]
        if chosen := latest(every):
            found[paper.name] = chosen
    return found


def _commit_of(file: Path) -> str | None:
    """Return the commit in the first line of a raw file."""
    with open(file, encoding="utf-8") as lines:
        first = lines.readline()
    try:
        return json.loads(first)["provenance"]["commit"]
    except (ValueError, KeyError, TypeError):
        raise UsageError(
            f"{file} does not begin with a provenance: remove it and measure again"
        ) from None
