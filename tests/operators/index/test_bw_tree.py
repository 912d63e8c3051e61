"""The Bw-Tree: by hand, against a model, and on real threads.

The interleavings of the threads' steps are checked in `operators.index.check.bw_tree`.
"""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from operators.contract import ACCEPTED, FULL
from operators.core.jit import INTERPRETED, kernel
from operators.index import bw_tree
from operators.index.bw_goals import (
    CHANGED,
)
from operators.index.bw_inspect import levels_of, used_of
from operators.index.bw_nodes import (
    NO_NODE,
    look,
)
from operators.index.window import NEWEST, OLDEST, make_answer, make_window
from tests.covering import interpreted_is_enough
from tests.operators.core.running import run_threads

SMALL = {"leaf_size": 4, "inner_size": 4, "leaf_chain": 3, "inner_chain": 2}
ROUNDS = 60 if INTERPRETED else 6_000


def planted(*keys: int, bits: int = 32, threads: int = 1, **sizes: int):
    """Return a tree with an entry for each key, positioned at the key, and the tree's views."""
    state = bw_tree.make_state(400, 0, bits, threads, **{**SMALL, **sizes})
    views = bw_tree.views(state, threads)
    bw_tree.enter(views[0])
    for key in keys:
        assert bw_tree.insert(views[0], key, key) == ACCEPTED
    bw_tree.leave(views[0])
    return state, views


def found(view, low: int, high: int, first: int = 0, last: int = 1 << 20) -> list[int]:
    """Return the positions that a search finds, sorted."""
    places, out, window = np.zeros(1, np.int64), make_answer(1000), make_window()
    window[OLDEST], window[NEWEST] = first, last
    bw_tree.enter(view)
    bw_tree.find(view, np.array([low]), 0, 1, places)
    count = bw_tree.scan(view, low, high, places, 0, window, out, 0)
    bw_tree.leave(view)
    return sorted(out[:count].tolist())


# --- one thread -----------------------------------------------------------------------------------


def test_places_are_used_after_the_tree_has_changed():
    state, (view,) = planted(*range(0, 300, 10))
    keys = np.array([95, 95, 200, 0])
    places, out, window = np.zeros(4, np.int64), make_answer(100), make_window()
    window[OLDEST], window[NEWEST] = 1000, 2000
    bw_tree.enter(view)
    bw_tree.find(view, keys, 0, 4, places)
    for key in range(0, 300, 10):
        bw_tree.remove(view, key, key)
    for number in range(60):
        assert bw_tree.insert(view, 5 * number, 1000 + number) == ACCEPTED
    for place, low in enumerate(keys.tolist()):
        out[:2] = -5
        count = bw_tree.scan(view, low, low + 30, places, place, window, out, 2)
        wanted = [1000 + n for n in range(60) if low <= 5 * n <= low + 30]
        assert sorted(out[2:count].tolist()) == wanted and out[:2].tolist() == [-5, -5]
    bw_tree.leave(view)
    bw_tree.check_invariants(state)


def test_what_is_there_is_not_inserted_and_what_is_not_there_not_deleted():
    state, (view,) = planted(1, 2, 3)
    bw_tree.enter(view)
    for change, key, changed in (
        (bw_tree.insert, 2, 0),
        (bw_tree.remove, 9, 0),
        (bw_tree.remove, 2, 1),
        (bw_tree.remove, 2, 0),
        (bw_tree.insert, 2, 1),
    ):
        change(view, key, key)
        assert view.own[CHANGED] == changed
    bw_tree.leave(view)
    assert bw_tree.entries(state) == [(1, 1), (2, 2), (3, 3)]


def test_a_window_that_has_left_leaves_nothing_behind():
    state, (view,) = planted()
    most = 0
    for number in range(600):
        bw_tree.enter(view)
        assert bw_tree.insert(view, number, number) == ACCEPTED
        if number >= 40:
            bw_tree.remove(view, number - 40, number - 40)
        bw_tree.leave(view)
        if number > 100:
            most = max(most, len(levels_of(state)[-1]))
    # Forty rising keys: each leaf has two, except the leaves at the ends.
    assert most <= 25
    bw_tree.check_invariants(state)


