"""Specifications of the core's structures, beyond ``operators.core.reference``.

Each is an object without threads; ``Specification`` in ``operators.check.scenario`` documents the
methods.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from operators.contract import ACCEPTED, FULL
from operators.core.arena import NO_NODE
from operators.core.reference import FreeList, QueueSpecification


def holding(
    specification: QueueSpecification, items: Iterable[tuple[int, ...]]
) -> QueueSpecification:
    """Return the specification of a queue that holds `items`."""
    for item in items:
        assert specification.accepts(0, "enqueue", item, ACCEPTED), "more items than it holds"
    return specification


class NodeQueueSpecification(QueueSpecification):
    """A queue whose nodes threads may hold, and whose empty answer is 0, as FULL is."""

    def __init__(self, capacity: int) -> None:
        super().__init__(capacity, nodes=True)

    def excuse(self, call: Any, beside: Sequence[Any]) -> Any:
        """Return the value that `accepts` takes for an answer of 0."""
        return super().excuse(call, beside) if call.name == "enqueue" else call.answer


class LendingQueueSpecification:
    """A ring whose consumer keeps taken records until it gives back all of them.

    ``enqueue`` takes the words of a record and answers ACCEPTED or FULL, ``take`` answers them, or
    0 when there is none; ``give_back`` makes room.
    """

    def __init__(self, capacity: int) -> None:
        self._capacity = capacity
        self._records: tuple[tuple[int, ...], ...] = ()
        self._lent = 0

    def accepts(self, thread: int, name: str, arguments: tuple, answer: Any) -> bool:
        """Perform a call; False when `answer` is wrong."""
        if name == "give_back":
            self._lent = 0
            return True
        if answer not in self.answers(thread, name, arguments):
            return False
        if name == "take" and self._records:
            self._records = self._records[1:]
            self._lent += 1
        elif answer == ACCEPTED:
            self._records = (*self._records, arguments)
        return True

    def answers(self, thread: int, name: str, arguments: tuple) -> list[Any]:
        """Return the one answer that a call may give now."""
        if name == "take":
            return [self._records[0] if self._records else 0]
        inside = len(self._records) + self._lent
        return [FULL if name == "enqueue" and inside >= self._capacity else ACCEPTED]

    def copy(self) -> LendingQueueSpecification:
        """Return another in the same state."""
        other = LendingQueueSpecification(self._capacity)
        other._records, other._lent = self._records, self._lent
        return other

    def key(self) -> tuple:
        """Return the records, and how many are lent."""
        return self._records, self._lent


class RegistersSpecification:
    """Words: ``search(thread, word)`` answers one, ``replace(word, value)`` sets it or declines."""

    def __init__(self, count: int, first: int) -> None:
        self._values = [first] * count

    def accepts(self, thread: int, name: str, arguments: tuple, answer: Any) -> bool:
        """Perform a call; False when `answer` is wrong."""
        if name == "search":
            return answer == self._values[arguments[1]]
        if answer == ACCEPTED:
            word, value = arguments
            self._values[word] = value
        return answer in (ACCEPTED, FULL)

    def answers(self, thread: int, name: str, arguments: tuple) -> list[Any]:
        """Return the answers that a call may give now."""
        return [self._values[arguments[1]]] if name == "search" else [ACCEPTED, FULL]

    def copy(self) -> RegistersSpecification:
        """Return another in the same state."""
        other = RegistersSpecification(0, 0)
        other._values = list(self._values)
        return other

    def key(self) -> tuple:
        """Return the values."""
        return tuple(self._values)


class FreeListSpecification:
    """The owners of an arena.

    ``take(thread, owner)`` answers a node or NO_NODE, ``give_back(thread, owner)`` the node that it
    gave back, or NO_NODE when the thread had none.
    """

    def __init__(self, capacity: int, owners: int = 1) -> None:
        self._lists = [FreeList(owner * capacity, capacity) for owner in range(owners)]
        self._taken: frozenset[tuple[int, int]] = frozenset()

    def accepts(self, thread: int, name: str, arguments: tuple, answer: Any) -> bool:
        """Perform a call; False when `answer` is wrong."""
        _, owner = arguments
        if name == "take":
            node = self._lists[owner].take()
            if node is None:
                return answer == NO_NODE
            self._taken |= {(owner, node)}
            return answer == node
        if answer == NO_NODE:
            return True
        allowed = (owner, answer) in self._taken
        self._lists[owner].give_back(answer)
        self._taken -= {(owner, answer)}
        return allowed

    def answers(self, thread: int, name: str, arguments: tuple) -> list[Any]:
        """Return the answers that a call may give now."""
        _, owner = arguments
        if name == "give_back":
            return [node for whose, node in sorted(self._taken) if whose == owner]
        node = self.copy()._lists[owner].take()
        return [NO_NODE if node is None else node]

    def copy(self) -> FreeListSpecification:
        """Return another in the same state."""
        other = FreeListSpecification(0, len(self._lists))
        for own, copied in zip(self._lists, other._lists, strict=True):
            copied._free = list(own._free)
        other._taken = self._taken
        return other

    def key(self) -> tuple:
        """Return the free nodes of each owner, next one last."""
        return tuple(tuple(own._free) for own in self._lists)
