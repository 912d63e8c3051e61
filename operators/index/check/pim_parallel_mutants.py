"""Mutants of the PIM-Tree of several threads."""

from __future__ import annotations

from functools import partial

from operators.check.mutants import Mutant

_VARIANT = "index/pim-tree-parallel"
_tree = partial(Mutant, variant=_VARIANT, module="operators.index.pim_tree_parallel")
_state = partial(Mutant, variant=_VARIANT, module="operators.index.pim_parallel_state")
_merge = partial(Mutant, variant=_VARIANT, module="operators.index.pim_parallel_merge")
_SCAN = "    count = scan_leaves(tree.fresh, begins, behind, low, high, window, out, count)\n"
_LOCKED = "scan_locked(tree, subindex, leaf, behind, low, high, window, out, count)"
_FREE = "scan_leaves(tree.fresh, leaf, behind, low, high, window, out, count)"
_COUNTED = (
    "    for subindex in range(first_of(tree, piece), {}):\n"
    "        behind = leaf_behind(subindex, words[SUBINDEXES])\n"
    "        kept = peek(tree.kept, subindex)\n"
)
_WRITTEN = "                poke(stable.keys, put, key)\n"
_NEXT = "first_of(tree, piece + 1)"

MUTANTS = (
    _tree(
        name="pim-tree-parallel-next-subindex-without-lock",
        old=f"            count = {_LOCKED}\n",
        new=f"            count = {_LOCKED} if leaf == NO_NODE else {_FREE}\n",
        breaks="a search goes through the next subindex while others insert into it",
    ),
    _tree(
        name="pim-tree-parallel-released-before-the-scan",
        old=_SCAN,
        new=f"    release_unchanged(tree.locks, subindex)\n{_SCAN}"
        "    acquire(tree.locks, subindex)\n",
        breaks="a subindex is searched without its lock",
    ),
    _tree(
        name="pim-tree-parallel-version-kept",
        old="    release(tree.locks, subindex)\n",
        new="    release_unchanged(tree.locks, subindex)\n",
        breaks="a look that saw half of an insertion stands",
    ),
    _tree(
        name="pim-tree-parallel-version-read-behind-the-look",
        old="        following = peek(fresh.nodes.words, node)\n",
        new="        following = peek(fresh.nodes.words, node)\n"
        "        version = read_begin(locks, subindex)\n",
        breaks="a look that saw half of an insertion stands",
    ),
    _tree(
        name="pim-tree-parallel-look-not-checked",
        old="        if not check(locks, subindex, version):\n"
        "            return RESTART\n"
        "        if last < held",
        new="        if last < held",
        breaks="a look that saw half of an insertion stands",
    ),
    _tree(
        name="pim-tree-parallel-split-not-noticed",
        old="        place = rank(fresh, node, low) if place == held else 0\n",
        new="        place = 0\n",
        breaks="behind a leaf that has split since it was found, keys below the range are found",
    ),
    _tree(
        name="pim-tree-parallel-search-ends-with-its-subindex",
        old="    if subindex >= last:\n",
        new="    if subindex >= 0:\n",
        breaks="a search whose range reaches into the next subindex misses what is there",
    ),
    _state(
        name="pim-tree-parallel-chunk-given-twice",
        old="    first = fetch_add(tree.next_node, 0, tree.chunk, RELAXED)\n",
        new="    first = load(tree.next_node, 0, RELAXED)\n"
        "    store(tree.next_node, 0, first + tree.chunk, RELAXED)\n",
        breaks="two threads take the same nodes",
    ),
    _state(
        name="pim-tree-parallel-not-emptied",
        old="        head = plant_at(tree.fresh, subindex, subindex)\n",
        new="        head = subindex\n",
        breaks="what was merged is in T_I still",
    ),
    _state(
        name="pim-tree-parallel-not-counted-anew",
        old="        store(tree.counts, thread * LINE_WORDS, 0, RELAXED)\n",
        new="        pass\n",
        breaks="after the first merge each insertion makes another due",
    ),
    Mutant(
        name="pim-tree-parallel-expired-kept",
        variant=_VARIANT,
        module="operators.index.pim_merge",
        old=f"            if is_live(sequence, oldest):\n{_WRITTEN}",
        new=f"            if True:\n{_WRITTEN}",
        breaks="a merge that comes late keeps what has expired in T_I",
    ),
    _merge(
        name="pim-tree-parallel-piece-begins-at-its-end",
        old="        poke(tree.pieces, piece, put)\n        put += live\n",
        new="        put += live\n        poke(tree.pieces, piece, put)\n",
        breaks="a piece is written to the place of the next",
    ),
    _merge(
        name="pim-tree-parallel-subindex-in-two-pieces",
        old=_COUNTED.format(_NEXT),
        new=_COUNTED.format(f"{_NEXT} + 1"),
        breaks="two threads write the first subindex of a piece",
    ),
)
