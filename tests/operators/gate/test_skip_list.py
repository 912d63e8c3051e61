"""Specific to the skip-list gate.

Order, ties, end of stream, push-back and equality with the oracle hold for every gate and are
tested in ``tests/contract``. Here: the linear scan for ready tuples, and the races: a source or the
reader started inside an atomic of another source, or of the reader.
"""

from __future__ import annotations

import numpy as np
import pytest

from operators.contract import ACCEPTED, END, FULL, NOT_READY, UsageError
from operators.core import epochs, marks
from operators.core.integers import random_height
from operators.core.layout import LINE_WORDS
from operators.gate import skip_list
from operators.gate.skip_list import (
    DELIVERED,
    HEIGHT,
    HEIGHT_BITS,
    LAST_NODE,
    LATEST,
    NEXT,
    NO_NODE,
    TIMESTAMP,
    VARIANT,
    WALK_LIMIT,
    check_invariants,
    close_source,
    insert_tuple,
    make_state,
    node_of,
)
from tests.drivers import in_total_order, random_streams, scaled, through_gate
from tests.operators.gate import steps
from tests.operators.gate.steps import Counting, Intruder

OPERATIONS = VARIANT.operations


def gate(sources=2, ahead=16, levels=3):
    return make_state(sources, 1, ahead, levels)


def read(state):
    return steps.read(OPERATIONS, state)


def drain(state):
    return steps.drain(OPERATIONS, state)


def finish(state, sources=2):
    return steps.finish(OPERATIONS, state, sources)


def first_word(state):
    """Return the word that links the first node on level 0."""
    return state.head * state.stride + NEXT


def first_place(state):
    """Return the position of the first node on level 0."""
    return node_of(state.nodes[first_word(state)]) * state.stride


def three_and_ready():
    """Return a gate with (1, 0), (3, 0) and (9, 1), the first two ready; sources search next."""
    state = gate()
    for source, timestamp in ((0, 1), (0, 3), (1, 9)):
        insert_tuple(state, source, timestamp, 0, 0)
    search_from_the_head(state)
    return state


def search_from_the_head(state):
    """Let every source forget the last node, from which it would continue."""
    state.private[LAST_NODE :: state.private_words] = NO_NODE


def test_every_source_is_looked_at_once_before_each_tuple():
    state = gate(sources=5)
    for source in range(5):
        insert_tuple(state, source, source, 0, 0)
    counting = Counting()
    assert read(state)[1] == (0, 0)
    for source in range(5):
        assert counting.of("load", state.latest, source * LINE_WORDS + LATEST) == 1
    assert read(state)[0] == NOT_READY
    for source in range(5):
        assert counting.of("load", state.latest, source * LINE_WORDS + LATEST) == 2


def test_last_tuple_of_an_open_source_leaves_and_a_tie_waits_for_the_lower_source():
    state = gate()
    insert_tuple(state, 1, 5, 0, 0)
    assert read(state)[0] == NOT_READY, "source 0 has delivered nothing"
    insert_tuple(state, 0, 5, 0, 0)
    assert drain(state) == [(5, 0)], "source 0 may deliver another 5, which comes before (5, 1)"
    insert_tuple(state, 0, 6, 0, 0)
    assert drain(state) == [(5, 1)]
    assert finish(state) == [(6, 0)]


def test_empty_list_is_the_end_once_all_are_closed():
    state = gate()
    assert close_source(state, 0) == ACCEPTED
    assert read(state) == (NOT_READY, None)
    close_source(state, 1)
    assert read(state) == (END, None)
    check_invariants(state)


def test_tuple_that_comes_behind_the_look_at_its_source_is_not_overtaken():
    """Between the look at `latest` and the look at the list, an earlier tuple arrives."""
    state = gate()
    insert_tuple(state, 1, 7, 0, 0)
    insert_tuple(state, 0, 2, 0, 0)
    Intruder("load", state.nodes, lambda: insert_tuple(state, 0, 4, 0, 0), first_word(state))
    assert read(state)[1] == (2, 0)
    assert drain(state) == [(4, 0)]


def test_tie_with_its_source_s_last_tuple_waits_until_it_is_on_all_its_levels():
    state = gate(sources=1)
    insert_tuple(state, 0, 5, 0, 0)
    seen = []
    # Linked, but `latest` does not count it yet; the timestamp equals the previous tuple's.
    Intruder("store", state.latest, lambda: seen.extend(drain(state)))
    insert_tuple(state, 0, 5, 0, 0)
    assert seen == [(5, 0)]
    assert marks.hits["skip_list: a tie that is not delivered yet"] == 1
    assert drain(state) == [(5, 0)]
    check_invariants(state)


def tall_source(state):
    """Return a source whose third tuple is on all levels."""
    seeds = (2 * state.sources + source for source in range(state.sources))
    heights = [random_height(seed, state.levels, HEIGHT_BITS) for seed in seeds]
    return heights.index(state.levels)


