"""Rows to Parquet in row groups of one size, so that equal rows are equal bytes."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq


class GroupWriter:
    """Writes columns of int64, a row group as soon as it is full.

    Nothing in the file says in which pieces the rows came.

    Parameters
    ----------
    path : Path
    columns : sequence of str
    rows_a_group : int
    """

    def __init__(self, path: Path, columns: Sequence[str], rows_a_group: int) -> None:
        fields = [pa.field(name, pa.int64(), nullable=False) for name in columns]
        self._schema = pa.schema(fields)
        self._writer = pq.ParquetWriter(path, self._schema, compression="snappy")
        self._rows_a_group = rows_a_group
        self._waiting: list[pa.Table] = []
        self._waiting_rows = 0
        self.rows = 0

    def append(self, *columns: np.ndarray) -> None:
        """Append rows, given by their columns, which the caller may change afterwards."""
        taken, count = 0, len(columns[0])
        while taken < count:
            until = min(count, taken + self._rows_a_group - self._waiting_rows)
            arrays = [pa.array(np.array(column[taken:until])) for column in columns]
            self._waiting.append(pa.Table.from_arrays(arrays, schema=self._schema))
            self._waiting_rows += until - taken
            taken = until
            if self._waiting_rows == self._rows_a_group:
                self._write()
        self.rows += count

    def _write(self) -> None:
        table = pa.concat_tables(self._waiting).combine_chunks()
        self._writer.write_table(table, row_group_size=table.num_rows)
        self._waiting, self._waiting_rows = [], 0

    def __enter__(self) -> GroupWriter:
        """Return itself."""
        return self

    def __exit__(self, failed: object, *error: object) -> None:
        """End the file, which has its columns without rows, too; after an exception as it is."""
        if self._waiting and failed is None:
            self._write()
        self._writer.close()
