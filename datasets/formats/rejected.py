"""Faults of rows, and the rows rejected for them.

A column is parsed to one state per value: ``FINE``, or a fault (`REASONS`). `Faults` keeps the
first fault of each row of a block, in the order in which the columns are parsed, and
`rejected_rows` turns them into the rows that `write_rejected` writes to ``rejected.csv``. The
importer and all replays judge rows in this way.
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

# A negative number where none is allowed.
BELOW_0 = 12
# A number that does not fit in 64 bits, if such rows are rejected.
BEYOND_64_BITS = 13
REASONS = {
    NULL: "null {}",
    UNPARSABLE: "unparsable {}",
    OUT_OF_RANGE: "{} out of range",
    TOO_FINE: "{} finer than its unit",
    BELOW_0: "{} below 0",
    BEYOND_64_BITS: "{} beyond 64 bits",
}
"""The reason for rejecting a row, by state; ``{}`` is the column's name in messages.

`numbers.TOO_WIDE` is not one of them: such a number ends an import, with a remedy in the message.
"""
REJECTED_COLUMNS = ("reason", "file", "line", "content")


class Rejected(NamedTuple):
    """A rejected row."""

    reason: str
    file: int
    """Index of the row's source."""
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
        FINE, or the fault.

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
        """Record the faults of a column, for the rows without a previous fault.

        Parameters
        ----------
        called : str
            The column's name in reasons.
        state : array (rows,)
            The state of each row's value; a state that is not in `REASONS` is no fault.
        role : str
            The role under which the column was read; `called` by default.
        """
        # Most columns have no fault, and this check is faster than a search for every reason.
        if np.any(state != FINE):
            found = np.isin(state, list(REASONS)) & (self.state == FINE)
            self.state[found] = state[found]
            self._column[found] = len(self._columns)
        self._columns.append((called, role or called))

    def note_null(self, called: str, null: np.ndarray) -> None:
        """Record the rows with a missing value in a column."""
        self.note(called, np.where(null, NULL, FINE))

    @property
    def rows(self) -> np.ndarray:
        """The rows with faults, ascending."""
        return np.flatnonzero(self.state != FINE)

    @property
    def usable(self) -> np.ndarray:
        """The rows without faults, ascending."""
        return np.flatnonzero(self.state == FINE)

    def column(self, row: int) -> tuple[str, str]:
        """Return the name of the faulty column, and the role under which it was read."""
        return self._columns[self._column[row]]

    def reason(self, row: int) -> str:
        """Return the reason for rejecting a row."""
        return REASONS[int(self.state[row])].format(self.column(row)[0])


def rejected_rows(file: int, rows: Rows, faults: Faults, most: int | None = None) -> list[Rejected]:
    """Return the unusable rows of a block, by line, including those that could not be split.

    Parameters
    ----------
    file : int
        Index of the rows' source.
    rows : Rows
    faults : Faults
    most : int, optional
        The most faulty rows to look up; all by default.
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
    """Write rejected rows: reason, file, line and the original row.

    Parameters
    ----------
    path : Path
    rejected : sequence of Rejected
    files : sequence of str
        The label of each source.
    line_end : str
    """
    # File names need not be UTF-8.
    with open(path, "w", newline="", encoding="utf-8", errors="backslashreplace") as handle:
        writer = csv.writer(handle, lineterminator=line_end)
        writer.writerow(REJECTED_COLUMNS)
        for one in rejected:
            writer.writerow((one.reason, files[one.file], one.line, one.content))
