"""Mutants of the indexes."""

from __future__ import annotations

from functools import partial

from operators.check.mutants import Mutant

_tree = partial(Mutant, variant="index/b-plus-tree", module="operators.index.b_plus_tree")
_chain = partial(Mutant, variant="index/b-chain", module="operators.index.chain")
_pim = partial(Mutant, variant="index/pim-tree", module="operators.index.pim_tree")

MUTANTS = (
    _tree(
        name="b-plus-tree-leaf-left-in-the-list",
        old="        poke(forest.nodes.words, left, peek(forest.nodes.words, right))\n",
        new="        pass\n",
        breaks="a search along the leaves comes to one that was given back",
        canary=True,
    ),
    _tree(
        name="b-plus-tree-separator-not-rotated",
        old="    forest.entries[keys_of(forest, parent) + at] = forest.entries[last]\n",
        new="    pass\n",
        breaks="what a node has borrowed is looked for in its neighbour",
    ),
    Mutant(
        name="b-chain-expired-entries-found",
        variant="index/b-chain",
        module="operators.index.b_plus_tree",
        old="        count += is_asked_for(sequence, oldest, newest)\n",
        new="        count += 1\n",
        breaks="tuples that have left the window are found until their subindex is dropped",
    ),
    _chain(
        name="b-chain-oldest-not-emptied",
        old="        plant(state.trees, words[ACTIVE], words[ACTIVE])\n",
        new="        pass\n",
        breaks="new tuples go into the tree of the oldest subindex, whose nodes are free",
    ),
    _pim(
        name="pim-tree-slot-not-swapped",
        old="    words[SLOT] = 1 - words[SLOT]\n",
        new="    pass\n",
        breaks="what was merged is lost",
    ),
    _pim(
        name="pim-tree-subindexes-not-linked",
        old="            poke(state.fresh.nodes.words, leaf, subindex + 1)\n",
        new="            pass\n",
        breaks="a search ends with the subindex that it begins in",
    ),
    Mutant(
        name="immutable-tree-separator-of-the-next-child",
        variant="index/im-tree",
        module="operators.index.immutable_tree",
        old="largest = peek(trees.keys, first + (child + 1) * stride - 1)",
        new="largest = peek(trees.keys, first + (child + 1) * stride)",
        breaks="a search for a child's largest keys goes to the wrong one",
    ),
)
