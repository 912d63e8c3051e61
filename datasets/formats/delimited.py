"""Delimited text, block by block, with the line number and the raw text of every row.

A block of lines without a quote is split by pyarrow, a column operation; a block in which one
occurs is read by the csv module, row by row, since a quoted field may hold delimiters and ends of
lines. A quote that is opened by mistake costs its own line only: when a row of several lines turns
out wrong, its first line is set aside and the others are read again.
"""

from __future__ import annotations

import csv
from collections import deque
from collections.abc import Iterator
from itertools import chain
from typing import BinaryIO, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from datasets.formats.rows import Fault
from operators.contract import UsageError

BLOCK_BYTES = 1 << 24
"""Some hundred thousand short rows: enough for column operations, little beside the set."""


class Block(NamedTuple):
    """Consecutive rows of a delimited file, all of the header's width."""

    line: np.ndarray
    """int64[rows]: the line a row begins on; the header is on line 1."""
    fields: pa.Array
    """string[rows * width], row after row."""
    width: int
    raw: list[str]
    """The rows as they stand in the file, without the end of the line."""
    faults: list[Fault]

    def column(self, index: int) -> pa.Array:
        """Return one column as strings."""
        return self.fields.take(pa.array(np.arange(len(self.line)) * self.width + index))


def read_header(handle: BinaryIO, label: str, delimiter: str, quoted: bool) -> list[str]:
    """Read the first line: the names of the columns, without a byte order mark and blanks."""
    line = handle.readline(BLOCK_BYTES)
    try:
        text = line.decode("utf-8-sig").strip("\r\n")
    except UnicodeDecodeError:
        raise UsageError(f"{label}: the header is not UTF-8 text: convert the file") from None
    quoting = csv.QUOTE_MINIMAL if quoted else csv.QUOTE_NONE
    names = next(csv.reader([text], delimiter=delimiter, quoting=quoting), [])
    names = [name.strip() for name in names]
    if not any(names):
        raise UsageError(f"{label}: the first line is blank: it must name the columns")
    return names


def read_blocks(handle: BinaryIO, width: int, delimiter: str, quoted: bool) -> Iterator[Block]:
    """Read the rows after the header.

    Parameters
    ----------
    handle : binary stream
        After `read_header`.
    width : int
        Number of columns; a row with another number is a fault.
    delimiter : str
        One ASCII character.
    quoted : bool
        Whether ``"`` quotes a field.
    """
    next_line = 2
    while lines := handle.readlines(BLOCK_BYTES):
        plain = pa.array(lines, pa.binary())
        has_quote = quoted and pc.any(pc.match_substring(plain, '"')).as_py()
        try:
            text = None if has_quote else plain.cast(pa.string())
        except pa.ArrowInvalid:
            text = None
        if text is not None:
            yield _split_plain(text, lines, next_line, width, delimiter)
            next_line += len(lines)
        else:
            feed = _Feed(lines, handle, next_line)
            yield _split_with_csv(feed, width, delimiter, quoted)
            next_line = feed.next_line


def _split_plain(
    text: pa.Array, lines: list[bytes], first: int, width: int, delimiter: str
) -> Block:
    text = pc.ascii_rtrim(text, "\r\n")
    blank = pc.equal(pc.binary_length(text), 0).to_numpy(zero_copy_only=False)
    widths = pc.count_substring(text, delimiter).to_numpy(zero_copy_only=False) + 1
    good = ~blank & (widths == width)
    faults = [
        Fault(first + row, wrong_width(int(widths[row]), width), text[row].as_py())
        for row in np.flatnonzero(~blank & ~good).tolist()
    ]
    kept = np.flatnonzero(good)
    if width == 1:
        fields = text.take(pa.array(kept))
    else:
        fields = pc.split_pattern(text.take(pa.array(kept)), delimiter).flatten()
    return Block(first + kept, fields, width, _Raw(lines, kept), faults)


def wrong_width(found: int, width: int) -> str:
    """Return the reason of a row with another number of fields than the header."""
    return "too few fields" if found < width else "too many fields"


class _Raw:
    """The raw rows of a plain block, decoded when asked for, which is seldom."""

    def __init__(self, lines: list[bytes], kept: np.ndarray) -> None:
        self._lines, self._kept = lines, kept

    def __getitem__(self, row: int) -> str:
        return self._lines[self._kept[row]].decode("utf-8").rstrip("\r\n")


class _Feed:
    """Hands lines to a csv reader, and takes back those of a row that turned out wrong."""

    def __init__(self, lines: list[bytes], handle: BinaryIO, first: int) -> None:
        self.waiting = deque(lines)
        self.handle = handle
        self.next_line = first
        self.taken: list[bytes] = []
        self.is_utf8 = True

    def __iter__(self) -> _Feed:
        return self

    def __next__(self) -> str:
        # Only a row that a quote keeps open asks for more lines than its block has.
        line = self.waiting.popleft() if self.waiting else self.handle.readline()
        if not line:
            raise StopIteration
        self.taken.append(line)
        self.next_line += 1
        try:
            return line.decode("utf-8")
        except UnicodeDecodeError:
            self.is_utf8 = False
            return line.decode("utf-8", "backslashreplace")

    def begin_row(self) -> None:
        """Forget the lines of the row before."""
        self.taken.clear()
        self.is_utf8 = True

    def give_back_all_but_first(self) -> None:
        """Put the lines after the first one of the current row back, to be read again."""
        back = self.taken[1:]
        self.waiting.extendleft(reversed(back))
        self.next_line -= len(back)
        del self.taken[1:]

    def raw(self) -> str:
        """Return the text of the current row, bytes that are no UTF-8 in hexadecimal."""
        return b"".join(self.taken).decode("utf-8", "backslashreplace").rstrip("\r\n")


def _split_with_csv(feed: _Feed, width: int, delimiter: str, quoted: bool) -> Block:
    quoting = csv.QUOTE_MINIMAL if quoted else csv.QUOTE_NONE
    reader = csv.reader(feed, delimiter=delimiter, quoting=quoting, strict=True)
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
            rows.append(row)
            line.append(begins)
            raw.append(feed.raw())
    fields = pa.array(chain.from_iterable(rows), pa.string(), size=len(rows) * width)
    return Block(np.array(line, dtype=np.int64), fields, width, raw, faults)
