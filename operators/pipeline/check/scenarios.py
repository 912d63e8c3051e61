"""Small programs for every scheduler: workers are sent to operators that admit one worker each.

The board is accessed by the holder of the lock, and an operator by the worker that was sent there:
the worker writes a plain word, so that two workers in one operator are a data race. At the end all
workers have left, and every turn is counted once.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from operators import registry
from operators.check.history import HistoryOperation
from operators.check.scenario import Call, Scenario
from operators.contract import Variant
from operators.core.layout import LINE_WORDS, aligned_words
from operators.core.spin_lock import acquire, make_spin_locks, release
from operators.pipeline.board import (
    NOBODY,
    SCHEDULABLE,
    VISITS,
    WAITING,
    WORKERS,
    Board,
    look,
    make_board,
    note,
    report,
)
from operators.pipeline.check import dimensions
from operators.pipeline.check.block_ring import scheduled_blocks
from operators.pipeline.check.decisions import choices
from operators.pipeline.check.whole_pipelines import whole_pipelines

OPERATORS = 2


class _Bench(NamedTuple):
    """A board, the board's lock, and one plain word per operator."""

    board: Board
    lock: np.ndarray
    work: np.ndarray


def scenarios(variant: Variant) -> list[Scenario]:
    """Return the scenarios of a scheduler."""
    turn, first = (Call("turn"),), registry.variants(variant.family)[0]
    return [
        _scenario(variant, "two-workers", (turn, turn)),
        _scenario(variant, "two-turns", (turn * 2, turn)),
        *choices(variant),
        *whole_pipelines(variant),
        *(scheduled_blocks(variant) if variant.id == first.id else ()),
        _scenario(variant, "three-workers", (turn, turn, turn), deep=True),
    ]


def uncovered(variant: Variant) -> list[str]:
    """Return what no derived program of a scheduler has, with the reasons."""
    return dimensions.uncovered(variant)


def _scenario(
    variant: Variant, name: str, programs: Sequence[tuple[Call, ...]], **more: Any
) -> Scenario:
    choose = variant.operations.choose

    def make() -> _Bench:
        board = make_board(OPERATORS, slice_ns=10, window_ns=1_000, capacity=4)
        for place in range(OPERATORS):
            note(board, place, WAITING, 3)
        return _Bench(board, make_spin_locks(1), aligned_words(LINE_WORDS))

    def perform(bench: _Bench, call: Call) -> int:
        board = bench.board
        acquire(bench.lock, 0)
        for place in range(OPERATORS):
            note(board, place, SCHEDULABLE, int(look(board, place, WORKERS) == 0))
        place = choose(board)
        if place != NOBODY:
            note(board, place, WORKERS, look(board, place, WORKERS) + 1)
        release(bench.lock, 0)
        if place == NOBODY:
            return NOBODY
        bench.work[place] += 1
        acquire(bench.lock, 0)
        report(board, place, 1, 1, 20, 5)
        release(bench.lock, 0)
        return place

    def finish(bench: _Bench, history: Sequence[HistoryOperation]) -> None:
        for place in range(OPERATORS):
            made = sum(operation.answer == place for operation in history)
            seen = look(bench.board, place, VISITS), int(bench.work[place])
            assert seen == (made, made), f"operator {place}: {made} turns, counted were {seen}"
            left = look(bench.board, place, WORKERS)
            assert left == 0, f"operator {place}: {left} workers are there at the end"

    return Scenario(name=name, make=make, programs=tuple(programs), perform=perform, finish=finish,
                    **more)  # fmt: skip
