"""Changes of the optimistic tree: insertion, and deletion with merges and borrowing.

`operators.index.olc_tree` has the correctness argument.
"""

from __future__ import annotations

from operators.contract import ACCEPTED, FULL
from operators.core import spin_lock
from operators.core.arena import NO_NODE, free_count, give_back, take
from operators.core.atomics import RELEASE, fence
from operators.core.jit import inlined
from operators.core.marks import mark
from operators.core.optimistic import (
    RESTART,
    check_at,
    release_at,
    reopen_at,
    retire_at,
    spin,
    upgrade_at,
)
from operators.core.vectors import peek, poke
from operators.index.b_plus_tree import (
    even_out,
    fit,
    merge_children,
    split_leaf,
)
from operators.index.family import sequence_of
from operators.index.forest import (
    MOST_HEIGHT,
    insert_at,
    least_fill,
    links_of,
    rank,
    rank_behind,
    remove_at,
)
from operators.index.node import fan_out_of
from operators.index.olc_path import (
    NODES,
    OWNER,
    PLANS,
    TREE,
    attempt_child,
    attempt_path,
    attempt_upgrades,
    need,
    note_step,
    note_version,
    release_needed,
    version_at,
)

# Plans for a node that has lost an entry.
STAYS, MERGES, BORROWS = 0, 1, 2
# No leaf: a check failed. (NO_NODE: there is no leaf behind the last.)
GONE = -2


# --- insertion ------------------------------------------------------------------------------------


@inlined
def insert(tree, key, position):
    """Index a tuple: ACCEPTED, or FULL."""
    sequence = sequence_of(position)
    rounds = 0
    while True:
        status = attempt_insert(tree, key, sequence)
        if status != RESTART:
            return status
        rounds = spin(rounds)


@inlined
def attempt_insert(tree, key, sequence):
    """Insert behind all entries of the same key: ACCEPTED, FULL or RESTART."""
    forest = tree.forest
    leaf, height = attempt_path(tree, key, True)
    if leaf == RESTART:
        return RESTART
    count = peek(forest.counts, leaf)
    place = rank_behind(forest, leaf, key, count)
    if count == fan_out_of(forest.kind):
        return attempt_split(tree, height, leaf, place, key, sequence)
    if not upgrade_at(tree.locks, leaf, version_at(tree, height)):
        return RESTART
    insert_at(forest, leaf, place, key, place, sequence)
    release_at(tree.locks, leaf)
    return ACCEPTED


@inlined
def attempt_split(tree, height, leaf, place, key, sequence):
    """Insert into a full leaf: ACCEPTED, FULL or RESTART."""
    forest = tree.forest
    count = need(tree, 0, leaf, version_at(tree, height))
    depth = height - 1
    full = True
    while full and depth >= 0:
        node = peek(forest.path, depth)
        count = need(tree, count, node, version_at(tree, depth))
        full = peek(forest.counts, node) == fan_out_of(forest.kind)
        depth -= 1
    # Each needs one new node, except the last, which has room, unless even the root is full.
    taken = count - 1
    if full:
        taken = count + 1
        count = need(tree, count, tree.top, version_at(tree, -1))
    if not attempt_upgrades(tree, count):
        return RESTART
    spin_lock.acquire(tree.free_lock, 0)
    enough = free_count(tree.leaves, OWNER) > 0 and free_count(tree.inner, OWNER) >= taken - 1
    if enough:
        hand_over(tree, taken)
        # RELEASE: as in upgrade, for nodes that are reused (reopen_at explains).
        fence(RELEASE)
        split_leaf(forest, TREE, OWNER, height, leaf, place, key, sequence)
    spin_lock.release(tree.free_lock, 0)
    if not enough:
        release_needed(tree, count, False)
        return FULL
    for each in range(taken):
        reopen_at(tree.locks, peek(tree.own, NODES + each))
    release_needed(tree, count, True)
    return ACCEPTED


@inlined
def hand_over(tree, count):
    """Give the forest `count` free nodes: a leaf, to be taken first, and inner nodes.

    They stay obsolete until they are in the tree.
    """
    nodes = tree.forest.nodes
    for each in range(count):
        if each == 0:
            node = take(tree.leaves, OWNER)
        else:
            node = tree.first_inner + take(tree.inner, OWNER)
        poke(tree.own, NODES + each, node)
        nodes.free_nodes[count - 1 - each] = node
    nodes.free_counts[OWNER] = count


# --- deletion -------------------------------------------------------------------------------------


@inlined
def remove(tree, key, position):
    """Delete a tuple, if it is in the tree."""
    sequence = sequence_of(position)
    rounds = 0
    while attempt_remove(tree, key, sequence) == RESTART:
        rounds = spin(rounds)


@inlined
def attempt_remove(tree, key, sequence):
    """Delete the entry with this key and sequence: ACCEPTED, even if there is none, or RESTART."""
    forest = tree.forest
    leaf, height = attempt_path(tree, key, False)
    if leaf == RESTART:
        return RESTART
    place = rank(forest, leaf, key)
    links = links_of(forest, leaf)
    count = peek(forest.counts, leaf)
    while place >= count or peek(forest.entries, links + place) != sequence:
        place += 1
        if place >= count:
            mark("olc_tree: an entry is not in the first leaf of its key")
            leaf = attempt_next_leaf(tree, height, leaf)
            if leaf == NO_NODE:
                return ACCEPTED
            if leaf == GONE:
                return RESTART
            place = 0
            links = links_of(forest, leaf)
            count = peek(forest.counts, leaf)
    if height > 0 and count - 1 < fan_out_of(forest.kind) // 2:
        return attempt_refill(tree, height, leaf, place, count - 1)
    if not upgrade_at(tree.locks, leaf, version_at(tree, height)):
        return RESTART
    remove_at(forest, leaf, place, place)
    release_at(tree.locks, leaf)
    return ACCEPTED


