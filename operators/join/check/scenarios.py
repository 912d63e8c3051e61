"""Small programs for joins of one thread: tuples of both streams arrive, and find their partners.

Two threads bring a stream each, under a lock, so that any order of arrival occurs. At the end the
partners that were found are compared with a loop over all earlier tuples, in the order of arrival.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from operators.check.history import HistoryOperation
from operators.check.scenario import Call, Scenario
from operators.contract import Variant
from operators.core.layout import LINE_WORDS, aligned_words
from operators.core.spin_lock import acquire, make_spin_locks, release
from operators.index.window import make_answer

ARRIVE = "arrive"
SMALL = {"fan_out": 4, "chain_length": 3, "merge_ratio": 0.5, "insertion_depth": 1}
HALF_WIDTH = 2


class _Arriving(NamedTuple):
    """A join, the lock around it, and what it answered, in the order of arrival."""

    join: Any
    lock: np.ndarray
    done: np.ndarray  # a line a tuple: side, key, and its partners, a bit each
    words: np.ndarray
    out: np.ndarray


def scenarios(variant: Variant) -> list[Scenario]:
    """Return the scenarios of a join of one thread."""
    long = tuple(Call(ARRIVE, (n % 2, 5 * n % 11)) for n in range(20))
    pair = (Call(ARRIVE, (0, 4)), Call(ARRIVE, (0, 5))), (Call(ARRIVE, (1, 5)),)
    return [
        _scenario(variant, "two-streams", pair, 1),
        _scenario(variant, "sliding", (long,), 3),
    ]


def _scenario(
    variant: Variant, name: str, programs: tuple[tuple[Call, ...], ...], window: int
) -> Scenario:
    operations = variant.operations
    taken = {each.name for each in variant.parameters}
    own = {name: value for name, value in SMALL.items() if name in taken}
    tuples = sum(map(len, programs))

    def make() -> _Arriving:
        join = operations.make_state(window, HALF_WIDTH, **own)
        words = (np.zeros(3 * tuples, np.int64), aligned_words(LINE_WORDS))
        return _Arriving(join, make_spin_locks(1), *words, make_answer(window))

    def perform(state: _Arriving, call: Call) -> int:
        side, key = call.arguments
        acquire(state.lock, 0)
        count = operations.process(state.join, side, key, 0, state.out, True)
        found = sum(1 << int(state.out[at]) for at in range(count))
        for at, word in enumerate((side, key, found)):
            state.done[3 * state.words[0] + at] = word
        state.words[0] += 1
        release(state.lock, 0)
        return found

    def finish(state: _Arriving, history: Sequence[HistoryOperation]) -> None:
        assert int(state.words[0]) == len(history) == tuples, "a tuple is missing"
        seen: list[list[int]] = [[], []]
        for side, key, found in np.asarray(state.done).reshape(-1, 3).tolist():
            other = seen[1 - side]
            inside = range(max(len(other) - window, 0), len(other))
            wanted = sum(1 << n for n in inside if abs(other[n] - key) <= HALF_WIDTH)
            assert found == wanted, f"side {side}, key {key}: {found:b}, and it is {wanted:b}"
            seen[side].append(key)

    def invariants(state: _Arriving) -> None:
        operations.check_invariants(state.join)

    return Scenario(name, make, programs, perform, finish=finish, invariants=invariants)
