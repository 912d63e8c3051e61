"""Delimited text, block by block, with the line number and the raw text of every row.

`docs/files.md` has the rules. A block is some megabytes of whole lines, which pyarrow parses into
columns, except where pyarrow might deviate from the rules:

* every quote must open a field at the beginning or close one at the end, otherwise the block goes
  to `broken_lines`, row by row;
* a CR without LF is part of a field, but pyarrow would end a line there: such a block goes to
  `broken_lines`, too;
* a line with another number of fields than the header is removed before, and is a fault;
* a block that is not UTF-8 goes to `broken_lines`, which finds the invalid lines.
"""

from __future__ import annotations

import csv
import re
from collections.abc import Callable, Iterator, Sequence
from typing import BinaryIO, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.csv as pcsv

from datasets.formats.broken_lines import CR, Feed, row_reader, split_rows, wrong_width
from datasets.formats.rows import Fault
from operators.contract import UsageError

BLOCK_BYTES = 1 << 22
"""Tens of thousands of rows: enough for column operations, in memory that is reused."""
HEADER_BYTES = 1 << 20
"""A header is shorter: an unclosed quote is not searched for in the whole file."""

BOM = b"\xef\xbb\xbf"
LF, CR_BYTE, QUOTE = 10, 13, 34
PARSED_BYTES = 1 << 20
"""The part of a block that one core parses."""
_NONE = np.zeros(0, dtype=np.int64)
# A file whose lines end in CR is read with CR and LF exchanged; the texts are exchanged back.
_EXCHANGED = bytes.maketrans(b"\r\n", b"\n\r")
_EXCHANGED_TEXT = str.maketrans("\r\n", "\n\r")


class Block(NamedTuple):
    """Consecutive rows of a delimited file, all of the header's width."""

    line: np.ndarray
    """int64[rows]: the line a row begins on; the header begins on line 1."""
    columns: dict[int, pa.Array]
    """string[rows] by position in the header, of the requested columns."""
    raw: Callable[[int], str]
    """The original text of the row at an index, without the end of the line."""
    faults: list[Fault]


def read_header(handle: BinaryIO, label: str, delimiter: str, quoted: bool) -> list[str]:
    """Return the names of the columns; see `Delimited`."""
    return Delimited(handle, label, delimiter, quoted).header


class Delimited:
    """A delimited file, positioned after the header.

    Parameters
    ----------
    handle : binary stream
        The file, at the beginning.
    label : str
        For messages.
    delimiter : str
        One ASCII character.
    quoted : bool
        Whether ``"`` quotes a field.

    Attributes
    ----------
    header : list of str
        The names of the columns, without a byte order mark and blanks.

    Raises
    ------
    UsageError
        When the header is not UTF-8, or blank.
    """

    def __init__(self, handle: BinaryIO, label: str, delimiter: str, quoted: bool) -> None:
        self._input = _Input(handle, delimiter, quoted)
        self._delimiter, self._quoted = delimiter, quoted
        feed = Feed(b"", self._header_lines(), 1)
        try:
            names = next(row_reader(feed, delimiter, quoted), [])
        except csv.Error:
            # Unbalanced quotes: take the first line, whatever the quotes mean.
            self._input.give_back(b"".join(feed.taken[1:]))
            feed.give_back_all_but_first()
            feed.is_utf8 = _is_utf8(feed.taken[0])
            first = feed.raw().replace("\r", CR)
            quoting = csv.QUOTE_MINIMAL if quoted else csv.QUOTE_NONE
            names = next(csv.reader([first], delimiter=delimiter, quoting=quoting), [])
        if not feed.is_utf8:
            raise UsageError(f"{label}: the header is not UTF-8 text: convert the file")
        names = [self._field(name.replace(CR, "\r")) for name in names]
        self.header = [name.strip() for name in names]
        if not any(self.header):
            raise UsageError(f"{label}: the first line is blank: it must name the columns")
        self._next_line = feed.next_line

    def _header_lines(self) -> Callable[[], bytes]:
        taken = 0

        def line() -> bytes:
            nonlocal taken
            if taken > HEADER_BYTES:
                return b""
            found = self._input.line()
            # A quote after the byte order mark opens the first name.
            found = found if taken else found.removeprefix(BOM)
            taken += len(found)
            return found

        return line

    def blocks(self, wanted: Sequence[int] | None = None) -> Iterator[Block]:
        """Read the rows after the header.

        Parameters
        ----------
        wanted : sequence of int, optional
            The positions of the needed columns; all by default.

        Yields
        ------
        Block
            A row with another number of fields than the header is a fault.
        """
        width = len(self.header)
        wanted = range(width) if wanted is None else sorted(set(wanted))
        while piece := self._input.piece():
            columns = self._columns_at_once(piece, width, wanted)
            if columns is not None:
                yield columns
                continue
            feed = Feed(piece, self._input.line, self._next_line)
            line, fields, raw, faults = split_rows(feed, width, self._delimiter, self._quoted)
            self._next_line = feed.next_line
            kept = {place: self._exchanged(fields[place]) for place in wanted}
            faults = [one._replace(content=self._field(one.content)) for one in faults]
            yield Block(line, kept, lambda row, raw=raw: self._field(raw[row]), faults)

    def _columns_at_once(self, piece: bytes, width: int, wanted: Sequence[int]) -> Block | None:
        """Return the rows of a piece, or None where the rules need `broken_lines`.

        The incomplete row at the end of the piece goes back to the input.
        """
        rows = _rows_of(piece, self._delimiter, self._quoted)
        if rows is None:
            return None
        whole = piece[: rows.start[-1]]
        has_quote = self._quoted and b'"' in whole
        table = _parsed(whole, width, wanted, self._delimiter, has_quote)
        good, faults = None, []
        if table is None or table.num_rows != len(rows.line):
            good, faults = rows.judged(width, self._next_line)
            table = _parsed(rows.only(good), width, wanted, self._delimiter, has_quote)
            if table is None or table.num_rows != np.count_nonzero(good):
                return None
        self._input.give_back(piece[len(whole) :])
        kept = np.arange(len(rows.line)) if good is None else np.flatnonzero(good)
        line = self._next_line + rows.line[kept]
        self._next_line += rows.lines
        columns = {
            place: self._exchanged(_one_array(table.column(at))) for at, place in enumerate(wanted)
        }
        faults = [one._replace(content=self._field(one.content)) for one in faults]
        return Block(line, columns, lambda row: self._field(rows.text(kept[row])), faults)

    def _field(self, text: str) -> str:
        """Return a text as it is in the file."""
        return text.translate(_EXCHANGED_TEXT) if self._input.exchanged else text

    def _exchanged(self, column: pa.Array) -> pa.Array:
        """Return a column as it is in the file."""
        if not self._input.exchanged:
            return column
        texts = column.to_pylist()
        if not any("\n" in text or "\r" in text for text in texts):
            return column
        return pa.array([self._field(text) for text in texts], pa.string())


