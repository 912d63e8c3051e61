r"""The PIM-Tree of several threads: a lock for each subindex, and a merge that all can work on.

Source: sections 3.3.3 and 4.2 of "Parallel Index-based Stream Join on a Multicore CPU";
`operators.index.pim_tree` explains the tree. T_S never changes while it is searched, so threads
need no lock there. Each subindex of T_I has a lock (`operators.core.optimistic`)::

    T_S     root .. node i .. node i + 1 ..          read by all
                      |            |
    locks           [ v ]        [ v ]               a line of memory each
                      |            |
    T_I              B_i -------> B_i+1              [leaf]-->[leaf]=+=>[head of B_i+1]-->[leaf]
                                                                     |
                                              flagged: its number is below those of other leaves

Inserting one tuple::

    descend T_S to D_I            which subindex
    lock it, insert, unlock

Searching a range::

    find    descend T_S                                   several keys in lock-step
    scan    lock B_i, descend it, follow its leaves, unlock;
            if the range goes beyond the separator of node i:
                lock B_i+1, follow its leaves from the head, unlock; ...
            scan T_S from the block that was found

With ``reads=versioned`` (ours) a search takes no lock: it reads optimistically, and retries if
there was a write meanwhile. Then ``find`` descends T_I, too. The search takes the lock after so
many failed `attempts`, and at once if its output has no room for a whole leaf: a half-changed leaf
may appear to match entirely.

A merge is divided into pieces that any threads work on (`operators.index.pim_parallel_merge`),
while other threads search and nobody inserts.

Invariants (``check_invariants`` at rest):

1. Every key of B_i is greater than those of T_S's nodes before i at depth D_I, and no greater than
   the separator of node i. So a key has one subindex until the next swap.
2. Leaf i of T_I is the head of B_i: other leaves have numbers of `SUBINDEXES` and above. A leaf is
   in one subindex until the next swap.
3. Only the thread that holds lock i writes B_i and its nodes; during the stages of a merge nobody
   does.
4. A version is even at rest.
5. A thread holds at most one lock, and waits for nothing while it holds one.

Why a search misses nothing and repeats nothing. The requested entries were inserted before the
search began, and nobody removes them before the next swap. Each such entry is in T_S, or in the one
subindex of its key (1). Each subindex that overlaps the range is traversed once, from where `low`
belongs to where keys are above `high`, under the lock or in one version: so each of its entries is
met once. Between B_i and B_i+1 the search holds no lock; other threads may insert into both, but no
entry moves from one to the other. Entries inserted meanwhile are later than `NEWEST`, and are left
out.

Why a leaf found earlier is still right: until the next swap a leaf that splits keeps the lower
half, with the new leaf behind it. Keys from `low` on begin where `low` belonged, or further behind;
lower keys may precede them.

Why there is no deadlock: 5. The paper's order, *releases the lock and acquires the one associated
with the successor*, is just that.

Linearization points: ``insert``, at the release of the lock. A search needs none: the requested
entries do not change (above).

Progress: blocking. A waiting thread waits for one insertion, or, with ``reads=locked``, for the
scan of one subindex. Locks are not fair: a thread can starve while others keep a subindex busy.

Nodes of T_I lie in one arena; threads take them in chunks and return all of them at a
swap. *Bound*: T_I has room for ``merge_ratio * window + slack`` entries, whichever threads insert
them and wherever they fall; so a merge must begin before T_I has `slack` entries more than the
number at which it is due. These include the tuples held back until a swap and inserted afterwards,
and the tuples that other threads insert until that is done, as no merge begins before
(`operators.join.merging`).

Why `RELAXED` is enough where a node of T_I changes its owner (``top_up``, ``empty_subindexes``).
After a swap a node may go to another thread than before, and the fetch-and-add by which a thread
takes a chunk only makes it private. That the former owner's stores come first is a chain through
the join, of which each link is in another module::

    former owner    stores into the node
                    DONE of its task, RELEASE       operators.join.shared_join, ``end_task``
    merging thread  DONE, ACQUIRE                   operators.join.work_queue, ``move_edge``
                    swap, as no task is active      operators.join.merging, ``drained``
                    releases the mutex              operators.join.merging, ``hold_or_let_go``
    next owner      takes a task under the mutex    operators.join.work_queue
                    ``top_up``, and stores

# ASSUME: a merge is due by the number of inserted tuples. Each thread counts for itself, and
# `is_due` adds the counts: a shared counter would move from core to core at each insertion.
# ASSUME: the flag of a tail leaf is the number of the next leaf. A search knows beforehand whether
# it goes on there, from T_S's separator. A search that learned it from the flag would follow the
# list of leaves through subindexes outside the range, where many are empty.
# ASSUME: D_I is at most the depth of the lowest inner nodes, as in `operators.index.pim_tree`. With
# ``attached=blocks`` (ours) a subindex belongs to a block of entries instead: a small window has
# few inner nodes, at 2**12 tuples and a fan-out of 32 four, and so four locks; and most subindexes
# are a leaf, without a level above. On a machine with other programs running, one thread took 0.91
# of the processor time at 2**12 and 1.03 at 2**16 (medians of 30 and 7 runs in turns, eight keys in
# lock-step).
"""

