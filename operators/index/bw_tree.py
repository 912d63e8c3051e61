r"""The Bw-Tree: a B+-tree whose nodes change by compare-and-swap, with delta records over them.

Source: Levandoski, Lomet and Sengupta, "The Bw-Tree: A B-tree for New Hardware Platforms", ICDE
2013; Wang et al., "Building a Bw-Tree Takes More Than Just Buzz Words", SIGMOD 2018. The protocol
is the latter's, mended. An entry is a pair of key and sequence, so that entries are unique. The
Bw-Tree is the rival of section 5 of the paper (its [23]); figures 8a and 12b.

A node is a word of the mapping table, the head. The head leads to the newest record of a chain, the
records to older ones and to a sorted base (`bw_nodes` describes the words)::

    table[4] -> delete 40 -> insert 12 -> base 5 17 23 40 58       the node holds 5 12 17 23 58

    split    table[4] -> SPLIT 23: 7 -> base 5 17 23 40 58         table[7] -> base 23 40 58
             the parent's table[1] -> insert (23, 7) -> base ...   the second step

    merge    table[1] -> ABORT -> base ...                         node 7 goes into node 4
             table[7] -> REMOVE, left is 4 -> base 23 40
             table[4] -> MERGE 23, table[7] as it was -> base 5 17
             table[1] -> delete (23, 7) -> base ...                for ABORT; number 7 is free

The files, in the order of reading: `bw_nodes` (words), `bw_chain` (walks, which only read and
return a verdict), `bw_searches`, `bw_updates` (the switch over verdicts), `bw_consolidation`,
`bw_changes` (rewriting a node, splits), `bw_merges`; `bw_goals` and `bw_pool` serve them,
`bw_inspect` looks at a quiescent tree.

Invariants
----------
1. A node changes only by a compare-and-swap of the head. Whatever a head leads to is immutable,
   except for TAKEN, until the block is retired and every thread that was pinned has left. A block
   is retired when no head, link or number leads to it any more.
2. A slot of a chunk belongs to one thread: the thread that claims a slot writes it, once. A slot
   whose swap was lost is on no chain and is never read (an aborted slot). A full chunk forces a
   consolidation of the node, even if the chain is empty: all slots may be aborted, or left by a
   parent that was released.
3. SPLIT is the oldest record of a chain; a base of the size to be split takes no further entry
   before SPLIT. Only a new base follows MERGE, and nothing follows REMOVE or ABORT: the thread that
   put ABORT replaces it.
4. A node holds the entries from a low end, which never changes, up to the low end of the right
   neighbour. A node that has been merged into another is not to the right of that node.
5. An index term is the low end of the child. A parent that is not held (ABORT) has no term of a
   REMOVED node: the swap that releases the parent also deletes that term.
6. At rest, index terms and right neighbours lead to the same nodes, from level to level; no node is
   held, removed or half split; each block and each number is exactly once in use, free or waiting.
7. A reference and a head each carry the generation of the node number. A number is reused at once;
   a thread with an outdated reference restarts at the root.
8. A base has room for all entries a node may have: a base is split at `leaf_size`, and at most
   `leaf_chain` more records arrive before a consolidation. Where a merge would exceed this, the
   left node is split first.

Linearization points: an update, at the swap that puts the record (`bw_updates.change_leaf`), or,
where the update changes nothing, at the load of the head that says so; a search of one leaf, at the
load of the leaf's head, since everything behind the head is immutable (1). A search of several
leaves is not atomic: each leaf is seen at another moment. Consolidations, splits and merges do not
change the set of entries. A search that comes from the left neighbour to a REMOVED node reads that
node: when the neighbour was read, these entries were not merged yet, and nobody has changed them
since.

Memory orders: heads are loaded with ACQUIRE and swapped with RELEASE, so that all writes before a
swap happen before the reads behind the new head; a record lies over others that the same thread had
acquired. Slots are claimed RELAXED: a claim orders nothing. Freed numbers and the root likewise use
RELEASE and ACQUIRE. Blocks are handed on by the epochs and the rings of `bw_pool`. All other words
are plain, and none of them is written while another thread may read it.

Progress
--------
Searches, insertions and deletions that meet no structure change are lock-free: a thread retries
only after another thread's swap succeeded, or after a finished merge freed a number. The same is
true of consolidations, of the first step of a split, and of merging a removed node, which any
thread that meets the node does (`bw_merges`): slots claimed by stalled threads are left behind with
the old base. An update may lose swaps for ever while other threads win theirs.

Operations that need a held parent are not lock-free. While the thread that holds the parent stalls,
children can still be split, but each splitter waits with the index term; searches take the extra
step to the right. The published merge has the same weakness: its abort record is a lock on the
parent. A held inner node also delays merging that node. Blocks wait for threads that stay between
``enter`` and ``leave``: an insertion that finds no free block unpins, waits a while, and answers
FULL; a deletion, and a merge that has begun, wait on. They wait for ever if two threads do so in
two trees, each between ``enter`` and ``leave`` of the other's tree: hence the number of blocks in
``make_state``. A thread that hands blocks or numbers on may wait for a thread in the middle of a
call on the rings (`operators.core.mpmc_ring`).

Mended against the printed protocol:

* A parent is held by a swap of the very head in which the two children were seen as neighbours, so
  that they still are (`hold`).
* The left neighbour is looked up again after the right node is removed: it may have been split
  meanwhile.
* The node that takes over a removed node may be split at the removed node's low end. That index
  term waits until the removed node's term has gone from the same parent.
* A thread that helps a split looks at the new node again after reading the parent: the new node may
  have been merged away.

`operators.index.check.bw_tree` has the schedules, `bw_tree_mutants` shows the failure without each.

# ASSUME: only updates help a split: a search writes nothing, and takes one step to the right.
# ASSUME: the update that finds a chain long consolidates the node. A node is merged when its number
# of entries falls to a quarter of the split size, and when it is empty, so that the leaves behind
# the window are removed although no later operation visits them.
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
from operators.index.bw_pool import FREE, KEPT, LOOKED_AT, MOST_WAITING, make_pool, take
from operators.index.bw_searches import find, scan
from operators.index.bw_updates import update
from operators.index.family import check_window
from operators.index.shared import SharedIndexOperations, operations_for_one

# --- the index ------------------------------------------------------------------------------------


@inlined
def enter(view):
    """Keep all that this thread may look at from being reused until ``leave``."""
    pin(view.epochs, view.thread)


@inlined
def leave(view):
    """Stop protecting what this thread has looked at."""
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
    """Return an empty Bw-Tree with mapping table and blocks for so many tuples.

    Parameters
    ----------
    window, slack : int
        The most tuples that a search may ask for, and the most additional tuples. `slack` must
        cover the updates that happen while one thread stays between ``enter`` and ``leave``, or
        blocks may run out. In the joins, other threads get this far ahead of a task and no further
        (`slack_of`).
    key_bits : int
        32 or 64.
    threads : int
        Threads that use the tree at once.
    leaf_size, inner_size : int
        Entries at which a base is split; a node with a quarter of them is merged.
    leaf_chain, inner_chain : int
        Records at which a chain is consolidated. With 6 and 1 the searches and updates of a tuple
        took 0.94 of the processor time that they took with 8 and 2 at 2**16, 0.98 at 2**12 and
        2**20; leaves with 12, 16 and 24 took 1.05, 1.10 and 1.26 of that with 8 (one thread, two
        cores of an EPYC). A tree of random keys has 27.4, 22.2 and 19.4 bytes an element at 2**12,
        2**16 and 2**20, including blocks that wait and the whole table.

    Raises
    ------
    UsageError
        When the window or the width of keys is out of range.
    """
    check_window(window, key_bits)
    # Worst case: each leaf that is not small has a nearly empty neighbour, which was too full to
    # merge when it was last examined. The average is half of a small leaf.
    leaves = 2 * (window + slack) // max(leaf_size // 4, 1) + 2
    inner = 2 * leaves // max(inner_size // 4, 2) + 40
    numbers = leaves + inner + 40 * threads
    # Blocks that `slack` updates make wait: one leaf for each full chain, less the record of a
    # split; and four blocks for each split or merge, which needs a quarter leaf of updates.
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
    keeps: int = KEPT,
    looked_at: int = LOOKED_AT,
) -> BwTree:
    """Return an empty tree with so many node numbers and blocks.

    Parameters
    ----------
    numbers : int
        Entries of the mapping table.
    blocks : int
        Base nodes, with their chunks.
    slots : int
        Slots of a chunk, at least 4, which a merge of two children takes. 0: as many as chains
        need, with a reserve for aborted records.
    most_waiting : int
        Blocks that a thread keeps from the others while they wait.
    keeps : int
        Free blocks that a thread keeps, and free numbers; at least SPARE_BLOCKS.
    looked_at : int
        Waiting blocks that a thread examines at a time, at least 1.
    """
    wide = (1,) if key_bits == 64 else ()
    rows = 2 if wide else 1
    slots = slots or max(leaf_chain + 6, 2 * inner_chain + 8)
    # Copies work on several words at once and run past the end of a row.
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
    pools = (
        make_pool(blocks, threads, most_waiting, keeps, looked_at),
        make_pool(numbers, threads, keeps=keeps),
    )
    nodes.table[:] = NO_BLOCK
    popped = np.zeros(1, dtype=np.int64)
    block, number = (int(take(pool, 0, 0, popped)) for pool in pools)
    put_bound(nodes, begin_of(nodes, block) + LOW, LOWEST, 0)
    make_known(nodes, number, block, 0, 0, NO_NODE)
    nodes.root[0] = number
    for thread in range(threads):
        for pool, spare in zip(pools, (SPARE_BLOCKS, SPARE_NUMBERS), strict=True):
            for place in range(spare):
                pool.kept[thread * keeps + place] = take(pool, thread, keeps, popped)
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

    Blocks that wait count, since nobody else can use them. Free blocks do not: the memory of most
    of them was never touched.
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
