"""The blocks of a Bw-Tree: allocated, retired, kept by epoch-based reclamation, reused."""

from __future__ import annotations

from threading import Thread

import numpy as np
import pytest

from operators.contract import ACCEPTED
from operators.core.mpmc_ring import READ, TURN
from operators.index import bw_goals, bw_tree
from operators.index.bw_changes import consolidate
from operators.index.bw_goals import (
    CONSOLIDATE,
    KIND,
    MERGING,
    MOST_GOALS,
    push_goal,
    uppermost,
)
from operators.index.bw_inspect import levels_of
from operators.index.bw_merges import merge
from operators.index.bw_nodes import (
    DELETE,
    NO_NODE,
    REMOVE,
    TAKEN,
    begin_of,
    block_of,
    is_stale,
    kind_of,
    look,
    newest,
)
from operators.index.bw_pool import (
    NONE,
    free_numbers,
    make_pool,
    put_into,
    take,
    waiting_numbers,
)
from operators.index.bw_updates import go_to_node, work
from tests.operators.index.test_bw_tree import SMALL, planted


def node_begin(state, reference: int) -> int:
    """Return the offset of a node's block."""
    return begin_of(state.nodes, block_of(int(look(state.nodes, reference))))


def test_who_only_takes_has_what_another_only_gives_back():
    state = bw_tree.make_tree(60, 80, 32, 2, *SMALL.values())
    first, second = bw_tree.views(state, 2)
    for turn in range(30):
        for key in range(24):
            bw_tree.enter(first)
            assert bw_tree.insert(first, key, key) == ACCEPTED, turn
            bw_tree.leave(first)
        for key in range(24):
            bw_tree.enter(second)
            bw_tree.remove(second, key, key)
            bw_tree.leave(second)
    assert bw_tree.entries(state) == []
    bw_tree.check_invariants(state)


def test_what_waits_for_a_thread_that_has_gone_is_used_by_others():
    state = bw_tree.make_tree(60, 80, 32, 3, *SMALL.values())
    first, gone, looking = bw_tree.views(state, 3)
    bw_tree.enter(looking)
    while len(free_numbers(state.blocks)) > 14:
        bw_tree.enter(gone)
        assert bw_tree.insert(gone, 5, 5) == ACCEPTED
        bw_tree.remove(gone, 5, 5)
        bw_tree.leave(gone)
    assert len(waiting_numbers(state.blocks)) >= 60
    # Retired blocks count as in use.
    assert bw_tree.footprint(state)["insert"] >= 66 * state.nodes.block_words * 8
    bw_tree.leave(looking)
    for key in range(24):
        bw_tree.enter(first)
        assert bw_tree.insert(first, key, key) == ACCEPTED
        bw_tree.leave(first)
    bw_tree.check_invariants(state)


def test_a_removed_nodes_block_waits_until_its_number_is_free():
    # Leaves of [10 20] [40 50].
    state, (owner, other, looking) = planted(*range(10, 80, 10), threads=3)
    for key in (30, 60, 70):
        bw_tree.remove(owner, key, key)
    removed = levels_of(state)[-1][1].reference
    # The owner holds the parent, has marked the node as removed, and stops there.
    bw_tree.enter(owner)
    push_goal(owner.own, DELETE, 0, (40 << 32) | 40, 0, NO_NODE)
    while kind_of(newest(state.nodes, int(look(state.nodes, removed)))) != REMOVE:
        goal = uppermost(owner.own)
        kind = int(owner.own[goal + KIND])
        step = {CONSOLIDATE: consolidate, MERGING: merge}.get(kind)
        step(owner, goal) if step else go_to_node(owner, goal, kind)
    # Another thread merges the node's entries into the left node, and consolidates that node.
    bw_tree.enter(other)
    for key in (41, 42):
        bw_tree.insert(other, key, key)
    bw_tree.leave(other)
    # A search that begins now still reaches the node from the parent.
    bw_tree.enter(looking)
    head = int(look(state.nodes, removed))
    assert not is_stale(removed, head)
    begin, size = begin_of(state.nodes, block_of(head)), state.nodes.block_words
    seen = state.nodes.words[begin : begin + size].copy()
    assert work(owner) == ACCEPTED
    bw_tree.leave(owner)
    assert is_stale(removed, int(look(state.nodes, removed)))
    for turn in range(40):
        for view in (owner, other):
            bw_tree.enter(view)
            (bw_tree.insert if turn % 2 else bw_tree.remove)(view, 42, 42)
            bw_tree.leave(view)
    assert block_of(head) in waiting_numbers(state.blocks)
    np.testing.assert_array_equal(state.nodes.words[begin : begin + size], seen)
    bw_tree.leave(looking)
    bw_tree.check_invariants(state)


def test_a_full_ring_is_waited_for():
    pool = make_pool(4, 1)
    popped = np.zeros(1, np.int64)
    assert [take(pool, 0, 0, popped) for _ in range(5)] == [0, 1, 2, 3, NONE]
    for number in range(4):
        put_into(pool.ring, number)
    # A thread has claimed the next cell, and stops before the store that empties it.
    cell, claimed = int(pool.ring.ends[READ]), int(pool.ring.cells[TURN])
    assert pool.ring.mask == 3 and cell == 4
    pool.ring.ends[READ] += 1
    waiting = Thread(target=lambda: put_into(pool.ring, 0))
    waiting.start()
    waiting.join(0.05)
    assert waiting.is_alive()
    pool.ring.cells[TURN] = claimed + pool.ring.mask
    waiting.join()
    assert sorted(free_numbers(pool)) == [0, 1, 2, 3]


def test_a_goal_too_many_is_noticed(monkeypatch):
    # Compiled kernels do not count goals.
    monkeypatch.setattr(bw_goals, "INTERPRETED", True)
    _, (view,) = planted()
    for _ in range(MOST_GOALS):
        push_goal(view.own, CONSOLIDATE, 0, 0, 0, NO_NODE)
    with pytest.raises(AssertionError, match="more goals"):
        push_goal(view.own, CONSOLIDATE, 0, 0, 0, NO_NODE)


def test_a_bare_base_whose_slots_are_used_up_is_replaced():
    state, (view,) = planted(*range(0, 100, 10))
    for node in (each for level in levels_of(state) for each in level):
        # The state left by threads that have reserved slots and lost their compare-and-swap.
        push_goal(view.own, CONSOLIDATE, node.level, 0, 0, node.reference)
        assert work(view) == ACCEPTED
        state.nodes.words[node_begin(state, node.reference) + TAKEN] = state.nodes.slots - 1
    bw_tree.enter(view)
    for key in range(100):
        assert bw_tree.insert(view, key, 1000 + key) == ACCEPTED
    for key in range(0, 100, 10):
        bw_tree.remove(view, key, key)
    bw_tree.leave(view)
    assert bw_tree.entries(state) == [(key, 1000 + key) for key in range(100)]
    bw_tree.check_invariants(state)
