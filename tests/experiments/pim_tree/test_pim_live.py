"""The live runs of the notebook: the operators behave as the text says."""

from __future__ import annotations

import numpy as np
import pytest

from experiments import families
from experiments.pim_tree import live
from operators.contract import UsageError
from operators.core.jit import INTERPRETED


def entries(leaves):
    return [entry for leaf in leaves for entry in leaf]


def keys_of(leaves):
    return [entry.key for entry in entries(leaves)]


def window_after(tuples, window):
    """Return key and position of every tuple of the window."""
    return {(live.KEYS[n], n) for n in range(max(tuples - window, 0), tuples)}


def live_in(found):
    return [(entry.key, entry.position) for entry in found if entry.live]


def check_tree(tree):
    """Check that a snapshot is a tree: keys ascend, and separators divide the leaves."""
    keys = keys_of(tree.leaves)
    assert keys == sorted(keys)
    # The leaves below each node of the level above, from the bottom up.
    below = [[entry.key for entry in leaf] for leaf in tree.leaves]
    for level in reversed(tree.levels):
        assert sum(node.children for node in level) == len(below)
        joined = []
        for node in level:
            own, below = below[: node.children], below[node.children :]
            assert len(node.keys) == tree.fan_out >= node.children
            for separator, left, right in zip(node.keys, own, own[1:], strict=False):
                assert max(left) <= separator <= min(right)
            joined.append(sum(own, []))
        below = joined
    assert len(below) == 1


# --- a search in an immutable tree ----------------------------------------------------------------


@pytest.mark.parametrize("key", [0, 11, 47, 48, live.SEARCHED, 97, 99])
def test_a_search_counts_the_keys_below_in_every_node_of_its_path(key):
    snapshot = live.search_tree(key)
    tree = snapshot.tree
    check_tree(tree)
    assert keys_of(tree.leaves) == sorted(live.KEYS[: live.IN_TREE])
    node = 0
    for level, step in zip(tree.levels, snapshot.steps, strict=False):
        assert step.node == node
        assert step.rank == sum(each is not None and each < key for each in level[node].keys)
        # Nodes without references: a child's location follows from the parent's.
        node = node * tree.fan_out + step.rank
    last = snapshot.steps[-1]
    assert last.node == node and last.rank == sum(e.key < key for e in tree.leaves[node])
    before = sum(entry.key < key for entry in entries(tree.leaves))
    assert last.node * tree.fan_out + last.rank == before


def test_the_picture_shows_other_ranks_than_zero_on_every_level():
    assert [step.rank for step in live.search_tree().steps] == [1, 2, 3]


def test_other_keys_can_be_searched_equal_ones_too():
    snapshot = live.search_tree(5, [5, 9, 5, 5, 1, 5])
    assert keys_of(snapshot.tree.leaves) == [1, 5, 5, 5, 5, 9]
    # Equal keys keep the order of their arrival, and the first of them is found.
    assert [e.position for e in entries(snapshot.tree.leaves)] == [4, 0, 2, 3, 5, 1]
    assert [tuple(step) for step in snapshot.steps] == [(0, 0), (0, 1)]


# --- a merge --------------------------------------------------------------------------------------


def test_before_the_merge_both_trees_have_the_window():
    before, _, _ = live.merge_pim_tree()
    check_tree(before.stable)
    fresh = [entry for tree in before.subindexes for entry in entries(tree)]
    assert len(fresh) == round(live.MERGE_RATIO * live.WINDOW)
    assert [entry.key for entry in fresh] == sorted(entry.key for entry in fresh)
    tuples = max(entry.position for entry in fresh) + 1
    both = [*entries(before.stable.leaves), *fresh]
    found = live_in(both)
    assert len(found) == len(set(found)) and set(found) == window_after(tuples, live.WINDOW)
    assert len(both) - len(found) == len(fresh)


def test_a_subindex_has_the_range_of_its_node():
    before, _, _ = live.merge_pim_tree()
    level = before.stable.levels[before.depth]
    assert len(before.subindexes) == len(level) == 3
    # A node's range ends with the largest key of the children, which is the parent's separator.
    ends = before.stable.levels[before.depth - 1][0].keys
    lowest = -1
    for leaves, end in zip(before.subindexes, ends, strict=False):
        highest = 100 if end is None else end
        assert all(lowest < key <= highest for key in keys_of(leaves))
        lowest = highest


def test_after_the_merge_t_s_has_the_window_and_every_subindex_is_empty():
    before, _, after = live.merge_pim_tree()
    check_tree(after.stable)
    kept = entries(after.stable.leaves)
    fresh = [entry for tree in before.subindexes for entry in entries(tree)]
    assert all(entry.live for entry in kept)
    assert set(kept) == {e for e in (*entries(before.stable.leaves), *fresh) if e.live}
    assert after.subindexes == (((),),) * len(after.stable.levels[after.depth])


