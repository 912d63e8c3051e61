"""The rows of a query's input that can be used, each judged once; the others are set aside.

A file is read text by text, as other replays read theirs (`experiments.replay.reading`), and what
is left of it are columns of integers.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from datasets.formats import numbers, times
from datasets.formats.delimited import read_header
from datasets.formats.gather import NULL_LABELS, read_blocks
from datasets.formats.layout import Layout
from datasets.formats.rejected import BELOW_0, Faults, Rejected, rejected_rows
from datasets.formats.sources import Opener, Source
from experiments.replay.faults import SET_ASIDE
from experiments.replay.pipeline.request import Request
from operators.contract import UsageError

# What a column holds: a time; a number from 0 up, which may be missing or not; money; a label; or
# whatever it is.
TIME, WHOLE, OPTIONAL, MONEY, LABEL, ANYTHING = range(6)
DECIMALS_OF_MONEY = 2
_NULL_LABELS = pa.array([*sorted(NULL_LABELS), None], pa.string())


def columns_of(path: Path) -> list[str]:
    """Return the names of a file's columns; raises UsageError where it cannot be read."""
    source = Source(str(path), path, None)
    with Opener() as opener, opener.open(source) as handle:
        if path.name.lower().endswith(".parquet"):
            return pq.read_schema(path).names
        return read_header(handle, source.label, ",", True)


def read_usable(request: Request, holding: Mapping[str, int]) -> tuple[pa.Table, list[Rejected]]:
    """Read some columns of a request's input.

    Parameters
    ----------
    request : Request
    holding : mapping
        By name of a column, what it holds. Times come out in s, whatever they are counted in, and
        money in hundredths.

    Returns
    -------
    table : pyarrow table
        The rows that can be used. Times, numbers and money are int64, the rest is text.
    rejected : list of Rejected
        The others, by line; none unless the request sets them aside.

    Raises
    ------
    UsageError
        When a column is missing, or a row cannot be used and nothing is set aside.
    """
    # A time keeps the type that a Parquet file gives it by the role it is read under.
    names = {"time" if kind == TIME else name: name for name, kind in holding.items()}
    source = Source(str(request.input), request.input, None)
    rejected: list[Rejected] = []
    pieces: list[dict[str, pa.Array]] = []
    counted: str | None = None
    for _, _, rows in read_blocks(Layout(names), [source]):
        if counted is None and "time" in names:
            whole = times.looks_like_epoch(rows.columns["time"])
            # A block without any time says nothing.
            counted = None if whole is None else "epoch" if whole else "iso"
        faults, found = Faults(len(rows.line)), {}
        for role, name in names.items():
            kind = holding[name]
            found[name], state = _judged(rows.columns[role], kind, counted, request)
            faults.note("time" if kind == TIME else name, state)
        aside = rejected_rows(0, rows, faults)
        if aside and request.rejected is None:
            first = aside[0]
            raise UsageError(
                f"{request.input}, line {first.line}: {first.reason}: {first.content[:80]!r};"
                f" {SET_ASIDE}"
            )
        rejected += aside
        kept = pa.array(faults.usable)
        pieces.append({name: values.take(kept) for name, values in found.items()})
    joined = {
        name: pa.chunked_array([piece[name] for piece in pieces], _type_of(kind))
        for name, kind in holding.items()
    }
    return pa.table(joined), rejected


def _type_of(kind: int) -> pa.DataType:
    return pa.string() if kind in (LABEL, ANYTHING) else pa.int64()


def _judged(
    column: pa.Array, kind: int, counted: str | None, request: Request
) -> tuple[pa.Array, np.ndarray]:
    """Return the values of a column, and of each row the state (`datasets.formats.rejected`)."""
    if kind == TIME:
        return _times(column, counted, request)
    text = column.cast(pa.string())
    if kind == LABEL:
        none = pc.is_in(text, value_set=_NULL_LABELS)
    else:
        none = numbers.is_null_text(text)
    missing = pc.fill_null(none, True).to_numpy(zero_copy_only=False)
    state = np.full(len(column), numbers.FINE, dtype=np.uint8)
    if kind in (WHOLE, MONEY, LABEL):
        state[missing] = numbers.NULL
    if kind in (LABEL, ANYTHING):
        return text, state
    parsed = numbers.parse_decimals(text)
    decimals = DECIMALS_OF_MONEY if kind == MONEY else 0
    values, overflow, _ = numbers.to_fixed_point(parsed.mantissa, parsed.scale, decimals)
    # What is left of a number behind its last decimal: nothing, of one that may be used.
    finer = np.maximum(parsed.scale - decimals, 0).astype(np.int64)
    exact = (finer == 0) | (parsed.mantissa % 10 ** np.minimum(finer, 18) == 0)
    fine = (parsed.state == numbers.FINE) & ~overflow & exact
    state[~fine & ~missing] = numbers.UNPARSABLE
    if kind != MONEY:
        state[fine & (values < 0)] = BELOW_0
    return pa.array(values, pa.int64(), mask=missing), state


def _times(column: pa.Array, counted: str | None, request: Request) -> tuple[pa.Array, np.ndarray]:
    """Return times in whole seconds, and their states."""
    unit = request.time_unit
    ticks, state = times.parse_times(column, counted or "epoch", unit)
    if counted == "iso":
        unit = unit or "us"
    return pa.array(ticks // times.TICKS_A_SECOND[unit or "s"]), state
