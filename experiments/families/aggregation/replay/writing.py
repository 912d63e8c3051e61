"""Files that appear whole or not at all, and the rows of an aggregate as Parquet."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from operators.aggregation.functions import COUNTS, finish_rows, function_code

ROWS_A_GROUP = 1 << 18


class RowWriter:
    """Appends output rows to a Parquet file: window_start, key (where there is one), value.

    Row groups have a fixed size and nothing in the file names time, place or variant, so that
    equal rows give equal bytes.

    Parameters
    ----------
    path : Path
    function : str
    decimals : int
        Of the fixed-point values.
    labels : pyarrow array or None
        Key code to key; None where there is no key.
    texts : pyarrow array or None
        What a value refers to, where values refer to texts.
    """

    def __init__(
        self,
        path: Path,
        function: str,
        decimals: int,
        labels: pa.Array | None,
        texts: pa.Array | None,
    ) -> None:
        self._function, self._decimals = function, decimals
        self._labels, self._texts = labels, texts
        self.rows = 0
        fields = [pa.field("window_start", pa.int64(), nullable=False)]
        if labels is not None:
            fields.append(pa.field("key", labels.type, nullable=False))
        fields.append(pa.field("value", self._value_type(), nullable=False))
        self._schema = pa.schema(fields)
        self._writer = pq.ParquetWriter(path, self._schema, compression="snappy")
        self._waiting: list[pa.Table] = []

    def _value_type(self) -> pa.DataType:
        if self._function in COUNTS:
            return pa.int64()
        return pa.float64() if self._texts is None else pa.string()

    def append(self, rows: np.ndarray) -> None:
        """Append rows, int64 (rows, 5), as an aggregate puts them out."""
        if not len(rows):
            return
        columns = [pa.array(rows[:, 0])]
        if self._labels is not None:
            columns.append(self._labels.take(pa.array(rows[:, 1])))
        columns.append(self._values(rows))
        self._waiting.append(pa.Table.from_arrays(columns, schema=self._schema))
        self.rows += len(rows)
        if sum(table.num_rows for table in self._waiting) >= ROWS_A_GROUP:
            self._write(whole_groups_only=True)

    def _values(self, rows: np.ndarray) -> pa.Array:
        if self._texts is not None and self._function not in COUNTS:
            return self._texts.take(pa.array(rows[:, 2])).cast(pa.string())
        return pa.array(finish_rows(function_code(self._function), rows, self._decimals))

    def _write(self, whole_groups_only: bool) -> None:
        table = pa.concat_tables(self._waiting)
        count = table.num_rows
        if whole_groups_only:
            count -= count % ROWS_A_GROUP
        self._writer.write_table(table.slice(0, count).combine_chunks(), ROWS_A_GROUP)
        self._waiting = [table.slice(count)]

    def close(self) -> None:
        """Write what is left; without rows the file has its columns all the same."""
        if any(table.num_rows for table in self._waiting):
            self._write(whole_groups_only=False)
        self._writer.close()
