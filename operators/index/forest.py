"""The nodes of B+-Trees: a forest of trees over one arena, and the operations within a node.

A node holds keys and as many links. In a leaf a link is the sequence number of the key; in an inner
node it is a child, and key i separates child i from the next. Behind the last key a node is padded
with +oo, the largest key, so that a rank is counted over the whole node.
`operators.index.b_plus_tree` has the other invariants.

With nodes of 32 entries a rank takes a few vector comparisons, and lane selection opens or closes a
gap in a node: a loop over entries would end after an unpredictable number of steps. At windows of
2**12 and 2**16 tuples that alone made a join 2.4 times as fast.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from operators.contract import UsageError
from operators.core.arena import NO_NODE, Arena, free_count, make_arena, take
from operators.core.jit import inlined
from operators.core.layout import aligned_array, aligned_words
from operators.core.optimistic import racy
from operators.core.prefetch import prefetch_all
from operators.core.vectors import LIVE, insert_in_32, peek, poke, remove_from_32
from operators.index.node import (
    NodeKind,
    fan_out_of,
    is_one_vector,
    make_kind,
    rank_behind_in,
    rank_in,
)

# A tree of 2**25 entries with nodes of four has no more levels than this.
MOST_HEIGHT = 32
# The path from a root to a leaf, for each owner: the inner nodes, then the children taken.
PATH_WORDS = 2 * MOST_HEIGHT


class Forest(NamedTuple):
    """Trees over shared nodes. An owner (one thread at a time) takes nodes from one part."""

    # The free nodes of each owner. The word of a leaf is the next leaf, NO_NODE for the last.
    nodes: Arena
    # (nodes * 2 * fan-out): for each node the keys, then as many links: in a leaf the sequence
    # numbers, in an inner node the children. Keys and links of a node are adjacent, so they share a
    # page. The padding behind the last node covers a whole vector read.
    entries: np.ndarray
    # (nodes): entries of a leaf, children of an inner node.
    counts: np.ndarray
    # (trees): the root of each tree, and the number of inner nodes above each leaf.
    roots: np.ndarray
    heights: np.ndarray
    # (owners * PATH_WORDS): the path of the owner's last descent.
    path: np.ndarray
    kind: NodeKind


@inlined
def least_fill(fan_out):
    """Return the least number of entries of a node other than a root.

    Two neighbours that fit into three quarters of a node are merged. Two others have at least one
    entry more, and after borrowing each has half of the sum.
    """
    return (3 * fan_out // 4 + 1) // 2


def nodes_for(entries: int, trees: int, fan_out: int, deletes: bool) -> int:
    """Return the most nodes that `trees` trees take with so many entries in all.

    A split leaves two halves; with deletions a node may have ``least_fill`` entries. The root of a
    tree may have fewer.
    """
    share = least_fill(fan_out) if deletes else fan_out // 2
    leaves = leaves_for(entries, trees, fan_out, deletes)
    # A level has `share` times fewer nodes than the one below.
    return leaves + -(-leaves // (share - 1)) + 2 * trees + MOST_HEIGHT


def leaves_for(entries: int, trees: int, fan_out: int, deletes: bool) -> int:
    """Return the most leaves among these nodes."""
    share = least_fill(fan_out) if deletes else fan_out // 2
    return -(-entries // share) + 2 * trees


def make_forest(
    trees: int,
    owners: int,
    capacity: int,
    key_type: type,
    fan_out: int,
    search: str = "vector",
    huge: bool = False,
) -> Forest:
    """Return a forest of single empty leaves as roots, taken from owner 0, 1, ... in turn.

    Parameters
    ----------
    trees : int
        Tree t belongs to owner ``t % owners``.
    owners : int
    capacity : int
        Nodes of an owner.
    key_type : type
        ``np.int32`` or ``np.int64``.
    fan_out : int
        Entries of a node, even.
    search : str
        "vector" or "scalar": the method that finds the rank of a key in a node.
    huge : bool
        Whether entries lie on huge pages.

    Raises
    ------
    UsageError
        When the fan-out is odd.
    """
    nodes = make_arena(owners, capacity, 1)
    forest = forest_over(nodes, trees, owners, key_type, fan_out, search, huge)
    for tree in range(trees):
        plant(forest, tree, tree % owners)
    return forest


def forest_over(
    nodes: Arena,
    trees: int,
    owners: int,
    key_type: type,
    fan_out: int,
    search: str = "vector",
    huge: bool = False,
) -> Forest:
    """Return a forest over the given nodes, without a tree yet; see ``make_forest``."""
    if fan_out % 2:
        raise UsageError(f"fan_out must be even, received {fan_out}")
    count = len(nodes.words)
    return Forest(
        nodes=nodes,
        entries=aligned_array(count * 2 * fan_out + LIVE, key_type, huge),
        counts=np.zeros(count, dtype=np.int32),
        roots=aligned_words(trees),
        heights=aligned_words(trees),
        path=aligned_words(owners * PATH_WORDS),
        kind=make_kind(fan_out, int(np.iinfo(key_type).max), search),
    )


def racy_forest(forest: Forest) -> Forest:
    """Return a view of the same forest whose nodes may be read while they change.

    See `operators.core.optimistic`. The free lists and the path still belong to one thread at a
    time.
    """
    return forest._replace(
        nodes=forest.nodes._replace(words=racy(forest.nodes.words)),
        entries=racy(forest.entries),
        counts=racy(forest.counts),
        roots=racy(forest.roots),
        heights=racy(forest.heights),
    )


@inlined
def keys_of(forest, node):
    """Return where the keys of a node begin."""
    return node * (2 * fan_out_of(forest.kind))


@inlined
def links_of(forest, node):
    """Return where the links of a node begin."""
    return keys_of(forest, node) + fan_out_of(forest.kind)


@inlined
def rank(forest, node, key):
    """Return how many keys of a node are below `key`."""
    return rank_in(forest.kind, forest.entries, keys_of(forest, node), key)


@inlined
def rank_behind(forest, node, key, most):
    """Return how many keys of a node are at most `key`, `most` if all could be."""
    return rank_behind_in(forest.kind, forest.entries, keys_of(forest, node), key, most)


@inlined
def child_for(forest, node, key):
    """Return the child of an inner node to which `key` belongs, before equal keys."""
    return peek(forest.entries, links_of(forest, node) + rank(forest, node, key))


@inlined
def ask_for(forest, node):
    """Prefetch a node that is about to be searched."""
    prefetch_all(forest.entries, keys_of(forest, node), 2 * fan_out_of(forest.kind))


@inlined
def ask_for_links(forest, node):
    """Prefetch the links of a node whose keys are about to be searched: both arrive together."""
    prefetch_all(forest.entries, links_of(forest, node), fan_out_of(forest.kind))


@inlined
def new_node(forest, owner):
    """Return an empty node, taken from the free nodes of an owner."""
    return emptied(forest, take(forest.nodes, owner))


@inlined
def emptied(forest, node):
    """Make a node empty, and return it."""
    begin = keys_of(forest, node)
    for place in range(fan_out_of(forest.kind)):
        forest.entries[begin + place] = forest.kind.last_key
    poke(forest.counts, node, 0)
    poke(forest.nodes.words, node, NO_NODE)
    return node


@inlined
def plant(forest, tree, owner):
    """Make a tree a single empty leaf, and return the leaf."""
    return plant_at(forest, tree, take(forest.nodes, owner))


@inlined
def plant_at(forest, tree, node):
    """Make a tree the single empty leaf `node`, and return the leaf."""
    emptied(forest, node)
    forest.roots[tree] = node
    forest.heights[tree] = 0
    return node


@inlined
def insert_at(forest, node, key_place, key, link_place, link):
    """Insert a key and a link at the given positions of a node that has room."""
    keys = keys_of(forest, node)
    links = links_of(forest, node)
    count = peek(forest.counts, node)
    if is_one_vector(forest.kind):
        insert_in_32(forest.entries, keys, key_place, key)
        insert_in_32(forest.entries, links, link_place, link)
    else:
        for place in range(count, key_place, -1):
            forest.entries[keys + place] = forest.entries[keys + place - 1]
        forest.entries[keys + key_place] = key
        for place in range(count, link_place, -1):
            forest.entries[links + place] = forest.entries[links + place - 1]
        forest.entries[links + link_place] = link
    poke(forest.counts, node, count + 1)


@inlined
def remove_at(forest, node, key_place, link_place):
    """Remove a key and a link from a node."""
    keys = keys_of(forest, node)
    links = links_of(forest, node)
    count = peek(forest.counts, node)
    if is_one_vector(forest.kind):
        remove_from_32(forest.entries, keys, key_place, forest.kind.last_key)
        remove_from_32(forest.entries, links, link_place, NO_NODE)
    else:
        for place in range(key_place, count - 1):
            forest.entries[keys + place] = forest.entries[keys + place + 1]
        forest.entries[keys + count - 1] = forest.kind.last_key
        for place in range(link_place, count - 1):
            forest.entries[links + place] = forest.entries[links + place + 1]
        forest.entries[links + count - 1] = NO_NODE
    poke(forest.counts, node, count - 1)


@inlined
def move_half(forest, source, target):
    """Move the upper half of a full node into an empty one."""
    half = fan_out_of(forest.kind) // 2
    from_keys, to_keys = keys_of(forest, source), keys_of(forest, target)
    from_links = links_of(forest, source)
    to_links = links_of(forest, target)
    for place in range(half):
        forest.entries[to_keys + place] = forest.entries[from_keys + half + place]
        forest.entries[from_keys + half + place] = forest.kind.last_key
        forest.entries[to_links + place] = forest.entries[from_links + half + place]
    poke(forest.counts, source, half)
    poke(forest.counts, target, fan_out_of(forest.kind) - half)


def used_bytes(forest: Forest, owner: int = 0, least: int = 0) -> int:
    """Return the bytes of an owner's used nodes, at least `least`, with count and link."""
    used = forest.nodes.capacity - int(free_count(forest.nodes, owner))
    return bytes_of(forest, max(used, least))


def bytes_of(forest: Forest, nodes: int) -> int:
    """Return the bytes of this many nodes, with count and link."""
    node = 2 * forest.kind.fan_out * forest.entries.itemsize
    return nodes * (node + forest.counts.itemsize + forest.nodes.words.itemsize)
