r"""The Bw-Tree: a B+-tree whose nodes change by compare-and-swap, with records in front of them.

Source: Levandoski, Lomet and Sengupta, "The Bw-Tree: A B-tree for New Hardware Platforms", ICDE
2013; Wang et al., "Building a Bw-Tree Takes More Than Just Buzz Words", SIGMOD 2018, whose mended
protocol this is, with entries of key and sequence, so that each is there once. It is the rival of
section 5 of the paper (its [23]); figures 8a and 12b.

A node is a word of the mapping table, its head, which leads to the newest record of its chain, from
there to older ones, and to a sorted base (`bw_nodes` has the words)::

    table[4] -> delete 40 -> insert 12 -> base 5 17 23 40 58       what a node has: 5 12 17 23 58

    split    table[4] -> SPLIT 23: 7 -> base 5 17 23 40 58         table[7] -> base 23 40 58
             the parent's table[1] -> insert (23, 7) -> base ...   the second step

    merge    table[1] -> ABORT -> base ...                         node 7 goes into node 4
             table[7] -> REMOVE, left is 4 -> base 23 40
             table[4] -> MERGE 23, table[7] as it was -> base 5 17
             table[1] -> delete (23, 7) -> base ...                for ABORT; number 7 is free

The files, in the order of reading: `bw_nodes` (words), `bw_chain` (walks, which only read and
return a verdict), `bw_searches`, `bw_updates` (the switch over verdicts), `bw_consolidation`,
`bw_changes` (a node anew, splits), `bw_merges`; `bw_goals` and `bw_pool` serve them, `bw_inspect`
looks at a tree at rest.

Invariants
----------
1. A node changes by a compare-and-swap of its head and in no other way. What a head leads to is not
   written again until its block is retired and all who were pinned have left, but for TAKEN. A
   block is retired when no head, link and number leads to it any more.
2. A slot of a chunk is one thread's: who takes it writes it, once. One whose swap was lost is on no
   chain, and nobody reads it (an aborted slot). A full chunk makes its node be consolidated, also
   where there is no chain: all its slots may be aborted ones, or of a parent that was let go.
3. SPLIT is the oldest record of its chain, and a base of the size to be split takes no entry more
   before it. Over MERGE comes nothing but a new base, over REMOVE nothing, over ABORT nothing: it
   is replaced, by the thread that put it there.
4. A node has the entries from its low end, which never changes, up to its right neighbour's. To
   the right of a node is none that has been merged into it.
5. An index term is the low end of its node. A parent that is not held (ABORT) has terms of no node
   that is REMOVED: such a node's term goes in the same swap in which the parent is let go.
6. At rest, index terms and right neighbours lead to the same nodes, from level to level; no node is
   held, removed or in two pieces; each block and each number is in use, free, or waits, once.
7. A reference says which generation of its number it means, a head which one it is of. A number is
   used again at once; who comes with an old reference begins again at the root.
8. A base has room for what a node may have: it is split at `leaf_size`, and `leaf_chain` records
   more come until it is consolidated. Where a merge would be too much, the left node is split
   first.

Linearization points: an update at the swap that puts its record (`bw_updates.change_leaf`), or,
where it changes nothing, at the look at the head that says so; a search of a leaf at the look at
its head, since all that this leads to is as it was (1). A search of several leaves is as of several
moments, in each of which it has one leaf. Consolidations, splits and merges change nothing that
can be asked for. A search that comes from the left neighbour to a node that is REMOVED reads it:
its entries were not merged when that neighbour was looked at, and nobody has changed them since.

Memory orders: heads are read ACQUIRE and swapped RELEASE, so that what is written before a swap is
read behind the head that leads to it; a record lies over others that its thread had acquired
itself. Slots are taken RELAXED: to take one orders nothing. Freed numbers and the root likewise
RELEASE and ACQUIRE. Blocks are handed on by the epochs and the rings of `bw_pool`. All other words
are plain, and none of them is written while another thread may read it.

Progress
--------
Searches, insertions and deletions that no structure change stands in the way of are lock-free: who
tries again has lost a swap to one that was won, or has met a number that a finished merge freed. So
are consolidations, the first step of splits, and the merging of a removed node by whoever meets it
(`bw_merges`): slots that threads have taken which stand still are left behind with their base. An
update may lose its swap for ever while others win theirs.

Not lock-free is what needs a parent that is held. While the thread that holds it stands still, its
children are split, but whoever splits one waits with the index term; searches go the step to the
right. So it is with the published merge, whose abort record is a lock on the parent. An inner node
that is held also delays its own merging. And blocks wait for threads that stay between ``enter``
and ``leave``: an insertion that finds none lets its own go, waits a while, and says FULL; a
deletion, and a merge that has begun, wait on, for ever if two threads do so in two trees and each
is between ``enter`` and ``leave`` of the other's: hence the blocks of ``make_state``. Whoever hands
blocks and numbers on may wait for a thread in the middle of a call of their rings
(`operators.core.mpmc_ring`).

Where the printed protocol was mended: the parent is held by a swap of the very head in which the
two children were seen as neighbours, so that they still are (`hold`); the left neighbour is looked
for again once the right one is removed, since it may have been split meanwhile; a removed node's
entry can be the one at which what it was merged into is split, but that index term waits until the
removed one's has gone, in the same parent; and who helps a split looks at the new node once more
behind its look at the parent, since it may have been merged away. `operators.index.check.bw_tree`
has the schedules, `bw_tree_mutants` what happens without each.

# ASSUME: only updates help a split: a search writes nothing, and goes one step to the right.
# ASSUME: a node is consolidated by the update that finds its chain long, and one that gets small is
# merged when its number of entries falls to a quarter of the size at which it is split, and when it
# is empty, so that what a window has left behind goes although nobody comes there again.
# ASSUME: the leftmost node of a level is never removed, and the root stays as high as it was.
"""

