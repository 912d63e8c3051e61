"""Raw results on disk: one JSON object a line, appended as it is measured.

The first line is ``{"provenance": {...}}``, the others are rows (see ``columns``). While a file
grows it is a hidden file beside its later name, ``.repetition-1.jsonl.partial``: a workflow engine
that removes the outputs of a job it interrupted does not know of it, so the finished rows stay.
Each row is on the disk before the next one is measured. At the end the file is renamed, so that a
file of the final name is always whole.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Iterable, Mapping
from itertools import count
from pathlib import Path
from typing import Any

from experiments.harness import columns
from operators.contract import UsageError

# What differs between two runs of one thing, and does not enter the id of a provenance.
NOT_IN_THE_ID = ("id", "commit", "dirty", "argv", "load", "machine")


def root() -> Path:
    """Return the folder of everything that is made: ``results``, or ``MILLRACE_RESULTS``."""
    return Path(os.environ.get("MILLRACE_RESULTS", "results"))


def partial_path(output: Path) -> Path:
    """Return the name under which `output` grows."""
    return output.with_name(f".{output.name}.partial")


class Writer:
    """Appends rows to the partial file of one output, and resumes one that was cut.

    Parameters
    ----------
    output : Path
        Final name. The folder is made.
    provenance : mapping
        First line of a new file. A file of another provenance id (other sources, another machine,
        another dataset) is set aside beside it, as ``<name>.stale-1`` and so on, and measured
        again: its rows must not be mixed with ours.
    identify : callable
        Row or planned row to a hashable name; rows found are looked up by it.
    """

    def __init__(self, output: Path, provenance: Mapping[str, Any], identify) -> None:
        self.output = Path(output)
        self.partial = partial_path(self.output)
        self.output.parent.mkdir(parents=True, exist_ok=True)
        self._identify = identify
        self.rows: list[dict[str, Any]] = []
        if self.partial.exists():
            self._resume(provenance)
        if not self.partial.exists():
            self._append_line({"provenance": dict(provenance)})

    def _resume(self, provenance: Mapping[str, Any]) -> None:
        found, rows, whole = _read_whole_lines(self.partial)
        if found is None or found.get("id") != provenance["id"]:
            self._set_aside(_difference(found, provenance))
            return
        if whole < self.partial.stat().st_size:
            print(f"millrace: {self.partial}: dropping a torn last line", file=sys.stderr)
            os.truncate(self.partial, whole)
        self.rows = rows

    def _set_aside(self, reason: str) -> None:
        free = (self.partial.with_name(f"{self.partial.name}.stale-{n}") for n in count(1))
        stale = next(path for path in free if not path.exists())
        os.replace(self.partial, stale)
        print(
            f"millrace: {self.partial} {reason}: set aside as {stale.name}, starting again",
            file=sys.stderr,
        )

    def _append_line(self, content: Mapping[str, Any]) -> None:
        with open(self.partial, "a", encoding="utf-8") as file:
            file.write(json.dumps(content, allow_nan=False) + "\n")
            file.flush()
            os.fsync(file.fileno())

    def append(self, row: Mapping[str, Any]) -> dict[str, Any]:
        """Write one row, checked and flushed to the disk, and return it."""
        checked = columns.validate(row)
        self._append_line(checked)
        self.rows.append(checked)
        return checked

    def find(self, planned: Mapping[str, Any]) -> dict[str, Any] | None:
        """Return the last row with the identity of `planned`, or None."""
        wanted = self._identify(planned)
        return next((r for r in reversed(self.rows) if self._identify(r) == wanted), None)

    def finish(self) -> Path:
        """Give the file its final name."""
        os.replace(self.partial, self.output)
        return self.output


def _difference(found: Mapping[str, Any] | None, wanted: Mapping[str, Any]) -> str:
    """Return why a file with the first line `found` is not one of ours, as the end of a clause."""
    if found is None:
        return "has no whole first line"
    names = [
        name for name in wanted if name not in NOT_IN_THE_ID and found.get(name) != wanted[name]
    ]
    differing = f" (other {', '.join(names)})" if names else ""
    return f"was measured with other sources, data or settings{differing}"


def _read_whole_lines(path: Path) -> tuple[dict[str, Any] | None, list[dict[str, Any]], int]:
    """Return provenance, rows, and the length in bytes of the part that is whole."""
    provenance: dict[str, Any] | None = None
    rows: list[dict[str, Any]] = []
    whole = 0
    with open(path, "rb") as file:
        for line in file:
            try:
                content = json.loads(line)
            except ValueError:
                break
            if not line.endswith(b"\n"):
                break
            if provenance is None:
                provenance = content.get("provenance")
                if provenance is None:
                    return None, [], 0
            elif columns.problems(content):
                # Columns have changed since: the rest is of no use to this version.
                break
            else:
                rows.append(content)
            whole += len(line)
    return provenance, rows, whole


def read(path: Path) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    """Return provenance and rows of a finished file.

    Raises
    ------
    UsageError
        When the file is missing, cut or not a file of results.
    """
    path = Path(path)
    if not path.is_file():
        raise UsageError(f"no results at {path}: measure them first, with make figures")
    provenance, rows, whole = _read_whole_lines(path)
    if provenance is None or whole < path.stat().st_size:
        raise UsageError(f"{path} is not a whole file of results: remove it and measure again")
    return provenance, rows


def read_all(paths: Iterable[Path]) -> list[dict[str, Any]]:
    """Return the rows of several finished files, in the order of the paths."""
    return [row for path in paths for row in read(path)[1]]
