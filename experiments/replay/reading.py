"""Files to streams: each row judged once, values exact, keys coded by rank.

Forms and exact decimals are those of the importer (``datasets.formats``): a value goes from text to
(mantissa, scale) without a float in between, and once all files are read every value is brought to
one scale. Keys are numbered by rank (integers by value, text by its UTF-8 bytes), so that ascending
codes are ascending keys.

A row with a missing or malformed field is an error that names file, row and column; or, if the
request has a file for such rows, they are set aside. A stream out of order is always an error.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np
import pyarrow as pa

from datasets.formats import numbers, times
from datasets.formats.arrays import of_numbers, of_texts
from datasets.formats.doubts import doubt_of_seconds, doubt_of_times
from datasets.formats.gather import read_blocks
from datasets.formats.layout import Layout
from datasets.formats.numbers import FINE, NULL
from datasets.formats.rejected import BEYOND_64_BITS, Faults, Rejected, rejected_rows
from datasets.formats.rows import Rows
from datasets.formats.sources import Source
from experiments.replay import stages
from experiments.replay.faults import SET_ASIDE, sentence
from experiments.replay.keys import KeyColumn
from experiments.replay.remarks import say
from experiments.replay.request import VALUES, Numbers, Request
from experiments.replay.values import (
    LARGEST_UNSIGNED,
    UNSIGNED,
    NumberColumn,
    Parsed,
    Scaled,
    TooLarge,
    taken,
    whole_numbers,
)
from operators.contract import TIMESTAMP_LIMIT, UsageError


class Stream(NamedTuple):
    """One file; int64 arrays of one length.

    Attributes
    ----------
    timestamp, key, value : int64 arrays
        `key` is a code; `value` is a fixed-point number, the first if there are several, or the
        number of a text.
    """

    timestamp: np.ndarray
    key: np.ndarray
    value: np.ndarray


class Recording(NamedTuple):
    """The contents of all inputs.

    Attributes
    ----------
    streams : list of Stream
    labels : pyarrow array or None
        Key code to key; None without a key column.
    decimals : int
        Decimals of the values; of the first column if there are several.
    whole : bool
        Whether the values are whole numbers; decimals that happen to be whole are not.
    texts : pyarrow large_string array or None
    rejected : list of Rejected
        By file, then line; `file` is the number of the stream.
    places : list of int64 array or None
        If rows were set aside: for each used row of a stream, the row number in the file, from 0.
        None otherwise.
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
        """The number of used rows."""
        return sum(len(stream.timestamp) for stream in self.streams)

    @property
    def keys(self) -> int:
        """The number of keys; one if nothing is grouped."""
        return 1 if self.labels is None else len(self.labels)

    @property
    def text_buffers(self) -> tuple[np.ndarray, np.ndarray] | None:
        """Offsets, int64 (texts + 1,), and UTF-8 bytes of the texts; None if there are none."""
        if self.texts is None or not len(self.texts):
            return None
        _, offsets, content = self.texts.buffers()
        begin, count = self.texts.offset, len(self.texts) + 1
        places = np.frombuffer(offsets, dtype=np.int64)[begin : begin + count].copy()
        # An array of empty texts may have no buffer.
        held = np.zeros(0, np.uint8) if content is None else np.frombuffer(content, np.uint8)
        return places, held.copy()


def read_recording(request: Request, *kinds: Numbers) -> Recording:
    """Read all inputs of a request.

    Parameters
    ----------
    request : Request
    *kinds : Numbers
        The kinds of the columns of numbers; by default one of values, if the request names it.

    Raises
    ------
    UsageError
        When a file's content does not match its name, a column is missing, a stream is out of
        order, a row cannot be used and nothing is set aside, or a value does not fit 64 bits.
    """
    clock = stages.current()
    clock.enter(stages.READ)
    reader = _Reader(request, kinds or (VALUES,) * (request.value is not None))
    for file in range(len(reader.sources)):
        layout = Layout(reader.names(file), integers=True)
        for _, _, rows in read_blocks(layout, reader.sources, only={file}):
            reader.add(file, rows)
            clock.read(len(rows.line))
    clock.enter(stages.ORDER)
    return reader.finish()


