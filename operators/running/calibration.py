"""How many matrix products fill a time: the unit of work whose cost is given in microseconds."""

from __future__ import annotations

from functools import cache

import numpy as np

from operators.core.atomics import thread_now
from operators.core.jit import INTERPRETED, kernel
from operators.core.work import matrix_work

# Long enough that reading the clock does not count, and short: the least of some such runs counts,
# since a host that takes the core away makes a run longer and never shorter.
PRODUCTS = 200 if INTERPRETED else 50_000
RUNS = 7


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
