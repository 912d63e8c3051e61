"""Scenarios of structures that belong to one thread at a time: handed on under a mutex.

Such a structure has no atomics: the holder of the mutex has exclusive access. A data race shows
where the structure reaches words that the mutex does not guard.
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


def calls(*spelled: str | tuple) -> tuple[Call, ...]:
    """Return a program from names, or tuples of a name and its arguments."""
    return tuple(Call(s) if isinstance(s, str) else Call(s[0], s[1:]) for s in spelled)


class HandedOn(NamedTuple):
    """A structure, the mutex that the current owner holds, and the threads' memory."""

    mutexes: np.ndarray
    inside: Any  # touched by the holder of the mutex
    scratch: np.ndarray  # one line a thread, private to it


def new_scratch() -> np.ndarray:
    """Return one line for each of up to four threads."""
    return aligned_words(4 * LINE_WORDS)


def under_mutex(inside: Callable[[HandedOn, Call], Any]) -> Callable[[HandedOn, Call], Any]:
    """Return ``perform`` for calls that each hold the mutex from beginning to end."""

    def perform(state: HandedOn, call: Call) -> Any:
        acquire(state.mutexes, 0)
        answer = inside(state, call)
        release(state.mutexes, 0)
        return answer

    return perform


def handed_on(
    name: str,
    variant: Variant,
    make: Callable[[], Any],
    inside: Callable[[HandedOn, Call], Any],
    programs: Sequence[tuple[Call, ...]],
    **more: Any,
) -> Scenario:
    """Return a scenario in which every call holds the mutex from beginning to end."""
    check = variant.operations.check_invariants
    return Scenario(
        name=name,
        make=lambda: HandedOn(make_mutexes(1), make(), new_scratch()),
        programs=tuple(programs),
        perform=under_mutex(inside),
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
    """Return a scenario that tries every script of three steps, a quarter in each critical section.

    The answers are compared with the oracle's at once; a call answers how many were right.
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
