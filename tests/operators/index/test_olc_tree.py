"""The tree with optimistic lock coupling: by hand, against a model, and on real threads.

In the threaded tests, all searches ask for some entries that stay. Around these, other entries come
and go, so that leaves split, merge and borrow while they are read. Nodes of four entries make such
changes frequent.
"""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from operators.contract import ACCEPTED, FULL
from operators.core import marks
from operators.core.jit import INTERPRETED, kernel
from operators.index import olc_tree
from operators.index.window import NEWEST, OLDEST, make_answer, make_window
from tests.covering import compiled_few
from tests.operators.core.running import run_threads

ROUNDS = 40 if INTERPRETED else 4_000
WORDS = olc_tree.PLACE_WORDS


def asked_for(first: int, last: int) -> np.ndarray:
    """Return the words of a window from one position to another."""
    words = make_window()
    words[OLDEST], words[NEWEST] = first, last
    return words


def found(tree, low: int, high: int, window: np.ndarray, room: int = 200) -> list[int]:
    """Return the positions that a search finds, sorted."""
    places, out = np.zeros(WORDS, np.int64), make_answer(room)
    olc_tree.find(tree, np.array([low]), 0, 1, places)
    count = olc_tree.scan(tree, low, high, places, 0, window, out, 0)
    return sorted(out[:count].tolist())


# --- one thread -----------------------------------------------------------------------------------


def test_a_place_is_used_after_the_tree_has_changed():
    (tree,) = olc_tree.views(olc_tree.make_state(60, fan_out=4), 1)
    for position in range(30):
        assert olc_tree.insert(tree, 10 * position, position) == ACCEPTED
    keys = np.array([95, 95, 200, 0])
    places, out = np.zeros(4 * WORDS, np.int64), make_answer(60)
    olc_tree.find(tree, keys, 0, 4, places)
    # All leaves are removed and reused for other keys.
    for position in range(30):
        olc_tree.remove(tree, 10 * position, position)
    for position in range(30, 60):
        assert olc_tree.insert(tree, 300 - 5 * position, position) == ACCEPTED
    window = asked_for(30, 59)
    for each, low in enumerate(keys.tolist()):
        count = olc_tree.scan(tree, low, low + 30, places, each * WORDS, window, out, 0)
        wanted = [p for p in range(30, 60) if low <= 300 - 5 * p <= low + 30]
        assert sorted(out[:count].tolist()) == wanted
    olc_tree.check_invariants(tree)


def test_a_scan_adds_to_what_was_found_before():
    (tree,) = olc_tree.views(olc_tree.make_state(8, fan_out=4), 1)
    for position in range(8):
        olc_tree.insert(tree, position, position)
    places, out = np.zeros(WORDS, np.int64), make_answer(10)
    out[:2] = -5
    olc_tree.find(tree, np.array([2]), 0, 1, places)
    count = olc_tree.scan(tree, 2, 6, places, 0, asked_for(3, 7), out, 2)
    assert out[:count].tolist()[:2] == [-5, -5]
    assert sorted(out[2:count].tolist()) == [3, 4, 5, 6]


def test_a_leaf_that_grows_under_a_scan_writes_nothing_behind_the_answer():
    (tree,) = olc_tree.views(olc_tree.make_state(40), 1)
    for position in range(30):
        assert olc_tree.insert(tree, position, position) == ACCEPTED
    # The state seen by a scan that read the count before entries were moved in.
    tree.forest.counts[tree.forest.roots[0]] = 2
    places, memory = np.zeros(WORDS, np.int64), make_answer(60)
    memory[:] = -5
    out = memory[: len(make_answer(2))]
    olc_tree.find(tree, np.array([0]), 0, 1, places)
    assert olc_tree.scan(tree, 0, 40, places, 0, asked_for(0, 29), out, 0) == 2
    assert out[:2].tolist() == [0, 1]
    assert (memory[len(out) :] == -5).all()


