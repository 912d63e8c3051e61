"""What this machine takes for a unit of work, a matrix product, and for reading a clock."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache

import numpy as np

from operators.core.atomics import thread_now
from operators.core.jit import INTERPRETED, kernel
from operators.core.work import matrix_work

# Long enough that reading the clock does not count, and short: the least of some such runs counts,
# since a host that takes the core away makes a run longer and never shorter.
PRODUCTS = 200 if INTERPRETED else 50_000
RUNS = 7
# A batch of clock reads lasts microseconds, and all together some ten milliseconds at most.
CLOCK_READS, CLOCK_BATCHES = 100, 200


@kernel
def _time_products(products, out):
    begin = thread_now()
    out[1] = matrix_work(out[1], products)
    out[0] = thread_now() - begin


@cache
def product_ns() -> float:
    """Return the processor time of one matrix product, in ns: the least of a few runs, once."""
    out = np.zeros(2, dtype=np.int64)
    _time_products(1, out)
    times = []
    for _ in range(RUNS):
        _time_products(PRODUCTS, out)
        times.append(int(out[0]))
    return max(min(times), 1) / PRODUCTS


def products_of(microseconds: float) -> int:
    """Return how many matrix products take about so long on a core of this machine."""
    return round(1_000 * microseconds / product_ns())


@cache
def clock_cost_ns(clock: Callable[[], int]) -> float:
    """Return what one reading of a clock adds to what is timed by it, in ns, measured once.

    The least of many short batches: what disturbs one makes it longer, never shorter, and a run
    that was disturbed less than they would seem to take no time at all.

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
