"""Changes of the nodes of a Bw-Tree: consolidation, a split in two steps, and a new root.

Each function takes one step towards the uppermost goal of a thread (`operators.index.bw_goals`): it
reads heads, writes private words, and tries one compare-and-swap. Whether the swap succeeds or
fails, the goal is then done, or examined again.

A split has two steps: a record on the node, which redirects searches from the split entry on to the
new right neighbour, and the index term in the parent. Between the two a search takes one extra step
to the right.
"""

from __future__ import annotations

from operators.core.atomics import ACQUIRE, RELAXED, RELEASE, cas, load, store
from operators.core.jit import inlined
from operators.core.marks import mark
from operators.core.vectors import peek, poke
from operators.index.bw_chain import is_beyond, walk_inner
from operators.index.bw_consolidation import copy_segment, gather
from operators.index.bw_goals import (
    AGAIN,
    AT_LEVEL,
    CONSOLIDATE,
    DIVIDE,
    HEAD,
    HELPING,
    HI,
    LO,
    NODE,
    NOTHING_FREE,
    OWED,
    OWED_LEVEL,
    SHRINK,
    START,
    TERM,
    pop_goal,
    push_below,
    push_goal,
    serves_a_merge,
)
from operators.index.bw_nodes import (
    ABORT,
    COUNT,
    GENERATION_AT,
    GENERATIONS,
    HIGH,
    INSERT,
    LEVEL,
    LOW,
    LOWEST,
    MERGE,
    NO_BLOCK,
    NO_NODE,
    NUMBER_BITS,
    REMOVE,
    RIGHT,
    SPLIT,
    TAKEN,
    base_at,
    base_lo,
    begin_of,
    block_of,
    chain_limit,
    child_at,
    claim,
    describe,
    end_at,
    entries_of,
    has_slots,
    head_of,
    is_stale,
    kind_of,
    length_of,
    link_at,
    look,
    low_word,
    newest,
    number_of,
    put_bound,
    put_entry,
    put_record,
    put_samples,
    rank_between,
    record_at,
    record_of,
    right_of,
    size_limit,
    small_limit,
    swap,
)
from operators.index.bw_pool import NONE, give_back, retire, take

# Free blocks and numbers that a thread reserves for a merge, which cannot stop half-way.
SPARE_BLOCKS, SPARE_NUMBERS = 3, 1
# Answer of ``seek`` if the tree has no such level.
TOO_HIGH = -2


@inlined
def take_block(view):
    """Return a free block, or NONE; the last ones are reserved for goals that serve a merge."""
    least = 0 if serves_a_merge(view.own, 1) else SPARE_BLOCKS
    return take(view.blocks, view.thread, least, view.popped)


@inlined
def new_reference(view):
    """Return a reference with a free number, or NO_NODE."""
    tree = view.tree
    least = 0 if serves_a_merge(view.own, 1) else SPARE_NUMBERS
    number = take(view.numbers, view.thread, least, view.popped)
    if number == NONE:
        return NO_NODE
    # RELAXED: the number comes from this thread or through a ring of the pool, which orders the
    # store in forget before; and nobody else writes the word of a free number.
    generation = load(tree.table, number, RELAXED) >> GENERATION_AT
    return number | (generation << NUMBER_BITS)


@inlined
def seek(view, hi, lo, level):
    """Return the node of a level to which an entry belongs, with the head in ``own[HEAD]``.

    NO_NODE if a number was freed on the way, or if a removed node on the way must first be merged
    into the left neighbour: that becomes a goal. A right neighbour met without an index term is
    noted as OWED.
    """
    tree, own = view.tree, view.own
    # ACQUIRE: as in `bw_chain.descend`.
    node = load(tree.root, 0, ACQUIRE)
    left = NO_NODE
    head = look(tree, node)
    if peek(tree.words, begin_of(tree, block_of(head)) + LEVEL) < level:
        return TOO_HIGH
    while True:
        head = look(tree, node)
        if is_stale(node, head):
            mark("bw_tree: an update meets a node number that was freed")
            return NO_NODE
        begin, record = begin_of(tree, block_of(head)), record_of(head)
        own_level = peek(tree.words, begin + LEVEL)
        if kind_of(newest(tree, head)) == REMOVE:
            if left != NO_NODE:
                mark("bw_tree: an update brings a removed node into its left neighbour")
                low = begin + LOW
                goal = push_goal(
                    own, HELPING, own_level, peek(tree.words, low), low_word(tree, low), node
                )
                poke(own, goal + START, left)
                return NO_NODE
            mark("bw_tree: an update meets a removed node")
            node = peek(tree.words, link_at(tree, record_at(tree, begin, record)))
            continue
        right, bound = right_neighbour(tree, head)
        if is_beyond(tree, right, bound, hi, lo):
            mark("bw_tree: an update goes on to the right")
            poke(own, OWED, right)
            poke(own, OWED_LEVEL, own_level)
            left, node = node, right
            continue
        if own_level == level:
            poke(own, HEAD, head)
            return node
        _, node = walk_inner(tree, head, hi, lo, False)
        left = NO_NODE


