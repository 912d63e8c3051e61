"""Scenarios of the ring from many producers to many consumers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from operators.check.scenario import ITSELF, Call, Scenario
from operators.contract import ACCEPTED, FULL, Variant
from operators.core.check import dimensions
from operators.core.check.queues import EMPTY, WAITS, gets, puts, scenario_of_words
from operators.core.reference import QueueSpecification

ALONE = {
    "push": ITSELF,
    "pop": ITSELF,
    "has_room": "What it says is free is reached through push alone, which loads the turn again.",
}


class MpmcSpecification(QueueSpecification):
    """A queue that may answer FULL or empty because of another thread's unfinished call."""

    def __init__(self, capacity: int) -> None:
        super().__init__(capacity)
        self.EXCUSABLE = frozenset({FULL, EMPTY})

    def excuse(self, call: Any, beside: Sequence[Any]) -> tuple[int, bool]:
        """Return the answer, and whether another thread was in a call at the other end."""
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
        # The only producer asks first, and what it is told holds.
        ring("asked-before", 2, 1, e(10, 11, 12), d * 2, asks=True),
        ring("waiting", 2, 0, e(10, 11, 12), d * 3, retry=WAITS),
        ring("three-threads", 2, 1, e(10) + d, d + e(20), e(30) + d, deep=True),
        ring("two-producers", 2, 0, e(10, 11), e(20), d * 3, retry=WAITS, deep=True),
        *(
            ring(each.name, each.capacity, each.filled, *each.threads, used=each.used,
                 retry=WAITS if each.again else frozenset(), schedules=dimensions.SCHEDULES)
            for each in dimensions.derived_programs(_missing)
        ),
    ]  # fmt: skip


def uncovered(variant: Variant) -> list[str]:
    """Return the values that no program of the ring has, with the reasons."""
    return dimensions.uncovered(_missing)


def _missing(name: str, value: Any) -> str:
    if name == "capacity" and value in (1, 3):
        return "a ring has a power of two of slots, at least 2"
    return ""


def _ring(
    name: str,
    variant: Variant,
    capacity: int,
    filled: int,
    programs: Sequence[tuple[Call, ...]],
    asks: bool = False,
    **more: Any,
) -> Scenario:
    operations = variant.operations
    push, has_room = operations.calls["push"], operations.calls["has_room"]

    def push_if_told(state: Any, word: int) -> int:
        if not has_room(state):
            return FULL
        assert push(state, word) == ACCEPTED, "there was said to be room"
        return ACCEPTED

    return scenario_of_words(
        name,
        programs,
        filled,
        make_empty=lambda: operations.make_state(capacity),
        push=push_if_told if asks else push,
        pop=operations.calls["pop"],
        specification=lambda: MpmcSpecification(capacity),
        invariants=operations.check_invariants,
        **more,
    )
