"""Updates of a Bw-Tree: the loop over the goals of a thread, and the steps at leaf and parent."""

from __future__ import annotations

from operators.contract import ACCEPTED, FULL
from operators.core.backoff import wait_a_little
from operators.core.epochs import pin, unpin
from operators.core.jit import inlined
from operators.core.marks import mark
from operators.core.vectors import peek, poke
from operators.index.bw_chain import (
    ABSENT,
    CHANGE,
    PRESENT,
    descend,
    walk_leaf,
)
from operators.index.bw_changes import (
    SPARE_BLOCKS,
    TOO_HIGH,
    consolidate,
    divide,
    grow,
    is_ready,
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
    FIRST_GOAL,
    GOAL_WORDS,
    GOALS,
    HEAD,
    HELP_TERM,
    HI,
    KIND,
    LO,
    MERGING,
    OWED,
    OWED_LEVEL,
    SHRINK,
    START,
    WAIT,
    pop_goal,
    push_goal,
    uppermost,
)
from operators.index.bw_merges import merge, shrink
from operators.index.bw_nodes import (
    ABORT,
    DELETE,
    INSERT,
    LOW,
    NO_NODE,
    base_at,
    base_lo,
    begin_of,
    block_of,
    claim,
    describe,
    entries_of,
    head_of,
    is_below,
    is_stale,
    kind_of,
    length_of,
    look,
    low_word,
    newest,
    put_record,
    record_of,
    small_limit,
    swap,
)
from operators.index.bw_pool import is_due, reclaim, reclaim_late

# How often a thread without a free block waits for others to leave before it answers FULL: some ms.
# So FULL means that there is no room, or that a thread stays between ``enter`` and ``leave`` while
# others change more than the tree was made for (`bw_tree.make_state`).
ROUNDS = 40


@inlined
def update(view, kind, hi, lo):
    """Insert or delete an entry: ACCEPTED, or FULL. ``own[CHANGED]`` tells whether it changed."""
    poke(view.own, OWED, NO_NODE)
    push_goal(view.own, kind, 0, hi, lo, NO_NODE)
    return work(view)


@inlined
def work(view):
    """Work off the goals, the uppermost first: ACCEPTED, or FULL if there is no room."""
    tree, own = view.tree, view.own
    rounds = 0
    while peek(own, GOALS) > 0:
        goal = uppermost(own)
        kind = peek(own, goal + KIND)
        if kind > DELETE and is_due(view.blocks, view.thread, SPARE_BLOCKS):
            reclaim(view.blocks, view.epochs, view.thread, tree.words, tree.block_words)
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
        elif rounds < ROUNDS or is_to_end(own):
            mark("bw_tree: an update waits for a free block")
            # A waiting thread protects no block: goals have references to nodes, and the number of
            # a node is freed before the block is retired. A held parent keeps the block.
            unpin(view.epochs, view.thread)
            # No wait in the first round: some blocks may have waited for this thread alone.
            rounds = wait_a_little(rounds) if rounds > 0 else 1
            pin(view.epochs, view.thread)
            size = tree.block_words
            reclaim_late(view.blocks, view.epochs, view.thread, tree.words, size, view.popped)
        else:
            poke(own, GOALS, 0)
            # Work that follows an update is left to other threads, who would do it as well.
            return FULL if peek(own, FIRST_GOAL + KIND) == INSERT else ACCEPTED
    return ACCEPTED


@inlined
def is_to_end(own):
    """Return whether some goal must not be given up: a deletion, or a merge that has begun."""
    found = peek(own, FIRST_GOAL + KIND) == DELETE
    for below in range(peek(own, GOALS)):
        found = found or peek(own, uppermost(own) - GOAL_WORDS * below + KIND) >= MERGING
    return found


@inlined
def go_to_node(view, goal, kind):
    """Take a step towards a goal at the node to which the entry belongs."""
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
    """Put a record of an entry over a leaf, if that changes something."""
    tree, own = view.tree, view.own
    hi, lo = peek(own, goal + HI), peek(own, goal + LO)
    head = look(tree, node)
    if is_stale(node, head):
        mark("bw_tree: an update meets a leaf number that was freed")
        return AGAIN
    verdict, place = walk_leaf(tree, head, hi, lo, kind == INSERT)
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
        end_goal(view)
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
    # Linearization point of an update.
    if not swap(tree, node, head, head_of(node, block_of(head), record)):
        mark("bw_tree: an update is lost")
        return AGAIN
    poke(own, CHANGED, 1)
    end_goal(view)
    if kind == DELETE and (entries == 0 or entries == small_limit(tree, 0)):
        push_goal(own, SHRINK, 1, hi, lo, NO_NODE)
    return AGAIN


@inlined
def change_parent(view, goal, kind, parent):
    """Take a step at a parent, whose head ``seek`` noted: add an index term, or remove one."""
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
    scratch = view.blocks.count + view.thread
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
    return put_term(view, goal, parent, head, at_scratch, place, count)


@inlined
def end_goal(view):
    """End an update; a node met without an index term becomes the next goal."""
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
