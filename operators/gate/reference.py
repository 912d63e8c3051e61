"""The correct result of every gate, written to be obvious and slow.

Two oracles for S-Merge (section 2 and Definition 1 of the multiway aggregation paper):

* `merged` sorts all tuples of finished streams: the sequence that a gate has returned in the end.
* `ReadinessModel` follows a gate step by step: after each insertion and each closing it knows which
  tuples are ready, hence which ones a gate may return.

The *total order* is (timestamp, source, position in the source). A tuple is *ready* when the last
delivered tuple of every open source is at or after it in the total order (when the watermark has
reached it); a closed source counts as being after all tuples.

# ASSUME: Definition 1 compares timestamps only, and so would release (5, source 1) while source 0
# may still deliver another 5: two runs could differ. Comparing whole (timestamp, source, position)
# triples cannot.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from operators.contract import ACCEPTED, OUT_OF_ORDER


class ReferenceTuple(NamedTuple):
    """A tuple with its position in the total order: tuples compare by that position."""

    timestamp: int
    source: int
    position: int
    key: int
    value: int


def merged(streams: Sequence[Sequence[tuple[int, int, int]]]) -> list[ReferenceTuple]:
    """Return the tuples of all `streams` in the total order.

    Parameters
    ----------
    streams : sequence of sequences of (timestamp, key, value)
        One a source, each sorted by timestamp.

    Examples
    --------
    >>> [(t.timestamp, t.source) for t in merged([[(1, 0, 0), (5, 0, 0)], [(1, 0, 0)]])]
    [(1, 0), (1, 1), (5, 0)]
    """
    return sorted(
        ReferenceTuple(timestamp, source, position, key, value)
        for source, stream in enumerate(streams)
        for position, (timestamp, key, value) in enumerate(stream)
    )


def total_order(source: np.ndarray, timestamp: np.ndarray) -> np.ndarray:
    """Return the permutation that puts rows into the total order.

    Parameters
    ----------
    source, timestamp : int64 arrays of equal length
        Rows of one source are in the order in which it delivers them.

    Returns
    -------
    int64 array
        Row numbers; ``timestamp[total_order(source, timestamp)]`` is sorted.
    """
    return np.lexsort((source, timestamp))


class ReadinessModel:
    """A gate as one sorted list and the last tuple of each source.

    Parameters
    ----------
    sources : int
        Count of sources, all open and without tuples.
    """

    def __init__(self, sources: int) -> None:
        self.last: list[ReferenceTuple | None] = [None] * sources
        self.closed = [False] * sources
        self.delivered: list[ReferenceTuple] = []
        self.returned = 0

    def insert_tuple(self, source: int, timestamp: int, key: int, value: int) -> int:
        """Deliver a tuple: ACCEPTED, or OUT_OF_ORDER when it is earlier than its source's last."""
        last = self.last[source]
        if last is not None and timestamp < last.timestamp:
            return OUT_OF_ORDER
        position = 0 if last is None else last.position + 1
        self.last[source] = ReferenceTuple(timestamp, source, position, key, value)
        self.delivered.append(self.last[source])
        self.delivered.sort()
        return ACCEPTED

    def close_source(self, source: int) -> int:
        """Close a source: it holds no tuple back any more."""
        self.closed[source] = True
        return ACCEPTED

    def is_ready(self, candidate: ReferenceTuple) -> bool:
        """Say whether `candidate` is ready."""
        return all(
            closed or (last is not None and last >= candidate)
            for last, closed in zip(self.last, self.closed, strict=True)
        )

    def ready(self) -> list[ReferenceTuple]:
        """Return the ready tuples not yet returned, in the total order."""
        return [t for t in self.delivered[self.returned :] if self.is_ready(t)]

    def get_next_ready_tuple(self) -> ReferenceTuple | None:
        """Return the earliest ready tuple once and only once, or None while there is none."""
        ready = self.ready()
        if not ready:
            return None
        self.returned += 1
        return ready[0]

    def ended(self) -> bool:
        """Say whether every source is closed and every tuple was returned."""
        return all(self.closed) and self.returned == len(self.delivered)
