"""How the T-Gate knows when a node may be used again.

A node may be used again when nobody can reach it: every reader has passed it, and no source's
search can begin at or before it. Searches begin at fingers that are not behind `anchor`, a node
that reader 0 moves forward; a source that searches pins the epoch it began in, and nodes let go
later wait for it. A source at rest, closed ones included, pins nothing, however far behind its
fingers are. Every source makes a node of full height at least each `tall_every`, so that the
anchor follows the readers closely enough for `ahead` nodes to be always sufficient.
"""

from __future__ import annotations

from operators.core.atomics import ACQUIRE, RELEASE, SEQ_CST, fence, load, store
from operators.core.jit import inlined
from operators.core.layout import LINE_WORDS
from operators.core.marks import mark
from operators.gate.t_gate_state import (
    COUNT_WORDS,
    COUNTS,
    EPOCHS,
    HEIGHT,
    PASSED,
    RELEASED,
    ROOM,
    UNPINNED,
)


@inlined
def pass_node(state, reader, mine, source, counts, node, place):
    """Count a passed node; at one of full height, now and then, let go of all before it."""
    reading = state.reading
    passed = reading[counts + PASSED] + 1
    reading[counts + PASSED] = passed
    if state.nodes[place + HEIGHT] == state.levels and (
        passed - reading[counts + RELEASED] > state.tall_every
    ):
        release_before(state, reader, mine, source, node)


@inlined
def release_before(state, reader, mine, source, node):
    """Let go of every node this reader has passed, up to `node`, which stays."""
    reading = state.reading
    if reader == 0:
        # Keeps the anchor before the epoch: who pins the new epoch starts from the new anchor.
        store(state.anchor, 0, node, RELEASE)
        reading[mine + EPOCHS] += 1
        store(state.epoch, 0, reading[mine + EPOCHS], RELEASE)
    for other in range(state.sources):
        counts = mine + COUNTS + COUNT_WORDS * other
        passed = reading[counts + PASSED] - (1 if other == source else 0)
        if passed > reading[counts + RELEASED]:
            reading[counts + RELEASED] = passed
            # Keeps this reader's reads of those nodes, and the epoch, before their next use.
            store(state.released, (reader * state.sources + other) * LINE_WORDS, passed, RELEASE)


@inlined
def pin(state, source):
    """Keep what lies behind the current anchor from being used again, until unpinned."""
    epoch = load(state.epoch, 0, ACQUIRE)
    # RELEASE: who sees this pin has behind it what the source read under the pins before.
    store(state.pins, source * LINE_WORDS, epoch, RELEASE)
    # Keeps the pin before the reads that it protects. Of this fence and the one in
    # insert_tuple_make_room one comes first: either that source sees the pin, or this one sees
    # the anchor that belongs to what that source takes.
    fence(SEQ_CST)


@inlined
def unpin(state, source):
    """Keep nothing from being used again."""
    # Keeps every access to other sources' nodes before the moment they may be used again.
    store(state.pins, source * LINE_WORDS, UNPINNED, RELEASE)


@inlined
def insert_tuple_make_room(state, source, own):
    """Find out how many of the source's nodes may be used again; False when none more."""
    released = load(state.released, source * LINE_WORDS, ACQUIRE)
    for reader in range(1, state.readers):
        slower = load(state.released, (reader * state.sources + source) * LINE_WORDS, ACQUIRE)
        released = min(released, slower)
    room = released + state.ahead
    if room <= state.private[own + ROOM]:
        return False
    epoch = load(state.epoch, 0, ACQUIRE)
    fence(SEQ_CST)  # pairs with the fence in pin
    for other in range(state.sources):
        pinned = load(state.pins, other * LINE_WORDS, ACQUIRE)
        if pinned != UNPINNED and pinned < epoch:
            mark("t_gate: pinned")
            return False
    state.private[own + ROOM] = room
    return True
