"""T-Gate (ScaleGate): a skip list that sorts at insertion and returns only ready tuples.

Algorithm 4 of "Efficient data streaming multiway aggregation" (sections 4 and 5.5). Each source
inserts tuples sorted by timestamp; each reader walks the lowest level behind a private ``head`` and
sees every tuple once, in one total order: (timestamp, source, position in the source)::

    level 1   [F]---------------->[a2]---------------->[b3]              F  front, before all tuples
    level 0   [F]-->[a1]-->[b1]-->[a2]-->[b2]-->[a3]-->[b3]              aN tuple N of source a
               ^            ^                    ^      ^
               anchor       head of a reader     written[a], written[b]

A tuple is *ready* (at or below the watermark of all sources) once its source has delivered a later
one: every source then has a last delivered tuple at or behind it, because those stay in the list.

Invariants
----------
1. Level 0 holds every tuple that some reader has not passed, in the total order; each higher level
   holds a subset of the level below, in the same order. Links lead forward only.
2. A node is on all its levels before ``written`` counts it.
3. No reader passes the last node that ``written`` counts of any source: every source keeps one
   node, initially a dummy, that no reader has passed.
4. ``anchor`` is a node of full height that reader 0 has passed. Neither the anchor nor any node
   behind it in the order is reused while a source is pinned to an epoch in which a search could
   begin there.
5. A source has at most ``ahead`` tuples that some reader has not passed; nodes that are passed but
   not yet released count too.

Linearization points are the paper's: among insertions, the CAS on level 0; between an insertion and
a reader, the store to ``written`` and the reader's load of it.

Progress: a lost CAS means that another source's CAS succeeded, so insertion is lock-free; the only
loop of a reader is the one over the dummies. The answer is FULL (backpressure) when readers, or a
source in the middle of an insertion, keep nodes from being reused.

Reuse of nodes: a node is reused once it is unreachable, that is, when every reader has passed it
and no source's search can begin at or before it. Searches begin at fingers that are not behind
``anchor``, a node that reader 0 moves forward before advancing the epoch; a searching source is
pinned (epoch-based reclamation, `operators.core.epochs`). An idle or closed source pins nothing,
however far behind its fingers are. Every source makes a node of full height at least each
``tall_every``, so that the anchor follows the readers closely enough for ``ahead`` nodes to suffice
at all times.

Departures from the paper
-------------------------
# ASSUME: ties go by source number; Algorithm 4 inserts behind equal timestamps, so that the order
# differs from run to run.
# ASSUME: the paper leaves memory to Java's garbage collector. Here each source has a ring of nodes
# and reuses the oldest.
# ASSUME: an end tuple closes a source; without one the source's last tuple never leaves.
# ASSUME: the search for a short tuple's position begins on level 0, at the source's last tuple. The
# position is mostly a few nodes away, and nodes behind a source's last tuple need no pin.
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
    Shown,
    UsageError,
    Variant,
)
from operators.core import epochs
from operators.core.atomics import ACQUIRE, RELAXED, RELEASE, cas, load, store
from operators.core.epochs import Epochs, make_epochs
from operators.core.integers import random_height
from operators.core.jit import inlined
from operators.core.layout import LINE_WORDS, aligned_words, line_at, whole_lines
from operators.core.marks import mark
from operators.gate.family import GateAnswers, GateOperations
from operators.gate.shape import check_gate_bytes

NIL = -1
FRONT_TIMESTAMP = -2
DUMMY_TIMESTAMP = -1
END_TIMESTAMP = TIMESTAMP_LIMIT

# A node: one cache line up to three levels, so that a reader touches one line a tuple.
NEXT = 0  # level 0; the levels above follow HIGHER
TIMESTAMP, SOURCE, HEIGHT, KEY, VALUE = 1, 2, 3, 4, 5
HIGHER = 5  # level l >= 1 is word HIGHER + l

# Words private to a source.
SEQUENCE, SLOT, LAST_TIMESTAMP, ROOM, SINCE_TALL, CLOSED = range(6)
FINGERS = LINE_WORDS  # the paper's `update`: node, timestamp, source per level. Level 0: the last
FINGER_WORDS = 3

# Words private to a reader: the head, then for each source the numbers of nodes passed, released,
# and known to be written.
HEAD = 0
COUNTS = LINE_WORDS
PASSED, RELEASED, SEEN = 0, 1, 2
COUNT_WORDS = 3

_UNREAD = "a source's tuples not yet read by all"
PARAMETERS = (
    # As in the native gate that was compared with, since the number decides throughput: 512 and
    # 2048 make 0.59 and 2.01 times as many tuples/s with 2 sources, 1.18 and 1.02 with 20 (three
    # pairs, two cores of an EPYC).
    Parameter("ahead", 1024, 3, 1 << 20, "tuples", _UNREAD, bounds_flight=True),
    # 2 and 6 make 1.17 and 0.60 times as many with 2 sources, 1.02 and 0.75 with 20.
    Parameter("levels", 3, 1, 32, "levels", "height of the tallest node (max_levels)"),
)

# A node goes one level higher with probability 1/16 (four bits): few shortcuts were faster than
# many, by a quarter over 1/4 with 2 and 8 sources on two cores of an EPYC, and one node in 256 on
# the highest of three levels makes a walk short.  # ASSUME: the paper's text lost the share.
HEIGHT_BITS = 4
# Level-0 nodes that an insertion examines before taking the shortcuts. 6, 24 and 96 could not be
# distinguished with 20 sources (11.6 to 14.5 million tuples/s).
WALK_LIMIT = 24


class TGateState(NamedTuple):
    """The words of a T-Gate, grouped by their writers."""

    nodes: np.ndarray  # [count * stride]; a node is filled by its source before the CAS links it
    written: np.ndarray  # [sources] lines; source writes, readers read: number of the last node
    searches: Epochs  # of the sources; reader 0 advances them after moving the anchor
    private: np.ndarray  # [sources] blocks of private_words; only that source
    released: np.ndarray  # [readers * sources] lines; reader writes, source reads (invariant 4)
    anchor: np.ndarray  # [1]; reader 0 writes, sources read
    reading: np.ndarray  # [readers] blocks of reading_words; only that reader
    stride: int  # words of a node
    levels: int
    ahead: int
    ring: int  # nodes of a source
    tall_every: int  # most nodes of a source between two of full height
    sources: int
    readers: int
    private_words: int
    reading_words: int


def make_state(sources: int, readers: int, ahead: int, levels: int) -> TGateState:
    """Allocate a T-Gate that holds one dummy tuple a source (Algorithm 4, L30).

    Parameters
    ----------
    sources, readers : int
        At least one each.
    ahead : int
        Tuples of a source that some reader may not have passed yet.
    levels : int
        Height of the tallest node.

    Raises
    ------
    UsageError
        When a parameter is out of its limits, or the gate would be too large.
    """
    for name, value in (("sources", sources), ("readers", readers)):
        if value < 1:
            raise UsageError(f"{name} must be at least 1, received {value}")
    for parameter, value in zip(PARAMETERS, (ahead, levels), strict=True):
        parameter.check(value)
    ring = ahead + 1  # the end tuple needs no room of the others
    stride = whole_lines(HIGHER + levels)
    private_words = whole_lines(FINGERS + FINGER_WORDS * levels)
    reading_words = whole_lines(COUNTS + COUNT_WORDS * sources)
    of_readers = readers * (sources * LINE_WORDS + reading_words)
    check_gate_bytes("t-gate", sources, ahead, (sources * ring + 1) * stride + of_readers)
    state = TGateState(
        nodes=aligned_words((sources * ring + 1) * stride),
        written=aligned_words(sources * LINE_WORDS),
        searches=make_epochs(sources),
        private=aligned_words(sources * private_words),
        released=aligned_words(readers * sources * LINE_WORDS),
        anchor=aligned_words(LINE_WORDS),
        reading=aligned_words(readers * reading_words),
        stride=stride,
        levels=levels,
        ahead=ahead,
        ring=ring,
        tall_every=tall_every(ahead),
        sources=sources,
        readers=readers,
        private_words=private_words,
        reading_words=reading_words,
    )
    front = sources * ring
    state.anchor[0] = front
    state.reading[::reading_words] = front
    chain = [front, *(source * ring for source in range(sources))]
    for source, node in enumerate(chain, start=-1):
        words = state.nodes[node_at(state, node) :]
        words[TIMESTAMP] = FRONT_TIMESTAMP if source < 0 else DUMMY_TIMESTAMP
        words[SOURCE] = source
        words[HEIGHT] = levels
        after = chain[source + 2] if source + 1 < sources else NIL
        words[NEXT] = after
        words[HIGHER + 1 : HIGHER + levels] = after
        if source >= 0:
            own = state.private[own_at(state, source) :]
            own[[SEQUENCE, SLOT, ROOM]] = 1, 1, ahead
            for level in range(levels):
                set_finger(state, source, level, node, DUMMY_TIMESTAMP, source)
    return state


def tall_every(ahead: int) -> int:
    """Return the most nodes of a source from one of full height to the next.

    An eighth: nodes that wait for release, fewer than two eighths, leave a source most of the room.
    Compared with that, a quarter made 0.98 [0.94, 1.04] times as many tuples/s with 2 sources, a
    sixteenth 1.06 [1.04, 1.09]; with 20, where equal runs lie twice apart, 1.20 [0.94, 1.96] and
    0.99 [0.51, 2.01] (three pairs in turns, two cores of an EPYC).
    """
    return max(1, ahead // 8)


def room(ahead: int) -> int:
    """Return the fewest tuples before the slowest reader with which a source may be full.

    A reader releases nodes at a node of full height of that source, once it has passed more than
    ``tall_every`` since the last release; fewer than twice as many wait. The tall node stays.
    """
    return ahead - 2 * tall_every(ahead) + 1


# The last tuple of an open source is held back.
ANSWERS = GateAnswers(room, holds=lambda ahead, batch: 1, pins=True)


# --- layout --------------------------------------------------------------------------------------


@inlined
def node_at(state, node):
    """Return the first word of a node."""
    return node * state.stride


@inlined
def link_at(state, node, level):
    """Return the word that links a node on `level`."""
    return node * state.stride + (NEXT if level == 0 else HIGHER + level)


@inlined
def own_at(state, source):
    """Return the first of the words private to a source."""
    return source * state.private_words


@inlined
def finger_at(state, source, level):
    """Return the first of the words that hold a source's last node on `level`."""
    return source * state.private_words + FINGERS + FINGER_WORDS * level


