"""The pace of a source, and the length of the queue in an open run."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from experiments.families.streamcloud.parts import Timed, TimedParts
from operators.core.atomics import now
from operators.streamcloud.carriers.threads import Pace, Thread


def pace_of(parts: TimedParts, timed: Timed) -> Pace:
    """Return the source's action before each blob: wait until the blob is due."""
    source = parts.source

    def pace(thread: Thread) -> None:
        timed.go = thread.go
        if timed.schedule:
            # The previous blob was taken a little before now.
            thread.was_late(now() - timed.due(timed.sent_rank))
            timed.sent_rank = source.due_rank
            thread.wait_until(timed.due(timed.sent_rank))

    return pace


class Queue:
    """The number of waiting tuples, sampled during a run.

    Parameters
    ----------
    parts : TimedParts
    timed : Timed
        An open run.
    blob : int
        A slice is due when its last tuple is; none of it counts as waiting before.
    waiting : callable or None
        Returns how many tuples are in channels; None where this is unknown.
    """

    def __init__(
        self, parts: TimedParts, timed: Timed, blob: int, waiting: Callable[[], int] | None
    ) -> None:
        self._source, self._timed, self._blob, self._waiting = parts.source, timed, blob, waiting
        self._sum = self._looks = 0

    def look(self) -> None:
        """Count the waiting tuples, if the run is in the middle."""
        timed, clock = self._timed, now()
        if self._waiting is None or not timed.go:
            return
        if not timed.due(timed.first) <= clock < timed.due(timed.last):
            return
        backlog = max(self._due(clock - timed.go) - self._source.tuples, 0)
        self._sum += backlog + self._waiting()
        self._looks += 1

    def _due(self, since_ns: int) -> int:
        """Return how many tuples, in whole slices, are due `since_ns` after the start."""
        schedule, total = self._timed.schedule, self._source.total
        if schedule.period_ns > 0.0:
            ranks = int(since_ns / schedule.period_ns) + 1
        else:
            ranks = int(np.searchsorted(schedule.times, since_ns, "right"))
        return total if ranks >= total else ranks // self._blob * self._blob

    def mean(self, instances: int) -> float | None:
        """Return the mean of the samples per instance; None without samples."""
        return self._sum / self._looks / instances if self._looks else None
