"""The queue of Michael and Scott: against a plain queue, and by real threads.

The ladder (smoke, capacity, boundaries, oracle, threads) is that of every structure of the core.
All schedules, marks, and threads that stop for good in the middle of an operation are tested in
``tests/interleaving``. Special here: any number of threads on either side.
"""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from operators.contract import ACCEPTED, FULL, UsageError
from operators.core import atomics
from operators.core import michael_scott_queue as msq
from operators.core.atomics import SEQ_CST, fetch_add, load
from operators.core.backoff import wait_a_little
from operators.core.jit import kernel
from operators.core.reference import BoundedQueue
from tests.operators.core.running import ROUNDS, forms, run_threads

ENQUEUE, DEQUEUE, PEEK = range(3)


@kernel
def apply(queues, script, answers):
    """Run rows (operation, queue, item) of `script`; an answer is a status and three words."""
    for row in range(len(script)):
        operation, queue, item = script[row, 0], script[row, 1], script[row, 2]
        words = answers[row]
        if operation == ENQUEUE:
            words[3] = msq.enqueue(queues, queue, item, item + 1, item + 2)
        elif operation == DEQUEUE:
            words[3] = msq.dequeue(queues, queue, words)
        else:
            words[3], words[0] = msq.peek(queues, queue)


@kernel
def produce(queues, producer, rounds):
    waited = 0
    for item in range(rounds):
        while msq.enqueue(queues, 0, item, producer, item * 7 + producer) == FULL:
            waited = wait_a_little(waited)
        waited = 0


@kernel
def consume(queues, taken, total, log, peeks):
    """Log (timestamp, key) of each tuple taken, until `total` are taken; -1 is a torn tuple."""
    out = log[0]
    logged = 1
    waited = 0
    while load(taken, 0, SEQ_CST) < total:
        if peeks:
            # Under any interleaving, the result is a timestamp that was inserted.
            there, timestamp = msq.peek(queues, 0)
            if there and not 0 <= timestamp < total:
                return -1
        if not msq.dequeue(queues, 0, out):
            waited = wait_a_little(waited)
            continue
        waited = 0
        fetch_add(taken, 0, 1, SEQ_CST)
        if out[2] != out[0] * 7 + out[1]:
            return -1
        log[logged, 0] = out[0]
        log[logged, 1] = out[1]
        logged += 1
    return logged


def caller(queues):
    """Return the operations on queue 0 in the form of `schedules.explore` and the oracle."""

    def call(name, arguments):
        if name == "enqueue":
            return msq.enqueue(queues, 0, *arguments)
        if name == "peek":
            there, timestamp = msq.peek(queues, 0)
            return (int(timestamp),) if there else None
        out = np.zeros(3, np.int64)
        return tuple(out.tolist()) if msq.dequeue(queues, 0, out) else None

    return call


def test_smoke_tuples_come_out_as_they_went_in():
    queues = msq.make_queues(2, 4)
    script = np.array([(ENQUEUE, 1, 10), (PEEK, 1, 0), (DEQUEUE, 0, 0), (DEQUEUE, 1, 0)])
    for form in forms(apply):
        answers = np.zeros((4, 4), np.int64)
        form(queues, script, answers)
        assert answers.tolist() == [[0, 0, 0, 1], [10, 0, 0, 1], [0, 0, 0, 0], [10, 11, 12, 1]]
    msq.check_invariants(queues)


def test_capacity_is_reached_exactly_and_room_comes_back():
    queues = msq.make_queues(1, 3)
    call = caller(queues)
    assert [call("enqueue", (i, 0, 0)) for i in range(4)] == [ACCEPTED] * 3 + [FULL]
    assert call("dequeue", ()) == (0, 0, 0)
    assert [call("enqueue", (i, 0, 0)) for i in range(4, 6)] == [ACCEPTED, FULL]
    msq.check_invariants(queues)


@pytest.mark.parametrize(
    ("count", "capacity", "message"),
    [(0, 1, "received 0"), (1, 0, "received 0"), (2, 1 << 25, "lower the capacity")],
)
def test_boundaries_of_the_parameters(count, capacity, message):
    with pytest.raises(UsageError, match=message):
        msq.make_queues(count, capacity)


