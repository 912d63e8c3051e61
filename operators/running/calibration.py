"""Measures the time of a unit of work (a matrix product) and of a clock reading on this machine."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache

import numpy as np

from operators.core.atomics import thread_now
from operators.core.jit import INTERPRETED, kernel
from operators.core.work import matrix_work

# Long enough that the clock reading does not count, and still short. The minimum of several runs
# counts, since losing the core to another tenant makes a run longer and never shorter.
PRODUCTS = 200 if INTERPRETED else 50_000
RUNS = 7
# A batch of clock readings lasts microseconds, all together some ten milliseconds at most.
CLOCK_READS, CLOCK_BATCHES = 100, 200


@kernel
def _time_products(products, out):
    begin = thread_now()
    out[1] = matrix_work(out[1], products)
    out[0] = thread_now() - begin


@cache
def product_ns() -> float:
    """Return the processor time of one matrix product, in ns: the minimum of a few runs, cached."""
    out = np.zeros(2, dtype=np.int64)
    _time_products(1, out)
    times = []
    for _ in range(RUNS):
        _time_products(PRODUCTS, out)
        times.append(int(out[0]))
    return max(min(times), 1) / PRODUCTS


def products_of(microseconds: float) -> int:
    """Return how many matrix products take about this long on a core of this machine."""
    return round(1_000 * microseconds / product_ns())


@cache
def clock_cost_ns(clock: Callable[[], int]) -> float:
    """Return the overhead of one clock reading on the timed code, in ns, measured once.

    The minimum of many short batches: a disturbance makes a batch longer, never shorter. An
    overestimate would make runs that were disturbed less seem to take no time at all.

    Parameters
    ----------
    clock : callable
        ``now`` or ``thread_now`` of `operators.core.atomics`.
    """

    @kernel
    def read_clock(reads, out):
        begin = clock()
        for _ in range(reads):
            out[0] = clock()
        out[0] -= begin

    out = np.zeros(1, dtype=np.int64)
    read_clock(1, out)
    costs = []
    for _ in range(CLOCK_BATCHES):
        read_clock(CLOCK_READS, out)
        costs.append(int(out[0]) / CLOCK_READS)
    return min(costs)
