"""Arrays that begin on a cache line."""

from __future__ import annotations

import numpy as np
import pytest

from operators.core.layout import HUGE_BYTES, LINE_BYTES, LINE_WORDS, aligned_array, aligned_words


@pytest.mark.parametrize("count", [1, 7, 8, 9, 1000])
def test_words_are_zero_contiguous_and_begin_on_a_line(count):
    kept = [aligned_words(count) for _ in range(5)]
    for words in kept:
        assert words.shape == (count,)
        assert words.dtype == np.int64
        assert words.flags.c_contiguous
        assert not words.any()
        assert words.ctypes.data % LINE_BYTES == 0


def test_a_line_is_eight_words():
    assert LINE_WORDS * np.dtype(np.int64).itemsize == LINE_BYTES


def test_elements_on_huge_pages_are_like_any_others():
    for count in (10, 3 * HUGE_BYTES // 4 + 1):
        array = aligned_array(count, np.int32, huge=True)
        assert len(array) == count and array.dtype == np.int32 and not array.any()
        assert array.ctypes.data % LINE_BYTES == 0
        array[:] = 7
        assert int(array.sum()) == 7 * count
