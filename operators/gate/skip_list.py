"""The T-Gate's rival: a lock-free skip list, and a look at every source before each tuple.

Section 7.2 of "Efficient data streaming multiway aggregation" compares the T-Gate with a concurrent
skip list, which sorts as well but does not know what is ready. The list here is that of Sundell and
Tsigas ("Fast and lock-free concurrent priority queues for multi-thread systems", JPDC 65, 2005) in
the plainer form of Fraser ("Practical lock-freedom", 2004) and of Herlihy and Shavit (The Art of
Multiprocessor Programming, 14.4)::

    level 1  [H]------------->[b1]------------------>[T]    H, T  before and after all tuples
    level 0  [H]--->[a1]--x-->[b1]-->[a2]-->[b2]---->[T]    x     marked: the node it leaves, a1,
                                                                  is deleted
    latest   a: 2 delivered, last at 5      b: 2 delivered, last at 7      closed: after everything

A source searches for the place of its tuple from the top level down and links it by CAS, on level 0
first. The reader looks at the latest timestamp of *every* source, takes the first node if it is at
or before all of them, marks its links from the top down, and unlinks it. A search that meets a
marked node unlinks it too.

Invariants
----------
1. Level 0, less what is marked there, holds every tuple that was inserted and not returned, in the
   total order (timestamp, source, position); each higher level holds a part of the one below.
2. ``latest`` counts a tuple when it is on all its levels.
3. Only the reader marks: the first node of level 0, and only once ``latest`` counts it. So a node
   is never marked while it is still being linked, and a marked link never changes.
4. When the reader publishes an epoch, what it has removed cannot be reached from ``head`` any more.
   A source searches under a pin to an epoch; a node is used again only when no source is pinned to
   an earlier epoch than one in which it could not be reached.
5. A source has at most `ahead` nodes that are not given back; fewer than ``give_every`` of them are
   removed already, so that a source whose tuples were all read has room.

Linearization points: an insertion among insertions, the CAS on level 0; an insertion before the
reader, the store to ``latest``; a tuple's return, the CAS that marks level 0; NOT_READY, the load
of the ``latest`` that is too low.

Why the answer is right: what a source puts into the list after ``latest`` was read comes after its
latest tuple. So all that can come at or before the lowest latest tuple is in the list by then, and
the list's first node, if it is at or before it too, is the earliest of all.

Progress: a search begins again and a CAS is lost only because another thread linked, marked or
unlinked a node, so insertion is lock-free, and so is reading. FULL is also the answer when a source
in the middle of an insertion keeps nodes from being used again.

# ASSUME: the paper names no list and no parameters; nodes go one level higher with probability 1/4,
# as in Pugh's paper and in Java's library, and there is no memory of the last insertion's place,
# which is the T-Gate's own.
# ASSUME: ties go by source number, then by position: one order whatever the timing.
# ASSUME: memory is Java's affair in the paper. Here each source has a ring of nodes: its tuples
# leave in the order in which they came, so the oldest node is always the next one to be free.
# ASSUME: closing a source sets its latest timestamp after everything.
"""

from __future__ import annotations

from operators.contract import ACCEPTED, END, FULL, NOT_READY, OUT_OF_ORDER, READY, Look, Variant
from operators.core.atomics import ACQUIRE, RELAXED, RELEASE, SEQ_CST, cas, fence, load, store
from operators.core.integers import mix64
from operators.core.jit import inlined
from operators.core.layout import LINE_WORDS
from operators.core.marks import mark, spoil
from operators.gate.family import GateOperations
from operators.gate.skip_list_state import (
    AFTER_EVERYTHING,
    BEFORE,
    COUNT,
    COUNT_WORDS,
    COUNTS,
    DELIVERED,
    EPOCHS,
    HEIGHT,
    KEY,
    LAST_TIMESTAMP,
    LATEST,
    MARK,
    NEXT,
    PARAMETERS,
    POSITION,
    RELEASED,
    REMOVED,
    ROOM,
    SLOT,
    SOURCE,
    TIMESTAMP,
    UNPINNED,
    VALUE,
    check_invariants,
    is_marked,
    link_to,
    make_state,
    node_of,
)

