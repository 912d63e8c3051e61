"""Files to the columns of a query's schemas: each row judged once, unusable rows set aside.

Files are read text by text, as in all replays (`experiments.replay.reading`): a whole number is one
in whatever form it is written, a double is the nearest one to its text, and a text is taken as it
is.
"""

from __future__ import annotations

import math
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pyarrow as pa

from datasets.formats import numbers, times
from datasets.formats.doubts import doubt_of_seconds, doubt_of_times
from datasets.formats.gather import read_blocks
from datasets.formats.layout import Layout
from datasets.formats.numbers import FINE, NULL, TOO_WIDE, UNPARSABLE
from datasets.formats.rejected import BEYOND_64_BITS, Faults, Rejected, rejected_rows
from datasets.formats.rows import Rows
from datasets.formats.sources import Source
from experiments.replay import stages
from experiments.replay.faults import SET_ASIDE
from experiments.replay.remarks import say
from experiments.replay.streamcloud.request import Request
from operators.contract import UsageError
from operators.streamcloud.algebra import Input
from operators.streamcloud.coding import Columns
from operators.streamcloud.schema import DOUBLE, INT64, TIME

_TIME_ROLE = "time"
# None is the time.
_DTYPES = {None: np.int64, INT64: np.int64, DOUBLE: np.float64}


class Recorded(NamedTuple):
    """The contents of a request's files.

    Attributes
    ----------
    inputs : dict of str to list of Columns
        Streams by input; columns have the names of the files.
    rejected : list of Rejected
        The rows set aside, by file, then line.
    """

    inputs: dict[str, list[Columns]]
    rejected: list[Rejected]

    @property
    def tuples(self) -> int:
        """The number of used rows."""
        return sum(
            len(next(iter(columns.values())))
            for streams in self.inputs.values()
            for columns in streams
        )


def read_inputs(request: Request) -> Recorded:
    """Read all files of a request.

    Raises
    ------
    UsageError
        When a file's content does not match its name, a column is missing, times decrease, a number
        is too large, or a row cannot be used and nothing is set aside.
    """
    recorded = Recorded({}, [])
    file = 0
    for node in request.plan.query.inputs:
        streams = recorded.inputs.setdefault(node.name, [])
        for path in request.files[node.name]:
            reader = _File(request, node, path, file)
            streams.append(reader.read())
            recorded.rejected.extend(reader.rejected)
            file += 1
    return recorded


