"""Scenarios of the mutex, and how what belongs to one thread at a time is handed on under one.

Such a structure has no atomics: whoever holds the mutex is alone with it. A race shows where it
reaches words that the mutex does not guard, or where the mutex does not guard at all.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import product
from typing import Any, NamedTuple

import numpy as np

from operators.check.history import HistoryOperation
from operators.check.scenario import Call, Scenario, Specification
from operators.contract import Variant
from operators.core.layout import LINE_WORDS, aligned_words
from operators.core.mutex import acquire, make_mutexes, release
from operators.core.reference import MutexSpecification


def calls(*spelled: str | tuple) -> tuple[Call, ...]:
    """Return a program from names, or tuples of a name and its arguments."""
    return tuple(Call(s) if isinstance(s, str) else Call(s[0], s[1:]) for s in spelled)


# --- mutex ---------------------------------------------------------------------------------------


class _Guarded(NamedTuple):
    mutexes: np.ndarray  # one or two
    numbers: np.ndarray  # plain words; who may touch them says the scenario


def of_mutex(variant: Variant) -> list[Scenario]:
    """Return the scenarios of mutexes: a number under one, and two that are taken in one order."""
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


# --- what a mutex hands on -----------------------------------------------------------------------


class HandedOn(NamedTuple):
    """A structure, the mutex that its owner for now holds, and what threads remember."""

    mutexes: np.ndarray
    inside: Any  # touched by whoever holds the mutex
    scratch: np.ndarray  # a line a thread, that thread's alone


def new_scratch() -> np.ndarray:
    """Return a line for each of up to four threads."""
    return aligned_words(4 * LINE_WORDS)


def handed_on(
    name: str,
    variant: Variant,
    make: Callable[[], Any],
    inside: Callable[[HandedOn, Call], Any],
    programs: Sequence[tuple[Call, ...]],
    **more: Any,
) -> Scenario:
    """Return a scenario whose every call holds the mutex from its beginning to its end."""

    def perform(state: HandedOn, call: Call) -> Any:
        acquire(state.mutexes, 0)
        answer = inside(state, call)
        release(state.mutexes, 0)
        return answer

    check = variant.operations.check_invariants
    return Scenario(
        name=name,
        make=lambda: HandedOn(make_mutexes(1), make(), new_scratch()),
        programs=tuple(programs),
        perform=perform,
        invariants=lambda state: check(state.inside),
        **more,
    )


def every_script(
    variant: Variant,
    make: Callable[[], Any],
    inside: Callable[[HandedOn, Call], Any],
    restore: Callable[[HandedOn], Any],
    oracle: Callable[[], Specification],
    steps: Sequence[Call],
) -> Scenario:
    """Return a scenario that tries every script of three steps, a quarter each time it is held.

    The answers are compared with the oracle's on the spot; a call answers how many were right.
    """
    scripts = list(product(steps, repeat=3))
    quarters = [scripts[part::4] for part in range(4)]

    def quarter(state: HandedOn, call: Call) -> int:
        right = 0
        for script in quarters[call.arguments[0]]:
            restore(state)
            expected = oracle()
            right += all(
                expected.accepts(0, step.name, step.arguments, inside(state, step))
                for step in script
            )
        restore(state)
        return right

    def finish(state: HandedOn, history: list[HistoryOperation]) -> None:
        for o in history:
            wanted = len(quarters[o.arguments[0]])
            assert o.answer == wanted, f"{o.answer} of {wanted} scripts were answered right"

    own = calls(("scripts", 0), ("scripts", 1)), calls(("scripts", 2), ("scripts", 3))
    return handed_on("every-script", variant, make, quarter, own, finish=finish)