HEIGHT_BITS = 2
LOST = -1


# --- insertion -----------------------------------------------------------------------------------


@inlined
def insert_tuple(state, source, timestamp, key, value):
    """Insert a tuple at its place in the total order: ACCEPTED, FULL or OUT_OF_ORDER.

    Called by the source's one thread.
    """
    own = source * state.private_words
    private = state.private
    if timestamp < private[own + LAST_TIMESTAMP] or timestamp >= AFTER_EVERYTHING:
        return OUT_OF_ORDER
    position = private[own + COUNT]
    if position >= private[own + ROOM] and not insert_tuple_make_room(state, source, own):
        mark("skip_list: full")
        return FULL
    node = source * state.ahead + private[own + SLOT]
    place = node * state.stride
    height = node_height(state, source, position)
    state.nodes[place + TIMESTAMP] = timestamp
    state.nodes[place + SOURCE] = source
    state.nodes[place + POSITION] = position
    state.nodes[place + HEIGHT] = height
    state.nodes[place + KEY] = key
    state.nodes[place + VALUE] = value
    pin(state, source)
    level = 0
    while level < height:
        find(state, source, own, timestamp)
        level = link_up(state, own, node, level, height)
    # Keeps every access to other sources' nodes before the moment they may be used again.
    store(state.pins, source * LINE_WORDS, UNPINNED, RELEASE)
    private[own + LAST_TIMESTAMP] = timestamp
    private[own + COUNT] = position + 1
    slot = private[own + SLOT] + 1
    private[own + SLOT] = 0 if slot == state.ahead else slot
    # Each keeps the node's links before it (invariant 2). Pairs with the loads of lowest_latest and
    # of get_next_ready_tuple, which may read one without the other.
    store(state.latest, source * LINE_WORDS + DELIVERED, position + 1, RELEASE)
    # Linearizes insert_tuple with respect to the reader.
    store(state.latest, source * LINE_WORDS + LATEST, timestamp, RELEASE)
    return ACCEPTED


@inlined
def close_source(state, source):
    """Say that the source delivers no more: ACCEPTED. Called by the source's one thread."""
    # RELEASE keeps the source's tuples before it; pairs with lowest_latest.
    # Linearizes close_source.
    store(state.latest, source * LINE_WORDS + LATEST, AFTER_EVERYTHING, RELEASE)
    # What comes now is out of order.
    state.private[source * state.private_words + LAST_TIMESTAMP] = AFTER_EVERYTHING
    return ACCEPTED


@inlined
def node_height(state, source, position):
    """Return a random height: each level with a quarter of the nodes of the one below."""
    height = 1
    bits = mix64(position * state.sources + source)
    while height < state.levels and bits & ((1 << HEIGHT_BITS) - 1) == 0:
        height += 1
        bits >>= HEIGHT_BITS
    return height


@inlined
def precedes(state, place, timestamp, source):
    """Say whether the node at `place` comes before a new tuple of `source` at `timestamp`."""
    other = state.nodes[place + TIMESTAMP]
    # A source's own tuples of equal timestamp came earlier.
    return other < timestamp or (other == timestamp and state.nodes[place + SOURCE] <= source)


@inlined
def find(state, source, own, timestamp):
    """Find, on each level, the last node before a new tuple and the first one behind it."""
    level = state.levels - 1
    before = state.head
    while level >= 0:
        before = find_on_level(state, own, level, before, timestamp, source)
        level -= 1
        if before == LOST:
            mark("skip_list: find begins again")
            level = state.levels - 1
            before = state.head


