"""The core structures as one would write them without threads and without a compiler.

Each class is the oracle of the structure named in it: what the structure returns, called by one
thread, is what its oracle returns. Nothing here is fast, and nothing is shared.
"""

from __future__ import annotations

import math
from collections import deque

from operators.contract import ACCEPTED, FULL


class BoundedQueue:
    """What a queue of ``michael_scott_queue`` and a ring of ``spsc_ring`` return."""

    def __init__(self, capacity: int) -> None:
        """Make an empty queue of `capacity` items."""
        self._items: deque[tuple[int, ...]] = deque()
        self._capacity = capacity

    def enqueue(self, *item: int) -> int:
        """Append `item`: ACCEPTED or FULL."""
        if len(self._items) == self._capacity:
            return FULL
        self._items.append(item)
        return ACCEPTED

    def peek(self) -> tuple[int, ...] | None:
        """Return the oldest item, or None."""
        return self._items[0] if self._items else None

    def dequeue(self) -> tuple[int, ...] | None:
        """Take the oldest item, or return None."""
        return self._items.popleft() if self._items else None


class FreeList:
    """Which nodes of one owner of ``arena`` are free, and which comes next."""

    def __init__(self, first: int, capacity: int) -> None:
        """Make `capacity` free nodes that begin at `first`."""
        self._free = list(range(first + capacity - 1, first - 1, -1))

    def take(self) -> int | None:
        """Take a node, or return None."""
        return self._free.pop() if self._free else None

    def give_back(self, node: int) -> None:
        """Make `node` the next to be taken."""
        self._free.append(node)


class Table:
    """What a table of ``hash_table`` holds: key to number of lookups, in order of insertion."""

    def __init__(self, capacity: int) -> None:
        """Make an empty table of `capacity` keys."""
        self.counts: dict[int, int] = {}
        self._capacity = capacity

    def count(self, key: int) -> int | None:
        """Count `key` and return how often it was; None when it is new and the table full."""
        if key not in self.counts and len(self.counts) == self._capacity:
            return None
        self.counts[key] = self.counts.get(key, 0) + 1
        return self.counts[key]

    def reset(self) -> None:
        """Forget every key."""
        self.counts.clear()


def percentile(values: list[int], percent: float) -> int:
    """Return the value that `percent` of `values` do not exceed, exactly (nearest rank)."""
    rank = max(math.floor(percent * len(values) / 100 + 0.5), 1)
    return sorted(values)[rank - 1]