def test_without_the_count_a_node_is_deleted_while_it_is_being_linked(monkeypatch):
    """The canary: comparing timestamps only, a deleted node would stay on a level."""
    state = gate(sources=40, levels=2)
    source = tall_source(state)
    for other in range(40):
        insert_tuple(state, other, 5 if other == source else 9, 0, 0)
    insert_tuple(state, source, 5, 0, 0)
    drain(state)
    original = skip_list.load

    def counts_too_much(array, index, order):
        found = original(array, index, order)
        return found + (array is state.latest and index % LINE_WORDS == DELIVERED)

    monkeypatch.setattr(skip_list, "load", counts_too_much)
    linked = []

    def read_when_on_level_0():
        if state.nodes[first_place(state) + TIMESTAMP] == 5:
            linked.append(drain(state))
        else:
            Intruder("cas", state.nodes, read_when_on_level_0)

    Intruder("cas", state.nodes, read_when_on_level_0)
    insert_tuple(state, source, 5, 0, 0)
    assert linked == [[(5, source)]]
    with pytest.raises(AssertionError, match="invariant"):
        check_invariants(state)


def test_lost_link_finds_its_place_behind_the_winner():
    state = gate()
    Intruder("cas", state.nodes, lambda: insert_tuple(state, 1, 3, 0, 0))
    insert_tuple(state, 0, 5, 0, 0)
    assert marks.hits["skip_list: link lost"] == 1
    check_invariants(state)
    assert finish(state) == [(3, 1), (5, 0)]


def test_node_is_not_linked_behind_one_that_was_deleted_meanwhile():
    state = three_and_ready()
    seen = []
    # Source 0 has found (3, 0) as the predecessor of the new tuple; now the reader deletes (3, 0).
    Intruder("cas", state.nodes, lambda: seen.extend(drain(state)))
    insert_tuple(state, 0, 4, 0, 0)
    assert seen == [(1, 0), (3, 0)]
    assert marks.hits["skip_list: link lost"] == 1
    check_invariants(state)
    assert finish(state) == [(4, 0), (9, 1)]


def test_node_is_not_linked_near_one_that_was_deleted_meanwhile():
    state = gate(levels=1)
    for source, timestamp in ((0, 1), (0, 3), (1, 9)):
        insert_tuple(state, source, timestamp, 0, 0)
    # Source 0 has looked at (3, 0), the source's last tuple; now the reader deletes it.
    Intruder("cas", state.nodes, lambda: drain(state))
    insert_tuple(state, 0, 4, 0, 0)
    assert marks.hits["skip_list: near link lost"] == 1
    assert marks.hits["skip_list: the last node is gone"] == 1
    check_invariants(state)
    assert finish(state) == [(4, 0), (9, 1)]


def test_marking_is_repeated_when_a_source_links_behind_the_node():
    state = gate(levels=1)
    insert_tuple(state, 0, 1, 0, 0)
    insert_tuple(state, 1, 9, 0, 0)
    Intruder("cas", state.nodes, lambda: insert_tuple(state, 0, 2, 0, 0))
    assert drain(state) == [(1, 0), (2, 0)]
    assert marks.hits["skip_list: marking lost"] == 1
    assert finish(state) == [(9, 1)]


def test_search_unlinks_what_the_reader_has_marked():
    state = three_and_ready()
    # The first CAS on the first link is the reader's unlinking: all nodes are marked by then.
    Intruder("cas", state.nodes, lambda: insert_tuple(state, 0, 4, 0, 0), first_word(state))
    assert read(state)[1] == (1, 0)
    assert marks.hits["skip_list: helps to unlink"] >= 1
    assert marks.hits["skip_list: was unlinked by a search"] >= 1
    check_invariants(state)
    assert finish(state) == [(3, 0), (4, 0), (9, 1)]


def test_search_that_loses_an_unlinking_begins_again():
    """The reader stops before it unlinks; source 0 before it helps; source 1 helps."""
    state = three_and_ready()

    def insert_slowly():
        Intruder("cas", state.nodes, lambda: insert_tuple(state, 1, 10, 0, 0), first_word(state))
        insert_tuple(state, 0, 4, 0, 0)

    Intruder("cas", state.nodes, insert_slowly, first_word(state))
    assert read(state)[1] == (1, 0)
    assert marks.hits["skip_list: find begins again"] == 1
    check_invariants(state)
    assert finish(state) == [(3, 0), (4, 0), (9, 1), (10, 1)]


