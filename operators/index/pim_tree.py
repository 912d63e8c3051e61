r"""PIM-Tree, the partitioned in-memory merge tree: new tuples in small trees under a large one.

Source: sections 3.2 and 3.3 of "Parallel Index-based Stream Join on a Multicore CPU". An immutable
tree T_S, fast to search, has most of the window. New tuples go into the mutable component T_I: one
B+-Tree B_i for each node of T_S at the *insertion depth* D_I, over the same range of keys. The tail
leaf of each B_i is linked with the head leaf of the next, so that T_I is one sorted list::

    T_S               [ root ]                      depth 0
                     /    |    \
               [node] [node] [node]                 depth 1 = D_I
                  |      |      |
    T_I          B_0    B_1    B_2                  mutable: new tuples
                [..]-->[..]-->[..][..]              one list of leaves
                  |      |      |
              [block][block][block] ...             T_S: most of the window, expired tuples too

Inserting one tuple::

    insert
        descend T_S to D_I           which subindex
        insert_entry into B_i
        merge, if T_I has m * w entries:
            build_next: T_I's list and T_S's blocks, both ascending, less the expired, go into
                        the other slot; the levels above are built from the bottom up
            swap:       the other slot is T_S; every B_i is empty again, below its nodes

Searching a range descends T_S once: at D_I it turns off into B_i, too. T_I's list is followed only
through subindexes whose ranges overlap the searched one: the others may be many, and empty.

One thread does all of this, and a merge blocks. It has the two parts of section 4.2 already:
``build_next`` writes nothing that a search reads, so that others could search meanwhile, as long as
they insert nothing; ``swap`` is short, and must meet no search, so that one T_I is enough.
Several threads need, in addition: a lock for each B_i, held while it is searched or inserted into,
and handed over where a scan comes to the head of the next (4); nodes of an owner for each thread;
the tuples that arrive during ``build_next``, indexed after ``swap``. Here, with one thread, there
are no locks.

Invariants (``check_invariants``):

1. Every key of B_i is greater than those of T_S's nodes before i at depth D_I, and no greater than
   the separator of node i: so keys ascend along T_I's list.
2. T_I has fewer than m * w entries between two inserts.
3. Of what T_S and T_I hold, exactly the tuples of the window are live.
4. Leaf i of T_I is the head of B_i: leaves are taken in order when T_I is emptied, and a split puts
   the new leaf behind the old one. A search that comes to a leaf of such a number has entered
   another subindex (the flag of section 3.3.3).

# ASSUME: D_I is at most the depth of the lowest inner nodes (section 5.2: "the maximum feasible D_I
# is three" with four levels of inner nodes). A deeper one, or one that a small window does not have
# yet, means that depth.
# ASSUME: an expired tuple is recognised by its sequence, which an entry keeps, and not by a flag in
# the sliding window: the window is not read for each result.
# ASSUME: with m = 1 and count windows T_I has the whole window right before a merge; entries of T_I
# are tested for expiry as those of T_S are, which windows of time need.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from operators.contract import ACCEPTED, Look, Parameter, Shown, UsageError, Variant
from operators.core.arena import free_count, take_all_back
from operators.core.atomics import now
from operators.core.jit import inlined
from operators.core.layout import aligned_words
from operators.core.marks import mark
from operators.core.vectors import poke
from operators.index import immutable_tree
from operators.index.b_plus_tree import (
    check_forest,
    entries_of,
    find_leaf,
    insert_entry,
    leaves_of,
    scan_leaves,
)
from operators.index.family import (
    FAN_OUT,
    FAN_OUT_RATIO,
    MERGE_RATIO,
    IndexOperations,
    check_window,
    is_live,
)
from operators.index.forest import (
    Forest,
    make_forest,
    nodes_for,
    plant,
    used_bytes,
)
from operators.index.immutable_tree import (
    ImmutableTrees,
    ask_for_block,
    bound_of,
    build,
    check_tree,
    descend,
    levels_of,
    make_trees,
    nodes_at,
    scan_block,
)
from operators.index.pim_merge import leaf_behind, merge_subindex
from operators.index.window import (
    INDEX,
    OLDEST,
    SIZE,
    make_window,
    note_inserted,
    note_removed,
)

MOST_DEPTH = 6
INSERTION_DEPTH = Parameter(
    "insertion_depth", 2, 0, MOST_DEPTH, "", "of the subindexes below T_S's root"
)
PAGES = ("usual", "huge")
# T_I belongs to one owner.
OWNER = 0
# "All live": the live entries of T_S are not counted before a merge.
ALL = 1 << 32

# Words behind those of the window.
SLOT = INDEX  # which slot of `stable` is T_S; the other is the merge buffer
DEPTH = INDEX + 1  # current depth of the subindexes
SUBINDEXES = INDEX + 2  # current number of subindexes
FRESH = INDEX + 3  # entries of T_I
MERGE_NS = INDEX + 4  # total time of the merges
MOST_NODES = INDEX + 5  # nodes of T_I right before the last merge: the peak


class PimTree(NamedTuple):
    """T_S in one of two slots, and T_I."""

    stable: ImmutableTrees
    fresh: Forest
    words: np.ndarray  # see above, and operators.index.window
    # (most subindexes): entries that merges have found in subindex 0, 1, ..., over all merges.
    inserted: np.ndarray
    limit: int  # entries of T_I at which a merge starts: m * w
    depth: int  # the requested D_I


def limit_of(window: int, merge_ratio: float, insertion_depth: int) -> int:
    """Return the entries of T_I at which a merge starts, m * w, at least one.

    Raises
    ------
    UsageError
        When a parameter of a PIM-Tree is out of range.
    """
    if not 0 < merge_ratio <= 1:
        raise UsageError(f"merge_ratio is above 0 and at most 1, received {merge_ratio}")
    if not 0 <= insertion_depth <= MOST_DEPTH:
        raise UsageError(f"insertion_depth is 0 to {MOST_DEPTH}, received {insertion_depth}")
    return max(round(merge_ratio * window), 1)


def make_state(
    window: int,
    key_bits: int = 32,
    merge_ratio: float = 0.125,
    insertion_depth: int = 2,
    fan_out: int = 32,
    fan_out_ratio: int = 1,
    pages: str = "usual",
) -> PimTree:
    """Return an empty PIM-Tree.

    Parameters
    ----------
    window : int
        Tuples in the window, at most.
    key_bits : int
        32 or 64.
    merge_ratio : float
        Of the window: entries of T_I until a merge, at least one.
    insertion_depth : int
        D_I; the root is at depth 0.
    fan_out : int
        Of T_I: children of an inner node, and entries of a leaf.
    fan_out_ratio : int
        Factor by which nodes of T_S are larger (f_ib over f_b).
    pages : str
        "usual" or "huge": size of the memory pages for entries.

    Raises
    ------
    UsageError
        When a parameter is out of range.
    """
    key_type = check_window(window, key_bits)
    limit = limit_of(window, merge_ratio, insertion_depth)
    immutable = fan_out * fan_out_ratio
    most = min(immutable**insertion_depth, -(-window // immutable) + 1)
    capacity = nodes_for(limit, most, fan_out, deletes=False)
    state = PimTree(
        stable=make_trees(2, window, key_type, immutable, pages == "huge"),
        fresh=make_forest(most, 1, capacity, key_type, fan_out, huge=pages == "huge"),
        words=make_window(),
        inserted=aligned_words(most),
        limit=limit,
        depth=insertion_depth,
    )
    empty_subindexes(state)
    return state


@inlined
def insert(state, key, position):
    """Index the newest tuple, and merge if a merge is due: ACCEPTED, or FULL."""
    words = state.words
    sequence = note_inserted(words, position)
    subindex = descend(state.stable, words[SLOT], 0, 0, words[DEPTH], key)
    status = insert_entry(state.fresh, subindex, OWNER, key, sequence)
    if status == ACCEPTED:
        words[FRESH] += 1
        if words[FRESH] >= state.limit:
            merge(state)
    return status


@inlined
def remove(state, key, position):
    """Note that the oldest tuple has expired; the entry goes with the next merge."""
    note_removed(state.words, position)


@inlined
def find(state, low, place):
    """Descend T_S to the block of `low`, and at D_I into the subindex."""
    words = state.words
    slot = words[SLOT]
    subindex = descend(state.stable, slot, 0, 0, words[DEPTH], low)
    block = descend(state.stable, slot, subindex, words[DEPTH], levels_of(state.stable, slot), low)
    ask_for_block(state.stable, slot, block)
    place[0] = find_leaf(state.fresh, subindex, low)
    place[1] = block
    place[2] = subindex


@inlined
def scan(state, low, high, place, out):
    """Write the positions of live keys from `low` to `high`, and return their number."""
    words = state.words
    until = first_behind(state, place[2], high)
    count = scan_leaves(state.fresh, place[0], until, low, high, words, out, 0)
    return scan_block(state.stable, words[SLOT], place[1], low, high, words, out, count)


@inlined
def first_behind(state, subindex, high):
    """Return the head of the first subindex whose keys are all above `high`, or NO_NODE.

    `subindex` is one that may have keys up to `high`.
    """
    words = state.words
    slot, depth, last = words[SLOT], words[DEPTH], words[SUBINDEXES] - 1
    while subindex < last and bound_of(state.stable, slot, depth, subindex) < high:
        subindex += 1
    return leaf_behind(subindex, words[SUBINDEXES])


@inlined
def merge(state):
    """Merge T_I and the live entries of T_S into the other slot, which becomes T_S."""
    mark("pim_tree: merge")
    begin = now()
    build_next(state)
    swap(state)
    state.words[MERGE_NS] += now() - begin


@inlined
def build_next(state):
    """Write the next T_S into the other slot, and count the entries of each subindex."""
    words, stable = state.words, state.stable
    slot, depth = words[SLOT], words[DEPTH]
    first = (1 - slot) * stable.room
    put, last = first, first + stable.room
    for subindex in range(words[SUBINDEXES]):
        # The padding behind the last entry covers a whole vector write of a merge.
        behind = leaf_behind(subindex, words[SUBINDEXES])
        put, entries = merge_subindex(
            stable, slot, depth, state.fresh, subindex, behind, ALL, words[OLDEST], put, last
        )
        state.inserted[subindex] += entries
    build(stable, 1 - slot, put - first)


@inlined
def swap(state):
    """Make the other slot T_S, and T_I empty subindexes below its nodes."""
    words, fresh = state.words, state.fresh
    words[MOST_NODES] = fresh.nodes.capacity - free_count(fresh.nodes, OWNER)
    words[SLOT] = 1 - words[SLOT]
    empty_subindexes(state)


@inlined
def empty_subindexes(state):
    """Give each node of T_S at the insertion depth an empty subindex, linked with the next."""
    words, stable = state.words, state.stable
    slot = words[SLOT]
    depth = max(min(state.depth, levels_of(stable, slot) - 1), 0)
    count = nodes_at(stable, slot, depth)
    take_all_back(state.fresh.nodes, OWNER)
    for subindex in range(count):
        leaf = plant(state.fresh, subindex, OWNER)
        if subindex + 1 < count:
            poke(state.fresh.nodes.words, leaf, subindex + 1)
    words[DEPTH] = depth
    words[SUBINDEXES] = count
    words[FRESH] = 0


@inlined
def merge_ns(state):
    """Return the total time of the merges."""
    return state.words[MERGE_NS]


def places(state: PimTree) -> int:
    """Return the words that `find` notes: a leaf of T_I, a block of T_S, a subindex."""
    return 3


def footprint(state: PimTree) -> dict[str, int]:
    """Return the bytes in use: T_S, T_I at the largest, and the buffer of the last merge."""
    slot = int(state.words[SLOT])
    return {
        "search": immutable_tree.used_bytes(state.stable, slot),
        "insert": used_bytes(state.fresh, OWNER, int(state.words[MOST_NODES])),
        "buffer": immutable_tree.used_bytes(state.stable, 1 - slot),
    }


def inserted(state: PimTree) -> np.ndarray:
    """Return the entries that merges found in subindex 0, 1, ..., over all merges so far."""
    return state.inserted[: int(state.words[SUBINDEXES])]


def cycle(state: PimTree) -> int:
    """Return the number of inserts between two merges."""
    return state.limit


def check_subindex(
    stable: ImmutableTrees, slot: int, depth: int, fresh: Forest, subindex: int
) -> list[int]:
    """Return the leaves of a subindex, after checking that all keys belong to it.

    Raises
    ------
    AssertionError
        When a key belongs elsewhere.
    """
    leaves = leaves_of(fresh, subindex)
    assert leaves[0] == subindex, f"the head of subindex {subindex} is leaf {leaves[0]}"
    keys = [key for leaf in leaves for key, _ in entries_of(fresh, leaf)]
    belongs = {int(descend(stable, slot, 0, 0, depth, key)) for key in keys}
    assert belongs <= {subindex}, f"subindex {subindex} has keys of {belongs}"
    return leaves


def check_invariants(state: PimTree) -> None:
    """Check both components, the ranges of the subindexes, and that the window is live.

    Raises
    ------
    AssertionError
        When an invariant does not hold.
    """
    words, stable, fresh = state.words, state.stable, state.fresh
    slot, count = int(words[SLOT]), int(words[SUBINDEXES])
    kept = check_tree(stable, slot)
    new = check_forest(fresh, count)
    assert len(new) == int(words[FRESH]) < state.limit, "T_I is full, or its count is wrong"
    for subindex in range(count):
        check_subindex(stable, slot, int(words[DEPTH]), fresh, subindex)
    oldest = int(words[OLDEST])
    live = sum(bool(is_live(sequence, oldest)) for _, sequence in kept + new)
    assert live == int(words[SIZE]), f"{live} live entries, and {words[SIZE]} tuples in the window"


VARIANT = Variant(
    id="pim-tree",
    family="index",
    title="PIM-Tree",
    paper="pim_tree",
    section="3.3",
    operations=IndexOperations(
        make_state,
        insert,
        remove,
        find,
        scan,
        merge_ns,
        places,
        footprint,
        check_invariants,
        inserted,
        cycle,
    ),
    order="none within a search",
    progress="blocking",
    threads={"owner": "one"},
    capacity="the tuples of a window, and m times as many that wait for a merge",
    parameters=(
        MERGE_RATIO,
        INSERTION_DEPTH,
        FAN_OUT,
        FAN_OUT_RATIO,
        # Before blocks were prefetched, huge pages made a join 1.06 times as fast at 2**20 tuples
        # (eight pairs, 0.92 to 1.21; a virtual machine), and at 2**16, which caches nearly hold, no
        # faster. With prefetched blocks they make 5.6 of 5.4 M tuples/s at 2**20. Prefetching for a
        # tuple four or eight ahead was worth 1.09 (1.10, 1.21, 0.97), and nothing on top of huge
        # pages: only the block of the current tuple is prefetched (`ask_for_block`). Descending for
        # several tuples together does pay: `operators.join.lock_step_join`.
        Parameter("pages", "usual", meaning="of the memory it lies on", choices=PAGES),
    ),
    bench=False,
    threaded="pim-tree-parallel",
    look=Look("blue", "o", "solid"),
    extends={"pim_tree": ("11c",)},
    shown=(
        Shown("pages=huge", "PIM-Tree, huge pages", Look("sky", "h"), {"pim_tree": ("10b",)}),
        Shown("fan_out_ratio=2", "PIM-Tree, f_ib = 64", Look("blue", "<"), {"pim_tree": ("10b",)}),
        Shown("fan_out_ratio=4", "PIM-Tree, f_ib = 128", Look("blue", ">"), {"pim_tree": ("10b",)}),
        *(
            Shown(f"insertion_depth={depth}", f"Depth {depth}", Look(*look), {})
            for depth, look in enumerate(
                (
                    ("purple", "v", "dense"),
                    ("orange", "^", "dashed"),
                    ("blue", "o", "solid"),
                    ("green", "D", "dash-dot"),
                )
            )
        ),
        Shown("merge_ratio=1", "PIM-Tree, m = 1", Look("blue", "s", "dashed"), {}),
    ),
)
