"""A T-Gate into which a source links several tuples at once.

In no paper. The costs that a T-Gate's source pays for every tuple (a compare-and-swap, a store that
the readers wait for, every few tuples a search under a pin) are paid here once a batch. Nodes,
readers and the order are those of `t_gate`; a source fills nodes first, and links them when there
are `batch` of them, when a reader waits for the source, or when the source closes or is full::

    level 0   [F]-->[a1]-->[b1]----------------->[a2]      a3 to a5 are filled, and not linked
                               `-->[b2]-->[b3]--'          b2 and b3 come between the same two
                                                           nodes: one CAS links both

So as not to hold readers up, a reader that finds a source's last linked tuple not ready asks for
more in ``wanted``, and that source's next tuple is linked at once. A tuple thus stays unlinked only
if no reader had asked for it when it came.

Invariants, in addition to those of `t_gate`, where "inserted" and ``SEQUENCE`` mean linked:

6. A source has fewer than `batch` tuples unlinked, the latest it delivered, in order in the nodes
   behind the last linked one; no other thread can reach them. They count against `ahead`.
7. A batch is linked on all levels before ``written`` counts any of it.

Linearization points: among insertions the CAS that links a run of tuples on level 0; between
insertions and a reader, the store to ``written``. Progress as in `t_gate`.

A tuple that is unlinked when its source falls silent stays unlinked: up to `batch` tuples of an
open source may be held back, where the T-Gate holds back one. Closing a source links all of them.

# ASSUME: the half of `ahead` bounds `batch`, so that a full source has tuples for the readers.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from operators.contract import (
    ACCEPTED,
    FULL,
    NOT_READY,
    OUT_OF_ORDER,
    Look,
    Parameter,
    Variant,
)
from operators.core import epochs
from operators.core.atomics import ACQUIRE, RELAXED, RELEASE, cas, load, store
from operators.core.jit import inlined
from operators.core.layout import LINE_WORDS, aligned_words, line_at
from operators.core.marks import mark
from operators.gate import t_gate
from operators.gate.family import GateAnswers, GateOperations
from operators.gate.t_gate import (
    END_TIMESTAMP,
    HEAD,
    HEIGHT,
    LAST_TIMESTAMP,
    NIL,
    ROOM,
    SEEN,
    SEQUENCE,
    SINCE_TALL,
    SLOT,
    SOURCE,
    TIMESTAMP,
    WALK_LIMIT,
    TGateState,
    counts_at,
    fill_node,
    finger_at,
    insert_tuple_make_room,
    level_insert,
    link_at,
    node_at,
    node_height,
    own_at,
    precedes,
    reading_at,
    search,
    set_finger,
)

PARAMETERS = (
    *t_gate.PARAMETERS,
    # 8, 32 and 64 made 1.00, 1.03 and 1.06 [1.05, 1.07] times as many tuples/s with 2 sources,
    # 0.97, 0.96 and 0.91 [0.89, 0.94] with 20 (three pairs in turns, two cores of an EPYC).
    Parameter("batch", 16, 1, 1 << 20, "tuples", "linked at once, at most half of ahead"),
)


class TGateBatchState(NamedTuple):
    """A T-Gate, and the unlinked tuples of the sources."""

    gate: TGateState
    unlinked: np.ndarray  # [sources] lines; only that source: number of unlinked tuples (6)
    wanted: np.ndarray  # [sources] lines; readers write, source reads: a reader has seen `written`
    # count this tuple and asks for more
    batch: int  # most tuples of an open source that may be held back


def make_state(
    sources: int, readers: int, ahead: int, levels: int, batch: int = PARAMETERS[-1].default
) -> TGateBatchState:
    """Allocate a T-Gate without unlinked tuples.

    Parameters
    ----------
    sources, readers, ahead, levels : int
        As for `t_gate`.
    batch : int
        Tuples linked at once; half of `ahead` where `batch` is larger.

    Raises
    ------
    UsageError
        When a parameter is out of its limits, or the gate would be too large.
    """
    PARAMETERS[-1].check(batch)
    gate = t_gate.make_state(sources, readers, ahead, levels)
    state = TGateBatchState(
        gate=gate,
        unlinked=aligned_words(sources * LINE_WORDS),
        wanted=aligned_words(sources * LINE_WORDS),
        batch=held_back(ahead, batch),
    )
    state.wanted[:] = -1
    return state


def held_back(ahead: int, batch: int) -> int:
    """Return the most tuples of an open source that are held back: one batch."""
    return min(batch, ahead // 2)


ANSWERS = GateAnswers(t_gate.room, held_back, pins=True)


# --- insertion -----------------------------------------------------------------------------------


@inlined
def insert_tuple(state, source, timestamp, key, value):
    """Take a tuple: ACCEPTED, FULL or OUT_OF_ORDER. Called by the source's one thread."""
    gate = state.gate
    private = gate.private
    own = own_at(gate, source)
    if timestamp < private[own + LAST_TIMESTAMP] or timestamp >= END_TIMESTAMP:
        return OUT_OF_ORDER
    unlinked = state.unlinked[line_at(source)]
    sequence = private[own + SEQUENCE] + unlinked
    full = sequence >= private[own + ROOM] and not insert_tuple_make_room(gate, source)
    if full:
        mark("t_gate_batch: full")
        if unlinked == 0:
            return FULL
    else:
        private[own + LAST_TIMESTAMP] = timestamp
        node = unlinked_node(gate, source, unlinked)
        height = height_in_batch(gate, source, sequence, unlinked)
        fill_node(gate, node, source, height, timestamp, key, value)
        unlinked += 1
        state.unlinked[line_at(source)] = unlinked
    # RELAXED: a hint; no other data is read through it.
    asked = load(state.wanted, line_at(source), RELAXED)
    # When full as well: the readers may be waiting for the unlinked tuples.
    if full or unlinked >= state.batch or asked >= private[own + SEQUENCE] - 1:
        link_unlinked(state, source, unlinked)
    return FULL if full else ACCEPTED


