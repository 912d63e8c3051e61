"""Partitions: the paper's example, and that tuples meet that must meet."""

from __future__ import annotations

from collections import Counter
from itertools import product

import numpy as np
import pytest

from operators.contract import UsageError
from operators.core.jit import kernel
from operators.streamcloud.partition import (
    LEFT,
    RIGHT,
    Grid,
    Hash,
    RoundRobin,
    by_grid,
    by_hash,
    by_turn,
    hash_of,
    hashed_with,
    words_of,
)

INT64 = np.iinfo(np.int64)


def test_the_papers_four_instances_get_what_its_fig_4_gives_them():
    # Of the left stream the parts (0, 3) and (1, 2), of the right one (A, C) and (B, D).
    left = {0: (0, 3), 1: (1, 2)}
    right = {0: "AC", 1: "BD"}
    got = {instance: [[], []] for instance in range(4)}
    for side, parts in ((LEFT, left), (RIGHT, right)):
        for part, letters in parts.items():
            word = part << 1  # by_hash looks at the word without its last bit
            for instance in Grid(2, 2, side).destinations(word, 4):
                got[instance][side] += letters
    assert got == {
        0: [[0, 3], ["A", "C"]],
        1: [[0, 3], ["B", "D"]],
        2: [[1, 2], ["A", "C"]],
        3: [[1, 2], ["B", "D"]],
    }


@pytest.mark.parametrize("instances", range(1, 41))
def test_each_pair_of_a_product_meets_in_one_instance(instances):
    left, right = Grid.of(instances, LEFT), Grid.of(instances, RIGHT)
    assert left.rows * left.columns == instances
    assert (left.rows, left.columns) == (right.rows, right.columns)
    words = [hash_of([number]) for number in range(60)]
    sent = [[set(grid.destinations(word, instances)) for word in words] for grid in (left, right)]
    assert all(len(one & other) == 1 for one, other in product(*sent))
    for grid in (left, right):
        for word in words:
            found = grid.destinations(word, instances)
            assert len(set(found)) == grid.copies(instances)
            assert all(0 <= each < instances for each in found)


def test_a_grid_is_the_pair_of_divisors_closest_to_a_square():
    def closest(instances):
        pairs = [(r, instances // r) for r in range(1, instances + 1) if instances % r == 0]
        return min((pair for pair in pairs if pair[0] <= pair[1]), key=lambda pair: pair[1])

    for instances in range(1, 200):
        grid = Grid.of(instances, LEFT)
        assert (grid.rows, grid.columns) == closest(instances)
    assert (Grid.of(36, LEFT).rows, Grid.of(64, LEFT).columns) == (6, 8)


def test_every_instance_of_a_grid_gets_a_fair_share():
    words = [hash_of([7, 3, number]) for number in range(6000)]
    for side, parts in ((LEFT, 2), (RIGHT, 3)):
        got = Counter(each for word in words for each in Grid(2, 3, side).destinations(word, 6))
        assert set(got) == set(range(6))
        assert all(abs(count - 6000 / parts) < 300 for count in got.values())


@pytest.mark.parametrize("given", [(0, 1, LEFT), (1, 0, LEFT), (2, 2, 2)])
def test_a_grid_that_is_none_is_refused(given):
    with pytest.raises(UsageError, match="at least one row and one column"):
        Grid(*given)


def test_a_grid_for_other_instances_is_refused():
    with pytest.raises(UsageError, match="a grid of 2 x 3 has 6 instances, received 4"):
        Grid(2, 3, LEFT).destinations(5, 4)


def test_round_robin_gives_each_instance_every_nth_tuple():
    found = [RoundRobin().destinations(position, 3) for position in range(7)]
    assert found == [(0,), (1,), (2,), (0,), (1,), (2,), (0,)]


def test_a_hash_spreads_what_is_regular():
    for step in (1, 2, 64, 1 << 32):
        got = Counter(Hash(("a",)).destinations(hash_of([step * n]), 16)[0] for n in range(8000))
        assert set(got) == set(range(16))
        assert all(abs(count - 500) < 110 for count in got.values()), step


def test_a_hash_of_nothing_is_instance_0():
    assert Hash(()).destinations(hash_of([]), 7) == (0,)


def test_a_hash_is_within_the_instances_at_every_extreme():
    for word in (INT64.min, -1, 0, 1, INT64.max):
        for instances in (1, 2, 3, 16):
            assert 0 <= by_hash(word, instances) < instances


def test_hashes_of_values_are_those_of_their_words_and_order():
    assert hash_of([1, 2]) != hash_of([2, 1])
    assert hash_of(["ab", "c"]) != hash_of(["a", "bc"])
    assert hash_of([""]) != hash_of([])
    assert hash_of(["a"]) != hash_of(["a\0"])
    assert hash_of([0.0]) == hash_of([-0.0])
    assert hash_of(["straße"]) != hash_of(["strasse"])
    assert len(words_of("12345678")) == 2 and len(words_of("123456789")) == 3


def test_hashes_never_change():
    """States written by one version are read by the next: tuples must keep their partitions."""
    assert words_of("ab") == (2, 25185)
    # Computed by shell arithmetic; the first is the first output of SplitMix64 for seed 0.
    assert hash_of([0]) == -2152535657050944081
    assert hash_of([1, -1]) == -3552337851835194458
    assert hash_of(["district 9"]) == -6428383735478514214


@kernel
def route(words, rows, columns, copy, found):
    hashed = 0
    for number in range(len(words)):
        hashed = hashed_with(hashed, words[number])
    found[0] = by_turn(words[0], rows * columns)
    found[1] = by_hash(hashed, rows * columns)
    found[2] = by_grid(hashed, rows, columns, LEFT, copy)
    found[3] = by_grid(hashed, rows, columns, RIGHT, copy)


@pytest.mark.parametrize("words", [[5], [3, INT64.max, INT64.min], [0, -1, 1]])
def test_kernels_send_tuples_where_python_does(words):
    found = np.zeros(4, np.int64)
    route(np.array(words, np.int64), 2, 3, 1, found)
    hashed = hash_of(words)
    assert list(found) == [
        words[0] % 6,
        Hash(("a",)).destinations(hashed, 6)[0],
        Grid(2, 3, LEFT).destinations(hashed, 6)[1],
        Grid(2, 3, RIGHT).destinations(hashed, 6)[1],
    ]