def test_boundaries_full_comes_when_nodes_have_run_out_and_changes_nothing():
    (tree,) = olc_tree.views(olc_tree.make_state(10, fan_out=4), 1)
    held = 0
    while olc_tree.insert(tree, held, held) == ACCEPTED:
        held += 1
    assert held >= 10
    before = olc_tree.entries(tree)
    assert before == [(key, key) for key in range(held)]
    assert olc_tree.insert(tree, held, held) == FULL
    assert olc_tree.entries(tree) == before
    for key in range(held):
        olc_tree.remove(tree, key, key)
    assert olc_tree.entries(tree) == []
    olc_tree.check_invariants(tree)
    for key in range(held):
        assert olc_tree.insert(tree, key, key) == ACCEPTED


def test_what_is_not_there_is_not_removed():
    (tree,) = olc_tree.views(olc_tree.make_state(40, fan_out=4), 1)
    for position in range(20):
        olc_tree.insert(tree, 7, position)
    olc_tree.remove(tree, 7, 33)
    olc_tree.remove(tree, 8, 3)
    assert len(olc_tree.entries(tree)) == 20
    olc_tree.check_invariants(tree)


def test_every_node_comes_back():
    state = olc_tree.make_state(200, threads=1, fan_out=4)
    (tree,) = olc_tree.views(state, 1)
    before = olc_tree.footprint(state)
    gone = marks.hits["olc_tree: a root with a single child goes"]
    for key in np.random.default_rng(3).permutation(200).tolist():
        assert olc_tree.insert(tree, key, key) == ACCEPTED
    for key in np.random.default_rng(4).permutation(200).tolist():
        olc_tree.remove(tree, key, key)
        olc_tree.check_invariants(state)
    assert olc_tree.footprint(state) == before
    assert marks.hits["olc_tree: a root with a single child goes"] > gone


def test_a_lock_that_is_held_and_a_node_that_is_lost_are_noticed():
    state = olc_tree.make_state(8)
    state.locks[0] += 1
    with pytest.raises(AssertionError, match="somebody has the lock of node 0 at rest"):
        olc_tree.check_invariants(state)
    state = olc_tree.make_state(8)
    state.locks[1] = 0
    with pytest.raises(AssertionError, match="invariant 8: node 1 is obsolete: False"):
        olc_tree.check_invariants(state)


STEPS = st.lists(
    st.tuples(st.sampled_from(["insert", "remove", "search"]), st.integers(0, 12)), max_size=120
)


@settings(max_examples=40 if INTERPRETED else 120, deadline=None)
@given(STEPS)
def test_any_order_of_deletions_is_that_of_a_model(steps):
    (tree,) = olc_tree.views(olc_tree.make_state(130, fan_out=4), 1)
    model: list[tuple[int, int]] = []
    for position, (what, number) in enumerate(steps):
        if what == "insert":
            assert olc_tree.insert(tree, number, position) == ACCEPTED
            model.append((number, position))
        elif what == "remove" and model:
            olc_tree.remove(tree, *model.pop(number % len(model)))
        else:
            wanted = sorted(p for key, p in model if number <= key <= number + 3)
            assert found(tree, number, number + 3, asked_for(0, position)) == wanted
        olc_tree.check_invariants(tree)
    assert olc_tree.entries(tree) == sorted(model)


# --- threads --------------------------------------------------------------------------------------


@kernel
def come_and_go(tree, keys, first, come, held, go):
    """Insert `come` keys at positions from `first` on, and delete `go`, `held` positions later.

    Returns the number of refused insertions.
    """
    refused = 0
    for number in range(max(come, held + go)):
        if number < come:
            key = keys[number % len(keys)]
            refused += olc_tree.insert(tree, key, first + number) != ACCEPTED
        gone = number - held
        if 0 <= gone < go:
            olc_tree.remove(tree, keys[gone % len(keys)], first + gone)
    return refused


@kernel
def look(tree, lows, width, sums, window, places, out, rounds):
    """Search several ranges repeatedly in one group; return the number of wrong answers.

    `sums` holds, for each range, the expected number of positions and the sum of their squares.
    """
    wrong = 0
    together = len(lows)
    for _ in range(rounds):
        olc_tree.find(tree, lows, 0, together, places)
        for each in range(together):
            low = lows[each]
            count = olc_tree.scan(tree, low, low + width, places, each * WORDS, window, out, 0)
            squares = 0
            for at in range(count):
                squares += out[at] * out[at]
            wrong += count != sums[each, 0] or squares != sums[each, 1]
    return wrong


