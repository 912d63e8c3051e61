"""The atomics: one meaning in two forms, a memory order at each call, and real threads."""

from __future__ import annotations

import threading
import time

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numba.core.errors import NumbaError

from operators.core import atomics
from operators.core.atomics import (
    ACQ_REL,
    ACQUIRE,
    MUTEX_WORDS,
    RELAXED,
    RELEASE,
    SEQ_CST,
    cas,
    exchange,
    fence,
    fetch_add,
    init_lock,
    load,
    lock,
    now,
    pause,
    sleep_us,
    store,
    thread_now,
    unlock,
    yield_thread,
)
from operators.core.jit import INTERPRETED, kernel
from operators.core.layout import aligned_words
from tests.operators.core.running import ROUNDS, forms, run_threads

words = st.integers(-(2**63), 2**63 - 1)
# Compiled, a wrong call is an error of numba. Interpreted, memory orders are ignored, because
# Python's accesses are sequentially consistent anyway. So refusals are tested with the compiler
# only.
compiled_only = pytest.mark.skipif(INTERPRETED, reason="it is the compiler that refuses")


@kernel
def every_operation(array, a, b, log):
    store(array, 1, a, RELAXED)
    store(array, 1, a, RELEASE)
    store(array, 1, a, SEQ_CST)
    log[0] = load(array, 1, RELAXED)
    log[1] = load(array, 1, ACQUIRE)
    log[2] = load(array, 1, SEQ_CST)
    log[3] = fetch_add(array, 1, b, RELAXED)
    log[4] = exchange(array, 1, b, ACQ_REL)
    log[5] = cas(array, 1, a, 1, ACQUIRE)
    log[6] = cas(array, 1, b, 2, SEQ_CST)
    log[7] = cas(array, 1, 2, a, RELEASE)
    log[8] = fetch_add(array, 1, a, SEQ_CST)
    fence(ACQUIRE)
    fence(RELEASE)
    fence(ACQ_REL)
    fence(SEQ_CST)
    log[9] = array[1]


@kernel
def count_by_cas(array, rounds):
    lost = 0
    for _ in range(rounds):
        seen = load(array, 0, RELAXED)
        while not cas(array, 0, seen, seen + 1, ACQ_REL):
            lost += 1
            seen = load(array, 0, RELAXED)
    return lost


@kernel
def count_by_add(array, rounds):
    for _ in range(rounds):
        fetch_add(array, 0, 1, RELAXED)


@kernel
def pass_token(array, token, rounds):
    """Wait for `token`, add to a plain word, and pass the token to the other thread."""
    for _ in range(rounds):
        while load(array, 0, ACQUIRE) != token:
            yield_thread()
        array[8] += token + 1
        store(array, 0, 1 - token, RELEASE)


@kernel
def store_then_look(array, mine, other, seen, rounds):
    """Dekker's test: of two threads that store, then load, at least one sees the other."""
    for turn in range(rounds):
        store(array, mine, turn + 1, SEQ_CST)
        seen[turn] = load(array, other, SEQ_CST)
        # Both threads meet before the next round, so that the rounds do not drift apart.
        fetch_add(array, 16, 1, SEQ_CST)
        while load(array, 16, SEQ_CST) < 2 * (turn + 1):
            yield_thread()


@kernel
def times():
    began = now()
    pause()
    yield_thread()
    sleep_us(2_000)
    return began, now()


@kernel
def work_then_sleep(nanoseconds):
    began = thread_now()
    until = now() + nanoseconds
    while now() < until:
        pause()
    worked = thread_now()
    sleep_us(20_000)
    return worked - began, thread_now() - worked


@kernel
def use_lock(array, index):
    init_lock(array, index)
    lock(array, index)
    unlock(array, index)
    lock(array, index)
    unlock(array, index)


@given(words, words)
def test_oracle_both_forms_mean_the_same(a, b):
    expected = None
    for form in forms(every_operation):
        array = aligned_words(3)
        log = np.zeros(10, np.int64)
        form(array, a, b, log)
        assert array[[0, 2]].tolist() == [0, 0]
        assert expected in (None, log.tolist())
        expected = log.tolist()
    assert expected[:5] == [a, a, a, a, (a + b + 2**63) % 2**64 - 2**63]
    # The first exchange replaces b by 1 if a equals b; the second compares with b.
    assert expected[5:7] == [a == b, a != b or b == 1]


@pytest.mark.parametrize("count", [count_by_cas, count_by_add])
def test_threads_lose_no_update(count):
    array = aligned_words(1)
    count(array, 1)
    run_threads(*(lambda: count(array, ROUNDS) for _ in range(3)))
    assert array[0] == 3 * ROUNDS + 1


class SlowWord(np.ndarray):
    """A word whose reader lets another thread store before it continues, if that thread can."""

    def __getitem__(self, index):
        word = int(np.ndarray.__getitem__(self, index))
        self.writer.start()
        self.writer.join(0.05)
        return word