@inlined
def find_on_level(state, own, level, before, timestamp, source):
    """Walk one level from `before` to the tuple's place, unlinking what is marked on the way.

    Returns the last node before the place, or LOST when a link changed under an unlinking.
    """
    nodes = state.nodes
    word = NEXT + level
    # ACQUIRE pairs with the CAS that linked the node: its fields are filled in. Whether `before` is
    # marked itself is not looked at: the CAS that needs it unmarked fails if it is.
    after = node_of(load(nodes, before * state.stride + word, ACQUIRE))
    while True:
        place = after * state.stride
        link = load(nodes, place + word, ACQUIRE)
        if is_marked(link):
            mark("skip_list: helps to unlink")
            # RELEASE passes on what the CAS that linked the next node has published.
            behind = node_of(link)
            place = before * state.stride + word
            if not cas(nodes, place, link_to(after), link_to(behind), RELEASE):
                return LOST
            after = behind
        elif precedes(state, place, timestamp, source):
            before = after
            after = node_of(link)
        else:
            break
    found = own + BEFORE + 2 * level
    state.private[found] = before
    state.private[found + 1] = after
    return before


@inlined
def link_up(state, own, node, level, height):
    """Link the node where it was found to belong, from `level` up; return the first level lost."""
    nodes = state.nodes
    while level < height:
        before = state.private[own + BEFORE + 2 * level]
        after = state.private[own + BEFORE + 2 * level + 1]
        # RELAXED: nobody reaches this word before the CAS, which publishes it.
        store(nodes, node * state.stride + NEXT + level, link_to(after), RELAXED)
        # RELEASE keeps the node's fields and this link before the link to it. Expecting no mark, it
        # fails when `before` is deleted. On level 0 it linearizes insert_tuple among insertions.
        word = before * state.stride + NEXT + level
        if not cas(nodes, word, link_to(after), link_to(node), RELEASE):
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
    # Before the list: what it finds there is then all that can come at or before the bound.
    bound, bound_source = lowest_latest(state)
    # ACQUIRE pairs with the CAS that linked the node: its fields are filled in. The first node is
    # never marked here: what this reader marks it unlinks at once (invariant 3).
    node = node_of(load(state.nodes, state.head * state.stride + NEXT, ACQUIRE))
    if node == state.tail:
        return END if bound == AFTER_EVERYTHING else NOT_READY
    place = node * state.stride
    timestamp = state.nodes[place + TIMESTAMP]
    source = state.nodes[place + SOURCE]
    if timestamp > bound or (timestamp == bound and source > bound_source):
        return NOT_READY
    # ACQUIRE keeps this before the marking. Timestamps alone would let pass a tuple that ties with
    # its own source's last one and is not on all its levels yet (invariant 2).
    delivered = load(state.latest, source * LINE_WORDS + DELIVERED, ACQUIRE)
    if state.nodes[place + POSITION] >= delivered:
        mark("skip_list: a tie that is not delivered yet")
        return NOT_READY
    out[0] = timestamp
    out[1] = source
    out[2] = state.nodes[place + KEY]
    out[3] = state.nodes[place + VALUE]
    remove_first(state, place, node)
    count_removed(state, source)
    return READY


@inlined
def lowest_latest(state):
    """Return the lowest latest timestamp and its source: the linear look for what is ready."""
    # ACQUIRE pairs with the stores in insert_tuple and close_source, and keeps the look at the list
    # behind: what was delivered up to here is found there.
    bound = load(state.latest, LATEST, ACQUIRE)
    bound_source = 0
    for source in range(1, state.sources):
        latest = load(state.latest, source * LINE_WORDS + LATEST, ACQUIRE)
        # Strictly below: of equal ones the lowest source number bounds.
        if latest < bound:
            bound = latest
            bound_source = source
    return bound, bound_source


