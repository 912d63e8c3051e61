"""The B+-Tree alone: nodes that have lost entries merge or borrow, so that a window has room."""

from __future__ import annotations

from collections import Counter, deque
from itertools import islice

import numpy as np
import pytest

from operators.contract import ACCEPTED
from operators.core import marks
from operators.core.jit import INTERPRETED
from operators.index import b_plus_tree
from operators.index.forest import least_fill
from operators.index.window import make_answer
from tests.operators.index import scripts
from tests.operators.index.scripts import ENTER, LEAVE

# Number of tuples that enter one new leaf, half of the leaf's entries, and how far the search for
# underfull leaves looks ahead.
BLOCK, AHEAD = 16, 96


def keys_that_keep_nodes_apart(window: int, count: int) -> list[int]:
    """Return keys that keep the leaves of a tree with nodes of 32 in pairs: one full, one empty.

    Keys rise, which leaves half-full leaves. Every second leaf is allowed to drain; a new tuple
    goes into the neighbour, which would otherwise soon fit into one node with the drained leaf.
    """
    held: deque[int] = deque()
    tuples: Counter[int] = Counter()
    keys: list[int] = []
    begun = 0

    def short_of_entries() -> int | None:
        later: dict[int, int] = {}
        leaving = max(AHEAD - (window - len(held)), 0)
        for leaf in islice(held, leaving):
            left = later[leaf] = later.get(leaf, tuples[leaf]) - 1
            if leaf % 2 and left < BLOCK:
                return leaf
            if leaf % 2 == 0 and left < BLOCK:
                for beside in (leaf - 1, leaf + 1):
                    fill = later.get(beside, tuples[beside])
                    if beside >= 0 and fill + left <= 24:
                        return beside
        return None

    for number in range(count):
        leaf = short_of_entries()
        if leaf is not None and tuples[leaf] < 2 * BLOCK and (leaf + 1) * BLOCK < begun:
            keys.append((leaf * BLOCK + 2) * 1000 + number % 12_000)
        else:
            leaf = begun // BLOCK
            keys.append(begun * 1000)
            begun += 1
        if len(held) == window:
            tuples[held.popleft()] -= 1
        held.append(leaf)
        tuples[leaf] += 1
    return keys


@pytest.mark.skipif(INTERPRETED, reason="twenty thousand steps")
def test_no_order_of_keys_takes_more_nodes_than_a_window_has():
    window = 2048
    rows = []
    for place, key in enumerate(keys_that_keep_nodes_apart(window, 5 * window)):
        if place >= window:
            rows.append((LEAVE, 0, 0))
        rows.append((ENTER, key, 0))
    state = b_plus_tree.make_state(window)
    scripts.run(b_plus_tree.VARIANT.operations, state, np.array(rows, dtype=np.int64), window)
    b_plus_tree.check_invariants(state)


@pytest.mark.parametrize("fan_out", range(4, 66, 2))
def test_a_node_that_does_not_merge_can_borrow_what_it_lacks(fan_out):
    least = least_fill(fan_out)
    assert 2 <= least <= fan_out // 2
    # Least number of entries of an underfull node's neighbour: with fewer, the two are merged.
    together = 3 * fan_out // 4 + 1
    assert together // 2 >= least


BORROWED = ("a leaf borrows from a neighbour", "an inner node borrows from a neighbour")


@pytest.mark.parametrize(
    ("fan_out", "search"), [(4, "scalar"), (6, "scalar"), (32, "vector"), (32, "scalar")]
)
def test_leaves_and_inner_nodes_borrow_and_lose_nothing(fan_out, search):
    count = min(5 * fan_out * fan_out, 1800)
    # The order of removal differs from key order, so that neighbours differ strongly in size.
    keys = np.random.default_rng(fan_out).permutation(count).tolist()
    state = b_plus_tree.make_state(count, fan_out=fan_out, search=search)
    place, out = np.zeros(1, np.int64), make_answer(count)
    before = {name: marks.hits[f"b_plus_tree: {name}"] for name in BORROWED}
    for position, key in enumerate(keys):
        assert b_plus_tree.insert(state, key, position) == ACCEPTED
    for position, key in enumerate(keys):
        b_plus_tree.remove(state, key, position)
        b_plus_tree.find(state, key, place)
        assert b_plus_tree.scan(state, key, key, place, out) == 0
        if position % fan_out == 0:
            b_plus_tree.check_invariants(state)
            b_plus_tree.find(state, 0, place)
            found = b_plus_tree.scan(state, 0, count, place, out)
            assert sorted(out[:found].tolist()) == list(range(position + 1, count))
    for name in BORROWED:
        assert marks.hits[f"b_plus_tree: {name}"] > before[name], name