def test_boundaries_one_tuple_goes_round_many_times():
    queues = msq.make_queues(1, 1)
    call = caller(queues)
    for item in range(20):
        assert call("dequeue", ()) is None
        assert call("enqueue", (item, -item, -(2**63))) == ACCEPTED
        assert call("enqueue", (0, 0, 0)) == FULL
        assert call("peek", ()) == (item,)
        assert call("dequeue", ()) == (item, -item, -(2**63))
    msq.check_invariants(queues)


def test_boundaries_tags_wrap_without_leaving_the_word():
    last = msq.WORD_MASK & ~msq.INDEX_MASK | 5
    assert msq.successor(last, 7) == 7
    queues = msq.make_queues(1, 2)
    queues.ends[:] |= msq.WORD_MASK & ~msq.INDEX_MASK
    queues.nodes[msq.LINK :: msq.NODE_WORDS] |= msq.WORD_MASK & ~msq.INDEX_MASK
    script = np.array([(ENQUEUE, 0, 1), (ENQUEUE, 0, 2), (DEQUEUE, 0, 0), (DEQUEUE, 0, 0)] * 3)
    for form in forms(apply):
        answers = np.zeros((len(script), 4), np.int64)
        form(queues, script, answers)
        assert answers[:, 3].tolist() == [1] * len(script)
        msq.check_invariants(queues)


@given(
    capacity=st.integers(1, 4),
    script=st.lists(
        st.tuples(st.sampled_from([ENQUEUE, DEQUEUE, PEEK]), st.integers(0, 1), st.integers(0, 99)),
        min_size=1,
        max_size=60,
    ),
)
def test_oracle_answers_like_a_plain_queue_in_both_forms(capacity, script):
    expected = []
    oracles = [BoundedQueue(capacity), BoundedQueue(capacity)]
    for operation, queue, item in script:
        if operation == ENQUEUE:
            expected.append(oracles[queue].enqueue(item, item + 1, item + 2))
        else:
            method = oracles[queue].dequeue if operation == DEQUEUE else oracles[queue].peek
            expected.append(method())
    for form in forms(apply):
        queues = msq.make_queues(2, capacity)
        answers = np.zeros((len(script), 4), np.int64)
        form(queues, np.array(script, np.int64), answers)
        for (operation, _, _), words, right in zip(script, answers.tolist(), expected, strict=True):
            if operation == ENQUEUE:
                assert words[3] == right
            else:
                count = 1 if operation == PEEK else 3
                found = tuple(words[:count]) if words[3] else None
                assert found == (right and right[:count])
        msq.check_invariants(queues)


@pytest.mark.parametrize(("producers", "consumers"), [(1, 1), (2, 2), (3, 1), (1, 3)])
def test_threads_take_every_tuple_once_and_in_each_producers_order(producers, consumers):
    rounds = ROUNDS // producers
    total = rounds * producers
    queues = msq.make_queues(1, 16)
    taken = np.zeros(8, np.int64)
    logs = [np.zeros((total + 2, 4), np.int64) for _ in range(consumers)]
    lengths = [0] * consumers

    def consumer(number):
        lengths[number] = consume(queues, taken, total, logs[number], number == 0)

    run_threads(
        *(lambda p=p: produce(queues, p, rounds) for p in range(producers)),
        *(lambda c=c: consumer(c) for c in range(consumers)),
    )
    assert min(lengths) >= 1, "a consumer saw a torn tuple"
    seen = [log[1:length, :2] for log, length in zip(logs, lengths, strict=True)]
    for rows in seen:
        for producer in range(producers):
            assert (np.diff(rows[rows[:, 1] == producer, 0]) > 0).all()
    everything = np.concatenate(seen)
    assert sorted(map(tuple, everything.tolist())) == [
        (item, producer) for item in range(rounds) for producer in range(producers)
    ]
    msq.check_invariants(queues)


def test_a_peek_reads_the_time_of_the_oldest_tuple_and_no_more_of_it(monkeypatch):
    queues = msq.make_queues(1, 2)
    msq.enqueue(queues, 0, 7, 8, 9)
    read = []

    def hook(name, array, index):
        if array is queues.nodes:
            read.append((name, index % msq.NODE_WORDS))

    monkeypatch.setattr(atomics, "scheduling_hook", hook)
    assert msq.peek(queues, 0) == (True, 7)
    assert read == [("load", msq.LINK), ("load", msq.TIMESTAMP)]
