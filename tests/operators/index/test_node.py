"""Nodes of every size: the number of entries, and ranks, compiled and interpreted."""

from __future__ import annotations

import numpy as np
import pytest
from numba import typeof

from operators.core.jit import kernel
from operators.core.vectors import RANKED
from operators.index.b_plus_tree import SEARCHES
from operators.index.node import fan_out_of, is_vector, make_kind, rank_behind_in, rank_in
from tests.operators.core.running import forms

LAST = int(np.iinfo(np.int32).max)


@kernel
def told(kind, keys, begin, wanted, found):
    for place in range(len(wanted)):
        found[2 * place] = rank_in(kind, keys, begin, wanted[place])
        found[2 * place + 1] = rank_behind_in(kind, keys, begin, wanted[place], 77)
    return 2 * fan_out_of(kind) + is_vector(kind)


@pytest.mark.parametrize(
    ("fan_out", "search"),
    [(4, "vector"), (30, "vector"), *((n * RANKED, each) for n in (1, 2, 4) for each in SEARCHES)],
)
def test_a_rank_is_how_many_keys_are_below_or_up_to_one(fan_out, search):
    random = np.random.default_rng(fan_out)
    kind = make_kind(fan_out, LAST, search)
    for used in (0, 1, fan_out // 2, fan_out):
        node = np.full(fan_out, LAST, np.int32)
        node[:used] = np.sort(random.integers(-3, 4, used))
        # Neighbouring keys that no rank may count.
        keys = np.concatenate([np.full(3, -9), node, np.full(RANKED, -9)]).astype(np.int32)
        wanted = np.array([-(2**31), -4, -1, 0, 3, 4, LAST - 1, LAST])
        for form in forms(told):
            found = np.zeros(2 * len(wanted), np.int64)
            assert form(kind, keys, 3, wanted, found) == 2 * fan_out + (
                fan_out % RANKED == 0 and search == "vector"
            )
            assert found[::2].tolist() == [int((node < each).sum()) for each in wanted]
            behind = [int((node <= each).sum()) for each in wanted[:-1]]
            assert found[1::2].tolist() == [*behind, 77]


def test_kernels_for_the_usual_nodes_are_kernels_of_their_own():
    few, others = make_kind(4, LAST), make_kind(6, LAST)
    usual, scalar = make_kind(RANKED, LAST), make_kind(RANKED, LAST, "scalar")
    assert typeof(few) == typeof(others)
    wide = make_kind(2 * RANKED, LAST)
    assert len({typeof(each) for each in (few, usual, scalar, wide)}) == 4