@inlined
def reading_at(state, reader):
    """Return the first of the words private to a reader."""
    return reader * state.reading_words


@inlined
def counts_at(state, reader, source):
    """Return the first of a reader's counts of a source."""
    return reader * state.reading_words + COUNTS + COUNT_WORDS * source


@inlined
def released_at(state, reader, source):
    """Return the word with the number of a source's nodes that a reader has released."""
    return (reader * state.sources + source) * LINE_WORDS


@inlined
def set_finger(state, source, level, node, timestamp, owner):
    """Remember a node with its position, which stays valid when the node is reused."""
    finger = finger_at(state, source, level)
    state.private[finger] = node
    state.private[finger + 1] = timestamp
    state.private[finger + 2] = owner


# --- insertTuple ---------------------------------------------------------------------------------


@inlined
def insert_tuple(state, source, timestamp, key, value):
    """Insert a tuple at the right position of the total order (Algorithm 4, insertTuple)."""
    own = own_at(state, source)
    if timestamp < state.private[own + LAST_TIMESTAMP] or timestamp >= END_TIMESTAMP:
        return OUT_OF_ORDER
    sequence = state.private[own + SEQUENCE]
    if sequence >= state.private[own + ROOM] and not insert_tuple_make_room(state, source):
        mark("t_gate: full")
        return FULL
    state.private[own + LAST_TIMESTAMP] = timestamp
    insert_tuple_link(state, source, timestamp, key, value)
    return ACCEPTED


