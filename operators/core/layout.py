"""Memory layout: cache lines, and arrays that begin on one."""

from __future__ import annotations

import mmap

import numpy as np

from operators.core.jit import inlined

WORD_BYTES = 8
LINE_BYTES = 64
LINE_WORDS = LINE_BYTES // WORD_BYTES
HUGE_BYTES = 1 << 21


def whole_lines(words: int) -> int:
    """Return `words` rounded up to whole cache lines."""
    return -(-words // LINE_WORDS) * LINE_WORDS


@inlined
def line_at(number):
    """Return the first word of thread `number`'s cache line, where each thread has one."""
    return number * LINE_WORDS


def aligned_words(count: int) -> np.ndarray:
    """Return `count` zeroed int64 words that begin on a cache line.

    NumPy aligns to 16 bytes only, so that two words meant for separate lines could share one. The
    pages are touched here: a first touch inside a timed region would count as the operator's.
    """
    raw = np.empty(max(count, 1) + LINE_WORDS, dtype=np.int64)
    skip = (-raw.ctypes.data // WORD_BYTES) % LINE_WORDS
    words = raw[skip : skip + count]
    words[:] = 0
    return words


def aligned_array(count: int, kind: type, huge: bool = False) -> np.ndarray:
    """Return `count` zeroed elements of type `kind` that begin on a cache line.

    With `huge` they lie on huge pages, where they fill at least one and the system has such pages
    on request; otherwise it changes nothing.
    """
    words = -(-count * np.dtype(kind).itemsize // WORD_BYTES)
    found = huge_words(words) if huge else aligned_words(words)
    return found.view(kind)[:count]


def huge_words(count: int) -> np.ndarray:
    """Return `count` zeroed int64 words on huge pages, or as ``aligned_words`` does."""
    asked = getattr(mmap, "MADV_HUGEPAGE", None)  # only Linux has it
    if asked is None or count * WORD_BYTES < HUGE_BYTES:
        return aligned_words(count)
    # One page more, so that a whole one begins in it.
    pages = -(-count * WORD_BYTES // HUGE_BYTES) + 1
    memory = mmap.mmap(-1, pages * HUGE_BYTES, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
    memory.madvise(asked)
    raw = np.frombuffer(memory, dtype=np.int64)
    skip = (-raw.ctypes.data % HUGE_BYTES) // WORD_BYTES
    words = raw[skip : skip + count]
    words[:] = 0
    return words