from __future__ import annotations

import numpy as np

from operators.contract import Look, Parameter, Variant
from operators.core.epochs import make_epochs, pin, unpin
from operators.core.jit import inlined
from operators.core.layout import LINE_WORDS, WORD_BYTES, aligned_words, huge_words, whole_lines
from operators.core.vectors import COPIED, LIVE
from operators.index.bw_changes import (
    SPARE_BLOCKS,
    SPARE_NUMBERS,
    make_known,
)
from operators.index.bw_goals import (
    BwTree,
    View,
    own_words,
)
from operators.index.bw_inspect import check_invariants, entries, used_of
from operators.index.bw_nodes import (
    CHUNK,
    DELETE,
    INSERT,
    LOW,
    LOWEST,
    MOST_SAMPLES,
    NO_BLOCK,
    NO_NODE,
    Nodes,
    begin_of,
    entry_hi,
    entry_lo,
    put_bound,
)
from operators.index.bw_pool import FREE, KEPT, MOST_WAITING, make_pool, take
from operators.index.bw_searches import find, scan
from operators.index.bw_updates import update
from operators.index.family import check_window
from operators.index.shared import SharedIndexOperations, operations_for_one

# --- the index ------------------------------------------------------------------------------------


@inlined
def enter(view):
    """Keep what this thread may look at from being used again, until it leaves."""
    pin(view.epochs, view.thread)


@inlined
def leave(view):
    """Keep nothing any more."""
    unpin(view.epochs, view.thread)


@inlined
def insert(view, key, position):
    """Index a tuple: ACCEPTED, or FULL."""
    tree = view.tree
    return update(view, INSERT, entry_hi(tree, key, position), entry_lo(tree, position))


@inlined
def remove(view, key, position):
    """Delete a tuple."""
    tree = view.tree
    update(view, DELETE, entry_hi(tree, key, position), entry_lo(tree, position))


def make_state(
    window: int,
    slack: int,
    key_bits: int,
    threads: int,
    leaf_size: int = 128,
    inner_size: int = 64,
    leaf_chain: int = 6,
    inner_chain: int = 1,
) -> BwTree:
    """Return an empty Bw-Tree, whose mapping table and blocks are for so many tuples.

    Parameters
    ----------
    window, slack : int
        Tuples that a search may ask for, and how many more there may be; and at least as many as
        there are updates while a thread stands between ``enter`` and ``leave``, or blocks may run
        out. In the joins others get so far ahead of a task, and no further (`slack_of`).
    key_bits : int
        32 or 64.
    threads : int
        That use it at once.
    leaf_size, inner_size : int
        Entries with which a base is split; a quarter of them, and a node is merged.
    leaf_chain, inner_chain : int
        Records with which a chain is consolidated. With 6 and 1 the searches and updates of a
        tuple took 0.94 of the processor time that they took with 8 and 2 at 2**16, 0.98 at
        2**12 and 2**20; leaves with 12, 16 and 24 took 1.05, 1.10 and 1.26 of that with 8 (one
        thread, two cores of an EPYC). A tree of random keys has 27.4, 22.2 and 19.4 bytes an
        element at 2**12, 2**16 and 2**20, blocks that wait and the whole table among them.

    Raises
    ------
    UsageError
        When the window or the width of keys is out of its limits.
    """
    check_window(window, key_bits)
    # A leaf that is not small, beside one that was not small enough to be merged with when it was
    # looked at last, and has nearly nothing: half of a small one each.
    leaves = 2 * (window + slack) // max(leaf_size // 4, 1) + 2
    inner = 2 * leaves // max(inner_size // 4, 2) + 40
    numbers = leaves + inner + 40 * threads
    # What so many updates make wait: a leaf for the records of a chain, less the one of a split;
    # and four blocks for each split or merge, to which a quarter of a leaf's size of updates leads.
    waiting = slack // (leaf_chain - 1) + 4 * slack // max(leaf_size // 4, 1)
    blocks = numbers + 64 * threads + waiting
    sizes = leaf_size, inner_size, leaf_chain, inner_chain
    return make_tree(numbers, blocks, key_bits, threads, *sizes)