@inlined
def remove_first(state, place, node):
    """Mark the first node from the top down, then unlink it from all its levels."""
    nodes = state.nodes
    first = state.head * state.stride + NEXT
    top = state.nodes[place + HEIGHT] - 1
    level = top
    while level >= 0:
        # ACQUIRE: the next node is passed on by the CAS below and by the unlinking.
        link = load(nodes, place + NEXT + level, ACQUIRE)
        # Once marked, nothing is linked behind the node any more. On level 0 it linearizes
        # get_next_ready_tuple. RELEASE as in find_on_level.
        if cas(nodes, place + NEXT + level, link, link | MARK, RELEASE):
            level -= 1
        else:
            # A source has linked its node behind this one: mark the new link.
            mark("skip_list: marking lost")
    for level in range(top, -1, -1):
        # RELAXED: marked, it does not change.
        link = load(nodes, place + NEXT + level, RELAXED)
        # The node is first on each of its levels: all before it are gone, and none comes any more.
        # So where this fails, a search has unlinked it. RELEASE as in find_on_level.
        if not cas(nodes, first + level, link_to(node), link_to(node_of(link)), RELEASE):
            mark("skip_list: was unlinked by a search")


# --- using nodes again ---------------------------------------------------------------------------


@inlined
def count_removed(state, source):
    """Count a removed node of `source`, and give them back a few at a time."""
    reading = state.reading
    counts = COUNTS + COUNT_WORDS * source
    removed = reading[counts + REMOVED] + 1
    reading[counts + REMOVED] = removed
    if removed - reading[counts + RELEASED] >= state.give_every:
        reading[counts + RELEASED] = removed
        reading[EPOCHS] += 1
        # Keeps the unlinking before the epoch: who pins the new epoch cannot reach those nodes.
        store(state.epoch, 0, reading[EPOCHS], RELEASE)
        # Keeps the epoch, and this reader's reads of the nodes, before their next use.
        store(state.released, source * LINE_WORDS, removed, RELEASE)


@inlined
def pin(state, source):
    """Keep what can be reached from now on from being used again, until unpinned."""
    # ACQUIRE pairs with count_removed: what was unlinked before this epoch is not met.
    epoch = load(state.epoch, 0, ACQUIRE)
    # RELEASE: who sees this pin has behind it what the source read under the pins before.
    store(state.pins, source * LINE_WORDS, epoch, RELEASE)
    # Keeps the pin before the reads that it protects. Of this fence and the one in
    # insert_tuple_make_room one comes first: either that source sees the pin, or this one sees the
    # list without the nodes that source is about to use.
    fence(SEQ_CST)


@inlined
def insert_tuple_make_room(state, source, own):
    """Find out how many of the source's nodes may be used again; False when none more."""
    # ACQUIRE pairs with count_removed: the epoch read next is at least the one of these nodes.
    room = load(state.released, source * LINE_WORDS, ACQUIRE) + state.ahead
    known = state.private[own + ROOM]
    if room == known:
        return False
    epoch = load(state.epoch, 0, ACQUIRE)
    fence(SEQ_CST)  # pairs with the fence in pin
    for other in range(state.sources):
        # ACQUIRE pairs with the stores of pins: that source has done with our nodes.
        pinned = load(state.pins, other * LINE_WORDS, ACQUIRE)
        if pinned != UNPINNED and pinned < epoch:
            mark("skip_list: pinned")
            return False
    for position in range(known, room):
        node = source * state.ahead + position % state.ahead
        spoil(state.nodes, node * state.stride, state.stride)
    state.private[own + ROOM] = room
    return True


VARIANT = Variant(
    id="skip-list",
    family="gate",
    title="Skip list",
    paper="multiway_aggregation",
    section="7.2",
    operations=GateOperations(
        make_state, insert_tuple, get_next_ready_tuple, close_source, check_invariants
    ),
    order="total: (timestamp, source, position)",
    progress="lock-free",
    threads={"source": "one per source", "reader": "one"},
    capacity="ahead tuples a source; a full source is told FULL",
    parameters=PARAMETERS,
    look=Look("purple", "v", "dense"),
)