from __future__ import annotations

from dataclasses import replace

from operators.contract import ACCEPTED, Look, Parameter, Variant
from operators.core.arena import NO_NODE, free_count
from operators.core.atomics import RELAXED, load, pause, store
from operators.core.jit import inlined
from operators.core.layout import LINE_WORDS
from operators.core.marks import mark
from operators.core.optimistic import (
    RESTART,
    acquire,
    check,
    read_begin,
    release,
    release_unchanged,
)
from operators.core.prefetch import prefetch
from operators.core.vectors import LIVE, peek, poke
from operators.index.b_plus_tree import find_leaf, insert_entry, scan_leaf, scan_leaves
from operators.index.family import FAN_OUT, FAN_OUT_RATIO, MERGE_RATIO, sequence_of
from operators.index.forest import ask_for, child_for, rank
from operators.index.immutable_tree import bound_of, descend, scan_block
from operators.index.node import fan_out_of
from operators.index.pim_descents import (
    BLOCK,
    FOUND,
    LEAF,
    SUBINDEX,
    descend_together,
)
from operators.index.pim_merge import leaf_behind
from operators.index.pim_parallel_merge import MERGES
from operators.index.pim_parallel_state import (
    ATTACHED,
    DEPTH,
    INNER,
    LOCKED,
    READS,
    SLOT,
    SUBINDEXES,
    PimTreeParallel,
    check_invariants,
    cycle,
    entries,
    footprint,
    inserted,
    make_state,
    top_up,
    views,
)
from operators.index.pim_tree import INSERTION_DEPTH
from operators.index.shared import SharedIndexOperations, operations_for_one

# Answer of an attempt whose output has no room; distinct from any count and from RESTART.
NO_ROOM = -2
# Words that `find` notes for a key: those of a descent, and the version of the subindex.
VERSION = FOUND
PLACE_WORDS = FOUND + 1


@inlined
def enter(view):
    """Do nothing: memory is reused only after a swap, and no search overlaps a swap."""


@inlined
def leave(view):
    """Do nothing."""


# --- insertion ------------------------------------------------------------------------------------


@inlined
def insert(view, key, position):
    """Index a tuple: ACCEPTED, or FULL."""
    tree, thread = view.tree, view.thread
    words, nodes = tree.words, tree.fresh.nodes
    subindex = descend(tree.stable, words[SLOT], 0, 0, words[DEPTH], key)
    if free_count(nodes, thread) < tree.reserve:
        top_up(tree, thread)
    acquire(tree.locks, subindex)
    status = insert_entry(tree.fresh, subindex, thread, key, sequence_of(position))
    release(tree.locks, subindex)
    if status == ACCEPTED:
        # RELAXED: a counter that guards nothing. Only this thread writes it.
        count = load(tree.counts, thread * LINE_WORDS, RELAXED)
        store(tree.counts, thread * LINE_WORDS, count + 1, RELAXED)
    return status