def test_half_way_the_smaller_keys_of_both_are_written():
    before, during, after = live.merge_pim_tree()
    assert during.stable == tuple(entries(before.stable.leaves))
    assert during.fresh_taken == len(during.fresh) // 2
    taken = (*during.stable[: during.stable_taken], *during.fresh[: during.fresh_taken])
    left = (*during.stable[during.stable_taken :], *during.fresh[during.fresh_taken :])
    assert max(taken).key <= min(left).key
    assert list(during.written) == sorted(entry for entry in taken if entry.live)
    result = entries(after.stable.leaves)
    assert list(during.written) == result[: len(during.written)]
    assert during.room == len(result) == live.WINDOW


def test_other_windows_can_be_merged_and_too_few_keys_are_refused():
    before, _, after = live.merge_pim_tree(16, 0.5, 0)
    assert len(before.subindexes) == len(after.subindexes) == 1
    assert len(entries(after.stable.leaves)) == 16
    with pytest.raises(UsageError, match="24 keys are needed, received 10"):
        live.merge_pim_tree(16, 0.5, 0, range(10))


# --- a chain --------------------------------------------------------------------------------------


def test_a_chain_has_the_window_at_every_moment():
    for tuples, snapshot in zip(live.LOOKS, live.expire_chain(), strict=True):
        kinds = [each.kind for each in snapshot.subindexes]
        assert kinds == ["oldest", "archived", "archived", "active"]
        for each in snapshot.subindexes:
            check_tree(each.tree)
        found = [entry for each in snapshot.subindexes for entry in entries(each.tree.leaves)]
        assert set(live_in(found)) == window_after(tuples, live.CHAIN_WINDOW)


def test_the_oldest_expires_in_part_then_wholly_and_goes_at_once():
    some, every, gone = live.expire_chain()
    oldest = entries(some.subindexes[0].tree.leaves)
    assert [entry.live for entry in sorted(oldest, key=lambda e: e.position)] == [False] * 3 + [
        True
    ] * 3
    assert not any(entry.live for entry in entries(every.subindexes[0].tree.leaves))
    # Each moves up by one, and nothing is left of the oldest.
    assert entries(gone.subindexes[-1].tree.leaves) == [(live.KEYS[24], 24, True)]
    for one, other in zip(every.subindexes[1:], gone.subindexes, strict=False):
        assert keys_of(one.tree.leaves) == keys_of(other.tree.leaves)
    assert "of the oldest 3 of 6 have expired" in some.event
    assert "emptied at once" in gone.event and "emptied" not in every.event


def test_other_chains_can_be_tried():
    found = live.expire_chain(length=3, looks=(20, 27, 28))
    assert [len(snapshot.subindexes) for snapshot in found] == [3, 3, 3]
    assert "emptied at once" in found[-1].event


# --- short runs -----------------------------------------------------------------------------------


@pytest.mark.skipif(INTERPRETED, reason="a few hundredths of a second a join, compiled")
def test_joins_run_on_keys_that_are_made_up_where_there_is_no_dataset():
    runs = live.joins_by_window(("nested-loop", "pim-tree"), (1 << 6, 1 << 8))
    assert [(run.variant, run.window) for run in runs] == [
        ("nested-loop", 64), ("pim-tree", 64), ("nested-loop", 256), ("pim-tree", 256),
    ]  # fmt: skip
    assert all(run.valid and run.throughput_tps > 0 for run in runs)


def test_made_up_keys_have_the_match_rate_that_is_asked_for():
    settings = {"window": 1 << 8, "dataset": live.made_up_keys()}
    bench = families.ready("join", "pim-tree", settings)
    pairs = bench._expected.digest(0, 1 << 14)[1]
    # Each tuple of both sides matches two on average.
    assert pairs / (2 << 14) == pytest.approx(2, rel=0.05)


def test_joins_run_on_the_dataset_where_there_is_one(monkeypatch):
    monkeypatch.setattr(live, "dataset_path", lambda named, role: (named, role))
    assert live._keys() == (None, "keys")


@pytest.mark.skipif(INTERPRETED, reason="half a million inserts, compiled")
def test_inserts_are_spread_until_keys_drift():
    still, moving = live.inserts_by_subindex()
    assert (still.drift, moving.drift) == (0.0, 1.0)
    # Ten windows, and 32 nodes of T_S with 32 children each.
    assert sum(still.counts) == sum(moving.counts) == 10 * live.DRIFT_WINDOW
    assert len(still.counts) == len(moving.counts) == 32
    equal = sum(still.counts) / len(still.counts)
    assert np.allclose(still.counts, equal, rtol=0.05)
    assert max(moving.counts) == moving.counts[-1] > 3 * equal
    assert min(moving.counts) == moving.counts[0] < equal / 3
