"""The T-Gate's rival: a lock-free skip list, with a scan of all sources before each tuple.

Section 7.2 of "Efficient data streaming multiway aggregation" compares the T-Gate with a concurrent
skip list, which sorts as well but does not know which tuples are ready. The list here is that of
Sundell and Tsigas ("Fast and lock-free concurrent priority queues for multi-thread systems", JPDC
65, 2005) in the plainer form of Fraser ("Practical lock-freedom", 2004) and of Herlihy and Shavit
(The Art of Multiprocessor Programming, 14.4)::

    level 1  [H]------------->[b1]------------------>[T]    H, T  before and after all tuples
    level 0  [H]--->[a1]--x-->[b1]-->[a2]-->[b2]---->[T]    x     marked: the node it leaves, a1,
                                                                  is deleted
    latest   a: 2 delivered, last at 5      b: 2 delivered, last at 7      closed: after everything

A source links a tuple by CAS a few nodes behind the source's last one, the usual position;
otherwise it searches for the position from the top level down, and links on level 0 first. The
reader loads the latest timestamp of *every* source; their minimum is the watermark. If the first
node is at or before the watermark, the reader takes it, marks the links in it from the top down,
and unlinks it. A search that meets a marked node unlinks it too.

Invariants
----------
1. The unmarked nodes of level 0 are the tuples inserted and not returned, in the total order
   (timestamp, source, position); each higher level holds a subset of the level below.
2. ``latest`` counts a tuple once the tuple is on all levels of the node.
3. Only the reader marks: the first node of level 0, and only once ``latest`` counts it. So a node
   is never marked while it is still being linked, and a marked link never changes.
4. When the reader advances the epoch, removed nodes are no longer reachable from ``head``, nor from
   a node whose link is not marked. A source searches under a pin of `core.epochs`; a node is reused
   only when no source is pinned to an epoch before the first in which the node was unreachable.
5. A source has at most `ahead` nodes that are not given back; fewer than ``give_every`` of them are
   removed already, so that a source whose tuples were all read has room.
6. A source's LAST_NODE is the node of the latest tuple, or NO_NODE once that node may be reused.

Linearization points: among insertions, the CAS on level 0; between an insertion and the reader, the
store to ``latest``; a tuple's return, the CAS that marks level 0; NOT_READY, the load of the
``latest`` that is too low.

Why the answer is right: tuples that a source inserts after ``latest`` was read come after the
source's latest tuple. So every tuple that can come at or before the watermark is in the list by
then, and if the first node is at or before it too, that node is the earliest of all.

Progress: a search restarts and a CAS is lost only because another thread linked, marked or unlinked
a node, so insertion is lock-free, and so is reading. FULL is also the answer when a source in the
middle of an insertion keeps nodes from being reused.

# ASSUME: the paper took Java's ConcurrentSkipListMap as it was (section 7.2), whose searches begin
# at the head. So that the rival is no straw man in a language without that map, this list is tuned
# as the T-Gate is, and stronger than the paper's: it has the T-Gate's few tall nodes and the
# T-Gate's walk from the source's last tuple before a search from the head. The search from the head
# is as long as the reader is behind: it held up one source, and the walk took that from 5.1 to 8.5
# million tuples/s (WALK_LIMIT). The differences that remain: a scan of all sources for each tuple,
# a pin an insertion, a search for each tall node that begins at the head (the T-Gate's at fingers),
# two CAS to remove a tuple where the T-Gate's reader walks on; and 8 levels instead of 3.
# ASSUME: ties go by source number, then by position: one order whatever the timing.
# ASSUME: memory is Java's affair in the paper. Here each source has a ring of nodes: the tuples of
# a source leave in the order in which they came, so the oldest node is always the next to be free.
# ASSUME: closing a source sets the source's latest timestamp after all tuples.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from operators.contract import (
    ACCEPTED,
    END,
    FULL,
    NOT_READY,
    OUT_OF_ORDER,
    READY,
    TIMESTAMP_LIMIT,
    Look,
    Parameter,
    Variant,
)
from operators.core import epochs
from operators.core.atomics import ACQUIRE, RELAXED, RELEASE, cas, load, store
from operators.core.epochs import Epochs, make_epochs
from operators.core.integers import random_height
from operators.core.jit import inlined
from operators.core.layout import LINE_WORDS, aligned_words, line_at, whole_lines
from operators.core.marks import mark, poison
from operators.gate.family import GateAnswers, GateOperations
from operators.gate.shape import AHEAD, check_gate_bytes, check_gate_shape

NOTHING_YET = -1
AFTER_EVERYTHING = TIMESTAMP_LIMIT

# A node: the fields that a search reads of most nodes are on the first cache line.
TIMESTAMP, SOURCE, POSITION, HEIGHT, KEY, VALUE = 0, 1, 2, 3, 4, 5
NEXT = 6  # the link of level l is word NEXT + l

# A link packs the node it leads to with a mark. A marked link says that the node that *contains* it
# is deleted on that level; a marked link never changes again.
MARK = 1
LINK_SHIFT = 1

# Words private to a source: then, per level, where the source's search ended (`preds` and `succs`).
COUNT, SLOT, LAST_TIMESTAMP, ROOM, LAST_NODE = range(5)
BEFORE = LINE_WORDS

# Words of a source in `latest`.
LATEST, DELIVERED = 0, 1

# Words private to the reader, per source: nodes removed, and how many of them are given back.
REMOVED, RELEASED = 0, 1
COUNT_WORDS = 2

PARAMETERS = (
    AHEAD,
    # Half and double are slower: 0.86 and 0.90 times as fast with 2 sources, 0.93 and 0.58 with 20.
    Parameter("levels", 8, 1, 32, "levels", "height of the tallest node"),
)

# A node goes one level higher with probability 1/16 (four bits), as in the T-Gate: 12.4 and 7.1
# million tuples/s with 2 and 20 sources on two cores, 10.7 and 6.3 with 1/4, 8.0 and 3.7 with 1/2.
HEIGHT_BITS = 4
# Level-0 nodes that an insertion examines before it begins at the head. From the head alone, 5.1,
# 6.6 and 5.8 million tuples/s with 1, 2 and 20 sources; with this walk 8.5, 9.8 and 6.6 (share
# 1/4). Limits of 8 and 64 were within 7 % of it with 20 sources.
WALK_LIMIT = 24
LOST = -1
NO_NODE = -1


class SkipListState(NamedTuple):
    """The words of a skip-list gate, grouped by their writers."""

    nodes: np.ndarray  # [count * stride]; fields by the node's source before it is linked; links
    # by every source and the reader, by CAS alone once the node is linked on that level
    latest: np.ndarray  # [sources] lines; source writes, reader reads: timestamp of the last tuple
    # (AFTER_EVERYTHING once closed), and number of tuples delivered
    searches: Epochs  # of the sources; the reader advances them before it writes `released`
    private: np.ndarray  # [sources] blocks of private_words; only that source
    released: np.ndarray  # [sources] lines; reader writes, source reads: nodes unlinked so far
    reading: np.ndarray  # reader alone
    stride: int  # words of a node
    levels: int
    ahead: int  # also the number of nodes of a source
    head: int  # the node before all, never marked
    tail: int  # the node after all
    give_every: int  # size of the batches in which removed nodes of a source are given back
    sources: int
    private_words: int


def make_state(sources: int, readers: int, ahead: int, levels: int) -> SkipListState:
    """Return an empty list of `sources` open sources.

    Parameters
    ----------
    sources : int
        Count of sources, at least 1.
    readers : int
        Must be 1: a reader that takes the first node deletes it for all readers.
    ahead : int
        Tuples a source may be ahead of the reader.
    levels : int
        Height of the tallest node.

    Raises
    ------
    UsageError
        When a number is out of range, or the list would be too large.
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
        searches=make_epochs(sources),
        private=aligned_words(sources * private_words),
        released=aligned_words(sources * LINE_WORDS),
        reading=aligned_words(whole_lines(COUNT_WORDS * sources)),
        stride=stride,
        levels=levels,
        ahead=ahead,
        head=count - 2,
        tail=count - 1,
        give_every=given_back(ahead),
        sources=sources,
        private_words=private_words,
    )
    for node, timestamp in ((state.head, -1), (state.tail, AFTER_EVERYTHING)):
        words = state.nodes[node_at(state, node) :]
        words[[TIMESTAMP, SOURCE, HEIGHT]] = timestamp, -1, levels
        words[NEXT : NEXT + levels] = link_to(state.tail)
    state.latest[::LINE_WORDS] = NOTHING_YET
    state.private[ROOM::private_words] = ahead
    state.private[LAST_NODE::private_words] = NO_NODE
    return state