@inlined
def close_source(state, source):
    """Link the unlinked tuples, then the end tuple: ACCEPTED."""
    unlinked = state.unlinked[line_at(source)]
    if unlinked > 0:
        link_unlinked(state, source, unlinked)
    return t_gate.close_source(state.gate, source)


@inlined
def height_in_batch(gate, source, sequence, unlinked):
    """Return the height of the source's next node: in a batch only the first is tall.

    So a batch takes one search, and a walk along level 0 from there.
    """
    since_tall = own_at(gate, source) + SINCE_TALL
    since = gate.private[since_tall] + 1
    if unlinked > 0 and since < gate.tall_every:
        gate.private[since_tall] = since
        return 1
    return min(node_height(gate, source, sequence) + 1, gate.levels)


@inlined
def unlinked_node(gate, source, number):
    """Return the source's node that is `number` behind the first unlinked one."""
    slot = gate.private[own_at(gate, source) + SLOT] + number
    if slot >= gate.ring:
        slot -= gate.ring
    return source * gate.ring + slot


@inlined
def link_unlinked(state, source, count):
    """Link a source's `count` unlinked nodes on all levels, then let ``written`` count them."""
    gate = state.gate
    private = gate.private
    own = own_at(gate, source)
    last = link_runs(gate, source, count)
    node = unlinked_node(gate, source, count - 1)
    set_finger(gate, source, 0, node, last, source)
    sequence = private[own + SEQUENCE] + count
    private[own + SEQUENCE] = sequence
    slot = private[own + SLOT] + count
    private[own + SLOT] = slot - gate.ring if slot >= gate.ring else slot
    state.unlinked[line_at(source)] = 0
    # Keeps the nodes' links before their count (7), as in t_gate.insert_tuple_link.
    # Linearizes insert_tuple of each with respect to readers.
    store(gate.written, line_at(source), sequence - 1, RELEASE)


@inlined
def link_runs(gate, source, count):
    """Link `count` nodes on all their levels, in runs, and return the last one's timestamp.

    A walk along level 0 needs no pin: it begins at the source's last counted node, and no node
    behind that can be reused (invariant 3 of `t_gate`). A tall node, or one that is far away, takes
    a search from the top, under one pin for the batch.
    """
    nodes = gate.nodes
    before = gate.private[finger_at(gate, source, 0)]
    linked = 0
    walked = 0
    timestamp = 0
    searched = False  # the fingers are right before the node that is linked next
    pinned = False
    while linked < count:
        node = unlinked_node(gate, source, linked)
        place = node_at(gate, node)
        timestamp = nodes[place + TIMESTAMP]
        if not searched and (nodes[place + HEIGHT] > 1 or walked == WALK_LIMIT):
            if not pinned:
                epochs.pin(gate.searches, source)
                pinned = True
            mark("t_gate_batch: searched")
            search(gate, source, timestamp)
            before = gate.private[finger_at(gate, source, 0)]
            searched = True
        # Pairs with the CAS that linked `after`: timestamp and source of `after` are filled in.
        after = load(nodes, link_at(gate, before, 0), ACQUIRE)
        if after != NIL and precedes(gate, after, timestamp, source):
            before = after
            walked += 1
            continue
        end = chain_run(gate, source, linked, count, after, searched)
        # Keeps the nodes' fields and the links between them before the link to the first.
        # Linearizes insert_tuple of the run among insertions.
        if cas(nodes, link_at(gate, before, 0), after, node, RELEASE):
            if searched:
                # Before the search for a later node, which would move the fingers past these.
                link_higher(gate, source, linked, end)
            before = unlinked_node(gate, source, end - 1)
            timestamp = nodes[node_at(gate, before) + TIMESTAMP]
            linked = end
            walked = 0
            searched = False
        else:
            # Another source has linked a node at this position: examine that one next.
            mark("t_gate_batch: level_0_lost")
    if pinned:
        epochs.unpin(gate.searches, source)
    return timestamp


