"""T-Gate (ScaleGate): a skip list that sorts at insertion and gives out only what is ready.

Algorithm 4 of "Efficient data streaming multiway aggregation" (sections 4 and 5.5). Each source
inserts its own timestamp-sorted tuples; each reader walks the lowest level behind its own ``head``
and sees every tuple once, in one total order: (timestamp, source, position in the source)::

    level 1   [F]---------------->[a2]---------------->[b3]              F  front, before all tuples
    level 0   [F]-->[a1]-->[b1]-->[a2]-->[b2]-->[a3]-->[b3]              aN tuple N of source a
               ^            ^                    ^      ^
               anchor       head of a reader     written[a], written[b]

A tuple is *ready* once its source has delivered a later one: it then has, from every source, a last
delivered tuple at or behind it, because those stay in the list.

Invariants
----------
1. Level 0 holds every tuple that some reader has not passed, in the total order; each higher level
   holds a subset of the one below, in the same order. Links lead forward only.
2. A node is on all its levels before ``written`` counts it.
3. No reader passes the last node that ``written`` counts of any source: every source keeps one
   node, its dummy at first, that no reader has passed.
4. ``anchor`` is a node of full height that reader 0 has passed; it and all nodes behind it in the
   order are not used again while a source is pinned to an epoch at or before its publication.
5. A source has at most ``ahead`` tuples that some reader has not passed; nodes that are passed and
   not yet let go count against it too.

Linearization points are the paper's: among insertions the CAS on level 0; between an insertion and
a reader, the store to ``written`` and the reader's load of it.

Progress: a lost CAS means that another source's succeeded, so insertion is lock-free; reading has
no loop but the one over the dummies. FULL is the answer when readers, or a source in the middle of
an insertion, keep nodes from being used again.

Departures from the paper
-------------------------
# ASSUME: ties go by source number; Algorithm 4 inserts behind equal timestamps, which gives another
# order every run.
# ASSUME: the paper leaves memory to Java's garbage collector. Here each source owns a ring of nodes
# and uses the oldest again; `t_gate_reuse` says when it may.
# ASSUME: an end tuple closes a source; without one its last tuple never leaves.
# ASSUME: a short tuple is looked for on level 0 first, from its source's last one. Its place is
# mostly a few nodes away, and what lies behind a source's last tuple needs no pin.
"""

from __future__ import annotations

from operators.contract import (
    ACCEPTED,
    END,
    FULL,
    NOT_READY,
    OUT_OF_ORDER,
    READY,
    Look,
    Shown,
    Variant,
)
from operators.core.atomics import ACQUIRE, RELAXED, RELEASE, cas, load, store
from operators.core.integers import mix64
from operators.core.jit import inlined
from operators.core.layout import LINE_WORDS
from operators.core.marks import mark
from operators.gate.family import GateOperations
from operators.gate.t_gate_reuse import insert_tuple_make_room, pass_node, pin, unpin
from operators.gate.t_gate_state import (
    CLOSED,
    COUNT_WORDS,
    COUNTS,
    DUMMY_TIMESTAMP,
    END_TIMESTAMP,
    FINGER_WORDS,
    FINGERS,
    HEAD,
    HEIGHT,
    KEY,
    LAST_TIMESTAMP,
    NEXT,
    NIL,
    PARAMETERS,
    PASSED,
    ROOM,
    SEEN,
    SEQUENCE,
    SINCE_TALL,
    SLOT,
    SOURCE,
    TIMESTAMP,
    VALUE,
    check_invariants,
    level_word,
    make_state,
)

# A node goes one level higher with probability 1/16 (four bits): few shortcuts were faster than
# many on two cores, by a quarter over 1/4 with 2 and 8 sources, and one node in 256 on the highest
# of three levels is enough for a walk to be short.  # ASSUME: the paper's text lost the share.
HEIGHT_BITS = 4
# How many level-0 nodes an insertion looks at before it takes the shortcuts.
WALK_LIMIT = 24


# --- insertTuple ---------------------------------------------------------------------------------


@inlined
def insert_tuple(state, source, timestamp, key, value):
    """Insert a tuple at its place in the total order (Algorithm 4, insertTuple)."""
    own = source * state.private_words
    if timestamp < state.private[own + LAST_TIMESTAMP] or timestamp >= END_TIMESTAMP:
        return OUT_OF_ORDER
    sequence = state.private[own + SEQUENCE]
    if sequence >= state.private[own + ROOM] and not insert_tuple_make_room(state, source, own):
        mark("t_gate: full")
        return FULL
    state.private[own + LAST_TIMESTAMP] = timestamp
    insert_tuple_link(state, source, own, sequence, timestamp, key, value)
    return ACCEPTED


