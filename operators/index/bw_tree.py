"""The Bw-Tree: TODO header."""

from __future__ import annotations

import numpy as np

from operators.contract import ACCEPTED, FULL, Look, Parameter, Variant
from operators.core.atomics import ACQUIRE, load
from operators.core.backoff import wait_a_little
from operators.core.epochs import make_epochs, pin, unpin
from operators.core.jit import inlined
from operators.core.layout import LINE_WORDS, aligned_words, huge_words, whole_lines
from operators.core.marks import mark
from operators.core.prefetch import prefetch
from operators.core.vectors import LIVE, peek, poke
from operators.index.bw_chain import (
    ABSENT,
    CHANGE,
    CHILD,
    PRESENT,
    descend,
    is_beyond,
    note_records,
    walk_inner,
    walk_leaf,
)
from operators.index.bw_changes import (
    SPARE_BLOCKS,
    SPARE_NUMBERS,
    TOO_HIGH,
    consolidate,
    divide,
    grow,
    is_ready,
    make_known,
    put_term,
    seek,
)
from operators.index.bw_consolidation import gather
from operators.index.bw_goals import (
    AGAIN,
    AT_LEVEL,
    CHANGED,
    CONSOLIDATE,
    DIVIDE,
    GOALS,
    HEAD,
    HELP_TERM,
    HI,
    KIND,
    LO,
    MERGING,
    OWED,
    OWED_LEVEL,
    RECORDS,
    SHRINK,
    START,
    WAIT,
    View,
    own_words,
    pop_goal,
    push_goal,
    uppermost,
)
from operators.index.bw_inspect import check_invariants, entries, used_blocks
from operators.index.bw_merges import merge, shrink
from operators.index.bw_nodes import (
    ABORT,
    CHUNK,
    DELETE,
    ENTRY,
    INSERT,
    LEVEL,
    LOW,
    LOWEST,
    MERGE,
    META,
    NO_BLOCK,
    NO_NODE,
    REMOVE,
    BwTree,
    base_at,
    base_lo,
    begin_of,
    block_of,
    claim,
    describe,
    entries_of,
    entry_hi,
    entry_lo,
    fence,
    head_of,
    is_below,
    is_entry,
    is_stale,
    is_wide,
    kind_of,
    length_of,
    link_at,
    look,
    low_word,
    newest,
    offset_of,
    older,
    put_bound,
    put_record,
    rank_between,
    record_at,
    record_of,
    small_limit,
    swap,
)
from operators.index.bw_pool import FREE, KEPT, make_pool, reclaim, take
from operators.index.family import MASK_32, check_window, is_asked_for, position_of
from operators.index.shared import SharedIndexOperations, operations_for_one
from operators.index.window import NEWEST, OLDEST, put_live

# How often a thread that finds no free block waits for others to leave, before it says FULL.
ROUNDS = 40


# --- updates --------------------------------------------------------------------------------------


@inlined
def update(view, kind, hi, lo):
    """Insert or delete an entry: ACCEPTED, or FULL. ``own[CHANGED]`` says whether it did."""
    poke(view.own, OWED, NO_NODE)
    push_goal(view.own, kind, 0, hi, lo, NO_NODE)
    return work(view)


@inlined
def work(view):
    """Do a thread's goals, the uppermost first: ACCEPTED, or FULL where there is no room."""
    tree, own = view.tree, view.own
    rounds = 0
    while peek(own, GOALS) > 0:
        goal = uppermost(own)
        kind = peek(own, goal + KIND)
        if kind > DELETE and tree.blocks.own[view.thread * LINE_WORDS + FREE] <= SPARE_BLOCKS:
            reclaim(tree.blocks, tree.epochs, view.thread, tree.words, tree.block_words)
        if kind == CONSOLIDATE:
            step = consolidate(view, goal)
        elif kind == DIVIDE:
            step = divide(view, goal)
        elif kind >= MERGING:
            step = merge(view, goal)
        else:
            step = go_to_node(view, goal, kind)
        if step == AGAIN:
            rounds = 0
        elif step == WAIT:
            rounds = wait_a_little(rounds)
        elif rounds < ROUNDS or serves_any_merge(own):
            mark("bw_tree: an update waits for a free block")
            # Whoever waits keeps nothing: goals name nodes by references.
            unpin(tree.epochs, view.thread)
            rounds = wait_a_little(rounds)
            pin(tree.epochs, view.thread)
        else:
            poke(own, GOALS, 0)
            return FULL
    return ACCEPTED


