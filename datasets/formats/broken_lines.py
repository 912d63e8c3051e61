"""Delimited text row by row, for blocks that `delimited` does not parse as whole columns.

The csv module splits a row. A quote opened by mistake costs only its line: when a row of several
lines is malformed, the first line is rejected and the others are read again.
"""

from __future__ import annotations

import csv
import io
import sys
from collections import deque
from collections.abc import Callable

import numpy as np
import pyarrow as pa

from datasets.formats.rows import Fault

# The csv module treats every CR as the end of a line. UTF-8 text contains no lone surrogates, so
# this one stands for a CR within a field.
CR = "\udc0d"


class Feed:
    """Feeds lines to a csv reader, and takes back those of a malformed row.

    Parameters
    ----------
    piece : bytes
        Whole lines, which end in LF.
    more : callable
        Returns the next line after them, or nothing at the end of the file.
    first : int
        The number of the first line.
    """

    def __init__(self, piece: bytes, more: Callable[[], bytes], first: int) -> None:
        self.waiting = deque(io.BytesIO(piece).readlines())
        self.more = more
        self.next_line = first
        self.taken: list[bytes] = []
        self.is_utf8 = True

    def __iter__(self) -> Feed:
        """Return itself."""
        return self

    def __next__(self) -> str:
        """Return the next line, with ``CR`` for a CR within it."""
        # Only a row that an open quote continues needs more lines than the block has.
        line = self.waiting.popleft() if self.waiting else self.more()
        if not line:
            raise StopIteration
        self.taken.append(line)
        self.next_line += 1
        try:
            text = line.decode("utf-8")
        except UnicodeDecodeError:
            self.is_utf8 = False
            text = line.decode("utf-8", "backslashreplace")
        end = next((end for end in ("\r\n", "\n") if text.endswith(end)), "")
        return text.removesuffix(end).replace("\r", CR) + end

    def begin_row(self) -> None:
        """Forget the lines of the previous row."""
        self.taken.clear()
        self.is_utf8 = True

    def give_back_all_but_first(self) -> None:
        """Put all lines but the first of the current row back, to be read again."""
        back = self.taken[1:]
        self.waiting.extendleft(reversed(back))
        self.next_line -= len(back)
        del self.taken[1:]

    def raw(self) -> str:
        """Return the text of the current row, with bytes that are not UTF-8 in hexadecimal."""
        return b"".join(self.taken).decode("utf-8", "backslashreplace").rstrip("\r\n")


def row_reader(feed: Feed, delimiter: str, quoted: bool):
    """Return a csv reader of a feed, which raises ``csv.Error`` at unbalanced quotes."""
    # The limit is global to the process, and fields may have any length.
    csv.field_size_limit(sys.maxsize)
    quoting = csv.QUOTE_MINIMAL if quoted else csv.QUOTE_NONE
    return csv.reader(feed, delimiter=delimiter, quoting=quoting, strict=True)


def wrong_width(found: int, width: int) -> str:
    """Return the reason for rejecting a row with another number of fields than the header."""
    return "too few fields" if found < width else "too many fields"


def split_rows(
    feed: Feed, width: int, delimiter: str, quoted: bool
) -> tuple[np.ndarray, list[pa.Array], list[str], list[Fault]]:
    """Read the lines of a feed.

    Returns
    -------
    line : int64 array (rows,)
        The line on which each row begins.
    columns : list of pyarrow string array
    raw : list of str
    faults : list of Fault
    """
    reader = row_reader(feed, delimiter, quoted)
    rows, line, raw, faults = [], [], [], []
    while feed.waiting:
        feed.begin_row()
        begins = feed.next_line
        reason = None
        row: list[str] = []
        try:
            row = next(reader)
            if not feed.is_utf8:
                reason = "not UTF-8"
            elif row and len(row) != width:
                reason = wrong_width(len(row), width)
        except csv.Error:
            reason = "broken quotes"
        if reason is not None:
            feed.give_back_all_but_first()
            faults.append(Fault(begins, reason, feed.raw()))
        elif row:
            rows.append(_with_returns(row, feed.taken))
            line.append(begins)
            raw.append(feed.raw())
    columns = [pa.array([row[at] for row in rows], pa.string()) for at in range(width)]
    return np.array(line, dtype=np.int64), columns, raw, faults


def _with_returns(row: list[str], lines: list[bytes]) -> list[str]:
    """Return the fields of a row with the original CRs."""
    if not any(b"\r" in line for line in lines):
        return row
    if not lines[-1].rstrip(b"\r\n").endswith(b'"'):
        # CRs before the end of a line are part of that end.
        row[-1] = row[-1].rstrip(CR)
    return [field.replace(CR, "\r") for field in row]
