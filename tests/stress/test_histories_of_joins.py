"""Histories of real threads at whole joins: sources, driver, cores, and the taker of pairs.

A history has what sources deliver and what is taken; what the driver and the cores do in between
shows in the pairs alone.
"""

from __future__ import annotations

import random
from bisect import insort
from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np
import pytest

from operators import registry
from operators.check.history import HistoryOperation
from operators.contract import ACCEPTED, END, NOT_READY, READY
from operators.core.jit import INTERPRETED, inlined
from operators.theta_join import reference
from operators.theta_join.check.programs import HALF_WIDTH, ThetaProgram, Tuples, made, noting
from operators.theta_join.family import Extent, R, S, make_extent
from operators.theta_join.processing import partner_of, rank_of
from tests.stress.recorded import (
    CALL,
    FIRST,
    Cell,
    check_histories,
    history_of,
    record_of,
    recording,
    script_of,
)

JOINS = ("handshake", "handshake-low-latency", "scale-join")
CORES = 2
TUPLES = 5 if INTERPRETED else 8
# Small rings, so that cores find no room, and a punctuation after two tuples of one stream.
OWN = {"ahead": 64, "ahead_out": 64, "messages": 2, "pairs": 2, "punctuate_each": 2}
# Times and numbers of tuples are below these: with ties, and with pairs in most windows.
TIMES, NUMBERS = 16, 4
EXTENT = make_extent(span=5, purge="opposite")
DELIVER, CLOSE, DRIVE, STEP, TAKE = range(5)
# Calls of the driver and of a core: more than the tuples and the news need.
STEPS = 30 * TUPLES


class JoinSpecification:
    """A join as the tuples delivered so far, and the pairs that were taken.

    A pair may be taken once its later tuple has a rank for good: each stream that is not closed has
    delivered a tuple at or after it. Ordered joins give pairs in the order of the three-step
    procedure, and others each of them once.

    Parameters
    ----------
    numbers : pair of list of int
        What the predicate compares, by side and row.
    extent : Extent
    ordered : bool
    """

    EXCUSABLE: frozenset[int] = frozenset()

    def __init__(self, numbers: tuple[list[int], list[int]], extent: Extent, ordered: bool) -> None:
        self._fixed = numbers, extent, ordered
        self._arrivals: list[reference.Arrival] = []
        self._delivered = [0, 0]
        self._last: list[tuple | None] = [(), ()]
        self._taken: frozenset[tuple[int, int]] = frozenset()

    def accepts(self, thread: int, name: str, arguments: tuple, answer: Any) -> bool:
        """Perform a call; False when `answer` is wrong."""
        if name == "take":
            return answer == NOT_READY or self._take(answer)
        stream = arguments[0]
        if name == "close":
            self._last[stream] = None
        else:
            one = reference.Arrival(
                arguments[1], stream, self._delivered[stream], stream, arguments[2]
            )
            insort(self._arrivals, one)
            self._delivered[stream] += 1
            self._last[stream] = one[:3]
        return answer == ACCEPTED

    def _take(self, answer: Any) -> bool:
        due = self._due()
        if answer == END:
            return not due and self._last == [None, None]
        pair = answer[1:]
        if pair not in (due[:1] if self._fixed[2] else due):
            return False
        self._taken |= {pair}
        return True

    def _due(self) -> list[tuple[int, int]]:
        """Return the pairs that may be taken and were not, in order."""
        numbers, extent, _ = self._fixed
        open_ones = [last for last in self._last if last is not None]
        settled = [each for each in self._arrivals if all(each[:3] <= last for last in open_ones)]
        pairs = reference.join(
            settled, extent, lambda r, s: abs(numbers[R][r] - numbers[S][s]) <= HALF_WIDTH
        )
        return [pair for pair in pairs if pair not in self._taken]

    def answers(self, thread: int, name: str, arguments: tuple) -> list[Any]:
        """Return the answers with which a call would change the join."""
        if name != "take":
            return [ACCEPTED]
        due = self._due()
        return [(READY, *pair) for pair in (due[:1] if self._fixed[2] else due)]

    def copy(self) -> JoinSpecification:
        """Return another in the same state."""
        other = JoinSpecification(*self._fixed)
        other._arrivals, other._delivered = self._arrivals[:], self._delivered[:]
        other._last, other._taken = self._last[:], self._taken
        return other

    def key(self) -> tuple:
        """Return what distinguishes the state from others."""
        return tuple(self._delivered), tuple(last is None for last in self._last), self._taken


