"""Walks along the chains of a Bw-Tree, which only read: each returns a verdict and one word.

A walk goes from the newest record to the base. What it has seen narrows where the base is searched:
the entries before the offset of a record below the one that is looked for are below it, those from
the offset of one above it on are above it.
"""

from __future__ import annotations

from operators.core.atomics import ACQUIRE, load
from operators.core.jit import inlined
from operators.core.layout import LINE_WORDS
from operators.core.marks import mark
from operators.core.prefetch import prefetch
from operators.core.vectors import peek, poke
from operators.index.bw_goals import RECORDS
from operators.index.bw_nodes import (
    CHUNK,
    COUNT,
    DELETE,
    ENTRY,
    HIGH,
    INSERT,
    LEVEL,
    MERGE,
    META,
    NO_NODE,
    REMOVE,
    RIGHT,
    SAMPLES,
    SPLIT,
    begin_of,
    block_of,
    chain_limit,
    child_at,
    end_at,
    is_below,
    is_endless,
    is_entry,
    is_stale,
    kind_of,
    length_of,
    link_at,
    look,
    low_word,
    offset_of,
    older,
    rank_between,
    record_at,
    record_of,
    size_limit,
)

# What a walk finds, and the word it returns with it.
PRESENT = 1  # the entry is there: its place in the base
ABSENT = 2  # it is not: where it belongs in the base
CHILD = 3  # it is below this node: the child's reference
SIDEWAYS = 4  # it is in a node to the right: the right neighbour's reference
REMOVED = 5  # the node is merged into its left neighbour: a reference to the left of it
CHANGE = 6  # the node takes no record until it has been consolidated or split


@inlined
def walk_leaf(tree, head, hi, lo, grows):
    """Look for an entry in a leaf that is to be changed: PRESENT, ABSENT, or one of the others.

    A leaf that is to be split takes no record with which it `grows`.
    """
    begin, record = begin_of(tree, block_of(head)), record_of(head)
    first, last = 0, peek(tree.words, begin + COUNT)
    right, bound = peek(tree.words, begin + RIGHT), begin + HIGH
    if record != 0:
        at = record_at(tree, begin, record)
        meta = peek(tree.words, at + META)
        if kind_of(meta) == REMOVE:
            return REMOVED, peek(tree.words, link_at(tree, at))
        if kind_of(meta) == MERGE or length_of(meta) >= chain_limit(tree, 0):
            return CHANGE, 0
    while record != 0:
        at = record_at(tree, begin, record)
        meta = peek(tree.words, at + META)
        own_hi, own_lo = peek(tree.words, at + ENTRY), low_word(tree, at + ENTRY)
        offset = offset_of(meta)
        if is_below(tree, own_hi, own_lo, hi, lo):
            # A split below the entry: all of the base from there on is the neighbour's.
            first = max(first, offset)
        elif kind_of(meta) != SPLIT and own_hi == hi and own_lo == lo:
            return (PRESENT if kind_of(meta) == INSERT else ABSENT), offset
        else:
            last = min(last, offset)
        if kind_of(meta) == SPLIT:
            right, bound = peek(tree.words, link_at(tree, at)), at + ENTRY
        record = older(meta)
    if is_beyond(tree, right, bound, hi, lo):
        return SIDEWAYS, right
    if grows and bound == begin + HIGH and peek(tree.words, begin + COUNT) >= size_limit(tree, 0):
        return CHANGE, 0
    place = rank_between(tree, begin, 0, first, last, hi, lo)
    if place < last and is_entry(tree, begin, 0, place, hi, lo):
        return PRESENT, place
    return ABSENT, place


@inlined
def is_beyond(tree, right, bound, hi, lo):
    """Whether an entry is not below the bound of a node, or of a piece of one."""
    if right == NO_NODE:
        return False
    return not is_below(tree, hi, lo, peek(tree.words, bound), low_word(tree, bound))


