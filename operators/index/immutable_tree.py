r"""The immutable B+-Tree: a sorted array, and above it levels of separators without references.

Source: section 3.1 of "Parallel Index-based Stream Join on a Multicore CPU"; Rao and Ross,
"Cache Conscious Indexing for Decision-Support in Main Memory" (CSS-Tree), 1999. Nodes lie in an
array in breadth-first order, so the position of a child follows from that of the parent: child k of
node i is node ``i * fan_out + k`` one level down, and nodes store no references. The tree is built
in one pass and never changed::

    level 0       [ 20 | 45 | +oo ]
                 /       |        \
    level 1   [7|20|+oo] ...    [60|80|+oo]           inner: separators
               |  |                 |
    blocks   [1 4 7][9 11 20] ... [51 60]             keys, ascending; sequences in a parallel array

Invariants (``check_invariants``):

1. A separator is the largest key of the child. The last child of a level, and the padding behind,
   have +oo: every key finds a child, and no search leaves the level below.
2. The last block is padded with +oo, so that ranks are counted over whole nodes, without a branch.

Several trees of one size lie in adjacent *slots*: a tree and the buffer for the next merge, or the
archived subindexes of a chain.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from operators.core.jit import inlined
from operators.core.layout import (
    LINE_BYTES,
    LINE_WORDS,
    aligned_array,
    aligned_words,
    whole_lines,
)
from operators.core.prefetch import prefetch_all
from operators.core.vectors import LIVE, peek, poke
from operators.index.family import is_asked_for, position_of
from operators.index.node import (
    NodeKind,
    fan_out_of,
    is_vector,
    make_kind,
    rank_behind_in,
    rank_in,
)
from operators.index.window import NEWEST, OLDEST, put_live

MOST_LEVELS = 16
# Words of a slot: entries, inner levels, nodes of each level, and start of each level.
COUNT = 0
LEVELS = 1
NODES = 2
BEGINS = NODES + MOST_LEVELS
SLOT_WORDS = BEGINS + MOST_LEVELS


class ImmutableTrees(NamedTuple):
    """Trees of bounded size, each in a slot."""

    # (slots * room): keys and sequences of the blocks; those of a slot begin at slot * room. The
    # padding behind the last block covers a whole vector read and write of a merge.
    keys: np.ndarray
    sequences: np.ndarray
    # (slots * inner_room): the separators of all levels of a slot, the root first.
    separators: np.ndarray
    # (slots * SLOT_WORDS): see above.
    words: np.ndarray
    room: int
    inner_room: int
    kind: NodeKind


def levels_for(entries: int, fan_out: int) -> int:
    """Return the number of levels of inner nodes in a tree of so many entries."""
    nodes, levels = -(-entries // fan_out), 0
    while nodes > 1:
        nodes, levels = -(-nodes // fan_out), levels + 1
    return levels


def make_trees(
    slots: int, entries: int, key_type: type, fan_out: int, huge: bool = False
) -> ImmutableTrees:
    """Return empty trees, each with room for so many entries and one more.

    When entries are written one by one, an expired entry may be written before the next overwrites
    it. With `huge` the trees lie on huge pages.
    """
    blocks = -(-(entries + 1) // fan_out)
    inner = 0
    children = blocks
    while children > 1:
        children = -(-children // fan_out)
        inner += children
    a_line = LINE_BYTES // np.dtype(key_type).itemsize
    room = -(-(blocks * fan_out + LIVE) // a_line) * a_line
    inner_room = -(-max(inner, 1) * fan_out // a_line) * a_line
    trees = ImmutableTrees(
        keys=aligned_array(slots * room, key_type, huge),
        sequences=aligned_array(slots * room, np.int32, huge),
        separators=aligned_array(slots * inner_room, key_type, huge),
        words=aligned_words(slots * whole_lines(SLOT_WORDS)),
        room=room,
        inner_room=inner_room,
        kind=make_kind(fan_out, int(np.iinfo(key_type).max)),
    )
    for slot in range(slots):
        build(trees, slot, 0)
    return trees


@inlined
def own(slot):
    """Return where the words of a slot begin."""
    return slot * (-(-SLOT_WORDS // LINE_WORDS) * LINE_WORDS)


@inlined
def levels_of(trees, slot):
    """Return the number of levels of inner nodes in a tree."""
    return peek(trees.words, own(slot) + LEVELS)


@inlined
def nodes_at(trees, slot, depth):
    """Return the number of nodes at a depth; at depth ``levels_of``, of blocks of entries."""
    fan_out = fan_out_of(trees.kind)
    if depth < levels_of(trees, slot):
        return peek(trees.words, own(slot) + NODES + depth)
    return max((peek(trees.words, own(slot) + COUNT) + fan_out - 1) // fan_out, 1)


@inlined
def descend(trees, slot, node, begin, end, key):
    """Return the node at depth `end` to which `key` belongs, below `node` at depth `begin`."""
    fan_out = fan_out_of(trees.kind)
    words = own(slot)
    for depth in range(begin, end):
        level = peek(trees.words, words + BEGINS + depth)
        node = node * fan_out + rank_in(trees.kind, trees.separators, level + node * fan_out, key)
    return node


@inlined
def bound_of(trees, slot, depth, node):
    """Return the separator of a node at a depth above 0: the upper bound of the keys below."""
    return peek(trees.separators, peek(trees.words, own(slot) + BEGINS + depth - 1) + node)


@inlined
def first_below(trees, slot, depth, node):
    """Return where the entries below a node begin; for a node behind the last, where all end.

    Counted from the first entry of the slot.
    """
    fan_out = fan_out_of(trees.kind)
    span = fan_out
    for _ in range(depth, levels_of(trees, slot)):
        span *= fan_out
    return min(node * span, peek(trees.words, own(slot) + COUNT))


@inlined
def ask_for_block(trees, slot, block):
    """Prefetch a block that is about to be scanned.

    A scan reads the sequences after the keys. In a large window neither is cached: prefetching both
    at once makes the scan wait for memory only once.
    """
    fan_out = fan_out_of(trees.kind)
    begin = slot * trees.room + block * fan_out
    prefetch_all(trees.keys, begin, fan_out)
    prefetch_all(trees.sequences, begin, fan_out)


@inlined
def scan_block(trees, slot, block, low, high, window, out, count):
    """Write the positions of the live keys from `low` to `high` behind ``out[:count]``.

    `block` is the block to which `low` belongs. Returns the new count.
    """
    fan_out = fan_out_of(trees.kind)
    first = slot * trees.room
    end = first + peek(trees.words, own(slot) + COUNT)
    begin = first + block * fan_out
    place = begin + rank_in(trees.kind, trees.keys, begin, low)
    if is_vector(trees.kind):
        last = begin
        while last == begin and begin < end:
            last = begin + rank_behind_in(trees.kind, trees.keys, begin, high, fan_out)
            count = put_live(trees.sequences, place, min(last, end), window, out, count)
            # The range may continue behind this block.
            begin += fan_out
            place = begin
        return count
    oldest, newest = window[OLDEST], window[NEWEST]
    while place < end and peek(trees.keys, place) <= high:
        sequence = peek(trees.sequences, place)
        # Branch-free, since expiry is hard to predict: the next entry overwrites an expired one.
        poke(out, count, position_of(sequence, newest))
        count += is_asked_for(sequence, oldest, newest)
        place += 1
    return count


@inlined
def build(trees, slot, count):
    """Build a tree over the first `count` keys of a slot, which ascend, from the bottom up."""
    fan_out = fan_out_of(trees.kind)
    words = own(slot)
    first = slot * trees.room
    blocks = max((count + fan_out - 1) // fan_out, 1)
    for place in range(first + count, first + blocks * fan_out):
        trees.keys[place] = trees.kind.last_key
    levels = 0
    children = blocks
    while children > 1:
        children = (children + fan_out - 1) // fan_out
        levels += 1
    trees.words[words + COUNT] = count
    trees.words[words + LEVELS] = levels
    # Sizes from the bottom up, then offsets from the root down.
    children = blocks
    for depth in range(levels - 1, -1, -1):
        children = (children + fan_out - 1) // fan_out
        trees.words[words + NODES + depth] = children
    begin = slot * trees.inner_room
    for depth in range(levels):
        trees.words[words + BEGINS + depth] = begin
        begin += trees.words[words + NODES + depth] * fan_out
    # The largest key of a child: of a block the last key; of an inner node that of the last child.
    # These are the last keys of every fan_out-th, fan_out**2-th, ... block.
    stride = fan_out
    children = blocks
    for depth in range(levels - 1, -1, -1):
        level = trees.words[words + BEGINS + depth]
        for child in range(children - 1):
            largest = peek(trees.keys, first + (child + 1) * stride - 1)
            poke(trees.separators, level + child, largest)
        room = trees.words[words + NODES + depth] * fan_out
        for child in range(children - 1, room):
            trees.separators[level + child] = trees.kind.last_key
        children = trees.words[words + NODES + depth]
        stride *= fan_out


def used_bytes(trees: ImmutableTrees, slot: int) -> int:
    """Return the bytes in use by the tree of a slot."""
    fan_out = trees.kind.fan_out
    depths = range(int(levels_of(trees, slot)))
    inner = sum(int(nodes_at(trees, slot, depth)) for depth in depths) * fan_out
    blocks = int(nodes_at(trees, slot, len(depths))) * fan_out
    return inner * trees.keys.itemsize + blocks * (trees.keys.itemsize + 4)


def check_tree(trees: ImmutableTrees, slot: int) -> list[tuple[int, int]]:
    """Return the entries of a tree, after checking the invariants.

    Raises
    ------
    AssertionError
        When an invariant does not hold.
    """
    fan_out = trees.kind.fan_out
    words = own(slot)
    count, first = int(trees.words[words + COUNT]), slot * trees.room
    keys = trees.keys[first : first + count].tolist()
    assert keys == sorted(keys), "keys do not ascend"
    levels = int(levels_of(trees, slot))
    blocks = int(nodes_at(trees, slot, levels))
    padding = trees.keys[first + count : first + blocks * fan_out]
    assert (padding == trees.kind.last_key).all(), "no padding behind the last key"
    for depth in range(levels):
        begin = int(trees.words[words + BEGINS + depth])
        room = int(nodes_at(trees, slot, depth)) * fan_out
        below = int(nodes_at(trees, slot, depth + 1))
        span = fan_out ** (levels - depth)
        largest = [keys[(child + 1) * span - 1] for child in range(below - 1)]
        found = trees.separators[begin : begin + room].tolist()
        assert found == largest + [trees.kind.last_key] * (room - below + 1), (
            f"separators at {depth}"
        )
    return list(zip(keys, trees.sequences[first : first + count].tolist(), strict=True))