@inlined
def right_neighbour(tree, head):
    """Return the right neighbour of a node, and where the lower bound of that is stored."""
    begin, record = begin_of(tree, block_of(head)), record_of(head)
    if kind_of(newest(tree, head)) == MERGE:
        other = peek(tree.words, link_at(tree, record_at(tree, begin, record)))
        begin, record = begin_of(tree, block_of(other)), record_of(other)
    return right_of(tree, begin, record)


@inlined
def consolidate(view, goal):
    """Replace a base and its chain by a bare base."""
    tree, own = view.tree, view.own
    node, level = peek(own, goal + NODE), peek(own, goal + AT_LEVEL)
    head = look(tree, node)
    # Stale heads have no valid block to read records from.
    kind = REMOVE if is_stale(node, head) else kind_of(newest(tree, head))
    bare, begin = kind == 0, begin_of(tree, block_of(head))
    if kind == REMOVE or kind == ABORT or (bare and has_slots(tree, begin)):
        mark("bw_tree: another thread was there before a consolidation")
        pop_goal(own)
        return AGAIN
    if bare:
        # All slots are taken, but none of the records is on the chain.
        mark("bw_tree: a bare base has no slots")
    block = take_block(view)
    if block == NONE:
        return NOTHING_FREE
    count = gather(view, head, block)
    pop_goal(own)
    if not swap(tree, node, head, head_of(node, block, 0)):
        mark("bw_tree: a consolidation is lost")
        give_back(view.blocks, view.thread, block)
        return AGAIN
    # Not the right neighbour's block of a MERGE: that number still leads there
    # (`bw_merges.end_merge`).
    retire(view.blocks, view.epochs, view.thread, block_of(head))
    if not serves_a_merge(own, 0) and count <= small_limit(tree, level):
        low = begin_of(tree, block) + LOW
        hi, lo = peek(tree.words, low), low_word(tree, low)
        push_goal(own, SHRINK, level + 1, hi, lo, NO_NODE)
    return AGAIN


@inlined
def divide(view, goal):
    """Split a node whose base is bare, as the first of two steps."""
    tree, own, words = view.tree, view.own, view.tree.words
    node, level = peek(own, goal + NODE), peek(own, goal + AT_LEVEL)
    head = look(tree, node)
    if is_stale(node, head) or record_of(head) != 0:
        mark("bw_tree: another thread was there before a split")
        pop_goal(own)
        return AGAIN
    begin = begin_of(tree, block_of(head))
    count = peek(words, begin + COUNT)
    block = take_block(view)
    if block == NONE:
        return NOTHING_FREE
    right = new_reference(view)
    if right == NO_NODE:
        give_back(view.blocks, view.thread, block)
        return NOTHING_FREE
    half = count // 2
    hi, lo = peek(words, base_at(tree, begin, half)), base_lo(tree, begin, level, half)
    target = begin_of(tree, block)
    copy_segment(tree, level, begin, half, target, 0, count - half)
    put_bound(tree, target + LOW, hi, lo)
    put_bound(tree, target + HIGH, peek(words, begin + HIGH), low_word(tree, begin + HIGH))
    make_known(tree, right, block, level, count - half, peek(words, begin + RIGHT))
    record = claim(tree, begin, 2)
    won = False
    if record != 0:
        at = put_record(tree, begin, record, describe(SPLIT, head, 1, half, half), hi, lo)
        poke(words, link_at(tree, at), right)
        won = swap(tree, node, head, head_of(node, block_of(head), record))
    pop_goal(own)
    if not won:
        mark("bw_tree: a split is lost")
        forget(view, right)
        give_back(view.blocks, view.thread, block)
        if record == 0:
            push_goal(own, CONSOLIDATE, level, 0, 0, node)
        return AGAIN
    if serves_a_merge(own, 0):
        # The parent is held.
        push_below(own, TERM, level + 1, hi, lo, right)
    else:
        push_goal(own, TERM, level + 1, hi, lo, right)
    return AGAIN


@inlined
def make_known(tree, node, block, level, count, right):
    """Complete the header of a block, and make the block the base of a node with a new number."""
    begin = begin_of(tree, block)
    poke(tree.words, begin + COUNT, count)
    put_samples(tree, begin, count)
    poke(tree.words, begin + LEVEL, level)
    poke(tree.words, begin + RIGHT, right)
    # RELAXED: the release store below orders it.
    store(tree.words, begin + TAKEN, 0, RELAXED)
    # RELAXED: the number is known only from references of an older generation, which find the head
    # stale and do not use it. The swap of a head or of the root that makes the node known keeps the
    # block before.
    store(tree.table, number_of(node), head_of(node, block, 0), RELAXED)


