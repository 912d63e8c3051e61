"""The three-step procedure written without threads: lists, and a loop over them.

Section II of "ScaleJoin: a Deterministic, Disjoint-Parallel and Skew-Resilient Stream Join"; the
oracle of every theta join.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from operators.theta_join.family import Extent, R


class Arrival(NamedTuple):
    """A tuple as it arrives: in the order (timestamp, stream, position)."""

    timestamp: int
    stream: int
    position: int
    side: int
    row: Any


def merged(streams: Sequence[Sequence[tuple[int, Any]]], r_streams: int) -> list[Arrival]:
    """Return the tuples (timestamp, row) of physical streams, R's first, in the total order."""
    arrivals = [
        Arrival(timestamp, stream, position, int(stream >= r_streams), row)
        for stream, tuples in enumerate(streams)
        for position, (timestamp, row) in enumerate(tuples)
    ]
    return sorted(arrivals, key=lambda one: one[:3])


def join(
    arrivals: Sequence[Arrival], extent: Extent, holds: Callable[[Any, Any], bool]
) -> list[tuple[int, int]]:
    """Return the pairs of ranks, the later tuple's first, in the order in which they come out.

    Parameters
    ----------
    arrivals : sequence of Arrival
        In the total order; the rank of a tuple is its index.
    extent : Extent
    holds : callable
        ``holds(r_row, s_row)``: the predicate.
    """
    windows: tuple[list[int], list[int]] = ([], [])
    pairs = []
    for rank, new in enumerate(arrivals):
        own, other = windows[new.side], windows[1 - new.side]
        oldest = new.timestamp - extent.span
        if extent.span and extent.opposite:
            other[:] = [one for one in other if arrivals[one].timestamp >= oldest]
        for one in other:
            rows = (new.row, arrivals[one].row)
            if holds(*(rows if new.side == R else rows[::-1])):
                pairs.append((rank, one))
        own.append(rank)
        if extent.count:
            del own[: -extent.count]
        elif not extent.opposite:
            own[:] = [one for one in own if arrivals[one].timestamp >= oldest]
    return pairs
