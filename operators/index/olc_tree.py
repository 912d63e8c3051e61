r"""A B+-Tree for many threads with optimistic lock coupling: searches write nothing.

No paper here has it. Source: Leis, Haubenschild and Neumann, "Optimistic Lock Coupling", 2019. The
nodes are those of the single-threaded B+-Tree (`operators.index.b_plus_tree`), with the same
separators, duplicate keys, merges and borrowing; the code that changes nodes is the same, too, here
under locks. Each node has an optimistic lock (`operators.core.optimistic`), and one more lock, the
*top*, guards the root number and the height of the tree::

    a descent      top: 4 ... which node?    check(4)    follow it: root: 20    check(4) again
                             root: 20 ... which child?   check(20)   child: 8   check(20) again
                                          child: 8 ...

    an insertion                    [ 17 | 40 ] 20           a leaf has room: upgrade it, nothing
                                     /   |    \               above it; a full one: upgrade it, and
                          [3 9] 12  [17 25] 8 -> [41 60] 4   the full nodes above, and one more

The first check is needed because a child number that was read during a write may be no node number
at all; the second, because before the version of the child was read, the child may have moved to
another parent or been freed. When both checks succeed, the child had this version at the second
check, and was the right child. Every change to the set of keys that belong into a node changes the
node's version; so ``upgrade`` finally verifies that the node is still the right one.

Each operation is an *attempt* that gives up (RESTART) as soon as a check fails, and is then
repeated. An attempt that changes the tree collects the nodes to change, reads everything it needs,
and then upgrades all the locks, never waiting for one node lock while holding another. If an
upgrade fails, the attempt releases all locks unchanged.

* ``insert`` upgrades the leaf; if the leaf is full, also the full nodes above it on the path and
  the first node with room. Then it splits as the single-threaded tree does.
* ``remove`` walks along the leaves to find the entry among equal keys. It upgrades the leaf; if the
  leaf gets too empty, also the parent and the neighbour to merge with or borrow from, and so on
  upwards while parents get too empty.
* ``scan`` goes from leaf to leaf. It reads the version of the next leaf before it checks the
  version of the current one. If the check of a leaf fails, the scan discards the results from that
  leaf.

A node that leaves the tree becomes obsolete and is free for reuse at once, even if other threads
still read it: node memory stays node memory, and the version continues from one use to the next, so
that no check from a former use succeeds. So threads need not announce when they enter or leave the
index: there is no epoch-based reclamation, whose price is nodes that lie fallow while one thread
sleeps.

Invariants between any two changes, in addition to those of the B+-Tree:

6. The entries of a node, the count and the link to the next leaf change only under the node's lock;
   the root and the height only under the top lock.
7. The set of keys that belong into a leaf, and the link to the next leaf, change only under the
   leaf's lock: a split holds this lock, and a merge or a borrowing holds the locks of both
   neighbours.
8. A node is obsolete from the moment it leaves the tree until a split has put it back in: while it
   is free, and a little before and after. At rest exactly the free nodes are obsolete. The version
   of a node never repeats.

Why a scan misses nothing and repeats nothing. Let L1, L2, ... be the leaves that the scan has read,
and t(i) the moment at which it checks L(i), having read the version of L(i+1). The requested
entries are in some leaf all the time; at t(i) each of them is in a leaf up to L(i), or in a later
one. Claim: at t(i) exactly those up to L(i) are written. Between t(i) and t(i+1), L(i+1) has not
changed (the check says so), so by 7 no entry has crossed L(i+1): every split, merge or borrowing
that moves an entry from one side of it to the other holds the lock of L(i+1). So the entries that
were behind L(i) at t(i) and are not behind L(i+1) at t(i+1) are exactly those of L(i+1), and these
are written. When the check of L(i+1) fails, the results from it are discarded, and the scan looks
up the leaf behind L(i) once more, and then checks L(i). If L(i) still has the version of t(i), then
by 7 no entry has crossed the end of L(i) since, and the claim still holds. If the version differs,
an entry may have been borrowed into a leaf that was already read, and equal keys do not tell which:
the scan starts over.

Linearization points: ``insert`` and ``remove``, at the release that publishes the changed leaf;
each leaf of a scan, at the check. A scan as a whole is no snapshot of the tree; the protocol
requires only the entries that stay (`operators.index.shared`).

Memory order: the argument of `operators.core.optimistic` for one section covers all accesses; the
lists of free nodes are under a spin lock.

Progress: blocking. A thread that stalls with a lock blocks every thread that needs the node. A
split waits for the spin lock of the free lists while it holds all its node locks; the holder of the
spin lock waits for nothing, so there is no deadlock. But if the holder stalls, every split stalls,
together with the nodes locked for it, and so does the end of every deletion that frees a node.
Otherwise threads may, in theory, make each other restart for ever: a thread that fails an upgrade
or a check has lost to a thread that went on, or to one that releases and backs off.

# ASSUME: the paper splits every full node on the way down, so that a parent has room. Here a split
# goes up, as in the single-threaded tree: the fill of an inner node is read only where it matters,
# and the cache line of the counts changes with the entries of neighbouring nodes.
# ASSUME: a node merges with the right neighbour rather than the left. If a look at a neighbour
# shows that the two do not fit, that look is not checked again: a merge omitted then does no harm.
"""

