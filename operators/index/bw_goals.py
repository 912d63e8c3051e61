"""Goals of a thread on a Bw-Tree: a stack of pending changes.

An update is a goal. If a node must first be consolidated, split or merged, or if a split or a merge
of another thread is in the way, that becomes a new goal on top, which is done first; and so on. So
each change is written once, whatever led to it, and a thread that loses a compare-and-swap examines
the uppermost goal again.

The stack is bounded. A goal is examined again only after the goals on top are done, so there are a
few goals for each level, and those of the next higher level lie on top. In addition, the index term
of each node that is split for a merge goes below the uppermost goal, to be done afterwards, and
HELPING may lie on top of a goal of any level, but not on top of another HELPING. A tree has fewer
than ten levels.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from operators.core.epochs import Epochs
from operators.core.jit import INTERPRETED, inlined
from operators.core.vectors import peek, poke
from operators.index.bw_nodes import Nodes
from operators.index.bw_pool import Pool

# Words of a thread: the number of goals; the head on which ``seek`` ended; the last right neighbour
# met without an index term, and its level; whether the last update changed something; then the
# goals, then the noted records of a chain.
GOALS, HEAD, OWED, OWED_LEVEL, CHANGED, FIRST_GOAL = 0, 1, 2, 3, 4, 8
GOAL_WORDS, MOST_GOALS = 8, 100
RECORDS = FIRST_GOAL + MOST_GOALS * GOAL_WORDS

# Words of a goal: kind; level; entry; node; where to start looking for the left neighbour of the
# node (of an update, 1: ``seek`` finds the leaf; of SHRINK, 1: the parent was tried first); and of
# a merge, the parent and the head of the held parent.
KIND, AT_LEVEL, HI, LO, NODE, START, PARENT, HELD = range(8)

# Kinds of goal. INSERT (1) and DELETE (2) of an entry in a leaf are those of `bw_nodes`.
TERM = 3  # add a node's index term to the parent, at the parent's level; waits if need be
HELP_TERM = 4  # the same for another thread's split; given up if the parent is held
SHRINK = 5  # merge a child with a neighbour, if they are small; at the parent's level
CONSOLIDATE = 6  # consolidate a node
DIVIDE = 7  # split a node, whose base is bare
MERGING = 8  # two children of a parent that this thread holds
HELPING = 9  # merge a removed node into the left neighbour

# Outcomes of a step towards a goal.
AGAIN = 0  # examine the uppermost goal
WAIT = 1  # the same, after another thread has done something
NOTHING_FREE = 2  # there was no block, or no number


class BwTree(NamedTuple):
    """A tree, and the pools of its blocks and node numbers."""

    nodes: Nodes
    epochs: Epochs
    blocks: Pool
    numbers: Pool  # of nodes: entries of the mapping table


class View(NamedTuple):
    """A tree, and the private words of one thread."""

    tree: Nodes
    epochs: Epochs
    blocks: Pool
    numbers: Pool
    own: np.ndarray  # the private words of the thread
    popped: np.ndarray  # [1] the number taken from a ring
    thread: int


def own_words(slots: int) -> int:
    """Return the number of private words of a thread, for chunks of so many slots."""
    return RECORDS + 2 * slots


@inlined
def uppermost(own):
    """Return where the uppermost goal begins."""
    return FIRST_GOAL + (peek(own, GOALS) - 1) * GOAL_WORDS


@inlined
def push_goal(own, kind, level, hi, lo, node):
    """Push a goal, and return where it begins."""
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
    """Pop the uppermost goal."""
    poke(own, GOALS, peek(own, GOALS) - 1)


@inlined
def serves_a_merge(own, below):
    """Return whether the goal `below` positions under the uppermost one is that of a merge."""
    if peek(own, GOALS) <= below:
        return False
    return peek(own, uppermost(own) - below * GOAL_WORDS + KIND) >= MERGING


@inlined
def push_below(own, kind, level, hi, lo, node):
    """Insert a goal right below the uppermost one, to be done afterwards."""
    goal = push_goal(own, kind, level, hi, lo, node)
    for word in range(GOAL_WORDS):
        lower = peek(own, goal - GOAL_WORDS + word)
        poke(own, goal - GOAL_WORDS + word, peek(own, goal + word))
        poke(own, goal + word, lower)
