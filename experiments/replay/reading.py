"""Files to streams: each row judged once, values exact, keys coded by rank.

The forms and the exact decimals are those of the importer (``datasets.formats``): a value goes from
its text to (mantissa, scale) without a float in between, and when all files are read every value
is brought to one scale. Keys are numbered by rank (integers by value, text by its UTF-8 bytes), so
that ascending codes are ascending keys.

A row that lacks or garbles something is an error that names file, row and column; or, where the
request has a file for them, such rows are set aside. A stream out of order is always an error.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np
import pyarrow as pa

from datasets.formats import numbers, times
from datasets.formats.gather import read_blocks
from datasets.formats.layout import Layout
from datasets.formats.numbers import FINE
from datasets.formats.rejected import Faults, Rejected, rejected_rows
from datasets.formats.rows import Rows
from datasets.formats.sources import Source
from experiments.replay.faults import SET_ASIDE, sentence
from experiments.replay.keys import KeyColumn
from experiments.replay.request import VALUES, Numbers, Request
from experiments.replay.values import NumberColumn, Scaled, TooLarge, whole_numbers
from operators.contract import TIMESTAMP_LIMIT, UsageError


class Stream(NamedTuple):
    """One file; int64 arrays of one length.

    Attributes
    ----------
    timestamp, key, value : int64 arrays
        `key` is a code, `value` a fixed-point number, of several the first, or the number of a
        text.
    """

    timestamp: np.ndarray
    key: np.ndarray
    value: np.ndarray


class Recording(NamedTuple):
    """Everything the inputs hold.

    Attributes
    ----------
    streams : list of Stream
    labels : pyarrow array or None
        Key code to key; None without a key column.
    decimals : int
        Of the values, of several of the first.
    whole : bool
        Whether the values are whole numbers; decimals that happen to be whole are not.
    texts : pyarrow large_string array or None
    rejected : list of Rejected
        By file, then line; `file` is the number of the stream.
    places : list of int64 array or None
        Where rows were set aside: of each used row of a stream, which row of its file it is, from
        0. None where none were.
    numbers : tuple of Scaled
        All columns of numbers.
    """

    streams: list[Stream]
    labels: pa.Array | None
    decimals: int
    whole: bool
    texts: pa.Array | None
    rejected: list[Rejected]
    places: list[np.ndarray] | None = None
    numbers: tuple[Scaled, ...] = ()

    @property
    def rows(self) -> int:
        """How many rows are used."""
        return sum(len(stream.timestamp) for stream in self.streams)

    @property
    def keys(self) -> int:
        """How many keys there are; one where nothing is grouped."""
        return 1 if self.labels is None else len(self.labels)

    @property
    def text_buffers(self) -> tuple[np.ndarray, np.ndarray] | None:
        """Offsets, int64 (texts + 1,), and UTF-8 bytes of the texts; None where there are none."""
        if self.texts is None or not len(self.texts):
            return None
        _, offsets, content = self.texts.buffers()
        begin, count = self.texts.offset, len(self.texts) + 1
        places = np.frombuffer(offsets, dtype=np.int64)[begin : begin + count].copy()
        # An array of empty texts may come without a buffer.
        held = np.zeros(0, np.uint8) if content is None else np.frombuffer(content, np.uint8)
        return places, held.copy()


def read_recording(request: Request, *kinds: Numbers) -> Recording:
    """Read all inputs of a request.

    Parameters
    ----------
    request : Request
    *kinds : Numbers
        What the columns of numbers hold; one of values unless told, where the request names it.

    Raises
    ------
    UsageError
        When a file is not what its name says, a column is missing, a stream is out of order, a row
        cannot be used and nothing is set aside, or a value does not fit 64 bits.
    """
    reader = _Reader(request, kinds or (VALUES,) * (request.value is not None))
    for file in range(len(reader.sources)):
        for _, _, rows in read_blocks(Layout(reader.names(file)), reader.sources, only={file}):
            reader.add(file, rows)
    return reader.finish()


class _File:
    """What is kept of one file so far, in pieces of a block each."""

    def __init__(self) -> None:
        self.line: list[np.ndarray] = []
        self.time: list[np.ndarray] = []
        self.key: list[np.ndarray] = []
        self.text: list[pa.Array] = []
        self.time_kind: str | None = None
        self.set_aside: list[int] = []


def _joined(pieces: list[np.ndarray], dtype: type = np.int64) -> np.ndarray:
    if len(pieces) == 1:
        return pieces[0]
    return np.concatenate(pieces) if pieces else np.zeros(0, dtype=dtype)


class _Reader:
    def __init__(self, request: Request, kinds: Sequence[Numbers]) -> None:
        self.request = request
        self.columns = {
            role: name
            for role in ("time", "key", "text")
            if (name := getattr(request, role)) is not None
        }
        self.sources = [Source(str(path), path, None) for path in request.inputs]
        self.files = [_File() for _ in self.sources]
        self.keys = KeyColumn(request.key, self.sources) if request.key is not None else None
        self.numbers = [
            NumberColumn(
                kind, f"value {place + 1}" if place else "value",
                kind.columns or [request.value] * len(self.sources), self.sources, request.decimals,
            )
            for place, kind in enumerate(kinds)
        ]  # fmt: skip
        self.rejected: list[Rejected] = []

    def names(self, file: int) -> dict[str, str]:
        """Return the name of each column in a file, by its role."""
        return self.columns | {column.role: column.names[file] for column in self.numbers}

    def add(self, file: int, rows: Rows) -> None:
        """Judge the rows of a block and keep those that can be used."""
        into = self.files[file]
        faults = Faults(len(rows.line))
        time, parsed = self._judged(into, rows, faults)
        code = None
        if self.keys is not None:
            code = self.keys.encode(rows.columns["key"])
            faults.note_null("key", code < 0)
        if "text" in self.columns:
            missing = rows.columns["text"].is_null().to_numpy(zero_copy_only=False)
            faults.note_null("text", missing)
        self._complain(file, rows, faults)
        kept = faults.usable
        into.line.append(rows.line[kept])
        into.time.append(time[kept])
        if code is not None:
            into.key.append(code[kept])
        for column, found in zip(self.numbers, parsed, strict=True):
            column.keep(file, found, kept)
        if "text" in self.columns:
            into.text.append(rows.columns["text"].cast(pa.large_string()).take(pa.array(kept)))

    def _judged(
        self, into: _File, rows: Rows, faults: Faults
    ) -> tuple[np.ndarray, list[numbers.Decimals]]:
        """Return times and numbers; `faults` gets what is wrong with them."""
        time, state = self._times(into, rows.columns["time"])
        faults.note("time", state)
        parsed = []
        for column in self.numbers:
            texts = rows.columns[column.role]
            found = column.parse(texts)
            faults.note(column.kind.called, found.state, column.role)
            wide = (found.state == numbers.TOO_WIDE) & (faults.state == FINE)
            for row in np.flatnonzero(wide)[:1]:
                line = int(rows.line[row])
                # Rows of this block that are set aside are not in `set_aside` yet.
                seen = len(into.set_aside) + int(row) + sum(one.line < line for one in rows.faults)
                file, given = self.files.index(into), texts[row].as_py()
                self._refuse_overflow(column, file, line, given, seen=seen)
            parsed.append(found)
        return time, parsed

    def _times(self, into: _File, column: pa.Array) -> tuple[np.ndarray, np.ndarray]:
        calendar = pa.types.is_timestamp(column.type) or pa.types.is_date(column.type)
        unit = self.request.time_unit
        if unit is None and calendar:
            label = self.sources[self.files.index(into)].label
            raise UsageError(
                f"{label}: column {self.request.time!r} holds {column.type}; say in which unit to"
                " count with --time-unit s|ms|us"
            )
        if into.time_kind is None:
            as_ticks = unit is None or (not calendar and times.looks_like_epoch(column))
            into.time_kind = "epoch" if as_ticks else "iso"
        if into.time_kind == "epoch" and (whole := whole_numbers(column)) is not None:
            late = (whole < 0) | (whole >= TIMESTAMP_LIMIT)
            return np.where(late, 0, whole), np.where(late, times.OUT_OF_RANGE, FINE)
        return times.parse_times(column, into.time_kind, unit)

    def _complain(self, file: int, rows: Rows, faults: Faults) -> None:
        """Set the rows that cannot be used aside, or raise the first of them."""
        aside = self.request.rejected is not None
        found = rejected_rows(file, rows, faults, most=None if aside else 1)
        if found and not aside:
            first, bad = found[0], faults.rows
            if bad.size and first.line == rows.line[bad[0]]:
                raise UsageError(self._defect(file, rows, int(bad[0]), faults))
            place = self._place(file, first.line, seen=int(np.searchsorted(rows.line, first.line)))
            raise UsageError(f"{place}: {first.reason}: {first.content[:80]!r}; {SET_ASIDE}")
        self.rejected += found
        self.files[file].set_aside += [one.line for one in found]

    def _defect(self, file: int, rows: Rows, row: int, faults: Faults) -> str:
        called, role = faults.column(row)
        given, state = rows.columns[role][row].as_py(), int(faults.state[row])
        said, remedy = sentence(called, given, state, self.request.time_unit)
        place = self._place(file, int(rows.line[row]), seen=row)
        return f"{place}, column {self.names(file)[role]!r}: {said}; {remedy}"

    def _place(self, file: int, line: int, seen: int | None = None) -> str:
        """Name a row by file and number; in text files, which may have blank lines, also line."""
        into = self.files[file]
        label = self.sources[file].label
        if label.lower().endswith(".parquet"):
            return f"{label}, row {line}"
        before = sum(len(piece) for piece in into.line) if seen is not None else None
        if before is not None:
            return f"{label}, row {before + seen + 1} (line {line})"
        kept = int(np.searchsorted(_joined(into.line), line))
        return f"{label}, row {kept + sum(one < line for one in into.set_aside) + 1} (line {line})"

    def finish(self) -> Recording:
        """Check the order of each stream and join everything."""
        self._check_order()
        scaled = tuple(column.scaled(self._refusing(column)) for column in self.numbers)
        labels, codes = None, None
        if self.keys is not None:
            labels, codes = self.keys.finish([_joined(into.key) for into in self.files])
            self._check_keys(len(labels))
        texts = None
        if "text" in self.columns:
            empty = pa.array([], pa.large_string())
            texts = pa.concat_arrays([empty, *(p for into in self.files for p in into.text)])
        streams, first = [], 0
        for number, into in enumerate(self.files):
            time = _joined(into.time)
            key = np.zeros(len(time), np.int64) if codes is None else codes[number]
            if texts is not None:
                value = np.arange(first, first + len(time))
                first += len(time)
            else:
                value = scaled[0].values[number] if scaled else np.zeros(len(time), np.int64)
            streams.append(Stream(time, key, value))
        values = scaled[0] if scaled else Scaled(0, not self.request.decimals, [])
        places = self._places() if self.rejected else None
        return Recording(
            streams, labels, values.decimals, values.whole, texts, self.rejected, places, scaled
        )

    def _places(self) -> list[np.ndarray]:
        """Return which row of its file each used row is: those set aside before it count."""
        lines = [_joined(into.line) for into in self.files]
        return [
            np.arange(len(line)) + np.searchsorted(np.sort(into.set_aside), line)
            for line, into in zip(lines, self.files, strict=True)
        ]

    def _check_keys(self, keys: int) -> None:
        most = self.request.max_keys
        if most is not None and keys > most:
            raise UsageError(
                f"the inputs have {keys} keys and --max-keys allows {most}; raise it to {keys}"
            )

    def _check_order(self) -> None:
        for stream, into in enumerate(self.files):
            time = _joined(into.time)
            wrong = np.flatnonzero(time[1:] < time[:-1])
            if wrong.size:
                at = int(wrong[0]) + 1
                place = self._place(stream, int(_joined(into.line)[at]))
                before, after = (shown_time(t, into, self.request) for t in time[[at - 1, at]])
                raise UsageError(
                    f"stream {stream} is out of order: {place}, column {self.request.time!r}:"
                    f" {after} comes after {before}; sort the file by time"
                )

    def _refusing(self, column: NumberColumn) -> Callable[[TooLarge], None]:
        """Return what refuses a number of a column that does not fit."""

        def refuse(one: TooLarge) -> None:
            line = int(_joined(self.files[one.file].line)[one.row])
            self._refuse_overflow(column, one.file, line, one.given, one.fit, one.decimals)

        return refuse

    def _refuse_overflow(
        self,
        column: NumberColumn,
        file: int,
        line: int,
        given: str,
        fit: int | None = None,
        decimals: int | None = None,
        seen: int | None = None,
    ) -> None:
        place = f"{self._place(file, line, seen)}, column {column.names[file]!r}"
        with_decimals = "" if decimals is None else f" with {decimals} decimals"
        remedy = "round the values with --decimals N, or leave the row out"
        if fit is not None:
            remedy = f"round the values with --decimals N, N at most {fit}"
        remedy = column.kind.remedy or remedy
        raise UsageError(f"{place}: {given[:60]}{with_decimals} does not fit 64 bits; {remedy}")


def shown_time(tick: np.int64, file: _File, request: Request) -> str:
    """Return a time as the file has it: a number, or a calendar time in UTC."""
    if file.time_kind == "epoch":
        return str(tick)
    unit = request.time_unit
    return f"{np.datetime64(int(tick), unit)}Z"
