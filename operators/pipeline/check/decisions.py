"""Where a scheduler sends workers, compared with the equations of section 6 on boards of any kind.

The outputs of a pipeline are the same wherever workers go, so that whole pipelines show no fault of
a scheduler that sends them to another operator. One thread fills the board and asks, board after
board.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from fractions import Fraction
from functools import cache
from typing import NamedTuple

from operators.check.history import HistoryOperation
from operators.check.scenario import Call, Scenario
from operators.contract import Variant
from operators.pipeline.board import (
    COST,
    IN_WINDOW,
    NOBODY,
    ONE,
    SCHEDULABLE,
    SELECTIVITY,
    WAITING,
    WORKERS,
    Board,
    make_board,
    note,
)

BOARDS, OPERATORS = 40, 3
# Powers of two: quotients that are equal are equal as doubles, too.
SLICE_NS = 16
CAPACITY = 4
_VALUES = {
    WAITING: (0, 1, 2, 8),
    SCHEDULABLE: (0, 1, 1),
    WORKERS: (0, 1, 3),
    COST: (1, 2, 8),
    SELECTIVITY: (0, ONE // 2, ONE, 2 * ONE),
    IN_WINDOW: (0, 16, 32),
}

Words = dict[int, int]


class _Bench(NamedTuple):
    """The board."""

    board: Board


def choices(variant: Variant) -> list[Scenario]:
    """Return the scenario of a scheduler whose equation is known, or none."""
    if variant.id not in _WANTED:
        return []
    wanted = [_WANTED[variant.id](operators) for operators in _boards()]

    def perform(bench: _Bench, call: Call) -> int:
        (number,) = call.arguments
        for place, operator in enumerate(_boards()[number]):
            for word, value in operator.items():
                note(bench.board, place, word, value)
        return variant.operations.choose(bench.board)

    def finish(bench: _Bench, history: Sequence[HistoryOperation]) -> None:
        for operation, operators, place in zip(history, _boards(), wanted, strict=True):
            assert operation.answer == place, (
                f"sent to {operation.answer}, and not to {place}, of {operators}"
            )

    return [
        Scenario(
            name="choices",
            make=lambda: _Bench(make_board(OPERATORS, SLICE_NS, 1_000, CAPACITY)),
            programs=(tuple(Call("choose", (number,)) for number in range(BOARDS)),),
            perform=perform,
            finish=finish,
        )
    ]


@cache
def _boards() -> list[list[Words]]:
    """Return the words of the operators of each board; always the same."""
    drawn = random.Random(1)
    return [
        [{word: drawn.choice(values) for word, values in _VALUES.items()} for _ in range(OPERATORS)]
        for _ in range(BOARDS)
    ]


def _able(operators: Sequence[Words]) -> list[int]:
    return [place for place, words in enumerate(operators) if words[SCHEDULABLE]]


def _reached(operators: Sequence[Words]) -> list[Fraction]:
    """Return the tuples behind each operator per tuple of the pipeline; of the source first."""
    found = [Fraction(1)]
    for words in operators:
        found.append(found[-1] * Fraction(words[SELECTIVITY], ONE))
    return found


def _latest(operators: Sequence[Words]) -> int:
    return max(_able(operators), default=NOBODY)


def _longest(operators: Sequence[Words]) -> int:
    """Return the operator of the highest priority of equation 2, of several the earliest."""

    def priority(place: int) -> Fraction:
        words = operators[place]
        return Fraction(words[WAITING] * words[COST], words[WORKERS] + 1)

    return max(_able(operators), key=priority, default=NOBODY)


def _throttled(operators: Sequence[Words]) -> int:
    """Return the earliest operator below the threshold of equation 1, or else the earliest."""
    _, *reached = _reached(operators)
    last, total, able = len(operators) - 1, sum(reached), _able(operators)
    for place in able:
        threshold = max(Fraction(1), CAPACITY * reached[place] / total) if total else 1
        if place == last or operators[place + 1][WAITING] < threshold:
            return place
    return min(able, default=NOBODY)


def _least_throughput(behind: int) -> Callable[[Sequence[Words]], int]:
    """Return the choice by equation 3, with the tuples before each operator, or `behind` it."""

    def chosen(operators: Sequence[Words]) -> int:
        reached = _reached(operators)

        def throughput(place: int) -> float | Fraction:
            words = operators[place]
            spent = words[IN_WINDOW] + words[WORKERS] * SLICE_NS
            tuples = words[COST] * reached[place + behind]
            return spent / tuples if tuples else float("inf")

        return min(_able(operators), key=throughput, default=NOBODY)

    return chosen


_WANTED: dict[str, Callable[[Sequence[Words]], int]] = {
    "lp": _latest,
    "et": _longest,
    "qst": _throttled,
    "ct": _least_throughput(behind=0),
    "ct-as-printed": _least_throughput(behind=1),
}