class _Input:
    """The bytes of a file by lines that end in LF; in CR files, CR and LF are exchanged."""

    def __init__(self, handle: BinaryIO, delimiter: str, quoted: bool) -> None:
        self._handle = handle
        self.exchanged = False
        self._data, self._at = self._more(), 0
        while (in_cr := _ends_in_cr(self._data, delimiter, quoted)) is None:
            more = self._more() if len(self._data) < HEADER_BYTES else b""
            if not more:
                # A CR at the end of the file has no LF.
                in_cr = _ends_in_cr(self._data + b" ", delimiter, quoted)
                break
            self._data += more
        if in_cr:
            self.exchanged = True
            self._data = self._data.translate(_EXCHANGED)

    def _more(self) -> bytes:
        data = self._handle.read(BLOCK_BYTES)
        return data.translate(_EXCHANGED) if self.exchanged else data

    def _end_of(self, find: Callable[[], int]) -> int:
        """Return the end of the lines that `find` searches for, reading more data as needed."""
        while (end := find() + 1) == 0:
            more = self._more()
            if not more:
                return len(self._data)
            self._data, self._at = self._data[self._at :] + more, 0
        return end

    def line(self) -> bytes:
        """Return the next line with its end; empty at the end of the file."""
        return self._taken(self._end_of(lambda: self._data.find(b"\n", self._at)))

    def piece(self) -> bytes:
        """Return some megabytes of whole lines; the last line of a file may have no end."""
        if len(self._data) - self._at < BLOCK_BYTES:
            self._data, self._at = self._data[self._at :] + self._more(), 0
        return self._taken(self._end_of(lambda: self._data.rfind(b"\n", self._at)))

    def _taken(self, end: int) -> bytes:
        found, self._at = self._data[self._at : end], end
        return found

    def give_back(self, data: bytes) -> None:
        """Put back the bytes taken last."""
        if data:
            self._data, self._at = data + self._data[self._at :], 0


def _ends_in_cr(data: bytes, delimiter: str, quoted: bool) -> bool | None:
    """Return whether the first line ends in a CR without LF; None if no end is known yet."""
    begins = (b"", delimiter.encode(), b"\n", b"\r")
    data = data.removeprefix(BOM)
    inside, closed = False, -1
    for found in re.finditer(rb'"|\r+\n?|\n', data[:HEADER_BYTES]):
        at = found.start()
        if found[0] != b'"':
            if not inside:
                in_cr = not found[0].endswith(b"\n")
                return None if in_cr and found.end() == len(data) else in_cr
        elif inside:
            inside, closed = False, at
        elif quoted:
            inside = data[max(at - 1, 0) : at] in begins or at == closed + 1
    return None


