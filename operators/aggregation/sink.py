"""Where output rows go: a chained digest, a log of closed winsets, and, if asked for, the rows.

The digest folds every word of every row in output order, so that two runs agree exactly when they
put out the same rows in the same order; the log keeps its value after each winset, so that any run
that ends at a closed winset can be compared with a longer one. Only the output thread writes; the
others read after it has ended, or, with a row buffer, between two of its steps.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from operators.contract import READY, ROWS_FULL, WINSETS_FULL
from operators.core.atomics import now
from operators.core.integers import fold
from operators.core.jit import inlined, kernel
from operators.core.layout import LINE_WORDS, aligned_words

# Words of `Sink.counters`.
DIGEST = 0
WINSETS = 1  # winsets in the log
ROWS = 2  # rows in the buffer
OUTPUTS = 3  # rows put out since the beginning

ROW_WORDS = 5  # window_start, key, a, b, n
LOG_WORDS = 5  # window_start, rows, digest, processed, emitted_ns


class Sink(NamedTuple):
    """The output thread's end of an aggregate."""

    # LINE_WORDS; digest and counters.
    counters: np.ndarray
    # winsets_capacity * LOG_WORDS; a closed winset each.
    log: np.ndarray
    # rows_capacity * ROW_WORDS; rows not yet drained. None is kept where rows_capacity is 0.
    rows: np.ndarray
    rows_capacity: int
    winsets_capacity: int


class WinsetLog(NamedTuple):
    """The closed winsets in the order of closing; int64 arrays of one length.

    Attributes
    ----------
    window_start : int64 array
    rows : int64 array
        Rows of the winset.
    digest : int64 array
        Chained digest after its last row.
    processed : int64 array
        Ready tuples processed before the one that released the winset, which is the rank of that
        tuple in the total order; -1 where the end of the streams released it.
    emitted_ns : int64 array
        Monotonic clock after its last row.
    """

    window_start: np.ndarray
    rows: np.ndarray
    digest: np.ndarray
    processed: np.ndarray
    emitted_ns: np.ndarray


def make_sink(rows_capacity: int, winsets_capacity: int) -> Sink:
    """Return an empty sink; the capacities are those of a checked plan."""
    return Sink(
        counters=aligned_words(LINE_WORDS),
        log=aligned_words(winsets_capacity * LOG_WORDS),
        rows=aligned_words(rows_capacity * ROW_WORDS),
        rows_capacity=rows_capacity,
        winsets_capacity=winsets_capacity,
    )


@inlined
def room_for_winset(sink, rows):
    """Say whether a winset of `rows` rows fits: READY, ROWS_FULL or WINSETS_FULL."""
    if sink.counters[WINSETS] == sink.winsets_capacity:
        return WINSETS_FULL
    if sink.rows_capacity > 0 and sink.counters[ROWS] + rows > sink.rows_capacity:
        return ROWS_FULL
    return READY


@inlined
def fold_row(digest, window_start, key, a, b, n):
    """Return `digest` extended by one row."""
    digest = fold(digest, window_start)
    digest = fold(digest, key)
    digest = fold(digest, a)
    digest = fold(digest, b)
    return fold(digest, n)


@inlined
def keep_row(sink, window_start, key, a, b, n):
    """Append a row to the buffer; the room is known to be there."""
    at = sink.counters[ROWS] * ROW_WORDS
    sink.rows[at] = window_start
    sink.rows[at + 1] = key
    sink.rows[at + 2] = a
    sink.rows[at + 3] = b
    sink.rows[at + 4] = n
    sink.counters[ROWS] += 1


@inlined
def close_winset(sink, window_start, rows, digest, processed):
    """Log a winset whose rows are all out."""
    at = sink.counters[WINSETS] * LOG_WORDS
    sink.log[at] = window_start
    sink.log[at + 1] = rows
    sink.log[at + 2] = digest
    sink.log[at + 3] = processed
    sink.log[at + 4] = now()
    sink.counters[DIGEST] = digest
    sink.counters[WINSETS] += 1
    sink.counters[OUTPUTS] += rows


@kernel
def _fold_block(digest, rows):
    for row in range(rows.shape[0]):
        digest = fold_row(
            digest, rows[row, 0], rows[row, 1], rows[row, 2], rows[row, 3], rows[row, 4]
        )
    return digest


def fold_rows(digest: int, rows: np.ndarray) -> int:
    """Return `digest` extended by a block of rows (int64, shape (rows, 5)), as a sink extends it.

    Examples
    --------
    >>> fold_rows(0, np.zeros((0, 5), dtype=np.int64))
    0
    """
    block = np.ascontiguousarray(rows, dtype=np.int64)
    return int(_fold_block(np.int64(digest), block))


def winset_log(sink: Sink) -> WinsetLog:
    """Return a copy of the log."""
    filled = sink.log[: int(sink.counters[WINSETS]) * LOG_WORDS].reshape(-1, LOG_WORDS)
    return WinsetLog(*(filled[:, word].copy() for word in range(LOG_WORDS)))


def outputs(sink: Sink) -> int:
    """Return how many rows were put out."""
    return int(sink.counters[OUTPUTS])


def take_rows(sink: Sink) -> np.ndarray:
    """Return the buffered rows, int64 (rows, 5), and empty the buffer (the answer to ROWS_FULL)."""
    taken = sink.rows[: int(sink.counters[ROWS]) * ROW_WORDS].reshape(-1, ROW_WORDS).copy()
    sink.counters[ROWS] = 0
    return taken


def take_log(sink: Sink) -> WinsetLog:
    """Return the log and empty it, for runs that close more winsets than it holds."""
    log = winset_log(sink)
    sink.counters[WINSETS] = 0
    return log
