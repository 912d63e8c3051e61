"""Spin locks: mutual exclusion, in both forms."""

from __future__ import annotations

import numpy as np
import pytest

from operators.contract import UsageError
from operators.core.jit import kernel
from operators.core.layout import LINE_WORDS
from operators.core.spin_lock import acquire, make_spin_locks, release
from tests.operators.core.running import ROUNDS, forms, run_threads


@kernel
def add_under_lock(locks, lock, total, rounds):
    for _ in range(rounds):
        acquire(locks, lock)
        # Two plain steps: without mutual exclusion one of two threads loses an addition.
        total[lock] = total[lock] + 1
        release(locks, lock)


def test_smoke_a_free_lock_is_taken_and_given_back_many_times():
    locks = make_spin_locks(2)
    for form in forms(add_under_lock):
        total = np.zeros(2, np.int64)
        form(locks, 1, total, 10)
        assert total.tolist() == [0, 10]


def test_boundaries_of_the_parameters():
    with pytest.raises(UsageError, match="at least 1, received 0"):
        make_spin_locks(0)


def test_boundaries_a_lock_shares_no_cache_line():
    locks = make_spin_locks(3)
    assert len(locks) == 3 * LINE_WORDS
    assert locks.ctypes.data % (8 * LINE_WORDS) == 0


def test_threads_lose_no_addition():
    locks = make_spin_locks(2)
    total = np.zeros(2, np.int64)
    add_under_lock(locks, 0, total, 1)
    run_threads(
        *(lambda: add_under_lock(locks, 0, total, ROUNDS) for _ in range(3)),
        lambda: add_under_lock(locks, 1, total, ROUNDS),
    )
    assert total.tolist() == [3 * ROUNDS + 1, ROUNDS]