@inlined
def close_source(state, source):
    """Insert the end tuple: no tuple follows, and this source holds no reader up any more."""
    own = own_at(state, source)
    if state.private[own + CLOSED] == 0:
        state.private[own + CLOSED] = 1
        state.private[own + LAST_TIMESTAMP] = END_TIMESTAMP  # later tuples are out of order
        insert_tuple_link(state, source, END_TIMESTAMP, 0, 0)
    return ACCEPTED


@inlined
def insert_tuple_link(state, source, timestamp, key, value):
    """Fill the source's next node, link it on all levels, then let ``written`` count it."""
    private = state.private
    own = own_at(state, source)
    sequence = private[own + SEQUENCE]
    node = source * state.ring + private[own + SLOT]
    height = node_height(state, source, sequence)
    fill_node(state, node, source, height, timestamp, key, value)
    if height > 1 or not link_near(state, source, node, timestamp):
        link_far(state, source, node, timestamp, height)
    set_finger(state, source, 0, node, timestamp, source)
    private[own + SEQUENCE] = sequence + 1
    slot = private[own + SLOT] + 1
    private[own + SLOT] = 0 if slot == state.ring else slot
    # Keeps the node's links before the count: a reader that sees the count may pass the tuple
    # before this one, and may then have to find this one (invariants 2 and 3). Pairs with is_ready.
    # Linearizes insert_tuple with respect to readers.
    store(state.written, line_at(source), sequence, RELEASE)


