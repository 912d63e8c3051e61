r"""A B+-Tree for many threads with optimistic lock coupling: searches write nothing.

No paper here has it. Source: Leis, Haubenschild and Neumann, "Optimistic Lock Coupling", 2019. The
nodes are those of the B+-Tree for one thread, with its separators, its equal keys, its merges and
its borrowing (`operators.index.b_plus_tree`); so is the code that changes them, here under locks.
Each node has an optimistic lock (`operators.core.optimistic`), and one more, the *top*, stands for
the word that says which node is the root, and how high the tree is::

    a descent      top: 4 ... which node?    check(4)    follow it: root: 20    check(4) again
                             root: 20 ... which child?   check(20)   child: 8   check(20) again
                                          child: 8 ...

    an insertion                    [ 17 | 40 ] 20           a leaf has room: upgrade it, nothing
                                     /   |    \               above it; a full one: upgrade it, and
                          [3 9] 12  [17 25] 8 -> [41 60] 4   what is full above, and one node more

The first check is there because the number of a child that was read while a writer was at it is no
number of a node; the second, because the child may have become another's, or nobody's, before its
version was read. What is known when both say yes: at the moment of the second the child had this
version, and was the right one. Anything that changes which keys belong into a node changes its
version; so ``upgrade`` says at last whether the node that was found is still the right one.

Each operation is an *attempt* that gives up (RESTART) as soon as anything is not as it was, and is
made again. An attempt that changes the tree collects what it is going to change, reads all it needs
to know, and then upgrades everything, never waiting for one lock of a node with another in its
hands. Who fails gives all back unchanged.

* ``insert`` upgrades the leaf; if that is full, also the full nodes above it and the node over
  those, of its path. Then it splits as the tree for one thread does.
* ``remove`` looks along the leaves for its entry among equal ones. It upgrades the leaf; if that
  gets too empty, also the neighbour that it merges with or borrows from and the parent, and so on
  above while parents get too empty.
* ``scan`` goes from leaf to leaf. It reads the version of the next leaf before it checks that of
  the one it has read. What it has written of a leaf whose check fails it takes back.

A node that is out of the tree is obsolete, and goes at once to those that are free, without a
thought of who may still look at it: nodes stay nodes, and the version goes on from one use to the
next, so that no check of a former use says yes again. That is why nobody announces here when it
enters or leaves the index: the price of epochs, nodes that lie fallow while one thread sleeps, is
not paid.

Invariants, beside those of the B+-Tree between any two changes:

6. A node's entries, its count and its link to the next leaf change only under its lock; the root
   and the height only under the top's.
7. Which keys belong into a leaf, and which leaf is behind it, changes only under its lock: a split
   has it, and so have a merge and a borrowing of either neighbour, since those have both.
8. A node is obsolete from when it leaves the tree until a split that took it again has put it in:
   while it is free, and a little before and behind that. At rest exactly the free ones are. Its
   version never repeats.

Why a scan loses and doubles nothing. Let the leaves that it has read be L1, L2, ... and t(i) the
moment at which it checks L(i), with the version of L(i+1) in its hands. Entries that are asked for
are in some leaf all the time; at t(i) each of them is in a leaf up to L(i), or in one behind it.
Claim: at t(i) exactly those up to L(i) are written. Between t(i) and t(i+1), L(i+1) has not changed
(its check says so), so that by 7 nothing has gone past its ends: no split, merge or borrowing that
moves an entry from one side of it to the other does without its lock. So what was behind L(i) and
is not behind L(i+1) at t(i+1) is just what L(i+1) holds, and that is written. When the check of
L(i+1) fails, what it gave is taken back, and the scan asks for the leaf behind L(i) once more. It
checks L(i) behind that. If L(i) still has the version of t(i), then by 7 nothing has gone past its
end since, and the claim holds of it as before. If it has another, an entry may have been borrowed
into what was read already, and equal keys do not tell which: the scan begins anew.

Linearization points: ``insert`` and ``remove`` at the release that shows the changed leaf;
each leaf of a scan at its check. Together a scan is no snapshot of the tree; the protocol asks for
the entries that stay (`operators.index.shared`).

Why the orders are enough: all of it is what `operators.core.optimistic` says of a section; and the
numbers of free nodes are under a spin lock.

Progress: blocking. A thread that stops with a lock stops who needs the node. A split waits for the
spin lock of the free nodes with all its locks in hand; who has that one waits for nothing, so there
is no deadlock. But a thread that stops with it stops every split, with what those have locked, and
the end of every deletion that lets a node go. Without that, threads may make each other begin again
for ever, in theory: who loses an upgrade, or a check, has lost it to somebody who went on, or who
gives back and waits a little.

# ASSUME: the paper splits every full node on the way down, so that a parent has room. Here a split
# goes up, as in the tree for one thread: an inner node is asked how full it is only where that
# matters, and the line that tells changes with its neighbours' entries.
# ASSUME: a node merges with its right neighbour rather than the left. Where a look at a neighbour
# shows that they do not fit, that look is not checked again: a merge left out then is as good.
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
    OlcTree,
    attempt_child,
    attempt_find,
    attempt_top,
)
from operators.index.shared import SharedIndexOperations, operations_for_one
from operators.index.window import NEWEST, OLDEST

# What `find` notes of a key: the leaf, its version or RESTART; and for itself, what is above it.
PLACE_WORDS = 4
LEAF, VERSION, ABOVE = 0, 1, 2


# --- search ---------------------------------------------------------------------------------------


@inlined
def find(tree, keys, begin, count, places):
    """Descend for the `count` keys from ``keys[begin]`` on, a level of all at a time."""
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
    """Go one level down, and ask for the memory of the node there."""
    forest = tree.forest
    node, since = peek(places, at + LEAF), peek(places, at + VERSION)
    if since == RESTART:
        return
    version = attempt_child(tree, peek(places, at + ABOVE), since, node)
    if version != RESTART:
        child = child_for(forest, node, key)
        # Who changes the node may have left any number there.
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
    """Write the positions asked for of keys from `low` to `high` behind ``out[:count]``."""
    leaf, version = peek(places, at + LEAF), peek(places, at + VERSION)
    rounds = 0
    while True:
        if version != RESTART:
            end = attempt_scan(tree, leaf, version, low, high, window, out, count)
            if end != RESTART:
                return end
        mark("olc_tree: a scan begins again")
        # Not at once: a place that was found before is only old.
        rounds = spin(rounds) if rounds > 0 else 1
        leaf, version = attempt_find(tree, low)


@inlined
def attempt_scan(tree, leaf, version, low, high, window, out, count):
    """Do so from a leaf on, where `low` belonged at this version: the new count, or RESTART."""
    forest = tree.forest
    room = len(out) - LIVE
    place = rank(forest, leaf, low)
    before, since = NO_NODE, RESTART
    while True:
        entries = peek(forest.counts, leaf)
        behind = peek(forest.nodes.words, leaf)
        # Vectors do not stop at `entries`: by now the leaf may have more, all of which are written.
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
            # What the leaf gave is taken back: `count` is what it was.
            mark("olc_tree: a scan takes back a leaf")
            if before == NO_NODE:
                return RESTART
        version = attempt_child(tree, before, since, leaf)
        if version == RESTART:
            return RESTART


@inlined
def scan_within(forest, leaf, place, entries, high, window, out, count, room):
    """Do as ``scan_leaf``, but write nothing behind ``out[:room]``.

    What would go there does not stand there at once: a leaf that changes may show an entry twice,
    and one that is used again shows those of other keys.
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
    """Return an empty tree for so many threads.

    Raises
    ------
    UsageError
        When a parameter is out of its limits.
    """
    key_type = check_window(window, key_bits)
    # A thread that has taken nodes out of the tree gives them back a little later.
    most = leaves_for(window + slack, 1, fan_out, deletes=True)
    more = nodes_for(window + slack, 1, fan_out, deletes=True) - most
    leaves = make_numbers(most + threads)
    inner = make_numbers(more + threads * MOST_HEIGHT)
    top = leaves.capacity + inner.capacity
    forest = make_forest(1, 1, top, key_type, fan_out)
    # What the forest has free is what a split takes: nothing now.
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
    """Return an arena of at least so many nodes that has no words of theirs, in whole lines."""
    numbers = make_arena(1, whole_lines(count), 1)
    return numbers._replace(words=aligned_words(1), node_words=0)


def views(state: OlcTree, threads: int) -> tuple[OlcTree, ...]:
    """Return the tree as each of so many threads has it."""
    return tuple(
        state._replace(
            forest=state.forest._replace(path=aligned_words(PATH_WORDS)),
            own=aligned_words(OWN_WORDS),
        )
        for _ in range(threads)
    )


@inlined
def enter(tree):
    """Do nothing: whatever a thread looks at, a check says whether it may."""


@inlined
def leave(tree):
    """Do nothing, as ``enter``."""


def places_of(state: OlcTree) -> int:
    """Return the words that `find` notes of a key."""
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
    unused = set()
    for free, first in ((state.leaves, 0), (state.inner, state.first_inner)):
        arena.check_invariants(free)
        unused |= {first + node for node in free.free_nodes[: free_count(free, OWNER)].tolist()}
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