@inlined
def close_source(state, source):
    """Insert the end tuple: nothing follows, and nothing of this source holds the readers up."""
    own = source * state.private_words
    if state.private[own + CLOSED] == 0:
        state.private[own + CLOSED] = 1
        state.private[own + LAST_TIMESTAMP] = END_TIMESTAMP  # what comes now is out of order
        sequence = state.private[own + SEQUENCE]
        insert_tuple_link(state, source, own, sequence, END_TIMESTAMP, 0, 0)
    return ACCEPTED


@inlined
def insert_tuple_link(state, source, own, sequence, timestamp, key, value):
    """Fill the source's next node, put it on its levels, then let ``written`` count it."""
    private = state.private
    node = source * state.ring + private[own + SLOT]
    place = node * state.stride
    height = node_height(state, source, own, sequence)
    fill_node(state, source, place, height, timestamp, key, value)
    if height > 1 or not link_near(state, source, own, place, node, timestamp):
        link_far(state, source, own, place, node, timestamp, height)
    set_finger(private, own + FINGERS, node, timestamp, source)
    private[own + SEQUENCE] = sequence + 1
    slot = private[own + SLOT] + 1
    private[own + SLOT] = 0 if slot == state.ring else slot
    # Keeps the node's links before its count: a reader that sees the count may pass the tuple
    # before it, and may then have to find this one (invariants 2 and 3). Pairs with is_ready.
    # Linearizes insert_tuple with respect to readers.
    store(state.written, source * LINE_WORDS, sequence, RELEASE)


@inlined
def fill_node(state, source, place, height, timestamp, key, value):
    """Put a tuple into a node that nobody else can reach."""
    state.nodes[place + TIMESTAMP] = timestamp
    state.nodes[place + SOURCE] = source
    state.nodes[place + HEIGHT] = height
    state.nodes[place + KEY] = key
    state.nodes[place + VALUE] = value


@inlined
def node_height(state, source, own, sequence):
    """Return a random height; full height at least every ``tall_every`` nodes of the source."""
    private = state.private
    height = 1
    bits = mix64(sequence * state.sources + source)
    while height < state.levels and bits & ((1 << HEIGHT_BITS) - 1) == 0:
        height += 1
        bits >>= HEIGHT_BITS
    since = private[own + SINCE_TALL] + 1
    if since >= state.tall_every:
        height = state.levels
    private[own + SINCE_TALL] = 0 if height == state.levels else since
    return height


@inlined
def precedes(state, place, timestamp, source):
    """Say whether the node at `place` comes before a new tuple of `source` at `timestamp`."""
    other = state.nodes[place + TIMESTAMP]
    return other < timestamp or (other == timestamp and state.nodes[place + SOURCE] <= source)


@inlined
def set_finger(private, finger, node, timestamp, source):
    """Remember a node with its position, which stays true when the node is used again."""
    private[finger] = node
    private[finger + 1] = timestamp
    private[finger + 2] = source


@inlined
def link_near(state, source, own, place, node, timestamp):
    """Link on level 0, looking at no more than WALK_LIMIT nodes from the source's last one.

    Needs no pin: no reader passes the source's last node before ``written`` counts the new one
    (invariant 3), so nothing behind it can be used again meanwhile.
    """
    before = state.private[own + FINGERS]
    for _ in range(WALK_LIMIT):
        # Pairs with the CAS that linked `after`: its timestamp and source are filled in.
        after = load(state.nodes, before * state.stride + NEXT, ACQUIRE)
        if after != NIL and precedes(state, after * state.stride, timestamp, source):
            before = after
            continue
        # The CAS publishes this word with the rest of the node.
        store(state.nodes, place + NEXT, after, RELAXED)
        # Keeps the node's fields before the link to it. Linearizes insert_tuple among insertions.
        if cas(state.nodes, before * state.stride + NEXT, after, node, RELEASE):
            return True
        # Another source has linked a node right here: look at that one next.
        mark("t_gate: level_0_lost")
    mark("t_gate: far")
    return False


