"""The worklist of a partitioned operator without threads: the oracle."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable


class ReferenceWorklist:
    """Tuples by partition; a partition that is being processed is skipped.

    Examples
    --------
    >>> worklist = ReferenceWorklist()
    >>> for partition, word in ((0, 10), (0, 11), (1, 12)):
    ...     worklist.add_input(partition, word)
    >>> worklist.next_input(worker=0), worklist.next_input(worker=1), worklist.next_input(worker=2)
    ((0, 10), (1, 12), None)
    >>> worklist.processed(worker=0)
    >>> worklist.next_input(worker=2)
    (0, 11)
    """

    def __init__(self) -> None:
        self._waiting: deque[tuple[int, int]] = deque()
        self._busy: dict[int, int] = {}

    def add_input(self, partition: int, word: int) -> None:
        """Add a tuple."""
        self._waiting.append((partition, word))

    def next_input(self, worker: int) -> tuple[int, int] | None:
        """Return the earliest tuple whose partition nobody processes, or None."""
        for each in self._waiting:
            if each[0] not in self._busy.values():
                self._waiting.remove(each)
                self._busy[worker] = each[0]
                return each
        return None

    def processed(self, worker: int) -> None:
        """Note that a worker has processed the current tuple."""
        del self._busy[worker]


def by_partition(tuples: Iterable[tuple[int, int]]) -> dict[int, list[int]]:
    """Return the words of each partition in the order of arrival: the oracle."""
    found: dict[int, list[int]] = {}
    for partition, word in tuples:
        found.setdefault(partition, []).append(word)
    return found