class _File:
    """One file, a stream of an input."""

    def __init__(self, request: Request, node: Input, path: Path, file: int) -> None:
        self.request, self.node, self.path, self.file = request, node, path, file
        self.rejected: list[Rejected] = []
        # Types by column name in the file, without the time, which is read under a role that keeps
        # the type a Parquet file declares.
        self._types = {name: kind for name, kind in node.schema.columns if name != TIME}
        self._counted: str | None = None

    def read(self) -> Columns:
        pieces: dict[str, list[np.ndarray]] = {name: [] for name in (self.node.time, *self._types)}
        lines: list[np.ndarray] = []
        roles = {_role(name): name for name in self._types} | {_TIME_ROLE: self.node.time}
        for _, _, rows in read_blocks(Layout(roles), [Source(str(self.path), self.path, None)]):
            found, kept = self._judged(rows)
            lines.append(rows.line[kept])
            stages.current().read(len(rows.line))
            for name, values in found.items():
                pieces[name].append(values[kept])
        columns = {name: _joined(found, self._types.get(name)) for name, found in pieces.items()}
        self._check_order(columns[self.node.time], lines)
        self._say_of_times(columns[self.node.time])
        return columns

    def _judged(self, rows: Rows) -> tuple[dict[str, np.ndarray], np.ndarray]:
        """Return the values of a block by column, and a mask of the usable rows."""
        faults, found = Faults(len(rows.line)), {}
        found[self.node.time], state = self._times(rows.columns[_TIME_ROLE])
        faults.note(self.node.time, state, _TIME_ROLE)
        for name, kind in self._types.items():
            role = _role(name)
            found[name], state = _JUDGED.get(kind, _texts)(rows.columns[role])
            wide = np.flatnonzero((state == TOO_WIDE) & (faults.state == FINE))
            if self.request.rejected is not None:
                state = np.where(state == TOO_WIDE, BEYOND_64_BITS, state)
            elif wide.size:
                row = int(wide[0])
                given = rows.columns[role][row].as_py()
                raise UsageError(
                    f"{self.path}, line {rows.line[row]}, column {name!r}: {given!s:.60} does not"
                    " fit 64 bits; declare the column as double in the query, or leave the row out"
                )
            faults.note(name, state, role)
        aside = rejected_rows(self.file, rows, faults)
        if aside and self.request.rejected is None:
            first = aside[0]
            raise UsageError(
                f"{self.path}, line {first.line}: {first.reason}{self._expected(first)}:"
                f" {first.content[:80]!r}; {SET_ASIDE}"
            )
        self.rejected += aside
        return found, faults.usable

    def _expected(self, row: Rejected) -> str:
        """Return the expected form of a value that a row has wrong."""
        found = [name for name in (self.node.time, *self._types) if row.reason.endswith(f" {name}")]
        if not found or row.reason.startswith("null "):
            return ""
        if found[0] == self.node.time:
            unit = self.request.time_unit
            return (
                " (whole numbers, from 0 up; calendar times take --time-unit s|ms|us)"
                if unit is None
                else " (a calendar time, such as 2014-06-23T10:00:00Z)"
            )
        return f" ({self._types[found[0]]} in the query)"

    def _times(self, column: pa.Array) -> tuple[np.ndarray, np.ndarray]:
        unit = self.request.time_unit
        calendar = pa.types.is_timestamp(column.type) or pa.types.is_date(column.type)
        if unit is None and calendar:
            raise UsageError(
                f"{self.path}: column {self.node.time!r} holds {column.type}; say in which unit to"
                " count with --time-unit s|ms|us"
            )
        if self._counted is None:
            # Without a unit times are whole numbers; a block without any time does not decide.
            self._counted = "epoch" if unit is None else times.kind_of(column)
        return times.parse_times(column, self._counted or "epoch", unit)

    def _say_of_times(self, moments: np.ndarray) -> None:
        unit = self.request.time_unit
        if self._counted == "epoch":
            say(doubt_of_times([(str(self.path), [moments])], unit))
        elif self._counted == "seconds":
            say(doubt_of_seconds([str(self.path)], unit))

    def _check_order(self, moments: np.ndarray, lines: list[np.ndarray]) -> None:
        wrong = np.flatnonzero(moments[1:] < moments[:-1])
        if wrong.size:
            at = int(wrong[0]) + 1
            raise UsageError(
                f"{self.path}, line {np.concatenate(lines)[at]}, column {self.node.time!r}:"
                f" {moments[at]} comes after {moments[at - 1]}; sort the file by time"
            )


def _role(name: str) -> str:
    """Return the role under which a column is read, one without special meaning."""
    return f"column {name}"


def _joined(pieces: list[np.ndarray], kind: str | None) -> np.ndarray:
    if pieces:
        return np.concatenate(pieces)
    return np.zeros(0, dtype=_DTYPES.get(kind, object))


def _integers(column: pa.Array) -> tuple[np.ndarray, np.ndarray]:
    """Return whole numbers, and the state of each row (`datasets.formats.rejected`)."""
    parsed = numbers.parse_decimals(column.cast(pa.string()))
    values, too_wide, _ = numbers.to_fixed_point(parsed.mantissa, parsed.scale, 0)
    state = parsed.state.copy()
    state[(state == FINE) & (parsed.scale > 0)] = UNPARSABLE
    state[(state == FINE) & too_wide] = TOO_WIDE
    return values, state


def _doubles(column: pa.Array) -> tuple[np.ndarray, np.ndarray]:
    texts = column.cast(pa.string())
    parsed = numbers.parse_decimals(texts)
    state = parsed.state.copy()
    state[state == TOO_WIDE] = FINE  # too wide for 64 bits only; a double may be as large
    values = np.zeros(len(texts))
    for row in np.flatnonzero(state == FINE).tolist():
        values[row] = float(texts[row].as_py())
        if not math.isfinite(values[row]):
            values[row], state[row] = 0.0, UNPARSABLE
    return values, state


def _texts(column: pa.Array) -> tuple[np.ndarray, np.ndarray]:
    texts = column.cast(pa.string())
    missing = texts.is_null().to_numpy(zero_copy_only=False)
    return np.array(texts.to_pylist(), dtype=object), np.where(missing, NULL, FINE).astype(np.uint8)


_JUDGED = {INT64: _integers, DOUBLE: _doubles}
