"""Scenarios of the ring from many producers to many consumers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from operators.check.scenario import Call, Scenario
from operators.contract import FULL, Variant
from operators.core.check.queues import EMPTY, WAITS, gets, puts, scenario_of_words
from operators.core.reference import QueueSpecification


class MpmcSpecification(QueueSpecification):
    """A queue that may say FULL or empty because of what another thread is in the middle of."""

    def __init__(self, capacity: int) -> None:
        super().__init__(capacity)
        self.EXCUSABLE = frozenset({FULL, EMPTY})

    def excuse(self, call: Any, beside: Sequence[Any]) -> tuple[int, bool]:
        """Return the answer, and whether another thread was at the same end, or at the other."""
        other = "dequeue" if call.name == "enqueue" else "enqueue"
        return call.answer, any(each.name == other for each in beside)

    def accepts(self, thread: int, name: str, arguments: tuple, answer: Any) -> bool:
        """Perform a call; False when `answer` is wrong."""
        if type(answer) is tuple and len(answer) == 2:
            answer, excused = answer
            if excused:
                return True
        return super().accepts(thread, name, arguments, answer)

    def copy(self) -> MpmcSpecification:
        """Return another in the same state."""
        other = object.__new__(MpmcSpecification)
        other._capacity, other._items = self._capacity, self._items
        return other


def scenarios(variant: Variant) -> list[Scenario]:
    """Return the scenarios of the ring."""

    def ring(name: str, capacity: int, filled: int, *programs: tuple[Call, ...], **more: Any):
        return _ring(name, variant, capacity, filled, programs, **more)

    e, d = puts, gets(1)
    return [
        ring("producers", 4, 0, e(10, 11), e(20) + d),
        ring("producers-when-full", 2, 1, e(10, 11), e(20) + d + e(21)),
        ring("consumers", 4, 3, d + d, d + e(10) + d),
        ring("empty", 2, 0, e(10) + d, d + d),
        ring("round-again", 2, 2, d + e(10) + d, d + e(20) + d),
        ring("waiting", 2, 0, e(10, 11, 12), d * 3, retry=WAITS),
        ring("three-threads", 2, 1, e(10) + d, d + e(20), e(30) + d, deep=True),
        ring("two-producers", 2, 0, e(10, 11), e(20), d * 3, retry=WAITS, deep=True),
    ]


def _ring(
    name: str,
    variant: Variant,
    capacity: int,
    filled: int,
    programs: Sequence[tuple[Call, ...]],
    **more: Any,
) -> Scenario:
    operations = variant.operations
    return scenario_of_words(
        name,
        programs,
        filled,
        make_empty=lambda: operations.make_state(capacity),
        push=operations.calls["push"],
        pop=operations.calls["pop"],
        specification=lambda: MpmcSpecification(capacity),
        invariants=operations.check_invariants,
        **more,
    )
