"""Converts blocks of texts to whole columns of integers, and a list of unusable rows.

Each row is judged once, here: a row with missing or malformed content is rejected with the first
reason, the others continue as integers (times in ticks, keys as codes in order of first appearance,
values as mantissa and scale). Sorting and the search for duplicates come later.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from hashlib import blake2b
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa

from datasets.formats import numbers, times
from datasets.formats.arrays import numbers_of
from datasets.formats.layout import Layout
from datasets.formats.mapping import Mapping
from datasets.formats.rejected import Faults, Rejected, rejected_rows
from datasets.formats.rows import Form, Rows
from datasets.formats.sources import Opener, Source, plain_errors
from datasets.formats.stack_exchange import read_stack_exchange
from datasets.formats.table import read_london, read_table
from datasets.formats.wide import read_wide
from datasets.keys import code_keys
from operators.contract import UsageError

FORMS: dict[str, Form] = {
    "london-smart-meter": read_london,
    "wide-electricity": read_wide,
    "stack-exchange-comments": read_stack_exchange,
    "table": read_table,
}

NULL_LABELS = frozenset(("", "null", "NULL", "Null", "\\N"))
"""Texts that mean "none" as a key, user, id or stream. NA is not one of them: it may be a name."""

INTEGER = re.compile(r"0|-?[1-9][0-9]{0,18}")
"""An integer in canonical form; 007 is a name."""


class Columns(NamedTuple):
    """The usable rows in file order; integers of one length, text as large_string."""

    file: np.ndarray
    row: np.ndarray
    """Number of the row in the file, counted from 0 over the rows that could be split."""
    time: np.ndarray
    key: np.ndarray
    mantissa: np.ndarray | None
    scale: np.ndarray | None
    text: pa.Array | None
    user: np.ndarray | None
    """Code, -1 for a comment without user."""
    others: np.ndarray | None
    """Codes, int32[rows, columns], of the role's further required columns, in order."""
    stream: np.ndarray | None
    identity: np.ndarray | None
    """int64[rows, 1 or 2]: equal identities are duplicates; None if it is (time, key), or none."""


class Piece(NamedTuple):
    """A block of rows, judged independently."""

    columns: dict[str, Any]
    """By field of `Columns`, the usable rows; codes are local to the piece."""
    labels: dict[str, list[str]]
    """The texts of the codes, in order of first appearance."""
    rejected: list[Rejected]
    rounded: int


class Gathered(NamedTuple):
    """The content of all files of a mapping."""

    columns: Columns
    labels: dict[str, Labels]
    """Of key, user, stream and the further required columns."""
    rejected: list[Rejected]
    time_unit: str
    rounded: int


class Labels:
    """Codes of the distinct texts of a column, in order of first appearance."""

    def __init__(self) -> None:
        self.codes: dict[str, int] = {}

    def encode(self, column: pa.Array, none: frozenset[str] = NULL_LABELS) -> np.ndarray:
        """Return int32 codes; -1 for a missing label, or one of `none`."""
        if not isinstance(column, pa.DictionaryArray):
            column = column.dictionary_encode()
        codes = self.codes
        distinct = [
            -1 if label is None or label in none else codes.setdefault(label, len(codes))
            for label in column.dictionary.to_pylist()
        ]
        # A null index is filled with -1, and therefore selects the last entry.
        table = np.array([*distinct, -1], dtype=np.int32)
        indices = column.indices
        if indices.null_count:
            indices = indices.fill_null(-1)
        return table[numbers_of(indices)]

    def column(self, codes: np.ndarray) -> pa.Array:
        """Return the labels of codes, null for -1: int64 if all are integers, otherwise strings.

        Labels that occur only in rejected rows do not affect the type.
        """
        used, place = np.unique(codes, return_inverse=True)
        texts = list(self.codes)
        labels: list[str | int | None] = [texts[code] if code >= 0 else None for code in used]
        present = [label for label in labels if label is not None]
        if present and all(INTEGER.fullmatch(label) for label in present):
            integers = [None if label is None else int(label) for label in labels]
            if all(label is None or abs(label) <= numbers.LARGEST for label in integers):
                return pa.array(integers, pa.int64()).take(pa.array(place))
        return pa.array(labels, pa.string()).take(pa.array(place))

    def ranks(self, codes: np.ndarray) -> np.ndarray:
        """Return int32 ranks of the labels: integers by value, text by UTF-8 bytes."""
        return code_keys(self.column(codes))[0].astype(np.int32)


def read_blocks(
    layout: Layout, sources: list[Source], only: set[int] | None = None
) -> Iterator[tuple[int, int, Rows]]:
    """Read files of one layout.

    Parameters
    ----------
    layout : Layout
    sources : list of Source
    only : set of int, optional
        Indices of the sources to read; all, if not given.

    Yields
    ------
    file, first, rows
        Index of the source, number of the block's first row in the source, and the block.
    """
    form = FORMS[layout.format]
    with Opener() as opener:
        for file, source in enumerate(sources):
            if only is not None and file not in only:
                continue
            first = 0
            with plain_errors(source.label), opener.open(source) as handle:
                for rows in form(layout, source, handle):
                    yield file, first, rows
                    first += len(rows.line)


