"""The stages of a merge that several threads work on (`operators.index.shared.Merges`).

Source: section 4.2 of "Parallel Index-based Stream Join on a Multicore CPU", where one merging
thread does all of it, concurrently with the searches of others; sharing the work is ours. The merge
is divided into *pieces*, each a run of subindexes with the nodes of T_S above them. A key belongs
to one subindex, so that pieces are independent except for where each begins in the output::

    T_S + T_I    [ piece 0 | piece 1   | piece 2 ]
    count            5         3           9        live, in T_S and in T_I
    place        0         5       8           17   prefix sums: where each begins
    copy         [ 5 written, 3, 9: by any thread, in any order ]
    finish       separators over all of them

An entry is live if the position is at least that given to ``begin``, in either component: a merge
that comes late finds expired entries in T_I, too. Until ``swap`` the merge writes nothing that a
search reads. All words here are plain: the caller orders one stage before the next.
"""

from __future__ import annotations

from operators.core.atomics import RELAXED, load
from operators.core.jit import inlined
from operators.core.layout import LINE_WORDS
from operators.core.marks import mark
from operators.core.vectors import peek, poke
from operators.index.family import sequence_of
from operators.index.immutable_tree import build
from operators.index.pim_merge import (
    leaf_behind,
    live_in_fresh,
    live_in_stable,
    merge_subindex,
)
from operators.index.pim_parallel_state import (
    DEPTH,
    EXPIRED,
    MOST_NODES,
    MOST_PIECES,
    PIECES,
    SLOT,
    SUBINDEXES,
    empty_subindexes,
    nodes_taken,
)
from operators.index.shared import Merges


@inlined
def is_due(view):
    """Return whether T_I has as many entries as make a merge due."""
    counts = view.tree.counts
    total = 0
    for thread in range(len(counts) // LINE_WORDS):
        # RELAXED: a slightly stale count makes a merge due a little later.
        total += load(counts, thread * LINE_WORDS, RELAXED)
    return total >= view.tree.limit


@inlined
def begin(view, oldest):
    """Begin a merge that keeps positions from `oldest` on, and return the number of pieces."""
    mark("pim_tree_parallel: merge")
    words = view.tree.words
    words[EXPIRED] = sequence_of(oldest)
    words[PIECES] = min(words[SUBINDEXES], MOST_PIECES)
    return words[PIECES]


@inlined
def first_of(tree, piece):
    """Return the first subindex of a piece."""
    return piece * tree.words[SUBINDEXES] // tree.words[PIECES]


@inlined
def count(view, piece):
    """Count the live entries of a piece."""
    tree = view.tree
    words, stable = tree.words, tree.stable
    oldest = words[EXPIRED]
    live = 0
    for subindex in range(first_of(tree, piece), first_of(tree, piece + 1)):
        kept = live_in_stable(stable, words[SLOT], words[DEPTH], subindex, oldest)
        behind = leaf_behind(subindex, words[SUBINDEXES])
        live += kept + live_in_fresh(tree.fresh, subindex, behind, oldest)
        poke(tree.kept, subindex, kept)
    poke(tree.pieces, piece, live)


@inlined
def place(view):
    """Compute where each piece begins in the other slot, by prefix sums."""
    tree = view.tree
    put = (1 - tree.words[SLOT]) * tree.stable.room
    for piece in range(tree.words[PIECES]):
        live = peek(tree.pieces, piece)
        poke(tree.pieces, piece, put)
        put += live
    poke(tree.pieces, tree.words[PIECES], put)


@inlined
def copy(view, piece):
    """Write a piece to the other slot, and count the entries of each subindex."""
    tree = view.tree
    words, stable = tree.words, tree.stable
    slot, depth, oldest = words[SLOT], words[DEPTH], words[EXPIRED]
    put, put_end = peek(tree.pieces, piece), peek(tree.pieces, piece + 1)
    for subindex in range(first_of(tree, piece), first_of(tree, piece + 1)):
        behind = leaf_behind(subindex, words[SUBINDEXES])
        kept = peek(tree.kept, subindex)
        put, entries = merge_subindex(
            stable, slot, depth, tree.fresh, subindex, behind, kept, oldest, put, put_end
        )
        tree.inserted[subindex] += entries


@inlined
def finish(view):
    """Build the levels of separators over the written entries."""
    tree = view.tree
    other = 1 - tree.words[SLOT]
    build(tree.stable, other, peek(tree.pieces, tree.words[PIECES]) - other * tree.stable.room)


@inlined
def swap(view):
    """Make the other slot T_S, and T_I empty subindexes below its nodes."""
    tree = view.tree
    tree.words[MOST_NODES] = nodes_taken(tree)
    tree.words[SLOT] = 1 - tree.words[SLOT]
    empty_subindexes(tree)


MERGES = Merges(is_due, begin, count, place, copy, finish, swap)