@pytest.mark.parametrize("update", [fetch_add, exchange, cas])
def test_interpreted_a_store_is_not_lost_inside_an_update(update):
    array = aligned_words(1).view(SlowWord)
    array.writer = threading.Thread(target=store, args=(array, 0, 100, RELAXED))
    given, answer = ((0, 1), True) if update is cas else ((1,), 0)
    assert update(array, 0, *given, RELAXED) == answer
    array.writer.join()
    assert array.tolist() == [100]


def test_threads_release_and_acquire_carry_plain_words():
    array = aligned_words(16)
    rounds = ROUNDS // 20
    run_threads(*(lambda t=token: pass_token(array, t, rounds) for token in (0, 1)))
    assert array[8] == 3 * rounds


def test_threads_sequentially_consistent_stores_are_seen_by_one_of_two():
    array = aligned_words(24)
    rounds = ROUNDS // 20
    seen = np.zeros((2, rounds), np.int64)
    run_threads(
        lambda: store_then_look(array, 0, 8, seen[0], rounds),
        lambda: store_then_look(array, 8, 0, seen[1], rounds),
    )
    turn = np.arange(rounds)
    assert not ((seen[0] == turn) & (seen[1] == turn)).any()


def test_the_clock_is_pythons_monotonic_one_in_both_forms():
    for form in forms(times):
        before = time.monotonic_ns()
        began, ended = form()
        assert before <= began <= ended - 2_000_000
        assert ended <= time.monotonic_ns()


def test_a_lock_is_taken_and_given_back_in_both_forms():
    for form in forms(use_lock):
        form(aligned_words(2 * MUTEX_WORDS), MUTEX_WORDS)


def test_the_scheduling_hook_is_called_before_each_interpreted_access(monkeypatch):
    array = aligned_words(2)
    calls = []

    def hook(operation, _, index):
        calls.append((operation, index, int(array[1])))

    monkeypatch.setattr(atomics, "scheduling_hook", hook)
    store(array, 1, 5, RELEASE)
    load(array, 1, ACQUIRE)
    cas(array, 1, 5, 6, SEQ_CST)
    fetch_add(array, 1, 1, RELAXED)
    exchange(array, 1, 0, RELAXED)
    fence(SEQ_CST)
    assert calls == [
        ("store", 1, 0),
        ("load", 1, 5),
        ("cas", 1, 5),
        ("fetch_add", 1, 6),
        ("exchange", 1, 7),
        ("fence", 0, 0),
    ]


@pytest.mark.parametrize(
    "call", [lambda a: load(a, 0), lambda a: store(a, 0, 1), lambda a: cas(a, 0, 0, 1), fetch_add]
)
def test_a_call_without_an_order_is_refused_in_python(call):
    with pytest.raises(TypeError):
        call(aligned_words(1))


def _without_order(array, order):
    return load(array, 0)


def _variable_order(array, order):
    return load(array, 0, order)


def _load_release(array, order):
    return load(array, 0, RELEASE)


def _load_both(array, order):
    return load(array, 0, ACQ_REL)


def _store_acquire(array, order):
    store(array, 0, 1, ACQUIRE)


def _no_such_order(array, order):
    return fetch_add(array, 0, 1, 9)


def _variable_cas(array, order):
    return cas(array, 0, 0, 1, order)


def _relaxed_fence(array, order):
    fence(RELAXED)


WRONG_CALLS = [
    _variable_order,
    _load_release,
    _load_both,
    _store_acquire,
    _no_such_order,
    _variable_cas,
    _relaxed_fence,
]


@compiled_only
@pytest.mark.parametrize("call", WRONG_CALLS, ids=lambda call: call.__name__)
def test_a_variable_or_unfit_order_is_refused_by_the_compiler(call):
    with pytest.raises(NumbaError):
        kernel(call)(aligned_words(1), 1)


@compiled_only
def test_a_missing_order_is_refused_by_the_compiler():
    with pytest.raises((TypeError, NumbaError), match="missing .*'order'"):
        kernel(_without_order)(aligned_words(1), 1)


@compiled_only
@pytest.mark.parametrize(
    "array", [np.zeros(2, np.int32), np.zeros(2), np.zeros((2, 2), np.int64), np.zeros(4, int)[::2]]
)
def test_words_that_are_no_words_are_refused_by_the_compiler(array):
    with pytest.raises(NumbaError, match="one-dimensional C-contiguous int64 array"):
        count_by_add(array, 1)


@pytest.mark.timed
def test_the_clock_of_a_thread_counts_work_and_no_sleep():
    for form in forms(work_then_sleep):
        worked, slept = form(5_000_000)
        # Less than the elapsed time if others use the core, and never more.
        assert 0 < worked <= 5_500_000
        assert 0 <= slept < 5_000_000
