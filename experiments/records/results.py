"""Raw results on disk: one JSON object a line, appended as it is measured.

A line is ``{"provenance": {...}}`` or a row (see ``columns``), which names a provenance earlier in
the file. A growing file is a hidden file in the same folder, ``.repetition-1.jsonl.partial``: a
workflow engine that removes the outputs of an interrupted job does not know of it, so the finished
rows stay. Each row is on the disk before the next one is measured. At the end the file is renamed,
so that a file of the final name is always complete.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field
from itertools import count
from pathlib import Path
from typing import Any

from experiments.records import columns
from operators.contract import UsageError


def root() -> Path:
    """Return the folder that commands read and write: ``results``, or ``MILLRACE_RESULTS``.

    The workflow always uses ``results`` in the working directory.
    """
    return Path(os.environ.get("MILLRACE_RESULTS", "results"))


def partial_path(output: Path) -> Path:
    """Return the name under which `output` grows."""
    return output.with_name(f".{output.name}.partial")


@dataclass
class _Found:
    """The content of a file up to the first torn or invalid line, and the bytes up to there."""

    provenances: dict[str, dict[str, Any]] = field(default_factory=dict)
    rows: list[dict[str, Any]] = field(default_factory=list)
    whole: int = 0


class Writer:
    """Appends rows to the partial file of one output, and resumes one that was cut.

    Parameters
    ----------
    output : Path
        Final name. The folder is made.
    provenance : mapping
        Of this process; written before the first row.
    keys : collection of str
        The keys of the rows that are planned. A partial file with rows of other keys (other
        sources, another machine, other data) is set aside in the same folder as ``<name>.stale-1``
        and so on; only the planned ones among these rows are taken over.
    """

    def __init__(self, output: Path, provenance: Mapping[str, Any], keys: Collection[str]) -> None:
        self.output = Path(output)
        self.partial = partial_path(self.output)
        self.output.parent.mkdir(parents=True, exist_ok=True)
        self.rows: list[dict[str, Any]] = []
        self._provenance = dict(provenance)
        self._told = False
        if self.partial.exists():
            self._resume(set(keys))

    def _resume(self, keys: set[str]) -> None:
        found = _read_lines(self.partial)
        planned = [row for row in found.rows if row["key"] in keys]
        cut = found.whole < self.partial.stat().st_size
        if len(planned) < len(found.rows) or (cut and not _torn(self.partial, found.whole)):
            self._set_aside(len(planned), len(found.rows))
            for given in found.provenances.values():
                self._append_line({"provenance": given})
            for row in planned:
                self._append_line(row)
        elif cut:
            print(f"millrace: {self.partial}: dropping a torn last line", file=sys.stderr)
            os.truncate(self.partial, found.whole)
        self.rows = planned

    def _set_aside(self, kept: int, held: int) -> None:
        free = (self.partial.with_name(f"{self.partial.name}.stale-{n}") for n in count(1))
        stale = next(path for path in free if not path.exists())
        os.replace(self.partial, stale)
        print(
            f"millrace: {self.partial} holds rows measured with other sources, data or settings:"
            f" set aside as {stale.name}, {kept} of its {held} rows are taken over",
            file=sys.stderr,
        )

    def _append_line(self, content: Mapping[str, Any]) -> None:
        with open(self.partial, "a", encoding="utf-8") as file:
            file.write(json.dumps(content, allow_nan=False) + "\n")
            file.flush()
            os.fsync(file.fileno())

    def read_again(self) -> None:
        """Take the rows that a child of this process has appended."""
        if self.partial.exists():
            self.rows = _read_lines(self.partial).rows

    def begin(self) -> None:
        """Write the provenance, unless it is written: before the first row at the latest."""
        if not self._told:
            self._append_line({"provenance": self._provenance})
            self._told = True

    def append(self, row: Mapping[str, Any]) -> dict[str, Any]:
        """Write one row, checked and flushed to the disk, and return it."""
        checked = columns.validate(row)
        self.begin()
        self._append_line(checked)
        self.rows.append(checked)
        return checked

    def find(self, key: str, repetition: int | None = None) -> dict[str, Any] | None:
        """Return the last row with this key, of this repetition where one is given, or None."""
        for row in reversed(self.rows):
            if row["key"] == key and repetition in (None, row["repetition"]):
                return row
        return None

    def finish(self) -> Path:
        """Give the file its final name."""
        os.replace(self.partial, self.output)
        return self.output


def _torn(path: Path, whole: int) -> bool:
    """Say whether the content after the first `whole` bytes is a single torn line."""
    rest = path.read_bytes()[whole:]
    return rest.count(b"\n") == 0


def _read_lines(path: Path) -> _Found:
    found = _Found()
    with open(path, "rb") as file:
        for line in file:
            try:
                content = json.loads(line)
            except ValueError:
                break
            if not line.endswith(b"\n") or not isinstance(content, dict):
                break
            if "provenance" in content and isinstance(content["provenance"], dict):
                given = content["provenance"]
                found.provenances[str(given.get("id"))] = given
                found.whole += len(line)
                continue
            row = columns.completed(content)
            if columns.problems(row) or row["provenance"] not in found.provenances:
                # Columns have changed since: this version cannot use the rest.
                break
            found.rows.append(row)
            found.whole += len(line)
    return found


@dataclass(frozen=True)
class Raw:
    """The rows of some raw files, in the order of the files, and their provenances by id."""

    rows: list[dict[str, Any]]
    provenances: dict[str, dict[str, Any]] = field(default_factory=dict)

    @property
    def valid(self) -> list[dict[str, Any]]:
        """The rows that are measurements."""
        return [row for row in self.rows if row["valid"]]

    @property
    def machines(self) -> list[str]:
        """The machines that the rows were measured on."""
        return sorted({row["machine"] for row in self.rows})


def read(path: str | Path) -> Raw:
    """Return rows and provenances of a finished file.

    Raises
    ------
    UsageError
        When the file is missing, cut or not a file of results.
    """
    path = Path(path)
    if not path.is_file():
        raise UsageError(f"no results at {path}: measure them first, with make figures")
    found = _read_lines(path)
    if not found.provenances or found.whole < path.stat().st_size:
        raise UsageError(f"{path} is not a whole file of results: remove it and measure again")
    return Raw(found.rows, found.provenances)


def read_all(paths: Iterable[str | Path]) -> Raw:
    """Return the rows of several finished files, in the order of file names.

    Raises
    ------
    UsageError
        When a file is no complete file of results, or two files hold the same point of the same
        repetition and machine: one is a copy, or of other sources, data or lengths, and the two are
        never mixed.
    """
    rows: list[dict[str, Any]] = []
    provenances: dict[str, dict[str, Any]] = {}
    where: dict[tuple, Path] = {}
    for path in sorted(map(Path, paths)):
        raw = read(path)
        for row in raw.rows:
            # The setting that all processes measure is the same in every group.
            if row["phase"] not in (columns.PROBE, columns.REFERENCE):
                other = where.setdefault(row_identity(row), path)
                if other != path:
                    raise UsageError(
                        f"{path} and {other} hold the same point ({row['variant']}, {row['phase']},"
                        f" repetition {row['repetition']}): copies, or measured under other"
                        " conditions; read one"
                    )
        rows.extend(raw.rows)
        provenances |= raw.provenances
    return Raw(rows, provenances)


def row_identity(row: Mapping[str, Any]) -> tuple:
    """Return the identity of a row: machine, variant, settings, phase, rate, process and round."""
    names = ("machine", "family", "variant", "phase", "rate_fraction", "repetition", "round",
             "dataset")  # fmt: skip
    settings = tuple(sorted(row["settings"].items()))
    return (*(row[name] for name in names), settings)


def one_machine(raw: Raw) -> None:
    """Refuse rows of several machines: their values are not compared.

    Raises
    ------
    UsageError
        When there are several; the message names them.
    """
    if len(raw.machines) > 1:
        raise UsageError(
            f"raw results of {len(raw.machines)} machines ({', '.join(raw.machines)}) were given;"
            " read those of one, and keep the others in a folder of results of their own"
        )


def judged_last(folder: Path, label: str | None = None) -> Path | None:
    """Return the set of results below `folder` that was judged last, None where there is none.

    Parameters
    ----------
    folder : Path
        Holds a folder for each label, with ``claims/<paper>.json`` once it is judged.
    label : str, optional
        Restricts the search to one set.
    """
    judged = {
        file.parents[1]: file.stat().st_mtime_ns
        for file in sorted(folder.glob("*/claims/*.json"), key=lambda file: file.stat().st_mtime_ns)
        if label is None or file.parents[1].name == label
    }
    return max(judged, key=judged.get) if judged else None
