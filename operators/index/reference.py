"""The oracle for every index: one sorted list of (key, position)."""

from __future__ import annotations

from bisect import bisect_left, insort


class Reference:
    """The tuples of a window, sorted by key."""

    def __init__(self) -> None:
        self._entries: list[tuple[int, int]] = []

    def insert(self, key: int, position: int) -> None:
        """Index a tuple."""
        insort(self._entries, (key, position))

    def remove(self, key: int, position: int) -> None:
        """Forget a tuple."""
        self._entries.remove((key, position))

    def search(self, low: int, high: int) -> list[int]:
        """Return the positions of the keys from `low` to `high`, ascending."""
        first, last = bisect_left(self._entries, (low,)), bisect_left(self._entries, (high + 1,))
        return sorted(position for _, position in self._entries[first:last])
