"""Single steps of a gate, interpreted, and an operation started in the middle of another."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from typing import Any

import numpy as np

from operators.contract import READY
from operators.core import atomics
from operators.gate.family import GateOperations


def read(operations: GateOperations, state: Any, reader: int = 0):
    """Return (status, (timestamp, source) or None) of one reading."""
    out = np.zeros(4, dtype=np.int64)
    status = operations.get_next_ready_tuple(state, reader, out)
    return status, tuple(out[:2].tolist()) if status == READY else None


def drain(operations: GateOperations, state: Any, reader: int = 0) -> list[tuple[int, int]]:
    """Return (timestamp, source) of all ready tuples, in output order."""
    found = []
    while (answer := read(operations, state, reader))[0] == READY:
        found.append(answer[1])
    return found


def finish(operations: GateOperations, state: Any, sources: int = 2) -> list[tuple[int, int]]:
    """Close all sources, return the rest of the output, and check the gate's final state."""
    for source in range(sources):
        operations.close_source(state, source)
    rest = drain(operations, state)
    operations.check_invariants(state)
    return rest


class Intruder:
    """Runs `action` once, inside the next atomic `operation` on `array` by any thread.

    With `index`, only that word of the array counts.
    """

    def __init__(
        self,
        operation: str,
        array: np.ndarray,
        action: Callable[[], Any],
        index: int | None = None,
    ) -> None:
        self.wanted, self.index, self.action = (operation, id(array)), index, action
        atomics.scheduling_hook = self

    def __call__(self, operation: str, array: np.ndarray | None, index: int) -> None:
        if (operation, id(array)) == self.wanted and self.index in (None, index):
            atomics.scheduling_hook = None
            self.action()


class Counting:
    """Counts atomic operations by (operation, array) while it is the hook."""

    def __init__(self) -> None:
        self.calls: Counter[tuple[str, int]] = Counter()
        self.words: Counter[tuple[str, int, int]] = Counter()
        atomics.scheduling_hook = self

    def __call__(self, operation: str, array: np.ndarray | None, index: int) -> None:
        self.calls[operation, id(array)] += 1
        self.words[operation, id(array), int(index)] += 1

    def of(self, operation: str, array: np.ndarray, index: int | None = None) -> int:
        """Return how often `operation` was called on `array`, or on one word of it."""
        if index is None:
            return self.calls[operation, id(array)]
        return self.words[operation, id(array), index]
