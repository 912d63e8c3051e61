r"""A B+-Tree for many threads with optimistic lock coupling: searches write nothing.

No paper here has it. Source: Leis, Haubenschild and Neumann, "Optimistic Lock Coupling", 2019. The
nodes are those of the B+-Tree for one thread, with its separators, its equal keys, its merges and
its borrowing (`operators.index.b_plus_tree`); so is the code that changes them, here under locks.
Each node has an optimistic lock (`operators.core.optimistic`), and one more, the *top*, stands for
the word that says which node is the root, and how high the tree is::

    a descent      top: 4 ... which node?    check(4)    follow it: root: 20    check(4) again
                             root: 20 ... which child?   check(20)   child: 8   check(20) again
                                          child: 8 ...

    an insertion                    [ 17 | 40 ] 20           a leaf has room: upgrade it, nothing
                                     /   |    \               above it; a full one: upgrade it, and
                          [3 9] 12  [17 25] 8 -> [41 60] 4   what is full above, and one node more

The first check is there because the number of a child that was read while a writer was at it is no
number of a node; the second, because the child may have become another's, or nobody's, before its
version was read. What is known when both say yes: at the moment of the second the child had this
version, and was the right one. Anything that changes which keys belong into a node changes its
version; so ``upgrade`` says at last whether the node that was found is still the right one.

Each operation is an *attempt* that gives up (RESTART) as soon as anything is not as it was, and is
made again. An attempt that changes the tree collects what it is going to change, reads all it needs
to know, and then upgrades everything, never waiting with a lock in its hands. Who fails gives all
back unchanged.

* ``insert`` upgrades the leaf; if that is full, also the full nodes above it and the node over
  those, of its path. Then it splits as the tree for one thread does.
* ``remove`` looks along the leaves for its entry among equal ones. It upgrades the leaf; if that
  gets too empty, also the neighbour that it merges with or borrows from and the parent, and so on
  above while parents get too empty.
* ``scan`` goes from leaf to leaf. It reads the version of the next leaf before it checks that of
  the one it has read. What it has written of a leaf whose check fails it takes back.

A node that is out of the tree is obsolete, and goes at once to those that are free, without a
thought of who may still look at it: nodes stay nodes, and the version goes on from one use to the
next, so that no check of a former use says yes again. That is why nobody announces here when it
enters or leaves the index: the price of epochs, nodes that lie fallow while one thread sleeps, is
not paid.

Invariants, beside those of the B+-Tree between any two changes:

6. A node's entries, its count and its link to the next leaf change only under its lock; the root
   and the height only under the top's.
7. Which keys belong into a leaf, and which leaf is behind it, changes only under its lock: a split
   has it, and so have a merge and a borrowing of either neighbour, since those have both.
8. A node is obsolete exactly while it is free. Its version never repeats.

Why a scan loses and doubles nothing. Let the leaves that it has read be L1, L2, ... and t(i) the
moment at which it checks L(i), with the version of L(i+1) in its hands. Entries that are asked for
are in some leaf all the time; at t(i) each of them is in a leaf up to L(i), or in one behind it.
Claim: at t(i) exactly those up to L(i) are written. Between t(i) and t(i+1), L(i+1) has not changed
(its check says so), so that by 7 nothing has gone past its ends: no split, merge or borrowing that
moves an entry from one side of it to the other does without its lock. So what was behind L(i) and
is not behind L(i+1) at t(i+1) is just what L(i+1) holds, and that is written. When the check of
L(i+1) fails, what it gave is taken back; as long as L(i) has the version of t(i), by 7 again the
claim still holds of L(i), and the scan reads the leaf behind it once more. Else, which takes a
change of both between two checks, it begins anew: an entry may have been borrowed into what is
read already, and the keys do not tell which, where they are equal.

Linearization points: ``insert`` and ``remove`` at the release that shows the changed leaf;
each leaf of a scan at its check. Together a scan is no snapshot of the tree; the protocol asks for
the entries that stay (`operators.index.shared`).

Why the orders are enough: all of it is what `operators.core.optimistic` says of a section; and the
numbers of free nodes are under a spin lock.

Progress: blocking. A thread that stops with a lock stops who needs the node. Without that, threads
may make each other begin again for ever, in theory: no lock is waited for with another in hand, so
there is no deadlock, and who loses an upgrade, or the claim of a check, has lost it to somebody who
went on, or who gives back and waits a little.

# ASSUME: the paper splits every full node on the way down, so that a parent has room. Here a split
# goes up, as in the tree for one thread: an inner node is asked how full it is only where that
# matters, and the line that tells changes with its neighbours' entries.
# ASSUME: a node merges with its right neighbour rather than the left. Where a look at a neighbour
# shows that they do not fit, that look is not checked again: a merge left out then is as good.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from operators.contract import ACCEPTED, FULL, Look, Variant
from operators.core import optimistic, spin_lock
from operators.core.arena import NO_NODE, Arena, free_count, give_back
from operators.core.atomics import RELAXED, load
from operators.core.jit import inlined
from operators.core.layout import LINE_BYTES, LINE_WORDS, aligned_words
from operators.core.marks import mark
from operators.core.optimistic import (
    OBSOLETE,
    RESTART,
    check,
    make_optimistic_locks,
    read_when_open,
    release,
    release_unchanged,
    reopen,
    retire,
    spin,
    upgrade,
)
from operators.core.prefetch import prefetch
from operators.core.vectors import LIVE, peek, poke
from operators.index.b_plus_tree import (
    check_forest,
    even_out,
    fit,
    merge_children,
    scan_leaf,
    split_leaf,
)
from operators.index.family import FAN_OUT, check_window, is_asked_for, position_of, sequence_of
from operators.index.forest import (
    MOST_HEIGHT,
    PATH_WORDS,
    Forest,
    insert_at,
    keys_of,
    least_fill,
    links_of,
    make_forest,
    nodes_for,
    racy_forest,
    rank,
    rank_behind,
    remove_at,
    used_bytes,
)
from operators.index.immutable_tree import A_LINE
from operators.index.node import fan_out_of
from operators.index.shared import SharedIndexOperations, operations_for_one
from operators.index.window import NEWEST, OLDEST

# A tree and one owner: the thread of the view.
TREE = OWNER = 0
# Where in `own` a thread keeps: the versions of its path, of the top first; the locks that it needs
# for a change and their versions, two words each; the nodes that the change takes or gives back;
# and by level what becomes of the path's node.
VERSIONS = 0
NEEDED = VERSIONS + MOST_HEIGHT + LINE_WORDS
NODES = NEEDED + 2 * (3 * MOST_HEIGHT + LINE_WORDS)
PLANS = NODES + MOST_HEIGHT + LINE_WORDS
OWN_WORDS = PLANS + 2 * MOST_HEIGHT + LINE_WORDS
# What becomes of a node that has lost an entry.
STAYS, MERGES, BORROWS = 0, 1, 2
# No leaf: what was noted is not so any more. (NO_NODE: there is none behind the last.)
GONE = -2
# What `find` notes of a key: the leaf, or RESTART, and its version; for itself, what is above it.
PLACE_WORDS = 4
LEAF, VERSION, ABOVE = 0, 1, 2


class OlcTree(NamedTuple):
    """A tree as one thread has it, whose are `forest.path` and `own`; all else is shared."""

    forest: Forest  # racy; the path is not
    locks: np.ndarray  # a lock a node, and the top's
    # The numbers of free nodes are those of `forest.nodes`; this arena has no words of theirs,
    # which others may look at when a node is given back.
    free: Arena
    free_lock: np.ndarray  # a spin lock around `free`
    own: np.ndarray
    top: int  # the number of its lock


# --- descents -------------------------------------------------------------------------------------


@inlined
def attempt_top(tree):
    """Return the root, the height and the top's version; the version is RESTART if they changed."""
    forest = tree.forest
    since = read_when_open(tree.locks, tree.top)
    root, height = peek(forest.roots, TREE), peek(forest.heights, TREE)
    if not check(tree.locks, tree.top, since):
        mark("olc_tree: the root has changed")
        return root, height, RESTART
    return root, height, since


