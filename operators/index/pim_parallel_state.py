"""The memory of the PIM-Tree of several threads, and the checks of a quiescent tree.

`operators.index.pim_tree_parallel` has the operations.

Nodes of T_I lie in one arena. A thread takes them in chunks (``top_up``), and a swap
returns all of them. The heads of subindexes have the first numbers.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from operators.contract import UsageError
from operators.core.arena import Arena, free_count, give_back
from operators.core.atomics import RELAXED, fetch_add, load, store
from operators.core.jit import inlined
from operators.core.layout import LINE_WORDS, aligned_words, whole_lines
from operators.core.marks import mark
from operators.core.optimistic import check_invariants as check_locks
from operators.core.optimistic import make_optimistic_locks
from operators.core.vectors import poke
from operators.index import immutable_tree
from operators.index.b_plus_tree import check_leaves, inner_nodes
from operators.index.family import check_window
from operators.index.forest import (
    Forest,
    bytes_of,
    forest_over,
    nodes_for,
    plant_at,
    racy_forest,
)
from operators.index.immutable_tree import (
    MOST_LEVELS,
    ImmutableTrees,
    check_tree,
    levels_of,
    make_trees,
    nodes_at,
)
from operators.index.pim_merge import leaf_behind
from operators.index.pim_tree import check_subindex, limit_of

LOCKED, VERSIONED = "locked", "versioned"
READS = (LOCKED, VERSIONED)
INNER, BLOCKS = "inner", "blocks"
ATTACHED = (INNER, BLOCKS)
# Nodes that a thread takes from the arena at once.
CHUNK = 32
# Optimistic attempts at a subindex before a search takes the lock.
LOOKS = 8
# The most pieces of a merge: several for each thread, so that none waits long for the last.
MOST_PIECES = 64
# Words that change only in a merge, while no other thread reads them.
SLOT = 0  # which slot of `stable` is T_S; the other is the merge buffer
DEPTH = 1  # current depth of the subindexes
SUBINDEXES = 2  # current number of subindexes
MOST_NODES = 3  # nodes that T_I had before the last merge
# Words of a merge.
EXPIRED = LINE_WORDS  # the sequence of the oldest tuple that is kept
PIECES = LINE_WORDS + 1  # number of pieces


class PimTreeParallel(NamedTuple):
    """T_S in one of two slots, T_I, and the locks of the subindexes."""

    stable: ImmutableTrees
    fresh: Forest
    words: np.ndarray  # [2 lines]: see above
    locks: np.ndarray  # [most subindexes] lines: `operators.core.optimistic`
    counts: np.ndarray  # [threads] lines: a thread's inserts into T_I; it writes, all read
    next_node: np.ndarray  # [1 line]: the first node that no thread has taken
    # (most subindexes): entries that merges have found in subindex 0, 1, ..., over all merges.
    inserted: np.ndarray
    # (most subindexes): live entries of T_S below the node of each, during a merge.
    kept: np.ndarray
    # (pieces + 1): live entries of each piece; after ``place``, where the entries begin.
    pieces: np.ndarray
    limit: int  # entries of T_I at which a merge is due: m * w
    reserve: int  # nodes that an insertion may take
    depth: int  # the requested D_I; MOST_LEVELS: the deepest possible
    blocks: int  # 1 if subindexes are attached to the blocks, which are below inner nodes
    # (1,) for optimistic searches, else empty: kernels distinguish the two by the length.
    looks: tuple[int, ...]
    attempts: int  # optimistic ones, before a search takes the lock
    chunk: int  # nodes that a thread takes from the arena at once


class View(NamedTuple):
    """A tree and the thread that uses it."""

    tree: PimTreeParallel
    thread: int


def make_state(
    window: int,
    slack: int = 0,
    key_bits: int = 32,
    threads: int = 1,
    merge_ratio: float = 1.0,
    insertion_depth: int = 2,
    fan_out: int = 32,
    fan_out_ratio: int = 1,
    reads: str = LOCKED,
    attached: str = INNER,
    attempts: int = LOOKS,
    chunk: int = CHUNK,
) -> PimTreeParallel:
    """Return an empty PIM-Tree.

    Parameters
    ----------
    window : int
        Tuples that a search may ask for, at most.
    slack : int
        Additional tuples that may be in the index at once.
    key_bits : int
        32 or 64.
    threads : int
        Number of threads that use the tree.
    merge_ratio : float
        Of the window: entries of T_I at which a merge is due, at least one.
    insertion_depth : int
        D_I; the root is at depth 0.
    fan_out : int
        Of T_I: children of an inner node, and entries of a leaf.
    fan_out_ratio : int
        Factor by which nodes of T_S are larger (f_ib over f_b).
    reads : str
        "locked" or "versioned": how a search reads a subindex.
    attached : str
        "inner": subindexes are attached to the inner nodes at `insertion_depth`, or to the lowest
        inner nodes; "blocks": to the blocks of entries, whatever `insertion_depth` is.
    attempts : int
        Of a "versioned" search at a subindex before it takes the lock.
    chunk : int
        Nodes that a thread takes from the arena at once, or more if an insertion may need more.

    Raises
    ------
    UsageError
        When a parameter is out of range.
    """
    key_type = check_window(window, key_bits)
    limit = limit_of(window, merge_ratio, insertion_depth)
    for name, given, choices in (("reads", reads, READS), ("attached", attached, ATTACHED)):
        if given not in choices:
            raise UsageError(f"{name} is one of {', '.join(choices)}, received {given!r}")
    if slack < 0 or threads < 1:
        raise UsageError(f"received {threads} threads and a slack of {slack} tuples")
    immutable = fan_out * fan_out_ratio
    most = -(-(window + slack) // immutable) + 1
    if attached == INNER:
        most = min(immutable**insertion_depth, most)
    reserve = height_for(limit + slack, fan_out) + 2
    chunk = max(chunk, reserve)
    capacity = nodes_for(limit + slack, most, fan_out, deletes=False)
    # A thread's unused nodes are unavailable to the other threads.
    nodes = common_arena(threads, capacity + threads * (reserve + chunk), reserve + chunk)
    fresh = forest_over(nodes, most, threads, key_type, fan_out)
    looks = reads == VERSIONED
    tree = PimTreeParallel(
        stable=make_trees(2, window + slack, key_type, immutable),
        fresh=racy_forest(fresh) if looks else fresh,
        words=aligned_words(2 * LINE_WORDS),
        locks=make_optimistic_locks(most),
        counts=aligned_words(threads * LINE_WORDS),
        next_node=aligned_words(LINE_WORDS),
        inserted=aligned_words(most),
        kept=aligned_words(most),
        pieces=aligned_words(MOST_PIECES + 1),
        limit=limit,
        reserve=reserve,
        depth=insertion_depth if attached == INNER else MOST_LEVELS,
        blocks=int(attached == BLOCKS),
        looks=(1,) if looks else (),
        attempts=attempts,
        chunk=chunk,
    )
    empty_subindexes(tree)
    return tree


def height_for(entries: int, fan_out: int) -> int:
    """Return the most levels of inner nodes in a subindex of so many entries."""
    nodes, height = -(-entries // (fan_out // 2)), 0
    while nodes > 1:
        nodes, height = nodes // (fan_out // 2), height + 1
    return height


def common_arena(owners: int, capacity: int, most: int) -> Arena:
    """Return an arena of `capacity` nodes; an owner has none at first and `most` at once.

    An owner without nodes takes some from those that nobody has (``top_up``).
    """
    stack_words = whole_lines(most)
    return Arena(
        free_counts=aligned_words(owners * LINE_WORDS),
        free_nodes=aligned_words(owners * stack_words),
        words=aligned_words(capacity),
        capacity=capacity,
        node_words=1,
        stack_words=stack_words,
    )


def views(state: PimTreeParallel, threads: int) -> tuple[View, ...]:
    """Return a view for each thread.

    Raises
    ------
    UsageError
        When the tree was made for fewer threads.
    """
    most = len(state.counts) // LINE_WORDS
    if threads > most:
        raise UsageError(f"the index was made for {most} threads, received {threads}")
    return tuple(View(state, thread) for thread in range(threads))


# --- nodes and subindexes ---


@inlined
def top_up(tree, thread):
    """Take a chunk of nodes that nobody has, or the rest of them."""
    mark("pim_tree_parallel: a thread takes nodes")
    # RELAXED: the fetch-and-add makes the nodes private, and the swap orders the former owner's
    # stores; `operators.index.pim_tree_parallel` has the chain.
    first = fetch_add(tree.next_node, 0, tree.chunk, RELAXED)
    for node in range(min(first + tree.chunk, tree.fresh.nodes.capacity) - 1, first - 1, -1):
        give_back(tree.fresh.nodes, thread, node)


@inlined
def nodes_taken(tree):
    """Return the number of nodes taken by heads and threads."""
    # RELAXED: called at rest, or while nobody inserts.
    return min(load(tree.next_node, 0, RELAXED), tree.fresh.nodes.capacity)


@inlined
def empty_subindexes(tree):
    """Give each node of T_S at the insertion depth an empty subindex, linked with the next."""
    words, stable, nodes = tree.words, tree.stable, tree.fresh.nodes
    slot = words[SLOT]
    depth = max(min(tree.depth, levels_of(stable, slot) - 1 + tree.blocks), 0)
    subindexes = nodes_at(stable, slot, depth)
    for subindex in range(subindexes):
        head = plant_at(tree.fresh, subindex, subindex)
        poke(nodes.words, head, leaf_behind(subindex, subindexes))
    for thread in range(len(tree.counts) // LINE_WORDS):
        nodes.free_counts[thread * LINE_WORDS] = 0
        # RELAXED, as below: nobody inserts now, and the swap orders the next insertions.
        store(tree.counts, thread * LINE_WORDS, 0, RELAXED)
    store(tree.next_node, 0, subindexes, RELAXED)
    words[DEPTH] = depth
    words[SUBINDEXES] = subindexes


# --- at rest --------------------------------------------------------------------------------------


def footprint(state: PimTreeParallel) -> dict[str, int]:
    """Return the bytes in use: T_S, T_I at the largest with the locks, and the merge buffer."""
    slot, words = int(state.words[SLOT]), state.words
    nodes = max(int(nodes_taken(state)), int(words[MOST_NODES]))
    lines = int(words[SUBINDEXES]) * LINE_WORDS * state.locks.itemsize
    return {
        "search": immutable_tree.used_bytes(state.stable, slot),
        "insert": bytes_of(state.fresh, nodes) + lines,
        "buffer": immutable_tree.used_bytes(state.stable, 1 - slot),
    }


def inserted(state: PimTreeParallel) -> np.ndarray:
    """Return the entries that merges found in subindex 0, 1, ..., over all merges so far."""
    return state.inserted[: int(state.words[SUBINDEXES])]


def cycle(state: PimTreeParallel) -> int:
    """Return the number of inserts between two merges."""
    return state.limit


def entries(state: PimTreeParallel) -> list[tuple[int, int]]:
    """Return key and sequence of each entry of both components, sorted."""
    new = check_leaves(state.fresh, int(state.words[SUBINDEXES]))
    return sorted(check_tree(state.stable, int(state.words[SLOT])) + new)


def check_invariants(state: PimTreeParallel) -> None:
    """Check both components, the ranges of the subindexes, nodes, counts and locks.

    Raises
    ------
    AssertionError
        When an invariant does not hold.
    """
    words, stable, fresh = state.words, state.stable, state.fresh
    slot, subindexes = int(words[SLOT]), int(words[SUBINDEXES])
    check_tree(stable, slot)
    new = check_leaves(fresh, subindexes)
    counted = int(state.counts[::LINE_WORDS].sum())
    assert len(new) == counted, f"T_I has {len(new)} entries, and threads count {counted}"
    taken: list[int] = []
    inner = 0
    for subindex in range(subindexes):
        inner += inner_nodes(fresh, int(fresh.roots[subindex]), int(fresh.heights[subindex]))
        leaves = check_subindex(stable, slot, int(words[DEPTH]), fresh, subindex)
        assert min(leaves[1:], default=subindexes) >= subindexes, "a leaf looks like a head"
        taken += leaves
    for thread in range(len(state.counts) // LINE_WORDS):
        begins, free = thread * fresh.nodes.stack_words, int(free_count(fresh.nodes, thread))
        taken += fresh.nodes.free_nodes[begins : begins + free].tolist()
    assert len(set(taken)) == len(taken), "a node is in two places"
    known = min(int(state.next_node[0]), fresh.nodes.capacity)
    assert len(taken) + inner == known, f"of {known} nodes {len(taken) + inner} are somewhere"
    check_locks(state.locks)
