"""The PIM-Tree alone: how far a search follows the leaves of T_I."""

from __future__ import annotations

import numpy as np
import pytest

from operators.contract import ACCEPTED
from operators.core.marks import hits
from operators.index import pim_tree
from operators.index.window import make_answer

WINDOW, FAN_OUT = 512, 4
LEFT = "b_plus_tree: a search comes to the end of a leaf"


def made_of(first: range, then: range) -> pim_tree.PimTree:
    """Return a PIM-Tree whose T_S has `first`, a whole window, and T_I `then`: fewer than m * w."""
    state = pim_tree.make_state(WINDOW, merge_ratio=0.25, insertion_depth=2, fan_out=FAN_OUT)
    for position, key in enumerate([*first, *then]):
        if position >= WINDOW:
            pim_tree.remove(state, first[position - WINDOW], position - WINDOW)
        assert pim_tree.insert(state, key, position) == ACCEPTED
    pim_tree.check_invariants(state)
    return state


def search(state: pim_tree.PimTree, low: int, high: int) -> tuple[list[int], int]:
    """Return the positions found, sorted, and the number of leaves of T_I visited."""
    place, out = np.zeros(pim_tree.places(state), np.int64), make_answer(WINDOW)
    before = hits[LEFT]
    pim_tree.find(state, low, place)
    count = pim_tree.scan(state, low, high, place, out)
    return sorted(out[:count].tolist()), hits[LEFT] - before


# New tuples lie above the searched ranges, as in a drift, or there are none, as after a merge.
@pytest.mark.parametrize("then", [range(500, 600), range(0)], ids=["drifted", "merged"])
def test_a_search_where_nothing_is_new_goes_through_no_other_empty_subindex(then):
    first = range(WINDOW)
    state = made_of(first, then)
    subindexes = int(state.words[pim_tree.SUBINDEXES])
    assert subindexes == 8
    span = WINDOW // subindexes
    for low in range(len(then), 440, 7):
        found, leaves = search(state, low, low + 2)
        assert found == [low, low + 1, low + 2]
        # One leaf, and the next one if the range extends into it.
        assert leaves == 1 + (low + 2) // span - low // span
    found, leaves = search(state, len(then), 440)
    assert len(found) == 441 - len(then)
    assert leaves == 1 + 440 // span - len(then) // span


def test_a_search_goes_on_into_every_subindex_that_its_range_reaches():
    # The same keys again, the oldest of which are in T_I only.
    state = made_of(range(WINDOW), range(100))
    for low in range(0, 100, 9):
        for high in range(low, WINDOW, 31):
            found, _ = search(state, low, high)
            new = [WINDOW + key for key in range(low, min(high, 99) + 1)]
            assert found == [*range(100, high + 1), *new]
