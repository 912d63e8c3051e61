"""Functions that deal numbers out to shares, slots and partitions: all small numbers, exhaustively.

A share is in range, the shares do not fall with the number, and their sizes differ by one at most.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from itertools import product
from types import SimpleNamespace

import numpy as np
import pytest

from operators.core.layout import LINE_WORDS
from operators.index.pim_parallel_merge import first_of
from operators.index.pim_parallel_state import MOST_PIECES, PIECES, SUBINDEXES
from operators.pipeline.declare import STATELESS
from operators.pipeline.stage import partition_of
from operators.streamcloud.partition import LEFT, RIGHT, Grid, by_hash, by_turn

MOST_NUMBERS, MOST_PARTS = 40, 12


def check_shares(shares: Sequence[int], parts: int) -> None:
    """Check where consecutive numbers go: in range, not falling, parts of nearly one size."""
    assert all(0 <= share < parts for share in shares)
    assert list(shares) == sorted(shares)
    sizes = Counter(shares)
    assert max(sizes.values()) - min(sizes.get(part, 0) for part in range(parts)) <= 1


def check_turns(shares: Sequence[int], parts: int) -> None:
    """Check numbers that are dealt in turn: in range, and parts of nearly one size."""
    assert all(0 <= share < parts for share in shares)
    sizes = Counter(shares)
    assert max(sizes.values()) - min(sizes.get(part, 0) for part in range(parts)) <= 1


def each_pair() -> list[tuple[int, int]]:
    """Return all counts of numbers and of parts."""
    return list(product(range(1, MOST_NUMBERS + 1), range(1, MOST_PARTS + 1)))


def test_key_ranges_of_a_pipeline_are_of_one_width():
    for keys, partitions in each_pair():
        stage = SimpleNamespace(keys=keys, partitions=partitions, table_rows=0, kind=STATELESS)
        check_shares([partition_of(stage, key, 1) for key in range(keys)], partitions)


def test_hashed_keys_of_a_pipeline_are_in_range():
    for keys, partitions in each_pair():
        stage = SimpleNamespace(keys=keys, partitions=partitions, table_rows=0, kind=STATELESS)
        assert {partition_of(stage, key, 0) for key in range(keys)} <= set(range(partitions))


def test_pieces_of_a_merge_are_subindexes_in_a_row():
    for subindexes in range(1, MOST_NUMBERS + 1):
        for pieces in range(1, min(subindexes, MOST_PIECES) + 1):
            words = np.zeros(4 * LINE_WORDS, dtype=np.int64)
            words[SUBINDEXES], words[PIECES] = subindexes, pieces
            tree = SimpleNamespace(words=words)
            begins = [first_of(tree, piece) for piece in range(pieces + 1)]
            assert begins[0] == 0 and begins[-1] == subindexes
            sizes = np.diff(begins)
            assert min(sizes) >= 1 and max(sizes) - min(sizes) <= 1


def test_tuples_go_to_instances_in_turn():
    for count, instances in each_pair():
        check_turns([by_turn(position, instances) for position in range(count)], instances)


def test_hashes_go_to_an_instance_in_range():
    for number, instances in each_pair():
        assert 0 <= by_hash(number * 0x9E3779B97F4A7C15 % 2**63, instances) < instances
        assert by_hash(0, instances) == 0


@pytest.mark.parametrize("side", [LEFT, RIGHT])
def test_each_two_hashes_of_a_grid_meet_at_one_instance(side):
    for instances in range(1, MOST_NUMBERS + 1):
        one, other = Grid.of(instances, side), Grid.of(instances, LEFT + RIGHT - side)
        assert one.rows * one.columns == instances and one.rows <= one.columns
        for left, right in product(range(MOST_PARTS), repeat=2):
            met = set(one.destinations(left, instances)) & set(other.destinations(right, instances))
            assert len(met) == 1 and met <= set(range(instances))
