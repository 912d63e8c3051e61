"""Schedules: the due times of a run's tuples (at once, at an even rate, or at given times).

A schedule is a value. A measurement makes one, benches pass it to their threads, and the threads
query the due time of each tuple. Tuples are numbered by *rank*, the position in the total order of
all streams together, so one schedule serves all inputs::

    CLOSED_LOOP            every tuple is offered as soon as the one before was taken
    every(period_ns)       rank i is due i periods after the common start
    at_times(times)        rank i is due times[i] after the common start

A schedule never shifts: a tuple offered late keeps its due time, so that every cause of the delay
counts as latency, and there is no coordinated omission.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from operators.core.jit import inlined


class Schedule(NamedTuple):
    """The due time of each tuple of a run; only the closed loop is false in a boolean context.

    All three kinds have one type, so that a kernel is compiled once.

    Attributes
    ----------
    period_ns : float
        Time between tuples of consecutive ranks; 0 if `times` are given, and in the closed loop.
    times : int64 array
        By rank, in ns after the common start; empty if a period is given, and in the closed loop.
    """

    period_ns: float
    times: np.ndarray

    def __bool__(self) -> bool:
        """Return whether tuples have due times."""
        return self.period_ns > 0.0 or len(self.times) > 0

    def due_ns(self, ranks: np.ndarray) -> np.ndarray:
        """Return the due times of the tuples of these ranks, in ns after the common start."""
        if self.period_ns > 0.0:
            return (ranks * self.period_ns).astype(np.int64)
        return self.times[ranks]


CLOSED_LOOP = Schedule(0.0, np.zeros(0, dtype=np.int64))


def every(period_ns: float) -> Schedule:
    """Return the schedule of an even rate; `period_ns` is above 0."""
    return CLOSED_LOOP._replace(period_ns=float(period_ns))


def at_times(times: np.ndarray) -> Schedule:
    """Return the schedule whose tuple of rank i is due ``times[i]`` ns after the common start."""
    return CLOSED_LOOP._replace(times=np.require(times, np.int64, ["C", "W"]))


@inlined
def is_open(schedule):
    """Return whether tuples have due times; ``bool(schedule)`` in a kernel."""
    return schedule.period_ns > 0.0 or len(schedule.times) > 0


@inlined
def due_after(schedule, rank):
    """Return the due time of a rank, in ns after the common start; only for an open schedule."""
    if schedule.period_ns > 0.0:
        return int(rank * schedule.period_ns)
    return schedule.times[rank]