@inlined
def forget(view, node):
    """Free the number of a node; references to it are stale from now on."""
    tree = view.tree
    number = number_of(node)
    # RELAXED: the pool orders it before the next use of the number. Who finds the number free
    # follows nothing from there, and begins again.
    store(tree.table, number, free_head(node), RELAXED)
    give_back(view.numbers, view.thread, number)


@inlined
def free_head(node):
    """Return the head of a freed number: the next generation, with no block."""
    generation = ((node >> NUMBER_BITS) + 1) & (GENERATIONS - 1)
    return NO_BLOCK | (generation << GENERATION_AT)


@inlined
def grow(view, goal):
    """Put a new root over the root, which has been split: the left half and the new node below."""
    tree, own = view.tree, view.own
    hi, lo, node = (peek(own, goal + HI), peek(own, goal + LO), peek(own, goal + NODE))
    level = peek(own, goal + AT_LEVEL)
    # ACQUIRE: as in `bw_chain.descend`.
    root = load(tree.root, 0, ACQUIRE)
    if peek(tree.words, begin_of(tree, block_of(look(tree, root))) + LEVEL) != level - 1:
        mark("bw_tree: another thread was there before the root grew")
        return AGAIN
    block = take_block(view)
    if block == NONE:
        return NOTHING_FREE
    parent = new_reference(view)
    if parent == NO_NODE:
        give_back(view.blocks, view.thread, block)
        return NOTHING_FREE
    begin = begin_of(tree, block)
    put_bound(tree, begin + LOW, LOWEST, 0)
    put_bound(tree, begin + HIGH, LOWEST, 0)
    put_entry(tree, begin, level, 0, LOWEST, 0)
    put_entry(tree, begin, level, 1, hi, lo)
    poke(tree.words, child_at(tree, begin, 0), root)
    poke(tree.words, child_at(tree, begin, 1), node)
    make_known(tree, parent, block, level, 2, NO_NODE)
    # RELEASE keeps the head of the new root before the reference; pairs with the loads of the root.
    if cas(tree.root, 0, root, parent, RELEASE):
        pop_goal(own)
        return AGAIN
    mark("bw_tree: a new root is lost")
    forget(view, parent)
    give_back(view.blocks, view.thread, block)
    return AGAIN


@inlined
def is_ready(view, node, head, level):
    """Return whether a node can take a record; if not, push the goal that must come first."""
    tree, own = view.tree, view.own
    meta = newest(tree, head)
    if record_of(head) == 0 and entries_of(meta) >= size_limit(tree, level):
        push_goal(own, DIVIDE, level, 0, 0, node)
        return False
    if kind_of(meta) == MERGE or length_of(meta) >= chain_limit(tree, level):
        push_goal(own, CONSOLIDATE, level, 0, 0, node)
        return False
    return True


@inlined
def put_term(view, goal, parent, head, at_scratch, place, count):
    """Add the index term of a node to a parent: the second step of a split.

    The entries of the parent are in a block of this thread; child `place` contains the new term.
    """
    tree, own, words = view.tree, view.own, view.tree.words
    hi, lo, node = (peek(own, goal + HI), peek(own, goal + LO), peek(own, goal + NODE))
    level = peek(own, goal + AT_LEVEL)
    # Load after the parent's head: if the node is not REMOVED now, it was not when the parent's
    # head was loaded, so that the swap below fails if the node has been merged since.
    own_head = look(tree, node)
    known = peek(words, child_at(tree, at_scratch, place)) == node
    if known or is_stale(node, own_head) or kind_of(newest(tree, own_head)) == REMOVE:
        mark("bw_tree: an index term is there, or its node is not")
        pop_goal(own)
        return AGAIN
    begin = begin_of(tree, block_of(head))
    record = claim(tree, begin, 2)
    if record == 0:
        push_goal(own, CONSOLIDATE, level, 0, 0, parent)
        return AGAIN
    offset = rank_between(tree, begin, level, 0, peek(words, begin + COUNT), hi, lo)
    length = length_of(newest(tree, head)) + 1
    meta = describe(INSERT, head, length, count + 1, offset)
    put_index_term(tree, begin, record, meta, hi, lo, node, at_scratch, level, place + 1, count)
    if swap(tree, parent, head, head_of(parent, block_of(head), record)):
        pop_goal(own)
    else:
        mark("bw_tree: an index term is lost")
    return AGAIN


@inlined
def put_index_term(tree, begin, record, meta, hi, lo, node, at_scratch, level, following, count):
    """Write a record of an index term that ends where child `following` begins."""
    words = tree.words
    if following < count:
        end_hi = peek(words, base_at(tree, at_scratch, following))
        end_lo = base_lo(tree, at_scratch, level, following)
    else:
        end_hi, end_lo = peek(words, at_scratch + HIGH), low_word(tree, at_scratch + HIGH)
        if peek(words, at_scratch + RIGHT) == NO_NODE:
            meta = meta | (1 << 44)
    at = put_record(tree, begin, record, meta, hi, lo)
    poke(words, link_at(tree, at), node)
    put_bound(tree, end_at(tree, at), end_hi, end_lo)