@cache
def record_join(name: str) -> Callable[..., int]:
    """Return the recording kernel of a join."""
    operations = registry.variant("theta_join", name).operations
    insert_tuple, close_source, drive = (
        operations.insert_tuple,
        operations.close_source,
        operations.drive or driven_by_nobody,
    )
    step_core, get_output = operations.make_step(noting()), operations.make_get_output(noting())

    @inlined
    def step(state, row, out):
        if row[CALL] == DELIVER:
            return insert_tuple(state.shared, row[FIRST], row[2], 0, row[3])
        if row[CALL] == CLOSE:
            return close_source(state.shared, row[FIRST])
        if row[CALL] == DRIVE:
            return drive(state.shared, state.driver)
        if row[CALL] == STEP:
            return step_core(state.shared, state.threads[row[FIRST]])
        return get_output(state.shared, state.output, out)

    return recording(step)


@inlined
def driven_by_nobody(shared, driver):
    """Take the place of a driver in a join without one."""
    return END


def spell(row: Any, status: int, out: Any) -> tuple:
    """Return a call's name, arguments and answer."""
    if row[CALL] == TAKE:
        pair = (READY, rank_of(out[0]), partner_of(out[0]))
        return "take", (), pair if status == READY else status
    if row[CALL] == DELIVER:
        return "deliver", tuple(row[FIRST : FIRST + 3]), status
    name = {CLOSE: "close", DRIVE: "drive", STEP: "step"}[row[CALL]]
    return name, (row[FIRST],), status


def streams_of(seed: int) -> list[Tuples]:
    """Return both streams: timestamps, which ascend, and numbers."""
    chance = random.Random(seed)
    times = [
        sorted(chance.choices(range(TIMES), k=n)) for n in (TUPLES, chance.choice((1, TUPLES)))
    ]
    return [tuple((time, chance.randrange(NUMBERS)) for time in side) for side in times]


def scripts_of(streams: list[Tuples]) -> list[np.ndarray]:
    """Return a script for each thread."""
    sources = [
        [(DELIVER, side, time, row, 0, 1) for row, (time, _) in enumerate(tuples)]
        + [(CLOSE, side, 0, 0, 0, 1)]
        for side, tuples in enumerate(streams)
    ]
    cores = [[(STEP, core, 0, 0, 0, 1)] * STEPS for core in range(CORES)]
    driver = [(DRIVE, 0, 0, 0, 0, 1)] * STEPS
    takes = [(TAKE, 0, 0, 0, 0, 1)] * (len(streams[R]) * len(streams[S]) + 1)
    return [script_of(*rows) for rows in (*sources, *cores, driver, takes)]


def check_join(cell: Cell) -> None:
    """Judge histories of a join."""
    variant = registry.variant("theta_join", cell.name)
    numbers: list[list[int]] = []
    taken = 0

    def run(seed: int) -> list[HistoryOperation]:
        nonlocal taken
        streams = streams_of(seed)
        numbers[:] = [[number for _, number in side] for side in streams]
        program = ThetaProgram("history", *streams, (), extent=EXTENT, threads=CORES, own=OWN)
        state = made(variant, program)
        scripts = scripts_of(streams)
        history = history_of(scripts, record_of(record_join(cell.name), state, scripts), spell)
        taken += sum(call.name == "take" and call.answer != NOT_READY for call in history)
        return [call for call in history if call.name not in ("drive", "step")]

    def specify() -> JoinSpecification:
        return JoinSpecification((numbers[R], numbers[S]), EXTENT, variant.operations.ordered)

    check_histories(cell, run, specify)
    assert taken, "no pair was taken"


@pytest.mark.parametrize("schedule", ["threads", "noise"])
@pytest.mark.parametrize("name", JOINS)
def test_a_join(run, name, schedule):
    run(check_join, Cell(name, 0, schedule))
