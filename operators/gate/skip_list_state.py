"""The words of the skip-list gate: what lies where, who writes it, and what holds at rest.

The algorithm over them, with its drawing and its numbered invariants, is in ``skip_list``.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from operators.contract import TIMESTAMP_LIMIT, Parameter
from operators.core.jit import inlined
from operators.core.layout import LINE_WORDS, aligned_words, whole_lines
from operators.gate.shape import MAXIMUM_AHEAD, check_gate_bytes, check_gate_shape

UNPINNED = -1
NOTHING_YET = -1
AFTER_EVERYTHING = TIMESTAMP_LIMIT

# A node: what a search reads of most nodes stands on its first line.
TIMESTAMP, SOURCE, POSITION, HEIGHT, KEY, VALUE = 0, 1, 2, 3, 4, 5
NEXT = 6  # the link of level l is word NEXT + l

# A link packs the node it leads to with a mark. A marked link says that the node it stands *in* is
# deleted on that level; it never changes again.
MARK = 1
LINK_SHIFT = 1

# What a source alone touches: then, per level, where its search ended (`preds` and `succs`).
COUNT, SLOT, LAST_TIMESTAMP, ROOM = range(4)
BEFORE = LINE_WORDS

# What a source says of itself, in `latest`.
LATEST, DELIVERED = 0, 1

# What the reader alone touches: publications so far, then per source nodes removed and given back.
EPOCHS = 0
COUNTS = LINE_WORDS
REMOVED, RELEASED = 0, 1
COUNT_WORDS = 2

PARAMETERS = (
    Parameter("ahead", 1024, 1, MAXIMUM_AHEAD, "tuples", "a source's tuples not yet read"),
    Parameter("levels", 8, 1, 32, "levels", "height of the tallest node"),
)


class SkipListState(NamedTuple):
    """The words of a skip-list gate, grouped by who writes them."""

    nodes: np.ndarray  # [count * stride]; fields by the node's source before it is linked; links
    # by every source and the reader, by CAS alone once the node is linked on that level
    latest: np.ndarray  # [sources] lines; source writes, reader reads: timestamp of its last tuple
    # (AFTER_EVERYTHING once closed), and how many it has delivered
    pins: np.ndarray  # [sources] lines; source writes, sources read: an epoch, or UNPINNED
    private: np.ndarray  # [sources] blocks of private_words; that source alone
    released: np.ndarray  # [sources] lines; reader writes, source reads: its nodes unlinked so far
    epoch: np.ndarray  # [1]; reader writes before `released`, sources read: publications so far
    reading: np.ndarray  # reader alone
    stride: int  # words of a node
    levels: int
    ahead: int  # nodes of a source, too
    head: int  # the node before all, never marked
    tail: int  # the node after all
    give_every: int  # removed nodes of a source are given back so many at a time
    sources: int
    private_words: int


def make_state(sources: int, readers: int, ahead: int, levels: int) -> SkipListState:
    """Return an empty list of `sources` open sources.

    Parameters
    ----------
    sources : int
        Count of sources, at least 1.
    readers : int
        Must be 1: whoever takes the first node deletes it for all.
    ahead : int
        Tuples a source may be ahead of the reader.
    levels : int
        Height of the tallest node.

    Raises
    ------
    UsageError
        When a number is out of its limits, or the list would be too large.
    """
    check_gate_shape("skip-list", sources, readers, ahead, most_readers=1)
    PARAMETERS[1].check(levels)
    stride = whole_lines(NEXT + levels)
    count = sources * ahead + 2
    check_gate_bytes("skip-list", sources, ahead, count * stride)
    private_words = whole_lines(BEFORE + 2 * levels)
    state = SkipListState(
        nodes=aligned_words(count * stride),
        latest=aligned_words(sources * LINE_WORDS),
        pins=aligned_words(sources * LINE_WORDS),
        private=aligned_words(sources * private_words),
        released=aligned_words(sources * LINE_WORDS),
        epoch=aligned_words(LINE_WORDS),
        reading=aligned_words(whole_lines(COUNTS + COUNT_WORDS * sources)),
        stride=stride,
        levels=levels,
        ahead=ahead,
        head=count - 2,
        tail=count - 1,
        give_every=max(1, ahead // 8),
        sources=sources,
        private_words=private_words,
    )
    for node, timestamp in ((state.head, -1), (state.tail, AFTER_EVERYTHING)):
        words = state.nodes[node * stride : (node + 1) * stride]
        words[[TIMESTAMP, SOURCE, HEIGHT]] = timestamp, -1, levels
        words[NEXT : NEXT + levels] = link_to(state.tail)
    state.latest[::LINE_WORDS] = NOTHING_YET
    state.pins[:] = UNPINNED
    state.private[ROOM::private_words] = ahead
    return state


@inlined
def link_to(node):
    """Return the unmarked link that leads to `node`."""
    return node << LINK_SHIFT


@inlined
def node_of(link):
    """Return the node that `link` leads to, marked or not."""
    return link >> LINK_SHIFT


@inlined
def is_marked(link):
    """Say whether the node that `link` stands in is deleted on that level."""
    return link & MARK != 0


def check_invariants(state: SkipListState) -> None:
    """Assert the invariants over a gate at rest (plain Python)."""
    nodes = state.nodes.reshape(-1, state.stride)
    below = None
    for level in range(state.levels):
        chain = []
        node = state.head
        while node != state.tail:
            link = int(nodes[node, NEXT + level])
            assert not is_marked(link), f"invariant 3: node {node} is marked on level {level}"
            node = node_of(link)
            chain.append(node)
        chain.pop()
        places = [tuple(nodes[n, [TIMESTAMP, SOURCE, POSITION]].tolist()) for n in chain]
        assert places == sorted(set(places)), f"invariant 1: level {level} is out of order"
        expected = chain if below is None else [n for n in below if nodes[n, HEIGHT] > level]
        assert chain == expected, f"invariants 1 and 2: level {level} has other nodes"
        below = chain if below is None else below
    for source in range(state.sources):
        inserted, _, last, room = state.private[source * state.private_words :][:4].tolist()
        latest, delivered = state.latest[source * LINE_WORDS :][:2].tolist()
        removed, released = state.reading[COUNTS + COUNT_WORDS * source :][:2].tolist()
        live = [int(nodes[n, POSITION]) for n in below if nodes[n, SOURCE] == source]
        assert live == list(range(removed, inserted)), f"invariant 1: source {source} has {live}"
        assert delivered == inserted, f"invariant 2: source {source}"
        assert latest == (last if inserted or last == AFTER_EVERYTHING else NOTHING_YET)
        assert released <= removed < released + state.give_every, f"invariant 5: source {source}"
        assert inserted <= room <= released + state.ahead, f"invariant 5: source {source}: {room}"
        assert state.released[source * LINE_WORDS] == released, f"invariant 4: source {source}"
        assert state.pins[source * LINE_WORDS] == UNPINNED, f"invariant 4: source {source}"
