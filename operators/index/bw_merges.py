"""Merges of two nodes of a Bw-Tree: records on the parent, the right node and the left node.

Source: section 4.2 of the Bw-Tree's paper, mended as in section 3.4 of the other one, and further::

    parent   ... ABORT                                            ABORT away, DELETE of the term
    right              REMOVE: no more records                    number freed
    left                           MERGE: has these entries too   consolidated

The thread that has put ABORT over the parent *holds* the parent: no other record is added until
that thread replaces ABORT by the deletion of the index term, or takes ABORT away. So the set of
index terms is fixed meanwhile, and the left neighbour of the removed node is never itself removed.
It may be split meanwhile: so the left neighbour is looked up again, rightwards from the parent's
child.

Any update that comes to the removed node from the left neighbour puts the MERGE itself (`HELPING`);
it does not wait for the thread that holds the parent. Only changes of that parent wait. And any
update may consolidate the left neighbour. Only the thread that holds the parent retires the block
of the removed node, after the left neighbour is consolidated, the index term deleted and the number
freed: nothing leads to a block when it is retired (`operators.core.epochs`).
"""

from __future__ import annotations

from operators.core.atomics import RELAXED, load
from operators.core.jit import inlined
from operators.core.marks import mark
from operators.core.vectors import peek, poke
from operators.index.bw_chain import is_beyond
from operators.index.bw_changes import forget, put_index_term, right_neighbour
from operators.index.bw_goals import (
    AGAIN,
    AT_LEVEL,
    CONSOLIDATE,
    DIVIDE,
    HELD,
    HI,
    KIND,
    LO,
    MERGING,
    NODE,
    PARENT,
    SHRINK,
    START,
    WAIT,
    pop_goal,
    push_goal,
    serves_a_merge,
)
from operators.index.bw_nodes import (
    ABORT,
    COUNT,
    DELETE,
    MERGE,
    MOST_CLAIMED,
    NO_NODE,
    REMOVE,
    base_at,
    base_lo,
    begin_of,
    block_of,
    child_at,
    claim,
    describe,
    entries_limit,
    entries_of,
    head_of,
    is_stale,
    kind_of,
    length_of,
    link_at,
    look,
    merged_limit,
    newest,
    older,
    put_record,
    rank_between,
    record_at,
    record_of,
    small_limit,
    swap,
)
from operators.index.bw_pool import retire

# Answer of ``entries_in`` for a freed number: more entries than any node has.
NO_NUMBER = 1 << 20


@inlined
def may_merge(tree, level, left, right):
    """Return whether nodes with so many entries are merged.

    The right node alone must not exceed the limit for two, so that it still fits together with a
    part of the left node, however the left one grows meanwhile.
    """
    most = merged_limit(tree, level)
    return right <= most and (left + right <= most or right == 0)


@inlined
def entries_in(tree, node):
    """Return how many entries a node has; NO_NUMBER if the number was freed."""
    head = look(tree, node)
    return NO_NUMBER if is_stale(node, head) else entries_of(newest(tree, head))


@inlined
def shrink(view, goal, parent, head, at_scratch, place, count):
    """Begin to merge child `place` of a parent, copied to a private block, if the child is small.

    The partner is the child to the left, or else the one to the right.
    """
    tree, own, words = view.tree, view.own, view.tree.words
    level = peek(own, goal + AT_LEVEL) - 1
    if count == 1:
        # RELAXED: nothing is reached by it. Who does not see that the parent is the root looks for
        # a level that is not there, and gives up.
        if load(tree.root, 0, RELAXED) == parent or peek(own, goal + START) == 1:
            mark("bw_tree: an only child has no neighbour to be merged with")
            pop_goal(own)
            return AGAIN
        # Merge the parent first, so that there is a neighbour.
        poke(own, goal + START, 1)
        hi, lo = peek(own, goal + HI), peek(own, goal + LO)
        push_goal(own, SHRINK, level + 2, hi, lo, NO_NODE)
        return AGAIN
    entries = entries_in(tree, peek(words, child_at(tree, at_scratch, place)))
    if entries == NO_NUMBER:
        return AGAIN
    if entries > small_limit(tree, level):
        mark("bw_tree: a node has grown before it was merged")
        pop_goal(own)
        return AGAIN
    left = place - 1
    fits = False
    if place > 0:
        other = entries_in(tree, peek(words, child_at(tree, at_scratch, left)))
        fits = may_merge(tree, level, other, entries)
    if not fits and place + 1 < count:
        left = place
        other = entries_in(tree, peek(words, child_at(tree, at_scratch, place + 1)))
        fits = may_merge(tree, level, entries, other)
    if not fits:
        mark("bw_tree: a small node's neighbours are too large")
        pop_goal(own)
        return AGAIN
    return hold(view, goal, parent, head, at_scratch, left, count)