@inlined
def attempt_child(tree, above, since, node):
    """Return the version of a node whose number stood in `above`, at version `since`, or RESTART.

    At the moment of the check the node had this version, and was what `above` said it is.
    """
    version = read_when_open(tree.locks, node)
    if version == RESTART or not check(tree.locks, above, since):
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
        child = peek(forest.entries, links_of(forest, node) + rank(forest, node, key))
        # Who changes the node may have left any number there.
        if not check(tree.locks, node, version):
            mark("olc_tree: a child was read while it changed")
            return node, RESTART
        above, since, node = node, version, child
    return node, attempt_child(tree, above, since, node)


@inlined
def attempt_path(tree, key, behind):
    """Note the path to where `key` belongs, `behind` its equals or before: the leaf, the height.

    The leaf is RESTART where something changed meanwhile.
    """
    forest, own = tree.forest, tree.own
    node, height, since = attempt_top(tree)
    if since == RESTART:
        return RESTART, height
    above = tree.top
    poke(own, VERSIONS, since)
    for depth in range(height):
        version = attempt_child(tree, above, since, node)
        if version == RESTART:
            return RESTART, height
        if behind:
            at = rank_behind(forest, node, key, peek(forest.counts, node) - 1)
        else:
            at = rank(forest, node, key)
        child = peek(forest.entries, links_of(forest, node) + at)
        if not check(tree.locks, node, version):
            mark("olc_tree: a child was read while it changed")
            return RESTART, height
        note_step(tree, depth, node, at, version)
        above, since, node = node, version, child
    version = attempt_child(tree, above, since, node)
    poke(own, VERSIONS + height + 1, version)
    return (RESTART if version == RESTART else node), height