@inlined
def fill_node(state, node, source, height, timestamp, key, value):
    """Put a tuple into a node that no other thread can reach."""
    place = node_at(state, node)
    state.nodes[place + TIMESTAMP] = timestamp
    state.nodes[place + SOURCE] = source
    state.nodes[place + HEIGHT] = height
    state.nodes[place + KEY] = key
    state.nodes[place + VALUE] = value


@inlined
def node_height(state, source, sequence):
    """Return a random height; full height at least every ``tall_every`` nodes of the source."""
    since_tall = own_at(state, source) + SINCE_TALL
    height = random_height(sequence * state.sources + source, state.levels, HEIGHT_BITS)
    since = state.private[since_tall] + 1
    if since >= state.tall_every:
        height = state.levels
    state.private[since_tall] = 0 if height == state.levels else since
    return height


@inlined
def precedes(state, node, timestamp, source):
    """Say whether a node comes before a new tuple of `source` at `timestamp`."""
    place = node_at(state, node)
    other = state.nodes[place + TIMESTAMP]
    return other < timestamp or (other == timestamp and state.nodes[place + SOURCE] <= source)


@inlined
def link_near(state, source, node, timestamp):
    """Link on level 0, within WALK_LIMIT nodes of the source's last one.

    Needs no pin: no reader passes the source's last node before ``written`` counts the new one
    (invariant 3), so no node behind it can be reused meanwhile.
    """
    before = state.private[finger_at(state, source, 0)]
    for _ in range(WALK_LIMIT):
        # Pairs with the CAS that linked `after`: timestamp and source of `after` are filled in.
        after = load(state.nodes, link_at(state, before, 0), ACQUIRE)
        if after != NIL and precedes(state, after, timestamp, source):
            before = after
            continue
        # The CAS publishes this word with the rest of the node.
        store(state.nodes, link_at(state, node, 0), after, RELAXED)
        # Keeps the node's fields before the link to it. Linearizes insert_tuple among insertions.
        if cas(state.nodes, link_at(state, before, 0), after, node, RELEASE):
            return True
        # Another source has linked a node at this position: examine that one next.
        mark("t_gate: level_0_lost")
    mark("t_gate: far")
    return False


@inlined
def link_far(state, source, node, timestamp, height):
    """Search from the top level down, then link on each level of the node (``levelinsert``)."""
    epochs.pin(state.searches, source)
    search(state, source, timestamp)
    for level in range(height):
        before = state.private[finger_at(state, source, level)]
        level_insert(state, level, before, node, timestamp, source)
        set_finger(state, source, level, node, timestamp, source)
    epochs.unpin(state.searches, source)