@inlined
def serves_any_merge(own):
    """Whether one of a thread's goals is that of a merge, which does not end half-way."""
    found = False
    for below in range(peek(own, GOALS)):
        found = found or peek(own, uppermost(own) - 8 * below + KIND) >= MERGING
    return found


@inlined
def go_to_node(view, goal, kind):
    """Take a step towards a goal at the node that has an entry."""
    tree, own = view.tree, view.own
    hi, lo, level = peek(own, goal + HI), peek(own, goal + LO), peek(own, goal + AT_LEVEL)
    straight = False
    node = NO_NODE
    if kind <= DELETE and peek(own, goal + START) == 0:
        node, straight = descend(tree, hi, lo)
    if not straight:
        node = seek(view, hi, lo, level)
    if node == NO_NODE:
        return AGAIN
    if node == TOO_HIGH:
        if kind != SHRINK:
            return grow(view, goal)
        pop_goal(own)
        return AGAIN
    if kind <= DELETE:
        return change_leaf(view, goal, kind, node)
    return change_parent(view, goal, kind, node)


@inlined
def change_leaf(view, goal, kind, node):
    """Put a record of an entry over a leaf, where it changes something."""
    tree, own = view.tree, view.own
    hi, lo = peek(own, goal + HI), peek(own, goal + LO)
    head = look(tree, node)
    if is_stale(node, head):
        mark("bw_tree: an update meets a leaf number that was freed")
        return AGAIN
    verdict, place = walk_leaf(tree, head, hi, lo)
    if verdict == CHANGE:
        bare = record_of(head) == 0
        push_goal(own, DIVIDE if bare else CONSOLIDATE, 0, 0, 0, node)
        return AGAIN
    if verdict != PRESENT and verdict != ABSENT:
        poke(own, goal + START, 1)
        return AGAIN
    if (kind == INSERT) == (verdict == PRESENT):
        mark("bw_tree: an update changes nothing")
        poke(own, CHANGED, 0)
        end_goal(view, kind)
        return AGAIN
    begin = begin_of(tree, block_of(head))
    record = claim(tree, begin, 1)
    if record == 0:
        push_goal(own, CONSOLIDATE, 0, 0, 0, node)
        return AGAIN
    meta = newest(tree, head)
    entries = entries_of(meta) + (1 if kind == INSERT else -1)
    put_record(
        tree, begin, record, describe(kind, head, length_of(meta) + 1, entries, place), hi, lo
    )
    # Linearizes an update.
    if not swap(tree, node, head, head_of(node, block_of(head), record)):
        mark("bw_tree: an update is lost")
        return AGAIN
    poke(own, CHANGED, 1)
    end_goal(view, kind)
    if kind == DELETE and (entries == 0 or entries == small_limit(tree, 0)):
        push_goal(own, SHRINK, 1, hi, lo, NO_NODE)
    return AGAIN


@inlined
def change_parent(view, goal, kind, parent):
    """Take a step at a parent, whose head ``seek`` has noted: an index term more, or one less."""
    tree, own = view.tree, view.own
    hi, lo, level = peek(own, goal + HI), peek(own, goal + LO), peek(own, goal + AT_LEVEL)
    head = peek(own, HEAD)
    if kind_of(newest(tree, head)) == ABORT:
        if kind == HELP_TERM:
            mark("bw_tree: no help where the parent is held")
            pop_goal(own)
            return AGAIN
        mark("bw_tree: a parent is held")
        return WAIT
    if not is_ready(view, parent, head, level):
        return AGAIN
    scratch = tree.blocks.count + view.thread
    count = gather(view, head, scratch)
    at_scratch = begin_of(tree, scratch)
    place = 0
    while place + 1 < count and not is_below(
        tree,
        hi,
        lo,
        peek(tree.words, base_at(tree, at_scratch, place + 1)),
        base_lo(tree, at_scratch, level, place + 1),
    ):
        place += 1
    if kind == SHRINK:
        return shrink(view, goal, parent, head, at_scratch, place, count)
    step = put_term(view, goal, parent, head, at_scratch, place, count)
    return step


@inlined
def end_goal(view, kind):
    """End an update; what it has met without an index term is the next goal."""
    tree, own = view.tree, view.own
    pop_goal(own)
    owed = peek(own, OWED)
    if owed == NO_NODE:
        return
    poke(own, OWED, NO_NODE)
    head = look(tree, owed)
    if not is_stale(owed, head):
        mark("bw_tree: an update helps a split")
        low = begin_of(tree, block_of(head)) + LOW
        hi, lo = peek(tree.words, low), low_word(tree, low)
        push_goal(own, HELP_TERM, peek(own, OWED_LEVEL) + 1, hi, lo, owed)


