"""Rows to Parquet in row groups of one size, so that equal rows are equal bytes."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from datasets.formats.arrays import of_numbers
from experiments.replay import stages


class GroupWriter:
    """Writes columns of int64, a row group as soon as it is full.

    The bytes of the file do not depend on the pieces in which rows were appended.

    Parameters
    ----------
    path : Path
    columns : sequence of str
    rows_a_group : int
    """

    def __init__(self, path: Path, columns: Sequence[str], rows_a_group: int) -> None:
        fields = [pa.field(name, pa.int64(), nullable=False) for name in columns]
        self._schema = pa.schema(fields)
        # Opened here, since pyarrow would take the name for UTF-8.
        self._file = open(path, "wb")
        self._writer = pq.ParquetWriter(self._file, self._schema, compression="snappy")
        self._rows_a_group = rows_a_group
        self._waiting: list[pa.Table] = []
        self._waiting_rows = 0
        self.rows = 0

    def append(self, *columns: np.ndarray) -> None:
        """Append rows, given by column; the arrays are copied and may change afterwards."""
        with stages.writing():
            self._append(columns)
        stages.current().written(self.rows)

    def _append(self, columns: Sequence[np.ndarray]) -> None:
        taken, count = 0, len(columns[0])
        while taken < count:
            until = min(count, taken + self._rows_a_group - self._waiting_rows)
            arrays = [of_numbers(np.array(column[taken:until])) for column in columns]
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
        """Finish the file, even without rows; after an exception leave out the waiting rows."""
        with stages.writing():
            if self._waiting and failed is None:
                self._write()
            self._writer.close()
            self._file.close()
