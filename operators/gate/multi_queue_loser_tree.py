"""Rings under a loser tree: the reader compares log S heads for a tuple, and not S.

In no paper; the usual merge of sorted runs in a database (Knuth, The Art of Computer Programming 3,
5.4.1). The queues are those of `multi_queue_rings`; the heads are in a tournament in which every
match stores its loser, and the entry above the root match the winner of all::

    0              [3 of 0]                winner: the head that is taken next
    1         [4 of 1     lost]
    2    [5 of 1 lost] [9 of 3 lost]       sources 0 and 1 met in match 2, 2 and 3 in match 3
          0        1    2        3

When the winner is taken, the same source's next head replays the matches on the way up; all other
outcomes stay valid. Its chance in a match is even, so a match uses selections, not branches.

Guarantees, in addition to 1, 2, 4 and 5 of `multi_queue_rings`:

6. The tree holds each source's head once: in the match that it lost, or as the winner. Every winner
   is at or before all losers below it; among equal timestamps the lower source is earlier.
7. Once every source was met, only the winner can be UNKNOWN: the source that was taken from last.
   It stays the winner until its head is known.

Linearization points and progress are those of `multi_queue_rings`.

# ASSUME: as in `multi_queue_rings`.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from operators.contract import END, NOT_READY, READY, Look, Variant
from operators.core.jit import inlined
from operators.core.layout import aligned_words
from operators.gate.family import GateOperations
from operators.gate.heads import NO_MORE, UNKNOWN
from operators.gate.multi_queue_rings import (
    ANSWERS,
    PARAMETERS,
    SourceRings,
    check_queues,
    make_queues,
    queue_close,
    queue_head,
    queue_insert,
    queue_take,
)

# Words of an entry of the tree; entry 0 holds the winner, entry n >= 1 the loser of match n.
PLACE_WORDS = 2
TIMESTAMP, SOURCE = 0, 1


class LoserTreeState(NamedTuple):
    """The rings, and the tournament of their heads."""

    queues: SourceRings
    tree: np.ndarray  # [leaves * PLACE_WORDS]; head and source of each entry (6). Only the reader
    leaves: int  # sources, rounded up to a power of two


def make_state(sources: int, readers: int, ahead: int) -> LoserTreeState:
    """Return empty queues of `sources` open sources.

    Parameters
    ----------
    sources : int
        Count of sources, at least 1.
    readers : int
        Must be 1: a ring has one consumer.
    ahead : int
        Tuples a source may be ahead of the reader.

    Raises
    ------
    UsageError
        When a number is out of range.
    """
    queues = make_queues("multi-queue-loser-tree", sources, readers, ahead)
    leaves = 1 << (sources - 1).bit_length()
    tree = aligned_words(leaves * PLACE_WORDS)
    # A leaf without a source has already ended.
    winners = {leaves + s: (UNKNOWN if s < sources else NO_MORE, s) for s in range(leaves)}
    for match in reversed(range(1, leaves)):
        winners[match], loser = sorted((winners[2 * match], winners[2 * match + 1]))
        tree[match * PLACE_WORDS : (match + 1) * PLACE_WORDS] = loser
    tree[:PLACE_WORDS] = winners[1]
    return LoserTreeState(queues, tree, leaves)


@inlined
def insert_tuple(state, source, timestamp, key, value):
    """Deliver a tuple into the source's ring: ACCEPTED, FULL or OUT_OF_ORDER."""
    return queue_insert(state.queues, source, timestamp, key, value)


@inlined
def close_source(state, source):
    """Say that the source delivers no more: ACCEPTED."""
    return queue_close(state.queues, source)


@inlined
def get_next_ready_tuple(state, reader, out):
    """Return the earliest ready tuple: READY, NOT_READY or END.

    Parameters
    ----------
    state : LoserTreeState
    reader : int
        0, the one reader.
    out : int64[4]
        Filled on READY: timestamp, source, key, value.
    """
    tree = state.tree
    while tree[TIMESTAMP] == UNKNOWN:
        source = tree[SOURCE]
        timestamp = queue_head(state.queues, source)
        if timestamp == UNKNOWN:
            return NOT_READY
        replay(tree, state.leaves, source, timestamp)
    if tree[TIMESTAMP] == NO_MORE:
        return END
    source = tree[SOURCE]
    timestamp = queue_take(state.queues, source, out)
    if timestamp == UNKNOWN:
        tree[TIMESTAMP] = UNKNOWN  # before all others, so it would win every match (7)
    else:
        replay(tree, state.leaves, source, timestamp)
    return READY


@inlined
def replay(tree, leaves, source, timestamp):
    """Replay the matches of the winner's source with the next head."""
    match = (source + leaves) >> 1
    while match >= 1:
        place = match * PLACE_WORDS
        other_timestamp = tree[place + TIMESTAMP]
        other = tree[place + SOURCE]
        loses = other_timestamp < timestamp or (other_timestamp == timestamp and other < source)
        tree[place + TIMESTAMP] = timestamp if loses else other_timestamp
        tree[place + SOURCE] = source if loses else other
        timestamp = other_timestamp if loses else timestamp
        source = other if loses else source
        match >>= 1
    tree[TIMESTAMP] = timestamp
    tree[SOURCE] = source


def check_invariants(state: LoserTreeState) -> None:
    """Check a quiescent gate (no thread inside an operation).

    Raises
    ------
    AssertionError
        When an invariant of this module's docstring or of `multi_queue_rings` is broken.
    """
    places = [tuple(place) for place in state.tree.reshape(-1, PLACE_WORDS).tolist()]
    sources = [source for _, source in places]
    assert sorted(sources) == list(range(state.leaves)), f"(6) {sources}"
    heads = np.empty(state.leaves, dtype=np.int64)
    for timestamp, source in places:
        heads[source] = timestamp
    check_queues(state.queues, heads[: state.queues.sources])
    # The winner of a match is the one of the two sources that is not stored below it any more.
    winners = {state.leaves + s: (int(heads[s]), s) for s in range(state.leaves)}
    for match in reversed(range(1, state.leaves)):
        winners[match], loser = sorted((winners[2 * match], winners[2 * match + 1]))
        assert places[match] == loser, f"(6) match {match}: {places[match]}, not {loser}"
    assert places[0] == winners[1], f"(6) winner: {places[0]}, not {winners[1]}"


VARIANT = Variant(
    id="multi-queue-loser-tree",
    family="gate",
    title="Rings, loser tree",
    paper="multiway_aggregation",
    section="extends 7",
    operations=GateOperations(
        make_state, insert_tuple, get_next_ready_tuple, close_source, check_invariants, ANSWERS
    ),
    order="total: (timestamp, source, position)",
    progress="lock-free",
    threads={"source": "one per source", "reader": "one"},
    capacity="ahead tuples a source; a full source is told FULL",
    parameters=PARAMETERS,
    extended=True,
    look=Look("#5f4200", ">"),
    extends={"multiway_aggregation": ("7",)},
)
