"""Consolidation of a Bw-Tree node: base and chain are rewritten as one base.

Only the records of the chain are sorted, by their positions in the base. Between two of them the
base is copied unchanged.
"""

from __future__ import annotations

from operators.core.atomics import RELAXED, store
from operators.core.jit import inlined
from operators.core.vectors import COPIED, copy_8, peek, poke
from operators.index.bw_goals import RECORDS
from operators.index.bw_nodes import (
    COUNT,
    DELETE,
    ENTRY,
    HIGH,
    INSERT,
    LEVEL,
    LOW,
    MERGE,
    META,
    NO_NODE,
    RIGHT,
    SPLIT,
    TAKEN,
    base_at,
    begin_of,
    block_of,
    child_at,
    is_below,
    is_entry,
    is_wide,
    kind_of,
    link_at,
    low_word,
    offset_of,
    older,
    put_bound,
    put_entry,
    put_samples,
    record_at,
    record_of,
    right_of,
    room_of,
)


@inlined
def sort_records(view, begin, record):
    """Sort the newest record of each entry on a chain by entry.

    Returns
    -------
    tuple of int
        The number of records, from ``own[RECORDS]`` on, and the number of base entries that belong
        to the node: those before a split.
    """
    tree, own = view.tree, view.own
    count, limit = 0, peek(tree.words, begin + COUNT)
    while record != 0:
        at = record_at(tree, begin, record)
        meta = peek(tree.words, at + META)
        kind = kind_of(meta)
        if kind == SPLIT:
            limit = offset_of(meta)
        elif kind == INSERT or kind == DELETE:
            hi, lo = peek(tree.words, at + ENTRY), low_word(tree, at + ENTRY)
            place = count
            while place > 0 and is_record_above(tree, peek(own, RECORDS + place - 1), hi, lo):
                place -= 1
            if place == 0 or not is_record_of(tree, peek(own, RECORDS + place - 1), hi, lo):
                for moved in range(count, place, -1):
                    poke(own, RECORDS + moved, peek(own, RECORDS + moved - 1))
                poke(own, RECORDS + place, at)
                count += 1
        record = older(meta)
    return count, limit


@inlined
def is_record_above(tree, at, hi, lo):
    """Return whether the entry of a record is above the given entry."""
    return is_below(tree, hi, lo, peek(tree.words, at + ENTRY), low_word(tree, at + ENTRY))


@inlined
def is_record_of(tree, at, hi, lo):
    """Return whether a record is about the given entry."""
    return peek(tree.words, at + ENTRY) == hi and low_word(tree, at + ENTRY) == lo


@inlined
def copy_segment(tree, level, source, taken, target, put, count):
    """Copy `count` entries of a base, from `taken` on, to a private block."""
    to, origin = base_at(tree, target, put), base_at(tree, source, taken)
    copy_words(tree.words, origin, to, count)
    if is_wide(tree):
        room = room_of(tree, level)
        copy_words(tree.words, origin + room, to + room, count)
    if level > 0:
        to, origin = child_at(tree, target, put), child_at(tree, source, taken)
        copy_words(tree.words, origin, to, count)


@inlined
def copy_words(words, origin, to, count):
    """Copy `count` words, several at once: the rows have room for the overrun (`bw_tree`)."""
    for place in range(0, count, COPIED):
        copy_8(words, origin + place, count - place, words, to + place)


@inlined
def copy_piece(view, level, begin, record, target, put):
    """Copy the entries of a base and chain behind the first `put` entries of a block.

    Returns the new number of entries.
    """
    tree, own = view.tree, view.own
    count, limit = sort_records(view, begin, record)
    taken = 0
    for number in range(count + 1):
        at, offset = 0, limit
        if number < count:
            at = peek(own, RECORDS + number)
            offset = offset_of(peek(tree.words, at + META))
        copy_segment(tree, level, begin, taken, target, put, offset - taken)
        put += offset - taken
        taken = offset
        if number < count:
            hi, lo = peek(tree.words, at + ENTRY), low_word(tree, at + ENTRY)
            # A record may be about an entry of the chain that the base does not have.
            if offset < limit and is_entry(tree, begin, level, offset, hi, lo):
                taken += 1
            if kind_of(peek(tree.words, at + META)) == INSERT:
                put_entry(tree, target, level, put, hi, lo)
                if level > 0:
                    child = peek(tree.words, link_at(tree, at))
                    poke(tree.words, child_at(tree, target, put), child)
                put += 1
    return put


@inlined
def gather(view, head, block):
    """Write all entries of a node to a private block as a bare base, and return their number.

    A node whose right neighbour is being merged into it has two pieces: the entries of the node,
    then those of the neighbour.
    """
    tree, words = view.tree, view.tree.words
    begin, record = begin_of(tree, block_of(head)), record_of(head)
    target = begin_of(tree, block)
    level = peek(words, begin + LEVEL)
    put_bound(tree, target + LOW, peek(words, begin + LOW), low_word(tree, begin + LOW))
    rest = NO_NODE
    if record != 0:
        at = record_at(tree, begin, record)
        meta = peek(words, at + META)
        if kind_of(meta) == MERGE:
            rest = peek(words, link_at(tree, at))
            record = older(meta)
    put = 0
    while True:
        put = copy_piece(view, level, begin, record, target, put)
        if rest == NO_NODE:
            break
        begin, record = begin_of(tree, block_of(rest)), record_of(rest)
        rest = NO_NODE
    right, bound = right_of(tree, begin, record)
    poke(words, target + COUNT, put)
    put_samples(tree, target, put)
    poke(words, target + LEVEL, level)
    poke(words, target + RIGHT, right)
    put_bound(tree, target + HIGH, peek(words, bound), low_word(tree, bound))
    # RELAXED: the swap that publishes the block orders it.
    store(words, target + TAKEN, 0, RELAXED)
    return put
