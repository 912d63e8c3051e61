"""The output of rows: a chained digest, a log of closed winsets, and, on request, the rows.

Each row gives one word, which depends on the row's position in the winset; a winset's words are
added up, and the digest is chained from winset to winset. So two runs agree exactly when they
output the same rows in the same order. A row's word does not wait for the previous one: a chain
through every word of every row took 10 ns a row, more than the fastest variants need to make one.
The log keeps the digest after each winset, so that any run that ends at a closed winset can be
compared with a longer one. Only the output thread writes; the others read after it has ended, or,
with a row buffer, between two of its steps.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from operators.contract import READY, ROWS_FULL
from operators.core.atomics import now
from operators.core.integers import fold, shift_right, wrapping_add, wrapping_mul
from operators.core.jit import inlined, kernel
from operators.core.layout import LINE_WORDS, aligned_words

# A further answer of process: the window state or the winset log is too small for this stream.
WINSETS_FULL = -2
# Words of `Sink.counters`.
DIGEST = 0
WINSETS = 1  # winsets in the log
ROWS = 2  # rows in the buffer
OUTPUTS = 3  # rows output since the beginning

ROW_WORDS = 5  # window_start, key, a, b, n
LOG_WORDS = 5  # window_start, rows, digest, processed, emitted_ns

# `processed` of a winset whose variant has no total order of tuples to count in.
NOT_COUNTED = -2

# Odd words without a pattern: the first digits of the square roots of 2, 3, 5, 7, 11 and 13.
_FACTORS = tuple(
    word - (1 << 64) if word >> 63 else word
    for word in (
        0x6A09E667F3BCC909,
        0xBB67AE8584CAA73B,
        0x3C6EF372FE94F82B,
        0xA54FF53A5F1D36F1,
        0x510E527FADE682D1,
        0x9B05688C2B3E6C1F,
    )
)
_OF_PLACE, _OF_KEY, _OF_A, _OF_B, _OF_N, _OF_WORD = _FACTORS


class Sink(NamedTuple):
    """The output thread's end of an aggregate."""

    # LINE_WORDS; digest and counters.
    counters: np.ndarray
    # winsets_capacity * LOG_WORDS; a closed winset each.
    log: np.ndarray
    # rows_capacity * ROW_WORDS; rows not yet drained. Empty where rows_capacity is 0.
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
        Chained digest after the last row.
    processed : int64 array
        Ready tuples processed before the one that released the winset, which is the rank of that
        tuple in the total order; -1 where the end of the streams released it, NOT_COUNTED where
        the variant does not order tuples.
    emitted_ns : int64 array
        Monotonic clock after the last row.
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
def row_word(place, key, a, b, n):
    """Return a row's word in the sum of its winset; `place` counts the winset's rows from 0."""
    word = wrapping_add(wrapping_mul(place, _OF_PLACE), wrapping_mul(key, _OF_KEY))
    word = wrapping_add(word, wrapping_mul(a, _OF_A))
    word = wrapping_add(word, wrapping_mul(b, _OF_B))
    word = wrapping_add(word, wrapping_mul(n, _OF_N))
    # Without this step sums of words would not distinguish which rows their parts came from.
    return wrapping_mul(word ^ shift_right(word, 32), _OF_WORD)


@inlined
def fold_winset(digest, window_start, words):
    """Return `digest` extended by a winset whose rows' words add up to `words`."""
    return fold(fold(digest, window_start), words)


@inlined
def keep_row(sink, window_start, key, a, b, n):
    """Append a row to the buffer, which must have room."""
    at = sink.counters[ROWS] * ROW_WORDS
    sink.rows[at] = window_start
    sink.rows[at + 1] = key
    sink.rows[at + 2] = a
    sink.rows[at + 3] = b
    sink.rows[at + 4] = n
    sink.counters[ROWS] += 1


@inlined
def close_winset(sink, window_start, rows, words, processed):
    """Log a winset whose rows are all output; `words` is the sum of their words."""
    digest = fold_winset(sink.counters[DIGEST], window_start, words)
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
    place = 0
    words = 0
    for row in range(rows.shape[0]):
        word = row_word(place, rows[row, 1], rows[row, 2], rows[row, 3], rows[row, 4])
        words = wrapping_add(words, word)
        place += 1
        if row + 1 == rows.shape[0] or rows[row + 1, 0] != rows[row, 0]:
            digest = fold_winset(digest, rows[row, 0], words)
            place = 0
            words = 0
    return digest


def fold_rows(digest: int, rows: np.ndarray) -> int:
    """Return `digest` extended by whole winsets, as a sink extends it.

    Parameters
    ----------
    digest : int
    rows : int64 array (rows, 5)
        In output order; rows of one window start are one winset.

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
    """Return how many rows were output."""
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