# --- the index ------------------------------------------------------------------------------------


@inlined
def enter(view):
    """Keep what this thread may look at from being used again, until it leaves."""
    pin(view.tree.epochs, view.thread)


@inlined
def leave(view):
    """Keep nothing any more."""
    unpin(view.tree.epochs, view.thread)


@inlined
def insert(view, key, position):
    """Index a tuple: ACCEPTED, or FULL."""
    tree = view.tree
    return update(view, INSERT, entry_hi(tree, key, position), entry_lo(tree, position))


@inlined
def remove(view, key, position):
    """Delete a tuple."""
    tree = view.tree
    update(view, DELETE, entry_hi(tree, key, position), entry_lo(tree, position))


@inlined
def find(view, keys, begin, count, places):
    """Note the leaves in which `count` keys belong, a level at a time for all of them."""
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
                verdict = NO_NODE
                if not stale:
                    verdict, node = walk_inner(tree, head, hi, lo, False)
                if verdict != CHILD:
                    node, _ = descend(tree, hi, lo)
                poke(places, number, node)
                prefetch(tree.table, node & ((1 << 28) - 1))
        for number in range(count):
            fetch_block(tree, peek(places, number))


@inlined
def fetch_block(tree, node):
    """Ask for what a search looks at first in a node."""
    begin = begin_of(tree, block_of(look(tree, node)))
    prefetch(tree.words, begin)
    for line in range(tree.chunk_lines):
        prefetch(tree.words, begin + CHUNK + line * LINE_WORDS)
    prefetch(tree.words, begin + tree.entries_at + (tree.leaf_size >> 2))


@inlined
def scan(view, low, high, places, at, window, out, count):
    """Write the positions of keys from `low` to `high` behind ``out[:count]``: the new count."""
    tree = view.tree
    from_hi, from_lo = entry_hi(tree, low, 0), 0
    to_hi, to_lo = entry_hi(tree, high, MASK_32), entry_lo(tree, MASK_32)
    node = peek(places, at)
    from_left = False
    while True:
        # Linearizes the search of a leaf: what its head leads to does not change.
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
            count = scan_piece(
                view, block, record, from_hi, from_lo, to_hi, to_lo, window, out, count
            )
            if rest == NO_NODE:
                break
            block, record = block_of(rest), record_of(rest)
            rest = NO_NODE
        right, bound = fence(tree, begin_of(tree, block), record)
        if not is_beyond(tree, right, bound, to_hi, to_lo):
            return count
        bound_hi, bound_lo = peek(tree.words, bound), low_word(tree, bound)
        if is_below(tree, from_hi, from_lo, bound_hi, bound_lo):
            from_hi, from_lo = bound_hi, bound_lo
        node = right
        from_left = True


@inlined
def scan_piece(view, block, record, from_hi, from_lo, to_hi, to_lo, window, out, count):
    """Write the positions that a base and its chain have between two entries: the new count."""
    tree, own = view.tree, view.own
    begin = begin_of(tree, block)
    noted, first, last, end = note_records(
        tree, block, record, from_hi, from_lo, to_hi, to_lo, own, RECORDS
    )
    first = rank_between(tree, begin, 0, first, min(last, end), from_hi, from_lo)
    last = first
    while last < end and not is_below(
        tree,
        to_hi,
        to_lo,
        peek(tree.words, base_at(tree, begin, last)),
        base_lo(tree, begin, 0, last),
    ):
        last += 1
    row = begin + tree.entries_at + (tree.leaf_room if is_wide(tree) else 0)
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
                # By offset: what is left out of the base.
                gap = gaps
                while gap > 0 and peek(own, RECORDS + tree.slots + gap - 1) > offset:
                    poke(
                        own,
                        RECORDS + tree.slots + gap,
                        peek(own, RECORDS + tree.slots + gap - 1),
                    )
                    gap -= 1
                poke(own, RECORDS + tree.slots + gap, offset)
                gaps += 1
            elif kind_of(meta) == INSERT and not in_base:
                sequence = lo if is_wide(tree) else hi
                if is_asked_for(sequence, peek(window, OLDEST), peek(window, NEWEST)):
                    poke(out, count, position_of(sequence, peek(window, NEWEST)))
                    count += 1
    for gap in range(gaps):
        offset = peek(own, RECORDS + tree.slots + gap)
        if offset > first:
            count = put_live(tree.words, row + first, row + offset, window, out, count)
        first = offset + 1
    if last > first:
        count = put_live(tree.words, row + first, row + last, window, out, count)
    return count