@inlined
def walk_inner(tree, head, hi, lo, through):
    """Look for the child that has an entry: CHILD, SIDEWAYS or REMOVED.

    `through` says that a node that is REMOVED is read all the same: see ``descend``. Each record
    of an index term says for which entries it has the child, and the newest one is right.
    """
    begin, record = begin_of(tree, block_of(head)), record_of(head)
    if record != 0:
        at = record_at(tree, begin, record)
        meta = peek(tree.words, at + META)
        if kind_of(meta) == REMOVE:
            if not through:
                return REMOVED, peek(tree.words, link_at(tree, at))
            record = older(meta)
        elif kind_of(meta) == MERGE:
            record = older(meta)
            place = at + ENTRY
            if not is_below(tree, hi, lo, peek(tree.words, place), low_word(tree, place)):
                other = peek(tree.words, link_at(tree, at))
                begin, record = begin_of(tree, block_of(other)), record_of(other)
    first, last = 0, peek(tree.words, begin + COUNT)
    right, bound = peek(tree.words, begin + RIGHT), begin + HIGH
    while record != 0:
        at = record_at(tree, begin, record)
        meta = peek(tree.words, at + META)
        kind = kind_of(meta)
        place = at + ENTRY
        if kind == INSERT or kind == DELETE:
            if is_below(tree, hi, lo, peek(tree.words, place), low_word(tree, place)):
                last = min(last, offset_of(meta))
            else:
                first = max(first, offset_of(meta))
                end = end_at(tree, at)
                if is_endless(meta) or is_below(
                    tree, hi, lo, peek(tree.words, end), low_word(tree, end)
                ):
                    return CHILD, peek(tree.words, link_at(tree, at))
        elif kind == SPLIT:
            right, bound = peek(tree.words, link_at(tree, at)), place
            last = min(last, offset_of(meta))
        record = older(meta)
    if is_beyond(tree, right, bound, hi, lo):
        return SIDEWAYS, right
    # The last that is not above the entry has it.
    place = rank_between(tree, begin, 1, first, last, hi, lo)
    if place == last or not is_entry(tree, begin, 1, place, hi, lo):
        place -= 1
    return CHILD, peek(tree.words, child_at(tree, begin, place))


@inlined
def fetch_words(tree, begin):
    """Ask for what a search looks at first in a block: header, samples and records."""
    prefetch(tree.words, begin)
    prefetch(tree.words, begin + SAMPLES)
    for line in range(tree.chunk_lines):
        prefetch(tree.words, begin + CHUNK + line * LINE_WORDS)


@inlined
def descend(tree, hi, lo):
    """Return the leaf that has an entry, as inner nodes tell it, and whether they told it straight.

    A node that is REMOVED is read all the same where the left neighbour led to it since the search
    began: then its entries had not been merged at that time, and not been changed since. Where an
    index term led to it they may be the left neighbour's by now.
    """
    straight = True
    while True:
        above = 0
        # ACQUIRE: the root's head is behind it; pairs with the swap of the root.
        node = load(tree.root, 0, ACQUIRE)
        from_left = False
        while True:
            head = look(tree, node)
            if is_stale(node, head):
                mark("bw_tree: a search meets a node number that was freed")
                straight = False
                break
            begin = begin_of(tree, block_of(head))
            if above == 1:
                # A leaf, with lines that are far away. All that is looked at first, at once.
                fetch_words(tree, begin)
            above = peek(tree.words, begin + LEVEL)
            if above == 0:
                return node, straight
            verdict, node = walk_inner(tree, head, hi, lo, from_left)
            from_left = verdict == SIDEWAYS
            if verdict != CHILD:
                straight = False


@inlined
def note_records(tree, head_block, record, from_hi, from_lo, to_hi, to_lo, own):
    """Note the records of a leaf's chain that lie between two entries, and where to search.

    Returns
    -------
    tuple of int
        How many were noted from ``own[RECORDS]`` on, newest first: where they begin; between
        which offsets the first entry of the range is to be looked for, and the end of the base;
        then the right neighbour, and where the entry stands at which it begins.
    """
    begin = begin_of(tree, head_block)
    count = 0
    first, last, end = 0, peek(tree.words, begin + COUNT), peek(tree.words, begin + COUNT)
    right, bound = peek(tree.words, begin + RIGHT), begin + HIGH
    while record != 0:
        at = record_at(tree, begin, record)
        meta = peek(tree.words, at + META)
        own_hi, own_lo = peek(tree.words, at + ENTRY), low_word(tree, at + ENTRY)
        offset = offset_of(meta)
        if is_below(tree, own_hi, own_lo, from_hi, from_lo):
            first = max(first, offset)
        else:
            last = min(last, offset)
        if kind_of(meta) == SPLIT or is_below(tree, to_hi, to_lo, own_hi, own_lo):
            end = min(end, offset)
        elif not is_below(tree, own_hi, own_lo, from_hi, from_lo):
            poke(own, RECORDS + count, at)
            count += 1
        if kind_of(meta) == SPLIT:
            right, bound = peek(tree.words, link_at(tree, at)), at + ENTRY
        record = older(meta)
    return count, first, last, end, right, bound
