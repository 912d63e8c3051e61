"""Mutexes: mutual exclusion by sleeping, without spinning, in both forms."""

from __future__ import annotations

import time

import numpy as np
import pytest

from operators.contract import UsageError
from operators.core.atomics import MUTEX_WORDS, RELAXED, SEQ_CST, load, now, sleep_us, store
from operators.core.backoff import wait_a_little
from operators.core.jit import kernel
from operators.core.layout import LINE_WORDS
from operators.core.mutex import acquire, make_mutexes, release
from tests.operators.core.running import ROUNDS, forms, run_threads


@kernel
def add_under_lock(mutexes, mutex, total, rounds):
    for _ in range(rounds):
        acquire(mutexes, mutex)
        # Two plain steps: without mutual exclusion one of two threads loses an addition.
        total[mutex] = total[mutex] + 1
        release(mutexes, mutex)


@kernel
def hold(mutexes, word, microseconds):
    acquire(mutexes, 0)
    store(word, 0, 1, SEQ_CST)
    sleep_us(microseconds)
    release(mutexes, 0)


@kernel
def wait_for(mutexes, word):
    """Take a mutex that another thread holds, and return the time that took."""
    waited = 0
    while load(word, 0, RELAXED) == 0:
        waited = wait_a_little(waited)
    began = now()
    acquire(mutexes, 0)
    release(mutexes, 0)
    return now() - began


def test_smoke_a_free_mutex_is_taken_and_given_back_many_times():
    mutexes = make_mutexes(2)
    for form in forms(add_under_lock):
        total = np.zeros(2, np.int64)
        form(mutexes, 1, total, 10)
        assert total.tolist() == [0, 10]


def test_boundaries_of_the_parameters():
    with pytest.raises(UsageError, match="at least 1, received 0"):
        make_mutexes(0)


def test_boundaries_a_mutex_shares_no_cache_line():
    assert MUTEX_WORDS % LINE_WORDS == 0
    mutexes = make_mutexes(3)
    assert len(mutexes) == 3 * MUTEX_WORDS
    assert mutexes.ctypes.data % (8 * LINE_WORDS) == 0


def test_boundaries_mutexes_are_independent():
    mutexes = make_mutexes(2)
    acquire(mutexes, 0)
    acquire(mutexes, 1)
    release(mutexes, 0)
    acquire(mutexes, 0)


def test_threads_lose_no_addition():
    mutexes = make_mutexes(2)
    total = np.zeros(2, np.int64)
    add_under_lock(mutexes, 0, total, 1)
    run_threads(
        *(lambda: add_under_lock(mutexes, 0, total, ROUNDS) for _ in range(3)),
        lambda: add_under_lock(mutexes, 1, total, ROUNDS),
    )
    assert total.tolist() == [3 * ROUNDS + 1, ROUNDS]


@pytest.mark.timed
def test_threads_a_waiting_one_sleeps_and_uses_no_core():
    mutexes = make_mutexes(1)
    word = np.zeros(1, np.int64)
    hold(mutexes, word, 1)
    wait_for(mutexes, word)
    word[0] = 0
    lasted = []

    def waiter():
        used = time.thread_time()
        lasted.append((wait_for(mutexes, word), time.thread_time() - used))

    run_threads(lambda: hold(mutexes, word, 200_000), waiter)
    waited_ns, core_seconds = lasted[0]
    assert waited_ns > 100_000_000
    assert core_seconds < 0.05