from __future__ import annotations

from operators.contract import Look, Variant
from operators.core import arena, spin_lock
from operators.core.arena import NO_NODE, Arena, free_count, make_arena, take
from operators.core.jit import inlined
from operators.core.layout import (
    LINE_BYTES,
    LINE_WORDS,
    WORD_BYTES,
    aligned_words,
    whole_lines,
)
from operators.core.marks import mark
from operators.core.optimistic import (
    LOCKED,
    OBSOLETE,
    RESTART,
    check_at,
    spin,
)
from operators.core.prefetch import prefetch
from operators.core.vectors import LIVE, peek, poke
from operators.index.b_plus_tree import (
    check_forest,
    inner_nodes,
    leaves_of,
    scan_leaf,
)
from operators.index.family import FAN_OUT, check_window, is_asked_for, position_of
from operators.index.forest import (
    MOST_HEIGHT,
    PATH_WORDS,
    ask_for,
    bytes_of,
    child_for,
    keys_of,
    leaves_for,
    links_of,
    make_forest,
    nodes_for,
    racy_forest,
    rank,
)
from operators.index.node import fan_out_of
from operators.index.olc_changes import insert, remove
from operators.index.olc_path import (
    OWN_WORDS,
    OWNER,
    TREE,
    OlcTree,
    attempt_child,
    attempt_find,
    attempt_top,
)
from operators.index.shared import SharedIndexOperations, operations_for_one
from operators.index.window import NEWEST, OLDEST

# Words that `find` notes for a key: leaf, version of the leaf or RESTART, and, for itself, the node
# above.
PLACE_WORDS = 4
LEAF, VERSION, ABOVE = 0, 1, 2


# --- search ---------------------------------------------------------------------------------------


@inlined
def find(tree, keys, begin, count, places):
    """Descend for the `count` keys from ``keys[begin]`` on, in lock-step, one level at a time."""
    if count == 1:
        leaf, version = attempt_find(tree, peek(keys, begin))
        poke(places, LEAF, leaf)
        poke(places, VERSION, version)
        return
    root, height, since = attempt_top(tree)
    for each in range(count):
        at = PLACE_WORDS * each
        poke(places, at + LEAF, root)
        poke(places, at + VERSION, since)
        poke(places, at + ABOVE, tree.top)
    for _ in range(height):
        for each in range(count):
            step(tree, peek(keys, begin + each), places, PLACE_WORDS * each)
    for each in range(count):
        at = PLACE_WORDS * each
        if peek(places, at + VERSION) != RESTART:
            node, above = peek(places, at + LEAF), peek(places, at + ABOVE)
            version = attempt_child(tree, above, peek(places, at + VERSION), node)
            poke(places, at + VERSION, version)