def stays_and_churn(kind: str, threads: int):
    """Return the keys of the entries that stay, and the keys that each other thread moves."""
    rng = np.random.default_rng(len(kind))
    if kind == "equal":
        return np.full(60, 5), [np.full(50, 5)] * threads
    if kind == "few":
        return rng.integers(0, 12, 60), [rng.integers(0, 12, 500) for _ in range(threads)]
    if kind == "apart":
        return np.arange(60) * 64, [rng.integers(0, 64 * 60, 5000) for _ in range(threads)]
    # Sweeps that fill leaves and drain them again, upwards and downwards.
    sweep = np.concatenate([np.arange(0, 3840, 3), np.arange(3840, 0, -5)])
    return np.arange(60) * 64, [np.roll(sweep, 97 * each) for each in range(threads)]


# Compiled threads on nodes of 32 are covered by the contract of shared indexes.
@pytest.mark.parametrize("fan_out", compiled_few([4, 32], [4]))
@pytest.mark.parametrize("kind", ["equal", "few", "apart", "sweeps"])
@pytest.mark.parametrize(("churning", "looking"), [(1, 1), (2, 2)])
def test_what_stays_is_found_once_whatever_moves_around_it(fan_out, kind, churning, looking):
    rounds = ROUNDS // churning
    stay, moved = stays_and_churn(kind, churning)
    held = 40
    slack = churning * (held + 1)
    threads = churning + looking
    state = olc_tree.make_state(len(stay), slack, 32, threads, fan_out=fan_out)
    views = olc_tree.views(state, threads)
    for position, key in enumerate(stay.tolist()):
        assert olc_tree.insert(views[0], key, position) == ACCEPTED
    lows = np.unique(stay)[:: max(len(np.unique(stay)) // 8, 1)].astype(np.int64)
    width = 1 if kind in ("equal", "few") else 700
    sums = np.zeros((len(lows), 2), np.int64)
    for row, low in zip(sums, lows.tolist(), strict=True):
        inside = np.flatnonzero((stay >= low) & (stay <= low + width))
        row[:] = len(inside), (inside**2).sum()
    wrong, refused = [], []

    def churn(thread: int) -> None:
        keys = moved[thread].astype(np.int64)
        first = 1000 + thread * 10_000_000
        refused.append(come_and_go(views[thread], keys, first, rounds, held, rounds))

    def search(thread: int) -> None:
        places, out = np.zeros(len(lows) * WORDS, np.int64), make_answer(len(stay))
        window = asked_for(0, len(stay) - 1)
        args = (lows, width, sums, window, places, out, max(rounds // 8, 5))
        wrong.append(look(views[thread], *args))

    churn_calls = [lambda t=t: churn(t) for t in range(churning)]
    run_threads(*churn_calls, *(lambda t=t: search(t) for t in range(churning, threads)))
    assert wrong == [0] * looking
    assert refused == [0] * churning
    assert olc_tree.entries(state) == sorted(zip(stay.tolist(), range(len(stay)), strict=True))
    olc_tree.check_invariants(state)


def test_insertions_and_deletions_of_one_key_meet():
    rounds = ROUNDS // 4
    state = olc_tree.make_state(2 * rounds, 0, 32, 2, fan_out=4)
    views = olc_tree.views(state, 2)
    key = np.array([3])
    for turn in range(6):
        assert come_and_go(views[0], key, 0, rounds, 0, 0) == 0
        run_threads(
            lambda: come_and_go(views[0], key, rounds, rounds, 0, 0),
            lambda: come_and_go(views[1], key, 0, 0, 0, rounds),
        )
        assert olc_tree.entries(state) == [(3, rounds + number) for number in range(rounds)], turn
        olc_tree.check_invariants(state)
        come_and_go(views[1], key, rounds, 0, 0, rounds)
        assert olc_tree.entries(state) == []
