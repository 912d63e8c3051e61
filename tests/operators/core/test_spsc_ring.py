"""The ring from one producer to one consumer: the ladder of the core, and multi-word records."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from operators.contract import ACCEPTED, FULL, UsageError
from operators.core import marks
from operators.core import spsc_ring as ring_module
from operators.core.atomics import RELAXED, load, store
from operators.core.backoff import wait_a_little
from operators.core.integers import mix64
from operators.core.jit import kernel
from operators.core.reference import BoundedQueue
from operators.core.spsc_ring import (
    NO_SLOT,
    check_invariants,
    claim,
    front,
    give_back,
    make_rings,
    pop,
    publish,
    push,
    release,
    take,
)
from tests.operators.core.running import ROUNDS, forms, run_threads

PUSH, POP = range(2)
MARKS = {"full", "empty", "producer refreshed its copy", "consumer refreshed its copy"}


@kernel
def apply(rings, script, answers):
    """Run rows (operation, ring, word) of `script`; an answer is a word and a status."""
    for row in range(len(script)):
        operation, ring, word = script[row, 0], script[row, 1], script[row, 2]
        if operation == PUSH:
            answers[row, 1] = push(rings, ring, word)
        else:
            answers[row, 1] = pop(rings, ring, answers[row])


@kernel
def produce(rings, rounds):
    waited = 0
    for item in range(rounds):
        place = claim(rings, 0)
        while place == NO_SLOT:
            waited = wait_a_little(waited)
            place = claim(rings, 0)
        waited = 0
        for word in range(rings.record_words):
            store(rings.records, place + word, mix64(item + word), RELAXED)
        publish(rings, 0)


@kernel
def consume(rings, rounds):
    """Return the number of the first record that differs from the produced one, or `rounds`."""
    waited = 0
    for item in range(rounds):
        place = front(rings, 0)
        while place == NO_SLOT:
            waited = wait_a_little(waited)
            place = front(rings, 0)
        waited = 0
        for word in range(rings.record_words):
            if load(rings.records, place + word, RELAXED) != mix64(item + word):
                return item
        release(rings, 0)
    return rounds


def caller(rings):
    """Return push and pop on ring 0 in the form of the oracle."""

    def call(name, arguments):
        if name == "enqueue":
            return push(rings, 0, *arguments)
        out = np.zeros(1, np.int64)
        return tuple(out.tolist()) if pop(rings, 0, out) else None

    return call


def test_smoke_words_come_out_as_they_went_in():
    script = np.array([(PUSH, 0, 5), (PUSH, 1, 6), (PUSH, 0, 7), (POP, 0, 0), (POP, 1, 0)])
    for form in forms(apply):
        rings = make_rings(2, 4)
        answers = np.zeros((5, 2), np.int64)
        form(rings, script, answers)
        assert answers.tolist() == [[0, 1], [0, 1], [0, 1], [5, 1], [6, 1]]
        check_invariants(rings)


@pytest.mark.parametrize("capacity", [1, 2, 3, 5])
def test_capacity_is_exact_also_where_it_is_no_power_of_two(capacity):
    call = caller(make_rings(1, capacity))
    for turn in range(5):
        for item in range(capacity):
            assert call("enqueue", (turn + item,)) == ACCEPTED
        assert call("enqueue", (99,)) == FULL
        assert [call("dequeue", ()) for _ in range(capacity)] == [
            (turn + item,) for item in range(capacity)
        ]
        assert call("dequeue", ()) is None


@pytest.mark.parametrize("wrong", [(0, 1, 1), (1, 0, 1), (1, 1, 0)])
def test_boundaries_of_the_parameters(wrong):
    with pytest.raises(UsageError, match="at least 1, received 0"):
        make_rings(*wrong)


def test_boundaries_a_slot_is_the_same_until_it_is_published_or_released():
    rings = make_rings(1, 2, 3)
    assert claim(rings, 0) == claim(rings, 0) == 0
    publish(rings, 0)
    assert claim(rings, 0) == 3
    assert front(rings, 0) == front(rings, 0) == 0
    release(rings, 0)
    assert front(rings, 0) == NO_SLOT


def test_boundaries_slots_that_are_taken_are_free_once_they_are_given_back():
    rings = make_rings(1, 3)
    for word in (5, 6, 7):
        assert push(rings, 0, word) == ACCEPTED
    assert [rings.records[front(rings, 0)], take(rings, 0)] == [5, 1]
    assert [rings.records[front(rings, 0)], take(rings, 0)] == [6, 2]
    assert push(rings, 0, 8) == FULL
    check_invariants(rings)
    give_back(rings, 0, 2)
    assert [push(rings, 0, 8), push(rings, 0, 9), push(rings, 0, 10)] == [ACCEPTED, ACCEPTED, FULL]
    out = np.zeros(1, np.int64)
    assert [int(out[0]) for _ in range(4) if pop(rings, 0, out)] == [7, 8, 9]
    rings.positions[ring_module.TAKEN] = 2
    with pytest.raises(AssertionError, match="invariant 4"):
        check_invariants(rings)


@given(
    capacity=st.integers(1, 5),
    script=st.lists(
        st.tuples(st.sampled_from([PUSH, POP]), st.integers(0, 1), st.integers(1, 99)),
        min_size=1,
        max_size=60,
    ),
)
def test_oracle_answers_like_a_plain_queue_in_both_forms(capacity, script):
    oracles = [BoundedQueue(capacity), BoundedQueue(capacity)]
    expected = []
    for operation, ring, word in script:
        if operation == PUSH:
            expected.append((0, oracles[ring].enqueue(word)))
        else:
            found = oracles[ring].dequeue()
            expected.append((found[0], 1) if found else (0, 0))
    for form in forms(apply):
        rings = make_rings(2, capacity)
        answers = np.zeros((len(script), 2), np.int64)
        form(rings, np.array(script, np.int64), answers)
        assert list(map(tuple, answers.tolist())) == expected
        check_invariants(rings)


def test_marks_each_rare_branch_is_met():
    marks.hits.clear()
    call = caller(make_rings(1, 1))
    call("dequeue", ())
    for item in range(2):
        call("enqueue", (item,))
        call("enqueue", (item,))
        call("dequeue", ())
    assert {"spsc_ring: " + name for name in MARKS} == set(marks.hits)


@pytest.mark.parametrize(("capacity", "record_words"), [(1, 1), (3, 5), (64, 2), (1024, 1)])
def test_threads_every_record_arrives_whole_and_in_order(capacity, record_words):
    rings = make_rings(1, capacity, record_words)
    rounds = ROUNDS // 10 if capacity == 1 else ROUNDS
    reached = []
    run_threads(lambda: produce(rings, rounds), lambda: reached.append(consume(rings, rounds)))
    assert reached == [rounds]
    check_invariants(rings)