@inlined
def step(tree, key, places, at):
    """Go one level down, and prefetch the node there."""
    forest = tree.forest
    node, since = peek(places, at + LEAF), peek(places, at + VERSION)
    if since == RESTART:
        return
    version = attempt_child(tree, peek(places, at + ABOVE), since, node)
    if version != RESTART:
        child = child_for(forest, node, key)
        # A concurrent writer may have left any number there.
        if check_at(tree.locks, node, version):
            prefetch(tree.locks, child)
            ask_for(forest, child)
            poke(places, at + LEAF, child)
            poke(places, at + ABOVE, node)
        else:
            mark("olc_tree: a child was read while it changed")
            version = RESTART
    poke(places, at + VERSION, version)


@inlined
def scan(tree, low, high, places, at, window, out, count):
    """Write the requested positions of keys from `low` to `high` behind ``out[:count]``."""
    leaf, version = peek(places, at + LEAF), peek(places, at + VERSION)
    rounds = 0
    while True:
        if version != RESTART:
            end = attempt_scan(tree, leaf, version, low, high, window, out, count)
            if end != RESTART:
                return end
        mark("olc_tree: a scan begins again")
        # The first retry needs no backoff: the leaf from `find` was merely out of date.
        rounds = spin(rounds) if rounds > 0 else 1
        leaf, version = attempt_find(tree, low)


@inlined
def attempt_scan(tree, leaf, version, low, high, window, out, count):
    """Scan from a leaf to which `low` belonged at this version: the new count, or RESTART."""
    forest = tree.forest
    room = len(out) - LIVE
    place = rank(forest, leaf, low)
    before, since = NO_NODE, RESTART
    while True:
        entries = peek(forest.counts, leaf)
        behind = peek(forest.nodes.words, leaf)
        # Vectors do not stop at `entries`: the leaf may have grown since, and all of it is written.
        if count + fan_out_of(forest.kind) <= room:
            last, more = scan_leaf(forest, leaf, place, entries, high, window, out, count)
        else:
            last, more = scan_within(forest, leaf, place, entries, high, window, out, count, room)
        if check_at(tree.locks, leaf, version):
            count = more
            if last < entries or behind == NO_NODE:
                return count
            before, since = leaf, version
            leaf = behind
            place = 0
        else:
            # The results of this leaf are discarded: `count` keeps the old value.
            mark("olc_tree: a scan takes back a leaf")
            if before == NO_NODE:
                return RESTART
        version = attempt_child(tree, before, since, leaf)
        if version == RESTART:
            return RESTART


@inlined
def scan_within(forest, leaf, place, entries, high, window, out, count, room):
    """Scan as ``scan_leaf`` does, but write nothing behind ``out[:room]``.

    Entries beyond the room are not all real: a leaf that changes may show an entry twice, and a
    reused leaf shows entries of other keys.
    """
    keys, links = keys_of(forest, leaf), links_of(forest, leaf)
    last = place
    while last < entries and peek(forest.entries, keys + last) <= high:
        sequence = peek(forest.entries, links + last)
        if is_asked_for(sequence, window[OLDEST], window[NEWEST]):
            if count < room:
                poke(out, count, position_of(sequence, window[NEWEST]))
            count += 1
        last += 1
    return last, count


# --- the index ------------------------------------------------------------------------------------


