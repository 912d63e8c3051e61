"""Prefetching of cache lines: which elements are requested. The gain in time is not tested."""

from __future__ import annotations

import numpy as np
import pytest

from operators.core import prefetch
from operators.core.jit import kernel
from operators.core.layout import LINE_BYTES


@kernel
def ask(array):
    """Prefetch a whole array, and return the number of elements in a cache line."""
    prefetch.prefetch_all(array, 0, len(array))
    return prefetch.in_a_line(array)


@pytest.mark.parametrize("kind", [np.int32, np.int64])
def test_each_line_of_an_array_is_asked_for_once(kind, monkeypatch):
    array = np.zeros(64, kind)
    assert ask(array) == prefetch.in_a_line(array) == LINE_BYTES // array.itemsize
    asked = []
    monkeypatch.setattr(prefetch, "prefetch", lambda array, index: asked.append(index))
    prefetch.prefetch_all(array, 32, 32)
    assert asked == list(range(32, 64, LINE_BYTES // array.itemsize))
