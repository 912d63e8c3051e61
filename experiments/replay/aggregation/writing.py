"""The rows of an aggregate as Parquet."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from datasets.formats.arrays import of_numbers
from experiments.replay import stages
from experiments.replay.aggregation.results import Results

ROWS_A_GROUP = 1 << 18


class RowWriter:
    """Appends output rows to a Parquet file: window_start, key (if there is one), value.

    Row groups have a fixed size and nothing in the file names time, machine or variant, so that
    equal rows give equal bytes.

    Parameters
    ----------
    path : Path
    results : Results
        Turns rows into values.
    labels : pyarrow array or None
        Key code to key; None if there is no key.
    """

    def __init__(self, path: Path, results: Results, labels: pa.Array | None) -> None:
        self._results, self._labels = results, labels
        self.rows = 0
        fields = [pa.field("window_start", pa.int64(), nullable=False)]
        if labels is not None:
            fields.append(pa.field("key", labels.type, nullable=False))
        fields.append(pa.field("value", results.type, nullable=False))
        self._schema = pa.schema(fields)
        # Opened here, since pyarrow would take the name for UTF-8.
        self._file = open(path, "wb")
        self._writer = pq.ParquetWriter(self._file, self._schema, compression="snappy")
        self._waiting: list[pa.Table] = []

    def append(self, rows: np.ndarray) -> None:
        """Append rows, int64 (rows, 5), in the form that an aggregate puts out.

        Raises
        ------
        UsageError
            When a value does not fit its type.
        """
        if not len(rows):
            return
        with stages.writing():
            self._append(rows)
        stages.current().written(self.rows)

    def _append(self, rows: np.ndarray) -> None:
        columns = [of_numbers(rows[:, 0])]
        if self._labels is not None:
            columns.append(self._labels.take(of_numbers(rows[:, 1])))
        columns.append(self._results.values(rows))
        self._waiting.append(pa.Table.from_arrays(columns, schema=self._schema))
        self.rows += len(rows)
        if sum(table.num_rows for table in self._waiting) >= ROWS_A_GROUP:
            self._write(whole_groups_only=True)

    def _write(self, whole_groups_only: bool) -> None:
        table = pa.concat_tables(self._waiting)
        count = table.num_rows
        if whole_groups_only:
            count -= count % ROWS_A_GROUP
        self._writer.write_table(table.slice(0, count).combine_chunks(), ROWS_A_GROUP)
        self._waiting = [table.slice(count)]

    def close(self) -> None:
        """Write the remaining rows and finish the file, even if there were none."""
        with stages.writing():
            if any(table.num_rows for table in self._waiting):
                self._write(whole_groups_only=False)
            self._writer.close()
            self._file.close()