class _Rows:
    """The positions of the rows in a piece.

    Parameters
    ----------
    piece : bytes
        Lines that end in LF or CR LF; the last line of a file may have no end.
    delimiter : str
    quotes : int64 array
        Positions of all quotes; empty where quotes have no meaning.

    Attributes
    ----------
    start : int64 array (rows + 1,)
        Beginnings of the rows, and the end of the last one: after it the piece may have a partial
        row.
    line : int64 array (rows,)
        The line of the piece on which each row begins, from 0.
    lines : int
        The number of lines of all rows.
    """

    def __init__(self, piece: bytes, delimiter: str, quotes: np.ndarray) -> None:
        self._piece, self._delimiter, self._quotes = piece, ord(delimiter), quotes
        self._bytes = np.frombuffer(piece, np.uint8)
        ends = np.flatnonzero(self._bytes == LF) + 1
        if not piece.endswith(b"\n"):
            ends = np.append(ends, len(piece))
        # An end of a line within quotes is part of a field.
        row_ends = ends[np.searchsorted(quotes, ends) % 2 == 0] if len(quotes) else ends
        self.start = np.append(0, row_ends)
        if len(row_ends) == len(ends):
            self.line, self.lines = np.arange(len(ends)), len(ends)
        else:
            before = np.searchsorted(ends, self.start, side="right")
            self.line, self.lines = before[:-1], int(before[-1])

    @property
    def quotes_are_plain(self) -> bool:
        """Whether each quote opens or closes a field, or is half of a doubled quote in a field."""
        places = self._quotes[: np.searchsorted(self._quotes, self.start[-1])]
        if not len(places):
            return True
        opens, closes = places[0::2], places[1::2]
        twice = np.zeros(len(opens) + 1, dtype=bool)
        twice[1:-1] = opens[1:] == closes[:-1] + 1
        last = len(self._bytes) - 1
        before = np.where(opens > 0, self._bytes[opens - 1], LF)
        behind = np.where(closes < last, self._bytes[np.minimum(closes + 1, last)], LF)
        begins = (before == self._delimiter) | (before == LF) | twice[:-1]
        # Every CR here precedes an LF.
        ends = (behind == self._delimiter) | (behind == LF) | (behind == CR_BYTE) | twice[1:]
        return bool(begins.all() and ends.all())

    def judged(self, width: int, first: int) -> tuple[np.ndarray, list[Fault]]:
        """Return which rows have the given width, and faults of the others; skip blank rows.

        Parameters
        ----------
        width : int
        first : int
            The number of the piece's first line.
        """
        places = np.flatnonzero(self._bytes == self._delimiter)
        places = places[np.searchsorted(self._quotes, places) % 2 == 0]
        found = np.diff(np.searchsorted(places, self.start)) + 1
        beginning = self._bytes[self.start[:-1]]
        blank = (beginning == LF) | (beginning == CR_BYTE)
        good = (found == width) & ~blank
        faults = [
            Fault(first + int(self.line[row]), wrong_width(int(found[row]), width), self.text(row))
            for row in np.flatnonzero(~good & ~blank).tolist()
        ]
        return good, faults

    def only(self, good: np.ndarray) -> bytes:
        """Return the good rows, concatenated."""
        return self._bytes[: self.start[-1]][np.repeat(good, np.diff(self.start))].tobytes()

    def text(self, row: int) -> str:
        """Return a row without the end of the line."""
        return self._piece[self.start[row] : self.start[row + 1]].decode("utf-8").rstrip("\r\n")


def _rows_of(piece: bytes, delimiter: str, quoted: bool) -> _Rows | None:
    """Return the positions of a piece's rows, or None where `broken_lines` has to split it."""
    has_cr = b"\r" in piece
    if piece.startswith(BOM) or (has_cr and piece.count(b"\r") != piece.count(b"\r\n")):
        return None
    has_quote = quoted and b'"' in piece
    quotes = np.flatnonzero(np.frombuffer(piece, np.uint8) == QUOTE) if has_quote else _NONE
    rows = _Rows(piece, delimiter, quotes)
    if len(rows.start) == 1 or not rows.quotes_are_plain or not _is_utf8(piece):
        return None
    return rows


def _is_utf8(piece: bytes) -> bool:
    """Return whether a piece is UTF-8 text, without copying it."""
    offsets = pa.py_buffer(np.array([0, len(piece)]))
    text = pa.LargeStringArray.from_buffers(1, offsets, pa.py_buffer(piece))
    try:
        text.validate(full=True)
    except pa.ArrowInvalid:
        return False
    return True


def _parsed(
    piece: bytes | pa.Buffer, width: int, wanted: Sequence[int], delimiter: str, has_quote: bool
) -> pa.Table | None:
    """Return the columns that pyarrow parses; None if it fails."""
    names = [str(place) for place in range(width)]
    chosen = [names[place] for place in wanted]
    try:
        return pcsv.read_csv(
            pa.BufferReader(piece),
            pcsv.ReadOptions(column_names=names, block_size=PARSED_BYTES),
            pcsv.ParseOptions(
                delimiter=delimiter,
                quote_char='"' if has_quote else False,
                newlines_in_values=has_quote,
            ),
            pcsv.ConvertOptions(
                check_utf8=False,
                column_types=dict.fromkeys(chosen, pa.string()),
                include_columns=chosen or names[:1],
                strings_can_be_null=False,
            ),
        )
    except pa.ArrowInvalid:
        return None


def _one_array(column: pa.ChunkedArray) -> pa.Array:
    found = column.combine_chunks()
    return found if isinstance(found, pa.Array) else pa.concat_arrays(found.chunks)
