"""Descents of a PIM-Tree for several keys at once, level by level.

No paper has it. A descent waits for memory at each level, since a node tells where the next one is;
in a window larger than the caches that is most of a join. Independent searches can wait together:
while one node is being fetched, others are prefetched::

    one by one      r0: root .. node .. leaf      r1: root .. node .. leaf      r2: ...
    in lock-step    r0 r1 r2: root, each prefetches a node; node, each prefetches a leaf; ...

The result for a key is three words: a leaf of T_I, a block of T_S, a subindex.
"""

from __future__ import annotations

from operators.core.jit import inlined
from operators.core.prefetch import prefetch_all
from operators.core.vectors import peek, poke
from operators.index.forest import ask_for, child_for
from operators.index.immutable_tree import (
    BEGINS,
    ask_for_block,
    descend,
    levels_of,
    own,
)
from operators.index.node import fan_out_of

# Words of the result for a key.
LEAF, BLOCK, SUBINDEX = 0, 1, 2
FOUND = 3


@inlined
def descend_together(stable, slot, depth, keys, begin, count, places, at, stride):
    """Find block and subindex of `count` keys from ``keys[begin]`` on, and prefetch the blocks.

    The words of the first key begin at ``places[at]``, those of the next `stride` words behind;
    subindexes are attached at `depth`.
    """
    fan_out = fan_out_of(stable.kind)
    levels = levels_of(stable, slot)
    for key in range(count):
        poke(places, at + stride * key + BLOCK, 0)
        poke(places, at + stride * key + SUBINDEX, 0)
    for level in range(levels):
        for key in range(count):
            place = at + stride * key
            node = peek(places, place + BLOCK)
            node = descend(stable, slot, node, level, level + 1, peek(keys, begin + key))
            poke(places, place + BLOCK, node)
            if level + 1 == depth:
                poke(places, place + SUBINDEX, node)
            if level + 1 == levels:
                ask_for_block(stable, slot, node)
            else:
                first = peek(stable.words, own(slot) + BEGINS + level + 1)
                prefetch_all(stable.separators, first + node * fan_out, fan_out)


@inlined
def find_leaves_together(fresh, keys, begin, count, places, at, stride):
    """Find and prefetch the leaves of T_I for keys whose subindexes are known."""
    most = 0
    for key in range(count):
        place = at + stride * key
        tree = peek(places, place + SUBINDEX)
        root = peek(fresh.roots, tree)
        poke(places, place + LEAF, root)
        most = max(most, peek(fresh.heights, tree))
        ask_for(fresh, root)
    for height in range(most):
        for key in range(count):
            place = at + stride * key
            if height < peek(fresh.heights, peek(places, place + SUBINDEX)):
                node = child_for(fresh, peek(places, place + LEAF), peek(keys, begin + key))
                poke(places, place + LEAF, node)
                ask_for(fresh, node)