@inlined
def link_far(state, source, own, place, node, timestamp, height):
    """Search from the top level down, then link on each level of the node (``levelinsert``)."""
    fingers = own + FINGERS
    pin(state, source)
    search(state, source, fingers, timestamp, 0)
    for level in range(height):
        finger = fingers + FINGER_WORDS * level
        level_insert(state, level, state.private[finger], place, node, timestamp, source)
        set_finger(state.private, finger, node, timestamp, source)
    unpin(state, source)


@inlined
def search(state, source, fingers, timestamp, lowest):
    """Move the source's fingers (the paper's ``update``) to the last nodes before the tuple.

    Under a pin. Fingers below the level `lowest` stay where they are.
    """
    private = state.private
    before = load(state.anchor, 0, ACQUIRE)
    before_timestamp = state.nodes[before * state.stride + TIMESTAMP]
    before_source = state.nodes[before * state.stride + SOURCE]
    for level in range(state.levels - 1, lowest - 1, -1):
        finger = fingers + FINGER_WORDS * level
        # A finger behind the place reached so far is behind the anchor too or need not be
        # followed; its node may be in use again, so its position is remembered beside it.
        if private[finger + 1] > before_timestamp or (
            private[finger + 1] == before_timestamp and private[finger + 2] > before_source
        ):
            before = private[finger]
            before_timestamp = private[finger + 1]
            before_source = private[finger + 2]
        word = level_word(level)
        after = load(state.nodes, before * state.stride + word, ACQUIRE)
        while after != NIL and precedes(state, after * state.stride, timestamp, source):
            before = after
            after = load(state.nodes, before * state.stride + word, ACQUIRE)
        before_timestamp = state.nodes[before * state.stride + TIMESTAMP]
        before_source = state.nodes[before * state.stride + SOURCE]
        set_finger(private, finger, before, before_timestamp, before_source)


@inlined
def level_insert(state, level, before, place, node, timestamp, source):
    """Link the node on one level behind `before` or behind what has come between."""
    word = level_word(level)
    while True:
        after = load(state.nodes, before * state.stride + word, ACQUIRE)
        if after != NIL and precedes(state, after * state.stride, timestamp, source):
            before = after
            continue
        store(state.nodes, place + word, after, RELAXED)
        # As in link_near. The retry ends: each loss is another source's node linked.
        if cas(state.nodes, before * state.stride + word, after, node, RELEASE):
            return
        mark("t_gate: level_lost")


# --- getNextReadyTuple ---------------------------------------------------------------------------


@inlined
def get_next_ready_tuple(state, reader, out):
    """Give the reader the next tuple if it is ready (Algorithm 4, getNextReadyTuple)."""
    mine = reader * state.reading_words
    while True:
        head = state.reading[mine + HEAD]
        # Pairs with the CAS that linked the node: what it holds is filled in.
        node = load(state.nodes, head * state.stride + NEXT, ACQUIRE)
        place = node * state.stride
        timestamp = state.nodes[place + TIMESTAMP]
        if timestamp == END_TIMESTAMP:
            return END  # invariant 3: every other source's last tuple is here or behind, its end
        source = state.nodes[place + SOURCE]
        counts = mine + COUNTS + COUNT_WORDS * source
        if not is_ready(state, source, counts):
            return NOT_READY
        state.reading[mine + HEAD] = node
        pass_node(state, reader, mine, source, counts, node, place)
        if timestamp != DUMMY_TIMESTAMP:
            out[0] = timestamp
            out[1] = source
            out[2] = state.nodes[place + KEY]
            out[3] = state.nodes[place + VALUE]
            return READY


@inlined
def is_ready(state, source, counts):
    """Say whether the source has delivered a tuple after the one the reader stands before."""
    reading = state.reading
    passed = reading[counts + PASSED]
    if passed < reading[counts + SEEN]:
        return True
    # Pairs with the store in insert_tuple_link. Asked only when what was seen is used up, so that
    # the line travels once a batch. Linearizes get_next_ready_tuple.
    seen = load(state.written, source * LINE_WORDS, ACQUIRE)
    reading[counts + SEEN] = seen
    return passed < seen


# Where its other numbers of levels are shown: the text lost the paper's.
_FIGURES = {"multiway_aggregation": ("7",)}

VARIANT = Variant(
    id="t-gate",
    family="gate",
    title="T-Gate",
    paper="multiway_aggregation",
    section="5.5, Algorithm 4",
    operations=GateOperations(
        make_state, insert_tuple, get_next_ready_tuple, close_source, check_invariants
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
