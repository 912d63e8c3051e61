"""Scenarios of mutexes: a number under one, and two taken in a fixed order.

A data race shows where a mutex does not guard its critical section.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from operators.check.history import HistoryOperation
from operators.check.scenario import Call, Scenario
from operators.contract import Variant
from operators.core.check.handed_on import calls
from operators.core.layout import LINE_WORDS, aligned_words
from operators.core.reference import MutexSpecification

ALONE = {
    "acquire": "A thread that takes the mutex and never gives it back stops all others for ever.",
    "release": "Only the thread that has acquired the mutex may release it.",
}


class _Guarded(NamedTuple):
    mutexes: np.ndarray  # one or two
    numbers: np.ndarray  # plain words; the scenario decides who may touch them


def scenarios(variant: Variant) -> list[Scenario]:
    """Return the scenarios of mutexes: a number under one, and two taken in a fixed order."""
    increment = Call("increment")
    held = calls("acquire", ("increment", "held"), ("increment", "held"), "release")
    moves = (Call("move"),)
    return [
        _guarded("counter", variant, [(increment,) * 3] * 2),
        _guarded("held-over-calls", variant, [held, (increment, Call("read"), increment)]),
        _guarded("two-in-one-order", variant, [moves * 2] * 2),
        _guarded("counter-of-three", variant, [(increment,) * 2] * 3, deep=True),
        _guarded("two-of-three", variant, [moves * 2, (increment,) * 2, moves * 2], deep=True),
    ]


def _guarded(
    name: str, variant: Variant, programs: Sequence[tuple[Call, ...]], deep: bool = False
) -> Scenario:
    take, give = variant.operations.calls["acquire"], variant.operations.calls["release"]
    moving = any(call.name == "move" for program in programs for call in program)

    def make() -> _Guarded:
        return _Guarded(variant.operations.make_state(2), aligned_words(LINE_WORDS))

    def perform(state: _Guarded, call: Call) -> int:
        mutexes, numbers = state
        held = call.arguments == ("held",)
        if call.name == "release":
            give(mutexes, 0)
            return 1
        if not held:
            take(mutexes, 0)
        number = int(numbers[0])
        if call.name == "increment":
            numbers[0] = number + 1
        elif call.name == "move":
            # From the number of the first mutex to that of the second.
            take(mutexes, 1)
            numbers[0] = number - 1
            numbers[1] += 1
            give(mutexes, 1)
        if not held and call.name != "acquire":
            give(mutexes, 0)
        return number

    def finish(state: _Guarded, history: list[HistoryOperation]) -> None:
        made = [o.name for o in history]
        found, moved = state.numbers[:2].tolist(), made.count("move")
        right = [made.count("increment") - moved, moved]
        assert found == right, f"the numbers are {found} and should be {right}"

    return Scenario(
        name=name,
        make=make,
        programs=tuple(programs),
        perform=perform,
        specification=None if moving else MutexSpecification,
        finish=finish,
        deep=deep,
    )
