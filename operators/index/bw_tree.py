"""The Bw-Tree: TODO header."""

from __future__ import annotations

import numpy as np

from operators.contract import Look, Parameter, Variant
from operators.core.epochs import make_epochs, pin, unpin
from operators.core.jit import inlined
from operators.core.layout import LINE_WORDS, WORD_BYTES, aligned_words, huge_words, whole_lines
from operators.core.vectors import LIVE
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
    NO_BLOCK,
    NO_NODE,
    Nodes,
    begin_of,
    entry_hi,
    entry_lo,
    put_bound,
)
from operators.index.bw_pool import FREE, KEPT, make_pool, take
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
    leaf_chain: int = 8,
    inner_chain: int = 2,
) -> BwTree:
    """Return an empty Bw-Tree."""
    check_window(window, key_bits)
    leaves = (window + slack) // max(leaf_size // 4, 1) + 2
    inner = 2 * leaves // max(inner_size // 4, 2) + 40
    numbers = leaves + inner + 40 * threads
    blocks = numbers + 64 * threads
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
    """
    wide = (1,) if key_bits == 64 else ()
    rows = 2 if wide else 1
    slots = slots or max(leaf_chain + 6, 2 * inner_chain + 8)
    leaf_room, inner_room = leaf_size + leaf_chain, inner_size + inner_chain
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
        leaf_room=leaf_room,
        inner_room=inner_room,
        leaf_size=leaf_size,
        inner_size=inner_size,
        leaf_chain=leaf_chain,
        inner_chain=inner_chain,
    )
    pools = make_pool(blocks, threads), make_pool(numbers, threads)
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
    """Return the bytes in use."""
    blocks = used_of(state.blocks) * state.nodes.block_words * WORD_BYTES
    return {"insert": blocks + used_of(state.numbers) * WORD_BYTES}


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
    capacity="the tuples of a window, and a mapping table for them; one more is told FULL",
    parameters=(
        Parameter("leaf_size", 128, 4, 512, "entries", "entries with which a leaf is split"),
        Parameter("inner_size", 64, 4, 256, "children", "children with which a node is split"),
        Parameter("leaf_chain", 8, 2, 64, "records", "records over a leaf until a new base"),
        Parameter("inner_chain", 2, 1, 32, "records", "records over an inner node"),
    ),
    bench=False,
    look=Look("purple", "^", "dense"),
)