def test_a_table_that_is_used_up_says_full_and_changes_nothing():
    # Numbers for three nodes, and one that is reserved for a merge; blocks for more.
    tree = bw_tree.make_tree(4, 40, 32, 1, *SMALL.values())
    (view,) = bw_tree.views(tree, 1)
    bw_tree.enter(view)
    held = 0
    while bw_tree.insert(view, held, held) == ACCEPTED:
        held += 1
        assert held < 100
    assert bw_tree.insert(view, held, held) == FULL
    bw_tree.leave(view)
    assert bw_tree.entries(tree)[:held] == [(key, key) for key in range(held)]
    bw_tree.enter(view)
    for key in range(held):
        bw_tree.remove(view, key, key)
    for key in range(8):
        assert bw_tree.insert(view, key, key) == ACCEPTED
    bw_tree.leave(view)


STEPS = st.lists(
    st.tuples(st.sampled_from(["insert", "remove", "search"]), st.integers(-6, 6)), max_size=150
)


@settings(max_examples=60 if INTERPRETED else 30, deadline=None)
@given(STEPS, st.sampled_from([32, 64]), st.integers(2, 4), st.integers(1, 3))
def test_any_order_of_updates_is_that_of_a_model(steps, bits, leaf_chain, inner_chain):
    sizes = {"leaf_chain": leaf_chain, "inner_chain": inner_chain}
    state, (view,) = planted(bits=bits, **sizes)
    model: list[tuple[int, int]] = []
    for position, (what, number) in enumerate(steps):
        bw_tree.enter(view)
        if what == "insert":
            assert bw_tree.insert(view, number, position) == ACCEPTED
            model.append((number, position))
        elif what == "remove" and model:
            bw_tree.remove(view, *model.pop(number % len(model)))
        bw_tree.leave(view)
        if what == "search":
            wanted = sorted(p for key, p in model if number <= key <= number + 3)
            assert found(view, number, number + 3) == wanted
    assert bw_tree.entries(state) == sorted(model)
    bw_tree.check_invariants(state)


@pytest.mark.parametrize("bits", [32, 64])
def test_every_block_and_number_comes_back(bits):
    count = 120
    state, (view,) = planted(bits=bits)
    keys = np.random.default_rng(3).permutation(count).tolist()
    for turn in range(2):
        for key in keys:
            bw_tree.enter(view)
            assert bw_tree.insert(view, key, key) == ACCEPTED
            bw_tree.leave(view)
        assert found(view, 0, count) == list(range(count)), turn
        for number, key in enumerate(keys):
            bw_tree.enter(view)
            bw_tree.remove(view, key, key)
            bw_tree.leave(view)
            if number % 5 == 0:
                bw_tree.check_invariants(state)
                assert found(view, 0, count) == sorted(keys[number + 1 :])
    # A leaf, and above it the chain of only children under the root.
    levels = levels_of(state)
    assert [len(level) for level in levels] == [1] * len(levels)
    assert used_of(state.numbers) == len(levels)


def test_a_tree_that_is_wrong_is_noticed():
    state, _ = planted(*range(20))
    inner = levels_of(state)[-2][0]
    nodes = state.nodes
    head = int(look(nodes, inner.reference))
    nodes.table[inner.reference] = NO_NODE
    with pytest.raises(AssertionError, match="a reference leads to number"):
        bw_tree.check_invariants(state)
    nodes.table[inner.reference] = head
    bw_tree.check_invariants(state)
    state.epochs.pins[0] = 3
    with pytest.raises(AssertionError, match="invariant 2: thread 0 is pinned"):
        bw_tree.check_invariants(state)


# --- threads --------------------------------------------------------------------------------------


@kernel
def come_and_go(view, keys, first, held, rounds):
    """Keep `held` of the keys in the tree, at positions from `first` on; return the error count."""
    wrong = 0
    for number in range(rounds + held):
        bw_tree.enter(view)
        if number < rounds:
            wrong += bw_tree.insert(view, keys[number % len(keys)], first + number) != ACCEPTED
            wrong += view.own[CHANGED] != 1
        if number >= held:
            gone = number - held
            bw_tree.remove(view, keys[gone % len(keys)], first + gone)
            wrong += view.own[CHANGED] != 1
        bw_tree.leave(view)
    return wrong


@kernel
def look_again(view, lows, width, sums, window, places, out, rounds):
    """Search several ranges repeatedly in one group; return the number of wrong answers.

    `sums` holds, for each range, the expected number of positions and the sum of their squares.
    """
    wrong = 0
    for _ in range(rounds):
        bw_tree.enter(view)
        bw_tree.find(view, lows, 0, len(lows), places)
        for each in range(len(lows)):
            low = lows[each]
            count = bw_tree.scan(view, low, low + width, places, each, window, out, 0)
            squares = 0
            for at in range(count):
                squares += out[at] * out[at]
            wrong += count != sums[2 * each] or squares != sums[2 * each + 1]
        bw_tree.leave(view)
    return wrong


