"""Plain Python checks of a quiescent Bw-Tree: entries and invariants."""

from __future__ import annotations

from typing import NamedTuple

from operators.core import epochs
from operators.core.layout import aligned_words
from operators.core.vectors import peek
from operators.index.bw_changes import right_neighbour
from operators.index.bw_consolidation import gather
from operators.index.bw_goals import BwTree, View, own_words
from operators.index.bw_nodes import (
    ABORT,
    LEVEL,
    LOW,
    LOWEST,
    MERGE,
    NO_NODE,
    REMOVE,
    base_at,
    base_lo,
    begin_of,
    block_of,
    child_at,
    entries_of,
    is_stale,
    is_wide,
    kind_of,
    look,
    low_word,
    newest,
    number_of,
)
from operators.index.bw_pool import Pool, free_numbers, waiting_numbers
from operators.index.family import sequence_of

Entry = tuple[int, int]


class Seen(NamedTuple):
    """A node: entries, bounds and right neighbour."""

    reference: int
    level: int
    low: Entry
    high: Entry
    right: int
    entries: list[Entry]
    children: list[int]
    block: int


def look_at(state: BwTree, reference: int) -> Seen:
    """Return the contents of a node."""
    tree = state.nodes
    view = View(*state, aligned_words(own_words(tree.slots)), aligned_words(1), 0)
    head = int(look(tree, reference))
    assert not is_stale(reference, head), f"a reference leads to number {number_of(reference)}"
    kind = kind_of(newest(tree, head))
    assert kind not in (ABORT, REMOVE, MERGE), f"a merge has not come to its end: kind {kind}"
    scratch = state.blocks.count
    count = gather(view, head, scratch)
    assert count == entries_of(newest(tree, head)), f"{count} entries, which are counted wrong"
    begin = begin_of(tree, scratch)
    level = peek(tree.words, begin + LEVEL)
    right, bound = right_neighbour(tree, head)
    low = begin_of(tree, block_of(head)) + LOW
    return Seen(
        reference,
        level,
        (peek(tree.words, low), low_word(tree, low)),
        (peek(tree.words, bound), low_word(tree, bound)),
        right,
        [
            (peek(tree.words, base_at(tree, begin, n)), base_lo(tree, begin, level, n))
            for n in range(count)
        ],
        [peek(tree.words, child_at(tree, begin, n)) for n in range(count)] if level else [],
        block_of(head),
    )


def levels_of(state: BwTree) -> list[list[Seen]]:
    """Return the nodes of each level from left to right, the root's level first.

    Raises
    ------
    AssertionError
        When index terms and right neighbours do not lead to the same nodes.
    """
    levels = [[look_at(state, int(state.nodes.root[0]))]]
    assert levels[0][0].right == NO_NODE, "the root has a right neighbour: it has not grown"
    while levels[-1][0].level > 0:
        children = [look_at(state, child) for node in levels[-1] for child in node.children]
        lows = [entry for node in levels[-1] for entry in node.entries]
        assert [child.low for child in children] == lows, "an index term is not its node's low end"
        behind = [child.right for child in children]
        following = [child.reference for child in children[1:]]
        assert behind == [*following, NO_NODE], "index terms and right neighbours differ"
        assert {child.level for child in children} == {levels[-1][0].level - 1}, "levels"
        levels.append(children)
    return levels


def check_invariants(state: BwTree) -> None:
    """Check a tree at rest.

    Raises
    ------
    AssertionError
        When an invariant does not hold.
    """
    levels = levels_of(state)
    for level in levels:
        for node in level:
            entries = node.entries
            assert entries == sorted(set(entries)), f"entries do not ascend: {entries}"
            assert all(node.low <= entry for entry in entries), f"an entry below {node.low}"
            if node.right != NO_NODE:
                assert all(entry < node.high for entry in entries), f"an entry above {node.high}"
            if node.level:
                assert entries[:1] == [node.low], "the first child is not the node's low end"
        for node, other in zip(level, level[1:], strict=False):
            assert node.high == other.low, "neighbours do not meet"
        assert level[0].low == (LOWEST, 0), "the first node does not begin with the lowest entry"
    nodes = [node for level in levels for node in level]
    used = [node.block for node in nodes]
    idle = free_numbers(state.blocks) + waiting_numbers(state.blocks)
    assert sorted(used + idle) == list(range(state.blocks.count)), "a block is lost, or is twice"
    numbers = [number_of(node.reference) for node in nodes]
    idle = free_numbers(state.numbers)
    assert sorted(numbers + idle) == list(range(state.numbers.count)), "a number is lost, or twice"
    epochs.check_invariants(state.epochs)


def entries(state: BwTree) -> list[tuple[int, int]]:
    """Return key and sequence of each entry of a tree at rest, sorted."""
    found = [entry for node in levels_of(state)[-1] for entry in node.entries]
    if is_wide(state.nodes):
        return sorted((hi, int(sequence_of(lo))) for hi, lo in found)
    return sorted((hi >> 32, int(sequence_of(hi))) for hi, _ in found)


def used_of(pool: Pool) -> int:
    """Return how many blocks, or numbers, are not free; waiting ones count as used."""
    return pool.count - len(free_numbers(pool))