@inlined
def attempt_next_leaf(tree, height, leaf):
    """Move the path from `leaf` to the next leaf; return that, NO_NODE behind the last, or GONE."""
    forest = tree.forest
    since = version_at(tree, height)
    behind = peek(forest.nodes.words, leaf)
    if behind == NO_NODE:
        return NO_NODE if check_at(tree.locks, leaf, since) else GONE
    depth = height - 1
    while depth >= 0 and peek(forest.path, MOST_HEIGHT + depth) + 1 >= peek(
        forest.counts, peek(forest.path, depth)
    ):
        depth -= 1
    if depth < 0:
        return GONE
    above, version = peek(forest.path, depth), version_at(tree, depth)
    at = peek(forest.path, MOST_HEIGHT + depth) + 1
    while True:
        node = peek(forest.entries, links_of(forest, above) + at)
        if not check_at(tree.locks, above, version):
            return GONE
        note_step(tree, depth, above, at, version)
        version = attempt_child(tree, above, version, node)
        if version == RESTART:
            return GONE
        above = node
        at = 0
        depth += 1
        if depth == height:
            break
    note_version(tree, height, version)
    # While the leaf is unchanged, nothing has crossed its end, and `behind` is the next leaf.
    return behind if behind == node and check_at(tree.locks, leaf, since) else GONE


@inlined
def attempt_neighbour(tree, depth, at):
    """Return child `at` of the path's node at a depth, and the version, which may be RESTART."""
    forest = tree.forest
    parent, since = peek(forest.path, depth), version_at(tree, depth)
    node = peek(forest.entries, links_of(forest, parent) + at)
    if not check_at(tree.locks, parent, since):
        return node, RESTART
    return node, attempt_child(tree, parent, since, node)


@inlined
def attempt_plan(tree, depth, left):
    """Plan for the path's node at a depth, which will have `left` entries.

    Returns the plan (or RESTART), the first of the two children of the parent that change, and the
    neighbour with its version.
    """
    forest = tree.forest
    parent, at = peek(forest.path, depth - 1), peek(forest.path, MOST_HEIGHT + depth - 1)
    has_right = at + 1 < peek(forest.counts, parent)
    first = at if has_right else at - 1
    # The node is no root, so there is a neighbour: a parent has at least two children.
    beside = at + 1 if has_right else at - 1
    neighbour, version = attempt_neighbour(tree, depth - 1, beside)
    if version == RESTART:
        return RESTART, first, neighbour, version
    if fit(forest, left, peek(forest.counts, neighbour)):
        return MERGES, first, neighbour, version
    if has_right and at > 0:
        other, since = attempt_neighbour(tree, depth - 1, at - 1)
        if since == RESTART:
            return RESTART, first, other, since
        if fit(forest, left, peek(forest.counts, other)):
            return MERGES, at - 1, other, since
    plan = BORROWS if left < least_fill(fan_out_of(forest.kind)) else STAYS
    return plan, first, neighbour, version


@inlined
def attempt_refill(tree, height, leaf, place, left):
    """Delete an entry of a leaf that is left with `left`, too few: ACCEPTED or RESTART."""
    forest, own = tree.forest, tree.own
    count = need(tree, 0, leaf, version_at(tree, height))
    depth = height
    while depth > 0 and left < fan_out_of(forest.kind) // 2:
        plan, first, neighbour, version = attempt_plan(tree, depth, left)
        if plan == RESTART:
            return RESTART
        if plan == STAYS:
            break
        parent = peek(forest.path, depth - 1)
        count = need(tree, count, neighbour, version)
        count = need(tree, count, parent, version_at(tree, depth - 1))
        poke(own, PLANS + 2 * depth, plan)
        poke(own, PLANS + 2 * depth + 1, first)
        depth -= 1
        if plan == BORROWS:
            left = fan_out_of(forest.kind)
        else:
            left = peek(forest.counts, parent) - 1
    shrinks = depth == 0 and left == 1
    if shrinks:
        count = need(tree, count, tree.top, version_at(tree, -1))
    if not attempt_upgrades(tree, count):
        return RESTART
    remove_at(forest, leaf, place, place)
    gone = 0
    for changed in range(height, depth, -1):
        parent, first = peek(forest.path, changed - 1), peek(own, PLANS + 2 * changed + 1)
        if peek(own, PLANS + 2 * changed) == MERGES:
            gone = let_go(tree, gone, merge_children(forest, parent, first, changed == height))
        else:
            even_out(forest, parent, first, changed == height)
    if shrinks:
        mark("olc_tree: a root with a single child goes")
        root = peek(forest.path, 0)
        poke(forest.roots, TREE, peek(forest.entries, links_of(forest, root)))
        poke(forest.heights, TREE, height - 1)
        gone = let_go(tree, gone, root)
    release_needed(tree, count, True)
    spin_lock.acquire(tree.free_lock, 0)
    for each in range(gone):
        node = peek(own, NODES + each)
        if node < tree.first_inner:
            give_back(tree.leaves, OWNER, node)
        else:
            give_back(tree.inner, OWNER, node - tree.first_inner)
    spin_lock.release(tree.free_lock, 0)
    return ACCEPTED


@inlined
def let_go(tree, gone, node):
    """Retire a node that has left the tree, note it, and return the number of noted nodes."""
    poke(tree.own, NODES + gone, node)
    retire_at(tree.locks, node)
    return gone + 1
