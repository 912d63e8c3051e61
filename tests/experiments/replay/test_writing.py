"""Row groups of one size, however the rows are split on arrival."""

from __future__ import annotations

import numpy as np
import pyarrow.parquet as pq
import pytest

from experiments.replay.writing import GroupWriter


@pytest.mark.parametrize("piece", [1, 7, 10, 25, 100])
def test_no_byte_depends_on_the_pieces(tmp_path, piece):
    for name, size in (("whole", 95), ("pieces", piece)):
        rows = np.arange(95)
        buffer = np.empty(size, dtype=np.int64)
        with GroupWriter(tmp_path / name, ("a", "b"), 10) as writer:
            for first in range(0, 95, size):
                count = len(rows[first : first + size])
                # The buffer may be overwritten after the call.
                buffer[:count] = rows[first : first + size]
                writer.append(buffer[:count], -buffer[:count])
            assert writer.rows == 95
    assert (tmp_path / "whole").read_bytes() == (tmp_path / "pieces").read_bytes()
    read = pq.ParquetFile(tmp_path / "pieces")
    sizes = [read.metadata.row_group(n).num_rows for n in range(read.metadata.num_row_groups)]
    assert sizes == [10] * 9 + [5]
    assert read.read().to_pydict() == {"a": list(range(95)), "b": [-n for n in range(95)]}


def test_a_file_without_rows_has_its_columns(tmp_path):
    with GroupWriter(tmp_path / "none", ("a", "b"), 10) as writer:
        writer.append(np.zeros(0, np.int64), np.zeros(0, np.int64))
    assert pq.read_table(tmp_path / "none").to_pydict() == {"a": [], "b": []}


def test_after_an_exception_nothing_more_is_written(tmp_path):
    with pytest.raises(KeyboardInterrupt), GroupWriter(tmp_path / "cut", ("a",), 10) as writer:
        writer.append(np.arange(15))
        raise KeyboardInterrupt
    assert pq.read_table(tmp_path / "cut").num_rows == 10
