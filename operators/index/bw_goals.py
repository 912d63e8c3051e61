"""What a thread has to do on a Bw-Tree: goals, one on top of the other.

An update is a goal. Where a node has to be consolidated, split or merged first, or a split or a
merge that others have begun is in the way, that becomes a goal on top of it, done before; and so
on. So each change is written once, whatever led to it, and a thread that has lost a
compare-and-swap looks at its uppermost goal again. What a goal needs first is put on top of it and
is done before it is looked at again: so there are a few goals a level, and what a level needs of
the next higher one lies on top. Below the uppermost one comes the index term of each node that is
split for a merge, to be done behind it, and HELPING comes on top of a goal of any level; but on
top of HELPING no other. So there are never many: a tree has less than ten levels.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from operators.core.epochs import Epochs
from operators.core.jit import INTERPRETED, inlined
from operators.core.vectors import peek, poke
from operators.index.bw_nodes import Nodes
from operators.index.bw_pool import Pool

# Words of a thread: how many goals there are; the head on which ``seek`` ended; the right neighbour
# that it met last without an index term, and its level; whether the last update changed something;
# then the goals, then the records of a chain that it looks at.
GOALS, HEAD, OWED, OWED_LEVEL, CHANGED, FIRST_GOAL = 0, 1, 2, 3, 4, 8
GOAL_WORDS, MOST_GOALS = 8, 100
RECORDS = FIRST_GOAL + MOST_GOALS * GOAL_WORDS

# Words of a goal: what to do; at which level; with which entry; with which node; where to begin to
# look for that node's left neighbour (of an update 1: ``seek`` finds its leaf; of SHRINK 1: its
# parent was tried first); and of a merge the parent, and its head while it is held.
KIND, AT_LEVEL, HI, LO, NODE, START, PARENT, HELD = range(8)

# Kinds of goal. INSERT (1) and DELETE (2) of an entry in a leaf are those of `bw_nodes`.
TERM = 3  # let the parent have the index term of a node, at the parent's level; wait where it may
HELP_TERM = 4  # the same for another thread's split; not where the parent is held
SHRINK = 5  # merge a child with a neighbour, if they are small: at the parent's level
CONSOLIDATE = 6  # a node
DIVIDE = 7  # split a node, whose base is bare
MERGING = 8  # two children of a parent that this thread holds
HELPING = 9  # bring the entries of a removed node into its left neighbour

# How a step towards a goal ends.
AGAIN = 0  # look at the uppermost goal
WAIT = 1  # the same, but another thread has to do something first
NOTHING_FREE = 2  # there was no block, or no number


class BwTree(NamedTuple):
    """A tree, and what it is made from."""

    nodes: Nodes
    epochs: Epochs
    blocks: Pool
    numbers: Pool  # of nodes: entries of the mapping table


class View(NamedTuple):
    """A tree, and what one thread needs to use it."""

    tree: Nodes
    epochs: Epochs
    blocks: Pool
    numbers: Pool
    own: np.ndarray  # that thread's words
    popped: np.ndarray  # [1] what it took from a ring
    thread: int


def own_words(slots: int) -> int:
    """Return how many words a thread needs, where a chunk has so many slots."""
    return RECORDS + 2 * slots


@inlined
def uppermost(own):
    """Return where the words of the uppermost goal are."""
    return FIRST_GOAL + (peek(own, GOALS) - 1) * GOAL_WORDS


@inlined
def push_goal(own, kind, level, hi, lo, node):
    """Put a goal on top, and return where its words are."""
    poke(own, GOALS, peek(own, GOALS) + 1)
    if INTERPRETED:
        assert peek(own, GOALS) <= MOST_GOALS, "there are more goals than there is room for"
    goal = uppermost(own)
    poke(own, goal + KIND, kind)
    poke(own, goal + AT_LEVEL, level)
    poke(own, goal + HI, hi)
    poke(own, goal + LO, lo)
    poke(own, goal + NODE, node)
    poke(own, goal + START, 0)
    return goal


@inlined
def pop_goal(own):
    """Take the uppermost goal off."""
    poke(own, GOALS, peek(own, GOALS) - 1)


@inlined
def serves_a_merge(own, below):
    """Whether the goal so many below the uppermost one is that of a merge."""
    if peek(own, GOALS) <= below:
        return False
    return peek(own, uppermost(own) - below * GOAL_WORDS + KIND) >= MERGING


@inlined
def push_below(own, kind, level, hi, lo, node):
    """Put a goal right below the uppermost one, to be done behind it."""
    goal = push_goal(own, kind, level, hi, lo, node)
    for word in range(GOAL_WORDS):
        lower = peek(own, goal - GOAL_WORDS + word)
        poke(own, goal - GOAL_WORDS + word, peek(own, goal + word))
        poke(own, goal + word, lower)
