"""Rows as records: a round trip returns the same rows, as views."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from operators.streamcloud.carriers.spark import wire
from operators.streamcloud.carriers.spark.wire import Carried
from operators.streamcloud.rows import END, Row, pack

LARGE = st.sampled_from([0, 1, 2**31, END])


@st.composite
def carried_rows(draw):
    words, count = draw(st.integers(1, 7)), draw(st.integers(0, 5))
    numbers = draw(st.lists(st.integers(-(2**63), END), min_size=words * count,
                            max_size=words * count))  # fmt: skip
    batch = np.array(numbers, dtype=np.int64).reshape(words, count)
    small = [draw(st.integers(0, 2**31 - 1)) for _ in range(5)]
    row = Row(*small[2:], draw(LARGE), draw(LARGE), batch)
    return Carried(*small[:2], draw(LARGE), row)


def same(one, other):
    return one[:3] == other[:3] and pack(one.row) == pack(other.row)


@given(st.lists(carried_rows(), max_size=6))
def test_what_goes_in_comes_out(rows):
    batch = wire.to_arrow(rows)
    assert batch.schema == wire.SCHEMA
    found = wire.from_arrow(batch)
    assert len(found) == len(rows)
    assert all(map(same, found, rows))


@given(st.lists(carried_rows(), min_size=1, max_size=6))
def test_what_spark_sorts_by_stands_beside_the_body(rows):
    for record, each in zip(wire.to_arrow(rows).to_pylist(), rows, strict=True):
        assert record.pop("body") == pack(each.row)
        assert record == {
            "slot": each.slot,
            "place": each.place,
            "begin": each.begin,
            **{name: getattr(each.row, name) for name in ("dest", "side", "sender", "seq")},
            "progress": each.row.progress,
        }


def test_what_comes_out_is_no_copy():
    row = Row(0, 0, 0, 0, 0, np.arange(12, dtype=np.int64).reshape(3, 4))
    batch = wire.to_arrow([Carried(0, 0, 0, row)] * 2)
    buffer = batch.column("body").buffers()[2]
    for each in wire.from_arrow(batch):
        address = each.row.batch.__array_interface__["data"][0]
        assert buffer.address <= address < buffer.address + buffer.size


def test_a_view_outlives_its_batch():
    row = Row(0, 0, 0, 0, 0, np.arange(1 << 16, dtype=np.int64).reshape(2, -1))
    batch = wire.to_arrow([Carried(0, 0, 0, row)])
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, batch.schema) as writer:
        writer.write_batch(batch)
    (read,) = pa.ipc.open_stream(sink.getvalue())
    (found,) = wire.from_arrow(read)
    del read, sink, batch
    other = [pa.array(np.full(1 << 17, 7, dtype=np.int64)) for _ in range(8)]
    assert (found.row.batch == row.batch).all()
    del other


def test_a_piece_of_a_batch_has_its_own_rows():
    rows = [
        Carried(at, 0, 0, Row(0, 0, 0, at, 0, np.full((1, at + 1), at, dtype=np.int64)))
        for at in range(4)
    ]
    found = wire.from_arrow(wire.to_arrow(rows).slice(1, 2))
    assert len(found) == 2
    assert all(map(same, found, rows[1:3]))


@pytest.mark.parametrize(("most", "sizes"), [(1, [1] * 5), (100, [3, 2]), (10**6, [5])])
def test_records_go_in_batches_of_so_many_bytes(monkeypatch, most, sizes):
    monkeypatch.setattr(wire, "MOST_BATCH", most)
    row = Row(0, 0, 0, 0, 0, np.zeros((1, 5), dtype=np.int64))
    rows = [Carried(0, 0, number, row) for number in range(5)]
    found = list(wire.batches(iter(rows)))
    assert [batch.num_rows for batch in found] == sizes
    assert [each.begin for batch in found for each in wire.from_arrow(batch)] == list(range(5))


def test_no_rows_are_no_batch():
    assert list(wire.batches([])) == []


def test_sparks_name_of_the_types_is_that_of_arrows():
    names = {pa.int32(): "int", pa.int64(): "bigint", pa.binary(): "binary"}
    assert wire.DDL == ", ".join(f"{field.name} {names[field.type]}" for field in wire.SCHEMA)
    assert set(wire.ORDER) < set(wire.SCHEMA.names)
