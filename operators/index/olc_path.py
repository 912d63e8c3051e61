"""Descents to a leaf of the optimistic tree, and the set of locks that a change needs.

`operators.index.olc_tree` explains the purpose and the correctness argument.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from operators.core.arena import Arena
from operators.core.atomics import RELAXED, load
from operators.core.jit import inlined
from operators.core.layout import LINE_WORDS
from operators.core.marks import mark
from operators.core.optimistic import (
    OBSOLETE,
    RESTART,
    check_at,
    read_when_open_at,
    release_at,
    release_unchanged_at,
    upgrade_at,
)
from operators.core.vectors import peek, poke
from operators.index.forest import (
    MOST_HEIGHT,
    Forest,
    child_for,
    links_of,
    rank,
    rank_behind,
)

# One tree, and one owner: the thread of the view.
TREE = OWNER = 0
# Areas of `own`: the versions along the path, of the top first; the locks that a change needs, with
# their versions, two words each; the nodes that the change takes or frees; and for each level the
# plan for the path's node, and which two children of the parent change.
VERSIONS = 0
NEEDED = VERSIONS + MOST_HEIGHT + LINE_WORDS
NODES = NEEDED + 2 * (3 * MOST_HEIGHT + LINE_WORDS)
PLANS = NODES + MOST_HEIGHT + LINE_WORDS
OWN_WORDS = PLANS + 2 * MOST_HEIGHT + LINE_WORDS


class OlcTree(NamedTuple):
    """One thread's view of a tree: `forest.path` and `own` are private, all else is shared."""

    forest: Forest  # racy; the path is not
    # The locks of leaves are adjacent, then those of inner nodes, then the top lock on a separate
    # cache line: leaf locks are written at every change, inner locks are read by every descent, and
    # this avoids false sharing between them.
    locks: np.ndarray
    # The free leaves and the free inner nodes. Numbers only: other threads may read the nodes.
    leaves: Arena
    inner: Arena
    free_lock: np.ndarray  # a spin lock around both, and around the free lists in `forest`
    own: np.ndarray
    first_inner: int  # the number of the first inner node
    top: int  # the index of the top lock; the index of a node's lock is the node number


# --- descents -------------------------------------------------------------------------------------


@inlined
def attempt_top(tree):
    """Return root, height and version of the top; the version is RESTART if they changed."""
    forest = tree.forest
    since = read_when_open_at(tree.locks, tree.top)
    root, height = peek(forest.roots, TREE), peek(forest.heights, TREE)
    if not check_at(tree.locks, tree.top, since):
        mark("olc_tree: the root has changed")
        return root, height, RESTART
    return root, height, since


@inlined
def attempt_child(tree, above, since, node):
    """Return the version of a node whose number was read from `above` at `since`, or RESTART.

    At the moment of the check the node had this version, and was the node that `above` refers to.
    """
    version = read_when_open_at(tree.locks, node)
    if version == RESTART or not check_at(tree.locks, above, since):
        mark("olc_tree: a node has gone from its parent")
        return RESTART
    return version


@inlined
def attempt_find(tree, key):
    """Return the leaf in which keys from `key` on begin, or the one before, and the version."""
    forest = tree.forest
    node, height, since = attempt_top(tree)
    if since == RESTART:
        return node, RESTART
    above = tree.top
    for _ in range(height):
        version = attempt_child(tree, above, since, node)
        if version == RESTART:
            return node, RESTART
        child = child_for(forest, node, key)
        # Who changes the node may have left any number there.
        if not check_at(tree.locks, node, version):
            mark("olc_tree: a child was read while it changed")
            return node, RESTART
        above, since, node = node, version, child
    return node, attempt_child(tree, above, since, node)


@inlined
def attempt_path(tree, key, behind):
    """Note the path to where `key` belongs, `behind` or before equal keys; return leaf and height.

    The leaf is RESTART if a check failed.
    """
    forest = tree.forest
    node, height, since = attempt_top(tree)
    if since == RESTART:
        return RESTART, height
    above = tree.top
    note_version(tree, -1, since)
    for depth in range(height):
        version = attempt_child(tree, above, since, node)
        if version == RESTART:
            return RESTART, height
        if behind:
            at = rank_behind(forest, node, key, peek(forest.counts, node) - 1)
        else:
            at = rank(forest, node, key)
        child = peek(forest.entries, links_of(forest, node) + at)
        if not check_at(tree.locks, node, version):
            mark("olc_tree: a child was read while it changed")
            return RESTART, height
        note_step(tree, depth, node, at, version)
        above, since, node = node, version, child
    version = attempt_child(tree, above, since, node)
    note_version(tree, height, version)
    return (RESTART if version == RESTART else node), height


@inlined
def note_step(tree, depth, node, at, version):
    """Note an inner node of the path, the child taken, and the version of the node."""
    poke(tree.forest.path, depth, node)
    poke(tree.forest.path, MOST_HEIGHT + depth, at)
    note_version(tree, depth, version)


@inlined
def note_version(tree, depth, version):
    """Note the version of the path's node at a depth: -1 is the top, the height the leaf."""
    poke(tree.own, VERSIONS + depth + 1, version)


@inlined
def version_at(tree, depth):
    """Return the noted version of the path's node at a depth."""
    return peek(tree.own, VERSIONS + depth + 1)


# --- locks ----------------------------------------------------------------------------------------


@inlined
def need(tree, count, lock, version):
    """Add a lock to the set that a change needs, and return the size of the set."""
    poke(tree.own, NEEDED + 2 * count, lock)
    poke(tree.own, NEEDED + 2 * count + 1, version)
    return count + 1


@inlined
def attempt_upgrades(tree, count):
    """Take all noted locks and return True, or take none and return False if a version changed."""
    for each in range(count):
        lock, version = peek(tree.own, NEEDED + 2 * each), peek(tree.own, NEEDED + 2 * each + 1)
        if not upgrade_at(tree.locks, lock, version):
            release_needed(tree, each, False)
            return False
    return True


@inlined
def release_needed(tree, count, changed):
    """Release the first `count` noted locks; locks of obsolete nodes are released already."""
    for each in range(count):
        lock = peek(tree.own, NEEDED + 2 * each)
        if not changed:
            release_unchanged_at(tree.locks, lock)
        # RELAXED: this thread holds the lock or has just retired the node; nobody else writes it.
        elif load(tree.locks, lock, RELAXED) & OBSOLETE == 0:
            release_at(tree.locks, lock)
