"""Mutants of the Bw-Tree, including faults found in other implementations."""

from __future__ import annotations

from functools import partial

from operators.check.mutants import Mutant

_nodes, _chain, _consolidation, _changes, _merges, _searches, _updates, _pool = (
    partial(Mutant, variant="index/bw-tree", module=f"operators.index.bw_{module}")
    for module in (
        "nodes",
        "chain",
        "consolidation",
        "changes",
        "merges",
        "searches",
        "updates",
        "pool",
    )
)

MUTANTS = (
    _nodes(
        name="bw-tree-head-published-relaxed",
        old="return cas(tree.table, number_of(reference), head, new, RELEASE)",
        new="return cas(tree.table, number_of(reference), head, new, RELAXED)",
        breaks="a head may arrive before the record that it leads to",
    ),
    _nodes(
        name="bw-tree-head-read-relaxed",
        old="return load(tree.table, number_of(reference), ACQUIRE)",
        new="return load(tree.table, number_of(reference), RELAXED)",
        breaks="a record may be read before the head that leads to it",
    ),
    _nodes(
        name="bw-tree-record-from-a-full-chunk",
        old="    if slot + slots > tree.slots:\n",
        new="    if False:\n",
        breaks="a record lies where the entries of the base are",
    ),
    _nodes(
        name="bw-tree-samples-not-of-this-base",
        old="        for sample in range(samples_of(tree, count)):\n",
        new="        for sample in range(samples_of(tree, count) - 1):\n",
        breaks="the last sample is that of the base that had the block before, or none",
    ),
    _chain(
        name="bw-tree-shortcut-one-off-after-a-delete",
        old="            first = max(first, offset)\n        elif kind_of(meta) != SPLIT",
        new="            first = max(first, offset + (kind_of(meta) == DELETE))\n"
        "        elif kind_of(meta) != SPLIT",
        breaks="where the chain had what was deleted, the base is searched behind its place",
    ),
    _chain(
        name="bw-tree-older-record-taken",
        old="            return (PRESENT if kind_of(meta) == INSERT else ABSENT), offset\n",
        new="            found = PRESENT if kind_of(meta) == INSERT else ABSENT\n"
        "            last = min(last, offset)\n",
        breaks="what the base says of an entry is taken for newer than what its chain does",
    ),
    _consolidation(
        name="bw-tree-delete-finds-its-insert-in-the-base",
        old="            if offset < limit and is_entry(tree, begin, level, offset, hi, lo):\n",
        new="            if False:\n",
        breaks="a deletion leaves what the base has, as if the chain had had it",
    ),
    _changes(
        name="bw-tree-consolidation-without-a-second-look",
        old="    if not swap(tree, node, head, head_of(node, block, 0)):\n",
        new="    if not swap(tree, node, look(tree, node), head_of(node, block, 0)):\n",
        breaks="records that came meanwhile are lost",
    ),
    _changes(
        name="bw-tree-number-without-a-generation",
        old="    generation = ((node >> NUMBER_BITS) + 1) & (GENERATIONS - 1)\n",
        new="    generation = node >> NUMBER_BITS\n",
        breaks="a search goes to another node that has the number of the one it was sent to",
    ),
    _changes(
        name="bw-tree-term-of-a-node-that-is-gone",
        old="known or is_stale(node, own_head) or kind_of(newest(tree, own_head)) == REMOVE:",
        new="known:",
        breaks="who helps a split gives the parent a node that has been merged away since",
    ),
    _changes(
        name="bw-tree-lost-root-taken",
        old="    if cas(tree.root, 0, root, parent, RELEASE):\n",
        new="    if cas(tree.root, 0, root, parent, RELEASE) or True:\n",
        breaks="a root that another thread was faster with is lost, with an index term",
    ),
    _changes(
        name="bw-tree-removed-node-read-from-its-parent",
        old="            node = peek(tree.words, link_at(tree, record_at(tree, begin, record)))\n"
        "            continue\n",
        new="            pass\n",
        breaks="an update comes back to a removed node, and waits for who holds its parent",
    ),
    _merges(
        name="bw-tree-parent-not-read-again",
        old="    if not swap(tree, parent, head, held):\n",
        new="    if not swap(tree, parent, look(tree, parent), held):\n",
        breaks="children are merged that the parent had as neighbours some time ago",
    ),
    _merges(
        name="bw-tree-abort-never-taken-back",
        old="        let_go(view, goal, 0)\n",
        new="",
        breaks="a parent whose children are not merged after all takes no record any more",
    ),
    _merges(
        name="bw-tree-left-neighbour-not-looked-for",
        old="        left = right\n",
        new="        break\n",
        breaks="a node is merged into one that is no neighbour any more, since that was split",
    ),
    _merges(
        name="bw-tree-block-retired-before-its-number",
        old="    let_go(view, goal, 2)\n    forget(view, node)\n"
        "    retire(view.blocks, view.epochs, view.thread, block_of(head))\n",
        new="    retire(view.blocks, view.epochs, view.thread, block_of(head))\n"
        "    let_go(view, goal, 2)\n    forget(view, node)\n",
        breaks="who begins to search then comes from the parent to a block that is used again",
    ),
    _merges(
        name="bw-tree-merged-block-retired-under-its-link",
        old="== MERGING and leads_to(tree, left_head, block_of(head)):\n",
        new="== MERGING and False:\n",
        breaks="the left neighbour still leads to the removed node's block when that is used again",
    ),
    _changes(
        name="bw-tree-bare-base-with-a-full-chunk",
        old="    if kind == REMOVE or kind == ABORT or (bare and has_slots(tree, begin)):\n",
        new="    if kind == REMOVE or kind == ABORT or bare:\n",
        breaks="a node without a chain whose slots are used up is never changed again",
    ),
    _pool(
        name="bw-tree-late-block-freed-under-a-scanner",
        old="        number = popped[0]\n        if not all_left(epochs, pool.since[number]):\n",
        new="        number = popped[0]\n        if False:\n",
        breaks="a block of the ring of those that wait is used again while a search reads it",
    ),
    _updates(
        name="bw-tree-split-key-of-a-removed-child",
        old='        mark("bw_tree: a parent is held")\n        return WAIT\n',
        new="        at = begin_of(tree, block_of(head)) + 15 + 2 * record_of(head)\n"
        "        if peek(tree.words, at) == hi:\n"
        "            pop_goal(own)\n"
        "            return AGAIN\n"
        "        return WAIT\n",
        breaks="the index term that a removed child still has is taken for that of the new node",
    ),
    _searches(
        name="bw-tree-scan-of-one-piece",
        old="            if rest == NO_NODE:\n                break\n",
        new="            if rest == NO_NODE:\n                break\n"
        "            _, right, bound = scan_piece(view, block_of(rest), record_of(rest), from_hi,"
        " from_lo, to_hi, to_lo, window, out, count)\n            break\n",
        breaks="what has been merged into a node is not found until it is consolidated",
    ),
    _searches(
        name="bw-tree-removed-node-scanned",
        old="                if not from_left:\n",
        new="                if False:\n",
        breaks="a search reads entries that the left neighbour has by now, and has changed",
    ),
    _pool(
        name="bw-tree-chain-freed-under-a-scanner",
        old="            return\n        if not all_left(epochs, pool.since[number]):\n"
        '            mark("bw_tree: a block is still',
        new='            return\n        if False:\n            mark("bw_tree: a block is still',
        breaks="a block is used again while a search reads it",
    ),
)
