"""What can be wrong with a row, and the rows that are set aside for it.

A column is parsed to one state a value: ``FINE``, or what is wrong with it (`REASONS`). `Faults`
keeps the first fault of each row of a block, in the order in which its columns are looked at, and
`rejected_rows` makes of it what `write_rejected` puts into ``rejected.csv``. The importer and all
replays judge rows by these.
"""

from __future__ import annotations

import csv
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np

from datasets.formats.numbers import FINE, NULL, UNPARSABLE
from datasets.formats.rows import Rows
from datasets.formats.times import OUT_OF_RANGE, TOO_FINE

# A number that is below 0 where none may be.
BELOW_0 = 12
REASONS = {
    NULL: "null {}",
    UNPARSABLE: "unparsable {}",
    OUT_OF_RANGE: "{} out of range",
    TOO_FINE: "{} finer than its unit",
    BELOW_0: "{} below 0",
}
"""By state, the reason for which a row is set aside; ``{}`` is what the column is called.

A number too wide for 64 bits is none of them: it ends an import, and says what to do about it.
"""
REJECTED_COLUMNS = ("reason", "file", "line", "content")


class Rejected(NamedTuple):
    """A row set aside."""

    reason: str
    file: int
    """Index of its source."""
    line: int
    content: str


class Faults:
    """The first fault of each row of a block.

    Parameters
    ----------
    rows : int

    Attributes
    ----------
    state : uint8 array (rows,)
        FINE, or what is wrong.

    Examples
    --------
    >>> faults = Faults(3)
    >>> faults.note("time", np.array([FINE, NULL, FINE]))
    >>> faults.note("value", np.array([FINE, UNPARSABLE, UNPARSABLE]))
    >>> faults.rows.tolist(), faults.reason(1), faults.reason(2)
    ([1, 2], 'null time', 'unparsable value')
    """

    def __init__(self, rows: int) -> None:
        self.state = np.full(rows, FINE, dtype=np.uint8)
        self._column = np.zeros(rows, dtype=np.int64)
        self._columns: list[tuple[str, str]] = []

    def note(self, called: str, state: np.ndarray, role: str = "") -> None:
        """Note what is wrong in a column, for the rows in which nothing was wrong before.

        Parameters
        ----------
        called : str
            What the column is called in reasons.
        state : array (rows,)
            Of each row's value; what is no key of `REASONS` is no fault.
        role : str
            The role under which the column was read; `called` unless given.
        """
        found = np.isin(state, list(REASONS)) & (self.state == FINE)
        self.state[found] = state[found]
        self._column[found] = len(self._columns)
        self._columns.append((called, role or called))

    def note_null(self, called: str, null: np.ndarray) -> None:
        """Note the rows that have nothing in a column."""
        self.note(called, np.where(null, NULL, FINE))

    @property
    def rows(self) -> np.ndarray:
        """The rows at fault, ascending."""
        return np.flatnonzero(self.state != FINE)

    @property
    def usable(self) -> np.ndarray:
        """The other rows, ascending."""
        return np.flatnonzero(self.state == FINE)

    def column(self, row: int) -> tuple[str, str]:
        """Return what the column at fault is called, and the role under which it was read."""
        return self._columns[self._column[row]]

    def reason(self, row: int) -> str:
        """Return the reason for which a row is set aside."""
        return REASONS[int(self.state[row])].format(self.column(row)[0])


def rejected_rows(file: int, rows: Rows, faults: Faults, most: int | None = None) -> list[Rejected]:
    """Return the rows of a block that cannot be used, by line: those that could not be split, too.

    Parameters
    ----------
    file : int
        Index of their source.
    rows : Rows
    faults : Faults
    most : int, optional
        How many of those at fault are looked up, at most; all by default.
    """
    found = [
        Rejected(faults.reason(row), file, int(rows.line[row]), rows.content(row))
        for row in faults.rows[:most].tolist()
    ]
    found += [Rejected(one.reason, file, one.line, one.content) for one in rows.faults]
    return sorted(found, key=lambda one: one.line)


def write_rejected(
    path: Path, rejected: Sequence[Rejected], files: Sequence[str], line_end: str
) -> None:
    """Write rows set aside: reason, file, line and the row as it stands in the file.

    Parameters
    ----------
    path : Path
    rejected : sequence of Rejected
    files : sequence of str
        What each source is called.
    line_end : str
    """
    with open(path, "w", newline="", encoding="utf-8") as handle:
        writer = csv.writer(handle, lineterminator=line_end)
        writer.writerow(REJECTED_COLUMNS)
        for one in rejected:
            writer.writerow((one.reason, files[one.file], one.line, one.content))
