"""The core structures as one would write them without threads and without a compiler.

Each class is the oracle of the structure named in it: what the structure returns, called by one
thread, is what its oracle returns. Nothing here is fast, and nothing is shared.

A *specification* is an oracle for what several threads were told: it is given a call with its
answer and says whether the structure may give it now (`operators.check`). Calls that return nothing
may answer anything.
"""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Sequence
from typing import Any

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


class QueueSpecification:
    """What threads may be told by a bounded queue: first in, first out, FULL only when it is.

    ``push`` and ``enqueue`` take the words of an item and answer ACCEPTED or FULL. ``pop`` and
    ``dequeue`` answer the item's words as a tuple, or None or () when there is none, and so does
    ``peek``, with the first words at least.

    A ring of ``spsc_ring`` is exact: each side looks at the other's own position before it answers
    "full" or "empty". A queue of ``michael_scott_queue`` answers FULL when no node is free; a node
    that is not in the queue is either free or in the hands of a thread that has not yet linked it,
    or not yet given it back. So FULL is right as long as the items and the other threads inside an
    ``enqueue`` or a ``dequeue`` that moves an item, one node each, are together as many as the
    queue holds.

    Parameters
    ----------
    capacity : int
        Items that it holds.
    nodes : bool
        Whether a thread inside a call may have one item's room in its hands.
    """

    def __init__(self, capacity: int, nodes: bool = False) -> None:
        self._capacity = capacity
        self._items: tuple[tuple[int, ...], ...] = ()
        self.EXCUSABLE = frozenset({FULL}) if nodes else frozenset()

    def excuse(self, call: Any, beside: Sequence[Any]) -> tuple[int, int]:
        """Return FULL, and how many other threads may have had a node in their hands."""
        moving = (other for other in beside if other.answer and other.name != "peek")
        return FULL, len({other.thread for other in moving})

    def accepts(self, thread: int, name: str, arguments: tuple, answer: Any) -> bool:
        """Perform a call; False when `answer` is wrong."""
        items = self._items
        if name == "enqueue" or name == "push":
            if answer == ACCEPTED:
                self._items = (*items, arguments)
                return len(items) < self._capacity
            status, elsewhere = answer if type(answer) is tuple else (answer, 0)
            return status == FULL and len(items) + elsewhere >= self._capacity
        if not answer:
            return not items
        if name == "peek":
            return bool(items) and items[0][: len(answer)] == answer
        self._items = items[1:]
        return bool(items) and items[0] == answer

    def answers(self, thread: int, name: str, arguments: tuple) -> list[Any]:
        """Return the answers with which a call would change the queue."""
        if name == "enqueue" or name == "push":
            return [ACCEPTED] if len(self._items) < self._capacity else []
        return [self._items[0]] if self._items and name != "peek" else []

    def copy(self) -> QueueSpecification:
        """Return another in the same state."""
        other = object.__new__(QueueSpecification)
        other._capacity, other._items = self._capacity, self._items
        return other

    def key(self) -> tuple:
        """Return the items."""
        return self._items


class MutexSpecification:
    """What threads may see of a mutex and of a number that it protects.

    ``acquire`` ends only while nobody has it, and ``release`` is its holder's. ``increment`` adds
    one to the number and answers what it was before: by the holder, or, where the call takes the
    mutex itself, while nobody has it. ``read`` answers the number.
    """

    def __init__(self) -> None:
        self._holder: int | None = None
        self._number = 0

    def accepts(self, thread: int, name: str, arguments: tuple, answer: Any) -> bool:
        """Perform a call; False when it may not end now, or `answer` is wrong."""
        holder = self._holder
        if name == "acquire":
            self._holder = thread
            return holder is None
        if name == "release":
            self._holder = None
            return holder == thread
        number = self._number
        self._number += name == "increment"
        return (holder is None or holder == thread) and answer == number

    def answers(self, thread: int, name: str, arguments: tuple) -> list[Any]:
        """Return the answers with which a call may take effect."""
        answer = self._number if name in ("increment", "read") else None
        return [answer] if self.copy().accepts(thread, name, arguments, answer) else []

    def copy(self) -> MutexSpecification:
        """Return another in the same state."""
        other = MutexSpecification()
        other._holder, other._number = self._holder, self._number
        return other

    def key(self) -> tuple:
        """Return the holder and the number."""
        return self._holder, self._number


def percentile(values: list[int], percent: float) -> int:
    """Return the value that `percent` of `values` do not exceed, exactly (nearest rank)."""
    rank = max(math.floor(percent * len(values) / 100 + 0.5), 1)
    return sorted(values)[rank - 1]