@inlined
def remove(view, key, position):
    """Do nothing: expired tuples go with the next merge."""


# --- search ---------------------------------------------------------------------------------------


@inlined
def find(view, keys, begin, count, places):
    """Descend T_S for several keys, in lock-step: to a block, and at D_I to a subindex."""
    tree = view.tree
    slot, depth = tree.words[SLOT], tree.words[DEPTH]
    descend_together(tree.stable, slot, depth, keys, begin, count, places, 0, PLACE_WORDS)
    for key in range(count):
        place = PLACE_WORDS * key
        # NO_NODE: ``scan`` finds the leaf, unless look_for_leaves does.
        poke(places, place + LEAF, NO_NODE)
        prefetch(tree.locks, peek(places, place + SUBINDEX) * LINE_WORDS)
    if len(tree.looks) > 0:
        look_for_leaves(tree, keys, begin, count, places)


@inlined
def scan(view, low, high, places, at, window, out, count):
    """Write the requested positions of keys from `low` to `high` behind ``out[:count]``."""
    tree = view.tree
    subindex, leaf = peek(places, at + SUBINDEX), peek(places, at + LEAF)
    last = tree.words[SUBINDEXES] - 1
    while True:
        behind = leaf_behind(subindex, last + 1)
        if len(tree.looks) > 0:
            count = scan_looking(tree, subindex, leaf, behind, low, high, window, out, count)
        else:
            count = scan_locked(tree, subindex, leaf, behind, low, high, window, out, count)
        if not goes_on(tree, subindex, last, high):
            break
        mark("pim_tree_parallel: a search goes on in the next subindex")
        subindex += 1
        # The head of the next subindex, where all keys are above `low`.
        leaf = subindex
    block = peek(places, at + BLOCK)
    return scan_block(tree.stable, tree.words[SLOT], block, low, high, window, out, count)


@inlined
def goes_on(tree, subindex, last, high):
    """Return whether keys up to `high` may be in the next subindex, too."""
    if subindex >= last:
        return False
    return bound_of(tree.stable, tree.words[SLOT], tree.words[DEPTH], subindex) < high


@inlined
def scan_locked(tree, subindex, leaf, behind, low, high, window, out, count):
    """Scan a subindex under the lock, from `leaf` on, or if NO_NODE from where `low` belongs."""
    acquire(tree.locks, subindex)
    begins = find_leaf(tree.fresh, subindex, low) if leaf == NO_NODE else leaf
    count = scan_leaves(tree.fresh, begins, behind, low, high, window, out, count)
    # Nothing was changed: optimistic reads of other threads stay valid.
    release_unchanged(tree.locks, subindex)
    return count


# --- optimistic reads (ours) ----------------------------------------------------------------------


@inlined
def look_for_leaves(tree, keys, begin, count, places):
    """Descend T_I for keys whose subindexes are known, as long as there is no concurrent write."""
    fresh, locks = tree.fresh, tree.locks
    most = 0
    for key in range(count):
        place = PLACE_WORDS * key
        subindex = peek(places, place + SUBINDEX)
        version = read_begin(locks, subindex)
        poke(places, place + VERSION, version)
        root, height = peek(fresh.roots, subindex), peek(fresh.heights, subindex)
        if version != RESTART and check(locks, subindex, version):
            most = max(most, height)
            poke(places, place + LEAF, root)
            ask_for(fresh, root)
    for level in range(most):
        for key in range(count):
            place = PLACE_WORDS * key
            subindex, node = peek(places, place + SUBINDEX), peek(places, place + LEAF)
            # Trees only grow in height: if there is no inner node at this level now, there was none
            # when the root was read, and this node is the leaf already.
            if node != NO_NODE and level < peek(fresh.heights, subindex):
                child = child_for(fresh, node, peek(keys, begin + key))
                if not check(locks, subindex, peek(places, place + VERSION)):
                    mark("pim_tree_parallel: a descent ahead is void")
                    child = NO_NODE
                else:
                    ask_for(fresh, child)
                poke(places, place + LEAF, child)


