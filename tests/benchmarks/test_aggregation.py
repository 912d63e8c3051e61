"""Cost of Update and Output in the output thread: tuples per second of processor time, no gate.

A tuple arrives about every 300 microseconds, an advance is 3 s (10,000 tuples), and each tuple is
in ten windows; k has 243 keys, K 40,000 by Zipf 1.05. Every run of the tests uses the tiny size.
For the real size, with the numbers printed, run::

    MILLRACE_BENCHMARKS=real python -m pytest -s tests/benchmarks/test_aggregation.py

Measured on an AMD EPYC (Zen 5, 2.6 GHz) next to other programs, million, count / first / sum:
k 110 / 87 / 82, K 24 / 21 / 19 (``hash-direct`` there: k 99, K 22 with count). The output is
checked after the clock has stopped.
"""

from __future__ import annotations

import os
import statistics
import time

import numpy as np
import pytest

from operators.aggregation.plan import make_plan
from operators.aggregation.reference import oracle
from operators.aggregation.sink import winset_log
from operators.aggregation.update_output import end_of_streams, update_output
from operators.aggregation.winsets import make_windows
from operators.contract import END, READY
from operators.core.jit import INTERPRETED, kernel

REAL = os.environ.get("MILLRACE_BENCHMARKS") == "real" and not INTERPRETED
TUPLES = 2_000_000 if REAL else 300
REPETITIONS = 7 if REAL else 1
ADVANCE_US = 3_000_000
SPACING_US = 300
WINDOWS = 10
KEYS = {"k": 243, "K": 40_000}


@kernel
def process_all(windows, timestamp, key, value):
    for row in range(timestamp.shape[0]):
        windows.current[0] = timestamp[row]
        windows.current[2] = key[row]
        windows.current[3] = value[row]
        status = update_output(windows)
        if status != READY:
            return status
    return end_of_streams(windows)


def tuples(shape: str) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return timestamp, key and value of such data."""
    random = np.random.default_rng(1)
    keys = KEYS[shape]
    if shape == "k":
        key = random.integers(0, keys, TUPLES)
    else:
        weight = 1.0 / np.arange(1, keys + 1) ** 1.05
        rank = np.searchsorted(np.cumsum(weight) / weight.sum(), random.random(TUPLES))
        key = random.permutation(keys)[rank]
    timestamp = np.arange(TUPLES) * SPACING_US + random.integers(0, SPACING_US, TUPLES)
    return timestamp, key, random.integers(1, 1001, TUPLES)


@pytest.mark.parametrize("function", ["count", "first", "sum", "max"])
@pytest.mark.parametrize("shape", ["k", "K"])
def test_update_and_output(shape, function):
    columns = tuples(shape)
    plan = make_plan(function, WINDOWS * ADVANCE_US, ADVANCE_US, KEYS[shape])
    right = oracle(plan, *columns)
    rates = []
    # The first repetition compiles, and is the warm-up of the caches.
    for _ in range(1 + REPETITIONS):
        windows = make_windows(plan)
        began_ns = time.thread_time_ns()
        status = process_all(windows, *columns)
        rates.append(TUPLES / (time.thread_time_ns() - began_ns) * 1e3)
        assert status == END
        log = winset_log(windows.sink)
        np.testing.assert_array_equal(log.digest, right.digest)
    if REAL:
        rates = rates[1:]
        print(
            f"\n{shape}, {function}: {statistics.median(rates):.1f}"
            f" ({min(rates):.1f}-{max(rates):.1f}) million tuples/s"
        )
