"""Specific to the loser tree: that it is a loser tree, at every number of sources.

Order, ties, readiness, push-back, end of stream and real threads are in ``tests/contract`` for all
gates; the rings have ``test_multi_queue_rings``.
"""

from __future__ import annotations

import numpy as np
import pytest

from operators.contract import ACCEPTED, END, NOT_READY
from operators.core.spsc_ring import RING_WORDS, WRITTEN
from operators.gate import multi_queue_loser_tree
from operators.gate.heads import NO_MORE, UNKNOWN
from operators.gate.multi_queue_loser_tree import (
    PLACE_WORDS,
    SOURCE,
    TIMESTAMP,
    VARIANT,
    check_invariants,
    insert_tuple,
    make_state,
    replay,
)
from tests.operators.gate import steps
from tests.operators.gate.steps import Counting

OPERATIONS = VARIANT.operations


def read(state):
    return steps.read(OPERATIONS, state)


@pytest.mark.parametrize("sources", [1, 2, 3, 4, 5, 8, 9, 20])
def test_every_step_leaves_a_tournament(sources):
    """Heads rise at random, with many ties; winner and losers are checked after each step."""
    random = np.random.default_rng(sources)
    state = make_state(sources, 1, ahead=8)
    check_invariants(state)
    latest = [0] * sources
    returned = []
    for _ in range(40 * sources):
        source = int(random.integers(sources))
        latest[source] += int(random.integers(2))
        if insert_tuple(state, source, latest[source], 0, 0) == ACCEPTED and random.random() < 0.5:
            returned.append(read(state)[1])
        check_invariants(state)
    returned += steps.finish(OPERATIONS, state, sources)
    returned = [row for row in returned if row is not None]
    assert returned == sorted(returned)


@pytest.mark.parametrize(("sources", "matches"), [(1, 0), (2, 1), (8, 3), (20, 5)])
def test_a_tuple_costs_one_match_a_level(sources, matches):
    class Watched(np.ndarray):
        """Counts the words that are written."""

        def __setitem__(self, index, value):
            written.append(int(index) // PLACE_WORDS)
            super().__setitem__(index, value)

    state = make_state(sources, 1, ahead=8)
    written = []
    replay(state.tree.view(Watched), state.leaves, 0, 5)
    assert len(set(written)) == matches + 1, "the matches and the winner's place"


def test_waiting_reader_looks_at_the_source_it_took_from_last():
    state = make_state(sources=3, readers=1, ahead=8)
    for source in range(3):
        insert_tuple(state, source, 5 + source, 0, 0)
    assert read(state)[1] == (5, 0)
    assert state.tree[[TIMESTAMP, SOURCE]].tolist() == [UNKNOWN, 0]
    counting = Counting()
    assert read(state)[0] == NOT_READY
    positions = state.queues.rings.positions
    looks = [counting.of("load", positions, s * RING_WORDS + WRITTEN) for s in range(3)]
    assert looks == [1, 0, 0]
    insert_tuple(state, 0, 6, 0, 0)
    assert [read(state)[1] for _ in range(2)] == [(6, 0), None]
    check_invariants(state)


def test_leaf_without_a_source_has_ended_before_it_began():
    state = make_state(sources=3, readers=1, ahead=1)
    places = state.tree.reshape(-1, PLACE_WORDS).tolist()
    assert [NO_MORE, 3] in places
    assert steps.finish(OPERATIONS, state, 3) == []
    assert read(state)[0] == END


def test_match_that_the_higher_source_wins_at_a_tie_is_noticed(monkeypatch):
    """The canary: a tree without tie-breaking by source."""

    def careless(tree, leaves, source, timestamp):
        replay(tree, leaves, source, timestamp)
        for place in range(PLACE_WORDS, len(tree), PLACE_WORDS):
            if tree[place + TIMESTAMP] == tree[TIMESTAMP]:
                tree[[SOURCE, place + SOURCE]] = tree[[place + SOURCE, SOURCE]]

    monkeypatch.setattr(multi_queue_loser_tree, "replay", careless)
    with pytest.raises(AssertionError):
        test_every_step_leaves_a_tournament(3)


def test_broken_state_is_noticed():
    state = make_state(sources=4, readers=1, ahead=4)
    for source in range(4):
        insert_tuple(state, source, 5, 0, 0)
    read(state)
    check_invariants(state)
    state.tree[PLACE_WORDS + SOURCE] = state.tree[SOURCE]
    with pytest.raises(AssertionError, match=r"\(6\)"):
        check_invariants(state)
