r"""The merge of the two components of a PIM-Tree into the next T_S, one subindex at a time.

Source: sections 3.1 and 3.3.1 of "Parallel Index-based Stream Join on a Multicore CPU". A subindex
B_i has keys in the range of the node of T_S to which it is attached, up to the node's separator; so
the entries below the node and those of B_i, both ascending, form one run of the next tree::

    T_S   [ .. below node i .. ][ .. below node i + 1 .. ]      ascending
    T_I   [ .... B_i .... ]     [ .. B_i+1 .. ]                 ascending
                \                     \
    next  [ ... live entries ... ][ ... live entries ... ]      ascending

Keys equal to a separator may lie on both sides of it in T_S. Those of B_i come between them: the
concatenated runs ascend nevertheless, and equal keys have no order in T_S.

Expired entries are left out of both components: if a merge comes late, T_I has some, too.

If the run of another thread begins where a run ends, nothing is written behind that end, not even
temporarily: `put_end`.
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
    """Return the leaf behind a subindex: the head of the next subindex, or NO_NODE if last."""
    return subindex + 1 if subindex + 1 < subindexes else NO_NODE


@inlined
def merge_subindex(stable, slot, depth, fresh, subindex, behind, kept, oldest, put, put_end):
    """Write the live entries of a subindex and of the node in T_S from `put` on.

    `kept` is the number of live entries below the node, if known: if 0, none is read. `slot` is
    T_S, `depth` is the depth of the subindexes; `behind` is the leaf behind the subindex
    (`leaf_behind`), `oldest` the sequence of the oldest live tuple. Nothing is written at `put_end`
    or behind.

    Returns
    -------
    (int, int)
        Where the next entry goes; the number of entries in the subindex.
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
            # An entry in T_S is older than an equal key in T_I.
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

    Sixteen at a time while there is room: with a run of eight entries between two of T_I, for
    example, it is hard to predict which is the last, and which have expired.
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
    """Return the number of live entries below a node of T_S."""
    begin = slot * stable.room + first_below(stable, slot, depth, subindex)
    end = slot * stable.room + first_below(stable, slot, depth, subindex + 1)
    live = 0
    for place in range(begin, end):
        live += is_live(peek(stable.sequences, place), oldest)
    return live


@inlined
def live_in_fresh(fresh, subindex, behind, oldest):
    """Return the number of live entries in a subindex."""
    live = 0
    leaf = subindex
    while leaf != behind:
        links = links_of(fresh, leaf)
        for place in range(links, links + peek(fresh.counts, leaf)):
            live += is_live(peek(fresh.entries, place), oldest)
        leaf = peek(fresh.nodes.words, leaf)
    return live