@inlined
def note_step(tree, depth, node, at, version):
    """Note an inner node of the path, which of its children is next, and its version."""
    poke(tree.forest.path, depth, node)
    poke(tree.forest.path, MOST_HEIGHT + depth, at)
    poke(tree.own, VERSIONS + depth + 1, version)


@inlined
def version_at(tree, depth):
    """Return the version of the path's node at a depth: -1 is the top, the height the leaf."""
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
        if not upgrade(tree.locks, lock, version):
            release_needed(tree, each, False)
            return False
    return True


@inlined
def release_needed(tree, count, changed):
    """Give back the first so many of the locks that were noted; those of obsolete nodes are."""
    for each in range(count):
        lock = peek(tree.own, NEEDED + 2 * each)
        if not changed:
            release_unchanged(tree.locks, lock)
        # RELAXED: what this thread has, or has just retired, nobody else writes.
        elif load(tree.locks, lock * LINE_WORDS, RELAXED) & OBSOLETE == 0:
            release(tree.locks, lock)


# --- insertion ------------------------------------------------------------------------------------


@inlined
def insert(tree, key, position):
    """Index a tuple: ACCEPTED, or FULL."""
    sequence = sequence_of(position)
    status = attempt_insert(tree, key, sequence)
    rounds = 0
    while status == RESTART:
        rounds = spin(rounds)
        status = attempt_insert(tree, key, sequence)
    return status


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
    if not upgrade(tree.locks, leaf, version_at(tree, height)):
        return RESTART
    insert_at(forest, leaf, place, key, place, sequence)
    release(tree.locks, leaf)
    return ACCEPTED