def make_state(
    window: int,
    slack: int,
    key_bits: int,
    threads: int,
    leaf_size: int = 128,
    inner_size: int = 64,
    leaf_chain: int = 24,
    inner_chain: int = 2,
) -> BwTree:
    """Return an empty Bw-Tree."""
    check_window(window, key_bits)
    leaves = (window + slack) // max(leaf_size // 4, 1) + 2
    inner = 2 * leaves // max(inner_size // 4, 2) + 40
    numbers = leaves + inner + 40 * threads
    blocks = numbers + 64 * threads
    sizes = leaf_size, inner_size, leaf_chain, inner_chain
    return make_tree(numbers, blocks, key_bits, threads, *sizes)


def make_tree(
    numbers: int,
    blocks: int,
    key_bits: int,
    threads: int,
    leaf_size: int,
    inner_size: int,
    leaf_chain: int,
    inner_chain: int,
) -> BwTree:
    """Return an empty tree with so many node numbers and blocks.

    Parameters
    ----------
    numbers : int
        Entries of the mapping table.
    blocks : int
        Base nodes, with their chunks.
    """
    wide = (1,) if key_bits == 64 else ()
    rows = 2 if wide else 1
    slots = max(leaf_chain + 6, 2 * inner_chain + 8)
    leaf_room, inner_room = leaf_size + leaf_chain, inner_size + inner_chain
    entries_at = whole_lines(CHUNK + slots * (rows + 1))
    room = max(rows * leaf_room, (rows + 1) * inner_room)
    block_words = whole_lines(entries_at + room)
    tree = BwTree(
        table=aligned_words(numbers),
        words=huge_words((blocks + threads) * block_words + LIVE),
        root=aligned_words(LINE_WORDS),
        epochs=make_epochs(threads),
        blocks=make_pool(blocks, threads),
        numbers=make_pool(numbers, threads),
        wide=wide,
        block_words=block_words,
        slots=slots,
        chunk_lines=-(-leaf_chain * (rows + 1) // LINE_WORDS),
        entries_at=entries_at,
        leaf_room=leaf_room,
        inner_room=inner_room,
        leaf_size=leaf_size,
        inner_size=inner_size,
        leaf_chain=leaf_chain,
        inner_chain=inner_chain,
    )
    tree.table[:] = NO_BLOCK
    popped = np.zeros(1, dtype=np.int64)
    block = take(tree.blocks, 0, 0, popped)
    number = take(tree.numbers, 0, 0, popped)
    put_bound(tree, begin_of(tree, block) + LOW, LOWEST, 0)
    make_known(tree, int(number), int(block), 0, 0, NO_NODE)
    tree.root[0] = number
    for thread in range(threads):
        for pool, spare in ((tree.blocks, SPARE_BLOCKS), (tree.numbers, SPARE_NUMBERS)):
            for place in range(spare):
                pool.kept[thread * KEPT + place] = take(pool, thread, KEPT, popped)
            pool.own[thread * LINE_WORDS + FREE] = spare
    return tree


def views(state: BwTree, threads: int) -> tuple:
    """Return a view a thread."""
    return tuple(
        View(state, aligned_words(own_words(state.slots)), aligned_words(1), thread)
        for thread in range(threads)
    )


def places_of(state: BwTree) -> int:
    """Return the words that ``find`` notes for a key."""
    return 1


def footprint(state: BwTree) -> dict[str, int]:
    """Return the bytes in use."""
    blocks = used_blocks(state) * state.block_words * state.words.itemsize
    return {"insert": blocks + state.table.nbytes}


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
    id="bw-tree",
    family="index",
    title="Bw-Tree",
    paper="pim_tree",
    section="5",
    operations=operations_for_one(SHARED),
    order="none within a search",
    progress="blocking",
    threads={"owner": "one"},
    capacity="the tuples of a window, and a mapping table for them; one more is told FULL",
    parameters=(
        Parameter("leaf_size", 128, 4, 512, "entries", "entries with which a leaf is split"),
        Parameter("inner_size", 64, 4, 256, "children", "children with which a node is split"),
        Parameter("leaf_chain", 24, 2, 64, "records", "records over a leaf until a new base"),
        Parameter("inner_chain", 2, 1, 32, "records", "records over an inner node"),
    ),
    bench=False,
    look=Look("purple", "^", "dense"),
)
