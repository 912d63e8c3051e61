r"""Merging the two components of a PIM-Tree, a subindex at a time, into the tree that comes next.

Source: sections 3.1 and 3.3.1 of "Parallel Index-based Stream Join on a Multicore CPU". A subindex
B_i has keys of the node of T_S that it is attached to, up to that node's separator; so what is
below the node and what is in B_i, both ascending, make one run of the next tree::

    T_S   [ .. below node i .. ][ .. below node i + 1 .. ]      ascending
    T_I   [ .... B_i .... ]     [ .. B_i+1 .. ]                 ascending
                \                     \
    next  [ ... live entries ... ][ ... live entries ... ]      ascending

Keys equal to a separator may lie on both sides of it in T_S. Those of B_i come between them: runs
put one behind the other ascend all the same, and equal keys have no order in T_S.

What has expired is left out of both components: where a merge comes late, T_I has some, too.

Where a run ends before that of another thread begins, nothing is written behind its end, not even
for a moment: `put_end`.
"""

from __future__ import annotations

from operators.core.arena import NO_NODE
from operators.core.jit import inlined
from operators.core.vectors import LIVE, copy_live_16, peek, poke
from operators.index.family import is_live
from operators.index.forest import keys_of, links_of
from operators.index.immutable_tree import first_below


@inlined
def leaf_behind(subindex, subindexes):
    """Return the leaf behind the last one of a subindex: the head of the next; NO_NODE: none is."""
    return subindex + 1 if subindex + 1 < subindexes else NO_NODE


@inlined
def merge_subindex(stable, slot, depth, fresh, subindex, behind, kept, oldest, put, put_end):
    """Write what is live of a subindex and of its node in T_S to `put` and behind.

    `kept` is how many of T_S's are live, if that is known: of none nothing is looked at.
    `slot` is T_S, `depth` that of the subindexes; `behind` is the leaf behind the subindex's last
    one (`leaf_behind`), `oldest` the sequence of the oldest live tuple. Nothing is written at
    `put_end` or behind.

    Returns
    -------
    (int, int)
        Where the next entry goes; how many entries the subindex had.
    """
    taken = slot * stable.room + first_below(stable, slot, depth, subindex)
    end = slot * stable.room + first_below(stable, slot, depth, subindex + 1)
    if kept == 0:
        taken = end
    found = 0
    leaf = subindex
    while leaf != behind:
        entries = peek(fresh.counts, leaf)
        found += entries
        keys = keys_of(fresh, leaf)
        links = links_of(fresh, leaf)
        for place in range(entries):
            key = peek(fresh.entries, keys + place)
            sequence = peek(fresh.entries, links + place)
            # What T_S has came earlier than its equals in T_I.
            taken, put = copy_live(stable, taken, end, key, oldest, put, put_end)
            if is_live(sequence, oldest):
                poke(stable.keys, put, key)
                poke(stable.sequences, put, sequence)
                put += 1
        leaf = peek(fresh.nodes.words, leaf)
    taken, put = copy_live(stable, taken, end, stable.kind.last_key, oldest, put, put_end)
    return put, found


@inlined
def copy_live(stable, taken, end, key, oldest, put, put_end):
    """Copy the live entries of T_S up to `key`; return where the next is taken and where it goes.

    Sixteen at a time, while there is room: of eight entries between two of T_I, say, it is hard to
    guess which is the last, and which have expired.
    """
    gone = LIVE
    while gone == LIVE and put + LIVE <= put_end:
        both = copy_live_16(stable.keys, stable.sequences, taken, end, key, oldest, put)
        gone = both >> 5
        taken += gone
        put += both & 31
    while gone == LIVE and taken < end and peek(stable.keys, taken) <= key:
        sequence = peek(stable.sequences, taken)
        if is_live(sequence, oldest):
            poke(stable.keys, put, peek(stable.keys, taken))
            poke(stable.sequences, put, sequence)
            put += 1
        taken += 1
    return taken, put


@inlined
def live_in_stable(stable, slot, depth, subindex, oldest):
    """Return how many entries below a node of T_S are live."""
    begin = slot * stable.room + first_below(stable, slot, depth, subindex)
    end = slot * stable.room + first_below(stable, slot, depth, subindex + 1)
    live = 0
    for place in range(begin, end):
        live += is_live(peek(stable.sequences, place), oldest)
    return live


@inlined
def live_in_fresh(fresh, subindex, behind, oldest):
    """Return how many entries of a subindex are live."""
    live = 0
    leaf = subindex
    while leaf != behind:
        links = links_of(fresh, leaf)
        for place in range(links, links + peek(fresh.counts, leaf)):
            live += is_live(peek(fresh.entries, place), oldest)
        leaf = peek(fresh.nodes.words, leaf)
    return live
