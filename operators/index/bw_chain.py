"""Read-only walks along the chains of a Bw-Tree: each returns a verdict and one word.

A walk goes from the newest record to the base. The records on the way narrow the search of the
base: if a record is below the wanted entry, so are all base entries before the record's offset; if
it is above, so are all base entries from that offset on.
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

# Verdicts of a walk, and the word returned with each.
PRESENT = 1  # the entry exists: the position in the base
ABSENT = 2  # it does not: the position in the base where it belongs
CHILD = 3  # it is below this node: the reference of the child
SIDEWAYS = 4  # it is in a node to the right: the reference of the right neighbour
REMOVED = 5  # the node is merged into the left neighbour: a reference to the left of it
CHANGE = 6  # the node takes no record until it has been consolidated or split


@inlined
def walk_leaf(tree, head, hi, lo, grows):
    """Look for an entry in a leaf that is to be changed: PRESENT, ABSENT, or another verdict.

    A leaf that is to be split takes no record that `grows` it.
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
            # If a split below the entry: all base entries from there on are the neighbour's.
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
    """Return whether an entry is at or above the upper bound of a node, or of a piece of one."""
    if right == NO_NODE:
        return False
    return not is_below(tree, hi, lo, peek(tree.words, bound), low_word(tree, bound))


@inlined
def walk_inner(tree, head, hi, lo, through):
    """Look for the child to which an entry belongs: CHILD, SIDEWAYS or REMOVED.

    `through` allows reading a node that is REMOVED: see ``descend``. Each record of an index term
    has the range of entries of the child, and the newest such record is valid.
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
    # The last term that is not above the entry.
    place = rank_between(tree, begin, 1, first, last, hi, lo)
    if place == last or not is_entry(tree, begin, 1, place, hi, lo):
        place -= 1
    return CHILD, peek(tree.words, child_at(tree, begin, place))


@inlined
def fetch_words(tree, begin):
    """Prefetch the first words that a search reads in a block: header, samples and records."""
    prefetch(tree.words, begin)
    prefetch(tree.words, begin + SAMPLES)
    for line in range(tree.chunk_lines):
        prefetch(tree.words, begin + CHUNK + line * LINE_WORDS)


@inlined
def descend(tree, hi, lo):
    """Return the leaf to which an entry belongs, and whether the descent was straight.

    A REMOVED node is read nevertheless if the search came from the left neighbour: the entries had
    not been merged when that neighbour was read, and have not changed since. If an index term led
    to the node, the entries may by now belong to the left neighbour.

    A descent is straight if it met neither freed numbers nor removed nodes, and took no step to the
    right.
    """
    straight = True
    while True:
        above = 0
        # ACQUIRE orders the root's head after it; pairs with the swap of the root.
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
                # A leaf, whose cache lines are far away: prefetch all of the first reads at once.
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
    """Note the records of a leaf's chain that lie between two entries, and the range to search.

    Returns
    -------
    tuple of int
        The number of records, noted newest first from ``own[RECORDS]`` on; the two offsets between
        which the first entry of the range is to be found, and the end of the base; then the right
        neighbour, and where the entry at which it begins is stored.
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