def make_state(
    window: int, slack: int = 0, key_bits: int = 32, threads: int = 1, fan_out: int = 32
) -> OlcTree:
    """Return an empty tree for this many threads.

    Raises
    ------
    UsageError
        When a parameter is out of range.
    """
    key_type = check_window(window, key_bits)
    # A thread that has taken nodes out of the tree frees them a little later.
    most = leaves_for(window + slack, 1, fan_out, deletes=True)
    more = nodes_for(window + slack, 1, fan_out, deletes=True) - most
    leaves = make_numbers(most + threads)
    inner = make_numbers(more + threads * MOST_HEIGHT)
    top = leaves.capacity + inner.capacity
    forest = make_forest(1, 1, top, key_type, fan_out)
    # The forest's free nodes are those that a split takes: none now.
    forest.nodes.free_counts[OWNER] = 0
    locks = aligned_words(top + LINE_WORDS)
    locks[:top] = OBSOLETE
    locks[take(leaves, OWNER)] = 0
    return OlcTree(
        forest=racy_forest(forest),
        locks=locks,
        leaves=leaves,
        inner=inner,
        free_lock=spin_lock.make_spin_locks(1),
        own=aligned_words(OWN_WORDS),
        first_inner=leaves.capacity,
        top=top,
    )


def make_numbers(count: int) -> Arena:
    """Return an arena of node numbers only: at least `count`, in whole cache lines, no memory."""
    numbers = make_arena(1, whole_lines(count), 1)
    return numbers._replace(words=aligned_words(1), node_words=0)


def views(state: OlcTree, threads: int) -> tuple[OlcTree, ...]:
    """Return one view of the tree for each thread."""
    return tuple(
        state._replace(
            forest=state.forest._replace(path=aligned_words(PATH_WORDS)),
            own=aligned_words(OWN_WORDS),
        )
        for _ in range(threads)
    )


@inlined
def enter(tree):
    """Do nothing: checks validate whatever a thread reads."""


@inlined
def leave(tree):
    """Do nothing, as ``enter``."""


def places_of(state: OlcTree) -> int:
    """Return the words that `find` notes for a key."""
    return PLACE_WORDS


def footprint(state: OlcTree) -> dict[str, int]:
    """Return the bytes in use."""
    free = int(free_count(state.leaves, OWNER)) + int(free_count(state.inner, OWNER))
    used = state.top - free
    return {"insert": bytes_of(state.forest, used) + used * WORD_BYTES + LINE_BYTES}


def entries(state: OlcTree) -> list[tuple[int, int]]:
    """Return key and sequence of each entry, sorted."""
    return sorted(check_forest(state.forest, 1))


def check_invariants(state: OlcTree) -> None:
    """Check the tree and its locks at rest.

    Raises
    ------
    AssertionError
        When an invariant does not hold.
    """
    check_forest(state.forest, 1)
    forest = state.forest
    leaves = leaves_of(forest, TREE)
    misplaced = [leaf for leaf in leaves if leaf >= state.first_inner]
    assert not misplaced, f"the leaves {misplaced} are of the pool of inner nodes"
    unused = set()
    for free, first in ((state.leaves, 0), (state.inner, state.first_inner)):
        arena.check_invariants(free)
        unused |= {first + node for node in free.free_nodes[: free_count(free, OWNER)].tolist()}
    inner = inner_nodes(forest, int(forest.roots[TREE]), int(forest.heights[TREE]))
    somewhere = len(leaves) + inner + len(unused)
    assert somewhere == state.top, f"of {state.top} nodes {somewhere} are in the tree or free"
    for node, word in enumerate(state.locks.tolist()):
        assert word & LOCKED == 0, f"somebody has the lock of node {node} at rest"
        obsolete = bool(word & OBSOLETE)
        assert obsolete == (node in unused), f"invariant 8: node {node} is obsolete: {obsolete}"


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
    id="olc-tree",
    family="index",
    title="B+-Tree, OLC",
    paper="none",
    section="Leis et al., 2019",
    operations=operations_for_one(SHARED),
    order="none within a search",
    progress="blocking",
    threads={"owner": "one"},
    capacity="the tuples of a window; one more is told FULL at the latest",
    parameters=(FAN_OUT,),
    bench=False,
    extended=True,
    look=Look("orange", "s"),
)
