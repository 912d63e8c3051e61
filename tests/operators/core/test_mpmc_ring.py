"""The ring from many producers to many consumers: the ladder of the core."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from operators.contract import ACCEPTED, FULL, UsageError
from operators.core.atomics import RELAXED, fetch_add, load
from operators.core.backoff import wait_a_little
from operators.core.jit import kernel
from operators.core.mpmc_ring import check_invariants, has_room, make_ring, pop, push
from operators.core.reference import BoundedQueue
from tests.operators.core.running import ROUNDS, forms, run_threads

PUSH, POP = range(2)


@kernel
def apply(ring, script, answers):
    """Run rows (operation, word) of `script`; an answer is a word and a status."""
    for row in range(len(script)):
        if script[row, 0] == PUSH:
            answers[row, 1] = push(ring, script[row, 1])
        else:
            answers[row, 1] = pop(ring, answers[row])


@kernel
def produce(ring, first, rounds):
    waited = 0
    for word in range(first, first + rounds):
        while push(ring, word) != ACCEPTED:
            waited = wait_a_little(waited)
        waited = 0


@kernel
def consume(ring, left, producers, rounds, seen):
    """Take words until none is left; return how many overtook an earlier word of their producer."""
    out = seen[producers:]
    wrong = 0
    waited = 0
    while load(left, 0, RELAXED) > 0:
        if pop(ring, out):
            fetch_add(left, 0, -1, RELAXED)
            producer = out[0] // rounds
            if out[0] < seen[producer]:
                wrong += 1
            seen[producer] = out[0]
            seen[producers + 1] += out[0]
            waited = 0
        else:
            waited = wait_a_little(waited)
    return wrong


@given(st.lists(st.tuples(st.sampled_from((PUSH, POP)), st.integers(-9, 9))), st.integers(1, 3))
def test_one_thread_gets_what_the_oracle_says(steps, power):
    for form in forms(apply):
        ring, oracle = make_ring(1 << power), BoundedQueue(1 << power)
        script = np.array(steps, dtype=np.int64).reshape(-1, 2)
        answers = np.zeros((len(steps), 2), dtype=np.int64)
        form(ring, script, answers)
        for (operation, word), (taken, status) in zip(steps, answers.tolist(), strict=True):
            if operation == PUSH:
                assert status == oracle.enqueue(word)
            else:
                expected = oracle.dequeue()
                assert ((taken,) if status else None) == expected
        check_invariants(ring)


def test_boundaries_of_the_parameters():
    with pytest.raises(UsageError, match="at least 2, received 1"):
        make_ring(1)


def test_boundaries_room_is_what_a_push_finds():
    ring = make_ring(2)
    out = np.zeros(1, dtype=np.int64)
    for word in (1, 2):
        assert has_room(ring)
        assert push(ring, word) == ACCEPTED
    assert not has_room(ring)
    assert push(ring, 3) == FULL
    assert pop(ring, out)
    assert has_room(ring)


@pytest.mark.parametrize(("producers", "consumers"), [(1, 1), (2, 1), (1, 2), (2, 2), (4, 3)])
def test_threads_lose_nothing_and_keep_each_producer_s_order(producers, consumers):
    ring = make_ring(64)
    total = producers * ROUNDS
    left = np.array([total], dtype=np.int64)
    seen = [np.zeros(producers + 2, dtype=np.int64) - 1 for _ in range(consumers)]
    for each in seen:
        each[producers + 1] = 0
    wrong = []
    produce(ring, 0, 0)
    run_threads(
        *(lambda p=p: produce(ring, p * ROUNDS, ROUNDS) for p in range(producers)),
        *(lambda s=s: wrong.append(consume(ring, left, producers, ROUNDS, s)) for s in seen),
    )
    assert wrong == [0] * consumers
    assert sum(int(each[producers + 1]) for each in seen) == total * (total - 1) // 2
    check_invariants(ring)
