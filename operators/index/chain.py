"""The chained index: the window divided into discrete intervals, with one index for each.

Source: section 2.2.2 of "Parallel Index-based Stream Join on a Multicore CPU", after Lin et al.,
"Scalable Distributed Stream Join Processing", 2015::

    oldest                                          active
    [sub 2: expired and live] [sub 3: live] ... [sub 1: live, filling]  <-- insert
       ^ dropped whole as soon as the active one is full

A chain of length L has L - 1 archived subindexes and the active one, each of w / (L - 1) tuples.
Entries are never deleted individually. When the active subindex is full, the L - 1 youngest hold
the whole window, so every tuple of the oldest has expired: the oldest is emptied and becomes the
active one.

b-chain
    A chain of B+-Trees, each over a part of the window; the oldest is dropped as a whole.
ib-chain
    A chain of trees like the B-chain, whose archived ones are immutable (section 5.1).

Invariants (``check_invariants``): each subindex satisfies the invariants of its kind, and exactly
the tuples of the window are live.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from operators.contract import Look, UsageError, Variant
from operators.core.arena import NO_NODE, take_all_back
from operators.core.atomics import now
from operators.core.jit import inlined
from operators.core.vectors import peek, poke
from operators.index import immutable_tree
from operators.index.b_plus_tree import (
    entries_of,
    find_leaf,
    insert_entry,
    leaves_of,
    scan_leaves,
)
from operators.index.family import (
    CHAIN_LENGTH,
    FAN_OUT,
    IndexOperations,
    check_window,
    is_live,
)
from operators.index.forest import (
    Forest,
    keys_of,
    links_of,
    make_forest,
    nodes_for,
    plant,
    used_bytes,
)
from operators.index.immutable_tree import (
    ImmutableTrees,
    ask_for_block,
    build,
    check_tree,
    descend,
    levels_of,
    make_trees,
    scan_block,
)
from operators.index.window import (
    INDEX,
    OLDEST,
    SIZE,
    make_window,
    note_inserted,
    note_removed,
)

# Words behind those of the window.
ACTIVE = INDEX  # the active tree (B-chain); the slot to archive into next (IB-chain)
FILLED = INDEX + 1  # tuples of the active subindex
ARCHIVE_NS = INDEX + 2  # total time of archiving


class BChain(NamedTuple):
    """B+-Trees with separate nodes in cyclic order; the oldest follows the active one."""

    trees: Forest
    words: np.ndarray  # see above, and operators.index.window
    length: int
    limit: int  # tuples of a subindex


class IBChain(NamedTuple):
    """The active B+-Tree, and immutable ones in a ring of slots."""

    active: Forest
    archived: ImmutableTrees
    words: np.ndarray  # see above, and operators.index.window
    length: int
    limit: int  # tuples of a subindex


def _limit(window: int, chain_length: int) -> int:
    if chain_length < 2:
        raise UsageError(f"chain_length is at least 2, received {chain_length}")
    return -(-window // (chain_length - 1))


def make_b_chain(
    window: int, key_bits: int = 32, chain_length: int = 2, fan_out: int = 32
) -> BChain:
    """Return an empty chain of B+-Trees.

    Raises
    ------
    UsageError
        When a parameter is out of range.
    """
    key_type, limit = check_window(window, key_bits), _limit(window, chain_length)
    capacity = nodes_for(limit, 1, fan_out, deletes=False)
    trees = make_forest(chain_length, chain_length, capacity, key_type, fan_out)
    return BChain(trees, make_window(), chain_length, limit)


def make_ib_chain(
    window: int, key_bits: int = 32, chain_length: int = 2, fan_out: int = 32
) -> IBChain:
    """Return an empty chain of an active B+-Tree and immutable ones.

    Raises
    ------
    UsageError
        When a parameter is out of range.
    """
    key_type, limit = check_window(window, key_bits), _limit(window, chain_length)
    capacity = nodes_for(limit, 1, fan_out, deletes=False)
    return IBChain(
        make_forest(1, 1, capacity, key_type, fan_out),
        make_trees(chain_length - 1, limit, key_type, fan_out),
        make_window(),
        chain_length,
        limit,
    )


@inlined
def remove(state, key, position):
    """Note that the oldest tuple has expired; it goes with the whole subindex."""
    note_removed(state.words, position)


# --- B-chain --------------------------------------------------------------------------------------


@inlined
def insert_b(state, key, position):
    """Index the newest tuple; if the active subindex is full, empty the oldest and use that."""
    words = state.words
    sequence = note_inserted(words, position)
    if words[FILLED] == state.limit:
        oldest = words[ACTIVE] + 1
        words[ACTIVE] = 0 if oldest == state.length else oldest
        words[FILLED] = 0
        take_all_back(state.trees.nodes, words[ACTIVE])
        plant(state.trees, words[ACTIVE], words[ACTIVE])
    words[FILLED] += 1
    return insert_entry(state.trees, words[ACTIVE], words[ACTIVE], key, sequence)


@inlined
def find_b(state, low, place):
    """Descend every subindex to where `low` belongs."""
    for tree in range(state.length):
        place[tree] = find_leaf(state.trees, tree, low)


@inlined
def scan_b(state, low, high, place, out):
    """Write the positions of live keys from `low` to `high`, and return their number."""
    words = state.words
    count = 0
    for tree in range(state.length):
        count = scan_leaves(state.trees, place[tree], NO_NODE, low, high, words, out, count)
    return count


@inlined
def merge_ns_b(state):
    """Return 0: this index has no merges."""
    return 0


def footprint_b(state: BChain) -> dict[str, int]:
    """Return the bytes in use."""
    used = (used_bytes(state.trees, tree) for tree in range(state.length))
    return {"insert": sum(used)}


def check_b(state: BChain) -> None:
    """Check every subindex, and that the window is live.

    Raises
    ------
    AssertionError
        When an invariant does not hold.
    """
    entries = [entry for tree in range(state.length) for entry in _entries(state.trees, tree)]
    _check_live(state.words, entries)


# --- IB-chain -------------------------------------------------------------------------------------


@inlined
def insert_ib(state, key, position):
    """Index the newest tuple; if the active subindex is full, archive it first."""
    words = state.words
    sequence = note_inserted(words, position)
    if words[FILLED] == state.limit:
        archive(state)
    words[FILLED] += 1
    return insert_entry(state.active, 0, 0, key, sequence)


@inlined
def archive(state):
    """Turn the active subindex into an immutable one, in the slot of the oldest."""
    begin = now()
    words, active, archived = state.words, state.active, state.archived
    slot = words[ACTIVE]
    first = slot * archived.room
    put = first
    leaf = 0  # the leaves begin with the first node: a split puts a new one behind the old
    while leaf != NO_NODE:
        keys = keys_of(active, leaf)
        links = links_of(active, leaf)
        for place in range(peek(active.counts, leaf)):
            poke(archived.keys, put, peek(active.entries, keys + place))
            poke(archived.sequences, put, peek(active.entries, links + place))
            put += 1
        leaf = peek(active.nodes.words, leaf)
    build(archived, slot, put - first)
    take_all_back(active.nodes, 0)
    plant(active, 0, 0)
    words[ACTIVE] = 0 if slot + 2 == state.length else slot + 1
    words[FILLED] = 0
    words[ARCHIVE_NS] += now() - begin


@inlined
def find_ib(state, low, place):
    """Descend every subindex to where `low` belongs."""
    archived = state.archived
    place[0] = find_leaf(state.active, 0, low)
    for slot in range(state.length - 1):
        block = descend(archived, slot, 0, 0, levels_of(archived, slot), low)
        ask_for_block(archived, slot, block)
        place[1 + slot] = block


@inlined
def scan_ib(state, low, high, place, out):
    """Write the positions of live keys from `low` to `high`, and return their number."""
    words = state.words
    count = scan_leaves(state.active, place[0], NO_NODE, low, high, words, out, 0)
    for slot in range(state.length - 1):
        count = scan_block(state.archived, slot, place[1 + slot], low, high, words, out, count)
    return count


@inlined
def merge_ns_ib(state):
    """Return the total time of archiving."""
    return state.words[ARCHIVE_NS]


def footprint_ib(state: IBChain) -> dict[str, int]:
    """Return the bytes in use."""
    slots = range(state.length - 1)
    return {
        "search": sum(immutable_tree.used_bytes(state.archived, slot) for slot in slots),
        "insert": used_bytes(state.active),
    }


def check_ib(state: IBChain) -> None:
    """Check every subindex, and that the window is live.

    Raises
    ------
    AssertionError
        When an invariant does not hold.
    """
    entries = _entries(state.active, 0)
    for slot in range(state.length - 1):
        entries += check_tree(state.archived, slot)
    _check_live(state.words, entries)


def _entries(forest: Forest, tree: int) -> list[tuple[int, int]]:
    return [entry for leaf in leaves_of(forest, tree) for entry in entries_of(forest, leaf)]


def _check_live(words: np.ndarray, entries: list[tuple[int, int]]) -> None:
    oldest = int(words[OLDEST])
    live = sum(bool(is_live(sequence, oldest)) for _, sequence in entries)
    assert live == int(words[SIZE]), f"{live} live entries, and {words[SIZE]} tuples in the window"


def places(state: BChain | IBChain) -> int:
    """Return the words that `find` notes: a leaf or a block of each subindex."""
    return state.length


def cycle(state: BChain | IBChain) -> int:
    """Return the number of inserts until the next subindex."""
    return state.limit


def _variant(id: str, title: str, operations: IndexOperations, look: Look) -> Variant:
    return Variant(
        id=id,
        family="index",
        title=title,
        paper="pim_tree",
        section="2.2.2",
        operations=operations,
        order="none within a search",
        progress="blocking",
        threads={"owner": "one"},
        capacity="the tuples of a window, and one more subindex",
        parameters=(CHAIN_LENGTH, FAN_OUT),
        bench=False,
        look=look,
    )


VARIANTS = (
    _variant(
        "b-chain",
        "B-chain",
        IndexOperations(
            make_b_chain, insert_b, remove, find_b, scan_b, merge_ns_b, places, footprint_b,
            check_b, cycle=cycle,
        ),
        Look("purple", "D", "dash-dot"),
    ),
    _variant(
        "ib-chain",
        "IB-chain",
        IndexOperations(
            make_ib_chain, insert_ib, remove, find_ib, scan_ib, merge_ns_ib, places, footprint_ib,
            check_ib, cycle=cycle,
        ),
        Look("orange", "v", "dense"),
    ),
)  # fmt: skip