def stopped_between_two_nodes():
    """Source 0 stops between the two nodes of source 1, which the reader then gives back.

    Returns the state and the answers to source 1's attempts to reuse them further on.
    """
    state = gate(ahead=2, levels=1)
    for source, timestamp in ((0, 100), (1, 1), (1, 2)):
        insert_tuple(state, source, timestamp, 0, 0)
    search_from_the_head(state)
    answers = []

    def run_ahead():
        assert drain(state) == [(1, 1), (2, 1)]
        answers.extend(insert_tuple(state, 1, timestamp, 0, 0) for timestamp in (300, 301))

    second = node_of(state.nodes[first_place(state) + NEXT]) * state.stride
    Intruder("load", state.nodes, run_ahead, second + NEXT)
    insert_tuple(state, 0, 200, 0, 0)
    return state, answers


def test_node_is_not_used_again_while_a_source_in_a_search_is_pinned():
    state, answers = stopped_between_two_nodes()
    assert answers == [FULL, FULL] and marks.hits["skip_list: pinned"] == 2
    check_invariants(state)
    assert insert_tuple(state, 1, 300, 0, 0) == ACCEPTED, "unpinned, they may be used again"
    assert finish(state) == [(100, 0), (200, 0), (300, 1)]


def test_without_the_pin_a_search_goes_on_from_a_node_that_is_in_use_again(monkeypatch):
    """The canary: the same schedule, but no search pins."""
    monkeypatch.setattr(epochs, "pin", lambda searches, source: None)
    state, answers = stopped_between_two_nodes()
    assert answers == [ACCEPTED, ACCEPTED]
    with pytest.raises(AssertionError, match="invariant 1: level 0 is out of order"):
        check_invariants(state)


def test_a_source_walks_on_from_its_last_tuple(monkeypatch):
    """With one level no node is tall: only the first tuple is searched for from the head."""
    searched = []
    original = skip_list.find
    monkeypatch.setattr(
        skip_list, "find", lambda state, *more: searched.append(more) or original(state, *more)
    )
    state = gate(ahead=64, levels=1)
    for timestamp in range(20):
        for source in (0, 1):
            insert_tuple(state, source, 10 * timestamp + source, 0, 0)
    assert searched == [(0, 0), (1, 1)]
    check_invariants(state)
    # Links of nodes that the reader has taken lead nowhere.
    drain(state)
    insert_tuple(state, 0, 500, 0, 0)
    assert searched[2:] == [(0, 500)] and marks.hits["skip_list: the last node is gone"] == 1
    check_invariants(state)


def test_a_source_walks_no_further_than_the_limit():
    state = gate(ahead=4 * WALK_LIMIT, levels=2)
    insert_tuple(state, 0, 0, 0, 0)
    for timestamp in range(3 * WALK_LIMIT):
        insert_tuple(state, 1, timestamp, 0, 0)
    insert_tuple(state, 0, 10**6, 0, 0)
    assert marks.hits["skip_list: far"] == 1
    assert len(finish(state)) == 3 * WALK_LIMIT + 2


@pytest.mark.parametrize("ahead", [1, 2, 9])
def test_full_source_goes_on_when_its_tuples_were_read(ahead):
    state = gate(sources=1, ahead=ahead)
    for turn in range(5):
        for place in range(ahead):
            assert insert_tuple(state, 0, turn * ahead + place, 0, 0) == ACCEPTED
        assert insert_tuple(state, 0, 10**6, 0, 0) == FULL
        assert marks.hits["skip_list: full"] == turn + 1
        assert len(drain(state)) == ahead
        check_invariants(state)


@pytest.mark.parametrize("levels", [0, 33])
def test_bad_levels_are_refused_with_their_limits(levels):
    with pytest.raises(UsageError, match=f"levels must be between 1 and 32.*{levels}"):
        gate(levels=levels)


def test_broken_state_is_noticed():
    state = three_and_ready()
    check_invariants(state)
    state.nodes[first_place(state) + TIMESTAMP] = 10
    with pytest.raises(AssertionError, match="invariant 1: level 0 is out of order"):
        check_invariants(state)
    state = three_and_ready()
    state.latest[DELIVERED] = 1
    with pytest.raises(AssertionError, match="invariant 2"):
        check_invariants(state)
    state = three_and_ready()
    height = first_place(state) + HEIGHT
    state.nodes[height] = 2 if state.nodes[height] == 1 else 1
    with pytest.raises(AssertionError, match="invariants 1 and 2"):
        check_invariants(state)


@pytest.mark.parametrize(("sources", "ahead", "levels"), [(2, 1, 1), (3, 2, 2), (8, 16, 5)])
@pytest.mark.parametrize("spread", [0, 3])
def test_real_threads_give_the_total_order(sources, ahead, levels, spread):
    streams = random_streams(sources, sources, scaled(10_000), keys=5, spread=spread)
    got = through_gate(VARIANT, streams, ahead, threads=True, levels=levels)[0]
    np.testing.assert_array_equal(got, np.stack(in_total_order(streams), axis=1))
