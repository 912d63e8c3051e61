"""Mutants of the tree of optimistic lock coupling."""

from __future__ import annotations

from functools import partial

from operators.check.mutants import Mutant

_olc = partial(Mutant, variant="index/olc-tree", module="operators.index.olc_tree")
_path = partial(Mutant, variant="index/olc-tree", module="operators.index.olc_path")
_changes = partial(Mutant, variant="index/olc-tree", module="operators.index.olc_changes")

MUTANTS = (
    _path(
        name="olc-tree-child-followed-unchecked",
        old="        # Who changes the node may have left any number there.\n"
        "        if not check_at(tree.locks, node, version):\n",
        new="        if False:\n",
        breaks="what was read as a child's number, while the node changed, is followed",
    ),
    _path(
        name="olc-tree-parent-not-checked-again",
        old="    if version == RESTART or not check_at(tree.locks, above, since):\n",
        new="    if version == RESTART:\n",
        breaks="a child that has become another's, or has split, passes for the right one",
    ),
    _path(
        name="olc-tree-version-stays",
        old="            release_at(tree.locks, lock)\n",
        new="            release_unchanged_at(tree.locks, lock)\n",
        breaks="a node has the same version before and behind a split, a merge, a borrowing",
    ),
    _changes(
        name="olc-tree-lost-upgrade-taken",
        old="    if not upgrade_at(tree.locks, leaf, version_at(tree, height)):\n"
        "        return RESTART\n"
        "    insert_at(",
        new="    upgrade_at(tree.locks, leaf, version_at(tree, height))\n    insert_at(",
        breaks="who has not got the lock, since the leaf was another, changes it all the same",
    ),
    _olc(
        name="olc-tree-scan-keeps-what-failed",
        old="        if check_at(tree.locks, leaf, version):\n            count = more\n",
        new="        count = more\n        if check_at(tree.locks, leaf, version):\n",
        breaks="what a scan has written of a leaf that changed stays, and is written again",
    ),
    _olc(
        name="olc-tree-scan-without-coupling",
        old="        version = attempt_child(tree, before, since, leaf)\n",
        new="        top = attempt_top(tree)\n"
        "        version = attempt_child(tree, tree.top, top[2], leaf)\n",
        breaks="an entry that is borrowed past a scan, between two leaves, is lost or doubled",
    ),
    _changes(
        name="olc-tree-neighbour-not-locked",
        old="        count = need(tree, count, neighbour, version)\n",
        new="        pass\n",
        breaks="a neighbour is merged, or borrowed from, while others read and change it",
    ),
    _changes(
        name="olc-tree-walk-without-coupling",
        old="    return behind if behind == node and check_at(tree.locks, leaf, since) else GONE\n",
        new="    return node\n",
        breaks="an entry to be deleted that goes to the leaf before is missed among its equals",
    ),
    _changes(
        name="olc-tree-root-changed-unlocked",
        old="    if shrinks:\n        count = need(tree, count, tree.top, version_at(tree, -1))\n",
        new="    if False:\n        pass\n",
        breaks="a root and a height that do not belong together pass for those of the tree",
    ),
    _changes(
        name="olc-tree-free-nodes-unlocked",
        old="    spin_lock.acquire(tree.free_lock, 0)\n    enough",
        new="    enough",
        breaks="two threads take one node",
    ),
)