@inlined
def attempt_split(tree, height, leaf, place, key, sequence):
    """Insert into a leaf that was full: ACCEPTED, FULL or RESTART."""
    forest = tree.forest
    count = need(tree, 0, leaf, version_at(tree, height))
    depth = height - 1
    full = True
    while full and depth >= 0:
        node = peek(forest.path, depth)
        count = need(tree, count, node, version_at(tree, depth))
        full = peek(forest.counts, node) == fan_out_of(forest.kind)
        depth -= 1
    # Each of them takes a node, but the last, which has room; or it is the root.
    taken = count - 1
    if full:
        taken = count + 1
        count = need(tree, count, tree.top, version_at(tree, -1))
    if not attempt_upgrades(tree, count):
        return RESTART
    spin_lock.acquire(tree.free_lock, 0)
    enough = free_count(tree.free, OWNER) >= taken
    if enough:
        # The next ones to be taken. They stay obsolete until they are in the tree.
        first = free_count(tree.free, OWNER) - 1
        for each in range(taken):
            poke(tree.own, NODES + each, tree.free.free_nodes[first - each])
        split_leaf(forest, TREE, OWNER, height, leaf, place, key, sequence)
    spin_lock.release(tree.free_lock, 0)
    if not enough:
        release_needed(tree, count, False)
        return FULL
    for each in range(taken):
        reopen(tree.locks, peek(tree.own, NODES + each))
    release_needed(tree, count, True)
    return ACCEPTED


# --- deletion -------------------------------------------------------------------------------------


@inlined
def remove(tree, key, position):
    """Delete a tuple that was inserted; where there is none, nothing."""
    sequence = sequence_of(position)
    rounds = 0
    while attempt_remove(tree, key, sequence) == RESTART:
        rounds = spin(rounds)


@inlined
def attempt_remove(tree, key, sequence):
    """Delete the entry with this key and sequence: ACCEPTED, also where there is none; RESTART."""
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
    if not upgrade(tree.locks, leaf, version_at(tree, height)):
        return RESTART
    remove_at(forest, leaf, place, place)
    release(tree.locks, leaf)
    return ACCEPTED


@inlined
def attempt_next_leaf(tree, height, leaf):
    """Move the path from `leaf` to the next leaf and return that; NO_NODE behind the last; GONE."""
    forest = tree.forest
    since = version_at(tree, height)
    behind = peek(forest.nodes.words, leaf)
    if not check(tree.locks, leaf, since):
        return GONE
    if behind == NO_NODE:
        return NO_NODE
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
        if not check(tree.locks, above, version):
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
    poke(tree.own, VERSIONS + height + 1, version)
    # As long as the leaf is as it was, nothing has gone past its end, and this one is behind it.
    return behind if behind == node and check(tree.locks, leaf, since) else GONE


@inlined
def attempt_neighbour(tree, depth, at):
    """Return child `at` of the path's node at a depth and its version, which may be RESTART."""
    forest = tree.forest
    parent, since = peek(forest.path, depth), version_at(tree, depth)
    node = peek(forest.entries, links_of(forest, parent) + at)
    if not check(tree.locks, parent, since):
        return node, RESTART
    return node, attempt_child(tree, parent, since, node)


@inlined
def attempt_plan(tree, depth, left):
    """Say what becomes of the path's node at a depth, which will have `left` entries.

    Returns that (or RESTART), the first of the two children of its parent that change, and the
    neighbour and its version.
    """
    forest = tree.forest
    parent, at = peek(forest.path, depth - 1), peek(forest.path, MOST_HEIGHT + depth - 1)
    has_right = at + 1 < peek(forest.counts, parent)
    first = at if has_right else at - 1
    # Not a root, it has a neighbour: a parent has two children at least.
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
    """Delete an entry of a leaf that then has `left`, too few: ACCEPTED or RESTART."""
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
        give_back(tree.free, OWNER, peek(own, NODES + each))
    spin_lock.release(tree.free_lock, 0)
    return ACCEPTED


@inlined
def let_go(tree, gone, node):
    """Retire a node that is out of the tree, note it, and return how many are."""
    poke(tree.own, NODES + gone, node)
    retire(tree.locks, node)
    return gone + 1


# --- search ---------------------------------------------------------------------------------------


