"""The nested loops alone: vectorized comparisons, and the ring in every position."""

from __future__ import annotations

import numpy as np
import pytest
from numba import njit

from operators.contract import ACCEPTED
from operators.core.jit import INTERPRETED
from operators.index import nested_loop, nested_loop_scalar
from operators.index.window import make_answer
from tests.assembly import PACKED, loops_of


def code_of(scan) -> str:
    """Return the machine code of a search."""

    def search(state, low, high, place, out):
        return scan(state, low, high, place, out)

    # Compiled afresh: kernels from the cache have no assembly.
    fresh = njit(error_model="numpy")(search)
    fresh(nested_loop.make_state(64), 0, 3, np.zeros(1, np.int64), make_answer(64))
    (text,) = fresh.inspect_asm().values()
    return text


@pytest.mark.skipif(INTERPRETED, reason="there is no machine code")
def test_the_papers_loop_compares_one_key_at_a_time_and_ours_many():
    assert PACKED.search(code_of(nested_loop.scan))
    loops = loops_of(code_of(nested_loop_scalar.scan))
    assert len(loops) >= 2
    assert not [loop for loop in loops if PACKED.search("\n".join(loop))]


def test_a_search_goes_round_the_ring_wherever_the_oldest_lies():
    window, keys = 5, [7, 8, 9, 7, 8, 9, 7, 8, 9, 7, 8, 9, 7]
    state, out = nested_loop.make_state(window), make_answer(window)
    oldest = 0
    for newest, key in enumerate(keys):
        # The window is full, shrinks to two, and fills again: each run begins at another slot.
        least = 2 if newest % 4 == 3 else window - 1
        while newest - oldest > least:
            nested_loop.remove(state, keys[oldest], oldest)
            oldest += 1
        assert nested_loop.insert(state, key, newest) == ACCEPTED
        for low, high in ((7, 7), (8, 9), (7, 9), (1, 6)):
            count = nested_loop_scalar.scan(state, low, high, np.zeros(1, np.int64), out)
            inside = [n for n in range(oldest, newest + 1) if low <= keys[n] <= high]
            assert out[:count].tolist() == inside