def check_beginnings(mapping: Mapping, sources: list[Source]) -> None:
    """Check the beginning of every file, so that a wrong one is refused before work begins.

    Raises
    ------
    UsageError
        If the first rows of a file cannot be read in the expected format.
    """
    gatherer = _Gatherer(mapping, sources)
    with Opener() as opener:
        for file, source in enumerate(sources):
            with plain_errors(source.label), opener.open(source) as handle:
                first = next(FORMS[mapping.format](mapping.layout, source, handle), None)
                if first is not None:
                    gatherer.add(file, 0, first)


def gather(mapping: Mapping, sources: list[Source]) -> Gathered:
    """Read every file of a mapping into columns.

    Raises
    ------
    UsageError
        If a file cannot be read in the expected format, a number does not fit in 64 bits, or the
        unit of integer times is missing.
    """
    gatherer = _Gatherer(mapping, sources)
    for file, first, rows in read_blocks(mapping.layout, sources):
        gatherer.add(file, first, rows)
    return gatherer.finish()


def time_kind(mapping: Mapping, sources: list[Source]) -> str | None:
    """Return the kind of the files' times, which the first label in them determines.

    Raises
    ------
    UsageError
        If they are integers without a unit, or the file cannot be read.
    """
    gatherer = _Gatherer(mapping, sources)
    if gatherer.time_kind is None:
        for file, _, rows in read_blocks(mapping.layout, sources):
            gatherer.decide_time_kind(file, rows.columns["time"])
            if gatherer.time_kind is not None:
                break
    return gatherer.time_kind


def judged(
    mapping: Mapping, sources: list[Source], kind: str | None, only: set[int]
) -> Iterator[tuple[int, Piece]]:
    """Judge the rows of some files, independently of others.

    Parameters
    ----------
    mapping : Mapping
    sources : list of Source
    kind : str or None
        As returned by `time_kind`.
    only : set of int
        Indices of the files.

    Yields
    ------
    file, piece
        Index of the source, and each of its blocks, in order.
    """
    for file, first, rows in read_blocks(mapping.layout, sources, only):
        gatherer = _Gatherer(mapping, sources, kind)
        gatherer.add(file, first, rows)
        columns = {name: kept[0] for name, kept in gatherer.pieces.items() if kept}
        labels = {role: list(each.codes) for role, each in gatherer.labels.items()}
        yield file, Piece(columns, labels, gatherer.rejected, gatherer.rounded)


def joined(mapping: Mapping, sources: list[Source], pieces: Iterable[Piece]) -> Gathered:
    """Join the pieces of all files in file order; returns the same as `gather`."""
    gatherer = _Gatherer(mapping, sources)
    for piece in pieces:
        gatherer.take(piece)
    return gatherer.finish()


