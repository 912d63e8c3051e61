"""How many processes would settle a statement that was measured and left open.

A confidence interval is made from six processes on, and narrows with more. The number that it takes
until the interval excludes the edge of the statement's region follows from the ratio and from the
spread of processes. The spread of several processes comes from their ratios; that of one from the
noise floor. It is a guess from few processes. Statements of one process of ``docs/sixteen-cores``:
of 15 for which six processes were predicted to suffice, six settle 11; of 16 for which more were
predicted, six settle 4.
"""

from __future__ import annotations

from math import inf, log, sqrt

import numpy as np

from experiments.judging.pool import PRACTICALLY_EQUAL, REGIONS, WITHIN, Pool
from experiments.records.statistics import PROCESSES_FOR_AN_INTERVAL, student_t

# Nobody runs more processes than these.
MOST = 100
# A floor is the factor that 95 of 100 ratios of equal runs lie within.
_FLOOR_IN_DEVIATIONS = 1.96


def processes_needed(pool: Pool, direction: str, tolerance: float | None) -> int | None:
    """Return how many processes would give an answer, other things being equal.

    Returns
    -------
    int or None
        From ``PROCESSES_FOR_AN_INTERVAL`` on; above ``MOST`` where ``MOST`` processes would not do.
        None where the spread of processes is unknown.
    """
    deviation = _deviation(pool)
    if pool.spread is None or deviation is None:
        return None
    apart = _from_the_edge(pool.spread.value, direction, tolerance)
    for count in range(PROCESSES_FOR_AN_INTERVAL, MOST + 1):
        if student_t(count - 1) * deviation / sqrt(count) < apart:
            return count
    return MOST + 1


def clauses(needed: int | None) -> list[str]:
    """Return the same as a clause of a reason; none where it is unknown."""
    if needed is None:
        return []
    if needed > MOST:
        return [f"at this spread {MOST} processes would not settle it"]
    return [f"at this spread about {needed} processes would settle it"]


def _deviation(pool: Pool) -> float | None:
    """Return the standard deviation of the logarithm of a process's ratio."""
    if pool.spread is not None and pool.spread.processes > 1:
        return float(np.std(np.log(pool.spread.values), ddof=1))
    known = pool.floor is not None and pool.floor > 1.0
    return log(pool.floor) / _FLOOR_IN_DEVIATIONS if known else None


def _from_the_edge(value: float, direction: str, tolerance: float | None) -> float:
    """Return how far a ratio lies from the nearest edge of the direction's region, as a logarithm.

    A ratio is known to be practically equal when all of the interval is.
    """
    if direction in WITHIN:
        edges = REGIONS[direction](tolerance)
    elif abs(log(value)) < log(PRACTICALLY_EQUAL):
        edges = (1.0 / PRACTICALLY_EQUAL, PRACTICALLY_EQUAL)
    else:
        edges = (1.0,)
    return min(abs(log(value / edge)) for edge in edges if edge not in (0.0, inf))
