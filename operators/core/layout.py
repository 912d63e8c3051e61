"""Where words lie: cache lines, and arrays that begin on one."""

from __future__ import annotations

import numpy as np

WORD_BYTES = 8
LINE_BYTES = 64
LINE_WORDS = LINE_BYTES // WORD_BYTES


def whole_lines(words: int) -> int:
    """Return `words` rounded up to whole cache lines."""
    return -(-words // LINE_WORDS) * LINE_WORDS


def aligned_words(count: int) -> np.ndarray:
    """Return `count` zeroed int64 words that begin on a cache line.

    NumPy aligns to 16 bytes only, so that two words meant for lines of their own could share one.
    The pages are touched here: a first touch inside a timed region would count as the operator's.
    """
    raw = np.empty(max(count, 1) + LINE_WORDS, dtype=np.int64)
    skip = (-raw.ctypes.data // WORD_BYTES) % LINE_WORDS
    words = raw[skip : skip + count]
    words[:] = 0
    return words


def aligned_array(count: int, kind: type) -> np.ndarray:
    """Return `count` zeroed elements of a kind that begin on a cache line."""
    words = aligned_words(-(-count * np.dtype(kind).itemsize // WORD_BYTES))
    return words.view(kind)[:count]
