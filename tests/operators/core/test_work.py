"""Matrix work: the same number in both forms, and a duration as requested."""

from __future__ import annotations

import threading
import time

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from operators.core.jit import INTERPRETED, kernel
from operators.core.work import matrix_work
from operators.running.calibration import product_ns, products_of
from tests.operators.core.running import forms

WORDS = st.integers(-(1 << 63), (1 << 63) - 1)


@kernel
def worked(word, products, out):
    out[0] = matrix_work(word, products)


@given(WORDS, st.integers(0, 20))
def test_both_forms_agree_and_answer_no_negative_number(word, products):
    found = set()
    for form in forms(worked):
        out = np.zeros(1, dtype=np.int64)
        form(word, products, out)
        found.add(int(out[0]))
    assert len(found) == 1
    assert 0 <= min(found) < 1 << 62


def test_each_product_changes_the_result():
    out = np.zeros(1, dtype=np.int64)
    seen = set()
    for products in range(100):
        worked(5, products, out)
        seen.add(int(out[0]))
    assert len(seen) == 100


@pytest.mark.timed
@pytest.mark.skipif(INTERPRETED, reason="a product takes microseconds")
def test_ten_times_the_products_take_ten_times_as_long():
    out = np.zeros(1, dtype=np.int64)
    products = products_of(2_000)
    assert products == round(2e6 / product_ns())

    def spent(count: int) -> float:
        # A host that takes the core away only makes a run longer, never shorter.
        times = []
        for _ in range(5):
            began = time.thread_time()
            worked(5, count, out)
            times.append(time.thread_time() - began)
        return min(times)

    # The host may have been slower when the cost of a product was measured.
    assert 0.001 < spent(products) < 0.004
    assert spent(10 * products) == pytest.approx(10 * spent(products), rel=0.4)


@pytest.mark.timed
@pytest.mark.skipif(INTERPRETED, reason="threads take turns at the interpreter")
def test_eight_threads_do_no_more_than_the_cores():
    # Waiting on the clock would let all eight end together.
    import os

    cores = len(os.sched_getaffinity(0))
    products = products_of(20_000)
    outs = [np.zeros(1, dtype=np.int64) for _ in range(8)]

    def seconds(threads: int) -> float:
        workers = [threading.Thread(target=worked, args=(5, products, out)) for out in
                   outs[:threads]]  # fmt: skip
        began = time.perf_counter()
        for worker in workers:
            worker.start()
        for worker in workers:
            worker.join()
        return time.perf_counter() - began

    worked(5, 1, outs[0])
    alone = min(seconds(1) for _ in range(10))
    assert 8 * alone / seconds(8) <= 1.1 * cores