def moving(kind: str, threads: int) -> list[np.ndarray]:
    """Return the keys that each thread inserts and deletes."""
    rng = np.random.default_rng(len(kind))
    if kind == "equal":
        return [np.full(50, 64 * 5)] * threads
    if kind == "random":
        return [rng.integers(0, 64 * 60, 5000) for _ in range(threads)]
    # Sweeps that fill leaves and drain them again, upwards and downwards.
    sweep = np.concatenate([np.arange(0, 3840, 3), np.arange(3840, 0, -5)])
    return [np.roll(sweep, 97 * each) for each in range(threads)]


# Compiled: the contract of shared indexes runs threads on nodes of four in every test run. That
# kernel and the ones below take as long to compile as those of both other trees together.
@interpreted_is_enough
@pytest.mark.parametrize("leaf_size", [4, 32])
@pytest.mark.parametrize("kind", ["equal", "random", "sweeps"])
@pytest.mark.parametrize(("updating", "searching"), [(1, 1), (2, 1), (3, 2)])
def test_what_stays_is_found_once_whatever_moves_around_it(leaf_size, kind, updating, searching):
    held, stay = 40, np.arange(60) * 64
    threads = updating + searching
    sizes = {**SMALL, "leaf_size": leaf_size}
    state = bw_tree.make_state(60, updating * (held + 1), 32, threads, **sizes)
    views = bw_tree.views(state, threads)
    bw_tree.enter(views[0])
    for position, key in enumerate(stay.tolist()):
        assert bw_tree.insert(views[0], key, position) == ACCEPTED
    bw_tree.leave(views[0])
    lows = np.arange(0, 60 * 64, 64 * 7)
    width, sums = 700, np.zeros(2 * len(lows), np.int64)
    for place, low in enumerate(lows.tolist()):
        inside = np.flatnonzero((stay >= low) & (stay <= low + width))
        sums[2 * place : 2 * place + 2] = len(inside), (inside**2).sum()
    wrong = []

    def update(thread: int) -> None:
        keys = moving(kind, updating)[thread].astype(np.int64)
        first = 1000 + thread * 10_000_000
        wrong.append(come_and_go(views[thread], keys, first, held, ROUNDS // updating))

    def search(thread: int) -> None:
        places, out, window = np.zeros(len(lows), np.int64), make_answer(60), make_window()
        window[OLDEST], window[NEWEST] = 0, 59
        args = lows, width, sums, window, places, out, max(ROUNDS // 8, 5)
        wrong.append(look_again(views[thread], *args))

    run_threads(
        *(lambda t=t: update(t) for t in range(updating)),
        *(lambda t=t: search(t) for t in range(updating, threads)),
    )
    assert wrong == [0] * threads
    assert bw_tree.entries(state) == sorted(zip(stay.tolist(), range(60), strict=True))
    bw_tree.check_invariants(state)


@kernel
def insert_until_new(view, key, rounds):
    """Insert one entry `rounds` times; return how often the entry was present already."""
    there = 0
    for _ in range(rounds):
        bw_tree.enter(view)
        bw_tree.insert(view, key, 7)
        there += 1 - view.own[CHANGED]
        bw_tree.leave(view)
    return there


@kernel
def delete_until_gone(view, key, rounds):
    """Delete one entry again and again; return how often the entry was absent."""
    gone = 0
    for _ in range(rounds):
        bw_tree.enter(view)
        bw_tree.remove(view, key, 7)
        gone += 1 - view.own[CHANGED]
        bw_tree.leave(view)
    return gone


@interpreted_is_enough
def test_insertions_and_deletions_of_one_entry_take_turns():
    state, views = planted(3, 9, threads=2)
    answers: dict[str, int] = {}
    run_threads(
        lambda: answers.update(there=insert_until_new(views[0], 5, ROUNDS)),
        lambda: answers.update(gone=delete_until_gone(views[1], 5, ROUNDS)),
    )
    inserted, deleted = ROUNDS - answers["there"], ROUNDS - answers["gone"]
    left = [entry for entry in bw_tree.entries(state) if entry == (5, 7)]
    assert inserted - deleted == len(left)
    bw_tree.check_invariants(state)
