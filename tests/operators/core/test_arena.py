"""The arena: each node is handed out once, and freed nodes are poisoned for late readers."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from operators.contract import UsageError
from operators.core import marks
from operators.core.arena import (
    NO_NODE,
    check_invariants,
    free_count,
    give_back,
    make_arena,
    take,
    take_all_back,
)
from operators.core.jit import INTERPRETED, kernel
from operators.core.layout import LINE_BYTES
from operators.core.marks import POISON
from operators.core.reference import FreeList
from tests.operators.core.running import ROUNDS, forms, run_threads


@kernel
def apply(arena, script, answers, held):
    """Run rows (owner, which) of `script`: take if `which` is negative, else give back.

    ``held[owner]`` is the list of nodes taken, preceded by the length. `which` selects one of them.
    """
    for row in range(len(script)):
        owner, which = script[row, 0], script[row, 1]
        mine = held[owner]
        if which < 0:
            node = take(arena, owner)
            answers[row] = node
            if node != NO_NODE:
                mine[0] += 1
                mine[mine[0]] = node
        elif mine[0]:
            place = which % mine[0] + 1
            node = mine[place]
            mine[place] = mine[mine[0]]
            mine[0] -= 1
            give_back(arena, owner, node)
            answers[row] = node


@kernel
def churn(arena, owner, rounds):
    """Take two nodes, sign and check them, give them back; return how often a sign was wrong."""
    wrong = 0
    for turn in range(rounds):
        first = take(arena, owner)
        second = take(arena, owner)
        arena.words[first * arena.node_words] = turn
        arena.words[second * arena.node_words] = -turn
        wrong += arena.words[first * arena.node_words] != turn
        give_back(arena, owner, first)
        give_back(arena, owner, second)
    return wrong


def test_smoke_the_last_node_given_back_is_the_next_one_taken():
    arena = make_arena(2, 3, 2)
    assert [take(arena, 1) for _ in range(2)] == [3, 4]
    give_back(arena, 1, 3)
    assert take(arena, 1) == 3
    assert [int(free_count(arena, owner)) for owner in range(2)] == [3, 1]
    check_invariants(arena)


def test_capacity_is_exact_and_each_owners_own():
    arena = make_arena(2, 4, 1)
    assert sorted(take(arena, 0) for _ in range(4)) == [0, 1, 2, 3]
    assert take(arena, 0) == NO_NODE
    assert take(arena, 1) == 4
    check_invariants(arena)


@pytest.mark.parametrize("wrong", [(0, 1, 1), (1, 0, 1), (1, 1, 0)])
def test_boundaries_of_the_parameters(wrong):
    with pytest.raises(UsageError, match="at least 1 of .*, received 0"):
        make_arena(*wrong)


def test_boundaries_two_owners_share_no_cache_line():
    arena = make_arena(3, 5, 1)
    for words, step in ((arena.free_counts, 8), (arena.free_nodes, arena.stack_words)):
        assert words.ctypes.data % LINE_BYTES == 0
        assert step * 8 % LINE_BYTES == 0


def test_boundaries_poison_reaches_the_whole_node_and_no_other():
    arena = make_arena(1, 3, 2)
    nodes = [take(arena, 0) for _ in range(3)]
    arena.words[:] = 7
    give_back(arena, 0, nodes[1])
    assert arena.words.tolist() == [7, 7, POISON, POISON, 7, 7]


def test_boundaries_poison_is_left_out_of_the_compiled_form():
    arena = make_arena(1, 1, 2)
    script = np.array([(0, -1), (0, 0)])
    apply(arena, script, np.zeros(2, np.int64), np.zeros((1, 2), np.int64))
    assert arena.words.tolist() == ([POISON] * 2 if INTERPRETED else [0, 0])


def test_boundaries_a_node_given_back_twice_or_elsewhere_is_found():
    arena = make_arena(2, 2, 1)
    node = take(arena, 0)
    take(arena, 0)
    give_back(arena, 0, node)
    give_back(arena, 0, node)
    with pytest.raises(AssertionError, match="owner 0: a node is free twice"):
        check_invariants(arena)
    arena = make_arena(2, 2, 1)
    take(arena, 1)
    give_back(arena, 1, node)
    with pytest.raises(AssertionError, match="owner 1: a strange node"):
        check_invariants(arena)


@given(
    capacity=st.integers(1, 4),
    script=st.lists(st.tuples(st.integers(0, 1), st.integers(-3, 5)), min_size=1, max_size=60),
)
def test_oracle_hands_out_the_same_nodes_in_both_forms(capacity, script):
    expected = []
    lists = [FreeList(owner * capacity, capacity) for owner in range(2)]
    taken: list[list[int]] = [[], []]
    for owner, which in script:
        mine = taken[owner]
        node = None
        if which < 0:
            node = lists[owner].take()
            if node is not None:
                mine.append(node)
        elif mine:
            place = which % len(mine)
            node, mine[place] = mine[place], mine[-1]
            mine.pop()
            lists[owner].give_back(node)
        expected.append(NO_NODE if node is None else node)
    for form in forms(apply):
        arena = make_arena(2, capacity, 1)
        answers = np.full(len(script), NO_NODE, np.int64)
        form(arena, np.array(script, np.int64), answers, np.zeros((2, capacity + 1), np.int64))
        assert answers.tolist() == expected
        check_invariants(arena)


def test_marks_each_rare_branch_is_met():
    marks.hits.clear()
    arena = make_arena(1, 1, 1)
    take(arena, 0)
    assert take(arena, 0) == NO_NODE
    assert marks.hits["arena: exhausted"] == 1


def test_threads_owners_do_not_disturb_each_other():
    arena = make_arena(3, 2, 4)
    wrong = []
    run_threads(*(lambda o=owner: wrong.append(churn(arena, o, ROUNDS)) for owner in range(3)))
    assert wrong == [0, 0, 0]
    check_invariants(arena)


def test_all_nodes_taken_back_are_handed_out_in_the_same_order():
    arena = make_arena(2, 5, 1)
    first = [take(arena, 1) for _ in range(5)]
    assert take(arena, 1) == NO_NODE
    take_all_back(arena, 1)
    check_invariants(arena)
    assert free_count(arena, 1) == 5 and free_count(arena, 0) == 5
    assert [take(arena, 1) for _ in range(5)] == first