@inlined
def search(state, source, timestamp):
    """Move the source's fingers (the paper's ``update``) to the last nodes before the tuple.

    Under a pin.
    """
    private = state.private
    # ACQUIRE pairs with release_before: the nodes that the anchor leads to are filled in.
    before = load(state.anchor, 0, ACQUIRE)
    before_timestamp = state.nodes[node_at(state, before) + TIMESTAMP]
    before_source = state.nodes[node_at(state, before) + SOURCE]
    for level in range(state.levels - 1, -1, -1):
        finger = finger_at(state, source, level)
        # A finger behind the position reached so far is behind the anchor too or need not be
        # followed; the node may have been reused, so the finger holds a copy of the position.
        if private[finger + 1] > before_timestamp or (
            private[finger + 1] == before_timestamp and private[finger + 2] > before_source
        ):
            before = private[finger]
            before_timestamp = private[finger + 1]
            before_source = private[finger + 2]
        # ACQUIRE as in link_near, here and below.
        after = load(state.nodes, link_at(state, before, level), ACQUIRE)
        while after != NIL and precedes(state, after, timestamp, source):
            before = after
            after = load(state.nodes, link_at(state, before, level), ACQUIRE)
        before_timestamp = state.nodes[node_at(state, before) + TIMESTAMP]
        before_source = state.nodes[node_at(state, before) + SOURCE]
        set_finger(state, source, level, before, before_timestamp, before_source)


@inlined
def level_insert(state, level, before, node, timestamp, source):
    """Link the node on one level behind `before`, or behind nodes linked there meanwhile."""
    while True:
        # The three atomics are as in link_near.
        after = load(state.nodes, link_at(state, before, level), ACQUIRE)
        if after != NIL and precedes(state, after, timestamp, source):
            before = after
            continue
        store(state.nodes, link_at(state, node, level), after, RELAXED)
        # The retry ends: each lost CAS means that another source has linked a node.
        if cas(state.nodes, link_at(state, before, level), after, node, RELEASE):
            return
        mark("t_gate: level_lost")


# --- getNextReadyTuple ---------------------------------------------------------------------------


@inlined
def get_next_ready_tuple(state, reader, out):
    """Return the next tuple to the reader if it is ready (Algorithm 4, getNextReadyTuple)."""
    mine = reading_at(state, reader)
    while True:
        head = state.reading[mine + HEAD]
        # RELAXED: the reader passes a node once it has acquired that the source has delivered the
        # next one (is_ready). So what it has acquired includes the next node of each source, its
        # links and fields, and the first of these is the node found here.
        node = load(state.nodes, link_at(state, head, 0), RELAXED)
        place = node_at(state, node)
        timestamp = state.nodes[place + TIMESTAMP]
        if timestamp == END_TIMESTAMP:
            return END  # invariant 3: the last tuple of every other source is an end tuple too
        source = state.nodes[place + SOURCE]
        if not is_ready(state, reader, source):
            return NOT_READY
        state.reading[mine + HEAD] = node
        pass_node(state, reader, source, node)
        if timestamp != DUMMY_TIMESTAMP:
            out[0] = timestamp
            out[1] = source
            out[2] = state.nodes[place + KEY]
            out[3] = state.nodes[place + VALUE]
            return READY


@inlined
def is_ready(state, reader, source):
    """Say whether the source has delivered a tuple after the next one of the reader."""
    reading = state.reading
    counts = counts_at(state, reader, source)
    passed = reading[counts + PASSED]
    if passed < reading[counts + SEEN]:
        return True
    # Pairs with the store in insert_tuple_link. Loaded only when the known tuples are used up, so
    # that the cache line travels once a batch. Linearizes get_next_ready_tuple.
    seen = load(state.written, line_at(source), ACQUIRE)
    reading[counts + SEEN] = seen
    return passed < seen


# --- reuse of nodes ------------------------------------------------------------------------------


@inlined
def pass_node(state, reader, source, node):
    """Count a passed node; at one of full height, now and then, release all nodes before it."""
    reading = state.reading
    counts = counts_at(state, reader, source)
    passed = reading[counts + PASSED] + 1
    reading[counts + PASSED] = passed
    if state.nodes[node_at(state, node) + HEIGHT] == state.levels and (
        passed - reading[counts + RELEASED] > state.tall_every
    ):
        release_before(state, reader, source, node)