class _Gatherer:
    """The columns so far, as one piece per block."""

    def __init__(self, mapping: Mapping, sources: list[Source], kind: str | None = None) -> None:
        self.mapping = mapping
        self.sources = sources
        self.time_kind = kind or mapping.time_format
        if self.time_kind is None and mapping.format != "table":
            self.time_kind = "iso"
        self.labels = {role: Labels() for role in ("key", "user", "stream", "id", *mapping.needs)}
        self.pieces: dict[str, list] = {name: [] for name in Columns._fields}
        self.rejected: list[Rejected] = []
        self.rounded = 0

    def add(self, file: int, first: int, rows: Rows) -> None:
        """Judge the rows of a block and keep the usable ones."""
        faults = Faults(len(rows.line))
        columns = self._judged_columns(file, rows, faults) if len(rows.line) else {}
        self.rejected += rejected_rows(file, rows, faults)
        if not columns:
            return
        kept = faults.usable
        columns["file"] = np.full(len(rows.line), file, dtype=np.int32)
        columns["row"] = first + np.arange(len(rows.line))
        if self.mapping.duplicates == "row":
            columns["identity"] = _row_identity(rows)
        for name, column in columns.items():
            is_arrow = isinstance(column, pa.Array)
            self.pieces[name].append(column.take(pa.array(kept)) if is_arrow else column[kept])

    def take(self, piece: Piece) -> None:
        """Add an independently judged piece, with local codes replaced by global ones."""
        codes = {}
        for role, labels in piece.labels.items():
            every = pa.array(range(len(labels)), pa.int32())
            texts = pa.DictionaryArray.from_arrays(every, pa.array(labels, pa.string()))
            # A code of -1 (none) selects the last entry.
            codes[role] = np.append(self.labels[role].encode(texts), np.int32(-1))
        columns = dict(piece.columns)
        for name in ("key", "user", "stream"):
            if name in columns:
                columns[name] = codes[name][columns[name]]
        if "others" in columns:
            each = zip(self.mapping.needs, columns["others"].T, strict=True)
            columns["others"] = np.stack([codes[name][own] for name, own in each], axis=1)
        if "identity" in columns and self.mapping.duplicates == "id":
            columns["identity"] = codes["id"][columns["identity"]].astype(np.int64)
        for name, column in columns.items():
            self.pieces[name].append(column)
        self.rejected += piece.rejected
        self.rounded += piece.rounded

    def _judged_columns(self, file: int, rows: Rows, faults: Faults) -> dict:
        """Return the columns of a block as integers, and add their faults to `faults`."""
        if self.time_kind is None:
            self.decide_time_kind(file, rows.columns["time"])
        columns = {}
        columns["time"], state = times.parse_times(
            rows.columns["time"], self.time_kind or "iso", self.mapping.time_unit
        )
        if self.time_kind != "epoch":
            a_second = times.TICKS_A_SECOND[self.mapping.time_unit or "us"]
            late = columns["time"] >= times.NEVER_S * a_second
            state[(state == numbers.FINE) & late] = times.OUT_OF_RANGE
        faults.note("time", state)
        columns["key"] = self.labels["key"].encode(rows.columns["key"])
        faults.note_null("key", columns["key"] < 0)
        if "stream" in rows.columns:
            columns["stream"] = self.labels["stream"].encode(rows.columns["stream"])
            faults.note_null("stream", columns["stream"] < 0)
        if "id" in rows.columns:
            code = self.labels["id"].encode(rows.columns["id"])
            faults.note_null("id", code < 0)
            if self.mapping.duplicates == "id":
                columns["identity"] = code.astype(np.int64)[:, None]
        if self.mapping.table.payload == "value":
            columns["mantissa"], columns["scale"] = self._judged_values(file, rows, faults)
        else:
            text = rows.columns["text"]
            faults.note_null("text", text.is_null().to_numpy(zero_copy_only=False))
            columns["text"] = text.cast(pa.large_string())
        if "user" in rows.columns:
            columns["user"] = self.labels["user"].encode(rows.columns["user"])
        if self.mapping.needs:
            columns["others"] = self._judged_others(rows, faults)
        return columns

    def _judged_others(self, rows: Rows, faults: Faults) -> np.ndarray:
        codes = []
        for name in self.mapping.needs:
            codes.append(self.labels[name].encode(rows.columns[name]))
            faults.note_null(name, codes[-1] < 0)
        return np.stack(codes, axis=1)

    def _judged_values(
        self, file: int, rows: Rows, faults: Faults
    ) -> tuple[np.ndarray, np.ndarray]:
        text = rows.columns["value"]
        parsed = numbers.parse_decimals(text, self.mapping.decimal_mark, self.mapping.decimals)
        faults.note("value", parsed.state)
        for row in np.flatnonzero(parsed.state == numbers.TOO_WIDE).tolist():
            if faults.state[row] == numbers.FINE:
                fewer = "fewer " if self.mapping.decimals is not None else ""
                raise UsageError(
                    f"{self.sources[file].label}, line {rows.line[row]}: the value "
                    f"{text[row].as_py()[:60]} does not fit 64 bits: set {fewer}decimals in the "
                    "mapping (values are then rounded), or leave the row out"
                )
        self.rounded += parsed.rounded
        return parsed.mantissa, parsed.scale

    def decide_time_kind(self, file: int, column: pa.Array) -> None:
        """Determine the kind of the times from the first block that has one."""
        kind = times.kind_of(column)
        if kind is None:
            return
        self.time_kind = kind
        if kind == "epoch" and self.mapping.time_unit is None:
            raise UsageError(
                f"{self.sources[file].label}: the times are integers: say their unit with "
                "time_unit: s | ms | us in the mapping (or time_format: iso if they are dates)"
            )

    def finish(self) -> Gathered:
        """Join the pieces; convert times kept in microseconds to their unit."""
        joined = {}
        for name, pieces in self.pieces.items():
            if not pieces:
                joined[name] = None
            elif isinstance(pieces[0], pa.Array):
                joined[name] = pa.concat_arrays(pieces)
            else:
                joined[name] = np.concatenate(pieces)
            pieces.clear()
        unit = self.mapping.time_unit
        if unit is None and joined["time"] is not None:
            unit = times.coarsest_unit(joined["time"])
            joined["time"] //= 1_000_000 // times.TICKS_A_SECOND[unit]
        self.rejected.sort(key=lambda one: (one.file, one.line))
        return Gathered(Columns(**joined), self.labels, self.rejected, unit, self.rounded)


def _row_identity(rows: Rows) -> np.ndarray:
    """Return 128 bits of each row's content as two int64: equal only for equal rows."""
    digests = b"".join(
        blake2b(rows.content(row).encode(), digest_size=16).digest()
        for row in range(len(rows.line))
    )
    return np.frombuffer(digests, dtype=np.int64).reshape(-1, 2)
