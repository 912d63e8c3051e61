"""Rows and arrays as bytes."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import array_shapes, arrays

from operators.streamcloud.algebra import Input, Join, Output, Query, TimeWindow, Union
from operators.streamcloud.compiler import compile_query
from operators.streamcloud.rows import (
    END,
    Row,
    as_batch,
    column_place,
    empty_batch,
    joined,
    pack,
    pack_arrays,
    sender_number,
    unpack,
    unpack_arrays,
    words_of,
)

NUMBERS = st.integers(-(2**63), 2**63 - 1)
BATCHES = arrays(np.int64, array_shapes(min_dims=2, max_dims=2, min_side=0, max_side=5),
                 elements=NUMBERS)  # fmt: skip
A = Input("a", {"x": "int64", "y": "double"})


@given(st.tuples(NUMBERS, NUMBERS, NUMBERS, NUMBERS, NUMBERS), BATCHES)
def test_a_row_comes_back(head, batch):
    found = unpack(pack(Row(*head, batch)))
    assert found[:5] == head
    assert found.batch.shape == batch.shape and (found.batch == batch).all()


def test_what_is_no_row_is_refused():
    body = pack(Row(1, 0, 2, 3, END, np.arange(6).reshape(3, 2)))
    assert len(body) == 8 * (7 + 6)
    for wrong in (b"", body[:40], body[:-8], body + bytes(8)):
        with pytest.raises(ValueError, match="received|does not have"):
            unpack(wrong)


def test_a_batch_may_be_written_wherever_it_comes_from():
    batch = unpack(pack(Row(0, 0, 0, 0, 0, np.arange(6).reshape(3, 2)))).batch
    assert not batch.flags.writeable
    mine = as_batch(batch)
    mine[0, 0] = 7
    assert batch[0, 0] == 0
    assert as_batch(mine) is mine
    assert as_batch(mine[:, 1:]).flags.c_contiguous


def test_batches_are_joined():
    one, two = np.arange(6).reshape(3, 2), np.arange(3).reshape(3, 1)
    assert joined([one, empty_batch(3), two], 3).tolist() == [[0, 1, 0], [2, 3, 1], [4, 5, 2]]
    assert joined([], 3).shape == (3, 0)


@given(st.lists(st.one_of(BATCHES, arrays(np.int64, st.integers(0, 5), elements=NUMBERS))))
def test_arrays_come_back(given_arrays):
    found = unpack_arrays(pack_arrays(given_arrays))
    assert [each.tolist() for each in found] == [each.tolist() for each in given_arrays]
    assert [each.shape for each in found] == [each.shape for each in given_arrays]


def test_words_are_those_of_the_key_and_the_columns():
    assert words_of(Output(A)) == 5
    assert [column_place(Output(A), name) for name in ("ts", "x", "y")] == [0, 3, 4]


def test_senders_are_counted_through_the_feeds_of_a_side():
    b = Input("b", {"x": "int64", "y": "double"})
    union = Union("all", (b, A, b))
    join = Join("j", (union, A), TimeWindow(1), {"x": "left.x"}, on=[("x", "x")])
    plan = compile_query(Query("q", join), "subquery-cluster", 2, streams={"a": 3, "b": 2})
    found = {
        (each.feed.sender, each.side, each.feed.path): sender_number(plan, each, 1)
        for each in plan.channels
    }
    assert found == {
        ("b", 0, (0,)): 1, ("a", 0, (1,)): 3, ("b", 0, (2,)): 6, ("a", 1, ()): 1, ("j", 0, ()): 1,
    }  # fmt: skip


def test_arrays_that_are_cut_off_are_refused():
    body = pack_arrays([np.arange(3), np.arange(6).reshape(3, 2)])
    for end in (8, 24, 33, len(body) - 8):
        with pytest.raises(ValueError):
            unpack_arrays(body[:end])