@inlined
def release_before(state, reader, source, node):
    """Release every node that this reader has passed, up to `node`, which stays."""
    reading = state.reading
    if reader == 0:
        # RELEASE: the node was filled by another thread.
        store(state.anchor, 0, node, RELEASE)
        # Behind the anchor: who pins the new epoch starts from there.
        epochs.advance(state.searches)
    for other in range(state.sources):
        counts = counts_at(state, reader, other)
        passed = reading[counts + PASSED] - (1 if other == source else 0)
        if passed > reading[counts + RELEASED]:
            reading[counts + RELEASED] = passed
            # Keeps this reader's reads of those nodes, and reader 0's epoch, before their reuse.
            store(state.released, released_at(state, reader, other), passed, RELEASE)


@inlined
def insert_tuple_make_room(state, source):
    """Find out how many of the source's nodes may be reused; False when no more than before."""
    # ACQUIRE pairs with the store in release_before: the epoch read below is at least the one of
    # these nodes.
    released = load(state.released, released_at(state, 0, source), ACQUIRE)
    for reader in range(1, state.readers):
        # RELAXED: only reader 0 announces epochs, and the fence in all_left acquires that this
        # reader has read the nodes before they are used again.
        slower = load(state.released, released_at(state, reader, source), RELAXED)
        released = min(released, slower)
    room = released + state.ahead
    known = own_at(state, source) + ROOM
    if room <= state.private[known]:
        return False
    if not epochs.all_left(state.searches, epochs.latest(state.searches)):
        mark("t_gate: pinned")
        return False
    state.private[known] = room
    return True


def check_invariants(state: TGateState) -> None:
    """Assert the invariants of a quiescent gate (plain Python)."""
    epochs.check_invariants(state.searches)
    nodes = state.nodes.reshape(-1, state.stride)
    below = None
    for level in reversed(range(state.levels)):
        chain = [int(state.anchor[0])]
        while (after := int(state.nodes[link_at(state, chain[-1], level)])) != NIL:
            chain.append(after)
            assert len(chain) <= len(nodes), f"invariant 1: level {level} goes round in a circle"
        positions = [(nodes[n, TIMESTAMP], nodes[n, SOURCE]) for n in chain]
        assert positions == sorted(positions), f"invariant 1: level {level} is out of order"
        assert all(nodes[n, HEIGHT] > level for n in chain), f"invariant 2: level {level}"
        assert below is None or below.issubset(chain), f"invariant 1: level {level} lacks nodes"
        below = set(chain)
    for source in range(state.sources):
        own = state.private[own_at(state, source) :]
        inserted, closed = int(own[SEQUENCE]), int(own[CLOSED])
        live = sum(1 for n in chain if nodes[n, SOURCE] == source)
        assert int(own[FINGERS]) in below, f"invariant 3: source {source} lost its last node"
        assert state.written[line_at(source)] == inserted - 1, f"invariant 2: {source}"
        assert live == inserted - state.reading[counts_at(state, 0, source) + RELEASED], (
            f"invariant 4: {source}"
        )
        for reader in range(state.readers):
            passed = int(state.reading[counts_at(state, reader, source) + PASSED])
            assert passed < inserted, f"invariant 3: reader {reader} passed source {source}'s last"
            assert inserted - closed - passed <= state.ahead, f"invariant 5: source {source}"


# Figures that show the other numbers of levels: the text lost the paper's number.
_FIGURES = {"multiway_aggregation": ("7",)}

VARIANT = Variant(
    id="t-gate",
    family="gate",
    title="T-Gate",
    paper="multiway_aggregation",
    section="5.5, Algorithm 4",
    operations=GateOperations(
        make_state, insert_tuple, get_next_ready_tuple, close_source, check_invariants, ANSWERS
    ),
    order="total: (timestamp, source, position)",
    progress="lock-free",
    threads={"source": "one per source", "reader": "any number, each sees every tuple"},
    capacity="ahead tuples a source; a full source is told FULL",
    parameters=PARAMETERS,
    look=Look("blue", "o", "solid"),
    shown=(
        Shown("levels=1", "T-Gate, 1 level", Look("#003f63", "X"), _FIGURES),
        Shown("levels=2", "T-Gate, 2 levels", Look("#5e4fa2", "h"), _FIGURES),
        Shown("levels=8", "T-Gate, 8 levels", Look("#7189a0", "8"), _FIGURES),
    ),
)
