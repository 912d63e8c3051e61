"""Wide electricity files: a line a time, a column a client, as UCI's ElectricityLoadDiagrams.

``;`` between columns, a decimal comma, the first column local time (read as UTC, as found), its
name usually empty. Each cell becomes a reading; a cell without a number is set aside alone.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import BinaryIO

import numpy as np
import pyarrow as pa

from datasets.formats.delimited import Block, read_blocks, read_header
from datasets.formats.layout import Layout
from datasets.formats.rows import Rows
from datasets.formats.sources import Source
from operators.contract import UsageError


def read_wide(layout: Layout, source: Source, handle: BinaryIO) -> Iterator[Rows]:
    """Read a wide file; one row a cell, line by line, clients in the order of the header."""
    delimiter = layout.delimiter or ";"
    header = read_header(handle, source.label, delimiter, True)
    clients = header[1:]
    if not clients:
        raise UsageError(
            f"{source.label} has one column, {header[0][:80]!r}: a wide-electricity file has a "
            f"time and a column a client, separated by {delimiter!r}"
        )
    if "" in clients:
        raise UsageError(
            f"{source.label}: column {clients.index('') + 2} has no name: a name is a key"
        )
    if len(set(clients)) < len(clients):
        name = Counter(clients).most_common(1)[0][0]
        raise UsageError(
            f"{source.label}: the header names client {name!r} twice: a client's name is its key"
        )
    for block in read_blocks(handle, len(header), delimiter, True):
        yield _cells(block, clients, delimiter)


def _cells(block: Block, clients: list[str], delimiter: str) -> Rows:
    lines, count = len(block.line), len(clients)
    cell = np.arange(lines * block.width).reshape(lines, block.width)[:, 1:].ravel()
    times = block.column(0)
    values = block.fields.take(pa.array(cell))

    def content(index: int) -> str:
        """Join the cell and what it belongs to: the line may hold hundreds of good readings."""
        row, client = divmod(index, count)
        return delimiter.join((times[row].as_py(), clients[client], values[index].as_py()))

    columns = {
        "time": pa.DictionaryArray.from_arrays(
            pa.array(np.repeat(np.arange(lines, dtype=np.int32), count)), times
        ),
        "key": pa.DictionaryArray.from_arrays(
            pa.array(np.tile(np.arange(count, dtype=np.int32), lines)), pa.array(clients)
        ),
        "value": values,
    }
    return Rows(np.repeat(block.line, count), columns, content, block.faults)
