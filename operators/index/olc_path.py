"""The way to a leaf of the optimistic tree, and the locks that a change of it needs.

`operators.index.olc_tree` says what for, and why it is right.
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

# A tree and one owner: the thread of the view.
TREE = OWNER = 0
# Where in `own` a thread keeps: the versions of its path, of the top first; the locks that it needs
# for a change and their versions, two words each; the nodes that the change takes or gives back;
# and by level what becomes of the path's node, and which two children of its parent change.
VERSIONS = 0
NEEDED = VERSIONS + MOST_HEIGHT + LINE_WORDS
NODES = NEEDED + 2 * (3 * MOST_HEIGHT + LINE_WORDS)
PLANS = NODES + MOST_HEIGHT + LINE_WORDS
OWN_WORDS = PLANS + 2 * MOST_HEIGHT + LINE_WORDS


class OlcTree(NamedTuple):
    """A tree as one thread has it, whose are `forest.path` and `own`; all else is shared."""

    forest: Forest  # racy; the path is not
    # The locks of leaves side by side, then those of inner nodes, then the top's on its own line: a
    # leaf's is written whenever it changes, and who descends reads those of inner nodes.
    locks: np.ndarray
    # Which leaves are free, and which inner nodes. Numbers only: others may look at the nodes.
    leaves: Arena
    inner: Arena
    free_lock: np.ndarray  # a spin lock around both, and around who has which node in `forest`
    own: np.ndarray
    first_inner: int  # the number of the first inner node
    top: int  # the place of the top's lock; a node's is its number


# --- descents -------------------------------------------------------------------------------------


@inlined
def attempt_top(tree):
    """Return the root, the height and the top's version; the version is RESTART if they changed."""
    forest = tree.forest
    since = read_when_open_at(tree.locks, tree.top)
    root, height = peek(forest.roots, TREE), peek(forest.heights, TREE)
    if not check_at(tree.locks, tree.top, since):
        mark("olc_tree: the root has changed")
        return root, height, RESTART
    return root, height, since


@inlined
def attempt_child(tree, above, since, node):
    """Return the version of a node whose number stood in `above`, at version `since`, or RESTART.

    At the moment of the check the node had this version, and was what `above` said it is.
    """
    version = read_when_open_at(tree.locks, node)
    if version == RESTART or not check_at(tree.locks, above, since):
        mark("olc_tree: a node has gone from its parent")
        return RESTART
    return version


@inlined
def attempt_find(tree, key):
    """Return the leaf in which keys from `key` on begin, or that before it, and its version."""
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
    """Note the path to where `key` belongs, `behind` its equals or before: the leaf, the height.

    The leaf is RESTART where something changed meanwhile.
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
    """Note an inner node of the path, which of its children is next, and its version."""
    poke(tree.forest.path, depth, node)
    poke(tree.forest.path, MOST_HEIGHT + depth, at)
    note_version(tree, depth, version)


@inlined
def note_version(tree, depth, version):
    """Note the version of the path's node at a depth: -1 is the top, the height the leaf."""
    poke(tree.own, VERSIONS + depth + 1, version)


@inlined
def version_at(tree, depth):
    """Return the version that was noted."""
    return peek(tree.own, VERSIONS + depth + 1)


# --- locks ----------------------------------------------------------------------------------------


@inlined
def need(tree, count, lock, version):
    """Note one more lock that a change needs, and return how many there are."""
    poke(tree.own, NEEDED + 2 * count, lock)
    poke(tree.own, NEEDED + 2 * count + 1, version)
    return count + 1


@inlined
def attempt_upgrades(tree, count):
    """Take all the locks that were noted, and say so; or none, where a version has changed."""
    for each in range(count):
        lock, version = peek(tree.own, NEEDED + 2 * each), peek(tree.own, NEEDED + 2 * each + 1)
        if not upgrade_at(tree.locks, lock, version):
            release_needed(tree, each, False)
            return False
    return True


@inlined
def release_needed(tree, count, changed):
    """Give back the first so many of the locks that were noted; those of obsolete nodes are."""
    for each in range(count):
        lock = peek(tree.own, NEEDED + 2 * each)
        if not changed:
            release_unchanged_at(tree.locks, lock)
        # RELAXED: what this thread has, or has just retired, nobody else writes.
        elif load(tree.locks, lock, RELAXED) & OBSOLETE == 0:
            release_at(tree.locks, lock)