@inlined
def scan_looking(tree, subindex, leaf, behind, low, high, window, out, count):
    """Scan a subindex as ``scan_locked`` does, without the lock while that is possible."""
    for _ in range(tree.attempts):
        found = attempt_scan(tree, subindex, leaf, behind, low, high, window, out, count)
        if found >= 0:
            return found
        if found == NO_ROOM:
            break
        mark("pim_tree_parallel: a look is void")
        pause()
    mark("pim_tree_parallel: a look takes the lock")
    return scan_locked(tree, subindex, NO_NODE, behind, low, high, window, out, count)


@inlined
def attempt_scan(tree, subindex, leaf, behind, low, high, window, out, count):
    """Scan a subindex under one version: the new count, RESTART, or NO_ROOM.

    The next attempt overwrites the output of a failed one.
    """
    fresh, locks = tree.fresh, tree.locks
    version = read_begin(locks, subindex)
    if version == RESTART:
        return RESTART
    node = leaf
    if leaf == NO_NODE:
        node = attempt_find_leaf(tree, subindex, version, low)
        if node == RESTART:
            return RESTART
    place = rank(fresh, node, low)
    while True:
        # Torn between two versions, a leaf may appear to match entirely.
        if count + fan_out_of(fresh.kind) + LIVE > len(out):
            return NO_ROOM
        held = peek(fresh.counts, node)
        last, count = scan_leaf(fresh, node, place, held, high, window, out, count)
        following = peek(fresh.nodes.words, node)
        # Check before using the number of the next leaf and before counting the output.
        if not check(locks, subindex, version):
            return RESTART
        if last < held or following == behind:
            return count
        node = following
        # A leaf found earlier may have split: then `low` may belong behind it.
        place = rank(fresh, node, low) if place == held else 0


@inlined
def attempt_find_leaf(tree, subindex, version, low):
    """Descend a subindex under a version: the leaf in which `low` belongs, or RESTART."""
    fresh, locks = tree.fresh, tree.locks
    node, height = peek(fresh.roots, subindex), peek(fresh.heights, subindex)
    if not check(locks, subindex, version):
        return RESTART
    for _ in range(height):
        node = child_for(fresh, node, low)
        # Check before using the number of the node.
        if not check(locks, subindex, version):
            return RESTART
    return node


# --- the declaration ------------------------------------------------------------------------------


def places_of(state: PimTreeParallel) -> int:
    """Return the words that `find` notes for a key."""
    return PLACE_WORDS


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
    merges=MERGES,
    inserted=inserted,
    cycle=cycle,
)


VARIANT = Variant(
    id="pim-tree-parallel",
    family="index",
    title="PIM-Tree, parallel",
    paper="pim_tree",
    section="4.2",
    operations=operations_for_one(SHARED),
    order="none within a search",
    progress="blocking",
    threads={"owner": "one"},
    capacity="the tuples of a window, and m times as many that wait for a merge",
    parameters=(
        replace(MERGE_RATIO, default=1),
        INSERTION_DEPTH,
        FAN_OUT,
        FAN_OUT_RATIO,
        Parameter("reads", LOCKED, meaning="how a subindex is searched", choices=READS),
        Parameter("attached", INNER, meaning="what subindexes are attached to", choices=ATTACHED),
        # Huge pages made no difference at 2**20 tuples (1.01 of the processor time, two runs in
        # turns, with other programs running), with descents of eight keys in lock-step.
    ),
    bench=False,
    look=Look("green", "D", "solid"),
)
