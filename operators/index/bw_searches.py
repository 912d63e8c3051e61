"""Searches of a Bw-Tree: they write no shared memory, wait for nobody and help nobody."""

from __future__ import annotations

from operators.core.atomics import ACQUIRE, load
from operators.core.jit import inlined
from operators.core.marks import mark
from operators.core.prefetch import prefetch
from operators.core.vectors import AMONG_16, peek, poke, rank_among_16
from operators.index.bw_chain import (
    CHILD,
    descend,
    fetch_words,
    is_beyond,
    note_records,
    walk_inner,
)
from operators.index.bw_goals import (
    RECORDS,
)
from operators.index.bw_nodes import (
    DELETE,
    ENTRY,
    INSERT,
    LEVEL,
    MERGE,
    META,
    NO_NODE,
    REMOVE,
    base_at,
    base_lo,
    begin_of,
    block_of,
    entry_hi,
    entry_lo,
    is_below,
    is_entry,
    is_stale,
    is_wide,
    kind_of,
    link_at,
    look,
    low_word,
    number_of,
    offset_of,
    older,
    rank_between,
    record_at,
    record_of,
)
from operators.index.family import MASK_32, is_asked_for, position_of
from operators.index.window import NEWEST, OLDEST, put_live


@inlined
def find(view, keys, begin, count, places):
    """Find the leaves to which `count` keys belong, in lock-step, one level at a time."""
    tree = view.tree
    # ACQUIRE: as in `bw_chain.descend`.
    root = load(tree.root, 0, ACQUIRE)
    levels = peek(tree.words, begin_of(tree, block_of(look(tree, root))) + LEVEL)
    for number in range(count):
        poke(places, number, root)
    for _ in range(levels):
        for number in range(count):
            node = peek(places, number)
            head = look(tree, node)
            stale = is_stale(node, head)
            if stale or peek(tree.words, begin_of(tree, block_of(head)) + LEVEL) > 0:
                hi, lo = entry_hi(tree, keys[begin + number], 0), 0
                verdict = 0
                if not stale:
                    verdict, node = walk_inner(tree, head, hi, lo, False)
                if verdict != CHILD:
                    node, _ = descend(tree, hi, lo)
                poke(places, number, node)
                prefetch(tree.table, number_of(node))
        for number in range(count):
            fetch_block(tree, peek(places, number))


@inlined
def fetch_block(tree, node):
    """Prefetch the first words that a search reads in a node."""
    fetch_words(tree, begin_of(tree, block_of(look(tree, node))))


@inlined
def scan(view, low, high, places, at, window, out, count):
    """Write the positions of keys from `low` to `high` behind ``out[:count]``: the new count."""
    tree = view.tree
    from_hi, from_lo = entry_hi(tree, low, 0), 0
    to_hi, to_lo = entry_hi(tree, high, MASK_32), entry_lo(tree, MASK_32)
    node = peek(places, at)
    from_left = False
    while True:
        # Linearization point of the search of a leaf: everything behind the head is immutable.
        head = look(tree, node)
        if is_stale(node, head):
            mark("bw_tree: a scan meets a node number that was freed")
            node, _ = descend(tree, from_hi, from_lo)
            from_left = False
            continue
        block, record = block_of(head), record_of(head)
        rest = NO_NODE
        if record != 0:
            link = record_at(tree, begin_of(tree, block), record)
            meta = peek(tree.words, link + META)
            if kind_of(meta) == REMOVE:
                if not from_left:
                    mark("bw_tree: a scan goes to the left of a removed node")
                    node = peek(tree.words, link_at(tree, link))
                    continue
                mark("bw_tree: a scan reads a removed node")
                record = older(meta)
            elif kind_of(meta) == MERGE:
                mark("bw_tree: a scan reads a node in two pieces")
                rest = peek(tree.words, link_at(tree, link))
                record = older(meta)
        while True:
            count, right, bound = scan_piece(
                view, block, record, from_hi, from_lo, to_hi, to_lo, window, out, count
            )
            if rest == NO_NODE:
                break
            block, record = block_of(rest), record_of(rest)
            rest = NO_NODE
        if not is_beyond(tree, right, bound, to_hi, to_lo):
            return count
        bound_hi, bound_lo = peek(tree.words, bound), low_word(tree, bound)
        if is_below(tree, from_hi, from_lo, bound_hi, bound_lo):
            from_hi, from_lo = bound_hi, bound_lo
        node = right
        from_left = True


@inlined
def scan_piece(view, block, record, from_hi, from_lo, to_hi, to_lo, window, out, count):
    """Write the positions in a base and chain between two entries.

    Returns the new count, the right neighbour of the piece, and where its low bound is stored.
    """
    tree, own = view.tree, view.own
    begin = begin_of(tree, block)
    noted, first, last, end, right, bound = note_records(
        tree, block, record, from_hi, from_lo, to_hi, to_lo, own
    )
    first = rank_between(tree, begin, 0, first, min(last, end), from_hi, from_lo)
    last = first
    if not is_wide(tree):
        # Branch-free for most of them: the number of entries in a range is hard to predict.
        among = min(end - first, AMONG_16)
        last += rank_among_16(tree.words, base_at(tree, begin, first), among, to_hi)
    while last < end and not is_below(
        tree,
        to_hi,
        to_lo,
        peek(tree.words, base_at(tree, begin, last)),
        base_lo(tree, begin, 0, last),
    ):
        last += 1
    row = begin + tree.entries_at + (tree.leaf_room if is_wide(tree) else 0)
    left_out = RECORDS + tree.slots
    gaps = 0
    for number in range(noted):
        at = peek(own, RECORDS + number)
        hi, lo = peek(tree.words, at + ENTRY), low_word(tree, at + ENTRY)
        seen = False
        for other in range(number):
            newer = peek(own, RECORDS + other)
            seen = seen or (
                peek(tree.words, newer + ENTRY) == hi and low_word(tree, newer + ENTRY) == lo
            )
        if not seen:
            meta = peek(tree.words, at + META)
            offset = offset_of(meta)
            in_base = offset < last and is_entry(tree, begin, 0, offset, hi, lo)
            if kind_of(meta) == DELETE and in_base:
                # Sorted by offset: the base entries to leave out.
                gap = gaps
                while gap > 0 and peek(own, left_out + gap - 1) > offset:
                    poke(own, left_out + gap, peek(own, left_out + gap - 1))
                    gap -= 1
                poke(own, left_out + gap, offset)
                gaps += 1
            elif kind_of(meta) == INSERT and not in_base:
                sequence = lo if is_wide(tree) else hi
                if is_asked_for(sequence, peek(window, OLDEST), peek(window, NEWEST)):
                    poke(out, count, position_of(sequence, peek(window, NEWEST)))
                    count += 1
    for gap in range(gaps):
        offset = peek(own, left_out + gap)
        if offset > first:
            count = put_live(tree.words, row + first, row + offset, window, out, count)
        first = offset + 1
    if last > first:
        count = put_live(tree.words, row + first, row + last, window, out, count)
    return count, right, bound
