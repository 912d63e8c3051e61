"""Mutants of the tree of optimistic lock coupling."""

from __future__ import annotations

from functools import partial

from operators.check.mutants import Mutant

_olc = partial(Mutant, variant="index/olc-tree", module="operators.index.olc_tree")

MUTANTS = (
    _olc(
        name="olc-tree-child-followed-unchecked",
        old="        if check(tree.locks, node, version):\n            ask_for(tree, child)\n",
        new="        if True:\n            ask_for(tree, child)\n",
        breaks="what was read as a child's number, while the node changed, is followed",
    ),
    _olc(
        name="olc-tree-parent-not-checked-again",
        old="    if version == RESTART or not check(tree.locks, above, since):\n",
        new="    if version == RESTART:\n",
        breaks="a child that has become another's, or has split, passes for the right one",
        canary=True,
    ),
    _olc(
        name="olc-tree-version-stays",
        old="            release(tree.locks, lock)\n",
        new="            release_unchanged(tree.locks, lock)\n",
        breaks="a node has the same version before and behind a split, a merge, a borrowing",
    ),
    _olc(
        name="olc-tree-upgraded-without-compare",
        old="    if not upgrade(tree.locks, leaf, version_at(tree, height)):\n"
        "        return RESTART\n"
        "    insert_at(",
        new="    if not optimistic.acquire(tree.locks, leaf):\n"
        "        return RESTART\n"
        "    insert_at(",
        breaks="an entry goes where it belonged when the leaf was another",
    ),
    _olc(
        name="olc-tree-scan-keeps-what-failed",
        old="        if check(tree.locks, leaf, version):\n            count = more\n",
        new="        count = more\n        if check(tree.locks, leaf, version):\n",
        breaks="what a scan has written of a leaf that changed stays, and is written again",
    ),
    _olc(
        name="olc-tree-scan-without-coupling",
        old="        version = attempt_child(tree, before, since, leaf)\n",
        new="        version = read_when_open(tree.locks, leaf)\n",
        breaks="an entry that is borrowed past a scan, between two leaves, is lost or doubled",
    ),
    _olc(
        name="olc-tree-neighbour-not-locked",
        old="        count = need(tree, count, neighbour, version)\n",
        new="        pass\n",
        breaks="a neighbour is merged, or borrowed from, while others read and change it",
    ),
    _olc(
        name="olc-tree-walk-without-coupling",
        old="    return behind if behind == node and check(tree.locks, leaf, since) else GONE\n",
        new="    return node\n",
        breaks="an entry to be deleted that goes to the leaf before is missed among its equals",
    ),
    _olc(
        name="olc-tree-root-changed-unlocked",
        old="    if shrinks:\n        count = need(tree, count, tree.top, version_at(tree, -1))\n",
        new="    if False:\n        pass\n",
        breaks="a root and a height that do not belong together pass for those of the tree",
    ),
    _olc(
        name="olc-tree-free-nodes-unlocked",
        old="    spin_lock.acquire(tree.free_lock, 0)\n    enough",
        new="    enough",
        breaks="two threads take one node",
    ),
    _olc(
        name="olc-tree-version-of-two-uses",
        module="operators.core.optimistic",
        old="store(locks, place, word + (STEP - OBSOLETE), RELEASE)",
        new="store(locks, place, word - OBSOLETE, RELEASE)",
        breaks="what a reader began before a node was used again passes its check",
    ),
)
