"""When the tuples of a run are due: at once, at an even rate, or at given times.

A schedule is a value. Who measures makes one, benches hand it to their threads, and the threads ask
it when a tuple is due. Tuples go by their *rank*, the position in the total order of all streams
together, so that a schedule is that of all inputs::

    CLOSED_LOOP            every tuple is offered as soon as the one before was taken
    every(period_ns)       rank i is due i periods after the common start
    at_times(times)        rank i is due times[i] after the common start

A schedule never shifts: a tuple that is offered late keeps its due time, so that whatever made it
late counts as latency, and there is no coordinated omission.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from operators.core.jit import inlined


class Schedule(NamedTuple):
    """When each tuple of a run is due; the closed loop is false, every other schedule is true.

    One type for all three kinds, so that a kernel is compiled once.

    Attributes
    ----------
    period_ns : float
        Between the tuples of consecutive ranks; 0 where there are times, and in the closed loop.
    times : int64 array
        By rank, in ns after the common start; empty where there is a period, and in the closed
        loop.
    """

    period_ns: float
    times: np.ndarray

    def __bool__(self) -> bool:
        """Say whether tuples have due times."""
        return self.period_ns > 0.0 or len(self.times) > 0

    def due_ns(self, ranks: np.ndarray) -> np.ndarray:
        """Return when the tuples of these ranks are due, in ns after the common start."""
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
    """Say whether tuples have due times; ``bool(schedule)`` in a kernel."""
    return schedule.period_ns > 0.0 or len(schedule.times) > 0


@inlined
def due_after(schedule, rank):
    """Return when the tuple of this rank is due, in ns after the common start, if it is open."""
    if schedule.period_ns > 0.0:
        return int(rank * schedule.period_ns)
    return schedule.times[rank]
