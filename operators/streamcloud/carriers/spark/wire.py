"""Rows as Spark carries them: one record each, with a body that is opaque to Spark.

::

    slot | place dest side sender seq | begin progress | body
         |  receiver, row's identity  |    promises    | rows.pack

``begin`` is the sender's promise before the row: no tuple of the row, or of a later row of that
sender, is before it. So rows in the order of ``begin`` let no sender lag behind. Fields of the body
that Spark sorts or splits by are columns, too.

Records are converted to and from Arrow's format with a single copy, the one that concatenates the
bodies.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import pairwise
from typing import NamedTuple

import numpy as np
import pyarrow as pa

from operators.streamcloud.rows import MOST_BODY, Row, pieces, unpack

# Spark sorts by these in the bounded form.
ORDER = ("begin", "place", "side", "sender", "seq")
_INTS = ("slot", "place", "dest", "side", "sender")
_BIGINTS = ("seq", "begin", "progress")
SCHEMA = pa.schema(
    [(name, pa.int32()) for name in _INTS]
    + [(name, pa.int64()) for name in _BIGINTS]
    + [("body", pa.binary())]
)
DDL = ", ".join(
    [f"{name} int" for name in _INTS] + [f"{name} bigint" for name in _BIGINTS] + ["body binary"]
)
# Bytes that go to Spark at once: one body at least, and far less than Arrow's 32 bits count.
MOST_BATCH = 4 * MOST_BODY


class Carried(NamedTuple):
    """A row in flight.

    Attributes
    ----------
    slot : int
        The slot on the next level.
    place : int
        The number of the receiver, as in `parts.Parts`.
    begin : int
    row : Row
    """

    slot: int
    place: int
    begin: int
    row: Row


def to_arrow(carried: Sequence[Carried]) -> pa.RecordBatch:
    """Return rows as one batch of records."""
    packed = [pieces(each.row) for each in carried]
    sizes = [len(head) + len(body) for head, body in packed]
    offsets = np.zeros(len(sizes) + 1, dtype=np.int32)
    np.cumsum(sizes, out=offsets[1:])
    whole = np.empty(int(offsets[-1]), dtype=np.uint8)
    for at, (head, body) in zip(offsets.tolist(), packed, strict=False):
        whole[at : at + len(head)] = np.frombuffer(head, dtype=np.uint8)
        whole[at + len(head) : at + len(head) + len(body)] = body
    bodies = pa.Array.from_buffers(
        pa.binary(), len(sizes), [None, pa.py_buffer(offsets), pa.py_buffer(whole)]
    )
    numbers = [
        (each.slot, each.place, each.row.dest, each.row.side, each.row.sender, each.row.seq,
         each.begin, each.row.progress)
        for each in carried
    ]  # fmt: skip
    columns = np.array(numbers, dtype=np.int64).reshape(-1, len(_INTS) + len(_BIGINTS)).T
    arrays = [
        pa.array(column.astype(field.type.to_pandas_dtype()), field.type)
        for column, field in zip(columns, SCHEMA, strict=False)
    ]
    return pa.RecordBatch.from_arrays([*arrays, bodies], schema=SCHEMA)


def from_arrow(batch: pa.RecordBatch) -> list[Carried]:
    """Return the rows of a batch of records, as read-only views of the batch's memory.

    Raises
    ------
    ValueError
        When a body is invalid.
    """
    slots, places, begins = (batch.column(name).to_pylist() for name in ("slot", "place", "begin"))
    rows = map(unpack, views(batch.column("body")))
    return list(map(Carried, slots, places, begins, rows))


def views(column: pa.BinaryArray) -> list[memoryview]:
    """Return each value of a column of bytes as a view: a scalar of Arrow would be a copy."""
    if not len(column):
        return []
    _, offsets, values = column.buffers()
    ends = np.frombuffer(offsets, dtype=np.int32)[column.offset : column.offset + len(column) + 1]
    whole = memoryview(values if values is not None else b"")
    return [whole[begin:end] for begin, end in pairwise(ends.tolist())]


def batches(carried: Iterable[Carried]) -> Iterator[pa.RecordBatch]:
    """Yield rows as batches of records, as they come; no empty batch."""
    waiting: list[Carried] = []
    size = 0
    for each in carried:
        waiting.append(each)
        size += each.row.batch.nbytes
        if size >= MOST_BATCH:
            yield to_arrow(waiting)
            waiting, size = [], 0
    if waiting:
        yield to_arrow(waiting)