@inlined
def hold(view, goal, parent, head, at_scratch, left, count):
    """Hold a parent in order to merge the children `left` and ``left + 1``.

    The record that deletes the index term is written together with ABORT, which it is to replace:
    so a slot for it is guaranteed.
    """
    tree, own, words = view.tree, view.own, view.tree.words
    level = peek(own, goal + AT_LEVEL)
    begin = begin_of(tree, block_of(head))
    record = claim(tree, begin, MOST_CLAIMED)
    if record == 0:
        push_goal(own, CONSOLIDATE, level, 0, 0, parent)
        return AGAIN
    hi = peek(words, base_at(tree, at_scratch, left + 1))
    lo = base_lo(tree, at_scratch, level, left + 1)
    left_node = peek(words, child_at(tree, at_scratch, left))
    right_node = peek(words, child_at(tree, at_scratch, left + 1))
    offset = rank_between(tree, begin, level, 0, peek(words, begin + COUNT), hi, lo)
    length = length_of(newest(tree, head)) + 1
    put_record(tree, begin, record, describe(ABORT, head, length, count, 0), hi, lo)
    meta = describe(DELETE, head, length, count - 1, offset)
    put_index_term(
        tree, begin, record + 2, meta, hi, lo, left_node, at_scratch, level, left + 2, count
    )
    held = head_of(parent, block_of(head), record)
    # This swap validates that the private copy of the parent is still current.
    if not swap(tree, parent, head, held):
        mark("bw_tree: a parent has changed before it was held")
        return AGAIN
    poke(own, goal + KIND, MERGING)
    poke(own, goal + AT_LEVEL, level - 1)
    poke(own, goal + HI, hi)
    poke(own, goal + LO, lo)
    poke(own, goal + NODE, right_node)
    poke(own, goal + START, left_node)
    poke(own, goal + PARENT, parent)
    poke(own, goal + HELD, held)
    return AGAIN


@inlined
def merge(view, goal):
    """Take a step of a merge: for the thread that holds the parent, or for one that helps."""
    tree, own = view.tree, view.own
    node = peek(own, goal + NODE)
    head = look(tree, node)
    if is_stale(node, head):
        mark("bw_tree: a merge that needs no help is over")
        pop_goal(own)
        return AGAIN
    if kind_of(newest(tree, head)) != REMOVE:
        return remove_node(view, goal, node, head)
    return merge_into_left(view, goal, node, head)


@inlined
def remove_node(view, goal, node, head):
    """Put REMOVE on a node, or release the parent if the node is not to be merged after all."""
    tree, own = view.tree, view.own
    level, left = peek(own, goal + AT_LEVEL), peek(own, goal + START)
    meta = newest(tree, head)
    entries = entries_of(meta)
    if kind_of(meta) == ABORT or not may_merge(
        tree, level, entries_of(newest(tree, look(tree, left))), entries
    ):
        mark("bw_tree: a parent is let go")
        let_go(view, goal, 0)
        pop_goal(own)
        return AGAIN
    if kind_of(meta) == MERGE:
        push_goal(own, CONSOLIDATE, level, 0, 0, node)
        return AGAIN
    begin = begin_of(tree, block_of(head))
    record = claim(tree, begin, 2)
    if record == 0:
        push_goal(own, CONSOLIDATE, level, 0, 0, node)
        return AGAIN
    hi, lo = peek(own, goal + HI), peek(own, goal + LO)
    removing = describe(REMOVE, head, length_of(meta) + 1, entries, 0)
    at = put_record(tree, begin, record, removing, hi, lo)
    poke(tree.words, link_at(tree, at), left)
    if not swap(tree, node, head, head_of(node, block_of(head), record)):
        mark("bw_tree: a node has changed before it was removed")
    return AGAIN


