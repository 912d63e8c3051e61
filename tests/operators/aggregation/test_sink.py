"""The sink: digests, the log, and rows that wait to be drained."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from operators.aggregation.sink import (
    DIGEST,
    WINSETS_FULL,
    close_winset,
    fold_rows,
    fold_winset,
    keep_row,
    make_sink,
    outputs,
    room_for_winset,
    row_word,
    take_log,
    take_rows,
    winset_log,
)
from operators.contract import READY, ROWS_FULL
from operators.core.integers import wrapping_add

WORD = st.integers(-(2**63), 2**63 - 1)
ROWS = st.lists(st.tuples(WORD, WORD, WORD, WORD, WORD), max_size=6)


def block(rows) -> np.ndarray:
    return np.array(rows, dtype=np.int64).reshape(-1, 5)


@given(ROWS, ROWS)
def test_folding_in_blocks_is_folding_row_by_row(first, second):
    sink = make_sink(rows_capacity=0, winsets_capacity=4)
    for start, rows in ((1, first), (2, second)):
        words = 0
        for place, row in enumerate(rows):
            words = wrapping_add(words, row_word(place, *row[1:]))
        if rows:
            close_winset(sink, start, len(rows), words, 0)
    whole = [(1, *row[1:]) for row in first] + [(2, *row[1:]) for row in second]
    cut = len(first)
    digest = fold_rows(0, block(whole))
    assert digest == fold_rows(fold_rows(0, block(whole[:cut])), block(whole[cut:]))
    assert digest == sink.counters[DIGEST]


@given(ROWS, WORD, st.integers(0, 4), st.integers(0, 63))
def test_the_digest_sees_any_changed_bit(rows, start, column, bit):
    rows = [(start, *row[1:]) for row in rows]
    for place in range(len(rows)):
        changed = block(rows).copy()
        changed[place, column] ^= np.int64(-(2**63) if bit == 63 else 1 << bit)
        assert fold_rows(0, changed) != fold_rows(0, block(rows))


@given(ROWS)
def test_the_digest_sees_any_two_rows_change_places(rows):
    rows = [(7, *row[1:]) for row in rows]
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
    assert [log.window_start[0], log.rows[0], log.processed[0]] == [6, 3, 40]
    assert log.digest[0] == fold_winset(0, 6, 77)
    assert log.emitted_ns[0] > 0
    assert room_for_winset(sink, 1) == READY
    assert len(winset_log(sink).digest) == 0
    assert outputs(sink) == 3