@inlined
def chain_run(gate, source, first, count, after, searched):
    """Chain the unlinked nodes from `first` on that come before `after`; return the run's end.

    A tall node ends the run unless the fingers are right before it: it needs a search.
    """
    nodes = gate.nodes
    end = first + 1
    last = unlinked_node(gate, source, first)
    while end < count:
        node = unlinked_node(gate, source, end)
        place = node_at(gate, node)
        if nodes[place + HEIGHT] > 1 and not searched:
            break
        if after != NIL and precedes(gate, after, nodes[place + TIMESTAMP], source):
            break
        # The CAS behind us publishes this word with the rest of the node.
        store(nodes, link_at(gate, last, 0), node, RELAXED)
        last = node
        end += 1
    # The same for the last one.
    store(nodes, link_at(gate, last, 0), after, RELAXED)
    return end


@inlined
def link_higher(gate, source, first, end):
    """Link the tall nodes of a run on the higher levels, from the fingers on, under the pin."""
    for number in range(first, end):
        node = unlinked_node(gate, source, number)
        place = node_at(gate, node)
        timestamp = gate.nodes[place + TIMESTAMP]
        for level in range(1, gate.nodes[place + HEIGHT]):
            before = gate.private[finger_at(gate, source, level)]
            level_insert(gate, level, before, node, timestamp, source)
            set_finger(gate, source, level, node, timestamp, source)


# --- reading -------------------------------------------------------------------------------------


@inlined
def get_next_ready_tuple(state, reader, out):
    """Return the next tuple to the reader if ready, or ask the source that holds the reader up."""
    status = t_gate.get_next_ready_tuple(state.gate, reader, out)
    if status == NOT_READY:
        ask_for_more(state, reader)
    return status


@inlined
def ask_for_more(state, reader):
    """Tell the source of the reader's next tuple that the linked tuples are used up."""
    gate = state.gate
    head = gate.reading[reading_at(gate, reader) + HEAD]
    # RELAXED, as in t_gate.get_next_ready_tuple, and it is the node that was found there: each
    # source has one behind the head, and links its next ones behind that.
    node = load(gate.nodes, link_at(gate, head, 0), RELAXED)
    source = gate.nodes[node_at(gate, node) + SOURCE]
    seen = gate.reading[counts_at(gate, reader, source) + SEEN]
    # RELAXED: a hint. The slower of two readers may overwrite the faster one's request, which is
    # repeated for as long as the faster one waits.
    if load(state.wanted, line_at(source), RELAXED) < seen:
        store(state.wanted, line_at(source), seen, RELAXED)


def check_invariants(state: TGateBatchState) -> None:
    """Assert the invariants of a quiescent gate (plain Python)."""
    gate = state.gate
    t_gate.check_invariants(gate)
    for source in range(gate.sources):
        own = own_at(gate, source)
        count = int(state.unlinked[line_at(source)])
        assert 0 <= count < state.batch or count == 0, f"invariant 6: source {source} has {count}"
        last = int(gate.private[finger_at(gate, source, 0) + 1])
        for number in range(count):
            node = unlinked_node(gate, source, number)
            timestamp, by = gate.nodes[node_at(gate, node) :][[TIMESTAMP, SOURCE]].tolist()
            assert last <= timestamp and by == source, f"invariant 6: source {source}, {number}"
            last = timestamp
        assert count == 0 or last == gate.private[own + LAST_TIMESTAMP], f"invariant 6: {source}"


VARIANT = Variant(
    id="t-gate-batch",
    family="gate",
    title="T-Gate, batches",
    paper="multiway_aggregation",
    section="extends 5.5",
    operations=GateOperations(
        make_state, insert_tuple, get_next_ready_tuple, close_source, check_invariants, ANSWERS
    ),
    order="total: (timestamp, source, position)",
    progress="lock-free",
    threads={"source": "one per source", "reader": "any number, each sees every tuple"},
    capacity="ahead tuples a source; a full source is told FULL",
    parameters=PARAMETERS,
    extended=True,
    look=Look("sky", "P"),
    extends={"multiway_aggregation": ("7",)},
)
