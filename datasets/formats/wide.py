"""Wide electricity files: a line per time, a column per client, like UCI's ElectricityLoadDiagrams.

``;`` between columns, a decimal comma, and local time in the first column (read as UTC, as found),
which usually has no name. Each cell becomes a reading; a cell without a number is rejected alone.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import BinaryIO

import numpy as np
import pyarrow as pa

from datasets.formats.delimited import Block, Delimited
from datasets.formats.layout import Layout
from datasets.formats.rows import Rows
from datasets.formats.sources import Source
from operators.contract import UsageError


def read_wide(layout: Layout, source: Source, handle: BinaryIO) -> Iterator[Rows]:
    """Read a wide file; one row per cell, line by line, with clients in header order."""
    delimiter = layout.delimiter or ";"
    file = Delimited(handle, source.label, delimiter, True)
    header = file.header
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
    for block in file.blocks():
        yield _cells(block, clients, delimiter)


def _cells(block: Block, clients: list[str], delimiter: str) -> Rows:
    lines, count = len(block.line), len(clients)
    times = block.columns[0]
    # From client-major to row-major order.
    cell = np.arange(count * lines).reshape(count, lines).T.ravel()
    values = pa.concat_arrays([block.columns[at + 1] for at in range(count)]).take(pa.array(cell))

    def content(index: int) -> str:
        """Return time, client and cell: the line may hold hundreds of good readings."""
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
