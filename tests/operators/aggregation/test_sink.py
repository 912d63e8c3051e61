"""The sink: digests, the log, and rows that wait to be drained."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from operators.aggregation.sink import (
    close_winset,
    fold_row,
    fold_rows,
    keep_row,
    make_sink,
    outputs,
    room_for_winset,
    take_log,
    take_rows,
    winset_log,
)
from operators.contract import READY, ROWS_FULL, WINSETS_FULL

WORD = st.integers(-(2**63), 2**63 - 1)
ROWS = st.lists(st.tuples(WORD, WORD, WORD, WORD, WORD), max_size=6)


def block(rows) -> np.ndarray:
    return np.array(rows, dtype=np.int64).reshape(-1, 5)


@given(ROWS, ROWS)
def test_folding_in_blocks_is_folding_row_by_row(first, second):
    digest = 0
    for row in first + second:
        digest = fold_row(digest, *row)
    assert fold_rows(fold_rows(0, block(first)), block(second)) == digest


@given(ROWS)
def test_the_digest_sees_any_two_rows_change_places(rows):
    if len(rows) > 1 and rows[0] != rows[1]:
        swapped = [rows[1], rows[0], *rows[2:]]
        assert fold_rows(0, block(rows)) != fold_rows(0, block(swapped))


def test_rows_are_kept_until_they_are_taken():
    sink = make_sink(rows_capacity=2, winsets_capacity=3)
    assert room_for_winset(sink, 2) == READY
    keep_row(sink, 1, 2, 3, 4, 5)
    assert room_for_winset(sink, 1) == READY
    assert room_for_winset(sink, 2) == ROWS_FULL
    assert take_rows(sink).tolist() == [[1, 2, 3, 4, 5]]
    assert len(take_rows(sink)) == 0
    assert room_for_winset(sink, 2) == READY


def test_without_a_row_buffer_any_winset_fits():
    assert room_for_winset(make_sink(0, 1), 10**9) == READY


def test_a_full_log_is_reported_and_can_be_taken():
    sink = make_sink(rows_capacity=0, winsets_capacity=1)
    close_winset(sink, 6, 3, 77, 40)
    assert room_for_winset(sink, 1) == WINSETS_FULL
    log = take_log(sink)
    assert [log.window_start[0], log.rows[0], log.digest[0], log.processed[0]] == [6, 3, 77, 40]
    assert log.emitted_ns[0] > 0
    assert room_for_winset(sink, 1) == READY
    assert len(winset_log(sink).digest) == 0
    assert outputs(sink) == 3
