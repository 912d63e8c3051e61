"""The core structures as one would write them without threads and without a compiler.

Each class is the oracle of the structure named in it: called by one thread, the structure returns
the oracle's results. Nothing here is fast, and nothing is shared.

A *specification* is an oracle for several threads: given a call and the answer, it says whether the
structure may give that answer now (`operators.check`). Calls that return nothing may answer
anything.
"""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Sequence
from typing import Any

from operators.contract import ACCEPTED, FULL


class BoundedQueue:
    """The results of a queue of ``michael_scott_queue`` and of a ring of ``spsc_ring``."""

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
    """The free nodes of one owner of ``arena``, and which comes next."""

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
    """The answers of a bounded queue to several threads: first in, first out, FULL only when full.

    ``push`` and ``enqueue`` take the words of an item and answer ACCEPTED or FULL. ``pop`` and
    ``dequeue`` answer the item's words as a tuple, or None or () when there is none, and so does
    ``peek``, with the first words at least.

    A ring of ``spsc_ring`` is exact: each side loads the other's position before it answers "full"
    or "empty". A queue of ``michael_scott_queue`` answers FULL when no node is free; a node outside
    the queue is either free or held by a thread that has not yet linked it, or not yet given it
    back. So FULL is right as long as the number of items, plus one node for each other thread
    inside an ``enqueue`` or inside a ``dequeue`` that moves an item, reaches the capacity.

    Parameters
    ----------
    capacity : int
        Most items in the queue.
    nodes : bool
        Whether a thread inside a call may hold one item's room.
    """

    def __init__(self, capacity: int, nodes: bool = False) -> None:
        self._capacity = capacity
        self._items: tuple[tuple[int, ...], ...] = ()
        self.EXCUSABLE = frozenset({FULL}) if nodes else frozenset()

    def excuse(self, call: Any, beside: Sequence[Any]) -> tuple[int, int]:
        """Return FULL, and how many other threads may have held a node."""
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
    """The behaviour of a mutex, and of a number that it protects, towards several threads.

    ``acquire`` ends only while the mutex is free, and only the holder may ``release``.
    ``increment`` adds one to the number and answers the previous value: called by the holder, or,
    where the call takes the mutex itself, while the mutex is free. ``read`` answers the number.
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