@inlined
def find(tree, keys, begin, count, places):
    """Descend for the `count` keys from ``keys[begin]`` on, a level of all at a time."""
    root, height, since = attempt_top(tree)
    for each in range(count):
        at = PLACE_WORDS * each
        poke(places, at + LEAF, root)
        poke(places, at + VERSION, since)
        poke(places, at + ABOVE, tree.top)
    for _ in range(height):
        for each in range(count):
            step(tree, peek(keys, begin + each), places, PLACE_WORDS * each)
    for each in range(count):
        at = PLACE_WORDS * each
        if peek(places, at + VERSION) != RESTART:
            node, above = peek(places, at + LEAF), peek(places, at + ABOVE)
            version = attempt_child(tree, above, peek(places, at + VERSION), node)
            poke(places, at + VERSION, version)


@inlined
def step(tree, key, places, at):
    """Go one level down, and ask for the memory of the node there."""
    forest = tree.forest
    node, since = peek(places, at + LEAF), peek(places, at + VERSION)
    if since == RESTART:
        return
    version = attempt_child(tree, peek(places, at + ABOVE), since, node)
    if version != RESTART:
        child = peek(forest.entries, links_of(forest, node) + rank(forest, node, key))
        # Who changes the node may have left any number there.
        if check(tree.locks, node, version):
            ask_for(tree, child)
            poke(places, at + LEAF, child)
            poke(places, at + ABOVE, node)
        else:
            mark("olc_tree: a child was read while it changed")
            version = RESTART
    poke(places, at + VERSION, version)


@inlined
def ask_for(tree, node):
    """Ask for the memory of a node and of its lock."""
    forest = tree.forest
    begin = keys_of(forest, node)
    prefetch(tree.locks, node * LINE_WORDS)
    for place in range(begin, begin + 2 * fan_out_of(forest.kind), A_LINE):
        prefetch(forest.entries, place)


@inlined
def scan(tree, low, high, places, at, window, out, count):
    """Write the positions asked for of keys from `low` to `high` behind ``out[:count]``."""
    leaf, version = peek(places, at + LEAF), peek(places, at + VERSION)
    end = RESTART
    if version != RESTART:
        end = attempt_scan(tree, leaf, version, low, high, window, out, count)
    rounds = 0
    while end == RESTART:
        mark("olc_tree: a scan begins again")
        leaf, version = attempt_find(tree, low)
        if version != RESTART:
            end = attempt_scan(tree, leaf, version, low, high, window, out, count)
        if end == RESTART:
            rounds = spin(rounds)
    return end


@inlined
def attempt_scan(tree, leaf, version, low, high, window, out, count):
    """Do so from a leaf on, where `low` belonged at this version: the new count, or RESTART."""
    forest = tree.forest
    room = len(out) - LIVE
    place = rank(forest, leaf, low)
    before, since = NO_NODE, RESTART
    while True:
        entries = peek(forest.counts, leaf)
        behind = peek(forest.nodes.words, leaf)
        if count + entries <= room:
            last, more = scan_leaf(forest, leaf, place, entries, high, window, out, count)
        else:
            last, more = scan_within(forest, leaf, place, entries, high, window, out, count, room)
        if check(tree.locks, leaf, version):
            count = more
            if last < entries or behind == NO_NODE:
                return count
            before, since = leaf, version
            leaf = behind
            place = 0
        else:
            # What the leaf gave is taken back: `count` is what it was.
            mark("olc_tree: a scan takes back a leaf")
            if before == NO_NODE:
                return RESTART
        version = attempt_child(tree, before, since, leaf)
        if version == RESTART:
            return RESTART