def make_tree(
    numbers: int,
    blocks: int,
    key_bits: int,
    threads: int,
    leaf_size: int,
    inner_size: int,
    leaf_chain: int,
    inner_chain: int,
    slots: int = 0,
    most_waiting: int = MOST_WAITING,
) -> BwTree:
    """Return an empty tree with so many node numbers and blocks.

    Parameters
    ----------
    numbers : int
        Entries of the mapping table.
    blocks : int
        Base nodes, with their chunks.
    slots : int
        Of a chunk, at least 4: what it takes to merge two children. 0: as many as chains need,
        with some for records that are aborted.
    most_waiting : int
        Blocks that a thread keeps from the others while they wait.
    """
    wide = (1,) if key_bits == 64 else ()
    rows = 2 if wide else 1
    slots = slots or max(leaf_chain + 6, 2 * inner_chain + 8)
    # Words are copied some at once, behind a row's end too.
    leaf_room, inner_room = (
        size + chain + COPIED
        for size, chain in ((leaf_size, leaf_chain), (inner_size, inner_chain))
    )
    sample_bits = 0
    while (MOST_SAMPLES + 1) << sample_bits < max(leaf_size + leaf_chain, inner_size + inner_chain):
        sample_bits += 1
    entries_at = whole_lines(CHUNK + slots * (rows + 1))
    room = max(rows * leaf_room, (rows + 1) * inner_room)
    block_words = whole_lines(entries_at + room)
    nodes = Nodes(
        table=aligned_words(numbers),
        words=huge_words((blocks + threads) * block_words + LIVE),
        root=aligned_words(LINE_WORDS),
        wide=wide,
        block_words=block_words,
        slots=slots,
        chunk_lines=-(-leaf_chain * (rows + 1) // LINE_WORDS),
        entries_at=entries_at,
        sample_bits=sample_bits,
        leaf_room=leaf_room,
        inner_room=inner_room,
        leaf_size=leaf_size,
        inner_size=inner_size,
        leaf_chain=leaf_chain,
        inner_chain=inner_chain,
    )
    pools = make_pool(blocks, threads, most_waiting), make_pool(numbers, threads)
    nodes.table[:] = NO_BLOCK
    popped = np.zeros(1, dtype=np.int64)
    block, number = (int(take(pool, 0, 0, popped)) for pool in pools)
    put_bound(nodes, begin_of(nodes, block) + LOW, LOWEST, 0)
    make_known(nodes, number, block, 0, 0, NO_NODE)
    nodes.root[0] = number
    for thread in range(threads):
        for pool, spare in zip(pools, (SPARE_BLOCKS, SPARE_NUMBERS), strict=True):
            for place in range(spare):
                pool.kept[thread * KEPT + place] = take(pool, thread, KEPT, popped)
            pool.own[thread * LINE_WORDS + FREE] = spare
    return BwTree(nodes, make_epochs(threads), *pools)


def views(state: BwTree, threads: int) -> tuple:
    """Return a view a thread."""
    words = own_words(state.nodes.slots)
    return tuple(
        View(*state, aligned_words(words), aligned_words(1), thread) for thread in range(threads)
    )


def places_of(state: BwTree) -> int:
    """Return the words that ``find`` notes for a key."""
    return 1


def footprint(state: BwTree) -> dict[str, int]:
    """Return the bytes in use: blocks that are not free, and the mapping table.

    Blocks that wait are nobody else's, so that they count; those that are free do not, since the
    memory of most of them was never touched.
    """
    blocks = used_of(state.blocks) * state.nodes.block_words * WORD_BYTES
    return {"insert": blocks + state.nodes.table.nbytes}


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
    id="bw-tree",
    family="index",
    title="Bw-Tree",
    paper="pim_tree",
    section="5",
    operations=operations_for_one(SHARED),
    order="none within a search",
    progress="blocking",
    threads={"owner": "one"},
    capacity="the tuples of a window; one more is told FULL. The mapping table has numbers for L = "
    "2 tuples / (leaf_size / 4) + 2 leaves, 2 L / (inner_size / 4) + 40 inner nodes, 40 a thread",
    parameters=(
        Parameter("leaf_size", 128, 4, 512, "entries", "entries with which a leaf is split"),
        Parameter("inner_size", 64, 4, 256, "children", "children with which a node is split"),
        Parameter("leaf_chain", 6, 2, 64, "records", "records over a leaf until a new base"),
        Parameter("inner_chain", 1, 1, 32, "records", "records over an inner node"),
    ),
    bench=False,
    look=Look("purple", "^", "dense"),
)
