"""The words of a T-Gate: what lies where, who writes it, and what holds over a gate at rest.

The algorithm over them, with its drawing and its numbered invariants, is in ``t_gate``.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from operators.contract import TIMESTAMP_LIMIT, Parameter, UsageError
from operators.core.jit import inlined
from operators.core.layout import LINE_WORDS, aligned_words, whole_lines
from operators.gate.shape import check_gate_bytes

NIL = -1
UNPINNED = -1
FRONT_TIMESTAMP = -2
DUMMY_TIMESTAMP = -1
END_TIMESTAMP = TIMESTAMP_LIMIT

# A node: one cache line up to three levels, so that a reader touches one line a tuple.
NEXT = 0  # level 0; the levels above follow HIGHER
TIMESTAMP, SOURCE, HEIGHT, KEY, VALUE = 1, 2, 3, 4, 5
HIGHER = 5  # level l >= 1 is word HIGHER + l

# What a source alone touches.
SEQUENCE, SLOT, LAST_TIMESTAMP, ROOM, SINCE_TALL, CLOSED = range(6)
FINGERS = LINE_WORDS  # the paper's `update`; per level: node, timestamp, source. Level 0: its last
FINGER_WORDS = 3

# What a reader alone touches: its head, then per source how many nodes it has passed, how many it
# has let go, and how many it knows to be written.
HEAD, EPOCHS = 0, 1
COUNTS = LINE_WORDS
PASSED, RELEASED, SEEN = 0, 1, 2
COUNT_WORDS = 3

PARAMETERS = (
    Parameter("ahead", 1024, 3, 1 << 20, "tuples", "a source's tuples not yet read by all"),
    Parameter("levels", 3, 1, 32, "levels", "height of the tallest node (max_levels)"),
)


class TGateState(NamedTuple):
    """The words of a T-Gate, grouped by who writes them."""

    nodes: np.ndarray  # [count * stride]; a node is filled by its source before the CAS links it
    written: np.ndarray  # [sources] lines; source writes, readers read: number of its last node
    pins: np.ndarray  # [sources] lines; source writes, sources read: an epoch, or UNPINNED
    private: np.ndarray  # [sources] blocks of private_words; that source alone
    released: np.ndarray  # [readers * sources] lines; reader writes, source reads (invariant 4)
    anchor: np.ndarray  # [1]; reader 0 writes, sources read
    epoch: np.ndarray  # [1]; reader 0 writes after anchor, sources read: publications so far
    reading: np.ndarray  # [readers] blocks of reading_words; that reader alone
    stride: int  # words of a node
    levels: int
    ahead: int
    ring: int  # nodes of a source
    tall_every: int  # a source's nodes from one of full height to the next, at most
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
    stride = whole_lines(HIGHER + max(levels, 1))
    private_words = whole_lines(FINGERS + FINGER_WORDS * levels)
    reading_words = whole_lines(COUNTS + COUNT_WORDS * sources)
    of_readers = readers * (sources * LINE_WORDS + reading_words)
    check_gate_bytes("t-gate", sources, ahead, (sources * ring + 1) * stride + of_readers)
    state = TGateState(
        nodes=aligned_words((sources * ring + 1) * stride),
        written=aligned_words(sources * LINE_WORDS),
        pins=aligned_words(sources * LINE_WORDS),
        private=aligned_words(sources * private_words),
        released=aligned_words(readers * sources * LINE_WORDS),
        anchor=aligned_words(LINE_WORDS),
        epoch=aligned_words(LINE_WORDS),
        reading=aligned_words(readers * reading_words),
        stride=stride,
        levels=levels,
        ahead=ahead,
        ring=ring,
        tall_every=max(1, ahead // 8),
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
        words = state.nodes[node * stride : (node + 1) * stride]
        words[TIMESTAMP] = FRONT_TIMESTAMP if source < 0 else DUMMY_TIMESTAMP
        words[SOURCE] = source
        words[HEIGHT] = levels
        after = chain[source + 2] if source + 1 < sources else NIL
        words[NEXT] = after
        words[HIGHER + 1 : HIGHER + levels] = after
        if source >= 0:
            own = state.private[source * private_words : (source + 1) * private_words]
            own[[SEQUENCE, SLOT, ROOM]] = 1, 1, ahead
            for level in range(levels):
                place = FINGERS + FINGER_WORDS * level
                own[place : place + FINGER_WORDS] = node, DUMMY_TIMESTAMP, source
    state.pins[:] = UNPINNED
    return state


@inlined
def level_word(level):
    """Return the word of a node that links it on `level`."""
    return NEXT if level == 0 else HIGHER + level


def check_invariants(state: TGateState) -> None:
    """Assert the invariants over a gate at rest (plain Python)."""
    nodes = state.nodes.reshape(-1, state.stride)
    below = None
    for level in reversed(range(state.levels)):
        chain = [int(state.anchor[0])]
        while (after := int(nodes[chain[-1], level_word(level)])) != NIL:
            chain.append(after)
        positions = [(nodes[n, TIMESTAMP], nodes[n, SOURCE]) for n in chain]
        assert positions == sorted(positions), f"invariant 1: level {level} is out of order"
        assert all(nodes[n, HEIGHT] > level for n in chain), f"invariant 2: level {level}"
        assert below is None or below.issubset(chain), f"invariant 1: level {level} lacks nodes"
        below = set(chain)
    for source in range(state.sources):
        own = state.private[source * state.private_words :]
        inserted, closed = int(own[SEQUENCE]), int(own[CLOSED])
        counts = COUNTS + COUNT_WORDS * source
        live = sum(1 for n in chain if nodes[n, SOURCE] == source)
        assert int(own[FINGERS]) in below, f"invariant 3: source {source} lost its last node"
        assert state.written[source * LINE_WORDS] == inserted - 1, f"invariant 2: {source}"
        assert live == inserted - state.reading[counts + RELEASED], f"invariant 4: {source}"
        for reader in range(state.readers):
            passed = int(state.reading[reader * state.reading_words + counts + PASSED])
            assert passed < inserted, f"invariant 3: reader {reader} passed source {source}'s last"
            assert inserted - closed - passed <= state.ahead, f"invariant 5: source {source}"