@inlined
def let_go(view, goal, further):
    """Take ABORT off a parent: restore the old head, or install the record `further` slots on."""
    tree, own = view.tree, view.own
    parent, held = peek(own, goal + PARENT), peek(own, goal + HELD)
    record = record_of(held) + further
    if further == 0:
        at = record_at(tree, begin_of(tree, block_of(held)), record)
        record = older(peek(tree.words, at))
    # Nobody else changes the head of a held parent.
    swap(tree, parent, held, head_of(parent, block_of(held), record))


@inlined
def merge_into_left(view, goal, node, head):
    """Merge a removed node into the left neighbour, or finish if that is done."""
    tree, own = view.tree, view.own
    level, hi, lo = peek(own, goal + AT_LEVEL), peek(own, goal + HI), peek(own, goal + LO)
    left = peek(own, goal + START)
    while True:
        left_head = look(tree, left)
        # A helper may come when all is over.
        if is_stale(left, left_head):
            mark("bw_tree: a merge that needs no help is over")
            pop_goal(own)
            return AGAIN
        right, bound = right_neighbour(tree, left_head)
        if right == node:
            break
        if not is_beyond(tree, right, bound, hi, lo):
            if peek(own, goal + KIND) == MERGING and leads_to(tree, left_head, block_of(head)):
                push_goal(own, CONSOLIDATE, level, 0, 0, left)
                return AGAIN
            return end_merge(view, goal, node, left, head)
        mark("bw_tree: the left neighbour of a removed node was split")
        left = right
    meta = newest(tree, left_head)
    kind = kind_of(meta)
    if kind == ABORT:
        mark("bw_tree: the left neighbour of a removed node is held")
        return WAIT
    entries = entries_of(meta) + entries_of(newest(tree, head))
    if kind == MERGE:
        push_goal(own, CONSOLIDATE, level, 0, 0, left)
        return AGAIN
    if entries > entries_limit(tree, level):
        mark("bw_tree: the left neighbour of a removed node has no room for it")
        push_goal(own, DIVIDE if record_of(left_head) == 0 else CONSOLIDATE, level, 0, 0, left)
        return AGAIN
    begin = begin_of(tree, block_of(left_head))
    record = claim(tree, begin, 2)
    if record == 0:
        push_goal(own, CONSOLIDATE, level, 0, 0, left)
        return AGAIN
    merging = describe(MERGE, left_head, length_of(meta) + 1, entries, 0)
    at = put_record(tree, begin, record, merging, hi, lo)
    removed = record_at(tree, begin_of(tree, block_of(head)), record_of(head))
    below = older(peek(tree.words, removed))
    poke(tree.words, link_at(tree, at), head_of(node, block_of(head), below))
    if not swap(tree, left, left_head, head_of(left, block_of(left_head), record)):
        mark("bw_tree: a left neighbour has changed before it was merged with")
    return AGAIN


@inlined
def leads_to(tree, head, block):
    """Return whether the newest record of a node is MERGE, and the merged node has `block`."""
    if kind_of(newest(tree, head)) != MERGE:
        return False
    at = record_at(tree, begin_of(tree, block_of(head)), record_of(head))
    return block_of(peek(tree.words, link_at(tree, at))) == block


@inlined
def end_merge(view, goal, node, left, head):
    """Delete the index term of a node that has been merged away, and free the number.

    Afterwards the block is unreachable: from the left neighbour (it has been consolidated), from
    the parent and from the number. Until then nobody may retire it, whoever consolidates the left
    neighbour: a new search can still reach the block from the parent.
    """
    tree, own = view.tree, view.own
    helped = peek(own, goal + KIND) != MERGING
    level, hi, lo = peek(own, goal + AT_LEVEL) + 1, peek(own, goal + HI), peek(own, goal + LO)
    held, parent = peek(own, goal + HELD), peek(own, goal + PARENT)
    pop_goal(own)
    if helped:
        mark("bw_tree: a merge that needs no help is over")
        return AGAIN
    at = record_at(tree, begin_of(tree, block_of(held)), record_of(held) + 2)
    entries = entries_of(peek(tree.words, at))
    let_go(view, goal, 2)
    forget(view, node)
    retire(view.blocks, view.epochs, view.thread, block_of(head))
    if not serves_a_merge(own, 0) and entries_in(tree, left) <= small_limit(tree, level - 1):
        push_goal(own, SHRINK, level, hi, lo, NO_NODE)
    if entries <= small_limit(tree, level):
        # RELAXED: as in shrink.
        if load(tree.root, 0, RELAXED) != parent:
            push_goal(own, SHRINK, level + 1, hi, lo, NO_NODE)
    return AGAIN