def given_back(ahead: int) -> int:
    """Return how many removed nodes of a source are given back at a time."""
    # 1.13 times as fast as an eighth with 2 sources, 1.01 with 20.
    return max(1, ahead // 16)


# All but one of them may be removed but not given back.
ANSWERS = GateAnswers(room=lambda ahead: ahead - given_back(ahead) + 1, pins=True)


# --- layout --------------------------------------------------------------------------------------


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
    """Say whether the node that contains `link` is deleted on that level."""
    return link & MARK != 0


@inlined
def node_at(state, node):
    """Return the first word of a node."""
    return node * state.stride


@inlined
def link_at(state, node, level):
    """Return the word that links a node on `level`."""
    return node * state.stride + NEXT + level


@inlined
def own_at(state, source):
    """Return the first of the words private to a source."""
    return source * state.private_words


@inlined
def found_at(state, source, level):
    """Return the words that hold the two nodes between which a source's search ended."""
    return source * state.private_words + BEFORE + 2 * level


@inlined
def counts_at(source):
    """Return the first of the reader's counts of a source."""
    return COUNT_WORDS * source


# --- insertion -----------------------------------------------------------------------------------


@inlined
def insert_tuple(state, source, timestamp, key, value):
    """Insert a tuple at the right position of the total order: ACCEPTED, FULL or OUT_OF_ORDER.

    Called by the source's one thread.
    """
    status = insert_tuple_link(state, source, timestamp, key, value)
    if status == ACCEPTED:
        # RELEASE keeps the node's links before it (invariant 2). Pairs with lowest_latest.
        # Linearizes insert_tuple with respect to the reader.
        store(state.latest, line_at(source) + LATEST, timestamp, RELEASE)
    return status


@inlined
def insert_tuple_link(state, source, timestamp, key, value):
    """Link a tuple on all its levels and count it: the answer of ``insert_tuple``."""
    own = own_at(state, source)
    private = state.private
    if timestamp < private[own + LAST_TIMESTAMP] or timestamp >= AFTER_EVERYTHING:
        return OUT_OF_ORDER
    position = private[own + COUNT]
    if position >= private[own + ROOM] and not insert_tuple_make_room(state, source):
        mark("skip_list: full")
        return FULL
    node = source * state.ahead + private[own + SLOT]
    height = random_height(position * state.sources + source, state.levels, HEIGHT_BITS)
    fill_node(state, node, source, position, height, timestamp, key, value)
    epochs.pin(state.searches, source)
    level = 0
    if height == 1 and link_near(state, source, node, timestamp):
        level = 1
    while level < height:
        find(state, source, timestamp)
        level = link_up(state, source, node, level, height)
    epochs.unpin(state.searches, source)
    private[own + LAST_NODE] = node
    private[own + LAST_TIMESTAMP] = timestamp
    private[own + COUNT] = position + 1
    slot = private[own + SLOT] + 1
    private[own + SLOT] = 0 if slot == state.ahead else slot
    # RELEASE keeps the node's links before it, as for LATEST: get_next_ready_tuple, with which it
    # pairs, may read this count and the LATEST of an earlier tuple.
    store(state.latest, line_at(source) + DELIVERED, position + 1, RELEASE)
    return ACCEPTED


@inlined
def close_source(state, source):
    """Say that the source delivers no more: ACCEPTED. Called by the source's one thread."""
    # RELEASE keeps the source's tuples before it; pairs with lowest_latest.
    # Linearizes close_source.
    store(state.latest, line_at(source) + LATEST, AFTER_EVERYTHING, RELEASE)
    # Later tuples are out of order.
    state.private[own_at(state, source) + LAST_TIMESTAMP] = AFTER_EVERYTHING
    return ACCEPTED


@inlined
def fill_node(state, node, source, position, height, timestamp, key, value):
    """Put a tuple into a node that no other thread can reach."""
    place = node_at(state, node)
    state.nodes[place + TIMESTAMP] = timestamp
    state.nodes[place + SOURCE] = source
    state.nodes[place + POSITION] = position
    state.nodes[place + HEIGHT] = height
    state.nodes[place + KEY] = key
    state.nodes[place + VALUE] = value


@inlined
def precedes(state, node, timestamp, source):
    """Say whether a node comes before a new tuple of `source` at `timestamp`."""
    place = node_at(state, node)
    other = state.nodes[place + TIMESTAMP]
    # Tuples of `source` with the same timestamp came earlier.
    return other < timestamp or (other == timestamp and state.nodes[place + SOURCE] <= source)


@inlined
def link_near(state, source, node, timestamp):
    """Link on level 0, within WALK_LIMIT nodes of the source's last one.

    Under a pin. False when the reader has taken the last one, or the position is further away.
    """
    nodes = state.nodes
    before = state.private[own_at(state, source) + LAST_NODE]
    if before == NO_NODE:
        return False
    for _ in range(WALK_LIMIT):
        # ACQUIRE pairs with the CAS that linked the next node: the fields are filled in.
        link = load(nodes, link_at(state, before, 0), ACQUIRE)
        if is_marked(link):
            # Nodes leave in order, so that nothing before this one is left either.
            mark("skip_list: the last node is gone")
            return False
        if precedes(state, node_of(link), timestamp, source):
            before = node_of(link)
            continue
        # RELAXED: no other thread reaches this word before the CAS, which publishes it.
        store(nodes, link_at(state, node, 0), link, RELAXED)
        # As in link_up: the node is in the list where `before` is not marked.
        if cas(nodes, link_at(state, before, 0), link, link_to(node), RELEASE):
            return True
        mark("skip_list: near link lost")
    mark("skip_list: far")
    return False


@inlined
def find(state, source, timestamp):
    """Find, on each level, the last node before a new tuple and the first one behind it."""
    level = state.levels - 1
    before = state.head
    while level >= 0:
        before = find_on_level(state, source, level, before, timestamp)
        level -= 1
        if before == LOST:
            mark("skip_list: find begins again")
            level = state.levels - 1
            before = state.head


@inlined
def find_on_level(state, source, level, before, timestamp):
    """Walk one level from `before` to the tuple's position, unlinking marked nodes on the way.

    Returns the last node before the position, or LOST when a link changed during an unlinking.
    """
    nodes = state.nodes
    # ACQUIRE pairs with the CAS that linked the node: the fields are filled in. A mark on `before`
    # needs no check: the CAS that needs `before` unmarked fails if it is marked.
    after = node_of(load(nodes, link_at(state, before, level), ACQUIRE))
    while True:
        link = load(nodes, link_at(state, after, level), ACQUIRE)
        if is_marked(link):
            mark("skip_list: helps to unlink")
            # RELEASE passes on the fields that the CAS that linked the next node has published.
            behind = link_to(node_of(link))
            if not cas(nodes, link_at(state, before, level), link_to(after), behind, RELEASE):
                return LOST
            after = node_of(link)
        elif precedes(state, after, timestamp, source):
            before = after
            after = node_of(link)
        else:
            break
    found = found_at(state, source, level)
    state.private[found] = before
    state.private[found + 1] = after
    return before


@inlined
def link_up(state, source, node, level, height):
    """Link the node at the position found, from `level` up; return the first level lost."""
    nodes = state.nodes
    while level < height:
        found = found_at(state, source, level)
        before, after = state.private[found], state.private[found + 1]
        # RELAXED: no other thread reaches this word before the CAS, which publishes it.
        store(nodes, link_at(state, node, level), link_to(after), RELAXED)
        # RELEASE keeps the node's fields and this link before the link to it. Expecting no mark, it
        # fails when `before` is deleted. On level 0 it linearizes insert_tuple among insertions.
        if not cas(nodes, link_at(state, before, level), link_to(after), link_to(node), RELEASE):
            mark("skip_list: link lost")
            break
        level += 1
    return level


# --- reading -------------------------------------------------------------------------------------


@inlined
def get_next_ready_tuple(state, reader, out):
    """Return the earliest ready tuple: READY, NOT_READY or END.

    Parameters
    ----------
    state : SkipListState
    reader : int
        0, the one reader.
    out : int64[4]
        Filled on READY: timestamp, source, key, value.
    """
    # Before the list: the list then contains every tuple that can come at or before the bound.
    bound, bound_source = lowest_latest(state)
    # ACQUIRE pairs with the CAS that linked the node: the fields are filled in. The first node is
    # never marked here: the reader unlinks each node right after marking it (invariant 3).
    node = node_of(load(state.nodes, link_at(state, state.head, 0), ACQUIRE))
    if node == state.tail:
        return END if bound == AFTER_EVERYTHING else NOT_READY
    place = node_at(state, node)
    timestamp = state.nodes[place + TIMESTAMP]
    source = state.nodes[place + SOURCE]
    if timestamp > bound or (timestamp == bound and source > bound_source):
        return NOT_READY
    # ACQUIRE keeps this before the marking. Timestamps alone would let pass a tuple that ties with
    # the last one of the same source and is not on all levels yet (invariant 2).
    delivered = load(state.latest, line_at(source) + DELIVERED, ACQUIRE)
    if state.nodes[place + POSITION] >= delivered:
        mark("skip_list: a tie that is not delivered yet")
        return NOT_READY
    out[0] = timestamp
    out[1] = source
    out[2] = state.nodes[place + KEY]
    out[3] = state.nodes[place + VALUE]
    remove_first(state, node)
    count_removed(state, source)
    return READY


@inlined
def lowest_latest(state):
    """Return the watermark: the lowest latest timestamp and its source, by a linear scan."""
    # ACQUIRE pairs with the stores in insert_tuple and close_source, and keeps the load of the list
    # behind: the list then contains the tuples delivered up to here.
    bound = load(state.latest, LATEST, ACQUIRE)
    bound_source = 0
    for source in range(1, state.sources):
        latest = load(state.latest, line_at(source) + LATEST, ACQUIRE)
        # Strictly below: among equal timestamps the lowest source number bounds.
        if latest < bound:
            bound = latest
            bound_source = source
    return bound, bound_source


@inlined
def remove_first(state, node):
    """Mark the first node from the top down, then unlink it from all levels."""
    nodes = state.nodes
    top = nodes[node_at(state, node) + HEIGHT] - 1
    level = top
    while level >= 0:
        # ACQUIRE: the CAS below and the unlinking pass the next node on.
        link = load(nodes, link_at(state, node, level), ACQUIRE)
        # Once marked, no node is linked behind this one any more. On level 0 it linearizes
        # get_next_ready_tuple. RELAXED: who reads the mark reads an exchange of the link that it
        # marks, which passes on the RELEASE of the CAS that linked the next node.
        if cas(nodes, link_at(state, node, level), link, link | MARK, RELAXED):
            level -= 1
        else:
            # A source has linked a node behind this one: mark the new link.
            mark("skip_list: marking lost")
    for level in range(top, -1, -1):
        # RELAXED: a marked link does not change.
        behind = link_to(node_of(load(nodes, link_at(state, node, level), RELAXED)))
        # The node is first on all its levels: those before it are gone, and none comes any
        # more. So where this fails, a search has unlinked it. RELEASE as in find_on_level.
        if not cas(nodes, link_at(state, state.head, level), link_to(node), behind, RELEASE):
            mark("skip_list: was unlinked by a search")


# --- reuse of nodes ------------------------------------------------------------------------------


@inlined
def count_removed(state, source):
    """Count a removed node of `source`, and give nodes back in batches."""
    reading = state.reading
    counts = counts_at(source)
    removed = reading[counts + REMOVED] + 1
    reading[counts + REMOVED] = removed
    if removed - reading[counts + RELEASED] >= state.give_every:
        reading[counts + RELEASED] = removed
        # After the unlinking: a thread that pins the new epoch cannot reach those nodes.
        epochs.advance(state.searches)
        # Keeps the epoch, and this reader's reads of the nodes, before their reuse.
        store(state.released, line_at(source), removed, RELEASE)


@inlined
def insert_tuple_make_room(state, source):
    """Find out how many of the source's nodes may be reused; False when no more than before."""
    # ACQUIRE pairs with count_removed: the epoch read next is at least the one of these nodes.
    room = load(state.released, line_at(source), ACQUIRE) + state.ahead
    own = own_at(state, source)
    known = state.private[own + ROOM]
    if room == known:
        return False
    if not epochs.all_left(state.searches, epochs.latest(state.searches)):
        mark("skip_list: pinned")
        return False
    for position in range(known, room):
        node = source * state.ahead + position % state.ahead
        poison(state.nodes, node_at(state, node), state.stride)
    state.private[own + ROOM] = room
    if room == state.private[own + COUNT] + state.ahead:
        # All nodes of the source are free again, the last one too.
        state.private[own + LAST_NODE] = NO_NODE
    return True


def check_invariants(state: SkipListState) -> None:
    """Assert the invariants of a quiescent gate (plain Python)."""
    epochs.check_invariants(state.searches)
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
        inserted, _, last, room = state.private[own_at(state, source) :][:4].tolist()
        latest, delivered = state.latest[line_at(source) :][:2].tolist()
        removed, released = state.reading[counts_at(source) :][:2].tolist()
        live = [int(nodes[n, POSITION]) for n in below if nodes[n, SOURCE] == source]
        assert live == list(range(removed, inserted)), f"invariant 1: source {source} has {live}"
        assert delivered == inserted, f"invariant 2: source {source}"
        assert latest == (last if inserted or last == AFTER_EVERYTHING else NOTHING_YET)
        assert released <= removed < released + state.give_every, f"invariant 5: source {source}"
        assert inserted <= room <= released + state.ahead, f"invariant 5: source {source}: {room}"
        assert state.released[line_at(source)] == released, f"invariant 4: source {source}"
        last_node = int(state.private[own_at(state, source) + LAST_NODE])
        latest_one = NO_NODE if last_node == NO_NODE else nodes[last_node, POSITION]
        assert latest_one in (NO_NODE, inserted - 1), f"invariant 6: source {source}"


VARIANT = Variant(
    id="skip-list",
    family="gate",
    title="Skip list",
    paper="multiway_aggregation",
    section="7.2",
    operations=GateOperations(
        make_state, insert_tuple, get_next_ready_tuple, close_source, check_invariants, ANSWERS
    ),
    order="total: (timestamp, source, position)",
    progress="lock-free",
    threads={"source": "one per source", "reader": "one"},
    capacity="ahead tuples a source; a full source is told FULL",
    parameters=PARAMETERS,
    look=Look("purple", "v", "dense"),
)