class _File:
    """The rows of one file kept so far, in pieces of a block each."""

    def __init__(self) -> None:
        self.line: list[np.ndarray | range] = []
        self.time: list[np.ndarray] = []
        self.key: list[np.ndarray] = []
        self.text: list[pa.Array] = []
        self.time_kind: str | None = None
        self.set_aside: list[int] = []

    @property
    def lines(self) -> np.ndarray:
        """The line of the file on which each row begins."""
        return _joined(
            [np.arange(e.start, e.stop) if isinstance(e, range) else e for e in self.line]
        )


def _ends(line: np.ndarray) -> np.ndarray | range:
    """Return ascending lines; consecutive ones, as in most blocks, as a range."""
    if len(line) and int(line[-1]) - int(line[0]) == len(line) - 1:
        return range(int(line[0]), int(line[-1]) + 1)
    return line


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
                request.rejected is not None,
            )
            for place, kind in enumerate(kinds)
        ]  # fmt: skip
        self.rejected: list[Rejected] = []

    def names(self, file: int) -> dict[str, str]:
        """Return the name of each column in a file, by role."""
        return self.columns | {column.role: column.names[file] for column in self.numbers}

    def add(self, file: int, rows: Rows) -> None:
        """Judge the rows of a block and keep those that can be used."""
        into = self.files[file]
        faults = Faults(len(rows.line))
        time, parsed = self._judged(into, rows, faults)
        code = None
        if self.keys is not None:
            code = self.keys.encode(rows.columns["key"], file)
            faults.note_null("key", code < 0)
        if "text" in self.columns:
            missing = rows.columns["text"].is_null().to_numpy(zero_copy_only=False)
            faults.note_null("text", missing)
        self._complain(file, rows, faults)
        kept = faults.usable
        into.line.append(_ends(taken(rows.line, kept)))
        into.time.append(taken(time, kept))
        if code is not None:
            into.key.append(taken(code, kept))
        for column, found in zip(self.numbers, parsed, strict=True):
            column.keep(file, found, kept, rows.columns[column.role])
        if "text" in self.columns:
            into.text.append(rows.columns["text"].cast(pa.large_string()).take(of_numbers(kept)))

    def _judged(self, into: _File, rows: Rows, faults: Faults) -> tuple[np.ndarray, list[Parsed]]:
        """Return times and numbers; note their faults in `faults`."""
        time, state = self._times(into, rows.columns["time"])
        faults.note("time", state)
        parsed = []
        for column in self.numbers:
            texts = rows.columns[column.role]
            found = column.parse(texts)
            faults.note(column.kind.called, found.state, column.role)
            wide = (found.state == numbers.TOO_WIDE) & (faults.state == FINE)
            if self.request.rejected is not None:
                beyond = np.where(wide, BEYOND_64_BITS, FINE)
                faults.note(column.kind.called, beyond, column.role)
                wide[:] = False
            for row in np.flatnonzero(wide)[:1]:
                line = int(rows.line[row])
                # Rows of this block that are set aside are not in `set_aside` yet.
                seen = len(into.set_aside) + int(row) + sum(one.line < line for one in rows.faults)
                file, given = self.files.index(into), str(texts[row])
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
            # A block without any time does not decide.
            into.time_kind = "epoch" if unit is None else times.kind_of(column)
        if into.time_kind == "epoch" and (whole := whole_numbers(column)) is not None:
            late = (whole < 0) | (whole >= TIMESTAMP_LIMIT)
            if not late.any():
                return whole, np.full(len(whole), FINE, dtype=np.uint8)
            return np.where(late, 0, whole), np.where(late, times.OUT_OF_RANGE, FINE)
        return times.parse_times(column, into.time_kind or "epoch", unit)

    def _complain(self, file: int, rows: Rows, faults: Faults) -> None:
        """Set unusable rows aside, or raise an error for the first of them."""
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
        if role != "key" and state == NULL and not str(given).strip():
            # Where a number or a time is expected, an empty field is null.
            given = None
        said, remedy = sentence(called, given, state, self.request.time_unit)
        place = self._place(file, int(rows.line[row]), seen=row)
        return f"{place}, column {self.names(file)[role]!r}: {said}; {remedy}"

    def _place(self, file: int, line: int, seen: int | None = None) -> str:
        """Name a row by file and number; in text files, where lines may be blank, also by line."""
        into = self.files[file]
        label = self.sources[file].label
        if label.lower().endswith(".parquet"):
            return f"{label}, row {line}"
        before = sum(len(piece) for piece in into.line) if seen is not None else None
        if before is not None:
            return f"{label}, row {before + seen + 1} (line {line})"
        kept = int(np.searchsorted(into.lines, line))
        return f"{label}, row {kept + sum(one < line for one in into.set_aside) + 1} (line {line})"

    def finish(self) -> Recording:
        """Check the order of each stream and join everything."""
        self._check_order()
        self._say_of_times()
        scaled = tuple(column.scaled(self._refusing(column)) for column in self.numbers)
        labels, codes = None, None
        if self.keys is not None:
            labels, codes = self.keys.finish([into.key for into in self.files])
            self._check_keys(len(labels))
        texts = None
        if "text" in self.columns:
            empty = of_texts([]).cast(pa.large_string())
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
        """Return the row number in the file of each used row, counting rows set aside."""
        lines = [into.lines for into in self.files]
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
            into.time = [time]
            wrong = np.flatnonzero(time[1:] < time[:-1])
            if wrong.size:
                at = int(wrong[0]) + 1
                place = self._place(stream, int(into.lines[at]))
                before, after = (shown_time(t, into, self.request) for t in time[[at - 1, at]])
                raise UsageError(
                    f"stream {stream} is out of order: {place}, column {self.request.time!r}:"
                    f" {after} comes after {before}; sort the file by time"
                )

    def _say_of_times(self) -> None:
        files = list(zip(self.sources, self.files, strict=True))
        counted = [(one.label, into.time) for one, into in files if into.time_kind == "epoch"]
        seconds = [one.label for one, into in files if into.time_kind == "seconds"]
        say(doubt_of_times(counted, self.request.time_unit))
        say(doubt_of_seconds(seconds, self.request.time_unit))

    def _refusing(self, column: NumberColumn) -> Callable[[TooLarge], None]:
        """Return a function that refuses a number of a column that does not fit."""

        def refuse(one: TooLarge) -> None:
            line = int(self.files[one.file].lines[one.row])
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
        said = f"{place}: {given[:60]} with {decimals} decimals does not fit 64 bits"
        if decimals is None:
            limits = f"{numbers.SMALLEST} to {numbers.LARGEST}"
            said = f"{place}: {given[:60]} does not fit 64 bits with a sign ({limits})"
            if UNSIGNED.fullmatch(given) and int(given) <= LARGEST_UNSIGNED:
                said += "; without one it does, and so would have to all others"
        # Fewer decimals help only if there are some, and the digits in front of them fit.
        whole = given.lstrip("+-0").partition(".")[0]
        rounds = fit is not None or (
            decimals is None
            and given.isascii()
            and "." in given
            and len(whole) < numbers.MOST_DIGITS
        )
        most = "" if fit is None else f", N at most {fit}"
        remedy = f"round the values with --decimals N{most}, or " if rounds else ""
        raise UsageError(f"{said}; {remedy}leave the row out")


def shown_time(tick: np.int64, file: _File, request: Request) -> str:
    """Return a time as in the file: a number, or a calendar time in UTC."""
    if file.time_kind == "epoch":
        return str(tick)
    unit = request.time_unit
    return f"{np.datetime64(int(tick), unit)}Z"
