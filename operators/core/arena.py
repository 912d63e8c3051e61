"""Bounded pools of nodes, one for each owner, that hand out indices and take them back.

Hot paths allocate nothing, so each thread that makes nodes owns a fixed number of them and a stack
of the free ones. The last node given back is the first one handed out: it is the most likely to
still be in the cache.

An *owner* is one thread (at a time): ``take`` and ``give_back`` touch words of that owner only and
need no atomics. A node that another thread may still read must not be given back; ensuring that is
left to the structure that uses the arena.

Interpreted, a node that is given back is *poisoned*: the words turn into ``marks.POISON``, so that
a thread that reads it too late returns a value that no test expects. Compiled, that costs nothing.
``check_invariants`` finds a node given back twice, or to an owner it does not belong to.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from operators.contract import UsageError, Variant
from operators.core.family import CoreOperations
from operators.core.jit import inlined
from operators.core.layout import LINE_WORDS, aligned_words
from operators.core.marks import mark, poison

NO_NODE = -1


class Arena(NamedTuple):
    """The nodes of all owners. Words of an owner are touched by that owner only."""

    # (owners * LINE_WORDS): word 0 of each line, how many of the owner's nodes are free.
    free_counts: np.ndarray
    # (owners * stack_words): the free nodes of each owner, next one to be taken last. Padded to
    # whole cache lines, against false sharing between owners.
    free_nodes: np.ndarray
    # (owners * capacity * node_words): the nodes; those of an owner are contiguous, and node n
    # begins at n * node_words.
    words: np.ndarray
    # Nodes of one owner.
    capacity: int
    # Words of a node, for the structure to use freely.
    node_words: int
    # Distance between two owners' stacks.
    stack_words: int


def make_arena(owners: int, capacity: int, node_words: int) -> Arena:
    """Return an arena with every node free and every word zero.

    Parameters
    ----------
    owners : int
        At least 1.
    capacity : int
        Nodes of one owner, at least 1.
    node_words : int
        int64 words of a node, at least 1.

    Raises
    ------
    UsageError
        When a parameter is below 1.
    """
    given = (("owners", owners), ("nodes an owner", capacity), ("words a node", node_words))
    for name, value in given:
        if value < 1:
            raise UsageError(f"an arena needs at least 1 of {name}, received {value}")
    stack_words = -(-capacity // LINE_WORDS) * LINE_WORDS
    arena = Arena(
        free_counts=aligned_words(owners * LINE_WORDS),
        free_nodes=aligned_words(owners * stack_words),
        words=aligned_words(owners * capacity * node_words),
        capacity=capacity,
        node_words=node_words,
        stack_words=stack_words,
    )
    arena.free_counts[::LINE_WORDS] = capacity
    for owner in range(owners):
        # The lowest node comes first.
        own = np.arange((owner + 1) * capacity - 1, owner * capacity - 1, -1)
        arena.free_nodes[owner * stack_words : owner * stack_words + capacity] = own
    return arena


@inlined
def take(arena, owner):
    """Return a free node of `owner`, or NO_NODE. The node's words are left unchanged."""
    free = arena.free_counts[owner * LINE_WORDS]
    if free == 0:
        mark("arena: exhausted")
        return NO_NODE
    arena.free_counts[owner * LINE_WORDS] = free - 1
    return arena.free_nodes[owner * arena.stack_words + free - 1]


@inlined
def give_back(arena, owner, node):
    """Free `node`, which `owner` took and no thread reads any more."""
    poison(arena.words, node * arena.node_words, arena.node_words)
    free = arena.free_counts[owner * LINE_WORDS]
    arena.free_nodes[owner * arena.stack_words + free] = node
    arena.free_counts[owner * LINE_WORDS] = free + 1


@inlined
def take_all_back(arena, owner):
    """Free all nodes of `owner`, where none was given back since all of them were free.

    The stack still holds the nodes in the order in which they were taken; they are taken in the
    same order again.
    """
    arena.free_counts[owner * LINE_WORDS] = arena.capacity


@inlined
def free_count(arena, owner):
    """Return how many nodes of `owner` are free."""
    return arena.free_counts[owner * LINE_WORDS]


def check_invariants(arena: Arena) -> None:
    """Check that each owner's stack holds only nodes of that owner, each once.

    Raises
    ------
    AssertionError
        The message names the owner.
    """
    for owner in range(len(arena.free_counts) // LINE_WORDS):
        free = int(free_count(arena, owner))
        assert 0 <= free <= arena.capacity, f"owner {owner}: {free} free of {arena.capacity}"
        start = owner * arena.stack_words
        nodes = arena.free_nodes[start : start + free].tolist()
        assert len(set(nodes)) == free, f"owner {owner}: a node is free twice"
        assert all(n // arena.capacity == owner for n in nodes), f"owner {owner}: a strange node"


VARIANT = Variant(
    id="arena",
    family="core",
    title="Arena",
    paper="none",
    section="operators/core/arena.py",
    operations=CoreOperations(
        make_arena,
        {
            "take": take,
            "give_back": give_back,
            "take_all_back": take_all_back,
            "free_count": free_count,
        },
        check_invariants,
    ),
    order="last given back, first taken",
    # Only the owner's thread uses the owner's nodes, also while that thread stands still.
    progress="blocking",
    threads={"owner": "one thread at a time; owners are independent"},
    capacity="capacity nodes an owner; take answers NO_NODE",
    bench=False,
)