@inlined
def scan_within(forest, leaf, place, entries, high, window, out, count, room):
    """Do as ``scan_leaf``, but write nothing behind ``out[:room]``.

    What would go there does not stand there at once: a leaf that changes may show an entry twice,
    and one that is used again shows those of other keys.
    """
    keys, links = keys_of(forest, leaf), links_of(forest, leaf)
    last = place
    while last < entries and peek(forest.entries, keys + last) <= high:
        sequence = peek(forest.entries, links + last)
        if is_asked_for(sequence, window[OLDEST], window[NEWEST]):
            if count < room:
                poke(out, count, position_of(sequence, window[NEWEST]))
            count += 1
        last += 1
    return last, count


# --- the index ------------------------------------------------------------------------------------


def make_state(
    window: int, slack: int = 0, key_bits: int = 32, threads: int = 1, fan_out: int = 32
) -> OlcTree:
    """Return an empty tree for so many threads.

    Raises
    ------
    UsageError
        When a parameter is out of its limits.
    """
    key_type = check_window(window, key_bits)
    # A thread that has taken nodes out of the tree gives them back a little later.
    on_the_way = threads * MOST_HEIGHT
    capacity = nodes_for(window + slack, 1, fan_out, deletes=True) + on_the_way
    forest = make_forest(1, 1, capacity, key_type, fan_out)
    locks = make_optimistic_locks(capacity + 1, obsolete=True)
    for open_one in (int(forest.roots[TREE]), capacity):
        locks[open_one * LINE_WORDS] = 0
    return OlcTree(
        forest=racy_forest(forest),
        locks=locks,
        free=forest.nodes._replace(words=aligned_words(1), node_words=0),
        free_lock=spin_lock.make_spin_locks(1),
        own=aligned_words(OWN_WORDS),
        top=capacity,
    )


def views(state: OlcTree, threads: int) -> tuple[OlcTree, ...]:
    """Return the tree as each of so many threads has it."""
    return tuple(
        state._replace(
            forest=state.forest._replace(path=aligned_words(PATH_WORDS)),
            own=aligned_words(OWN_WORDS),
        )
        for _ in range(threads)
    )


@inlined
def enter(tree):
    """Do nothing: whatever a thread looks at, a check says whether it may."""


@inlined
def leave(tree):
    """Do nothing, as ``enter``."""


def places_of(state: OlcTree) -> int:
    """Return the words that `find` notes of a key."""
    return PLACE_WORDS


def footprint(state: OlcTree) -> dict[str, int]:
    """Return the bytes in use."""
    nodes = state.free.capacity - int(free_count(state.free, OWNER))
    return {"insert": used_bytes(state.forest) + (nodes + 1) * LINE_BYTES}


def entries(state: OlcTree) -> list[tuple[int, int]]:
    """Return key and sequence of each entry, sorted."""
    return sorted(check_forest(state.forest, 1))


def check_invariants(state: OlcTree) -> None:
    """Check the tree and its locks at rest.

    Raises
    ------
    AssertionError
        When an invariant does not hold.
    """
    check_forest(state.forest, 1)
    optimistic.check_invariants(state.locks)
    free = int(free_count(state.free, OWNER))
    unused = set(state.free.free_nodes[:free].tolist())
    for node in range(state.top):
        obsolete = bool(int(state.locks[node * LINE_WORDS]) & OBSOLETE)
        assert obsolete == (node in unused), f"invariant 8: node {node} is obsolete: {obsolete}"


SHARED = SharedIndexOperations(
    make_state=make_state,
    views=views,
    enter=enter,
    leave=leave,
    insert=insert,
    remove=remove,
    find=find,
    scan=scan,
    places_of=places_of,
    footprint=footprint,
    check_invariants=check_invariants,
    entries=entries,
)

VARIANT = Variant(
    id="olc-tree",
    family="index",
    title="B+-Tree, optimistic lock coupling",
    paper="none",
    section="Leis et al., 2019",
    operations=operations_for_one(SHARED),
    order="none within a search",
    progress="blocking",
    threads={"owner": "one"},
    capacity="the tuples of a window; one more is told FULL at the latest",
    parameters=(FAN_OUT,),
    bench=False,
    extended=True,
    look=Look("sky", "s"),
)
